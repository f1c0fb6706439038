/*
 * Pinning: command lines, monitor, and masks as the kernel tells them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sched.h>
#include "libqtest.h"
#include "qapi/error.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "qobject/qstring.h"

#define BARE "-nodefaults -no-user-config -display none "

/* What /proc says, not what QEMU says */
static char *allowed_list(pid_t pid, pid_t tid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/status",
                                            pid, tid);
    g_autofree char *text = NULL;
    char *line, *list;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    line = strstr(text, "\nCpus_allowed_list:\t");
    g_assert_nonnull(line);
    list = strchr(line, '\t') + 1;
    return g_strndup(list, strcspn(list, "\n"));
}

/* CPUs this test may use: an array of their numbers */
static GArray *own_cpus(void)
{
    GArray *cpus = g_array_new(false, false, sizeof(int));
    cpu_set_t set;
    int i;

    g_assert_cmpint(sched_getaffinity(0, sizeof(set), &set), ==, 0);
    for (i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &set)) {
            g_array_append_val(cpus, i);
        }
    }
    return cpus;
}

static bool enough_cpus(unsigned n)
{
    g_autoptr(GArray) cpus = own_cpus();

    if (cpus->len < n) {
        g_autofree char *why = g_strdup_printf("needs %u host CPUs, this host"
                                               " has %u", n, cpus->len);
        g_test_skip(why);
        return false;
    }
    return true;
}

static QDict *query(QTestState *qts, const char *command)
{
    QDict *reply = qtest_qmp(qts, "{'execute': %s}", command);
    QDict *ret = qdict_get_qdict(reply, "return");

    g_assert_nonnull(ret);
    qobject_ref(ret);
    qobject_unref(reply);
    return ret;
}

/*
 * Each vCPU has one CPU, no two the same, and QEMU and the kernel agree.
 * Returns the number of vCPUs.
 */
static unsigned check_one_to_one(QTestState *qts)
{
    g_autoptr(QDict) info = query(qts, "query-pinning");
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal,
                                                       g_free, NULL);
    const QListEntry *e;
    unsigned n = 0;

    g_assert_true(qdict_get_bool(info, "enabled"));
    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "threads"), e) {
        QDict *thread = qobject_to(QDict, qlist_entry_obj(e));
        char *real;

        if (!g_str_equal(qdict_get_str(thread, "role"), "vcpu")) {
            continue;
        }
        real = allowed_list(qtest_pid(qts), qdict_get_int(thread,
                                                          "thread-id"));
        g_assert_null(strpbrk(real, ",-"));
        g_assert_cmpstr(real, ==, qdict_get_str(thread, "wanted-cpus"));
        g_assert_cmpstr(real, ==, qdict_get_str(thread, "actual-cpus"));
        g_assert_true(g_hash_table_add(seen, real));
        n++;
    }
    return n;
}

static void test_one_to_one(const void *accel)
{
    QTestState *qts;

    if (!enough_cpus(2)) {
        return;
    }
    qts = qtest_initf(BARE "-machine q35 -accel %s,pinning=one-to-one -smp 2",
                      (const char *)accel);
    g_assert_cmpuint(check_one_to_one(qts), ==, 2);
    qtest_quit(qts);
}

static void test_machine_sugar(void)
{
    QTestState *qts;

    if (!enough_cpus(2)) {
        return;
    }
    qts = qtest_init(BARE "-machine q35 -machine pinning=one-to-one -smp 2");
    g_assert_cmpuint(check_one_to_one(qts), ==, 2);
    qtest_quit(qts);
}

/* All vCPUs of thread=single share a thread: one mask, one CPU */
static void test_single_thread(void)
{
    QTestState *qts = qtest_init(BARE "-machine q35 -smp 4 "
                                 "-accel tcg,thread=single,"
                                 "pinning=one-to-one");
    g_autoptr(QDict) info = query(qts, "query-pinning");
    const QListEntry *e;
    int64_t tid = 0;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "threads"), e) {
        QDict *thread = qobject_to(QDict, qlist_entry_obj(e));
        g_autofree char *real = NULL;

        if (!g_str_equal(qdict_get_str(thread, "role"), "vcpu")) {
            continue;
        }
        g_assert_true(!tid || tid == qdict_get_int(thread, "thread-id"));
        tid = qdict_get_int(thread, "thread-id");
        real = allowed_list(qtest_pid(qts), tid);
        g_assert_cmpstr(real, ==, qdict_get_str(thread, "wanted-cpus"));
    }
    g_assert_cmpint(tid, !=, 0);
    qtest_quit(qts);
}

