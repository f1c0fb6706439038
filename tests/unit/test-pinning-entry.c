/*
 * Unit tests for entries of the registry of reservations: their text, their
 * sum, and what /proc says about their holders
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-pinning.h"
#include "qapi/qobject-output-visitor.h"
#include "qapi/util.h"
#include "qemu/pinning-registry-int.h"
#include "qemu/units.h"
#include "qobject/qjson.h"
#include "qobject/qstring.h"

#define HEAD "{ 'version': 1, 'name': 'a', 'pid': 7, 'start-time': 8," \
             " 'mode': 'numa', 'exclusive': false, 'vcpus': 4,"
#define SETS " 'host-cpus': '0-3', 'parked-cpus': '', 'io-cpus': '8',"
#define TAIL " 'memory': [], 'rotation': 0 }"
#define MEMORY(fields) \
    HEAD SETS " 'memory': [ { " fields " } ], 'rotation': 0 }"

static char *quoted(const char *text)
{
    char *copy = g_strdup(text);

    return g_strdelimit(copy, "'", '"');
}

static PinningReservation *parse(const char *text)
{
    g_autofree char *data = quoted(text);

    return pinning_entry_parse(data, strlen(data), NULL, &error_abort);
}

static char *format(const PinningReservation *entry, const QDict *unknown)
{
    GString *text = pinning_entry_format(entry, unknown, &error_abort);

    return g_string_free(text, false);
}

static void test_round_trip(void)
{
    g_autoptr(PinningReservation) first = parse(
        "{ 'version': 1, 'name': 'web \xc3\xa9', 'uuid': 'u', 'pid': 77,"
        "  'start-time': 18446744073709551615, 'mode': 'one-to-one',"
        "  'exclusive': true, 'host-cpus': '0-3,8', 'vcpus': 5,"
        "  'parked-cpus': '16', 'io-cpus': '20-21', 'rotation': 4294967295,"
        "  'memory': [ { 'host-node': 1, 'page-size': 2097152,"
        "                'size': 9223372036854775807 } ] }");
    g_autofree char *text = format(first, NULL);
    g_autoptr(PinningReservation) second = parse(text);
    g_autofree char *again = format(second, NULL);

    g_assert_cmpstr(text, ==, again);
    g_assert_cmpstr(second->name, ==, "web \xc3\xa9");
    g_assert_cmpstr(second->uuid, ==, "u");
    g_assert_cmpint(second->pid, ==, 77);
    g_assert_cmpuint(second->start_time, ==, UINT64_MAX);
    g_assert_cmpint(second->mode, ==, PINNING_MODE_ONE_TO_ONE);
    g_assert(second->exclusive);
    g_assert_cmpstr(second->host_cpus, ==, "0-3,8");
    g_assert_cmpuint(second->vcpus, ==, 5);
    g_assert_cmpstr(second->parked_cpus, ==, "16");
    g_assert_cmpstr(second->io_cpus, ==, "20-21");
    g_assert_cmpuint(second->rotation, ==, UINT32_MAX);
    g_assert_cmpuint(second->memory->value->host_node, ==, 1);
    g_assert_cmpuint(second->memory->value->page_size, ==, 2 * MiB);
    g_assert_cmpuint(second->memory->value->size, ==, INT64_MAX);
    g_assert_null(second->memory->next);
}

static const struct {
    const char *name;
    const char *text;
    const char *error;
} broken[] = {
    { "empty", "", "Expecting a JSON value" },
    { "blank", "\t ", "Expecting a JSON value" },
    { "truncated", HEAD SETS " 'memory': [", "JSON parse error" },
    { "two-values", "{} {}", "Expecting at most one JSON value" },
    { "not-json", "pid=7", "JSON parse error" },
    { "array", "[ 1 ]", "it is not a JSON object" },
    { "null", "null", "it is not a JSON object" },
    { "no-version", "{ 'name': 'a' }", "it has no 'version'" },
    { "version-text", "{ 'version': '1' }", "it has no 'version'" },
    { "version-0", "{ 'version': 0 }", "its version is 0, only 1 is known" },
    { "version-2", "{ 'version': 2, 'cpus': 'all' }",
      "its version is 2, only 1 is known" },
    { "missing", HEAD SETS " 'rotation': 0 }",
      "Parameter 'memory' is missing" },
    { "wrong-type", "{ 'version': 1, 'name': 3 }",
      "Invalid parameter type for 'name', expected: string" },
    { "mode", "{ 'version': 1, 'name': 'a', 'pid': 1, 'start-time': 1,"
      " 'mode': 'fast' }", "does not accept value 'fast'" },
    { "vcpus-2-64", "{ 'version': 1, 'name': 'a', 'pid': 1, 'start-time': 1,"
      " 'mode': 'numa', 'exclusive': false, 'host-cpus': '0',"
      " 'vcpus': 18446744073709551616 }", "'vcpus'" },
    { "vcpus-2-32", "{ 'version': 1, 'name': 'a', 'pid': 1, 'start-time': 1,"
      " 'mode': 'numa', 'exclusive': false, 'host-cpus': '0',"
      " 'vcpus': 4294967296 }", "'vcpus'" },
    { "size-2-64",
      MEMORY("'host-node': 0, 'page-size': 0, 'size': 18446744073709551616"),
      "'memory[0].size'" },
    { "size-negative",
      MEMORY("'host-node': 0, 'page-size': 0, 'size': -1"),
      "its memory size 18446744073709551615 is out of range" },
    { "page-size", MEMORY("'host-node': 0, 'page-size': 3000, 'size': 1"),
      "its page size 3000 is not a power of two" },
    { "host-node", MEMORY("'host-node': 65536, 'page-size': 0, 'size': 1"),
      "its host node 65536 is above 65535" },
    { "cpus", HEAD " 'host-cpus': '3-1', 'parked-cpus': '',"
      " 'io-cpus': ''," TAIL, "its 'host-cpus': " },
    { "cpus-huge", HEAD " 'host-cpus': '0-65536', 'parked-cpus': '',"
      " 'io-cpus': ''," TAIL, "its 'host-cpus': " },
    { "parked", HEAD " 'host-cpus': '', 'parked-cpus': 'x',"
      " 'io-cpus': ''," TAIL, "its 'parked-cpus': " },
    { "io", HEAD " 'host-cpus': '', 'parked-cpus': '',"
      " 'io-cpus': '1,,2'," TAIL, "its 'io-cpus': " },
    { "io-load", HEAD SETS " 'io-load': [ { 'host-cpus': '1,,2',"
      " 'load': 1 } ]," TAIL, "its 'io-load': " },
    { "escape", "{ 'version': 1, 'name': '\\u001b[2J', 'pid': 7,"
      " 'start-time': 8, 'mode': 'numa', 'exclusive': false, 'vcpus': 4,"
      SETS TAIL, "its 'name' has a control character" },
    { "percent", "{ 'version': 1, 'name': %s }", "JSON parse error" },
};

static void test_broken(void)
{
    int i;

    for (i = 0; i < ARRAY_SIZE(broken); i++) {
        g_autofree char *data = quoted(broken[i].text);
        Error *err = NULL;

        g_assert_null(pinning_entry_parse(data, strlen(data), NULL, &err));
        g_assert_nonnull(err);
        g_test_message("%s: %s", broken[i].name, error_get_pretty(err));
        g_assert_nonnull(strstr(error_get_pretty(err), broken[i].error));
        error_free(err);

        /* The error is optional */
        g_assert_null(pinning_entry_parse(data, strlen(data), NULL, NULL));
    }
}

