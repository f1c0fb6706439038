/*
 * Unit tests for the topology of the host
 *
 * Real machines are fixtures in tests/data/host-topology, with what is read
 * from each beside it (PINNING_UPDATE_GOLDEN=1 writes that anew).  What those
 * machines do not show is made here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-types-pinning.h"
#include "qemu/host-topology.h"

#define CPUS "sys/devices/system/cpu/"
#define CPU CPUS "cpu"
#define NODE "sys/devices/system/node/node"

/* Number of files that the last host_read() looked for */
static uint64_t last_count;

/* A host that is being made: the text of a capture */
typedef GString Host;

/* Adds a file, given as "path=content", to @host; NULL begins a new one */
static Host * G_GNUC_PRINTF(2, 3)
put(Host *host, const char *fmt, ...)
{
    g_autofree char *file = NULL;
    char *content;
    va_list ap;

    va_start(ap, fmt);
    file = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    content = strchr(file, '=');
    g_assert_nonnull(content);
    *content++ = '\0';

    host = host ?: g_string_new(NULL);
    g_string_append_printf(host, "%s\t%s%s\n", file, content,
                           g_str_has_prefix(content, "\\!") ? "" : "\\n");
    return host;
}

/* The value of an int member of @c at @offset */
static int fact_at(const HostCpu *c, size_t offset)
{
    return *(const int *)((const char *)c + offset);
}

/* What must hold for every host, however broken its files are */
static void check_cpus(const HostTopology *topo)
{
    for (unsigned i = 0; i < topo->n_cpus; i++) {
        const HostCpu *c = &topo->cpus[i];
        const HostCpu *core, *llc;

        g_assert_true(host_topology_cpu(topo, c->cpu) == c);
        g_assert(!i || c->cpu > topo->cpus[i - 1].cpu);
        g_assert(c->online == cpuset_contains(topo->online, c->cpu));
        if (!c->online) {
            g_assert_cmpint(c->core, ==, HOST_UNKNOWN);
            g_assert_cmpint(c->node, ==, HOST_UNKNOWN);
            g_assert_cmpint(c->type, ==, HOST_UNKNOWN);
            continue;
        }
        g_assert_cmpint(c->type, >=, 0);
        g_assert_cmpint(c->type, <, topo->n_types);
        g_assert_true(cpuset_contains(topo->types[c->type].cpus, c->cpu));
        if (c->core != HOST_UNKNOWN) {
            core = host_topology_cpu(topo, c->core);
            g_assert_cmpint(core->core, ==, c->core);
            g_assert_cmpint(core->type, ==, c->type);
            g_assert_cmpint(c->core, <=, c->cpu);
        }
        if (c->llc != HOST_UNKNOWN) {
            llc = host_topology_cpu(topo, c->llc);
            g_assert_cmpint(llc->llc, ==, c->llc);
        }
        if (c->node != HOST_UNKNOWN) {
            g_assert_true(cpuset_contains(host_topology_node(topo,
                                                             c->node)->cpus,
                                          c->cpu));
        }
    }
}

static void check_nodes_and_sets(const HostTopology *topo)
{
    g_autoptr(CpuSet) typed = cpuset_new();

    g_assert_cmpuint(topo->n_nodes, >=, 1);
    for (unsigned i = 0; i < topo->n_nodes; i++) {
        const HostNode *n = &topo->nodes[i];

        g_assert_true(host_topology_node(topo, n->node) == n);
        g_assert_true(cpuset_is_subset(n->cpus, topo->online));
        g_assert_cmpuint(host_topology_distance(topo, n->node, n->node),
                         ==, 10);
    }
    for (unsigned i = 0; i < topo->n_types; i++) {
        g_assert_false(cpuset_is_empty(topo->types[i].cpus));
        g_assert_false(cpuset_intersects(topo->types[i].cpus, typed));
        g_assert(!i || cpuset_count(topo->types[i].cpus) <=
                       cpuset_count(topo->types[i - 1].cpus));
        cpuset_or(typed, topo->types[i].cpus);
    }
    g_assert_true(cpuset_equal(typed, topo->online));
    g_assert_true(cpuset_is_subset(topo->isolated, topo->online));
    g_assert_true(cpuset_is_subset(topo->allowed_cpus, topo->online));
}

static HostTopology *read_with(SysfsReader *reader, const CpuSet *affinity)
{
    HostTopology *topo = host_topology_new_from_reader(reader, affinity,
                                                       &error_abort);

    check_cpus(topo);
    check_nodes_and_sets(topo);
    last_count = sysfs_reader_count(reader);
    return topo;
}

/* Consumes @host */
static HostTopology *host_read_as(Host *host, const CpuSet *affinity)
{
    g_autoptr(SysfsReader) reader = sysfs_reader_new_from_text(host->str,
                                                               host->len,
                                                               &error_abort);

    g_string_free(host, true);
    return read_with(reader, affinity);
}

static HostTopology *host_read(Host *host)
{
    return host_read_as(host, NULL);
}

/* Consumes @host and returns the error */
static char *host_fail(Host *host)
{
    g_autoptr(SysfsReader) reader = sysfs_reader_new_from_text(host->str,
                                                               host->len,
                                                               &error_abort);
    Error *err = NULL;
    char *message;

    g_string_free(host, true);
    g_assert_null(host_topology_new_from_reader(reader, NULL, &err));
    message = g_strdup(error_get_pretty(err));
    error_free(err);
    return message;
}

static void assert_set(const CpuSet *set, const char *expected)
{
    g_autofree char *list = cpulist_format(set);

    g_assert_cmpstr(list, ==, expected);
}

/*
 * The online CPUs by the value of a member: "0=0-1 2=2-3 ?=4" when CPUs 0
 * and 1 have 0 there, CPUs 2 and 3 have 2, and that of CPU 4 is unknown.
 */
static void assert_facts_at(const HostTopology *topo, size_t offset,
                            const char *expected)
{
    g_autoptr(CpuSet) left = cpuset_copy(topo->online);
    g_autoptr(GString) text = g_string_new(NULL);

    CPUSET_FOREACH(cpu, left) {
        int value = fact_at(host_topology_cpu(topo, cpu), offset);
        g_autoptr(CpuSet) same = cpuset_new();
        g_autofree char *list = NULL;

        CPUSET_FOREACH(other, left) {
            if (fact_at(host_topology_cpu(topo, other), offset) == value) {
                cpuset_add(same, other);
            }
        }
        list = cpulist_format(same);
        if (value == HOST_UNKNOWN) {
            g_string_append_printf(text, " ?=%s", list);
        } else {
            g_string_append_printf(text, " %d=%s", value, list);
        }
        cpuset_andnot(left, same);
    }
    g_assert_cmpstr(text->str, ==, expected);
}

/* @expected begins with a blank for each value */
#define assert_facts(topo, member, expected) \
    assert_facts_at(topo, offsetof(HostCpu, member), expected)

/* All warnings, one a line */
static void assert_warnings(const HostTopology *topo, const char *expected)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint i = 0; i < topo->warnings->len; i++) {
        g_string_append_printf(text, "%s\n", (char *)topo->warnings->pdata[i]);
    }
    g_assert_cmpstr(text->str, ==, expected);
}

/* The kinds, the largest first */
static void assert_types(const HostTopology *topo, const char *expected)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < topo->n_types; i++) {
        g_autofree char *list = cpulist_format(topo->types[i].cpus);

        g_string_append_printf(text, " %s=%s",
                               host_topology_type_name(topo, i), list);
    }
    g_assert_cmpstr(text->str, ==, expected);
}

/* Fixtures */

static char *data_path(const char *name)
{
    return g_test_build_filename(G_TEST_DIST, "..", "data", "host-topology",
                                 name, NULL);
}

static void dump_fact(GString *text, const char *name, int64_t value)
{
    if (value == HOST_UNKNOWN) {
        g_string_append_printf(text, " %s -", name);
    } else {
        g_string_append_printf(text, " %s %" PRId64, name, value);
    }
}

static void dump_set(GString *text, const char *name, const CpuSet *set)
{
    g_autofree char *list = cpulist_format(set);

    g_string_append_printf(text, "%s %s\n", name, *list ? list : "none");
}

static void dump_cpu(GString *text, const HostCpu *c)
{
    g_string_append_printf(text, "cpu %u", c->cpu);
    if (!c->online) {
        g_string_append(text, " offline\n");
        return;
    }
    dump_fact(text, "node", c->node);
    dump_fact(text, "package", c->package);
    dump_fact(text, "die", c->die);
    dump_fact(text, "cluster", c->cluster);
    dump_fact(text, "core", c->core);
    dump_fact(text, "llc", c->llc);
    dump_fact(text, "type", c->type);
    dump_fact(text, "capacity", c->capacity);
    g_string_append(text, c->isolated ? " isolated" : "");
    g_string_append(text, c->nohz_full ? " nohz_full\n" : "\n");
}