static void test_cpus(void)
{
    g_autoptr(GArray) cpus = own_cpus();
    int last = g_array_index(cpus, int, cpus->len - 1);
    g_autofree char *want = g_strdup_printf("%d", last);
    QTestState *qts = qtest_initf(BARE "-machine q35 -accel qtest,"
                                  "pinning=one-to-one,pinning-cpus=%d", last);
    g_autoptr(QDict) info = query(qts, "query-pinning");
    g_autoptr(QDict) fast = qtest_qmp(qts, "{'execute': 'query-cpus-fast'}");
    QDict *cpu = qobject_to(QDict, qlist_peek(qdict_get_qlist(fast,
                                                              "return")));
    g_autofree char *real = allowed_list(qtest_pid(qts),
                                         qdict_get_int(cpu, "thread-id"));

    g_assert_cmpstr(real, ==, want);
    g_assert_cmpstr(qdict_get_str(qdict_get_qdict(info, "options"), "cpus"),
                    ==, want);
    qtest_quit(qts);
}

/* A vCPU that is plugged later has its place, too */
static void test_hotplug(void)
{
    QTestState *qts;

    if (!enough_cpus(2)) {
        return;
    }
    qts = qtest_init(BARE "-machine q35 -accel qtest,pinning=one-to-one "
                     "-cpu qemu64 -smp 1,maxcpus=2,sockets=2,cores=1");
    g_assert_cmpuint(check_one_to_one(qts), ==, 1);
    qtest_qmp_assert_success(qts, "{'execute': 'device_add', 'arguments': {"
                             "'driver': 'qemu64-x86_64-cpu', 'id': 'c1',"
                             "'socket-id': 1, 'core-id': 0, 'thread-id': 0}}");
    g_assert_cmpuint(check_one_to_one(qts), ==, 2);
    qtest_quit(qts);
}

/* The vCPU that was unplugged comes back to its place */
static void test_replug(const void *sandbox)
{
    QTestState *qts;
    int i;

    if (!enough_cpus(2)) {
        return;
    }
    qts = qtest_initf(BARE "-machine q35 -accel qtest,pinning=one-to-one "
                      "-cpu qemu64 -smp 1,maxcpus=2,sockets=2,cores=1 %s",
                      (const char *)sandbox);
    /* The guest knows of CPUs that can be unplugged */
    qtest_outl(qts, 0xcd8, 0);
    for (i = 0; i < 3; i++) {
        qtest_qmp_assert_success(qts, "{'execute': 'device_add', 'arguments':"
                                 "{'driver': 'qemu64-x86_64-cpu', 'id': 'c1',"
                                 "'socket-id': 1, 'core-id': 0,"
                                 "'thread-id': 0}}");
        g_assert_cmpuint(check_one_to_one(qts), ==, 2);
        qtest_qmp_assert_success(qts, "{'execute': 'device_del', 'arguments':"
                                 "{'id': 'c1'}}");
        /* The guest's answer: CPU 1 is ejected */
        qtest_outl(qts, 0xcd8, 1);
        qtest_outb(qts, 0xcd8 + 4, 8);
        qtest_qmp_eventwait(qts, "DEVICE_DELETED");
        g_assert_cmpuint(check_one_to_one(qts), ==, 1);
    }
    qtest_quit(qts);
}

static void test_off(const void *args)
{
    QTestState *qts = qtest_initf(BARE "%s", (const char *)args);
    g_autoptr(QDict) info = query(qts, "query-pinning");
    g_autoptr(QDict) host = query(qts, "query-host-topology");
    const QListEntry *e;

    g_assert_false(qdict_get_bool(info, "enabled"));
    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "threads"), e) {
        QDict *thread = qobject_to(QDict, qlist_entry_obj(e));
        g_autofree char *mine = allowed_list(getpid(), getpid());

        g_assert_false(qdict_haskey(thread, "wanted-cpus"));
        g_assert_cmpstr(qdict_get_str(thread, "actual-cpus"), ==, mine);
    }
    g_assert_false(qlist_empty(qdict_get_qlist(host, "cpus")));
    g_assert_false(qlist_empty(qdict_get_qlist(host, "nodes")));
    qtest_quit(qts);
}

static QDict *set_pinning(QTestState *qts, const char *arguments)
{
    QObject *args = qobject_from_json(arguments, &error_abort);

    return qtest_qmp(qts, "{'execute': 'set-pinning', 'arguments': %p}",
                     args);
}