static void assert_broken(const char *data, size_t len, const char *expected)
{
    Error *err = NULL;

    g_assert_null(pinning_entry_parse(data, len, NULL, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), expected));
    error_free(err);
}

/* Every prefix of an entry is an error, none a crash or half an entry */
static void test_truncated(void)
{
    g_autofree char *data = quoted(HEAD SETS TAIL);
    size_t len;

    for (len = 0; len < strlen(data); len++) {
        g_autofree char *part = g_memdup2(data, len ?: 1);
        Error *err = NULL;

        g_assert_null(pinning_entry_parse(part, len, NULL, &err));
        g_assert_nonnull(err);
        error_free(err);
    }
}

static void test_binary_and_large(void)
{
    g_autofree char *large = g_malloc(PINNING_ENTRY_MAX_SIZE + 1);
    g_autoptr(GString) promises = g_string_new(HEAD SETS "'memory': [");
    int i;

    memset(large, '[', PINNING_ENTRY_MAX_SIZE + 1);
    assert_broken(large, PINNING_ENTRY_MAX_SIZE + 1, "it is longer than");
    assert_broken(large, PINNING_ENTRY_MAX_SIZE, "JSON nesting depth");
    memset(large, '\xff', 100);
    assert_broken(large, 100, "JSON parse error");
    assert_broken("{}\0", 3, "it is not text");

    for (i = 0; i <= 4096; i++) {
        g_string_append_printf(promises, "%s{ 'host-node': %d, 'page-size': 0,"
                               " 'size': 1 }", i ? "," : "", i);
    }
    g_string_append(promises, "], 'rotation': 0 }");
    g_strdelimit(promises->str, "'", '"');
    assert_broken(promises->str, promises->len,
                  "it has more than 4096 promises of memory");
}