static void dump_node(GString *text, const HostTopology *topo, unsigned i)
{
    const HostNode *n = &topo->nodes[i];

    g_string_append_printf(text, "node %u", n->node);
    dump_fact(text, "memory", n->memory);
    dump_fact(text, "free", n->free);
    dump_fact(text, "tier", n->tier);
    dump_set(text, " cpus", n->cpus);
    if (n->initiators) {
        dump_set(text, "  initiators", n->initiators);
    }
    for (unsigned j = 0; j < n->n_hugepages; j++) {
        g_string_append_printf(text, "  pages of %" PRIu64 ": %" PRIu64
                               ", free %" PRIu64 "\n",
                               n->hugepages[j].page_size,
                               n->hugepages[j].total, n->hugepages[j].free);
    }
    if (topo->distances) {
        g_string_append(text, "  distances");
        for (unsigned j = 0; j < topo->n_nodes; j++) {
            g_string_append_printf(text, " %u",
                                   topo->distances[i * topo->n_nodes + j]);
        }
        g_string_append(text, "\n");
    }
}

static char *dump(const HostTopology *topo)
{
    GString *text = g_string_new(NULL);

    dump_set(text, "allowed CPUs", topo->allowed_cpus);
    dump_set(text, "allowed nodes", topo->allowed_nodes);
    for (unsigned i = 0; i < topo->n_types; i++) {
        g_string_append_printf(text, "type %u %s", i,
                               host_topology_type_name(topo, i));
        dump_set(text, "", topo->types[i].cpus);
    }
    if (!topo->has_nodes) {
        g_string_append(text, "no nodes\n");
    }
    for (unsigned i = 0; i < topo->n_nodes; i++) {
        dump_node(text, topo, i);
    }
    for (unsigned i = 0; i < topo->n_cpus; i++) {
        dump_cpu(text, &topo->cpus[i]);
    }
    for (guint i = 0; i < topo->warnings->len; i++) {
        g_string_append_printf(text, "warning: %s\n",
                               (char *)topo->warnings->pdata[i]);
    }
    return g_string_free(text, false);
}

static char *read_file(const char *name)
{
    g_autofree char *path = data_path(name);
    char *content;
    GError *err = NULL;

    g_file_get_contents(path, &content, NULL, &err);
    g_assert_no_error(err);
    return content;
}

/* Not g_file_set_contents(): that would replace a link to the file */
static void write_file(const char *name, const char *content)
{
    g_autofree char *path = data_path(name);
    FILE *f = fopen(path, "w");

    g_assert_nonnull(f);
    g_assert_cmpint(fputs(content, f), >=, 0);
    g_assert_cmpint(fclose(f), ==, 0);
}

static void test_machine(gconstpointer data)
{
    const char *id = data;
    g_autofree char *capture_name = g_strconcat(id, ".capture", NULL);
    g_autofree char *golden_name = g_strconcat(id, ".topo", NULL);
    g_autofree char *text = read_file(capture_name);
    g_autoptr(SysfsReader) reader = sysfs_reader_new_from_text(text,
                                                               strlen(text),
                                                               &error_abort);
    g_autoptr(HostTopology) topo = read_with(reader, NULL);
    g_autofree char *found = dump(topo);
    g_autofree char *golden = NULL;

    if (g_strcmp0(g_getenv("PINNING_UPDATE_GOLDEN"), "1") == 0) {
        write_file(golden_name, found);
    }
    golden = read_file(golden_name);
    g_assert_cmpstr(found, ==, golden);
}

static void add_machines(void)
{
    g_autofree char *path = data_path("");
    GDir *dir = g_dir_open(path, 0, NULL);
    unsigned machines = 0;
    const char *name;

    g_assert_nonnull(dir);
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *id = g_strdup(name);
        g_autofree char *test = NULL;
        char *dot = strrchr(id, '.');

        if (dot && g_str_equal(dot, ".capture")) {
            *dot = '\0';
            test = g_strconcat("/host-topology/machine/", id, NULL);
            g_test_add_data_func_full(test, g_steal_pointer(&id),
                                      test_machine, g_free);
            machines++;
        }
    }
    g_dir_close(dir);
    g_assert_cmpuint(machines, >=, 13);
}

/* Made hosts */

/* @n CPUs, each a core of its own in one package */
static Host *plain_host(unsigned n)
{
    Host *host = put(NULL, CPUS "online=0-%u", n - 1);

    put(host, CPUS "present=0-%u", n - 1);
    for (unsigned cpu = 0; cpu < n; cpu++) {
        put(host, CPU "%u/topology/core_cpus_list=%u", cpu, cpu);
        put(host, CPU "%u/topology/package_cpus_list=0-%u", cpu, n - 1);
        put(host, CPU "%u/topology/physical_package_id=0", cpu);
    }
    return host;
}

static void put_cache(Host *host, unsigned cpu, unsigned index,
                      unsigned level, const char *type, const char *sharers,
                      const char *size)
{
    g_autofree char *dir = g_strdup_printf(CPU "%u/cache/index%u", cpu,
                                           index);

    put(host, "%s/level=%u", dir, level);
    put(host, "%s/type=%s", dir, type);
    put(host, "%s/shared_cpu_list=%s", dir, sharers);
    if (size) {
        put(host, "%s/size=%s", dir, size);
    }
}

/* The caches of a server core: two at level 1, one of its own, a shared one */
static void put_caches(Host *host, unsigned cpu, const char *core,
                       const char *llc)
{
    put_cache(host, cpu, 0, 1, "Data", core, "32K");
    put_cache(host, cpu, 1, 1, "Instruction", core, "32K");
    put_cache(host, cpu, 2, 2, "Unified", core, "1024K");
    put_cache(host, cpu, 3, 3, "Unified", llc, "32768K");
}

/*
 * 4096 CPUs: 2 sockets, 16 nodes, 128 cores with two threads (n, n + 2048)
 * in each, last-level caches of 8 cores; with every file of a current kernel
 */
static Host *large_host(void)
{
    Host *host = put(NULL, CPUS "online=0-4095");

    put(host, CPUS "present=0-4095");
    put(host, CPUS "isolated=");
    for (unsigned cpu = 0; cpu < 4096; cpu++) {
        unsigned core = cpu % 2048, llc = core & ~7, package = core / 1024;
        g_autofree char *core_list = g_strdup_printf("%u,%u", core,
                                                     core + 2048);
        g_autofree char *llc_list =
            g_strdup_printf("%u-%u,%u-%u", llc, llc + 7, llc + 2048,
                            llc + 2055);
        g_autofree char *package_list =
            g_strdup_printf("%u-%u,%u-%u", package * 1024,
                            package * 1024 + 1023, package * 1024 + 2048,
                            package * 1024 + 3071);
        g_autofree char *dir = g_strdup_printf(CPU "%u/topology", cpu);

        put(host, "%s/core_cpus_list=%s", dir, core_list);
        put(host, "%s/thread_siblings_list=%s", dir, core_list);
        put(host, "%s/cluster_cpus_list=%s", dir, core_list);
        put(host, "%s/die_cpus_list=%s", dir, package_list);
        put(host, "%s/package_cpus_list=%s", dir, package_list);
        put(host, "%s/core_id=%u", dir, core % 1024);
        put(host, "%s/cluster_id=%u", dir, core % 1024);
        put(host, "%s/die_id=0", dir);
        put(host, "%s/physical_package_id=%u", dir, package);
        put(host, CPU "%u/cpu_capacity=1024", cpu);
        put_caches(host, cpu, core_list, llc_list);
    }
    for (unsigned node = 0; node < 16; node++) {
        unsigned first = node * 128;
        GString *distances = g_string_new(NULL);

        put(host, NODE "%u/cpulist=%u-%u,%u-%u", node, first, first + 127,
            first + 2048, first + 2175);
        put(host, NODE "%u/meminfo=Node %u MemTotal: 1048576 kB\\n"
            "Node %u MemFree: 4 kB", node, node, node);
        put(host, NODE "%u/hugepages/hugepages-2048kB/nr_hugepages=8", node);
        put(host, NODE "%u/hugepages/hugepages-2048kB/free_hugepages=7",
            node);
        for (unsigned other = 0; other < 16; other++) {
            g_string_append_printf(distances, "%s%d", other ? " " : "",
                                   other == node ? 10 :
                                   other / 8 == node / 8 ? 12 : 32);
        }
        put(host, NODE "%u/distance=%s", node, distances->str);
        g_string_free(distances, true);
    }
    return host;
}