static void expect_mask(QTestState *qts, int64_t vcpu, const char *want)
{
    g_autoptr(QDict) fast = qtest_qmp(qts, "{'execute': 'query-cpus-fast'}");
    const QListEntry *e;
    unsigned found = 0;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(fast, "return"), e) {
        QDict *cpu = qobject_to(QDict, qlist_entry_obj(e));
        g_autofree char *real = NULL;

        if (qdict_get_int(cpu, "cpu-index") == vcpu) {
            real = allowed_list(qtest_pid(qts), qdict_get_int(cpu,
                                                              "thread-id"));
            g_assert_cmpstr(real, ==, want);
            found++;
        }
    }
    g_assert_cmpuint(found, ==, 1);
}

static void expect_narrow(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\r\n", 0);
    unsigned i;

    for (i = 0; lines[i]; i++) {
        g_assert_cmpuint(strlen(lines[i]), <=, 80);
    }
}

/* A map with the vCPU on it, and the place of the one that may come */
static void test_hmp(void)
{
    QTestState *qts;

    if (!enough_cpus(2)) {
        return;
    }
    qts = qtest_init(BARE "-machine q35 -accel qtest,pinning=one-to-one "
                     "-smp 1,maxcpus=2");
    {
        g_autofree char *map = qtest_hmp(qts, "info pinning");
        g_autofree char *list = qtest_hmp(qts, "info pinning -t");

        g_assert_nonnull(strstr(map, "pinning: one-to-one\r\nnode "));
        g_assert_nonnull(strstr(map, " v0"));
        g_assert_nonnull(strstr(map, " r"));
        g_assert_nonnull(strstr(map, "r: reserved"));
        g_assert_null(strstr(map, "differs"));
        expect_narrow(map);
        g_assert_nonnull(strstr(list, "\nvcpu         0 "));
        g_assert_nonnull(strstr(list, "\nmain         - "));
        expect_narrow(list);
    }
    qtest_quit(qts);
}

/* The human monitor's set-pinning: a mode, options, nonsense, nothing */
static void test_hmp_set(void)
{
    g_autofree char *mine = allowed_list(getpid(), getpid());
    g_autoptr(GArray) cpus = own_cpus();
    g_autofree char *bad = NULL, *some = NULL, *said = NULL, *want = NULL;
    QTestState *qts;
    int first;

    if (!enough_cpus(2)) {
        return;
    }
    first = g_array_index(cpus, int, 0);
    qts = qtest_init(BARE "-machine q35 -accel qtest -smp 2");
    g_free(qtest_hmp(qts, "set_pinning one-to-one"));
    g_assert_cmpuint(check_one_to_one(qts), ==, 2);

    bad = qtest_hmp(qts, "set_pinning bogus");
    g_assert_nonnull(strstr(bad, "'bogus'"));
    g_assert_cmpuint(check_one_to_one(qts), ==, 2);

    want = g_strdup_printf("%d", first);
    some = g_strdup_printf("set_pinning -m numa,cpus=%d,,%d", first, first);
    said = qtest_hmp(qts, "%s", some);
    g_assert_null(strstr(said, "Error"));
    expect_mask(qts, 0, want);
    expect_mask(qts, 1, want);
    g_free(qtest_hmp(qts, "set_pinning"));
    expect_mask(qts, 1, want);
    g_free(qtest_hmp(qts, "set_pinning none"));
    expect_mask(qts, 0, mine);
    qtest_quit(qts);
}

static QDict *query_stats(QTestState *qts)
{
    return qtest_qmp(qts, "{'execute': 'query-stats', 'arguments': {"
                     "'target': 'vcpu', 'providers':"
                     "[{'provider': 'pinning'}]}}");
}

/* The number that statistics have under @name; -1: not there */
static int64_t stat_of(QDict *vcpu, const char *name)
{
    const QListEntry *e;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(vcpu, "stats"), e) {
        QDict *stat = qobject_to(QDict, qlist_entry_obj(e));

        if (g_str_equal(qdict_get_str(stat, "name"), name)) {
            return qdict_get_int(stat, "value");
        }
    }
    return -1;
}

static int64_t vcpu_at(QTestState *qts, const char *qom_path)
{
    g_autoptr(QDict) fast = qtest_qmp(qts, "{'execute': 'query-cpus-fast'}");
    const QListEntry *e;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(fast, "return"), e) {
        QDict *cpu = qobject_to(QDict, qlist_entry_obj(e));

        if (g_str_equal(qdict_get_str(cpu, "qom-path"), qom_path)) {
            return qdict_get_int(cpu, "cpu-index");
        }
    }
    return -1;
}