static void test_unknown_kept(void)
{
    g_autofree char *data = quoted("{ 'later': { 'x': [ 1, 'y' ] },"
                                   " 'uuid': 'old', 'also': true,"
                                   " 'version': 1, 'name': 'a', 'pid': 7,"
                                   " 'start-time': 8, 'mode': 'numa',"
                                   " 'exclusive': false, 'vcpus': 4,"
                                   SETS TAIL);
    g_autoptr(PinningReservation) old = NULL;
    g_autoptr(PinningReservation) new = parse(HEAD SETS TAIL);
    g_autoptr(PinningReservation) again = NULL;
    g_autoptr(QDict) unknown = NULL;
    g_autoptr(QDict) unknown2 = NULL;
    g_autofree char *text = NULL;

    old = pinning_entry_parse(data, strlen(data), &unknown, &error_abort);
    g_assert_cmpstr(old->uuid, ==, "old");
    g_assert_nonnull(unknown);
    g_assert_cmpint(qdict_size(unknown), ==, 2);

    text = format(new, unknown);
    again = pinning_entry_parse(text, strlen(text), &unknown2, &error_abort);
    /* A member that is known and now absent is not "unknown" */
    g_assert_null(again->uuid);
    g_assert(qobject_is_equal(QOBJECT(unknown), QOBJECT(unknown2)));
    g_assert(qdict_get_bool(unknown2, "also"));
    g_assert(qdict_haskey(unknown2, "later"));
}

/* What can be read but not written is dropped, not the entry with it */
static void test_unknown_dropped(void)
{
    g_autofree char *data = quoted("{ 'later': 1e999, 'version': 1,"
                                   " 'name': 'a', 'pid': 7,"
                                   " 'start-time': 8, 'mode': 'numa',"
                                   " 'exclusive': false, 'vcpus': 4,"
                                   SETS TAIL);
    g_autoptr(PinningReservation) entry = NULL;
    g_autoptr(PinningReservation) again = NULL;
    g_autoptr(QDict) unknown = NULL;
    g_autoptr(QDict) unknown2 = NULL;
    g_autofree char *text = NULL;

    entry = pinning_entry_parse(data, strlen(data), &unknown, &error_abort);
    g_assert_nonnull(unknown);
    text = format(entry, unknown);
    again = pinning_entry_parse(text, strlen(text), &unknown2, &error_abort);
    g_assert_nonnull(again);
    g_assert_null(unknown2);
}

static void test_format_refuses(void)
{
    g_autoptr(PinningReservation) entry = parse(HEAD SETS TAIL);
    Error *err = NULL;

    g_free(entry->host_cpus);
    entry->host_cpus = g_strdup("nonsense");
    g_assert_null(pinning_entry_format(entry, NULL, &err));
    g_assert(g_str_has_prefix(error_get_pretty(err),
                              "an entry cannot say that: its 'host-cpus': "));
    error_free(err);
}

/* Sums */

typedef struct SumHolder {
    const char *host_cpus;
    uint32_t vcpus;
    const char *parked;
    bool exclusive;
    const char *memory;     /* JSON list */
    uint64_t touched;
    uint64_t touched_huge;
} SumHolder;

