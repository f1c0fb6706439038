/*
 * Unit tests for the planner: memory, guest nodes, and what others hold
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "pinning-plan-harness.h"

/* Four nodes of four cores with 16 GiB, in two packages */
#define FOUR { .packages = 2, .nodes = 2, .cores = 4 }

static void uneven(HostTopology *topo)
{
    host_memory(topo, 0, 16 * GiB, 2 * GiB);
    host_memory(topo, 1, 16 * GiB, 9 * GiB);
    host_memory(topo, 2, 16 * GiB, 12 * GiB);
    host_memory(topo, 3, 16 * GiB, 7 * GiB);
}

static void nothing_free(HostTopology *topo)
{
    for (unsigned i = 0; i < 4; i++) {
        host_memory(topo, i, 16 * GiB, GiB);
    }
}

/* Long up: little is free, and node 2 has the most that can be dropped */
static void cached(HostTopology *topo)
{
    nothing_free(topo);
    topo->nodes[1].available = 5 * GiB;
    topo->nodes[2].available = 8 * GiB;
}

static void no_memory_1_3(HostTopology *topo)
{
    host_memory(topo, 1, 0, 0);
    host_memory(topo, 3, 0, 0);
}

/* Node 1 has no memory, node 3 has no CPUs and is nearer than others */
static void tier_3_near(HostTopology *topo)
{
    host_memory(topo, 1, 0, 0);
    host_strip_cpus(topo, 3);
    host_distance(topo, 1, 3, 11);
}

static void denied_2(HostTopology *topo)
{
    host_allow_nodes(topo, "0-1,3");
}

static void memory_only_3(HostTopology *topo)
{
    host_strip_cpus(topo, 3);
}

static void pools(HostTopology *topo)
{
    host_hugepages(topo, 0, 2 * MiB, 512, 512);
    host_hugepages(topo, 1, 2 * MiB, 2048, 512);
    host_hugepages(topo, 2, 2 * MiB, 2048, 2048);
    host_hugepages(topo, 2, 1 * GiB, 4, 4);
}

static void unknown_memory(HostTopology *topo)
{
    for (unsigned i = 0; i < 4; i++) {
        host_memory(topo, i, HOST_UNKNOWN, HOST_UNKNOWN);
    }
}