/* Of each vCPU that is placed: where it is, and what became of it */
static void test_stats(void)
{
    QTestState *qts;
    QDict *reply;
    const QListEntry *e;
    unsigned n = 0;

    if (!enough_cpus(2)) {
        return;
    }
    qts = qtest_init(BARE "-machine q35 -accel qtest -smp 2");
    reply = query_stats(qts);
    g_assert_true(qlist_empty(qdict_get_qlist(reply, "return")));
    qobject_unref(reply);
    qtest_quit(qts);

    qts = qtest_init(BARE "-machine q35 -accel qtest,pinning=one-to-one "
                     "-smp 2");
    reply = query_stats(qts);
    QLIST_FOREACH_ENTRY(qdict_get_qlist(reply, "return"), e) {
        QDict *vcpu = qobject_to(QDict, qlist_entry_obj(e));
        g_autofree char *last = g_strdup_printf(
            "%" PRId64, stat_of(vcpu, "last-cpu"));

        g_assert_cmpstr(qdict_get_str(vcpu, "provider"), ==, "pinning");
        expect_mask(qts, vcpu_at(qts, qdict_get_str(vcpu, "qom-path")), last);
        g_assert_cmpint(stat_of(vcpu, "stacked"), ==, 0);
        g_assert_cmpint(stat_of(vcpu, "node-migrations"), ==, 0);
        n++;
    }
    g_assert_cmpuint(n, ==, 2);
    qobject_unref(reply);
    qtest_quit(qts);
}

static void test_introspection(void)
{
    QTestState *qts = qtest_init("-machine none");
    QDict *reply = qtest_qmp(qts, "{'execute': 'qom-list-properties',"
                             "'arguments': {'typename': 'tcg-accel'}}");
    const QListEntry *e;
    unsigned n = 0;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(reply, "return"), e) {
        QDict *prop = qobject_to(QDict, qlist_entry_obj(e));

        if (g_str_has_prefix(qdict_get_str(prop, "name"), "pinning")) {
            g_assert_cmpstr(qdict_get_try_str(prop, "description") ?: "", !=,
                            "");
            n++;
        }
    }
    g_assert_cmpuint(n, ==, 16);
    qobject_unref(reply);
    qtest_quit(qts);
}

/* On, by hand, off, and refused without a trace */
static void test_set(void)
{
    g_autofree char *mine = allowed_list(getpid(), getpid());
    g_autoptr(GArray) cpus = own_cpus();
    QTestState *qts;
    QDict *reply;

    if (!enough_cpus(2)) {
        return;
    }
    qts = qtest_init(BARE "-machine q35 -accel qtest -smp 2");
    reply = set_pinning(qts, "{'options': {'mode': 'one-to-one'}}");
    g_assert_true(qdict_haskey(reply, "return"));
    qobject_unref(reply);
    g_assert_cmpuint(check_one_to_one(qts), ==, 2);
    qtest_qmp_eventwait(qts, "PINNING_CHANGED");

    {
        g_autofree char *first = g_strdup_printf("%d", g_array_index(cpus, int,
                                                                     0));
        g_autofree char *args = g_strdup_printf(
            "{'vcpus': [{'vcpu': 1, 'host-cpus': '%s'}]}", first);

        reply = set_pinning(qts, args);
        g_assert_true(qdict_haskey(reply, "return"));
        qobject_unref(reply);
        expect_mask(qts, 1, first);

        reply = set_pinning(qts, "{'options': {'mode': 'one-to-one',"
                            "'cpus': '9999'}}");
        g_assert_true(qdict_haskey(reply, "error"));
        qobject_unref(reply);
        reply = set_pinning(qts, "{'vcpus': [{'vcpu': 7,"
                            "'host-cpus': '0'}]}");
        g_assert_true(qdict_haskey(reply, "error"));
        qobject_unref(reply);
        expect_mask(qts, 1, first);
    }

    /* What is in force is applied again, also what was set by hand */
    {
        g_autofree char *first = g_strdup_printf("%d", g_array_index(cpus, int,
                                                                     0));
        reply = set_pinning(qts, "{}");
        g_assert_true(qdict_haskey(reply, "return"));
        qobject_unref(reply);
        expect_mask(qts, 1, first);
    }
    reply = set_pinning(qts, "{'options': {'mode': 'one-to-one'}}");
    g_assert_true(qdict_haskey(reply, "return"));
    qobject_unref(reply);
    g_assert_cmpuint(check_one_to_one(qts), ==, 2);

    reply = set_pinning(qts, "{'options': {'mode': 'none'}}");
    g_assert_true(qdict_haskey(reply, "return"));
    qobject_unref(reply);
    expect_mask(qts, 0, mine);
    expect_mask(qts, 1, mine);
    qtest_quit(qts);
}

