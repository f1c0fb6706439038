/*
 * Choosing where a virtual machine goes: what an assignment costs
 *
 * A trial is an assignment of units to sets of places under construction.
 * Costs only grow when a unit is added, so the costs of an incomplete
 * assignment are a lower bound for all its completions.  That is what the
 * exact search cuts branches by.
 *
 * Nothing here knows the modes but the two orders of importance at the end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "pinning-plan-internal.h"

struct PlanTrial {
    const Planner *p;
    PlanRoom room;
    bool devices;           /* whether COST_NO_DEVICE means anything */
    int64_t *emptiest;      /* by page size: MiB of the node with most */
    uint64_t busiest;       /* load of the place with most */
    unsigned *capacity;     /* by place: chunks that find room */
    uint64_t *load;         /* by place: of others, on the room counted */
    uint64_t *share;        /* by place: thousandths of chunks put there */
    unsigned *users;        /* by place: units put there */
    uint32_t *to_used;      /* by place: sum of distances to used places */
    int64_t *need;          /* by node and page size: MiB put there */
    unsigned *borrowers;    /* by node and page size: units put there */
    unsigned *scratch;      /* room for indexes of all memories */
    int page_size;          /* of all units, if no two places share memory */
    PlanScore score;
    GArray *before;         /* of PlanScore, one for each unit added */
};

static int64_t to_mib(uint64_t bytes)
{
    return bytes / PLAN_MIB;
}

/*
 * In mode one-to-one a host CPU with a whole vCPU of somebody else's on it
 * is no room while there is other room.  In the other modes vCPUs move, and
 * what others do there is a matter of degree: COST_CROWD.
 */
static unsigned core_capacity(const Planner *p, const PlanCore *core,
                              PlanLevel level, uint64_t *load)
{
    bool own = p->wishes.mode == PINNING_MODE_ONE_TO_ONE &&
               level != PLAN_SHARED;
    unsigned n = 0;

    for (unsigned i = 0; i < core->n_cpus; i++) {
        const PlanCpu *c = &p->host.cpus[core->first_cpu + i];

        if (!own || c->load < PLAN_VCPU) {
            *load += c->load;
            n++;
        }
    }
    if (level == PLAN_OWN_CORES) {
        return n >= p->chunk && (!own || n == core->n_cpus);
    }
    return n / p->chunk;
}

static void measure_places(PlanTrial *t, PlanLevel level)
{
    const Planner *p = t->p;
    uint64_t sum = 0, wanted = 0;

    for (unsigned i = 0; i < p->host.n_places; i++) {
        const PlanPlace *place = &p->host.places[i];

        for (unsigned j = 0; j < place->n_cores; j++) {
            t->capacity[i] += core_capacity(
                p, &p->host.cores[place->first_core + j], level, &t->load[i]);
        }
        t->devices |= place->device;
        t->busiest = MAX(t->busiest, place->load);
        sum += t->capacity[i];
    }
    for (unsigned i = 0; i < p->n_units; i++) {
        wanted += p->units[i].n_chunks;
    }
    /* With too little of it, host CPUs are shared to the same degree */
    for (unsigned i = 0; level == PLAN_SHARED && i < p->host.n_places; i++) {
        t->capacity[i] *= MAX(1, DIV_ROUND_UP(wanted, MAX(sum, 1)));
    }
}

/*
 * The index of the page size of all units; -1 if they differ, or if a unit
 * may find the memory of a new place in use by one on another place.
 */
static int common_page_size(const Planner *p)
{
    for (unsigned i = 1; i < p->n_units; i++) {
        if (p->units[i].page_size != p->units[0].page_size) {
            return -1;
        }
    }
    for (unsigned i = 0; i < p->host.n_places; i++) {
        for (unsigned j = 0; j < i; j++) {
            if (p->host.places[i].memory == p->host.places[j].memory) {
                return -1;
            }
        }
    }
    return p->n_units ? p->units[0].page_size : -1;
}

