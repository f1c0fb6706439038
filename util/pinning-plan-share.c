/*
 * Choosing where a virtual machine goes: vCPUs to the places of their unit
 *
 * A unit on several places is divided in proportion to the room there, in
 * runs of vCPUs, and where that is possible not inside what the guest takes
 * for one cache.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "pinning-plan-internal.h"

typedef struct Sharing {
    Planner *p;
    PlanTrial *room[PLAN_SHARED + 1];
    unsigned *used;         /* by place: chunks put there */
} Sharing;

/* vCPUs that share a last-level cache in the guest, in whole chunks */
unsigned plan_block_chunks(const Planner *p)
{
    const PinningRequest *req = p->req;
    unsigned vcpus = req->llc_vcpus ?: req->clusters * req->cores *
                                       req->threads;

    return MAX(1, vcpus / p->chunk);
}

static unsigned left_at(const Sharing *s, PlanLevel level, unsigned place)
{
    unsigned capacity = plan_trial_capacity(s->room[level], place);

    return capacity > s->used[place] ? capacity - s->used[place] : 0;
}

/* The first level at which the places of @u have room for @n chunks */
static PlanLevel level_for(const Sharing *s, const PlanUnit *u, unsigned n)
{
    for (PlanLevel level = PLAN_OWN_CORES; level < PLAN_SHARED; level++) {
        unsigned sum = 0;

        for (unsigned i = 0; i < u->n_places; i++) {
            sum += left_at(s, level, u->places[i]);
        }
        if (sum >= n) {
            return level;
        }
    }
    return PLAN_SHARED;
}

static unsigned round_to(unsigned n, unsigned block)
{
    return (n + block / 2) / block * block;
}

/*
 * Chunks for place @i of @u when @n are left for it and those after it.
 * What rounding moves must still find room behind, and here, and leave
 * something for everybody: memory is on all places of the unit.
 */
static unsigned quota(const Sharing *s, const PlanUnit *u, PlanLevel level,
                      unsigned i, unsigned n)
{
    unsigned here = left_at(s, level, u->places[i]), most = here;
    unsigned behind = 0, others = 0, block = plan_block_chunks(s->p), q;

    for (unsigned j = i + 1; j < u->n_places; j++) {
        unsigned left = left_at(s, level, u->places[j]);

        behind += left;
        others += left > 0;
        most = MAX(most, left);
    }
    if (!here || !others) {
        return MIN(n, here);
    }
    q = (uint64_t)n * here / (here + behind);
    if (block <= most) {
        q = round_to(q, block);
    }
    q = MIN(MAX(q, 1), n > others ? n - others : 1);
    q = MIN(q, here);
    return n - q > behind ? MIN(n - behind, here) : q;
}

/* The @n next vCPUs' chunks of @u, from @vcpu on, go to @place */
static int put(Sharing *s, const PlanUnit *u, int vcpu, unsigned place,
               unsigned n)
{
    Planner *p = s->p;
    unsigned last = UINT_MAX, count = 0;

    for (; vcpu >= 0; vcpu = cpuset_next(u->vcpus, vcpu)) {
        if (vcpu / p->chunk != last && count++ == n) {
            break;
        }
        last = vcpu / p->chunk;
        p->vcpu_place[vcpu] = place;
    }
    s->used[place] += n;
    return vcpu;
}

/* The place nearest to @u where there is room, -1 if there is none */
static int lender(const Sharing *s, const PlanUnit *u, PlanLevel level)
{
    const PlanHost *h = &s->p->host;
    uint64_t best_distance = UINT64_MAX;
    int best = -1;

    for (unsigned i = 0; i < h->n_places; i++) {
        uint64_t distance = 0;

        for (unsigned j = 0; j < u->n_places; j++) {
            distance += h->distance[i * h->n_places + u->places[j]];
        }
        if (left_at(s, level, i) && distance < best_distance) {
            best = i;
            best_distance = distance;
        }
    }
    return best;
}

static bool refuse_fixed(const Sharing *s, const PlanUnit *u, unsigned left,
                         Error **errp)
{
    ERRP_GUARD();
    g_autofree char *nodes = plan_list_text(u->wish->host_nodes);
    g_autofree char *left_out = plan_left_out_text(s->p);

    error_setg(errp, "Guest node %u needs %u host CPUs of host nodes %s, "
               "%u are usable%s", u->guest_node, u->n_vcpus, nodes,
               u->n_vcpus - MIN(u->n_vcpus, left * s->p->chunk), left_out);
    error_append_hint(errp, "Give it more hostnodes or fewer vCPUs, or use "
                      "pinning=numa.\n");
    return false;
}

