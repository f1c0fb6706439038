/*
 * Choosing where a virtual machine goes: what the guest sees
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "pinning-plan-internal.h"

/* Where a vCPU is, as far as its mask leaves that in no doubt */
typedef struct Seat {
    int package;
    int die;
    int core;
} Seat;

static int package_of(const HostCpu *c)
{
    return c->package == HOST_UNKNOWN ? 0 : c->package;
}

static int die_of(const HostCpu *c)
{
    return c->die == HOST_UNKNOWN ? 0 : c->die;
}

/* A vCPU that can move has no core that it shares with a certain other one */
static Seat seat_of(const Planner *p, unsigned vcpu)
{
    const CpuSet *cpus = p->vcpu_cpus[vcpu];
    const HostCpu *first = host_topology_cpu(p->topo, cpuset_first(cpus));
    Seat seat = {
        .package = package_of(first),
        .die = die_of(first),
        .core = cpuset_count(cpus) > 1 ? -1 - (int)vcpu
                                       : plan_core_of(first),
    };

    CPUSET_FOREACH(cpu, cpus) {
        const HostCpu *c = host_topology_cpu(p->topo, cpu);

        if (package_of(c) != seat.package) {
            seat.package = seat.die = -1;
        } else if (die_of(c) != seat.die) {
            seat.die = -1;
        }
    }
    return seat;
}

/*
 * Length of the runs that @seats fall into, 0 if they differ or if one is
 * seen twice; @level is how much of a seat has to be the same
 */
static unsigned run_length(const Seat *seats, unsigned n, unsigned level)
{
    unsigned length = 0, start = 0;

    for (unsigned i = 1; i <= n; i++) {
        const Seat *a = &seats[i - 1], *b = &seats[MIN(i, n - 1)];
        bool same = i < n && a->package == b->package &&
                    (level < 1 || a->die == b->die) &&
                    (level < 2 || a->core == b->core);

        if (same) {
            continue;
        }
        if (length && i - start != length) {
            return 0;
        }
        length = i - start;
        start = i;
    }
    return length;
}

static bool seen_twice(const Seat *seats, unsigned n, unsigned length,
                       unsigned level)
{
    for (unsigned i = 0; i < n; i += length) {
        for (unsigned j = i + length; j < n; j += length) {
            if (seats[i].package == seats[j].package &&
                (level < 1 || seats[i].die == seats[j].die) &&
                (level < 2 || seats[i].core == seats[j].core)) {
                return true;
            }
        }
    }
    return false;
}

static bool follow_host(const Planner *p, PinningTopologyPlan *g)
{
    unsigned n = p->req->vcpus, runs[3];
    g_autofree Seat *seats = g_new(Seat, n);

    for (unsigned v = 0; v < n; v++) {
        seats[v] = seat_of(p, v);
    }
    for (unsigned level = 0; level < 3; level++) {
        runs[level] = run_length(seats, n, level);
        if (!runs[level] || seen_twice(seats, n, runs[level], level)) {
            return false;
        }
    }
    if (runs[0] % runs[1] || runs[1] % runs[2]) {
        return false;
    }
    g->sockets = n / runs[0];
    g->dies = runs[0] / runs[1];
    g->cores = runs[1] / runs[2];
    g->threads = runs[2];
    return true;
}

/*
 * A guest that keeps its topology schedules by it: what it takes for one
 * cache it uses as one.  Only vCPUs that cannot move are held to that.
 */
static void warn_far_caches(Planner *p)
{
    const PinningRequest *req = p->req;
    unsigned n = req->llc_vcpus ?: req->clusters * req->cores * req->threads;

    if (p->wishes.mode != PINNING_MODE_ONE_TO_ONE) {
        return;
    }
    for (unsigned first = 0; first + n <= req->vcpus; first += n) {
        int package = seat_of(p, first).package;

        for (unsigned v = first + 1; v < first + n; v++) {
            int other = seat_of(p, v).package;

            if (package >= 0 && other >= 0 && package != other) {
                plan_warn(p, "the guest takes vCPUs %u-%u to share a cache, "
                          "but their host CPUs are in several packages",
                          first, first + n - 1);
                return;
            }
        }
    }
}

void plan_guest_topology(Planner *p)
{
    const PinningRequest *req = p->req;
    PinningTopologyPlan *g = &p->guest;

    *g = (PinningTopologyPlan) {
        .sockets = req->sockets,
        .dies = req->dies,
        .cores = req->clusters * req->cores,
        .threads = req->threads,
    };
    if (p->wishes.mode == PINNING_MODE_NONE || req->one_thread) {
        return;
    }
    if (!p->wishes.host_topology) {
        warn_far_caches(p);
        return;
    }
    if (follow_host(p, g)) {
        return;
    }
    *g = (PinningTopologyPlan) {
        .sockets = 1, .dies = 1, .cores = req->vcpus, .threads = 1,
    };
    plan_warn(p, "the host CPUs of the vCPUs are not symmetric, so the guest "
              "sees one socket of %u cores", req->vcpus);
}
