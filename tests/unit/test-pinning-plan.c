/*
 * Unit tests for the planner: what it answers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "pinning-plan-harness.h"

/* The host of the RFC: EPYC 7351P, siblings are n and n + 16 */
#define EPYC { .nodes = 4, .llcs = 2, .cores = 2, .threads = 2, \
               .siblings_apart = true, .near = 16 }
#define EPYC_ALL "0-31"

static void epyc_memory(HostTopology *topo)
{
    static const unsigned mib[4][2] = {
        { 15891, 14693 }, { 16124, 15174 }, { 16124, 14838 },
        { 16123, 14978 },
    };

    for (unsigned i = 0; i < 4; i++) {
        host_memory(topo, i, mib[i][0] * MiB, mib[i][1] * MiB);
    }
}

#define RFC_CPUS "cpus=0,,1,,4,,5,,8,,9,,12,,13"

static const PlanCase cases_rfc[] = {
    {
        .name = "none", .host = EPYC, .change = epyc_memory,
        .machine = { .options = "none," RFC_CPUS, .vcpus = 8, .sockets = 4,
                     .memory = 8 * GiB },
        .vcpus = "0-31 0-31 0-31 0-31 0-31 0-31 0-31 0-31",
        .nodes = "-:default", .guest = "4/1/2/1", .emulator = EPYC_ALL,
        .io = EPYC_ALL, .parked = "", .warning = "",
    }, {
        .name = "balanced-fits-one", .host = EPYC, .change = epyc_memory,
        .machine = { .options = "balanced", .vcpus = 4, .memory = 8 * GiB },
        .vcpus = "4-7,20-23 4-7,20-23 4-7,20-23 4-7,20-23",
        .nodes = "1:bind", .emulator = EPYC_ALL, .io = "4-7,20-23",
        .parked = "", .warning = "",
    }, {
        .name = "balanced-needs-two", .host = EPYC, .change = epyc_memory,
        .machine = { .options = "balanced", .vcpus = 6, .memory = 8 * GiB },
        .nodes = "1,3:bind", .io = "4-7,12-15,20-23,28-31",
        .warning = "",
    }, {
        .name = "balanced-cut-at-sockets", .host = EPYC,
        .change = epyc_memory,
        .machine = { .options = "balanced,vnuma=on", .vcpus = 8,
                     .sockets = 4, .memory = 8 * GiB },
        .vcpus = "4-7,20-23 4-7,20-23 4-7,20-23 4-7,20-23 "
                 "12-15,28-31 12-15,28-31 12-15,28-31 12-15,28-31",
        .nodes = "1:bind 3:bind", .warning = "",
    }, {
        .name = "balanced-fits-one-not-cut", .host = EPYC,
        .change = epyc_memory,
        .machine = { .options = "balanced,vnuma=on", .vcpus = 4,
                     .sockets = 2, .memory = 8 * GiB },
        .vcpus = "4-7,20-23 4-7,20-23 4-7,20-23 4-7,20-23",
        .nodes = "1:bind", .warning = "",
    }, {
        .name = "numa", .host = EPYC, .change = epyc_memory,
        .machine = { .options = "numa," RFC_CPUS, .vcpus = 8,
                     .nodes = "2048 0-1;2048 2-3;2048 4-5;2048 6-7" },
        .vcpus = "0-1 0-1 4-5 4-5 8-9 8-9 12-13 12-13",
        .nodes = "0:bind 1:bind 2:bind 3:bind",
        .emulator = "0-1,4-5,8-9,12-13", .io = "0-1,4-5,8-9,12-13",
        .parked = "", .warning = "",
    }, {
        .name = "numa-vnuma", .host = EPYC, .change = epyc_memory,
        .machine = { .options = "numa,vnuma=on," RFC_CPUS, .vcpus = 8,
                     .sockets = 4, .memory = 8 * GiB },
        .vcpus = "0-1 0-1 4-5 4-5 8-9 8-9 12-13 12-13",
        .nodes = "0:bind 1:bind 2:bind 3:bind", .guest = "4/1/2/1",
    }, {
        .name = "spread", .host = EPYC, .change = epyc_memory,
        .machine = { .options = "spread", .vcpus = 8,
                     .nodes = "2048 0-1;2048 2-3;2048 4-5;2048 6-7" },
        .vcpus = "0-1,16-17 2-3,18-19 4-5,20-21 6-7,22-23 "
                 "8-9,24-25 10-11,26-27 12-13,28-29 14-15,30-31",
        .nodes = "0:bind 1:bind 2:bind 3:bind", .warning = "",
    }, {
        .name = "one-to-one", .host = EPYC, .change = epyc_memory,
        .machine = { .options = "one-to-one," RFC_CPUS, .vcpus = 8,
                     .nodes = "2048 0-1;2048 2-3;2048 4-5;2048 6-7" },
        .vcpus = "0 1 4 5 8 9 12 13",
        .nodes = "0:bind 1:bind 2:bind 3:bind",
        .emulator = "0-1,4-5,8-9,12-13", .parked = "",
        .warning = "no host CPU is left for helper threads",
    }, {
        .name = "one-to-one-flat", .host = EPYC, .change = epyc_memory,
        .machine = { .options = "one-to-one," RFC_CPUS, .vcpus = 8,
                     .memory = 8 * GiB },
        .vcpus = "0 1 4 5 8 9 12 13", .nodes = "-:default",
    }, {
        .name = "one-to-one-too-many", .host = EPYC, .change = epyc_memory,
        .machine = { .options = "one-to-one," RFC_CPUS, .vcpus = 9 },
        .error = "pinning=one-to-one needs 9 host CPUs, 8 are usable",
    },
};