/*
 * A unit whose places are full takes host CPUs of the nearest place that has
 * some, and those that others have only if there are no more.  Starting over
 * at the first CPU would put two vCPUs on one.
 */
static bool borrow(Sharing *s, const PlanUnit *u, int vcpu, unsigned n,
                   Error **errp)
{
    unsigned away = 0;

    if (u->fixed) {
        return refuse_fixed(s, u, n, errp);
    }
    for (; n; n--) {
        int place = lender(s, u, PLAN_SIBLINGS);

        if (place < 0) {
            place = lender(s, u, PLAN_SHARED);
        }
        /* plan_size_units() has counted them */
        g_assert(place >= 0);
        away += !plan_unit_has_place(u, place);
        vcpu = put(s, u, vcpu, place, 1);
    }
    if (away) {
        plan_warn(s->p, "the host nodes of guest node %u do not have enough "
                  "host CPUs, %u of its vCPUs are put on others",
                  u->guest_node, away * s->p->chunk);
    }
    return true;
}

static bool share_unit(Sharing *s, const PlanUnit *u, Error **errp)
{
    bool own = s->p->wishes.mode == PINNING_MODE_ONE_TO_ONE;
    PlanLevel level = level_for(s, u, u->n_chunks);
    unsigned left = u->n_chunks;
    int vcpu = cpuset_first(u->vcpus);

    if (s->p->req->one_thread) {
        for (; vcpu >= 0; vcpu = cpuset_next(u->vcpus, vcpu)) {
            s->p->vcpu_place[vcpu] = u->places[0];
        }
        return true;
    }
    if (own && !u->fixed) {
        level = MIN(level, PLAN_SIBLINGS);
    }
    for (unsigned i = 0; i < u->n_places && left; i++) {
        unsigned n = quota(s, u, level, i, left);

        if (n) {
            vcpu = put(s, u, vcpu, u->places[i], n);
            left -= n;
        }
    }
    if (left && own) {
        return borrow(s, u, vcpu, left, errp);
    }
    for (unsigned i = 0; left; i = (i + 1) % u->n_places) {
        vcpu = put(s, u, vcpu, u->places[i], 1);
        left--;
    }
    return true;
}

/*
 * Room is chosen by shares, and handed out in whole vCPUs: a place of which
 * @u got none is not where its memory should be.
 */
static void drop_unused(const Planner *p, PlanUnit *u)
{
    unsigned n = 0;

    if (u->fixed || p->req->one_thread || u->n_chunks < u->n_places) {
        return;
    }
    for (unsigned i = 0; i < u->n_places; i++) {
        bool used = false;

        CPUSET_FOREACH(v, u->vcpus) {
            used |= p->vcpu_place[v] == u->places[i];
        }
        if (used) {
            u->places[n++] = u->places[i];
        }
    }
    u->n_places = n ?: u->n_places;
}

/* Those with least choice first */
static int compare_choice(const void *a, const void *b)
{
    const PlanUnit *x = *(PlanUnit **)a, *y = *(PlanUnit **)b;

    if (x->fixed != y->fixed) {
        return x->fixed ? -1 : 1;
    }
    if (x->n_places != y->n_places) {
        return x->n_places < y->n_places ? -1 : 1;
    }
    return x->guest_node < y->guest_node ? -1 : 1;
}

bool plan_share_places(Planner *p, Error **errp)
{
    Sharing s = { .p = p, .used = g_new0(unsigned, p->host.n_places) };
    g_autofree PlanUnit **order = g_new(PlanUnit *, p->n_units);
    bool ok = true;

    for (PlanLevel level = PLAN_OWN_CORES; level <= PLAN_SHARED; level++) {
        s.room[level] = plan_trial_new(p, level, PLAN_ANY);
    }
    for (unsigned i = 0; i < p->n_units; i++) {
        order[i] = &p->units[i];
    }
    qsort(order, p->n_units, sizeof(*order), compare_choice);
    for (unsigned i = 0; i < p->n_units && ok; i++) {
        ok = share_unit(&s, order[i], errp);
        drop_unused(p, order[i]);
    }
    for (PlanLevel level = PLAN_OWN_CORES; level <= PLAN_SHARED; level++) {
        plan_trial_free(s.room[level]);
    }
    g_free(s.used);
    return ok;
}