PlanTrial *plan_trial_new(const Planner *p, PlanLevel level, PlanRoom room)
{
    PlanTrial *t = g_new0(PlanTrial, 1);
    unsigned n = p->host.n_places, sizes = p->host.n_sizes;
    unsigned m = p->host.n_memories * sizes;

    t->p = p;
    t->room = room;
    t->capacity = g_new0(unsigned, n);
    t->load = g_new0(uint64_t, n);
    t->share = g_new0(uint64_t, n);
    t->users = g_new0(unsigned, n);
    t->to_used = g_new0(uint32_t, n);
    t->need = g_new0(int64_t, m);
    t->borrowers = g_new0(unsigned, m);
    t->scratch = g_new0(unsigned, m);
    t->emptiest = g_new0(int64_t, sizes);
    t->before = g_array_new(FALSE, FALSE, sizeof(PlanScore));
    t->page_size = common_page_size(p);
    for (unsigned i = 0; i < m; i++) {
        t->emptiest[i % sizes] = MAX(t->emptiest[i % sizes],
                                     to_mib(p->host.memories[i].free));
    }
    measure_places(t, level);
    return t;
}

void plan_trial_free(PlanTrial *t)
{
    g_free(t->capacity);
    g_free(t->load);
    g_free(t->share);
    g_free(t->users);
    g_free(t->to_used);
    g_free(t->need);
    g_free(t->borrowers);
    g_free(t->scratch);
    g_free(t->emptiest);
    g_array_unref(t->before);
    g_free(t);
}

unsigned plan_trial_capacity(const PlanTrial *t, unsigned place)
{
    return t->capacity[place];
}

unsigned plan_trial_users(const PlanTrial *t, unsigned place)
{
    return t->users[place];
}

const PlanScore *plan_trial_score(const PlanTrial *t)
{
    return &t->score;
}

static uint64_t set_capacity(const PlanTrial *t, const unsigned *places,
                             unsigned n)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < n; i++) {
        sum += t->capacity[places[i]];
    }
    return sum;
}

/* What @u puts on each place is in proportion to the room there */
static uint64_t share_of(const PlanTrial *t, const PlanUnit *u,
                         unsigned place, uint64_t sum, unsigned n)
{
    uint64_t wanted = (uint64_t)u->n_chunks * PLAN_VCPU;

    return sum ? wanted * t->capacity[place] / sum : wanted / n;
}

/*
 * Lists the memories of a set of places in @t->scratch, each once.  Units
 * with given host nodes have theirs there, wherever their vCPUs are.
 */
static unsigned set_memories(const PlanTrial *t, const PlanUnit *u,
                             const unsigned *places, unsigned n)
{
    const PlanHost *h = &t->p->host;
    unsigned *memories = t->scratch;
    unsigned count = 0;

    if (u->fixed) {
        for (unsigned i = 0; i < h->n_memories; i++) {
            if (cpuset_contains(u->wish->host_nodes,
                                plan_memory(t->p, u, i)->node)) {
                memories[count++] = i * h->n_sizes + u->page_size;
            }
        }
        return count;
    }
    for (unsigned i = 0; i < n; i++) {
        int where = h->places[places[i]].memory;
        unsigned m = where * h->n_sizes + u->page_size;
        bool seen = where < 0;

        for (unsigned j = 0; j < count && !seen; j++) {
            seen = memories[j] == m;
        }
        if (!seen) {
            memories[count++] = m;
        }
    }
    return count;
}

static int64_t room_of(const PlanTrial *t, unsigned memory, PlanRoom room)
{
    const PlanMemory *m = &t->p->host.memories[memory];

    if (!m->known || room == PLAN_ANY) {
        return INT64_MAX;
    }
    return to_mib(room == PLAN_FREE ? m->free : m->total);
}

static int64_t lack(int64_t need, int64_t room)
{
    return need > room ? need - room : 0;
}

