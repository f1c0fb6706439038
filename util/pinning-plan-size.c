/*
 * Choosing where a virtual machine goes: how much it needs
 *
 * The measure is the core.  vCPUs that the guest takes for threads of one
 * core are a chunk, and a chunk wants the siblings of one core; every other
 * vCPU is a chunk of its own.  Whoever counts threads instead puts a machine
 * of 32 vCPUs on 16 cores, and loses more than remote memory costs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "pinning-plan-internal.h"

/* The unit whose vCPUs the one thread is placed with: most memory is there */
static unsigned lead_unit(const Planner *p)
{
    const PlanUnit *lead = NULL;

    for (unsigned i = 0; i < p->n_units; i++) {
        const PlanUnit *u = &p->units[i];

        if (!cpuset_is_empty(u->vcpus) && (!lead || u->size > lead->size)) {
            lead = u;
        }
    }
    return lead ? lead - p->units : 0;
}

/* A chunk ends where the guest's core ends, or the guest node */
static unsigned chunks_of(const Planner *p, const CpuSet *vcpus)
{
    unsigned n = 0, last = UINT_MAX;

    CPUSET_FOREACH(v, vcpus) {
        if (v / p->chunk != last) {
            last = v / p->chunk;
            n++;
        }
    }
    return n;
}

void plan_count_chunks(Planner *p)
{
    unsigned lead = lead_unit(p);

    for (unsigned i = 0; i < p->n_units; i++) {
        PlanUnit *u = &p->units[i];

        if (p->req->one_thread) {
            u->n_vcpus = u->n_chunks = i == lead;
        } else {
            u->n_vcpus = cpuset_count(u->vcpus);
            u->n_chunks = chunks_of(p, u->vcpus);
        }
    }
}

static unsigned slots(const Planner *p, unsigned chunk)
{
    unsigned n = 0;

    for (unsigned i = 0; i < p->host.n_cores; i++) {
        n += p->host.cores[i].n_cpus / chunk;
    }
    return n;
}

static unsigned total_chunks(const Planner *p)
{
    unsigned n = 0;

    for (unsigned i = 0; i < p->n_units; i++) {
        n += p->units[i].n_chunks;
    }
    return n;
}

/* Siblings that every usable core has */
static unsigned common_siblings(const Planner *p)
{
    unsigned n = UINT_MAX;

    for (unsigned i = 0; i < p->host.n_cores; i++) {
        n = MIN(n, p->host.cores[i].n_cpus);
    }
    return n;
}

static void choose_chunk(Planner *p)
{
    unsigned threads = p->req->threads, common = common_siblings(p);

    p->chunk = 1;
    if (p->req->one_thread || p->wishes.smt == PINNING_SMT_ISOLATE) {
        return;
    }
    if (p->wishes.smt == PINNING_SMT_REQUIRE) {
        p->chunk = threads > 1 ? MIN(threads, common) : common;
    } else if (threads > 1 && slots(p, threads) * threads >= p->req->vcpus) {
        p->chunk = threads;
    }
}

static char *things_text(const Planner *p, unsigned n)
{
    const char *s = n == 1 ? "" : "s";

    switch (p->wishes.smt) {
    case PINNING_SMT_ISOLATE:
        return g_strdup_printf("%u whole idle core%s", n, s);
    case PINNING_SMT_REQUIRE:
        return g_strdup_printf("%u core%s with all siblings", n, s);
    default:
        return g_strdup_printf("%u host CPU%s", n, s);
    }
}

static bool refuse_size(const Planner *p, unsigned need, unsigned have,
                        Error **errp)
{
    ERRP_GUARD();
    g_autofree char *things = things_text(p, need);
    g_autofree char *left_out = plan_left_out_text(p);

    error_setg(errp, "pinning=one-to-one%s needs %s, %u %s usable%s",
               p->wishes.exclusive ? " with pinning-exclusive" : "", things,
               have, have == 1 ? "is" : "are", left_out);
    error_append_hint(errp, "Use fewer vCPUs, allow more host CPUs%s, or use "
                      "pinning=numa.\n", p->wishes.cpus ?
                      " in pinning-cpus" : "");
    return false;
}

static void warn_siblings(Planner *p)
{
    PinningMode mode = p->wishes.mode;

    if (p->req->threads > 1 && p->chunk != p->req->threads &&
        !p->wishes.host_topology && !p->req->one_thread &&
        (mode == PINNING_MODE_ONE_TO_ONE || mode == PINNING_MODE_SPREAD)) {
        plan_warn(p, "the guest takes %u vCPUs each for threads of one core, "
                  "but they are not SMT siblings on this host",
                  p->req->threads);
    }
}

/* How vCPUs are bundled, and whether one-to-one has enough for all */
bool plan_size_units(Planner *p, Error **errp)
{
    unsigned chunks, have;

    choose_chunk(p);
    plan_count_chunks(p);
    warn_siblings(p);
    if (p->wishes.mode != PINNING_MODE_ONE_TO_ONE) {
        return true;
    }
    chunks = total_chunks(p);
    have = slots(p, p->chunk);
    if (have < chunks && p->chunk > 1 &&
        p->wishes.smt == PINNING_SMT_PREFER) {
        /* guest nodes that cut cores: go without siblings */
        p->chunk = 1;
        plan_count_chunks(p);
        chunks = total_chunks(p);
        have = slots(p, 1);
    }
    return chunks <= have || refuse_size(p, chunks, have, errp);
}