static void test_large(void)
{
    g_autoptr(HostTopology) topo = host_read(large_host());

    g_test_message("%" PRIu64 " files for 4096 CPUs", last_count);
    g_assert_cmpuint(last_count, <=, 12000);
    assert_warnings(topo, "");
    g_assert_cmpuint(topo->n_cpus, ==, 4096);
    g_assert_cmpuint(topo->n_nodes, ==, 16);
    g_assert_cmpuint(topo->n_types, ==, 1);
    for (unsigned cpu = 0; cpu < 4096; cpu++) {
        const HostCpu *c = host_topology_cpu(topo, cpu);
        unsigned core = cpu % 2048;

        g_assert_cmpint(c->core, ==, core);
        g_assert_cmpint(c->llc, ==, core & ~7);
        g_assert_cmpint(c->node, ==, core / 128);
        g_assert_cmpint(c->die, ==, 0);
        g_assert_cmpint(c->cluster, ==, core % 1024);
        g_assert_cmpint(c->package, ==, core / 1024);
    }
    g_assert_cmpint(topo->nodes[15].memory, ==, 1 * GiB);
    g_assert_cmpint(topo->nodes[15].free, ==, 4 * KiB);
    g_assert_cmpuint(topo->nodes[15].hugepages[0].free, ==, 7);
    g_assert_cmpuint(host_topology_distance(topo, 0, 7), ==, 12);
    g_assert_cmpuint(host_topology_distance(topo, 7, 8), ==, 32);
}

/* Numbers far beyond those of the C library's cpu_set_t, written as masks */
static void test_high_numbers(void)
{
    Host *host = put(NULL, CPUS "online=8190-8191");
    g_autoptr(GString) mask = g_string_new("c0000000");
    g_autoptr(HostTopology) topo = NULL;

    for (int i = 0; i < 255; i++) {
        g_string_append(mask, ",00000000");
    }
    put(host, CPUS "present=8000-8191");
    put(host, CPU "8190/topology/thread_siblings=%s", mask->str);
    put(host, CPU "8191/topology/thread_siblings=%s", mask->str);
    put(host, NODE "1023/cpumap=%s", mask->str);
    topo = host_read(host);
    g_assert_cmpuint(topo->n_cpus, ==, 192);
    assert_set(topo->online, "8190-8191");
    assert_facts(topo, core, " 8190=8190-8191");
    assert_facts(topo, node, " 1023=8190-8191");
    g_assert_null(host_topology_cpu(topo, 7999));
    g_assert_null(host_topology_cpu(topo, 8192));
    g_assert_null(host_topology_cpu(topo, UINT_MAX));
    g_assert_false(host_topology_cpu(topo, 8000)->online);
    assert_warnings(topo, "");
}

/* Without summary files, the directories say which CPUs there are */
static void test_directories_only(void)
{
    Host *host = put(NULL, CPU "0/online=0");
    g_autoptr(HostTopology) topo = NULL;

    put(host, CPUS "online=");
    put(host, CPUS "present=\\0");
    put(host, CPU "2/online=");
    put(host, CPU "3/topology/core_id=0");
    put(host, CPU "10/online=1");
    put(host, CPU "11/online=\\0");
    put(host, CPU "012/online=1");
    put(host, CPU "65536/online=1");
    put(host, CPU "freq/boost=1");
    put(host, CPU "idle/current_driver=none");
    topo = host_read(host);
    assert_set(topo->online, "2-3,10-11");
    g_assert_cmpuint(topo->n_cpus, ==, 5);
    g_assert_false(host_topology_cpu(topo, 0)->online);
    g_assert_false(topo->has_nodes);
    assert_facts(topo, node, " 0=2-3,10-11");
    assert_warnings(topo, "");
}

/* A CPU may vanish between two looks, and a list may name what is not there */
static void test_hotplug_race(void)
{
    Host *host = put(NULL, CPUS "online=0-2,8");
    g_autoptr(HostTopology) topo = NULL;

    put(host, CPUS "present=0-3");
    put(host, CPU "0/topology/core_cpus_list=0-1");
    put(host, CPU "0/topology/physical_package_id=0");
    put(host, CPU "3/topology/core_cpus_list=3");
    topo = host_read(host);
    g_assert_cmpuint(topo->n_cpus, ==, 5);
    assert_facts(topo, core, " 0=0-1 ?=2,8");
    assert_facts(topo, package, " 0=0-1 ?=2,8");
    g_assert_false(host_topology_cpu(topo, 3)->online);
}

static void test_no_cpus(void)
{
    static const char none[] = "no online host CPU can be found in "
                               "'sys/devices/system/cpu'";
    g_autofree char *empty = host_fail(g_string_new(NULL));
    g_autofree char *offline = host_fail(put(NULL, CPU "0/online=0"));
    g_autofree char *secret = host_fail(put(NULL, CPUS "online="
                                            "\\!Permission denied"));

    g_assert_cmpstr(empty, ==, none);
    g_assert_cmpstr(offline, ==, none);
    g_assert_cmpstr(secret, ==, none);
}

static void test_isolated(void)
{
    Host *host = plain_host(8);
    g_autoptr(HostTopology) topo = NULL;

    put(host, CPUS "isolated=2-3,9");
    put(host, CPUS "nohz_full=   (null)");
    topo = host_read(host);
    assert_set(topo->isolated, "2-3");
    g_assert_true(host_topology_cpu(topo, 3)->isolated);
    g_assert_false(host_topology_cpu(topo, 4)->isolated);
    g_assert_false(host_topology_cpu(topo, 3)->nohz_full);
    assert_warnings(topo, "");
}

static void test_nohz_full(void)
{
    Host *host = plain_host(4);
    g_autoptr(HostTopology) topo = NULL;

    put(host, CPUS "isolated=\\0");
    put(host, CPUS "nohz_full=1-2\\n\\0");
    topo = host_read(host);
    assert_set(topo->isolated, "");
    g_assert_false(host_topology_cpu(topo, 0)->nohz_full);
    g_assert_true(host_topology_cpu(topo, 1)->nohz_full);
    g_assert_true(host_topology_cpu(topo, 2)->nohz_full);
    assert_warnings(topo, "");
}

/* What can be done without is a warning, and becomes unknown, not zero */
static void test_broken_files(void)
{
    Host *host = put(NULL, CPUS "online=\\!Permission denied");
    g_autoptr(HostTopology) topo = NULL;

    put(host, CPUS "isolated=0-");
    for (int cpu = 0; cpu < 4; cpu++) {
        put(host, CPU "%d/topology/core_cpus_list=%d", cpu, cpu);
    }
    put(host, CPU "0/topology/physical_package_id=\\!Permission denied");
    put(host, CPU "1/topology/physical_package_id=one");
    put(host, CPU "2/topology/physical_package_id=99999999999");
    put(host, CPU "3/topology/physical_package_id=3");
    put(host, NODE "0/cpulist=\\!Permission denied");
    put(host, NODE "0/meminfo=Node 0 MemTotal: many kB");
    put(host, NODE "0/hugepages/hugepages-2048kB/nr_hugepages=x");
    put(host, NODE "1/cpulist=1-3");
    put(host, NODE "1/meminfo=\\!Permission denied");
    topo = host_read(host);
    assert_set(topo->online, "0-3");
    assert_facts(topo, package, " ?=0-2 3=3");
    assert_facts(topo, node, " ?=0 1=1-3");
    g_assert_cmpint(topo->nodes[0].memory, ==, HOST_UNKNOWN);
    g_assert_cmpint(topo->nodes[1].memory, ==, HOST_UNKNOWN);
    g_assert_cmpuint(topo->nodes[0].n_hugepages, ==, 0);
    assert_warnings(topo,
        "'/sys/devices/system/cpu/online': Permission denied\n"
        "'/sys/devices/system/cpu/isolated': expected a number at "
        "position 3, found the end\n"
        "'/sys/devices/system/node/node0/cpulist': Permission denied\n"
        "meminfo of host node 0 has no MemTotal\n"
        "'/sys/devices/system/node/node0/hugepages/hugepages-2048kB/"
        "nr_hugepages': not a number\n"
        "'/sys/devices/system/node/node1/meminfo': Permission denied\n"
        "host CPUs 0 are in no host node\n"
        "'/sys/devices/system/cpu/cpu0/topology/physical_package_id': "
        "Permission denied\n"
        "'/sys/devices/system/cpu/cpu1/topology/physical_package_id': "
        "not a number\n");
}