static const struct SumCase {
    const char *name;
    SumHolder holders[4];
    const char *taken;      /* JSON without rotation */
} sums[] = {
    { "nobody", { },
      "{'cpus': [], 'exclusive-cpus': '', 'exclusive-owners': [],"
      " 'parked-cpus': '', 'nodes': [], 'rotation': 5}" },
    { "load", {
          { "0-3", 4 }, { "2-5", 2 }, { "9", 1, "25" }, { "", 3, "26" } },
      "{'cpus': [ {'host-cpus': '2-3', 'load': 1500},"
      "           {'host-cpus': '0-1,9', 'load': 1000},"
      "           {'host-cpus': '4-5', 'load': 500} ],"
      " 'exclusive-cpus': '', 'exclusive-owners': [],"
      " 'parked-cpus': '25-26', 'nodes': [], 'rotation': 5}" },
    /* One vCPU that may run on 3000 CPUs still counts on each of them */
    { "load-rounds-up", { { "0-2999", 1 } },
      "{'cpus': [ {'host-cpus': '0-2999', 'load': 1} ],"
      " 'exclusive-cpus': '', 'exclusive-owners': [],"
      " 'parked-cpus': '', 'nodes': [], 'rotation': 5}" },
    { "load-saturates", { { "7", UINT32_MAX }, { "7", UINT32_MAX } },
      "{'cpus': [ {'host-cpus': '7', 'load': 4294967295} ],"
      " 'exclusive-cpus': '', 'exclusive-owners': [],"
      " 'parked-cpus': '', 'nodes': [], 'rotation': 5}" },
    { "exclusive", {
          { "0-1", 2, "", true }, { "4", 1, "", false },
          { "2-3", 2, "10-11", true } },
      "{'cpus': [ {'host-cpus': '0-4', 'load': 1000} ],"
      " 'exclusive-cpus': '0-3', 'exclusive-owners': [ 'vm0', 'vm2' ],"
      " 'parked-cpus': '10-11', 'nodes': [], 'rotation': 5}" },
    { "memory-one-node", {
          { "", 0, "", false,
            "[{'host-node': 1, 'page-size': 0, 'size': 1000}]", 400 },
          { "", 0, "", false,
            "[{'host-node': 1, 'page-size': 0, 'size': 50}]", 9999 } },
      "{'cpus': [], 'exclusive-cpus': '', 'exclusive-owners': [],"
      " 'parked-cpus': '', 'rotation': 5, 'nodes': ["
      " {'host-node': 1, 'page-size': 0, 'promised': 1050,"
      "  'untouched': 600} ]}" },
    /* 1200 of 2000 are touched: at least 200 on each, no more is sure */
    { "memory-two-nodes", {
          { "", 0, "", false,
            "[{'host-node': 3, 'page-size': 0, 'size': 1000},"
            " {'host-node': 0, 'page-size': 0, 'size': 1000}]", 1200 } },
      "{'cpus': [], 'exclusive-cpus': '', 'exclusive-owners': [],"
      " 'parked-cpus': '', 'rotation': 5, 'nodes': ["
      " {'host-node': 0, 'page-size': 0, 'promised': 1000,"
      "  'untouched': 800},"
      " {'host-node': 3, 'page-size': 0, 'promised': 1000,"
      "  'untouched': 800} ]}" },
    { "memory-full", {
          { "", 0, "", false,
            "[{'host-node': 0, 'page-size': 0, 'size': 1000},"
            " {'host-node': 1, 'page-size': 0, 'size': 1000}]", 2100 } },
      "{'cpus': [], 'exclusive-cpus': '', 'exclusive-owners': [],"
      " 'parked-cpus': '', 'rotation': 5, 'nodes': ["
      " {'host-node': 0, 'page-size': 0, 'promised': 1000, 'untouched': 0},"
      " {'host-node': 1, 'page-size': 0, 'promised': 1000, 'untouched': 0}"
      " ]}" },
    /* Hugepages and ordinary memory are counted apart */
    { "memory-huge", {
          { "", 0, "", false,
            "[{'host-node': 0, 'page-size': 2097152, 'size': 4194304},"
            " {'host-node': 0, 'page-size': 0, 'size': 1000}]",
            300, 2097152 } },
      "{'cpus': [], 'exclusive-cpus': '', 'exclusive-owners': [],"
      " 'parked-cpus': '', 'rotation': 5, 'nodes': ["
      " {'host-node': 0, 'page-size': 0, 'promised': 1000,"
      "  'untouched': 700},"
      " {'host-node': 0, 'page-size': 2097152, 'promised': 4194304,"
      "  'untouched': 2097152} ]}" },
    { "memory-saturates", {
          { "", 0, "", false, "[{'host-node': 0, 'page-size': 0,"
            " 'size': 9223372036854775807}, {'host-node': 0,"
            " 'page-size': 0, 'size': 9223372036854775807},"
            " {'host-node': 0, 'page-size': 0, 'size': 5}]" } },
      "{'cpus': [], 'exclusive-cpus': '', 'exclusive-owners': [],"
      " 'parked-cpus': '', 'rotation': 5, 'nodes': ["
      " {'host-node': 0, 'page-size': 0, 'promised': 18446744073709551615,"
      "  'untouched': 18446744073709551615} ]}" },
};

