/*
 * Fuzzer for lists and masks of host CPUs; see fuzz.h
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cpulist.h"
#include "fuzz.h"

/* Either a set, which reads back from what it is written as, or an error */
static void check(CpuSet *parsed, Error *err)
{
    g_autoptr(CpuSet) set = parsed;
    g_autoptr(CpuSet) again = NULL;
    g_autofree char *text = NULL;
    unsigned members = 0;

    g_assert(!set == !!err);
    if (err) {
        g_assert(*error_get_pretty(err));
        error_free(err);
        return;
    }
    CPUSET_FOREACH(n, set) {
        g_assert(n <= CPUSET_MAX && cpuset_contains(set, n));
        members++;
    }
    g_assert(members == cpuset_count(set));

    text = cpulist_format(set);
    if (!members) {
        g_assert(!*text);
    } else if (strlen(text) <= CPULIST_MAX_LENGTH) {
        again = cpulist_parse(text, &error_abort);
        g_assert(cpuset_equal(set, again));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    Error *err = NULL;
    CpuSet *set = cpulist_parse(text, &err);

    g_assert(!set || !cpuset_is_empty(set));
    check(set, err);

    err = NULL;
    set = cpumask_parse(text, &err);
    check(set, err);
    return 0;
}