/* Two nodes of two caches of two cores of two threads: 0-7, 8-15 */
#define SMALL { .nodes = 2, .llcs = 2, .cores = 2, .threads = 2 }

static void isolate_4_7(HostTopology *topo)
{
    host_isolate(topo, "4-7");
}

/* As isolcpus does: the process does not inherit them */
static void isolate_and_deny_4_7(HostTopology *topo)
{
    host_isolate(topo, "4-7");
    host_allow(topo, "0-3,8-15");
}

static void isolate_all(HostTopology *topo)
{
    host_isolate(topo, "0-15");
}

static void offline_3(HostTopology *topo)
{
    host_offline(topo, "3");
}

static void allow_0_7(HostTopology *topo)
{
    host_allow(topo, "0-7");
}

static const PlanCase cases_sets[] = {
    {
        .name = "isolated-left-out", .host = SMALL, .change = isolate_4_7,
        .machine = { .options = "numa,hostnodes=0", .vcpus = 2 },
        .vcpus = "0-3 0-3", .nodes = "0:bind", .emulator = "0-3",
        .io = "0-3", .warning = "",
    }, {
        .name = "isolated-by-name", .host = SMALL, .change = isolate_4_7,
        .machine = { .options = "one-to-one,cpus=4-7", .vcpus = 2 },
        .vcpus = "4 6", .emulator = "0-3,8-15", .io = "0-3,8-15",
    }, {
        .name = "isolated-not-inherited", .host = SMALL,
        .change = isolate_and_deny_4_7,
        .machine = { .options = "one-to-one,cpus=4-7", .vcpus = 4 },
        .vcpus = "4 6 5 7", .emulator = "0-3,8-15",
    }, {
        .name = "isolated-first", .host = SMALL, .change = isolate_4_7,
        .machine = { .options = "one-to-one,cpus=0-7,hostnodes=0",
                     .vcpus = 2 },
        .vcpus = "4 6", .emulator = "0-3", .io = "0-3", .warning = "",
    }, {
        .name = "isolated-not-floating", .host = SMALL,
        .change = isolate_4_7,
        .machine = { .options = "balanced,cpus=2-5", .vcpus = 2 },
        .error = "Parameter 'pinning-cpus': host CPUs 4-5 are isolated, "
                 "where only pinning=one-to-one works, not pinning=balanced",
    }, {
        .name = "isolated-everything", .host = SMALL, .change = isolate_all,
        .machine = { .options = "one-to-one", .vcpus = 2 },
        .error = "pinning=one-to-one finds no host CPU: all that this "
                 "process may use are isolated",
    }, {
        .name = "cpus-absent", .host = SMALL,
        .machine = { .options = "none,cpus=14-99" },
        .error = "Parameter 'pinning-cpus' names host CPUs 16-99, which "
                 "this host does not have",
    }, {
        .name = "cpus-offline", .host = SMALL, .change = offline_3,
        .machine = { .options = "numa,cpus=2-3" },
        .error = "Parameter 'pinning-cpus' names host CPU 3, not online",
    }, {
        .name = "cpus-denied", .host = SMALL, .change = allow_0_7,
        .machine = { .options = "numa,cpus=6-9" },
        .error = "Parameter 'pinning-cpus' names host CPUs 8-9, outside of "
                 "the affinity or cpuset of this process",
    }, {
        .name = "nodes-absent", .host = SMALL,
        .machine = { .options = "numa,hostnodes=1-2" },
        .error = "Parameter 'pinning-hostnodes' names host node 2, which "
                 "this host does not have",
    }, {
        .name = "nodes-without-cpus", .host = SMALL, .change = allow_0_7,
        .machine = { .options = "numa,hostnodes=1" },
        .error = "Parameter 'pinning-hostnodes': host node 1 has no usable "
                 "host CPU",
    }, {
        .name = "cpus-and-nodes-exclude", .host = SMALL,
        .machine = { .options = "numa,cpus=0-7,hostnodes=1" },
        .error = "Parameter 'pinning-hostnodes': host node 1 has no usable "
                 "host CPU of pinning-cpus",
    }, {
        .name = "hostnodes", .host = SMALL,
        .machine = { .options = "balanced,hostnodes=1", .vcpus = 2 },
        .vcpus = "8-15 8-15", .nodes = "1:bind", .emulator = "8-15",
    }, {
        .name = "emulator-cpus", .host = SMALL,
        .machine = { .options = "one-to-one,emulator-cpus=14-15,io-cpus=13",
                     .vcpus = 2 },
        .vcpus = "0 2", .emulator = "14-15", .io = "13", .warning = "",
    }, {
        .name = "emulator-cpus-clash", .host = SMALL,
        .machine = { .options = "one-to-one,emulator-cpus=0-1", .vcpus = 2 },
        .emulator = "0-1",
        .warning = "pinning-emulator-cpus names host CPUs 0, which vCPUs "
                   "have for their own",
    }, {
        .name = "allowed-subset", .host = SMALL, .change = allow_0_7,
        .machine = { .options = "balanced", .vcpus = 2 },
        .vcpus = "0-7 0-7", .nodes = "0:bind", .emulator = "0-7",
    },
};