static void test_many_warnings(void)
{
    Host *host = put(NULL, CPUS "online=0-99");
    g_autoptr(HostTopology) topo = NULL;

    for (int cpu = 0; cpu < 100; cpu++) {
        put(host, CPU "%d/topology/core_cpus_list=?", cpu);
    }
    topo = host_read(host);
    g_assert_cmpuint(topo->warnings->len, ==, 33);
    g_assert_cmpstr(topo->warnings->pdata[32], ==,
                    "there is more, not listed here");
}

/* Nodes with CPUs only, memory only, both, and neither */
static void test_nodes(void)
{
    Host *host = plain_host(4);
    g_autoptr(HostTopology) topo = NULL;

    put(host, NODE "0/cpulist=0-1,5");
    put(host, NODE "0/meminfo=Node 0 MemTotal:       0 kB\\n"
        "Node 0 MemFree:        0 kB");
    put(host, NODE "2/cpulist=");
    put(host, NODE "2/meminfo=Node 2 MemTotal:  2048 kB\\n"
        "Node 2 MemFree:  1024 kB");
    put(host, NODE "7/cpulist=\\0");
    put(host, NODE "9/cpumap=0000,0000000c");
    put(host, "sys/devices/system/node/has_cpu=0,9");
    topo = host_read(host);
    g_assert_true(topo->has_nodes);
    g_assert_cmpuint(topo->n_nodes, ==, 4);
    assert_facts(topo, node, " 0=0-1 9=2-3");
    assert_set(topo->nodes[0].cpus, "0-1");
    assert_set(topo->nodes[1].cpus, "");
    assert_set(topo->nodes[2].cpus, "");
    assert_set(topo->nodes[3].cpus, "2-3");
    g_assert_cmpint(topo->nodes[0].memory, ==, 0);
    g_assert_cmpint(topo->nodes[1].memory, ==, 2 * MiB);
    g_assert_cmpint(topo->nodes[1].free, ==, 1 * MiB);
    g_assert_cmpint(topo->nodes[2].memory, ==, HOST_UNKNOWN);
    g_assert_null(host_topology_node(topo, 1));
    assert_warnings(topo, "");
}

/*
 * On a host with many nodes, what the first ones do not have is not looked
 * for on the others; but firmware that says nothing of nodes with CPUs does
 * not keep the driver of other memory from knowing.
 */
static void test_many_nodes(void)
{
    Host *host = plain_host(40);
    g_autoptr(HostTopology) topo = NULL;

    for (int node = 0; node < 40; node++) {
        put(host, NODE "%d/cpulist=%d", node, node);
        put(host, NODE "%d/meminfo=Node %d MemTotal: 8 kB", node, node);
    }
    put(host, NODE "40/cpulist=");
    put(host, NODE "40/meminfo=Node 40 MemTotal: 8 kB");
    put(host, NODE "40/access1/initiators/node7=");
    put(host, NODE "40/access1/initiators/read_bandwidth=100");
    topo = host_read(host);
    g_assert_cmpuint(topo->n_nodes, ==, 41);
    g_assert_null(topo->nodes[39].initiators);
    g_assert_nonnull(topo->nodes[40].initiators);
    assert_set(topo->nodes[40].initiators, "7");
    assert_warnings(topo, "");
}

/* What the host would drop is as good as free; never more than there is */
static void test_cache(void)
{
    static const struct {
        const char *meminfo;
        int64_t available;
    } cases[] = {
        { "MemTotal: 900 kB|MemFree: 100 kB|Active(file): 30 kB|"
          "Inactive(file): 200 kB|SReclaimable: 7 kB", 337 },
        { "MemTotal: 900 kB|MemFree: 100 kB|Active(file): 30 kB|"
          "Inactive(file): 200 kB|Dirty: 50 kB|Writeback: 10 kB", 270 },
        { "MemTotal: 900 kB|MemFree: 100 kB|Active(anon): 300 kB|"
          "Inactive(anon): 20 kB|Shmem: 40 kB|Mlocked: 9 kB", 100 },
        { "MemTotal: 900 kB|MemFree: 100 kB|Active(file): 3 kB|"
          "Dirty: 50 kB", 100 },
        { "MemTotal: 900 kB|MemFree: 100 kB|Inactive(file): 9000 kB", 900 },
        { "MemTotal: 900 kB|MemFree: 100 kB|Inactive(file): "
          "9007199254740991 kB|Active(file): 9007199254740991 kB", 900 },
        { "MemTotal: 900 kB|Inactive(file): 10 kB", -1 },
    };

    for (int i = 0; i < ARRAY_SIZE(cases); i++) {
        Host *host = plain_host(1);
        g_autoptr(HostTopology) topo = NULL;
        g_auto(GStrv) lines = g_strsplit(cases[i].meminfo, "|", 0);
        g_autofree char *text = g_strjoinv("\\nNode 0 ", lines);

        put(host, NODE "0/cpulist=0");
        put(host, NODE "0/meminfo=Node 0 %s", text);
        topo = host_read(host);
        g_assert_cmpint(topo->nodes[0].available, ==,
                        cases[i].available < 0 ? HOST_UNKNOWN
                        : cases[i].available * (int64_t)KiB);
    }
}

static void test_hugepages(void)
{
    Host *host = plain_host(1);
    g_autoptr(HostTopology) topo = NULL;
    const HostHugepages *pools;

    put(host, NODE "0/cpulist=0");
    put(host, NODE "0/hugepages/hugepages-2048kB/nr_hugepages=512");
    put(host, NODE "0/hugepages/hugepages-2048kB/free_hugepages=12");
    put(host, NODE "0/hugepages/hugepages-1048576kB/nr_hugepages=4");
    put(host, NODE "0/hugepages/hugepages-1048576kB/free_hugepages=3");
    put(host, NODE "0/hugepages/hugepages-64kB/nr_hugepages=1");
    put(host, NODE "0/hugepages/hugepages-kB/nr_hugepages=1");
    put(host, NODE "0/hugepages/demote=1");
    topo = host_read(host);
    pools = topo->nodes[0].hugepages;
    g_assert_cmpuint(topo->nodes[0].n_hugepages, ==, 2);
    g_assert_cmpuint(pools[0].page_size, ==, 2 * MiB);
    g_assert_cmpuint(pools[0].total, ==, 512);
    g_assert_cmpuint(pools[0].free, ==, 12);
    g_assert_cmpuint(pools[1].page_size, ==, 1 * GiB);
    g_assert_cmpuint(pools[1].total, ==, 4);
    g_assert_cmpuint(pools[1].free, ==, 3);
    assert_warnings(topo, "");
}

/* Fake NUMA puts CPUs into several nodes, broken firmware into none */
static void test_node_overlap(void)
{
    Host *host = plain_host(6);
    g_autoptr(HostTopology) topo = NULL;

    put(host, NODE "3/cpulist=1-3");
    put(host, NODE "1/cpulist=2-4");
    topo = host_read(host);
    assert_facts(topo, node, " ?=0,5 3=1 1=2-4");
    assert_set(topo->nodes[0].cpus, "2-4");
    assert_set(topo->nodes[1].cpus, "1-3");
    assert_warnings(topo, "host CPUs 0,5 are in no host node\n"
                    "host CPUs 2-3 are in several host nodes\n");
}

typedef struct DistanceCase {
    const char *rows[3];    /* of nodes 0, 33, 72; NULL: no file */
    const char *warning;    /* NULL: distances are used */
} DistanceCase;

static const DistanceCase distance_cases[] = {
    { { "10 20 30", "20 10 25", "30 25 10" } },
    { { "10 20 30", "21 10 25", "31 25 10" } },
    { { "10 255 11", "255 10 254", "11 254 10" } },
    { { "10  20\\t30", "20 10 25", "30 25 10" },
      "distances of host node 0 are not one number for each of 3 nodes; "
      "no distance is used\n" },
    { { "10 20", "20 10", "30 25" },
      "distances of host node 0 are not one number for each of 3 nodes; "
      "no distance is used\n" },
    { { "10 20 30 40", "20 10 25 40", "30 25 10 40" },
      "distances of host node 0 are not one number for each of 3 nodes; "
      "no distance is used\n" },
    { { "10 20 30", "20 10 x", "30 25 10" },
      "distances of host node 33 are not one number for each of 3 nodes; "
      "no distance is used\n" },
    { { "10 20 30", "20 10 -25", "30 25 10" },
      "distances of host node 33 are not one number for each of 3 nodes; "
      "no distance is used\n" },
    { { "10 20 30", "20 10 256", "30 256 10" },
      "distances of host node 33 are not one number for each of 3 nodes; "
      "no distance is used\n" },
    { { "10 20 30", "20 10 25", "" },
      "distances of host node 72 are not one number for each of 3 nodes; "
      "no distance is used\n" },
    { { "10 20 30", NULL, "30 25 10" },
      "1 of 3 host nodes tell no distances; no distance is used\n" },
    { { "10 20 30", "20 0 25", "30 25 10" },
      "distance 0 from host node 33 to 33 (to itself) makes no sense; "
      "no distance is used\n" },
    { { "10 10 10", "10 10 10", "10 10 10" },
      "distance 10 from host node 0 to 33 (no more than to itself) makes no "
      "sense; no distance is used\n" },
    { { "10 20 30", "20 10 25", "30 9 10" },
      "distance 9 from host node 72 to 33 (no more than to itself) makes no "
      "sense; no distance is used\n" },
    { { "10 20 255", "20 10 25", "30 25 10" },
      "distance 255 from host node 0 to 72 (unreachable one way only) makes "
      "no sense; no distance is used\n" },
    { { NULL, NULL, NULL }, "" },
};

