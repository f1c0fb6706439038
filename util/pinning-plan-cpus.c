/*
 * Choosing where a virtual machine goes: host CPUs that vCPUs share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/cpu-groups.h"
#include "pinning-plan-internal.h"

void plan_give(Planner *p, unsigned vcpu, CpuSet *cpus, char *reason)
{
    p->vcpu_cpus[vcpu] = cpus;
    g_free(p->vcpu_reason[vcpu]);
    p->vcpu_reason[vcpu] = reason;
}

CpuSet *plan_own_set(Planner *p, CpuSet *set)
{
    g_ptr_array_add(p->cpu_sets, set);
    return set;
}

static void add_place(const Planner *p, unsigned place, CpuSet *set)
{
    const PlanPlace *where = &p->host.places[place];

    for (unsigned i = 0; i < where->n_cpus; i++) {
        cpuset_add(set, p->host.cpus[where->first_cpu + i].cpu);
    }
}

/* The vCPUs on @place in order, with the chunks there counted through */
GArray *plan_seats(const Planner *p, unsigned place)
{
    GArray *seats = g_array_new(FALSE, FALSE, sizeof(PlanSeat));
    unsigned chunk = UINT_MAX;

    for (unsigned i = 0; i < p->n_units; i++) {
        const PlanUnit *u = &p->units[i];
        unsigned last = UINT_MAX, block = UINT_MAX;

        CPUSET_FOREACH(v, u->vcpus) {
            PlanSeat seat = { .unit = u, .vcpu = v };

            if (p->vcpu_place[v] != place || !u->n_vcpus) {
                continue;
            }
            chunk += v / p->chunk != last;
            last = v / p->chunk;
            seat.chunk = chunk;
            seat.new_block = last / plan_block_chunks(p) != block;
            block = last / plan_block_chunks(p);
            g_array_append_val(seats, seat);
            if (p->req->one_thread) {
                break;
            }
        }
    }
    return seats;
}

/* vCPUs move freely over the places of their unit */
void plan_float(Planner *p)
{
    const PlanUnit *lead = NULL;
    g_autoptr(CpuSet) all = cpuset_new();

    for (unsigned i = 0; i < p->n_units; i++) {
        const PlanUnit *u = &p->units[i];
        g_autofree char *where = NULL;
        CpuSet *cpus;

        if (!u->n_vcpus) {
            continue;
        }
        lead = u;
        cpus = plan_own_set(p, cpuset_new());
        for (unsigned j = 0; j < u->n_places; j++) {
            add_place(p, u->places[j], cpus);
        }
        cpuset_or(all, cpus);
        where = plan_places_text(p, u->places, u->n_places);
        CPUSET_FOREACH(v, u->vcpus) {
            plan_give(p, v, cpus, g_strdup_printf("moves inside %s", where));
        }
    }
    if (p->req->one_thread) {
        plan_follow(p, lead);
    }
    if (plan_vcpu_threads(p) > cpuset_count(all)) {
        plan_warn(p, "there are more vCPUs, %u, than host CPUs for them, %u",
                  plan_vcpu_threads(p), cpuset_count(all));
    }
}

/* One thread runs all vCPUs: they are where those of @lead are */
void plan_follow(Planner *p, const PlanUnit *lead)
{
    unsigned first = cpuset_first(lead->vcpus);
    g_autofree char *where = plan_places_text(p, lead->places,
                                              lead->n_places);

    for (unsigned v = 0; v < p->req->vcpus; v++) {
        plan_give(p, v, p->vcpu_cpus[first],
                  g_strdup_printf("one thread runs all vCPUs, in %s", where));
    }
}

/* Whether each core of @group has @n CPUs or more in it */
static bool has_siblings(const Planner *p, const CpuSet *group, unsigned n)
{
    g_autofree unsigned *count = g_new0(unsigned, p->topo->cpu_index_len);

    CPUSET_FOREACH(cpu, group) {
        count[plan_core_of(host_topology_cpu(p->topo, cpu))]++;
    }
    CPUSET_FOREACH(cpu, group) {
        if (count[plan_core_of(host_topology_cpu(p->topo, cpu))] < n) {
            return false;
        }
    }
    return true;
}

/*
 * The guest's siblings divide the cores of their group: each has one of the
 * host's siblings of every core, so they share cores and no CPU.
 */
static CpuSet *split_group(const Planner *p, const CpuSet *group,
                           unsigned thread)
{
    g_autofree unsigned *seen = g_new0(unsigned, p->topo->cpu_index_len);
    bool siblings = has_siblings(p, group, p->chunk);
    CpuSet *cpus = cpuset_new();
    unsigned i = 0;

    CPUSET_FOREACH(cpu, group) {
        const HostCpu *c = host_topology_cpu(p->topo, cpu);
        unsigned rank = siblings ? seen[plan_core_of(c)]++ : i++;

        if (rank % p->chunk == thread) {
            cpuset_add(cpus, cpu);
        }
    }
    return cpus;
}

/* Whether each of @groups can be divided among the vCPUs of a chunk */
static bool can_split(const Planner *p, const GPtrArray *groups)
{
    for (unsigned i = 0; i < groups->len; i++) {
        if (cpuset_count(groups->pdata[i]) < p->chunk) {
            return false;
        }
    }
    return true;
}

/* Returns: how many vCPUs have to share a host CPU */
static unsigned spread_place(Planner *p, unsigned place)
{
    g_autoptr(GArray) seats = plan_seats(p, place);
    g_autofree char *where = plan_places_text(p, &place, 1);
    g_autoptr(CpuSet) cpus = cpuset_new();
    g_autoptr(GPtrArray) groups = NULL;
    unsigned chunks;
    bool split;

    if (!seats->len) {
        return 0;
    }
    add_place(p, place, cpus);
    chunks = g_array_index(seats, PlanSeat, seats->len - 1).chunk + 1;
    groups = cpu_groups_new(p->topo, cpus, chunks, p->others.rotation);
    split = p->chunk > 1 && can_split(p, groups);
    if (p->chunk > 1 && !split) {
        g_ptr_array_unref(groups);
        groups = cpu_groups_new(p->topo, cpus, seats->len,
                                p->others.rotation);
    }
    for (unsigned i = 0; i < seats->len; i++) {
        const PlanSeat *seat = &g_array_index(seats, PlanSeat, i);
        CpuSet *own = split ? split_group(p, groups->pdata[seat->chunk],
                                          seat->vcpu % p->chunk)
                            : cpuset_copy(groups->pdata[i]);

        plan_give(p, seat->vcpu, plan_own_set(p, own),
                  g_strdup_printf("a group of its own in %s", where));
    }
    return seats->len - MIN(seats->len, cpuset_count(cpus));
}

/* Each vCPU has a group of host CPUs that no other vCPU of this guest has */
void plan_spread(Planner *p)
{
    unsigned stacked = 0;

    for (unsigned i = 0; i < p->host.n_places; i++) {
        stacked += spread_place(p, i);
    }
    if (stacked) {
        plan_warn(p, "%u vCPUs do not find a host CPU of their own and share "
                  "one", stacked);
    }
}