/* Memory that is plugged where the plan leaves memory alone is left alone */
static void test_plug_memory(void)
{
    QTestState *qts;

    if (!enough_cpus(2)) {
        return;
    }
    qts = qtest_init(BARE "-machine q35 -accel qtest,pinning=one-to-one "
                     "-smp 1 -m 64M,slots=1,maxmem=256M "
                     "-object memory-backend-ram,id=m1,size=128M");
    qtest_qmp_assert_success(qts, "{'execute': 'device_add', 'arguments': {"
                             "'driver': 'pc-dimm', 'id': 'd1',"
                             "'memdev': 'm1'}}");
    g_assert_cmpuint(check_one_to_one(qts), ==, 1);
    qtest_quit(qts);
}

static int64_t promised_by(const char *path)
{
    g_autofree char *text = NULL;
    QObject *entry;
    const QListEntry *e;
    int64_t sum = 0;

    /* An entry is replaced by renaming, so it may be gone */
    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return 0;
    }
    entry = qobject_from_json(text, &error_abort);
    QLIST_FOREACH_ENTRY(qdict_get_qlist(qobject_to(QDict, entry), "memory"),
                        e) {
        sum += qdict_get_int(qobject_to(QDict, qlist_entry_obj(e)), "size");
    }
    qobject_unref(entry);
    return sum;
}

/* MiB that the entries of a registry promise, once that is @want */
static void expect_promised(const char *registry, int64_t want)
{
    int64_t sum = 0;
    int tries;

    for (tries = 0; tries < 1000; tries++) {
        g_autoptr(GDir) dir = g_dir_open(registry, 0, NULL);
        const char *name;

        sum = 0;
        while ((name = g_dir_read_name(dir))) {
            if (g_str_has_prefix(name, "entry-")) {
                g_autofree char *path = g_build_filename(registry, name, NULL);

                sum += promised_by(path) >> 20;
            }
        }
        if (sum == want) {
            return;
        }
        g_usleep(10 * 1000);
    }
    g_assert_cmpint(sum, ==, want);
}

/* What is plugged is reserved until it is unplugged */
static void test_unplug_memory(void)
{
    g_autofree char *dir = g_dir_make_tmp("pinning-XXXXXX", NULL);
    QTestState *qts = qtest_initf(
        BARE "-machine q35 -accel qtest,pinning=numa,pinning-registry=%s "
        "-m 64M,slots=1,maxmem=256M "
        "-object memory-backend-ram,id=m0,size=64M "
        "-numa node,memdev=m0,hostnodes=0 "
        "-object memory-backend-ram,id=m1,size=128M", dir);
    int i;

    for (i = 0; i < 2; i++) {
        expect_promised(dir, 64);
        qtest_qmp_assert_success(qts, "{'execute': 'device_add', 'arguments':"
                                 "{'driver': 'pc-dimm', 'id': 'd1',"
                                 "'memdev': 'm1'}}");
        expect_promised(dir, 64 + 128);
        qtest_qmp_assert_success(qts, "{'execute': 'device_del', 'arguments':"
                                 "{'id': 'd1'}}");
        /* The guest's answer: slot 0 is ejected */
        qtest_outl(qts, 0xa00, 0);
        qtest_outb(qts, 0xa14, 8);
        qtest_qmp_eventwait(qts, "DEVICE_DELETED");
    }
    expect_promised(dir, 64);
    qtest_quit(qts);
    {
        g_autofree char *lock = g_build_filename(dir, "lock", NULL);

        unlink(lock);
        g_assert_cmpint(rmdir(dir), ==, 0);
    }
}

/* Entries of a directory of the process in /proc */
static unsigned count_entries(QTestState *qts, const char *name)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/%s", qtest_pid(qts),
                                            name);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    unsigned n = 0;

    g_assert_nonnull(dir);
    while (g_dir_read_name(dir)) {
        n++;
    }
    return n;
}