static PinningReservation *sum_entry(const SumHolder *h, int i)
{
    g_autofree char *text = g_strdup_printf(
        "{ 'version': 1, 'name': 'vm%d', 'pid': 7, 'start-time': 8,"
        " 'mode': 'numa', 'exclusive': %s, 'vcpus': %" PRIu32 ","
        " 'host-cpus': '%s', 'parked-cpus': '%s', 'io-cpus': '30',"
        " 'memory': %s, 'rotation': 0 }", i,
        h->exclusive ? "true" : "false", h->vcpus, h->host_cpus,
        h->parked ?: "", h->memory ?: "[]");

    return parse(text);
}

static void test_sum(gconstpointer opaque)
{
    const struct SumCase *c = opaque;
    g_autofree char *expected_text = quoted(c->taken);
    QObject *expected = qobject_from_json(expected_text, &error_abort);
    PinningHolder holders[ARRAY_SIZE(c->holders)];
    PinningTaken *taken;
    QObject *actual = NULL;
    GString *text;
    Visitor *v;
    int i, n;

    for (n = 0; n < ARRAY_SIZE(holders) && c->holders[n].host_cpus; n++) {
        holders[n].entry = sum_entry(&c->holders[n], n);
        holders[n].touched = c->holders[n].touched;
        holders[n].touched_huge = c->holders[n].touched_huge;
    }
    taken = pinning_registry_sum(holders, n, 5);

    v = qobject_output_visitor_new(&actual);
    visit_type_PinningTaken(v, NULL, &taken, &error_abort);
    visit_complete(v, &actual);
    visit_free(v);
    text = qobject_to_json(actual);
    g_test_message("%s", text->str);
    g_assert(qobject_is_equal(actual, expected));

    g_string_free(text, true);
    qobject_unref(actual);
    qobject_unref(expected);
    qapi_free_PinningTaken(taken);
    for (i = 0; i < n; i++) {
        qapi_free_PinningReservation(holders[i].entry);
    }
}

/* From a plan */

static PinningVcpuPlan *vcpu_plan(unsigned vcpu, const char *host_cpus)
{
    PinningVcpuPlan *v = g_new0(PinningVcpuPlan, 1);

    v->vcpu = vcpu;
    v->host_cpus = g_strdup(host_cpus);
    v->reason = g_strdup("");
    return v;
}

static PinningNodePlan *node_plan(unsigned guest_node, const char *host_nodes,
                                  uint64_t size)
{
    PinningNodePlan *n = g_new0(PinningNodePlan, 1);

    n->guest_node = guest_node;
    n->host_nodes = g_strdup(host_nodes);
    n->size = size;
    n->reason = g_strdup("");
    return n;
}

static PinningPlan *some_plan(void)
{
    PinningPlan *plan = g_new0(PinningPlan, 1);

    plan->mode = PINNING_MODE_NUMA;
    QAPI_LIST_PREPEND(plan->vcpus, vcpu_plan(2, ""));
    QAPI_LIST_PREPEND(plan->vcpus, vcpu_plan(1, "8-9"));
    QAPI_LIST_PREPEND(plan->vcpus, vcpu_plan(0, "0-3,8"));
    QAPI_LIST_PREPEND(plan->nodes, node_plan(3, "", 100));
    QAPI_LIST_PREPEND(plan->nodes, node_plan(2, "", 1000));
    QAPI_LIST_PREPEND(plan->nodes, node_plan(1, "4-6", 10 * MiB));
    QAPI_LIST_PREPEND(plan->nodes, node_plan(0, "0,4", 1001));
    plan->emulator_cpus = g_strdup("30");
    plan->io_cpus = g_strdup("31");
    plan->parked_cpus = g_strdup("16-19");
    plan->guest_topology = g_new0(PinningTopologyPlan, 1);
    return plan;
}