/* Rows go by position: the numbers of the nodes may be anything */
static void test_distances(void)
{
    static const unsigned nodes[] = { 0, 33, 72 };

    for (int i = 0; i < ARRAY_SIZE(distance_cases); i++) {
        const DistanceCase *dc = &distance_cases[i];
        Host *host = plain_host(3);
        g_autoptr(HostTopology) topo = NULL;

        for (int j = 0; j < ARRAY_SIZE(nodes); j++) {
            put(host, NODE "%u/cpulist=%d", nodes[j], j);
            if (dc->rows[j]) {
                put(host, NODE "%u/distance=%s", nodes[j], dc->rows[j]);
            }
        }
        topo = host_read(host);
        assert_warnings(topo, dc->warning ?: "");
        g_assert((topo->distances == NULL) == (dc->warning != NULL));
        g_assert_cmpuint(host_topology_distance(topo, 33, 33), ==, 10);
        if (dc->warning) {
            g_assert_cmpuint(host_topology_distance(topo, 0, 72), ==, 20);
        }
    }
}

static void test_distance_directions(void)
{
    Host *host = plain_host(2);
    g_autoptr(HostTopology) topo = NULL;

    put(host, NODE "5/cpulist=0");
    put(host, NODE "5/distance=10 21");
    put(host, NODE "9/cpulist=1");
    put(host, NODE "9/distance=17 10");
    topo = host_read(host);
    g_assert_cmpuint(host_topology_distance(topo, 5, 9), ==, 21);
    g_assert_cmpuint(host_topology_distance(topo, 9, 5), ==, 17);
    g_assert_cmpuint(host_topology_distance(topo, 5, 0), ==, 20);
}

static void test_kernel_tiers(void)
{
    Host *host = plain_host(1);
    g_autoptr(HostTopology) topo = NULL;

    put(host, NODE "0/cpulist=0");
    put(host, NODE "1/cpulist=");
    put(host, NODE "2/cpulist=");
    put(host, NODE "1/access1/initiators/read_bandwidth=9000");
    put(host, NODE "1/access1/initiators/node0/=");
    put(host, "sys/devices/virtual/memory_tiering/memory_tier4/nodelist=0");
    put(host, "sys/devices/virtual/memory_tiering/memory_tier22/"
        "nodelist=1,8");
    topo = host_read(host);
    g_assert_cmpint(topo->nodes[0].tier, ==, 4);
    g_assert_cmpint(topo->nodes[1].tier, ==, 22);
    g_assert_cmpint(topo->nodes[2].tier, ==, HOST_UNKNOWN);
    g_assert_null(topo->nodes[0].initiators);
    assert_set(topo->nodes[1].initiators, "0");
    assert_warnings(topo, "");
}

/* Where the kernel has made no tiers, speed makes them */
static void test_access_tiers(void)
{
    static const struct {
        const char *bandwidth, *latency;
    } speeds[] = {
        { "1000", "100" }, { "100", "300" }, { "1000", "100" },
        { "0", "0" }, { "1000", "90" },
    };
    Host *host = plain_host(1);
    g_autoptr(HostTopology) topo = NULL;

    for (int node = 0; node < ARRAY_SIZE(speeds); node++) {
        put(host, NODE "%d/cpulist=%s", node, node ? "" : "0");
        for (int class = 0; class < (node == 1 ? 1 : 2); class++) {
            g_autofree char *dir =
                g_strdup_printf(NODE "%d/access%d/initiators", node, class);

            put(host, "%s/read_bandwidth=%s", dir, speeds[node].bandwidth);
            put(host, "%s/read_latency=%s", dir, speeds[node].latency);
            put(host, "%s/node%d/link=", dir, class ? 0 : 3);
        }
    }
    topo = host_read(host);
    g_assert_cmpint(topo->nodes[0].tier, ==, 1);
    g_assert_cmpint(topo->nodes[1].tier, ==, 2);
    g_assert_cmpint(topo->nodes[2].tier, ==, 1);
    g_assert_cmpint(topo->nodes[3].tier, ==, HOST_UNKNOWN);
    g_assert_cmpint(topo->nodes[4].tier, ==, 0);
    assert_set(topo->nodes[0].initiators, "0");
    assert_set(topo->nodes[1].initiators, "3");
}

/* Sibling sets decide, not core_id, which AMD modules do not share */
static void test_siblings(void)
{
    Host *host = put(NULL, CPUS "online=0-1,4-7");
    g_autoptr(HostTopology) topo = NULL;

    for (int cpu = 0; cpu < 8; cpu++) {
        put(host, CPU "%d/topology/thread_siblings=%x", cpu,
            3 << (cpu & ~1));
        put(host, CPU "%d/topology/core_id=%d", cpu, cpu % 2);
    }
    topo = host_read(host);
    assert_facts(topo, core, " 0=0-1 4=4-5 6=6-7");
    assert_warnings(topo, "");
}

/* The first form that is found is kept to: here the lists, and not for CPU 3 */
static void test_sibling_forms(void)
{
    Host *host = put(NULL, CPUS "online=0-3");
    g_autoptr(HostTopology) topo = NULL;

    for (int cpu = 0; cpu < 4; cpu++) {
        put(host, CPU "%d/topology/core_cpus=f", cpu);
        put(host, CPU "%d/topology/thread_siblings=f", cpu);
        if (cpu < 3) {
            put(host, CPU "%d/topology/thread_siblings_list=%s", cpu,
                cpu < 2 ? "0-1" : "2");
        }
    }
    topo = host_read(host);
    assert_facts(topo, core, " 0=0-1 2=2 ?=3");
}

static void test_strange_siblings(void)
{
    Host *host = put(NULL, CPUS "online=0-5");
    g_autoptr(HostTopology) topo = NULL;

    put(host, CPU "0/topology/core_cpus_list=0-1");
    put(host, CPU "1/topology/core_cpus_list=1-2");
    put(host, CPU "2/topology/core_cpus_list=1-2");
    put(host, CPU "3/topology/core_cpus_list=4");
    put(host, CPU "4/topology/core_cpus_list=4,99");
    put(host, CPU "5/topology/core_cpus_list=");
    topo = host_read(host);
    assert_facts(topo, core, " 0=0-1 2=2 ?=3,5 4=4");
    assert_warnings(topo,
        "host CPU 2 names CPU 1 as its SMT sibling, which names others\n"
        "host CPU 3 is not in its own topology/core_cpus_list\n"
        "host CPU 5 is not in its own topology/core_cpus_list\n");
}

/* Without sibling sets, one core_id stands for one core in a die of a node */
static void test_core_ids(void)
{
    Host *host = put(NULL, CPUS "online=0-8");
    g_autoptr(HostTopology) topo = NULL;

    for (int cpu = 0; cpu < 8; cpu++) {
        put(host, CPU "%d/topology/core_id=%d", cpu, cpu % 2);
        put(host, CPU "%d/topology/physical_package_id=%d", cpu, cpu / 6);
        put(host, CPU "%d/topology/die_id=%d", cpu, cpu == 2);
    }
    put(host, CPU "8/topology/core_id=-1");
    put(host, NODE "0/cpulist=0-3");
    put(host, NODE "1/cpulist=4-8");
    topo = host_read(host);
    assert_facts(topo, core, " 0=0 1=1,3 2=2 4=4 5=5 6=6 7=7 ?=8");
}

/* No topology at all is no topology of one core */
static void test_no_topology(void)
{
    Host *host = put(NULL, CPUS "online=0-999");
    g_autoptr(HostTopology) topo = host_read(host);

    assert_facts(topo, core, " ?=0-999");
    assert_facts(topo, package, " ?=0-999");
    assert_facts(topo, llc, " ?=0-999");
    assert_facts(topo, type, " 0=0-999");
    g_assert_cmpstr(host_topology_type_name(topo, 0), ==, "uniform");
    /* What no CPU has is not looked for on each */
    g_assert_cmpuint(last_count, <, 1000);
}