/* Done and refused a thousand times: neither descriptor nor thread stays */
static void test_set_often(void)
{
    static const char *const steps[] = {
        "{'options': {'mode': 'balanced'}}",
        "{'options': {'mode': 'numa', 'exclusive': true}}",
        "{'options': {'mode': 'one-to-one', 'cpus': '9999'}}",
        "{}",
        "{'vcpus': [{'vcpu': 1, 'host-cpus': 'x'}]}",
        "{'options': {'mode': 'none'}}",
        "{'options': {'mode': 'numa', 'core-sched': 'vcpu'}}",
        "{'options': {'mode': 'spread'}, 'move-memory': true}",
    };
    QTestState *qts = qtest_init(BARE "-machine q35 -accel qtest -smp 2 "
                                 "-m 16M -object iothread,id=io0");
    unsigned i, fds = 0, threads = 0;

    for (i = 0; i < 1000; i++) {
        qobject_unref(set_pinning(qts, steps[i % ARRAY_SIZE(steps)]));
        if (i == 2 * ARRAY_SIZE(steps) - 3) {
            /* Placement is off; threads of the block layer's pool are there */
            fds = count_entries(qts, "fd");
            threads = count_entries(qts, "task");
        }
    }
    qobject_unref(set_pinning(qts, "{'options': {'mode': 'none'}}"));
    g_assert_cmpuint(count_entries(qts, "fd"), ==, fds);
    /* How many that pool has depends on how fast they are */
    g_assert_cmpuint(count_entries(qts, "task"), <=, threads + 10);
    qtest_quit(qts);
}

/* What was changed from outside is shown, and restored when asked for */
static void test_reapply(void)
{
    g_autoptr(GArray) cpus = own_cpus();
    g_autoptr(QDict) fast = NULL;
    QTestState *qts;
    QDict *cpu, *reply;
    cpu_set_t all;
    int64_t tid;

    if (!enough_cpus(2)) {
        return;
    }
    qts = qtest_init(BARE "-machine q35 -accel qtest,pinning=one-to-one "
                     "-smp 2");
    fast = qtest_qmp(qts, "{'execute': 'query-cpus-fast'}");
    cpu = qobject_to(QDict, qlist_peek(qdict_get_qlist(fast, "return")));
    tid = qdict_get_int(cpu, "thread-id");
    g_assert_cmpint(sched_getaffinity(0, sizeof(all), &all), ==, 0);
    g_assert_cmpint(sched_setaffinity(tid, sizeof(all), &all), ==, 0);
    {
        g_autofree char *text = qtest_hmp(qts, "info pinning");

        g_assert_nonnull(strstr(text, "differs"));
    }
    qtest_qmp_eventwait(qts, "PINNING_DRIFT");
    reply = set_pinning(qts, "{}");
    g_assert_true(qdict_haskey(reply, "return"));
    qobject_unref(reply);
    g_assert_cmpuint(check_one_to_one(qts), ==, 2);
    qtest_quit(qts);
}

/*
 * libvirt's sandbox: vCPUs are placed all the same, plugged ones as well, and
 * in the end nobody can set a mask.
 */
static void test_sandbox(void)
{
    QTestState *qts;
    QDict *reply;

    if (!enough_cpus(2)) {
        return;
    }
    qts = qtest_init(BARE "-machine q35 -accel qtest,pinning=one-to-one "
                     "-cpu qemu64 -smp 1,maxcpus=2,sockets=2,cores=1 "
                     "-object thread-context,id=tc -sandbox on,obsolete=deny,"
                     "elevateprivileges=deny,spawn=deny,resourcecontrol=deny");
    g_assert_cmpuint(check_one_to_one(qts), ==, 1);
    reply = qtest_qmp(qts, "{'execute': 'qom-set', 'arguments': {"
                      "'path': '/objects/tc', 'property': 'cpu-affinity',"
                      "'value': [0]}}");
    g_assert_true(qdict_haskey(reply, "error"));
    qobject_unref(reply);
    reply = set_pinning(qts, "{'options': {'mode': 'numa'}}");
    g_assert_nonnull(strstr(qdict_get_str(qdict_get_qdict(reply, "error"),
                                          "desc"), "resourcecontrol=deny"));
    qobject_unref(reply);
    qtest_qmp_assert_success(qts, "{'execute': 'device_add', 'arguments': {"
                             "'driver': 'qemu64-x86_64-cpu', 'id': 'c1',"
                             "'socket-id': 1, 'core-id': 0, 'thread-id': 0}}");
    g_assert_cmpuint(check_one_to_one(qts), ==, 2);
    qtest_quit(qts);
}

static void test_plan(void)
{
    QTestState *qts = qtest_init(BARE "-machine q35 -accel qtest");
    QDict *reply = qtest_qmp(qts, "{'execute': 'plan-pinning', 'arguments':"
                             "{'options': {'mode': 'one-to-one'}}}");
    QDict *plan = qdict_get_qdict(reply, "return");
    g_autofree char *mine = allowed_list(getpid(), getpid());

    g_assert_nonnull(plan);
    g_assert_cmpuint(qlist_size(qdict_get_qlist(plan, "vcpus")), ==, 1);
    expect_mask(qts, 0, mine);
    qobject_unref(reply);
    qtest_quit(qts);
}