static const PlanCase cases_nodes[] = {
    {
        .name = "most-uncommitted", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced", .vcpus = 4, .memory = 4 * GiB },
        .nodes = "2:bind", .warning = "",
    }, {
        .name = "pack", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced,strategy=pack", .vcpus = 4,
                     .memory = 4 * GiB },
        .nodes = "3:bind", .warning = "",
    }, {
        .name = "memory-decides-how-many", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced", .vcpus = 2,
                     .memory = 14 * GiB },
        .nodes = "2-3:bind", .warning = "",
    }, {
        .name = "preallocated", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced", .vcpus = 2,
                     .memory = 14 * GiB, .prealloc = true },
        .nodes = "2-3:interleave", .warning = "",
    }, {
        .name = "preallocated-on-one", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced", .vcpus = 2, .memory = 4 * GiB,
                     .prealloc = true },
        .nodes = "2:bind", .warning = "",
    }, {
        .name = "preallocated-bind-given", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced,memory=bind", .vcpus = 2,
                     .memory = 14 * GiB, .prealloc = true },
        .nodes = "2-3:bind", .warning = "",
    }, {
        .name = "promised", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced", .vcpus = 4, .memory = 4 * GiB,
                     .taken = "{'nodes': [{'host-node': 2,"
                              "'promised': 8589934592}]}" },
        .nodes = "1:bind", .warning = "",
    }, {
        .name = "promised-and-touched", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced", .vcpus = 4, .memory = 4 * GiB,
                     .taken = "{'nodes': [{'host-node': 2,"
                              "'promised': 3221225472,"
                              "'untouched': 0}]}" },
        .nodes = "2:bind", .warning = "",
    }, {
        .name = "promised-hugepages-are-others", .host = FOUR,
        .change = uneven,
        .machine = { .options = "balanced", .vcpus = 4, .memory = 4 * GiB,
                     .taken = "{'nodes': [{'host-node': 2,"
                              "'page-size': 2097152,"
                              "'promised': 8589934592}]}" },
        .nodes = "2:bind",
    }, {
        .name = "closest-before-emptiest", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced", .vcpus = 6, .memory = 12 * GiB },
        .nodes = "2-3:bind", .warning = "",
    }, {
        .name = "total-if-free-is-short", .host = FOUR,
        .change = nothing_free,
        .machine = { .options = "balanced", .vcpus = 2, .memory = 6 * GiB },
        .nodes = "0:preferred",
        .warning = "node 0: needs 6144 MiB of memory, 1024 MiB free (of "
                   "16384); preferred there instead of bound",
    }, {
        .name = "cache-is-dropped", .host = FOUR, .change = cached,
        .machine = { .options = "balanced", .vcpus = 2, .memory = 6 * GiB },
        .nodes = "2:bind", .warning = "",
    }, {
        .name = "more-than-there-is", .host = FOUR,
        .machine = { .options = "balanced", .vcpus = 2,
                     .memory = 100 * GiB },
        .warning = "needs 102400 MiB of memory",
    }, {
        .name = "memory-none", .host = FOUR,
        .machine = { .options = "balanced,memory=none", .vcpus = 2,
                     .memory = 100 * GiB },
        .vcpus = "0-3 0-3", .nodes = "-:default", .warning = "",
    }, {
        .name = "memory-preferred", .host = FOUR,
        .machine = { .options = "numa,memory=preferred", .vcpus = 6 },
        .nodes = "0-1:preferred",
    }, {
        .name = "memory-interleave", .host = FOUR,
        .machine = { .options = "numa,memory=interleave", .vcpus = 2 },
        .nodes = "0:interleave",
    }, {
        .name = "memory-bind-given", .host = FOUR,
        .machine = { .options = "numa,memory=bind", .vcpus = 6 },
        .nodes = "0-1:bind",
    }, {
        .name = "all-nodes", .host = FOUR,
        .machine = { .options = "balanced", .vcpus = 16 },
        .vcpus = "0-15 0-15 0-15 0-15 0-15 0-15 0-15 0-15 "
                 "0-15 0-15 0-15 0-15 0-15 0-15 0-15 0-15",
        .nodes = "-:default", .warning = "",
    }, {
        .name = "all-nodes-preallocated", .host = FOUR,
        .machine = { .options = "balanced", .vcpus = 16,
                     .prealloc = true },
        .vcpus = "0-15 0-15 0-15 0-15 0-15 0-15 0-15 0-15 "
                 "0-15 0-15 0-15 0-15 0-15 0-15 0-15 0-15",
        .nodes = "0-3:interleave", .warning = "",
    }, {
        .name = "node-denied", .host = FOUR, .change = denied_2,
        .machine = { .options = "balanced,hostnodes=2-3", .vcpus = 2 },
        .vcpus = "12-15 12-15", .nodes = "3:bind",
    }, {
        .name = "hostnodes-without-memory", .host = FOUR,
        .change = no_memory_1_3,
        .machine = { .options = "balanced,hostnodes=1", .vcpus = 2 },
        .vcpus = "4-7 4-7", .nodes = "-:default",
        .warning = "no memory of host nodes that may be used is near",
    }, {
        .name = "other-tier-last", .host = FOUR, .change = tier_3_near,
        .machine = { .options = "balanced,cpus=4-7", .vcpus = 2 },
        .nodes = "0:bind",
    }, {
        .name = "unknown", .host = FOUR, .change = unknown_memory,
        .machine = { .options = "balanced", .vcpus = 2,
                     .memory = 100 * GiB },
        .vcpus = "0-3 0-3", .nodes = "0:bind", .warning = "",
    },
};

#define TWO_OF(n) #n " 0-1;" #n " 2-3"

