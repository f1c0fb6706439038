/*
 * Choosing where a virtual machine goes: a host CPU for each vCPU
 *
 * On each place, caches are chosen first, then cores, then CPUs of a core.
 * What fits one cache gets one; else what the guest takes for one cache is
 * not cut if there is a cache that holds it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "pinning-plan-internal.h"

/* What may still be handed out, from the best to what is left at last */
typedef enum Grade {
    GRADE_IDLE,             /* cores on which nobody else has anything */
    GRADE_OPEN,             /* cores without a whole vCPU of others */
    GRADE_SIBLINGS,         /* such CPUs, also where a sibling is taken */
    GRADE_ANY,
} Grade;

typedef struct Dealer {
    Planner *p;
    unsigned place;
    Grade grade;
    unsigned *left;         /* by cache of the place: chunks it can take */
    bool *touched;          /* by cache of the place: something is there */
    unsigned n_llcs;
} Dealer;

static unsigned free_cpus(const PlanHost *h, const PlanCore *core,
                          unsigned load)
{
    unsigned n = 0;

    for (unsigned i = 0; i < core->n_cpus; i++) {
        const PlanCpu *c = &h->cpus[core->first_cpu + i];

        n += !c->used && c->load < load;
    }
    return n;
}

/* How many chunks @core can take at @grade */
static unsigned core_room(const Planner *p, const PlanCore *core, Grade grade)
{
    switch (grade) {
    case GRADE_IDLE:
        return !core->used && !core->load && core->n_cpus >= p->chunk;
    case GRADE_OPEN:
        return !core->used && core->peak < PLAN_VCPU &&
               core->n_cpus >= p->chunk;
    case GRADE_SIBLINGS:
        return free_cpus(&p->host, core, PLAN_VCPU) / p->chunk;
    default:
        return free_cpus(&p->host, core, UINT_MAX) / p->chunk;
    }
}

static unsigned count_room(Dealer *d)
{
    const PlanHost *h = &d->p->host;
    unsigned sum = 0;

    for (unsigned i = 0; i < d->n_llcs; i++) {
        const PlanLlc *llc = &h->llcs[h->places[d->place].first_llc + i];

        d->left[i] = 0;
        for (unsigned j = 0; j < llc->n_cores; j++) {
            d->left[i] += core_room(d->p, &h->cores[llc->first_core + j],
                                    d->grade);
        }
        sum += d->left[i];
    }
    return sum;
}

/* The lowest grade of which there is enough for @n chunks */
static void find_grade(Dealer *d, unsigned n)
{
    for (d->grade = GRADE_IDLE; count_room(d) < n; d->grade++) {
        g_assert(d->grade < GRADE_ANY);
    }
}

/*
 * A cache with room for @n chunks: one that this guest has part of already,
 * so that there will be few, else the emptiest, or with pack the fullest.
 * Returns: -1 if there is none
 */
static int find_cache(const Dealer *d, unsigned n)
{
    bool pack = d->p->wishes.strategy == PINNING_STRATEGY_PACK;
    int best = -1;

    for (unsigned i = 0; i < d->n_llcs; i++) {
        bool better;

        if (d->left[i] < n) {
            continue;
        }
        if (best < 0 || d->touched[i] != d->touched[best]) {
            better = best < 0 || d->touched[i];
        } else {
            better = pack || d->touched[i] ? d->left[i] < d->left[best]
                                           : d->left[i] > d->left[best];
        }
        if (better) {
            best = i;
        }
    }
    return best;
}

static int fullest_room(const Dealer *d)
{
    int best = 0;

    for (unsigned i = 1; i < d->n_llcs; i++) {
        if (d->left[i] > d->left[best]) {
            best = i;
        }
    }
    return best;
}

/*
 * Isolated cores were named for vCPUs, so they are for vCPUs before others;
 * then cores that are least used, by this guest and by others.
 */
static bool core_before(const PlanCore *a, const PlanCore *b)
{
    if (a->isolated != b->isolated) {
        return a->isolated;
    }
    if (a->used != b->used) {
        return a->used < b->used;
    }
    return a->load < b->load;
}

static PlanCore *find_core(const Dealer *d, unsigned cache)
{
    PlanHost *h = &d->p->host;
    const PlanLlc *llc = &h->llcs[h->places[d->place].first_llc + cache];
    PlanCore *best = NULL;

    for (unsigned i = 0; i < llc->n_cores; i++) {
        PlanCore *core = &h->cores[llc->first_core + i];

        if (core_room(d->p, core, d->grade) &&
            (!best || core_before(core, best))) {
            best = core;
        }
    }
    return best;
}

static PlanCpu *find_cpu(PlanHost *h, const PlanCore *core)
{
    PlanCpu *best = NULL;

    for (unsigned i = 0; i < core->n_cpus; i++) {
        PlanCpu *c = &h->cpus[core->first_cpu + i];

        if (!c->used && (!best || c->load < best->load)) {
            best = c;
        }
    }
    return best;
}