/* One node: nothing that could be restricted */
#define UMA { .llcs = 2, .cores = 2, .threads = 2 }

static void no_numa(HostTopology *topo)
{
    topo->has_nodes = false;
    host_memory(topo, 0, HOST_UNKNOWN, HOST_UNKNOWN);
}

static void isolate_7(HostTopology *topo)
{
    host_isolate(topo, "7");
}

static const PlanCase cases_uma[] = {
    {
        .name = "balanced", .host = UMA,
        .machine = { .options = "balanced", .vcpus = 2 },
        .vcpus = "0-7 0-7", .nodes = "-:default", .emulator = "0-7",
        .io = "0-7", .warning = "",
    }, {
        .name = "numa", .host = UMA, .change = no_numa,
        .machine = { .options = "numa", .vcpus = 2 },
        .vcpus = "0-7 0-7", .nodes = "-:default", .emulator = "0-7",
        .io = "0-7", .warning = "",
    }, {
        .name = "numa-two-guest-nodes", .host = UMA,
        .machine = { .options = "numa", .vcpus = 2,
                     .nodes = "512 0;512 1" },
        .vcpus = "0-7 0-7", .nodes = "-:default -:default", .warning = "",
    }, {
        .name = "isolated", .host = UMA, .change = isolate_7,
        .machine = { .options = "balanced", .vcpus = 2 },
        .vcpus = "0-6 0-6", .nodes = "-:default", .emulator = "0-6",
    }, {
        .name = "spread", .host = UMA,
        .machine = { .options = "spread", .vcpus = 2 },
        .vcpus = "0-3 4-7", .nodes = "-:default", .warning = "",
    }, {
        .name = "one-to-one", .host = UMA,
        .machine = { .options = "one-to-one", .vcpus = 2 },
        .vcpus = "0 2", .nodes = "-:default", .emulator = "1,3-7",
        .io = "1,3-7", .warning = "",
    }, {
        .name = "vnuma-one-node", .host = UMA,
        .machine = { .options = "one-to-one,vnuma=on", .vcpus = 2,
                     .sockets = 2 },
        .vcpus = "0 2", .nodes = "-:default",
    }, {
        .name = "explicit-node", .host = UMA,
        .machine = { .options = "none", .vcpus = 2,
                     .nodes = "512 0-1 0 bind" },
        .vcpus = "0-7 0-7", .nodes = "0:bind",
    },
};