typedef struct PackageCase {
    const char *ids[4];     /* of CPUs 0 to 3 */
    const char *sets[4];
    const char *books[4];
    const char *packages;
} PackageCase;

static const PackageCase package_cases[] = {
    { { "0", "0", "1", "1" }, { "0-1", "0-1", "2-3", "2-3" }, { },
      " 0=0-1 1=2-3" },
    { { "36", "36", "8442", "8442" }, { }, { }, " 36=0-1 8442=2-3" },
    { { "65535", "0", "65535", "0" }, { "0,2", "1,3", "0,2", "1,3" }, { },
      " 65535=0,2 0=1,3" },
    /* No number, but a set: the lowest CPU is the name, of all packages */
    { { "-1", "-1", "-1", "-1" }, { "0,2", "1,3", "0,2", "1,3" }, { },
      " 0=0,2 1=1,3" },
    { { "7", "7", "-1", "-1" }, { "0-1", "0-1", "2-3", "2-3" }, { },
      " 0=0-1 2=2-3" },
    /* Sets of single CPUs, as some phones have: the number is the package */
    { { "0", "0", "1", "1" }, { "0", "1", "2", "3" }, { }, " 0=0-1 1=2-3" },
    /* Numbers that start anew in each book */
    { { "0", "0", "0", "1" }, { }, { "0", "0", "1", "1" },
      " 0=0-1 2=2 3=3" },
    { { "-1", "-2", "-99", "-1" }, { }, { }, " ?=0-3" },
    { { NULL, NULL, "5", "5" }, { }, { }, " ?=0-1 2=2-3" },
};

static void test_packages(void)
{
    for (int i = 0; i < ARRAY_SIZE(package_cases); i++) {
        const PackageCase *pc = &package_cases[i];
        Host *host = put(NULL, CPUS "online=0-3");
        g_autoptr(HostTopology) topo = NULL;

        for (int cpu = 0; cpu < 4; cpu++) {
            g_autofree char *dir = g_strdup_printf(CPU "%d/topology", cpu);

            if (pc->ids[cpu]) {
                put(host, "%s/physical_package_id=%s", dir, pc->ids[cpu]);
            }
            if (pc->sets[cpu]) {
                put(host, "%s/core_siblings_list=%s", dir, pc->sets[cpu]);
            }
            if (pc->books[cpu]) {
                put(host, "%s/book_id=%s", dir, pc->books[cpu]);
            }
        }
        topo = host_read(host);
        assert_facts(topo, package, pc->packages);
    }
}

/* Numbers that stand for "none" */
static void test_dies_and_clusters(void)
{
    Host *host = put(NULL, CPUS "online=0-7");
    g_autoptr(HostTopology) topo = NULL;

    for (int cpu = 0; cpu < 8; cpu++) {
        g_autofree char *dir = g_strdup_printf(CPU "%d/topology", cpu);

        put(host, "%s/core_cpus_list=%d-%d", dir, cpu & ~1, cpu | 1);
        put(host, "%s/die_id=%d", dir, cpu < 6 ? cpu / 4 : -1);
        put(host, "%s/die_cpus_list=%s", dir,
            cpu < 4 ? "0-3" : cpu < 6 ? "4-5" : "6-7");
        put(host, "%s/cluster_id=%s", dir,
            cpu < 2 ? "138" : cpu < 4 ? "65535" : cpu < 6 ? "-1" : "654");
    }
    topo = host_read(host);
    assert_facts(topo, die, " 0=0-3 1=4-5 ?=6-7");
    assert_facts(topo, cluster, " 138=0-1 ?=2-5 654=6-7");
    assert_warnings(topo, "");
}

/*
 * Two slow cores (CPUs 0-1, without the cache at level 3) stand before four
 * fast ones and two more slow ones after them.
 */
static void test_llc_levels(void)
{
    Host *host = plain_host(8);
    g_autoptr(HostTopology) topo = NULL;

    for (int cpu = 0; cpu < 8; cpu++) {
        g_autofree char *self = g_strdup_printf("%d", cpu);
        bool fast = cpu >= 2 && cpu < 6;

        put_cache(host, cpu, 0, 1, "Data", self, fast ? "48K" : "32K");
        put_cache(host, cpu, 1, 1, "Instruction", self, "64K");
        put_cache(host, cpu, 2, 2, "Unified", cpu < 2 ? "0-1" :
                  fast ? self : "6-7", "2048K");
        if (fast) {
            put_cache(host, cpu, 3, 3, "Unified", "2-5", "24M");
        }
    }
    topo = host_read(host);
    assert_facts(topo, llc, " 0=0-1 2=2-5 6=6-7");
    assert_types(topo, " efficient=0-1,6-7 performance=2-5");
    assert_warnings(topo, "");
}

/* Directories that describe no cache, or one that nobody can share */
static void test_llc_strange(void)
{
    Host *host = plain_host(6);
    g_autoptr(HostTopology) topo = NULL;

    put_cache(host, 0, 0, 1, "Unified", "0-1", NULL);
    put_cache(host, 1, 0, 2, "Instruction", "0-1", NULL);
    put_cache(host, 2, 0, 2, "Unified", "2-3", NULL);
    put_cache(host, 2, 1, 4, "None", "2-5", NULL);
    put(host, CPU "2/cache/index2/level=3");
    put(host, CPU "2/cache/index3/type=Unified");
    put_cache(host, 4, 0, 2, "Unified", "5", NULL);
    put_cache(host, 5, 7, 3, "Data", "3,5,17", NULL);
    topo = host_read(host);
    assert_facts(topo, llc, " ?=0-1,4 2=2-3 5=5");
    assert_warnings(topo, "host CPU 4 is not in its own "
                    "cache/index0/shared_cpu_list\n");
}

/* Siblings share what their core has, though only one of them is read */
static void test_llc_masks(void)
{
    Host *host = put(NULL, CPUS "online=0-7");
    g_autoptr(HostTopology) topo = NULL;

    for (int cpu = 0; cpu < 8; cpu++) {
        put(host, CPU "%d/topology/core_cpus_list=%d,%d", cpu, cpu % 4,
            cpu % 4 + 4);
        put(host, CPU "%d/cache/index0/level=2", cpu);
        put(host, CPU "%d/cache/index0/type=Unified", cpu);
        put(host, CPU "%d/cache/index0/shared_cpu_map=%s", cpu,
            cpu % 4 < 2 ? "00000000,00000033" : "000000cc");
    }
    topo = host_read(host);
    assert_facts(topo, llc, " 0=0-1,4-5 2=2-3,6-7");
}

/* CPU kinds */

static void test_pmus(void)
{
    Host *host = plain_host(8);
    g_autoptr(HostTopology) topo = NULL;

    put(host, "sys/devices/cpu_core/cpus=1-0");
    topo = host_read(host);
    assert_types(topo, " uniform=0-7");

    host = plain_host(8);
    put(host, "sys/devices/cpu_core/cpus=4-5,0-1");
    put(host, "sys/devices/cpu_atom/cpus=2-3,8");
    put(host, "sys/devices/cpu_lowpower/cpus=6-7");
    host_topology_free(g_steal_pointer(&topo));
    topo = host_read(host);
    assert_types(topo, " performance=0-1,4-5 middle=2-3 efficient=6-7");
    assert_warnings(topo, "");

    /* One PMU driver may serve two designs, which the caches tell apart */
    host = plain_host(8);
    put(host, "sys/devices/cpu_core/cpus=0-3");
    put(host, "sys/devices/cpu_atom/cpus=4-7");
    for (int cpu = 0; cpu < 8; cpu++) {
        put_cache(host, cpu, 0, 1, "Data", "0-7", cpu < 4 ? "48K" : "32K");
        put_cache(host, cpu, 2, 2, "Unified", "0-7", cpu < 6 ? "4M" : "2M");
    }
    host_topology_free(g_steal_pointer(&topo));
    topo = host_read(host);
    assert_types(topo, " performance=0-3 efficient=4-5 efficient=6-7");
}

typedef struct KindCase {
    const char *files[3];   /* names below a CPU's directory */
    const char *values[3][6]; /* for each name, of CPUs 0 to 5 */
    const char *types;
} KindCase;

#define MIDR "regs/identification/midr_el1"
#define CAPACITY "cpu_capacity"
#define L1_SIZE "cache/index0/size"

#define A725 "0x00000000410fd870"
#define A725_R1 "0x00000000411fd872"
#define X925 "0x00000000410fd850"
#define AMPERE1 "0x00000000c00fac30"