static char *cpu_reason(const Planner *p, const PlanCpu *c)
{
    const HostCpu *host = host_topology_cpu(p->topo, c->cpu);
    g_autoptr(GString) text = g_string_new("");

    if (p->kind_text) {
        g_string_append_printf(text, "%s ", host_topology_type_name(
                                                p->topo, host->type));
    }
    g_string_append_printf(text, "core %d", plan_core_of(host));
    if (host->llc != HOST_UNKNOWN) {
        g_string_append_printf(text, ", cache %d", host->llc);
    }
    if (host->node != HOST_UNKNOWN) {
        g_string_append_printf(text, ", node %d", host->node);
    }
    if (p->host.cores[c->core].used > 1) {
        g_string_append(text, p->chunk > 1 ? ", SMT sibling as in the guest"
                        : ", SMT sibling of another vCPU");
    }
    return g_strdup(text->str);
}

static void deal_cpu(Planner *p, PlanCore *core, const PlanSeat *seat)
{
    PlanCpu *c = find_cpu(&p->host, core);
    CpuSet *one = plan_own_set(p, cpuset_new());

    c->used = true;
    core->used++;
    cpuset_add(one, c->cpu);
    cpuset_add(p->single, c->cpu);
    plan_give(p, seat->vcpu, one, cpu_reason(p, c));
}

/* The chunk that begins at @i.  Returns: the first seat after it */
static unsigned deal_chunk(Dealer *d, const GArray *seats, unsigned i,
                           unsigned cache)
{
    PlanCore *core = find_core(d, cache);
    unsigned chunk = g_array_index(seats, PlanSeat, i).chunk;

    while (i < seats->len &&
           g_array_index(seats, PlanSeat, i).chunk == chunk) {
        deal_cpu(d->p, core, &g_array_index(seats, PlanSeat, i));
        i++;
    }
    d->left[cache]--;
    d->touched[cache] = true;
    return i;
}

/* Chunks from seat @i up to the end of what the guest takes for one cache */
static unsigned block_length(const GArray *seats, unsigned i)
{
    unsigned first = g_array_index(seats, PlanSeat, i).chunk, last = first;

    for (unsigned j = i + 1; j < seats->len; j++) {
        const PlanSeat *seat = &g_array_index(seats, PlanSeat, j);

        if (seat->new_block) {
            break;
        }
        last = seat->chunk;
    }
    return last - first + 1;
}

static void deal_seats(Dealer *d, const GArray *seats, unsigned chunks)
{
    int whole = find_cache(d, chunks);
    unsigned i = 0;

    while (i < seats->len) {
        unsigned n = block_length(seats, i);
        int cache = whole >= 0 ? whole : find_cache(d, n);

        if (cache < 0) {
            cache = fullest_room(d);
        }
        for (n = MIN(n, d->left[cache]); n; n--) {
            i = deal_chunk(d, seats, i, cache);
        }
    }
}

static void deal_place(Planner *p, unsigned place)
{
    g_autoptr(GArray) seats = plan_seats(p, place);
    unsigned n = p->host.places[place].n_llcs, chunks;
    Dealer d = { .p = p, .place = place, .n_llcs = n };

    if (!seats->len) {
        return;
    }
    d.left = g_new0(unsigned, n);
    d.touched = g_new0(bool, n);
    chunks = g_array_index(seats, PlanSeat, seats->len - 1).chunk + 1;
    find_grade(&d, chunks);
    deal_seats(&d, seats, chunks);
    g_free(d.left);
    g_free(d.touched);
}

/* Say once what is less than one would expect of one-to-one */
static void warn_sharing(Planner *p)
{
    const PlanHost *h = &p->host;
    g_autoptr(CpuSet) theirs = cpuset_new();
    unsigned cores = 0;

    for (unsigned i = 0; i < h->n_cores; i++) {
        cores += h->cores[i].used > p->chunk;
    }
    for (unsigned i = 0; i < h->n_cpus; i++) {
        if (h->cpus[i].used && h->cpus[i].load >= PLAN_VCPU) {
            cpuset_add(theirs, h->cpus[i].cpu);
        }
    }
    if (cores) {
        plan_warn(p, "there are fewer usable cores than vCPUs want: %u "
                  "core%s shared by vCPUs", cores, cores > 1 ? "s are"
                                                           : " is");
    }
    if (!cpuset_is_empty(theirs)) {
        g_autofree char *text = plan_list_text(theirs);

        plan_warn(p, "no host CPUs are left that nobody else has: %s carry "
                  "vCPUs of others as well", text);
    }
}

/* Each vCPU has one host CPU, and each host CPU at most one vCPU */
void plan_hand_out(Planner *p)
{
    for (unsigned i = 0; i < p->host.n_places; i++) {
        deal_place(p, i);
    }
    warn_sharing(p);
    for (unsigned i = 0; i < p->n_units && p->req->one_thread; i++) {
        if (p->units[i].n_vcpus) {
            plan_follow(p, &p->units[i]);
        }
    }
}