bool plan_trial_fits(const PlanTrial *t, const PlanUnit *u,
                     const unsigned *places, unsigned n)
{
    unsigned count;

    if (set_capacity(t, places, n) < u->n_chunks) {
        return false;
    }
    if (!u->binds || !u->size || !t->p->host.n_memories) {
        return true;
    }
    count = set_memories(t, u, places, n);
    for (unsigned i = 0; i < count; i++) {
        if (to_mib(u->size / count) > room_of(t, t->scratch[i], t->room)) {
            return false;
        }
    }
    return count > 0;
}

/* What the first unit with memory there pays for it */
static int64_t cost_of_borrowing(const PlanTrial *t, unsigned memory)
{
    int64_t free = to_mib(t->p->host.memories[memory].free);

    return t->p->wishes.strategy == PINNING_STRATEGY_PACK ? free :
           t->emptiest[memory % t->p->host.n_sizes] - free;
}

static void cost_of_memory(const PlanTrial *t, const PlanUnit *u,
                           const unsigned *places, unsigned n,
                           PlanScore *score)
{
    unsigned count = set_memories(t, u, places, n);

    for (unsigned i = 0; i < count; i++) {
        unsigned m = t->scratch[i];
        int64_t after = t->need[m] + to_mib(u->size / count);
        int64_t room = room_of(t, m, t->room);

        if (u->binds && !u->fixed) {
            score->cost[COST_MEMORY_LACK] += lack(after, room) -
                                             lack(t->need[m], room);
        }
        room = room_of(t, m, PLAN_FREE);
        score->cost[COST_MEMORY_SHORT] += lack(after, room) -
                                          lack(t->need[m], room);
        if (!t->borrowers[m]) {
            score->cost[COST_MEMORY] += cost_of_borrowing(t, m);
        }
    }
}

/* What the first unit on @place pays, whichever it is */
static void cost_of_opening(const PlanTrial *t, unsigned place,
                            PlanScore *score)
{
    const PlanPlace *where = &t->p->host.places[place];
    bool pack = t->p->wishes.strategy == PINNING_STRATEGY_PACK;

    score->cost[COST_NODES]++;
    score->cost[COST_NO_DEVICE] += t->devices && !where->device;
    score->cost[COST_DETOUR] += where->detour;
    score->cost[COST_APART] += t->to_used[place];
    score->cost[COST_LOAD] += pack ? t->busiest - where->load : where->load;
}

void plan_trial_opening(const PlanTrial *t, unsigned place, PlanScore *score)
{
    const PlanHost *h = &t->p->host;
    int where = h->places[place].memory;

    *score = (PlanScore) { };
    cost_of_opening(t, place, score);
    if (where >= 0 && t->page_size >= 0) {
        unsigned m = where * h->n_sizes + t->page_size;

        score->cost[COST_MEMORY] = t->borrowers[m] ? 0 :
                                   cost_of_borrowing(t, m);
    }
}

static void cost_of_place(const PlanTrial *t, const PlanUnit *u,
                          unsigned place, uint64_t share, PlanScore *score)
{
    int64_t room = (int64_t)t->capacity[place] * PLAN_VCPU;
    int64_t before = t->share[place], after = before + share;
    int64_t load = t->load[place];

    if (!u->fixed) {
        score->cost[COST_CPU_LACK] += lack(after, room) - lack(before, room);
    }
    score->cost[COST_CROWD] += DIV_ROUND_UP(lack(after + load, room),
                                            PLAN_VCPU);
    score->cost[COST_SHARED] += t->users[place];
    if (t->users[place]) {
        score->cost[COST_CROWD] -= DIV_ROUND_UP(lack(before + load, room),
                                                PLAN_VCPU);
        return;
    }
    cost_of_opening(t, place, score);
}