static void assert_promise(PinningReservationMemoryList **m,
                           uint32_t host_node, uint64_t page_size,
                           uint64_t size)
{
    g_assert_nonnull(*m);
    g_assert_cmpuint((*m)->value->host_node, ==, host_node);
    g_assert_cmpuint((*m)->value->page_size, ==, page_size);
    g_assert_cmpuint((*m)->value->size, ==, size);
    *m = (*m)->next;
}

static void test_from_plan(void)
{
    PinningOptions options = { .has_exclusive = true, .exclusive = true };
    g_autoptr(CpuSet) foreign = cpuset_new_range(4, 4);
    PinningGuestNode nodes[] = {
        { .page_size = 0 }, { .page_size = 2 * MiB },
        { .foreign = true, .host_nodes = foreign }, { },
    };
    PinningRequest req = {
        .options = &options, .nodes = nodes, .n_nodes = ARRAY_SIZE(nodes),
        .page_size = 1 * GiB,
    };
    PinningPlan *plan = some_plan();
    g_autoptr(PinningReservation) entry = NULL;
    PinningReservationMemoryList *m;

    entry = pinning_reservation_new("vm", NULL, &req, plan);
    g_assert_cmpstr(entry->name, ==, "vm");
    g_assert_null(entry->uuid);
    g_assert_cmpint(entry->mode, ==, PINNING_MODE_NUMA);
    g_assert(entry->exclusive);
    g_assert_cmpstr(entry->host_cpus, ==, "0-3,8-9");
    g_assert_cmpuint(entry->vcpus, ==, 3);
    g_assert_cmpstr(entry->parked_cpus, ==, "16-19");
    g_assert_cmpstr(entry->io_cpus, ==, "31");

    /* 501 of node 0 and 1000 of the foreign node are both on host node 4 */
    m = entry->memory;
    assert_promise(&m, 0, 0, 501);
    assert_promise(&m, 4, 0, 1500);
    assert_promise(&m, 4, 2 * MiB, 4 * MiB);
    assert_promise(&m, 5, 2 * MiB, 4 * MiB);
    assert_promise(&m, 6, 2 * MiB, 2 * MiB);
    g_assert_null(m);
    qapi_free_PinningReservation(entry);

    /* Without guest nodes, the page size is that of the machine */
    req.n_nodes = 0;
    options.exclusive = false;
    entry = pinning_reservation_new("vm", "u", &req, plan);
    g_assert_cmpstr(entry->uuid, ==, "u");
    g_assert(!entry->exclusive);
    m = entry->memory;
    assert_promise(&m, 0, 1 * GiB, 1 * GiB);
    assert_promise(&m, 4, 1 * GiB, 1 * GiB);
    g_assert_null(m);
    qapi_free_PinningPlan(plan);
}

/* /proc */

static void put_file(const char *dir, const char *file, const char *text)
{
    g_autofree char *path = g_build_filename(dir, file, NULL);
    g_autofree char *parent = g_path_get_dirname(path);

    g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
    g_assert(g_file_set_contents(path, text, -1, NULL));
}

static char *fake_proc(void)
{
    char *proc = g_dir_make_tmp("pinning-proc-XXXXXX", NULL);

    g_assert_nonnull(proc);
    /* A program may call itself anything; field 22 is 4242 */
    put_file(proc, "7/stat",
             "7 (a) S 1 (b) 2) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0"
             " 4242 1000 100 18446744073709551615 0\n");
    put_file(proc, "7/status",
             "Name:\tRssAnon: 9 kB\nVmRSS:\t    9000 kB\n"
             "RssAnon:\t    1000 kB\nRssFile:\t    7000 kB\n"
             "RssShmem:\t    24 kB\nHugetlbPages:\t    4096 kB\n");
    put_file(proc, "8/stat", "8 (short) S 1 2 3\n");
    put_file(proc, "9/stat", "");
    /* Same process, status of a kernel that tells nothing */
    put_file(proc, "10/stat",
             "10 (x) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1\n");
    put_file(proc, "10/status", "Name:\tx\n");
    put_file(proc, "11/stat",
             "11 (x) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1\n");
    put_file(proc, "11/status",
             "Name:\tx\nRssAnon:\t18446744073709551615 kB\n"
             "RssShmem:\t12 pages\nHugetlbPages:\t-1 kB\n");
    return proc;
}