static const PlanCase cases_smt[] = {
    {
        .name = "cores-first", .host = SMALL,
        .machine = { .options = "one-to-one", .vcpus = 4 },
        .vcpus = "0 2 4 6", .parked = "", .warning = "",
    }, {
        .name = "then-siblings", .host = SMALL,
        .machine = { .options = "one-to-one,cpus=0-7", .vcpus = 6 },
        .vcpus = "0 2 1 3 4 6",
        .warning = "2 cores are shared by vCPUs",
    }, {
        .name = "guest-siblings", .host = SMALL,
        .machine = { .options = "one-to-one", .vcpus = 4, .threads = 2 },
        .vcpus = "0 1 2 3", .guest = "1/1/2/2", .warning = "",
    }, {
        .name = "guest-siblings-apart", .host = EPYC,
        .machine = { .options = "one-to-one", .vcpus = 4, .threads = 2 },
        .vcpus = "0 16 1 17", .warning = "",
    }, {
        .name = "guest-siblings-impossible", .host = SMALL,
        .machine = { .options = "one-to-one,cpus=0-1,,2,,4,,6,,8",
                     .vcpus = 4, .threads = 2 },
        .warning = "not SMT siblings on this host",
    }, {
        .name = "guest-cache-apart",
        .host = { .packages = 2, .nodes = 1, .cores = 3 },
        .machine = { .options = "one-to-one", .vcpus = 4 },
        .warning = "the guest takes vCPUs 0-3 to share "
                                       "a cache, but their host CPUs are in "
                                       "several packages",
    }, {
        .name = "guest-caches-fit",
        .host = { .packages = 2, .nodes = 1, .cores = 3 },
        .machine = { .options = "one-to-one", .vcpus = 4, .sockets = 2 },
        .warning = "",
    }, {
        .name = "guest-threads-4-on-2", .host = SMALL,
        .machine = { .options = "one-to-one", .vcpus = 4, .threads = 4 },
        .vcpus = "0 2 4 6", .warning = "not SMT siblings on this host",
    }, {
        .name = "guest-nodes-cut-cores",
        .host = { .cores = 3, .threads = 2 },
        .machine = { .options = "one-to-one", .vcpus = 6, .threads = 2,
                     .nodes = "64 0-2;64 3-5" },
        .vcpus = "0 2 4 1 3 5",
    }, {
        .name = "guest-threads-2-on-8",
        .host = { .nodes = 2, .cores = 2, .threads = 8 },
        .machine = { .options = "one-to-one", .vcpus = 4, .threads = 2 },
        .vcpus = "0 1 8 9", .warning = "",
    }, {
        .name = "isolate", .host = SMALL,
        .machine = { .options = "one-to-one,smt=isolate", .vcpus = 3 },
        .vcpus = "0 2 4", .parked = "1,3,5", .emulator = "6-15",
        .io = "6-7", .warning = "",
    }, {
        .name = "isolate-too-many", .host = SMALL,
        .machine = { .options = "one-to-one,smt=isolate,cpus=0-7",
                     .vcpus = 5 },
        .error = "pinning=one-to-one needs 5 whole idle cores, 4 are usable "
                 "(left out: 4 kept idle as siblings)",
    }, {
        .name = "isolate-busy", .host = SMALL,
        .machine = { .options = "one-to-one,smt=isolate,cpus=0-7",
                     .vcpus = 4,
                     .taken = "{'cpus': [{'host-cpus': '3','load': 10}]}" },
        .error = "pinning=one-to-one needs 4 whole idle cores, 3 are usable "
                 "(left out: 2 on cores that others use, 3 kept idle as "
                 "siblings)",
    }, {
        .name = "isolate-floating", .host = SMALL,
        .machine = { .options = "numa,smt=isolate", .vcpus = 4 },
        .vcpus = "0,2,4,6 0,2,4,6 0,2,4,6 0,2,4,6", .parked = "1,3,5,7",
        .emulator = "0,2,4,6,8-15",
    }, {
        .name = "require", .host = SMALL,
        .machine = { .options = "one-to-one,smt=require", .vcpus = 4 },
        .vcpus = "0 1 2 3", .parked = "", .warning = "",
    }, {
        .name = "require-odd", .host = SMALL,
        .machine = { .options = "one-to-one,smt=require", .vcpus = 3 },
        .vcpus = "0 1 2", .parked = "3",
    }, {
        .name = "require-no-smt", .host = { .nodes = 2, .cores = 4 },
        .machine = { .options = "one-to-one,smt=require", .vcpus = 2 },
        .error = "pinning=one-to-one needs 2 host CPUs, 0 are usable (left "
                 "out: 8 without a complete set of usable siblings)",
    }, {
        .name = "require-incomplete", .host = SMALL,
        .machine = { .options = "one-to-one,smt=require,cpus=0-2,,4-5",
                     .vcpus = 5 },
        .error = "pinning=one-to-one needs 3 cores with all siblings, 2 "
                 "are usable (left out: 1 without a complete set of usable "
                 "siblings)",
    }, {
        .name = "spread-guest-siblings-apart", .host = EPYC,
        .machine = { .options = "spread,hostnodes=0", .vcpus = 4,
                     .threads = 2 },
        .vcpus = "0-1 16-17 2-3 18-19", .warning = "",
    }, {
        .name = "spread-guest-siblings", .host = SMALL,
        .machine = { .options = "spread,hostnodes=0", .vcpus = 4,
                     .threads = 2 },
        .vcpus = "0,2 1,3 4,6 5,7", .warning = "",
    },
};