void plan_trial_cost(const PlanTrial *t, const PlanUnit *u,
                     const unsigned *places, unsigned n, PlanScore *score)
{
    const PlanHost *h = &t->p->host;
    uint64_t sum = set_capacity(t, places, n);

    *score = t->score;
    cost_of_memory(t, u, places, n, score);
    for (unsigned i = 0; i < n; i++) {
        cost_of_place(t, u, places[i],
                      share_of(t, u, places[i], sum, n), score);
        for (unsigned j = 0; j < i; j++) {
            uint32_t d = h->distance[places[i] * h->n_places + places[j]];

            score->cost[COST_INNER] += d;
            if (!t->users[places[i]] && !t->users[places[j]]) {
                score->cost[COST_APART] += d;
            }
        }
    }
}

static void trial_change(PlanTrial *t, const PlanUnit *u,
                         const unsigned *places, unsigned n, int sign)
{
    const PlanHost *h = &t->p->host;
    unsigned count = set_memories(t, u, places, n);
    uint64_t sum = set_capacity(t, places, n);

    for (unsigned i = 0; i < count; i++) {
        t->need[t->scratch[i]] += sign * to_mib(u->size / count);
        t->borrowers[t->scratch[i]] += sign;
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned place = places[i], before = t->users[place];

        t->share[place] += sign * share_of(t, u, place, sum, n);
        t->users[place] += sign;
        if (!before || !t->users[place]) {
            for (unsigned j = 0; j < h->n_places; j++) {
                t->to_used[j] += sign *
                                 h->distance[place * h->n_places + j];
            }
        }
    }
}

void plan_trial_add(PlanTrial *t, const PlanUnit *u,
                    const unsigned *places, unsigned n)
{
    PlanScore after;

    plan_trial_cost(t, u, places, n, &after);
    g_array_append_val(t->before, t->score);
    trial_change(t, u, places, n, 1);
    t->score = after;
}

/* Only what was added last can be removed */
void plan_trial_remove(PlanTrial *t, const PlanUnit *u,
                       const unsigned *places, unsigned n)
{
    unsigned last = t->before->len - 1;

    t->score = g_array_index(t->before, PlanScore, last);
    g_array_set_size(t->before, last);
    trial_change(t, u, places, n, -1);
}

/*
 * The policy, part one: what is more important than what.
 *
 * That the machine fits comes first.  Then balanced wants few host nodes,
 * and guest nodes share one rather than open another; the other modes want
 * a host node for each guest node, since that is what guest nodes are for.
 * Being crowded by others costs more than a distance, as it costs whole
 * CPUs.  A device is attached where it is; memory can be made up for by the
 * next criterion only among nodes that are equally near.
 */
static const PlanCost order_few[] = {
    COST_CPU_LACK, COST_MEMORY_LACK, COST_NODES, COST_MEMORY_SHORT,
    COST_CROWD, COST_NO_DEVICE, COST_DETOUR, COST_INNER, COST_APART,
    COST_SHARED, COST_MEMORY, COST_LOAD,
};

static const PlanCost order_own[] = {
    COST_CPU_LACK, COST_MEMORY_LACK, COST_SHARED, COST_NODES,
    COST_MEMORY_SHORT, COST_CROWD, COST_NO_DEVICE, COST_DETOUR, COST_INNER,
    COST_APART, COST_MEMORY, COST_LOAD,
};

QEMU_BUILD_BUG_ON(ARRAY_SIZE(order_few) != COST__MAX);
QEMU_BUILD_BUG_ON(ARRAY_SIZE(order_own) != COST__MAX);

const PlanCost *plan_cost_order(const Planner *p)
{
    return p->wishes.mode == PINNING_MODE_BALANCED || p->req->one_thread
           ? order_few : order_own;
}

int plan_score_compare(const Planner *p, const PlanScore *a,
                       const PlanScore *b)
{
    const PlanCost *order = plan_cost_order(p);

    for (unsigned i = 0; i < COST__MAX; i++) {
        int64_t x = a->cost[order[i]], y = b->cost[order[i]];

        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return 0;
}