static const PlanCase cases_guest_nodes[] = {
    {
        .name = "own-host-node", .host = FOUR,
        .machine = { .options = "numa", .vcpus = 4, .nodes = TWO_OF(1024) },
        .vcpus = "0-3 0-3 4-7 4-7", .nodes = "0:bind 1:bind",
        .warning = "",
    }, {
        .name = "neighbours", .host = FOUR,
        .machine = { .options = "numa", .vcpus = 4,
                     .nodes = "512 0;512 1;512 2;512 3" },
        .nodes = "0:bind 1:bind 2:bind 3:bind",
    }, {
        .name = "balanced-together", .host = FOUR,
        .machine = { .options = "balanced", .vcpus = 4,
                     .nodes = TWO_OF(1024) },
        .vcpus = "0-3 0-3 0-3 0-3", .nodes = "0:bind 0:bind", .warning = "",
    }, {
        .name = "more-than-host-nodes", .host = FOUR,
        .machine = { .options = "numa", .vcpus = 6,
                     .nodes = "512 0;512 1;512 2;512 3;512 4;512 5" },
        .warning = "",
    }, {
        .name = "wider-than-a-host-node", .host = FOUR,
        .machine = { .options = "numa", .vcpus = 16,
                     .nodes = "1024 0-7;1024 8-15" },
        .nodes = "0-1:bind 2-3:bind", .warning = "",
    }, {
        .name = "wider-and-preallocated", .host = FOUR,
        .machine = { .options = "numa", .vcpus = 16, .prealloc = true,
                     .nodes = "1024 0-7;1024 8-15" },
        .nodes = "0-1:interleave 2-3:interleave", .warning = "",
    }, {
        .name = "given", .host = FOUR,
        .machine = { .options = "numa", .vcpus = 4,
                     .nodes = "512 0-1 3;512 2-3 1 preferred" },
        .vcpus = "12-15 12-15 4-7 4-7", .nodes = "3:bind 1:preferred",
    }, {
        .name = "one-given", .host = FOUR,
        .machine = { .options = "numa", .vcpus = 4,
                     .nodes = "512 0-1 2;512 2-3" },
        .nodes = "2:bind 3:bind",
    }, {
        .name = "foreign", .host = FOUR,
        .machine = { .options = "numa", .vcpus = 4,
                     .nodes = "512 0-1 2 foreign;512 2-3" },
        .vcpus = "8-11 8-11 12-15 12-15", .nodes = "-:default 3:bind",
    }, {
        .name = "foreign-flat", .host = FOUR,
        .machine = { .options = "balanced", .vcpus = 2, .ram = "2" },
        .vcpus = "8-11 8-11", .nodes = "-:default", .warning = "",
    }, {
        .name = "foreign-flat-two", .host = FOUR,
        .machine = { .options = "numa,vnuma=on", .vcpus = 4, .sockets = 2,
                     .ram = "1-2" },
        .vcpus = "4-11 4-11 4-11 4-11", .nodes = "-:default",
        .warning = "",
    }, {
        .name = "foreign-flat-absent", .host = FOUR,
        .machine = { .options = "balanced", .vcpus = 2, .ram = "9" },
        .error = "Parameter 'host-nodes' of memory backend 'm0' is 9, but "
                 "host node 9 does not exist",
    }, {
        .name = "policy-alone", .host = FOUR,
        .machine = { .options = "numa", .vcpus = 2,
                     .nodes = "512 0 - preferred;512 1 - default" },
        .nodes = "0:preferred -:default",
    }, {
        .name = "memory-only-guest-node", .host = FOUR,
        .machine = { .options = "one-to-one", .vcpus = 2,
                     .nodes = "512 0-1;2048 -" },
        .vcpus = "0 1", .nodes = "0:bind 1:bind",
    }, {
        .name = "nowhere", .host = FOUR,
        .machine = { .options = "numa", .nodes = "512 0 7" },
        .error = "Parameter 'hostnodes' of guest node 0 is 7, but host node "
                 "7 does not exist",
    }, {
        .name = "denied", .host = FOUR, .change = denied_2,
        .machine = { .options = "none", .nodes = "512 0 1-2" },
        .error = "Parameter 'hostnodes' of guest node 0 is 1-2, but host "
                 "node 2 is not among the memory nodes (Mems_allowed) of "
                 "this process",
    }, {
        .name = "without-memory", .host = FOUR, .change = no_memory_1_3,
        .machine = { .options = "numa", .nodes = "512 0 3" },
        .error = "Parameter 'hostnodes' of guest node 0 is 3, but host node "
                 "3 has no memory",
    }, {
        .name = "outside-of-hostnodes", .host = FOUR,
        .machine = { .options = "numa,hostnodes=0-1", .nodes = "512 0 3" },
        .error = "Parameter 'hostnodes' of guest node 0 is 3, but host node "
                 "3 is not one of pinning-hostnodes",
    }, {
        .name = "policy-default-with-nodes", .host = FOUR,
        .machine = { .options = "numa", .nodes = "512 0 3 default" },
        .error = "Parameter 'policy' of guest node 0 is 'default', which "
                 "takes no hostnodes",
    }, {
        .name = "no-cpu-of-pinning-cpus", .host = FOUR,
        .machine = { .options = "numa,cpus=0-3", .nodes = "512 0 3" },
        .error = "Guest node 0 needs 1 host CPUs of host nodes 3, 0 are "
                 "usable",
    }, {
        .name = "too-few-cpus", .host = FOUR,
        .machine = { .options = "one-to-one", .vcpus = 8,
                     .nodes = "512 0-4 3;512 5-7" },
        .error = "Guest node 0 needs 5 host CPUs of host nodes 3, 4 are "
                 "usable",
    }, {
        .name = "memory-only-host-node", .host = FOUR,
        .change = memory_only_3,
        .machine = { .options = "numa", .vcpus = 2,
                     .nodes = "512 0 3;512 1" },
        .vcpus = "8-11 0-3", .nodes = "3:bind 0:bind",
    }, {
        .name = "no-room", .host = FOUR, .change = uneven,
        .machine = { .options = "numa", .nodes = "20480 0 3" },
        .error = "Guest node 0 on host node 3: needs 20480 MiB of memory, "
                 "7168 MiB free (of 16384)",
    }, {
        .name = "little-room", .host = FOUR, .change = uneven,
        .machine = { .options = "numa", .nodes = "10240 0 3" },
        .nodes = "3:bind",
        .warning = "guest node 0 on host node 3: needs 10240 MiB of memory, "
                   "7168 MiB free (of 16384)",
    }, {
        .name = "no-room-for-two", .host = FOUR,
        .machine = { .options = "numa", .vcpus = 2,
                     .nodes = "10240 0 3;10240 1 3" },
        .error = "Guest node 1 on host node 3: needs 10240 MiB of memory, "
                 "6144 MiB free (of 16384)",
    }, {
        .name = "vnuma-proportion", .host = FOUR,
        .machine = { .options = "numa,vnuma=on,hostnodes=0-1", .vcpus = 6,
                     .sockets = 3, .memory = 3000 * MiB },
        .nodes = "0:bind 1:bind",
    },
};