static void one_cache_8(HostTopology *topo)
{
    for (unsigned i = 0; i < topo->n_cpus; i++) {
        topo->cpus[i].llc = HOST_UNKNOWN;
    }
}

/* One node of four caches of four cores, no SMT */
#define CCX { .llcs = 4, .cores = 4 }

static void isolate_2_3(HostTopology *topo)
{
    host_isolate(topo, "2-3");
}

static const PlanCase cases_cache[] = {
    {
        .name = "fits-one", .host = CCX,
        .machine = { .options = "one-to-one", .vcpus = 4 },
        .vcpus = "0 1 2 3",
    }, {
        .name = "fits-one-that-is-free", .host = CCX,
        .machine = { .options = "one-to-one", .vcpus = 3, .taken =
                     "{'cpus': [{'host-cpus': '0-1,5,8-9','load': 1000}]}" },
        .vcpus = "12 13 14",
    }, {
        .name = "fits-one-pack", .host = CCX,
        .machine = { .options = "one-to-one,strategy=pack", .vcpus = 2,
                     .taken = "{'cpus': [{'host-cpus': '0,8-9,14-15',"
                              "'load': 1000}]}" },
        .vcpus = "10 11",
    }, {
        .name = "few", .host = CCX,
        .machine = { .options = "one-to-one", .vcpus = 6 },
        .vcpus = "0 1 2 3 4 5",
    }, {
        .name = "guest-caches-not-cut", .host = CCX,
        .machine = { .options = "one-to-one", .vcpus = 6, .sockets = 2 },
        .vcpus = "0 1 2 4 5 6",
    }, {
        .name = "guest-caches-together", .host = CCX,
        .machine = { .options = "one-to-one", .vcpus = 4, .sockets = 2 },
        .vcpus = "0 1 2 3",
    }, {
        .name = "guest-caches-together-pack", .host = CCX,
        .machine = { .options = "one-to-one,strategy=pack", .vcpus = 4,
                     .sockets = 2, .taken =
                     "{'cpus': [{'host-cpus': '0','load': 1000}]}" },
        .vcpus = "4 5 6 7",
    }, {
        .name = "few-from-the-emptiest", .host = CCX,
        .machine = { .options = "one-to-one", .vcpus = 6, .taken =
                     "{'cpus': [{'host-cpus': '0-1','load': 1000}]}" },
        .vcpus = "4 5 6 7 8 9",
    }, {
        .name = "guest-caches-on-two-nodes",
        .host = { .nodes = 2, .cores = 6 },
        .machine = { .options = "one-to-one", .vcpus = 9, .sockets = 3 },
        .vcpus = "0 1 2 6 7 8 9 10 11",
    }, {
        .name = "isolated-ones-first", .host = { .cores = 4 },
        .change = isolate_2_3,
        .machine = { .options = "one-to-one,cpus=0-3", .vcpus = 3 },
        .vcpus = "2 3 0",
    }, {
        .name = "guest-caches-given", .host = CCX,
        .machine = { .options = "one-to-one", .vcpus = 9, .llc_vcpus = 3 },
        .vcpus = "0 1 2 4 5 6 8 9 10",
    }, {
        .name = "unknown", .host = CCX, .change = one_cache_8,
        .machine = { .options = "one-to-one", .vcpus = 6 },
        .vcpus = "0 1 2 3 4 5",
    }, {
        .name = "guest-nodes-on-one-host-node", .host = CCX,
        .machine = { .options = "one-to-one", .vcpus = 4,
                     .nodes = "512 0-1;512 2-3" },
        .vcpus = "0 1 2 3",
    },
};