static void remove_tree(const char *dir)
{
    const char *argv[] = { "rm", "-rf", dir, NULL };

    g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL,
                 NULL, NULL, NULL, NULL);
}

static void test_proc(void)
{
    static const struct {
        int64_t pid;
        uint64_t start_time;
        uint64_t touched;
        uint64_t touched_huge;
    } cases[] = {
        { 7, 4242, 1024 * KiB, 4096 * KiB },
        { 7, 4241, 0, 0 },              /* the pid is another process now */
        { 8, 0, 0, 0 }, { 9, 0, 0, 0 }, { 6, 0, 0, 0 },
        { 10, 4242, 0, 0 }, { 11, 4242, 0, 0 },
        { 0, 4242, 0, 0 }, { -7, 4242, 0, 0 },
    };
    g_autofree char *proc = fake_proc();
    uint64_t ticks = 0;
    int i;

    g_assert(pinning_proc_start_time(proc, 7, &ticks));
    g_assert_cmpuint(ticks, ==, 4242);
    g_assert(!pinning_proc_start_time(proc, 6, &ticks));
    g_assert(!pinning_proc_start_time(proc, 8, &ticks));
    g_assert(!pinning_proc_start_time(proc, 9, &ticks));

    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        g_autoptr(PinningReservation) entry = parse(
            MEMORY("'host-node': 0, 'page-size': 0, 'size': 1"));
        PinningHolder holder = { entry, 1, 1 };

        entry->pid = cases[i].pid;
        entry->start_time = cases[i].start_time;
        pinning_proc_touched(proc, &holder);
        g_assert_cmpuint(holder.touched, ==, cases[i].touched);
        g_assert_cmpuint(holder.touched_huge, ==, cases[i].touched_huge);
    }
    remove_tree(proc);
}

/* The real one: what this process touches shows up */
static void test_proc_self(void)
{
    g_autoptr(PinningReservation) entry = parse(
        MEMORY("'host-node': 0, 'page-size': 0, 'size': 1"));
    PinningHolder holder = { entry };
    const size_t size = 32 * MiB;
    uint64_t before, own, named;
    char *memory;

    if (!pinning_proc_start_time("/proc", 0, &own)) {
        g_test_skip("no /proc");
        return;
    }
    g_assert(pinning_proc_start_time("/proc", getpid(), &named));
    g_assert_cmpuint(own, ==, named);

    entry->pid = getpid();
    entry->start_time = own;
    pinning_proc_touched("/proc", &holder);
    before = holder.touched;
    g_assert_cmpuint(before, >, 0);

    memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_assert(memory != MAP_FAILED);
    memset(memory, 1, size);
    pinning_proc_touched("/proc", &holder);
    g_assert_cmpuint(holder.touched, >=, before + size * 9 / 10);
    munmap(memory, size);
}

/* Two machines' I/O threads add up; one without any adds nothing */
static void test_io_load(void)
{
    static const char *const loads[] = {
        " 'io-load': [ { 'host-cpus': '1-2', 'load': 2 },"
        " { 'host-cpus': '4', 'load': 1 } ],",
        " 'io-load': [ { 'host-cpus': '2', 'load': 3 } ],",
        "",
    };
    PinningHolder holders[ARRAY_SIZE(loads)] = { };
    g_autoptr(PinningTaken) taken = NULL;
    PinningTakenCpuList *cpu;
    int i;

    for (i = 0; i < ARRAY_SIZE(loads); i++) {
        g_autofree char *text = g_strdup_printf("%s%s%s", HEAD SETS,
                                                loads[i], TAIL);

        holders[i].entry = parse(text);
    }
    taken = pinning_registry_sum(holders, ARRAY_SIZE(loads), 0);
    cpu = taken->io_load;
    g_assert_cmpstr(cpu->value->host_cpus, ==, "2");
    g_assert_cmpuint(cpu->value->load, ==, 5);
    cpu = cpu->next;
    g_assert_cmpstr(cpu->value->host_cpus, ==, "1");
    g_assert_cmpuint(cpu->value->load, ==, 2);
    cpu = cpu->next;
    g_assert_cmpstr(cpu->value->host_cpus, ==, "4");
    g_assert_cmpuint(cpu->value->load, ==, 1);
    g_assert_null(cpu->next);
    for (i = 0; i < ARRAY_SIZE(loads); i++) {
        qapi_free_PinningReservation(holders[i].entry);
    }
}