static const PlanCase cases_pools[] = {
    {
        .name = "enough", .host = FOUR, .change = pools,
        .machine = { .options = "balanced", .vcpus = 2, .memory = 2 * GiB,
                     .page_size = 2 * MiB },
        .nodes = "2:bind", .warning = "",
    }, {
        .name = "two-nodes", .host = FOUR, .change = pools,
        .machine = { .options = "numa", .vcpus = 2, .page_size = 2 * MiB,
                     .nodes = "1024 0;1024 1" },
        .nodes = "0:bind 1:bind", .warning = "",
    }, {
        .name = "no-pool", .host = FOUR, .change = pools,
        .machine = { .options = "balanced", .vcpus = 2, .memory = 5 * GiB,
                     .page_size = GiB },
        .nodes = "2:preferred",
        .warning = "needs 5120 MiB of 1 GiB pages, 4096 MiB free (of 4096)",
    }, {
        .name = "given", .host = FOUR, .change = pools,
        .machine = { .options = "none", .page_size = 2 * MiB,
                     .nodes = "6144 0 1" },
        .error = "Guest node 0 on host node 1: needs 6144 MiB of 2 MiB "
                 "pages, 1024 MiB free (of 4096)",
    }, {
        .name = "mixed", .host = FOUR, .change = pools,
        .machine = { .options = "numa", .vcpus = 3,
                     .nodes = "2048/1024 0;1024/2 1;8192 2" },
        .nodes = "2:bind 0:bind 3:bind", .warning = "",
    }, {
        .name = "mixed-no-room", .host = FOUR, .change = pools,
        .machine = { .options = "numa", .vcpus = 2,
                     .nodes = "2048/1024 0 1;1024/2 1 1" },
        .error = "Guest node 0 on host node 1: needs 2048 MiB of 1 GiB "
                 "pages, 0 MiB free (of 0)",
    }, {
        .name = "promised", .host = FOUR, .change = pools,
        .machine = { .options = "balanced", .vcpus = 2, .memory = GiB,
                     .page_size = 2 * MiB,
                     .taken = "{'nodes': [{'host-node': 2,"
                              "'page-size': 2097152,"
                              "'promised': 4294967296}]}" },
        .nodes = "0:bind", .warning = "",
    },
};