/* An Alder Lake as the real one: 4 P cores with SMT, 8 E cores */
static void hybrid(HostTopology *topo)
{
    for (unsigned i = 8; i < 16; i++) {
        topo->cpus[i].core = i;
    }
    host_type(topo, "0-7", 0, "performance");
    host_type(topo, "8-15", 1, "efficient");
}

#define HYBRID { .cores = 8, .threads = 2 }

static void three_kinds(HostTopology *topo)
{
    host_type(topo, "0-3", 0, "efficient");
    host_type(topo, "4-6", 1, "middle");
    host_type(topo, "7", 2, "performance");
}

static const PlanCase cases_kinds[] = {
    {
        .name = "largest", .host = HYBRID, .change = hybrid,
        .machine = { .options = "one-to-one", .vcpus = 8 },
        .vcpus = "8 9 10 11 12 13 14 15", .emulator = "0-7",
        .io = "0-7", .warning = "",
    }, {
        .name = "guest-siblings", .host = HYBRID, .change = hybrid,
        .machine = { .options = "one-to-one", .vcpus = 8, .threads = 2 },
        .vcpus = "0 1 2 3 4 5 6 7", .guest = "1/1/4/2", .warning = "",
    }, {
        .name = "performance", .host = HYBRID, .change = hybrid,
        .machine = { .options = "one-to-one,cpu-kind=performance",
                     .vcpus = 4 },
        .vcpus = "0 2 4 6", .warning = "",
    }, {
        .name = "efficient-floating", .host = HYBRID, .change = hybrid,
        .machine = { .options = "balanced,cpu-kind=efficient", .vcpus = 2 },
        .vcpus = "8-15 8-15", .nodes = "-:default", .emulator = "0-15",
    }, {
        .name = "any", .host = HYBRID, .change = hybrid,
        .machine = { .options = "balanced,cpu-kind=any", .vcpus = 2 },
        .vcpus = "0-15 0-15",
    }, {
        .name = "one-kind-is-not-enough", .host = HYBRID, .change = hybrid,
        .machine = { .options = "one-to-one", .vcpus = 16 },
        .error = "pinning=one-to-one needs 16 host CPUs of one kind, usable "
                 "are 8 performance, 8 efficient",
    }, {
        .name = "asked-for-is-not-enough", .host = HYBRID, .change = hybrid,
        .machine = { .options = "one-to-one,cpu-kind=efficient",
                     .vcpus = 9 },
        .error = "pinning=one-to-one needs 9 host CPUs of one kind, "
                 "pinning-cpu-kind=efficient, usable are 8 performance, 8 "
                 "efficient",
    }, {
        .name = "what-is-left-is-largest", .host = HYBRID, .change = hybrid,
        .machine = { .options = "one-to-one", .vcpus = 7,
                     .taken = "{'exclusive-cpus': '8-9'}" },
        .vcpus = "0 2 4 6 1 3 5",
    }, {
        .name = "three", .host = { .cores = 8 }, .change = three_kinds,
        .machine = { .options = "one-to-one", .vcpus = 4 },
        .vcpus = "0 1 2 3",
    }, {
        .name = "three-largest", .host = { .cores = 8 },
        .change = three_kinds,
        .machine = { .options = "one-to-one" },
        .vcpus = "0",
    }, {
        .name = "three-highest", .host = { .cores = 8 },
        .change = three_kinds,
        .machine = { .options = "one-to-one,cpu-kind=performance" },
        .vcpus = "7",
    }, {
        .name = "one-kind", .host = SMALL,
        .machine = { .options = "one-to-one,cpu-kind=performance" },
        .vcpus = "0",
        .warning = "pinning-cpu-kind=performance has no effect",
    },
};

