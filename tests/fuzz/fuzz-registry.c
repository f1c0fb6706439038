/*
 * Fuzzer for entries of the registry of reservations; see fuzz.h
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/pinning-registry-int.h"
#include "fuzz.h"

/* QEMU's parser loses the value of a member that it finds a second time */
const char *__lsan_default_suppressions(void)
{
    return "leak:parse_pair\n";
}

/* What is understood can be written, and then says the same */
static void check_round_trip(const PinningReservation *entry,
                             const QDict *unknown)
{
    g_autoptr(PinningReservation) again = NULL;
    GString *text = pinning_entry_format(entry, unknown, &error_abort);

    again = pinning_entry_parse(text->str, text->len, NULL, &error_abort);
    g_assert_cmpstr(again->name, ==, entry->name);
    g_assert_cmpstr(again->uuid, ==, entry->uuid);
    g_assert_cmpstr(again->host_cpus, ==, entry->host_cpus);
    g_assert_cmpint(again->pid, ==, entry->pid);
    g_assert_cmpuint(again->vcpus, ==, entry->vcpus);
    g_assert_cmpint(!again->memory, ==, !entry->memory);
    g_string_free(text, true);
}

/* A second holder never makes less taken than the first alone */
static void check_sum(PinningReservation *entry)
{
    PinningHolder holders[2] = { { entry, 4096, 0 }, { entry, 0, UINT64_MAX } };
    PinningTaken *one = pinning_registry_sum(holders, 1, 0);
    PinningTaken *two = pinning_registry_sum(holders, 2, 0);
    PinningTakenNodeList *a, *b;

    g_assert_cmpstr(one->exclusive_cpus, ==, two->exclusive_cpus);
    g_assert_cmpint(*one->exclusive_cpus && !entry->exclusive, ==, 0);
    g_assert_cmpint(!one->cpus, ==, !*entry->host_cpus);
    for (a = one->nodes, b = two->nodes; a && b; a = a->next, b = b->next) {
        g_assert_cmpuint(a->value->host_node, ==, b->value->host_node);
        g_assert_cmpuint(a->value->promised, <=, b->value->promised);
        g_assert_cmpuint(a->value->untouched, <=, a->value->promised);
        g_assert_cmpuint(a->value->untouched, <=, b->value->untouched);
    }
    g_assert(!a && !b);
    qapi_free_PinningTaken(one);
    qapi_free_PinningTaken(two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(PinningReservation) entry = NULL;
    g_autoptr(QDict) unknown = NULL;
    Error *err = NULL;

    entry = pinning_entry_parse((const char *)data, size, &unknown, &err);
    g_assert(!entry == !!err);
    if (!entry) {
        g_assert_cmpstr(error_get_pretty(err), !=, "");
        error_free(err);
        return 0;
    }
    check_round_trip(entry, unknown);
    check_sum(entry);
    return 0;
}