static const KindCase kind_cases[] = {
    /* Clocks differ between cores of one design: no reason to tell apart */
    { { MIDR, CAPACITY },
      { { A725, A725, A725, A725, X925, X925 },
        { "718", "718", "731", "731", "997", "1024" } },
      " efficient=0-3 performance=4-5" },
    { { MIDR }, { { A725, A725_R1, A725, A725, A725, A725 } },
      " uniform=0-5" },
    { { MIDR }, { { AMPERE1, AMPERE1, AMPERE1, A725, A725, A725 } },
      " unranked=0-2 unranked=3-5" },
    { { MIDR }, { { AMPERE1, AMPERE1, AMPERE1, A725, NULL, A725 } },
      " unranked=0-2 unranked=3,5 unranked=4" },
    { { MIDR, L1_SIZE },
      { { A725, A725, A725, A725, A725, A725 },
        { "32K", "32K", "64K", "64K", "64K", "64K" } },
      " performance=2-5 efficient=0-1" },
    { { L1_SIZE }, { { "48K", "48K", "32K", "32K", "32K", "32K" } },
      " efficient=2-5 performance=0-1" },
    /* Equally many of each: the faster is the first */
    { { MIDR, CAPACITY },
      { { A725, A725, A725, X925, X925, X925 },
        { "400", "400", "400", "1024", "1024", "1024" } },
      " performance=3-5 efficient=0-2" },
    { { MIDR, CAPACITY },
      { { A725, A725, A725, X925, X925, AMPERE1 },
        { "400", "400", "400", "800", "800", "1024" } },
      " efficient=0-2 middle=3-4 performance=5" },
    /* Nothing but capacities: large steps make kinds, small ones do not */
    { { CAPACITY }, { { "446", "446", "448", "446", "1024", "1000" } },
      " efficient=0-3 performance=4-5" },
    { { CAPACITY }, { { "100", "109", "118", "128", "139", "151" } },
      " uniform=0-5" },
    { { CAPACITY }, { { "100", "110", "121", "134", "150", "170" } },
      " performance=5 middle=4 middle=3 middle=2 middle=1 efficient=0" },
    { { CAPACITY }, { { "0", "0", "0", "0", "0", "1" } },
      " efficient=0-4 performance=5" },
    /* Some boards tell capacities of some CPUs only */
    { { CAPACITY }, { { "512", "512", NULL, NULL, "1024", "1024" } },
      " uniform=0-5" },
    { { MIDR, CAPACITY },
      { { A725, A725, A725, A725, A725, A725 },
        { "1024", NULL, NULL, NULL, NULL, "512" } },
      " uniform=0-5" },
};

static void test_kinds(void)
{
    for (int i = 0; i < ARRAY_SIZE(kind_cases); i++) {
        const KindCase *kc = &kind_cases[i];
        Host *host = plain_host(6);
        g_autoptr(HostTopology) topo = NULL;

        for (int f = 0; f < ARRAY_SIZE(kc->files) && kc->files[f]; f++) {
            for (int cpu = 0; cpu < 6; cpu++) {
                if (kc->values[f][cpu]) {
                    put(host, CPU "%d/%s=%s", cpu, kc->files[f],
                        kc->values[f][cpu]);
                }
            }
        }
        for (int cpu = 0; cpu < 6; cpu++) {
            put(host, CPU "%d/cache/index0/level=1", cpu);
            put(host, CPU "%d/cache/index0/type=Data", cpu);
        }
        topo = host_read(host);
        assert_types(topo, kc->types);
        assert_warnings(topo, "");
    }
}

/* SMT is a sign of a fast core where there is no better one */
static void test_kinds_by_smt(void)
{
    Host *host = put(NULL, CPUS "online=0-3");
    g_autoptr(HostTopology) topo = NULL;

    put(host, CPU "0/topology/core_cpus_list=0-1");
    put(host, CPU "2/topology/core_cpus_list=2");
    put(host, CPU "3/topology/core_cpus_list=3");
    put(host, CPU "0/" MIDR "=" X925);
    put(host, CPU "2/" MIDR "=" A725);
    put(host, CPU "3/" MIDR "=" A725);
    put(host, CPU "2/" CAPACITY "=300");
    topo = host_read(host);
    assert_types(topo, " efficient=2-3 performance=0-1");
    assert_facts(topo, capacity, " ?=0-1,3 300=2");
}

static void test_cpuinfo(void)
{
    Host *host = plain_host(4);
    g_autoptr(HostTopology) topo = NULL;

    put(host, "proc/cpuinfo="
        "processor\\t: 0\\nCPU implementer\\t: 0x41\\nCPU part\\t: 0xd46\\n"
        "\\nprocessor\\t: 1\\nCPU implementer\\t: 0x41\\n"
        "CPU part\\t: 0xd47\\n\\n"
        "processor\\t: 2\\nCPU implementer\\t: 0x41\\nCPU part\\t: 0xd46\\n"
        "\\nprocessor\\t: 3\\nCPU implementer\\t: 0x51\\n"
        "CPU part\\t: 0xd46\\n\\nprocessor\\t: 70000\\nCPU part\\t: 1");
    topo = host_read(host);
    assert_types(topo, " unranked=0,2 unranked=1 unranked=3");
    assert_warnings(topo, "");
}

/* Kernels before 3.8 say it once, at the end, of the CPU that runs cat */
static void test_cpuinfo_old(void)
{
    Host *host = plain_host(2);
    g_autoptr(HostTopology) topo = NULL;

    put(host, "proc/cpuinfo=Processor\\t: ARMv7 Processor rev 3 (v7l)\\n"
        "processor\\t: 0\\nBogoMIPS\\t: 1.0\\n\\n"
        "processor\\t: 1\\nBogoMIPS\\t: 1.0\\n\\n"
        "CPU implementer\\t: 0x41\\nCPU part\\t: 0xc0f");
    topo = host_read(host);
    assert_types(topo, " uniform=0-1");
}

/* What the process may use */

#define STATUS "proc/self/status="
#define GROUP "sys/fs/cgroup"

typedef struct AllowedCase {
    const char *files[4];
    const char *affinity;   /* or NULL */
    const char *cpus;
    const char *nodes;
    const char *warnings;   /* or NULL */
} AllowedCase;

static const AllowedCase allowed_cases[] = {
    { { }, NULL, "0-3,5-7", "0,2" },
    { { }, "2-4", "2-3", "0,2" },
    { { STATUS "Name:\\tqemu\\nCpus_allowed_list:\\t1-4,99\\n"
        "Mems_allowed:\\t1\\nMems_allowed_list:\\t0" },
      NULL, "1-3", "0" },
    /* The caller knows its own affinity better */
    { { STATUS "Cpus_allowed_list:\\t1-4\\nMems_allowed_list:\\t2-9" },
      "5", "5", "2" },
    { { STATUS "Name:\\tqemu" }, NULL, "0-3,5-7", "0,2" },
    { { "proc/self/cgroup=0::/", GROUP "/cpuset.cpus.effective=0-1,7",
        GROUP "/cpuset.mems.effective=2" },
      NULL, "0-1,7", "2" },
    { { "proc/self/cgroup=0::/a/b", GROUP "/cpuset.cpus.effective=0-1,7",
        GROUP "/a/b/cpuset.cpus.effective=7",
        GROUP "/a/cpuset.mems.effective=0" },
      NULL, "7", "0" },
    { { "proc/self/cgroup=0::/a/b", GROUP "/a/cpuset.cpus.effective=1-6",
        STATUS "Cpus_allowed_list:\\t0-2" },
      NULL, "1-2", "0,2" },
    { { "proc/self/cgroup=0::/a", GROUP "/a/cpuset.cpus.effective=1-6" },
      "6-7", "6", "0,2" },
    /* A group that we cannot see, and one of cgroup v1 */
    { { "proc/self/cgroup=0::/../a", GROUP "/cpuset.cpus.effective=1" },
      NULL, "0-3,5-7", "0,2" },
    { { "proc/self/cgroup=4:cpuset:/a\\n1:name=systemd:/a",
        GROUP "/a/cpuset.cpus.effective=1" },
      NULL, "0-3,5-7", "0,2" },
    { { "proc/self/cgroup=1:name=systemd:/x\\n0::/a",
        GROUP "/a/cpuset.cpus.effective=\\!Permission denied" },
      NULL, "0-3,5-7", "0,2",
      "'/sys/fs/cgroup/a/cpuset.cpus.effective': Permission denied\n" },
    /* Nothing left is nothing, never all */
    { { STATUS "Cpus_allowed_list:\\t4,64\\nMems_allowed_list:\\t1" },
      NULL, "", "",
      "this process may use none of the host's CPUs\n"
      "this process may use none of the host's nodes\n" },
};