/* Two packages of two dies, one node and one cache each */
static void dies(HostTopology *topo)
{
    for (unsigned i = 0; i < topo->n_cpus; i++) {
        topo->cpus[i].die = topo->cpus[i].node % 2;
    }
}

#define DIES { .packages = 2, .nodes = 2, .cores = 2, .threads = 2 }
#define FOLLOW ",guest-topology=host"

static const PlanCase cases_guest[] = {
    {
        .name = "keep", .host = DIES, .change = dies,
        .machine = { .options = "one-to-one", .vcpus = 8, .sockets = 4,
                     .dies = 2 },
        .guest = "4/2/1/1",
    }, {
        .name = "host", .host = DIES, .change = dies,
        .machine = { .options = "one-to-one" FOLLOW, .vcpus = 8 },
        .guest = "2/2/2/1", .warning = "",
    }, {
        .name = "host-siblings", .host = DIES, .change = dies,
        .machine = { .options = "one-to-one,smt=require" FOLLOW,
                     .vcpus = 16 },
        .guest = "2/2/2/2",
    }, {
        .name = "host-one-die", .host = DIES, .change = dies,
        .machine = { .options = "one-to-one" FOLLOW, .vcpus = 2,
                     .sockets = 2 },
        .guest = "1/1/2/1", .warning = "",
    }, {
        .name = "host-asymmetric", .host = DIES, .change = dies,
        .machine = { .options = "one-to-one,cpus=0,,2,,4,,6,,8" FOLLOW,
                     .vcpus = 5 },
        .guest = "1/1/5/1",
        .warning = "not symmetric, so the guest sees one socket of 5 cores",
    }, {
        .name = "host-siblings-of-some", .host = DIES, .change = dies,
        .machine = { .options = "one-to-one,cpus=0-1,,2" FOLLOW,
                     .vcpus = 3 },
        .guest = "1/1/3/1", .warning = "not symmetric",
    }, {
        .name = "host-numa", .host = DIES, .change = dies,
        .machine = { .options = "numa" FOLLOW, .vcpus = 8,
                     .nodes = "512 0-1;512 2-3;512 4-5;512 6-7" },
        .guest = "2/2/2/1", .warning = "",
    }, {
        .name = "host-balanced", .host = DIES, .change = dies,
        .machine = { .options = "balanced" FOLLOW, .vcpus = 2,
                     .threads = 2 },
        .guest = "1/1/2/1",
    },
};

static const PlanCase cases_one_thread[] = {
    {
        .name = "balanced", .host = SMALL,
        .machine = { .options = "balanced", .vcpus = 4,
                     .one_thread = true },
        .vcpus = "0-7 0-7 0-7 0-7", .nodes = "0:bind",
    }, {
        .name = "more-vcpus-than-cpus", .host = SMALL,
        .machine = { .options = "one-to-one", .vcpus = 64,
                     .one_thread = true },
    }, {
        .name = "one-to-one", .host = SMALL,
        .machine = { .options = "one-to-one", .vcpus = 4,
                     .one_thread = true },
        .vcpus = "0 0 0 0", .emulator = "1-15", .warning = "",
    }, {
        .name = "spread", .host = SMALL,
        .machine = { .options = "spread", .vcpus = 2, .one_thread = true,
                     .nodes = "512 0;512 1" },
        .vcpus = "0-7 0-7", .nodes = "0:bind 0:bind",
    }, {
        .name = "with-most-memory", .host = SMALL,
        .machine = { .options = "numa", .vcpus = 2, .one_thread = true,
                     .nodes = "512 0 0;1024 1 1" },
        .vcpus = "8-15 8-15", .nodes = "0:bind 1:bind",
    },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    plan_cases_add("rfc", cases_rfc, ARRAY_SIZE(cases_rfc));
    plan_cases_add("sets", cases_sets, ARRAY_SIZE(cases_sets));
    plan_cases_add("uma", cases_uma, ARRAY_SIZE(cases_uma));
    plan_cases_add("smt", cases_smt, ARRAY_SIZE(cases_smt));
    plan_cases_add("cache", cases_cache, ARRAY_SIZE(cases_cache));
    plan_cases_add("kinds", cases_kinds, ARRAY_SIZE(cases_kinds));
    plan_cases_add("guest", cases_guest, ARRAY_SIZE(cases_guest));
    plan_cases_add("one-thread", cases_one_thread,
                   ARRAY_SIZE(cases_one_thread));
    return g_test_run();
}