static const PlanCase cases_devices[] = {
    {
        .name = "preferred", .host = FOUR,
        .machine = { .options = "balanced", .vcpus = 2,
                     .device_nodes = "3" },
        .nodes = "3:bind",
    }, {
        .name = "one-to-one", .host = FOUR,
        .machine = { .options = "one-to-one", .vcpus = 4,
                     .device_nodes = "1" },
        .vcpus = "4 5 6 7",
    }, {
        .name = "does-not-fit", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced", .vcpus = 2, .memory = 4 * GiB,
                     .device_nodes = "0" },
        .nodes = "2:bind",
    }, {
        .name = "guest-nodes", .host = FOUR,
        .machine = { .options = "numa", .vcpus = 2, .device_nodes = "2",
                     .nodes = "512 0;512 1" },
        .nodes = "2:bind 3:bind",
    }, {
        .name = "not-wider-for-it", .host = FOUR,
        .machine = { .options = "balanced", .vcpus = 2,
                     .device_nodes = "1,3" },
        .nodes = "1:bind",
    },
};

#define TAKEN_0 "{'cpus': [{'host-cpus': '0-3', 'load': 1000}]}"

static const PlanCase cases_taken[] = {
    {
        .name = "one-to-one-elsewhere", .host = FOUR,
        .machine = { .options = "one-to-one", .vcpus = 4,
                     .taken = TAKEN_0 },
        .vcpus = "4 5 6 7", .emulator = "0-3,8-15", .io = "0-3,8-15",
        .warning = "no host CPU is left for I/O threads on the host nodes "
                   "of the vCPUs",
    }, {
        .name = "balanced-elsewhere", .host = FOUR,
        .machine = { .options = "balanced", .vcpus = 4, .taken = TAKEN_0 },
        .vcpus = "4-7 4-7 4-7 4-7", .warning = "",
    }, {
        .name = "one-to-one-across", .host = FOUR,
        .machine = { .options = "one-to-one,hostnodes=0-1", .vcpus = 4,
                     .taken = "{'cpus': [{'host-cpus': '0-1,4-5',"
                              "'load': 1000}]}" },
        .vcpus = "2 3 6 7", .warning = "",
    }, {
        .name = "one-to-one-full", .host = FOUR,
        .machine = { .options = "one-to-one,cpus=0-3", .vcpus = 2,
                     .taken = TAKEN_0 },
        .vcpus = "0 1",
        .warning = "no host CPUs are left that nobody else has: 0-1 carry",
    }, {
        .name = "least-loaded", .host = FOUR,
        .machine = { .options = "one-to-one,hostnodes=0", .vcpus = 2,
                     .taken = "{'cpus': [{'host-cpus': '0-1','load': 500},"
                              "{'host-cpus': '2','load': 250}]}" },
        .vcpus = "3 2",
    }, {
        .name = "exclusive-of-others", .host = FOUR,
        .machine = { .options = "balanced,hostnodes=0", .vcpus = 2,
                     .taken = "{'exclusive-cpus': '0-1',"
                              "'exclusive-owners': ['db']}" },
        .vcpus = "2-3 2-3", .emulator = "2-3", .io = "2-3",
    }, {
        .name = "exclusive-overlap", .host = FOUR,
        .machine = { .options = "one-to-one,cpus=0-3", .vcpus = 3,
                     .taken = "{'exclusive-cpus': '0-1',"
                              "'exclusive-owners': ['db', 'web']}" },
        .error = "pinning=one-to-one needs 3 host CPUs, 2 are usable (left "
                 "out: 2 held by 'db', 'web' alone)",
    }, {
        .name = "exclusive-overlap-avoided", .host = FOUR,
        .machine = { .options = "one-to-one,cpus=0-3", .vcpus = 2,
                     .taken = "{'exclusive-cpus': '0-1',"
                              "'exclusive-owners': ['db']}" },
        .vcpus = "2 3",
        .warning = "host CPUs 0-1 of pinning-cpus are held by 'db' alone "
                   "and stay unused",
    }, {
        .name = "exclusive-all-gone", .host = FOUR,
        .machine = { .options = "numa,cpus=0-1", .vcpus = 2,
                     .taken = "{'exclusive-cpus': '0-3',"
                              "'exclusive-owners': ['db']}" },
        .error = "pinning=numa needs 2 host CPUs, 0 are usable (left out: 2 "
                 "held by 'db' alone)",
    }, {
        .name = "exclusive-emulator", .host = FOUR,
        .machine = { .options = "numa,emulator-cpus=0-5",
                     .taken = "{'exclusive-cpus': '4-9',"
                              "'exclusive-owners': ['db']}" },
        .error = "Parameter 'pinning-emulator-cpus' names host CPUs 4-5, "
                 "which are held by 'db' alone",
    }, {
        .name = "exclusive-wanted", .host = FOUR,
        .machine = { .options = "one-to-one,exclusive=on,hostnodes=0",
                     .vcpus = 2, .taken =
                     "{'cpus': [{'host-cpus': '0,2','load': 1}]}" },
        .vcpus = "1 3",
    }, {
        .name = "exclusive-refused", .host = FOUR,
        .machine = { .options = "one-to-one,exclusive=on,hostnodes=0",
                     .vcpus = 3, .taken =
                     "{'cpus': [{'host-cpus': '0,2','load': 1}]}" },
        .error = "pinning=one-to-one with pinning-exclusive needs 3 host "
                 "CPUs, 2 are usable (left out: 2 used by others, so not "
                 "exclusive)",
    }, {
        .name = "parked-of-others", .host = FOUR,
        .machine = { .options = "one-to-one,hostnodes=0", .vcpus = 3,
                     .taken = "{'parked-cpus': '1'}" },
        .vcpus = "0 2 3", .emulator = "0,2-3",
    }, {
        .name = "rotation", .host = FOUR,
        .machine = { .options = "spread,hostnodes=0", .vcpus = 3,
                     .taken = "{'rotation': 1}" },
        .vcpus = "0-1 2 3",
    }, {
        .name = "broken-list", .host = FOUR,
        .machine = { .options = "numa",
                     .taken = "{'parked-cpus': '1-'}" },
        .error = "Member 'parked-cpus' of what is taken: expected a number "
                 "at position 3, found the end",
    },
};