/* hostnodes= works without a mode: memory is bound, threads are left alone */
static void test_hostnodes(const void *accel)
{
    QTestState *qts = qtest_initf(BARE "-machine q35 -accel %s -m 64M "
                                  "-object memory-backend-ram,id=m0,size=64M "
                                  "-numa node,memdev=m0,hostnodes=0,"
                                  "policy=bind", (const char *)accel);
    g_autofree char *path = g_strdup_printf("/proc/%d/numa_maps",
                                            qtest_pid(qts));
    g_autofree char *maps = NULL;
    g_autoptr(QDict) info = query(qts, "query-pinning");
    QDict *memory = qobject_to(QDict, qlist_peek(qdict_get_qlist(info,
                                                                 "memory")));

    g_assert_nonnull(memory);
    g_assert_cmpstr(qdict_get_str(memory, "host-nodes"), ==, "0");
    g_assert_cmpstr(qdict_get_str(memory, "policy"), ==, "bind");
    g_assert_true(g_file_get_contents(path, &maps, NULL, NULL));
    g_assert_nonnull(strstr(maps, " bind:0"));
    qtest_quit(qts);
}

static char *run_qemu(char **args, int *status)
{
    g_autofree char *out = NULL;
    g_autofree char *cmd = g_strjoinv(" ", args);
    g_auto(GStrv) argv = NULL;
    char *err = NULL;
    int argc;

    g_assert_true(g_shell_parse_argv(cmd, &argc, &argv, NULL));
    g_assert_true(g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL,
                               NULL, &out, &err, status, NULL));
    g_assert_cmpstr(out, ==, "");
    return err;
}

typedef struct BadLine {
    const char *name;
    const char *args;
    const char *says[3];    /* all of them on standard error */
} BadLine;

static const BadLine bad_lines[] = {
    { "too-many-vcpus", "-accel tcg,pinning=one-to-one -smp 2000",
      { "2000", "one-to-one" } },
    { "mode-on", "-accel tcg,pinning=on",
      { "'pinning'", "'on'", "one-to-one" } },
    { "mode-bogus", "-accel tcg,pinning=bogus",
      { "'pinning'", "'bogus'", "one-to-one" } },
    { "mode-empty", "-accel tcg,pinning=",
      { "'pinning'", "one-to-one" } },
    { "cpus-absent", "-accel tcg,pinning=one-to-one,pinning-cpus=9999",
      { "pinning-cpus", "9999" } },
    { "cpus-backwards", "-accel tcg,pinning=one-to-one,pinning-cpus=3-1",
      { "'pinning-cpus'", "3-1" } },
    { "cpus-empty", "-accel tcg,pinning=one-to-one,pinning-cpus=",
      { "'pinning-cpus'", "position 1", "the end" } },
    { "cpus-open", "-accel tcg,pinning=one-to-one,pinning-cpus=0-",
      { "'pinning-cpus'" } },
    { "cpus-huge", "-accel tcg,pinning=one-to-one,pinning-cpus=0-99999999999",
      { "'pinning-cpus'" } },
    { "cpus-alone", "-accel tcg,pinning-cpus=0",
      { "mode", "pinning=" } },
    { "unknown", "-accel tcg,pinning-colour=blue",
      { "pinning-colour" } },
    { "machine-mode-bogus", "-machine pinning=bogus",
      { "'pinning'", "'bogus'", "one-to-one" } },
    { "hostnodes-absent", "-accel tcg,pinning=numa -m 64M "
      "-object memory-backend-ram,id=m0,size=64M "
      "-numa node,memdev=m0,hostnodes=99",
      { "hostnodes", "99" } },
    { "hostnodes-policy", "-accel tcg,pinning=numa -m 64M "
      "-object memory-backend-ram,id=m0,size=64M "
      "-numa node,memdev=m0,hostnodes=0,policy=bogus",
      { "policy", "bogus" } },
    { "hostnodes-conflict", "-accel tcg,pinning=numa -m 64M -object "
      "memory-backend-ram,id=m0,size=64M,host-nodes=0,policy=bind "
      "-numa node,memdev=m0,hostnodes=1",
      { "hostnodes=1", "'m0'", "host-nodes=0" } },
    { "hostnodes-empty", "-accel tcg,pinning=numa -m 64M "
      "-object memory-backend-ram,id=m0,size=64M "
      "-numa node,memdev=m0,hostnodes=",
      { "hostnodes" } },
    { "policy-conflict", "-accel tcg,pinning=numa -m 64M -object "
      "memory-backend-ram,id=m0,size=64M,host-nodes=0,policy=bind "
      "-numa node,memdev=m0,hostnodes=0,policy=preferred",
      { "policy=preferred", "'m0'", "policy=bind" } },
    { "policy-alone", "-accel tcg -m 64M "
      "-object memory-backend-ram,id=m0,size=64M "
      "-numa node,memdev=m0,policy=bind",
      { "policy=bind", "hostnodes" } },
    { "hugepages-short", "-accel tcg,pinning=numa -m 1G -object "
      "memory-backend-memfd,id=m0,size=1G,hugetlb=on,hugetlbsize=1G "
      "-numa node,memdev=m0,hostnodes=0",
      { "node 0: needs 1024 MiB of 1 GiB pages", "MiB free" } },
    { "vnuma-none", "-accel tcg,pinning=numa,pinning-vnuma=on -machine none",
      { "pinning-vnuma", "'none'" } },
    { "machine-nested", "-machine pinning.mode=numa",
      { "'pinning'", "-machine" } },
};