/* What a machine whose vCPUs have @host_cpus counts for on each CPU */
static char *load_text(PinningMode mode, const char *const *host_cpus)
{
    PinningOptions options = { };
    PinningRequest req = { .options = &options };
    g_autoptr(PinningPlan) plan = g_new0(PinningPlan, 1);
    g_autoptr(PinningReservation) entry = NULL;
    g_autoptr(PinningTaken) taken = NULL;
    g_autoptr(GString) text = g_string_new("");
    PinningHolder holder = { };
    PinningTakenCpuList *cpu;
    int i;

    plan->mode = mode;
    plan->parked_cpus = g_strdup("");
    plan->io_cpus = g_strdup("");
    plan->emulator_cpus = g_strdup("");
    plan->guest_topology = g_new0(PinningTopologyPlan, 1);
    for (i = 0; host_cpus[i]; i++) {
        PinningVcpuPlan *vcpu = g_new0(PinningVcpuPlan, 1);

        vcpu->vcpu = i;
        vcpu->host_cpus = g_strdup(host_cpus[i]);
        vcpu->reason = g_strdup("");
        QAPI_LIST_PREPEND(plan->vcpus, vcpu);
    }
    entry = pinning_reservation_new("vm", NULL, &req, plan);
    holder.entry = entry;
    taken = pinning_registry_sum(&holder, 1, 0);
    for (cpu = taken->cpus; cpu; cpu = cpu->next) {
        g_string_append_printf(text, " %s:%u", cpu->value->host_cpus,
                               cpu->value->load);
    }
    g_string_append(text, entry->has_cpu_load ? " uneven" : "");
    return g_strdup(text->str);
}

static void test_cpu_load(void)
{
    const char *float_alike[] = { "0-3", "0-3", NULL };
    const char *nodes_alike[] = { "0-3", "4-7", NULL };
    const char *nodes_uneven[] = { "0-3", "0-3", "0-3", "4-7", NULL };
    const char *overlapping[] = { "0-1", "1-2", NULL };
    const char *pinned[] = { "3", "5", NULL };
    g_autofree char *a = load_text(PINNING_MODE_BALANCED, float_alike);
    g_autofree char *b = load_text(PINNING_MODE_NUMA, nodes_alike);
    g_autofree char *c = load_text(PINNING_MODE_NUMA, nodes_uneven);
    g_autofree char *d = load_text(PINNING_MODE_SPREAD, overlapping);
    g_autofree char *e = load_text(PINNING_MODE_ONE_TO_ONE, pinned);

    g_assert_cmpstr(a, ==, " 0-3:500");
    g_assert_cmpstr(b, ==, " 0-7:250");
    g_assert_cmpstr(c, ==, " 0-3:750 4-7:250 uneven");
    g_assert_cmpstr(d, ==, " 1:1000 0,2:500 uneven");
    g_assert_cmpstr(e, ==, " 3,5:1000");
}

int main(int argc, char **argv)
{
    int i;

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pinning-entry/round-trip", test_round_trip);
    g_test_add_func("/pinning-entry/broken", test_broken);
    g_test_add_func("/pinning-entry/truncated", test_truncated);
    g_test_add_func("/pinning-entry/binary-and-large", test_binary_and_large);
    g_test_add_func("/pinning-entry/unknown-kept", test_unknown_kept);
    g_test_add_func("/pinning-entry/unknown-dropped", test_unknown_dropped);
    g_test_add_func("/pinning-entry/format-refuses", test_format_refuses);
    for (i = 0; i < ARRAY_SIZE(sums); i++) {
        g_autofree char *path = g_strdup_printf("/pinning-entry/sum/%s",
                                                sums[i].name);

        g_test_add_data_func(path, &sums[i], test_sum);
    }
    g_test_add_func("/pinning-entry/io-load", test_io_load);
    g_test_add_func("/pinning-entry/cpu-load", test_cpu_load);
    g_test_add_func("/pinning-entry/from-plan", test_from_plan);
    g_test_add_func("/pinning-entry/proc", test_proc);
    g_test_add_func("/pinning-entry/proc-self", test_proc_self);
    return g_test_run();
}