static Host *host_with_two_nodes(void)
{
    Host *host = put(NULL, CPUS "online=0-3,5-7");

    put(host, CPUS "present=0-7");
    put(host, NODE "0/cpulist=0-4");
    put(host, NODE "2/cpulist=5-7");
    return host;
}

static void test_allowed(void)
{
    for (int i = 0; i < ARRAY_SIZE(allowed_cases); i++) {
        const AllowedCase *ac = &allowed_cases[i];
        Host *host = host_with_two_nodes();
        g_autoptr(HostTopology) topo = NULL;
        g_autoptr(CpuSet) affinity = NULL;

        for (int f = 0; f < ARRAY_SIZE(ac->files) && ac->files[f]; f++) {
            put(host, "%s", ac->files[f]);
        }
        if (ac->affinity) {
            affinity = cpulist_parse(ac->affinity, &error_abort);
        }
        topo = host_read_as(host, affinity);
        assert_set(topo->allowed_cpus, ac->cpus);
        assert_set(topo->allowed_nodes, ac->nodes);
        assert_warnings(topo, ac->warnings ?: "");
    }
}

/* To guess what may be used would be worse than to fail */
static void test_allowed_broken(void)
{
    g_autofree char *secret =
        host_fail(put(host_with_two_nodes(), STATUS "\\!Permission denied"));
    g_autofree char *nonsense =
        host_fail(put(host_with_two_nodes(),
                      STATUS "Cpus_allowed_list:\\t3-1"));
    g_autofree char *empty =
        host_fail(put(host_with_two_nodes(), STATUS "Mems_allowed_list:"));

    g_assert_cmpstr(secret, ==, "'/proc/self/status': Permission denied");
    g_assert_cmpstr(nonsense, ==, "proc/self/status: Cpus_allowed_list: "
                    "range 3-1 at position 1 ends below its start");
    g_assert_cmpstr(empty, ==, "proc/self/status: Mems_allowed_list: "
                    "expected a number at position 1, found the end");
}

/* What QMP shows */

static void test_info_absent(void)
{
    Host *host = put(NULL, CPUS "online=1");
    g_autoptr(HostTopology) topo = NULL;
    g_autoptr(HostTopologyInfo) info = NULL;
    HostCpuInfo *cpu;

    put(host, CPUS "present=0-1");
    topo = host_read(host);
    info = host_topology_info(topo);
    cpu = info->cpus->value;
    g_assert_cmpuint(cpu->cpu, ==, 0);
    g_assert_false(cpu->online);
    cpu = info->cpus->next->value;
    g_assert_cmpuint(cpu->cpu, ==, 1);
    g_assert_true(cpu->online);
    g_assert_false(cpu->has_node || cpu->has_package || cpu->has_die ||
                   cpu->has_cluster || cpu->has_core || cpu->has_llc ||
                   cpu->has_capacity);
    g_assert_null(info->cpus->next->next);
    g_assert_null(info->nodes);
    g_assert_null(info->warnings);
    g_assert_cmpstr(info->allowed_cpus, ==, "1");
    g_assert_cmpstr(info->allowed_nodes, ==, "");
}

static void test_info(void)
{
    g_autoptr(HostTopology) topo = host_read(large_host());
    g_autoptr(HostTopologyInfo) info = host_topology_info(topo);
    HostCpuInfo *cpu = info->cpus->value;
    HostNodeInfo *node = info->nodes->next->value;

    g_assert_true(cpu->has_node && cpu->has_package && cpu->has_die &&
                  cpu->has_cluster && cpu->has_core && cpu->has_llc &&
                  cpu->has_capacity);
    g_assert_cmpuint(cpu->capacity, ==, 1024);
    g_assert_cmpuint(node->node, ==, 1);
    g_assert_cmpstr(node->cpus, ==, "128-255,2176-2303");
    g_assert_true(node->has_memory && node->has_free && !node->has_tier);
    g_assert_cmpuint(node->memory, ==, 1 * GiB);
    g_assert_cmpuint(node->free, ==, 4 * KiB);
    g_assert_cmpuint(node->distances->value, ==, 12);
    g_assert_cmpuint(node->distances->next->value, ==, 10);
    g_assert_cmpuint(node->hugepages->value->page_size, ==, 2 * MiB);
    g_assert_cmpuint(node->hugepages->value->total, ==, 8);
    g_assert_cmpuint(node->hugepages->value->free, ==, 7);
    g_assert_null(node->hugepages->next);
    g_assert_cmpstr(info->allowed_cpus, ==, "0-4095");
    g_assert_cmpstr(info->allowed_nodes, ==, "0-15");
}

/* The host that the test runs on, whatever it is */
static void test_this_host(void)
{
    g_autoptr(CpuSet) affinity = cpuset_new();
    g_autoptr(HostTopology) topo = NULL;
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) < 0) {
        g_test_skip("more CPUs than the C library can tell");
        return;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            cpuset_add(affinity, cpu);
        }
    }
    topo = host_topology_new(NULL, affinity, &error_abort);
    check_cpus(topo);
    check_nodes_and_sets(topo);
    g_assert_true(cpuset_equal(topo->allowed_cpus, affinity));
    g_assert_false(cpuset_is_empty(topo->allowed_nodes));
}

static void test_bad_root(void)
{
    Error *err = NULL;

    g_assert_null(host_topology_new("/nonexistent/root", NULL, &err));
    g_assert_cmpstr(error_get_pretty(err), ==, "cannot open host root "
                    "'/nonexistent/root': No such file or directory");
    error_free(err);
    host_topology_free(NULL);
}

static void add_cpu_tests(void)
{
    g_test_add_func("/host-topology/cpus/large", test_large);
    g_test_add_func("/host-topology/cpus/high-numbers", test_high_numbers);
    g_test_add_func("/host-topology/cpus/directories-only",
                    test_directories_only);
    g_test_add_func("/host-topology/cpus/hotplug-race", test_hotplug_race);
    g_test_add_func("/host-topology/cpus/none", test_no_cpus);
    g_test_add_func("/host-topology/cpus/isolated", test_isolated);
    g_test_add_func("/host-topology/cpus/nohz-full", test_nohz_full);
    g_test_add_func("/host-topology/broken/files", test_broken_files);
    g_test_add_func("/host-topology/broken/many-warnings",
                    test_many_warnings);
    g_test_add_func("/host-topology/broken/root", test_bad_root);
    g_test_add_func("/host-topology/cores/siblings", test_siblings);
    g_test_add_func("/host-topology/cores/forms", test_sibling_forms);
    g_test_add_func("/host-topology/cores/strange", test_strange_siblings);
    g_test_add_func("/host-topology/cores/core-ids", test_core_ids);
    g_test_add_func("/host-topology/cores/no-topology", test_no_topology);
    g_test_add_func("/host-topology/cores/packages", test_packages);
    g_test_add_func("/host-topology/cores/dies-and-clusters",
                    test_dies_and_clusters);
    g_test_add_func("/host-topology/llc/levels", test_llc_levels);
    g_test_add_func("/host-topology/llc/strange", test_llc_strange);
    g_test_add_func("/host-topology/llc/masks", test_llc_masks);
    g_test_add_func("/host-topology/kinds/pmus", test_pmus);
    g_test_add_func("/host-topology/kinds/facts", test_kinds);
    g_test_add_func("/host-topology/kinds/smt", test_kinds_by_smt);
    g_test_add_func("/host-topology/kinds/cpuinfo", test_cpuinfo);
    g_test_add_func("/host-topology/kinds/cpuinfo-old", test_cpuinfo_old);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);

    add_machines();
    add_cpu_tests();
    g_test_add_func("/host-topology/nodes/shapes", test_nodes);
    g_test_add_func("/host-topology/nodes/many", test_many_nodes);
    g_test_add_func("/host-topology/nodes/cache", test_cache);
    g_test_add_func("/host-topology/nodes/hugepages", test_hugepages);
    g_test_add_func("/host-topology/nodes/overlap", test_node_overlap);
    g_test_add_func("/host-topology/nodes/distances", test_distances);
    g_test_add_func("/host-topology/nodes/distance-directions",
                    test_distance_directions);
    g_test_add_func("/host-topology/nodes/kernel-tiers", test_kernel_tiers);
    g_test_add_func("/host-topology/nodes/access-tiers", test_access_tiers);
    g_test_add_func("/host-topology/allowed/sets", test_allowed);
    g_test_add_func("/host-topology/allowed/broken", test_allowed_broken);
    g_test_add_func("/host-topology/info/absent", test_info_absent);
    g_test_add_func("/host-topology/info/all", test_info);
    g_test_add_func("/host-topology/this-host", test_this_host);
    return g_test_run();
}