/* One clear line and perhaps a hint, exit status 1, no crash */
static void test_bad_line(const void *data)
{
    const BadLine *bad = data;
    g_autofree char *args = g_strconcat(BARE "-machine q35 ", bad->args, NULL);
    char *argv[] = { getenv("QTEST_QEMU_BINARY"), args, NULL };
    int status, i;
    g_autofree char *err = run_qemu(argv, &status);
    g_auto(GStrv) lines = g_strsplit(g_strchomp(err), "\n", 0);

    g_test_message("%s", err);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
    g_assert_cmpuint(g_strv_length(lines), >=, 1);
    g_assert_cmpuint(g_strv_length(lines), <=, 2);
    for (i = 0; i < ARRAY_SIZE(bad->says) && bad->says[i]; i++) {
        if (!strstr(err, bad->says[i])) {
            g_error("no '%s' in: %s", bad->says[i], err);
        }
    }
}

/* -accel a -accel b,pinning=...: b is never looked at, and that is said */
static void test_unused_accel(void)
{
    /* Ends by itself when the accelerator is known */
    char *argv[] = { getenv("QTEST_QEMU_BINARY"), (char *)BARE "-machine none "
                     "-accel tcg -accel kvm,pinning=numa "
                     "-dump-vmstate /dev/null", NULL };
    int status;
    g_autofree char *err = run_qemu(argv, &status);

    g_assert_nonnull(strstr(err, "-accel kvm: its pinning options have no"
                            " effect"));
}

int main(int argc, char **argv)
{
    int i;

    g_test_init(&argc, &argv, NULL);
    qtest_add_data_func("/pinning/one-to-one/qtest", "qtest",
                        test_one_to_one);
    qtest_add_data_func("/pinning/one-to-one/tcg", "tcg,thread=multi",
                        test_one_to_one);
    qtest_add_func("/pinning/one-to-one/machine", test_machine_sugar);
    qtest_add_func("/pinning/one-to-one/tcg-single", test_single_thread);
    qtest_add_func("/pinning/cpus", test_cpus);
    qtest_add_func("/pinning/hotplug", test_hotplug);
    qtest_add_data_func("/pinning/replug/free", "", test_replug);
    qtest_add_data_func("/pinning/replug/sandbox",
                        "-sandbox on,resourcecontrol=deny", test_replug);
    qtest_add_data_func("/pinning/off/none", "-machine none", test_off);
    qtest_add_data_func("/pinning/off/q35", "-machine q35 -smp 2", test_off);
    qtest_add_data_func("/pinning/hostnodes/none", "qtest", test_hostnodes);
    qtest_add_data_func("/pinning/hostnodes/numa", "qtest,pinning=numa",
                        test_hostnodes);
    qtest_add_func("/pinning/plug-memory", test_plug_memory);
    qtest_add_func("/pinning/unplug-memory", test_unplug_memory);
    qtest_add_func("/pinning/set", test_set);
    qtest_add_func("/pinning/set/often", test_set_often);
    qtest_add_func("/pinning/reapply", test_reapply);
    qtest_add_func("/pinning/plan", test_plan);
    qtest_add_func("/pinning/sandbox", test_sandbox);
    qtest_add_func("/pinning/hmp", test_hmp);
    qtest_add_func("/pinning/hmp-set", test_hmp_set);
    qtest_add_func("/pinning/stats", test_stats);
    qtest_add_func("/pinning/introspection", test_introspection);
    qtest_add_func("/pinning/unused-accel", test_unused_accel);
    for (i = 0; i < ARRAY_SIZE(bad_lines); i++) {
        g_autofree char *path = g_strdup_printf("/pinning/bad/%s",
                                                bad_lines[i].name);

        qtest_add_data_func(path, &bad_lines[i], test_bad_line);
    }
    return g_test_run();
}