static void reason_host(HostTopology *topo)
{
    uneven(topo);
    host_memory(topo, 2, 16 * GiB, 11 * GiB + 205 * MiB);
}

static void reason_kinds(HostTopology *topo)
{
    host_type(topo, "0-7", 0, "performance");
    host_type(topo, "8-15", 1, "efficient");
}

static const PlanCase cases_reasons[] = {
    {
        .name = "lack-cores", .host = FOUR, .change = reason_host,
        .machine = { .options = "balanced,cpus=0,,4,,8-15", .vcpus = 4,
                     .memory = 2 * GiB },
        .reason = "node 2: 11.2 GiB uncommitted, most of 4; nodes 0-1 lack "
                  "3 cores",
    }, {
        .name = "lack-memory", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced,strategy=pack", .vcpus = 2,
                     .memory = 8 * GiB },
        .reason = "node 1: 9 GiB uncommitted, 1 of 4 has more; nodes 0,3 "
                  "lack 1 GiB",
    }, {
        .name = "crowded", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced", .vcpus = 2, .memory = GiB,
                     .taken = "{'cpus': [{'host-cpus': '4-11',"
                              "'load': 1000}]}" },
        .reason = "node 3: 7 GiB uncommitted, 2 of 4 have more; nodes 1-2 "
                  "are more used by others",
    }, {
        .name = "all-alike", .host = FOUR,
        .machine = { .options = "numa", .vcpus = 2 },
        .reason = "node 0: 16 GiB uncommitted, as on all 4",
    }, {
        .name = "several", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced", .vcpus = 6, .memory = 14 * GiB,
                     .prealloc = true },
        .reason = "nodes 2-3: needs 6 cores, one node has 4 at most; needs "
                  "14 GiB, one node has 12 GiB at most; distance 12; "
                  "interleaved, as it is preallocated",
    }, {
        .name = "interleave-asked-for", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced,memory=interleave", .vcpus = 6,
                     .memory = 14 * GiB },
        .reason = "nodes 2-3: needs 6 cores, one node has 4 at most; needs "
                  "14 GiB, one node has 12 GiB at most; distance 12; "
                  "interleaved as asked for",
    }, {
        .name = "device", .host = FOUR, .change = uneven,
        .machine = { .options = "balanced", .vcpus = 2, .memory = GiB,
                     .device_nodes = "0" },
        .reason = "node 0: an assigned device is there; 2 GiB uncommitted, "
                  "least of 4",
    }, {
        .name = "no-memory", .host = FOUR, .change = no_memory_1_3,
        .machine = { .options = "balanced", .vcpus = 2 },
        .reason = "node 0: 16 GiB uncommitted, as on all 2; nodes 1,3 have "
                  "no memory",
    }, {
        .name = "asked-for", .host = FOUR,
        .machine = { .options = "numa", .nodes = "64 0 2" },
        .reason = "node 2: as hostnodes asks for",
    }, {
        .name = "one-node", .host = { .cores = 4 },
        .machine = { .options = "one-to-one" },
        .reason = "node 0: the only one with usable host CPUs; memory left "
                  "alone: one-to-one without guest nodes places vCPUs only",
    }, {
        .name = "kind", .host = FOUR, .change = reason_kinds,
        .machine = { .options = "balanced,cpu-kind=efficient,hostnodes=2" },
        .reason = "node 2: the only one with usable host CPUs; efficient "
                  "cores, as asked for (usable host CPUs: 0 performance, 4 "
                  "efficient)",
    }, {
        .name = "detour", .host = FOUR, .change = no_memory_1_3,
        .machine = { .options = "balanced,cpus=4-7" },
        .reason = "node 1: the only one with usable host CPUs; node 1 has no "
                  "memory, node 0 is the nearest",
    },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    plan_cases_add("nodes", cases_nodes, ARRAY_SIZE(cases_nodes));
    plan_cases_add("guest-nodes", cases_guest_nodes,
                   ARRAY_SIZE(cases_guest_nodes));
    plan_cases_add("pools", cases_pools, ARRAY_SIZE(cases_pools));
    plan_cases_add("devices", cases_devices, ARRAY_SIZE(cases_devices));
    plan_cases_add("taken", cases_taken, ARRAY_SIZE(cases_taken));
    plan_cases_add("reasons", cases_reasons, ARRAY_SIZE(cases_reasons));
    return g_test_run();
}
