/*
 * Dividing host CPUs evenly into groups
 *
 * The CPUs are cut top down: a node gets its share of the groups, then each
 * cache of the node, then groups are made of whole cores, and only if there
 * are more groups than cores is a core cut.
 *
 * Shares are seldom whole numbers, so at each level somebody gets one group
 * more than others, and some groups end up smaller than others.  Always the
 * same ones, if every caller starts from nothing; then what runs on the
 * smallest groups, those of one CPU, is stacked by all callers on the same
 * CPUs.  So a caller continues where the callers before it stopped: what is
 * left over is dealt out around a ring, and the starting point is the sum of
 * what earlier callers took.  That sum needs no memory between calls.  All
 * earlier callers divided the same CPUs into as many groups, so how many
 * times a ring of n places was hit after t turns of k places each follows
 * from t * k and n; Past carries that number down from level to level.
 *
 * Runs that follow each other around a ring cover its places equally often
 * or once more, never twice more: that is the optimum of the largest count.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/cpu-groups.h"

typedef struct GroupCore {
    unsigned first_cpu;     /* index into Layout.cpus */
    unsigned n_cpus;
} GroupCore;

/* A run of cores: all of them, those of a node, or those of a cache */
typedef struct Domain {
    unsigned first_core;
    unsigned n_cores;
    unsigned n_cpus;
} Domain;

typedef struct Layout {
    GArray *cpus;           /* of const HostCpu *, by node, cache and core */
    GArray *cores;          /* of GroupCore */
    GArray *caches;         /* of Domain */
    GArray *nodes;          /* of Domain */
} Layout;

/* So many earlier callers gave a domain so many groups */
typedef struct Past {
    unsigned groups;
    unsigned times;
} Past;

/* What a domain gets: now, and what it got before */
typedef struct Share {
    unsigned groups;
    GArray *past;           /* of Past */
} Share;

/* The share of one domain while it is being found */
typedef struct Bid {
    unsigned low;           /* fewest groups the domain can be cut into */
    unsigned high;          /* most */
    unsigned groups;
    int64_t unmet;          /* what is missing to the exact quota */
    bool extra;             /* gets one group more in this turn */
    unsigned extras_before; /* how often it did in earlier turns */
} Bid;

/*
 * Without a cache, a cluster is the next best; without both, the cores of a
 * node are not told apart.
 */
static int cache_of(const HostCpu *c)
{
    if (c->llc != HOST_UNKNOWN) {
        return c->llc;
    }
    return c->cluster == HOST_UNKNOWN ? -1 : -2 - c->cluster;
}

static int core_of(const HostCpu *c)
{
    return c->core == HOST_UNKNOWN ? (int)c->cpu : c->core;
}

static int compare_cpus(gconstpointer a, gconstpointer b)
{
    const HostCpu *x = *(const HostCpu **)a;
    const HostCpu *y = *(const HostCpu **)b;

    if (x->node != y->node) {
        return x->node < y->node ? -1 : 1;
    }
    if (cache_of(x) != cache_of(y)) {
        return cache_of(x) < cache_of(y) ? -1 : 1;
    }
    if (core_of(x) != core_of(y)) {
        return core_of(x) < core_of(y) ? -1 : 1;
    }
    return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static void layout_extend(GArray *domains, bool fresh, bool new_core,
                          unsigned core)
{
    Domain *d;

    if (fresh) {
        Domain empty = { .first_core = core };

        g_array_append_val(domains, empty);
    }
    d = &g_array_index(domains, Domain, domains->len - 1);
    d->n_cores += new_core;
    d->n_cpus++;
}

static void layout_add(Layout *l, unsigned i)
{
    const HostCpu *c = g_array_index(l->cpus, const HostCpu *, i);
    const HostCpu *before = i ? g_array_index(l->cpus, const HostCpu *, i - 1)
                              : NULL;
    bool new_node = !before || before->node != c->node;
    bool new_cache = new_node || cache_of(before) != cache_of(c);
    bool new_core = new_cache || core_of(before) != core_of(c);

    if (new_core) {
        GroupCore core = { .first_cpu = i };

        g_array_append_val(l->cores, core);
    }
    g_array_index(l->cores, GroupCore, l->cores->len - 1).n_cpus++;
    layout_extend(l->caches, new_cache, new_core, l->cores->len - 1);
    layout_extend(l->nodes, new_node, new_core, l->cores->len - 1);
}

static void layout_init(Layout *l, const HostTopology *topo,
                        const CpuSet *cpus)
{
    l->cpus = g_array_new(FALSE, FALSE, sizeof(const HostCpu *));
    l->cores = g_array_new(FALSE, TRUE, sizeof(GroupCore));
    l->caches = g_array_new(FALSE, TRUE, sizeof(Domain));
    l->nodes = g_array_new(FALSE, TRUE, sizeof(Domain));

    CPUSET_FOREACH(cpu, cpus) {
        const HostCpu *c = host_topology_cpu(topo, cpu);

        g_assert(c);
        g_array_append_val(l->cpus, c);
    }
    g_array_sort(l->cpus, compare_cpus);
    for (unsigned i = 0; i < l->cpus->len; i++) {
        layout_add(l, i);
    }
}

static void layout_clear(Layout *l)
{
    g_array_unref(l->cpus);
    g_array_unref(l->cores);
    g_array_unref(l->caches);
    g_array_unref(l->nodes);
}

static void share_clear(gpointer p)
{
    Share *share = p;

    g_array_unref(share->past);
}

static GArray *shares_new(unsigned n)
{
    GArray *shares = g_array_sized_new(FALSE, TRUE, sizeof(Share), n);

    g_array_set_clear_func(shares, share_clear);
    g_array_set_size(shares, n);
    for (unsigned i = 0; i < n; i++) {
        g_array_index(shares, Share, i).past =
            g_array_new(FALSE, FALSE, sizeof(Past));
    }
    return shares;
}

static void past_add(Share *share, unsigned groups, unsigned times)
{
    Past past = { .groups = groups, .times = times };

    if (times) {
        g_array_append_val(share->past, past);
    }
}

static unsigned past_times(const Share *share, unsigned groups)
{
    unsigned times = 0;

    for (unsigned i = 0; i < share->past->len; i++) {
        const Past *past = &g_array_index(share->past, Past, i);

        if (past->groups == groups) {
            times += past->times;
        }
    }
    return times;
}

static unsigned bids_sum(const Bid *bids, unsigned n)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < n; i++) {
        sum += bids[i].groups;
    }
    return sum;
}

/* The domain that is furthest above its quota and can give a group back */
static Bid *bids_richest(Bid *bids, unsigned n)
{
    Bid *found = NULL;

    for (unsigned i = 0; i < n; i++) {
        Bid *b = &bids[i];

        if (b->groups > b->low && (!found || b->unmet < found->unmet)) {
            found = b;
        }
    }
    return found;
}

/*
 * Whole groups: the quota rounded down, within the limits of each domain.
 * On return less than one group for each domain is missing.
 */
static void bids_settle(Bid *bids, const Domain *domains, unsigned n,
                        unsigned groups)
{
    uint64_t cpus = 0;

    for (unsigned i = 0; i < n; i++) {
        cpus += domains[i].n_cpus;
    }
    for (unsigned i = 0; i < n; i++) {
        Bid *b = &bids[i];
        int64_t quota = (int64_t)groups * domains[i].n_cpus;

        b->groups = MIN(MAX(quota / cpus, b->low), b->high);
        b->unmet = quota - (int64_t)b->groups * cpus;
    }
    while (bids_sum(bids, n) > groups) {
        Bid *b = bids_richest(bids, n);

        b->groups--;
        b->unmet += cpus;
    }
}

static int compare_bids(gconstpointer a, gconstpointer b)
{
    const Bid *x = *(Bid **)a;
    const Bid *y = *(Bid **)b;

    if (x->unmet != y->unmet) {
        return x->unmet > y->unmet ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

/*
 * The last groups go to those with the largest part of a group missing.
 * Where several miss as much and not all can get one, they take turns.
 */
static void bids_deal(GPtrArray *ring, unsigned missing, unsigned turn)
{
    int64_t edge = ((Bid *)ring->pdata[missing - 1])->unmet;
    unsigned first = 0, end, n, taken, total;

    while (((Bid *)ring->pdata[first])->unmet > edge) {
        first++;
    }
    for (end = first; end < ring->len; end++) {
        if (((Bid *)ring->pdata[end])->unmet != edge) {
            break;
        }
    }
    for (unsigned i = 0; i < first; i++) {
        ((Bid *)ring->pdata[i])->extra = true;
        ((Bid *)ring->pdata[i])->extras_before = turn;
    }
    n = end - first;
    taken = missing - first;
    total = (uint64_t)turn * taken % n;
    for (unsigned i = 0; i < n; i++) {
        Bid *b = ring->pdata[first + i];

        b->extra = (i + n - total) % n < taken;
        b->extras_before = (uint64_t)turn * taken / n + (i < total);
    }
}

static void bids_finish(Bid *bids, unsigned n, unsigned groups, unsigned turn)
{
    g_autoptr(GPtrArray) ring = g_ptr_array_new();

    for (;;) {
        unsigned missing = groups - bids_sum(bids, n);

        g_ptr_array_set_size(ring, 0);
        for (unsigned i = 0; i < n; i++) {
            if (bids[i].groups < bids[i].high) {
                g_ptr_array_add(ring, &bids[i]);
            }
        }
        if (!missing) {
            return;
        }
        g_ptr_array_sort(ring, compare_bids);
        if (missing < ring->len) {
            bids_deal(ring, missing, turn);
            return;
        }
        for (unsigned i = 0; i < ring->len; i++) {
            ((Bid *)ring->pdata[i])->groups++;
        }
    }
}

/* Smallest and largest number of groups that @d can be cut into */
typedef void DomainLimits(const Domain *d, const Domain *all, unsigned groups,
                          Bid *bid);

/* A node takes part with one group at least; a CPU is not cut */
static void node_limits(const Domain *d, const Domain *all, unsigned groups,
                        Bid *bid)
{
    bid->low = 1;
    bid->high = d->n_cpus;
}

/*
 * Groups of one node must not differ by more than one core, so they have
 * either @q or @q + 1 cores.  A cache can only be cut into so many of those.
 */
static void cache_limits(const Domain *d, const Domain *node, unsigned groups,
                         Bid *bid)
{
    unsigned q = node->n_cores / groups;

    if (q == 0) {
        bid->low = d->n_cores;
        bid->high = d->n_cpus;
    } else {
        bid->low = DIV_ROUND_UP(d->n_cores, q + 1);
        bid->high = d->n_cores / q;
    }
}

/* Returns: one bid a domain, or NULL if @groups cannot be cut that way */
static Bid *bids_new(const Domain *domains, unsigned n, const Domain *all,
                     DomainLimits *limits, unsigned groups, unsigned turn)
{
    g_autofree Bid *bids = g_new0(Bid, n);
    uint64_t low = 0, high = 0;

    for (unsigned i = 0; i < n; i++) {
        limits(&domains[i], all, groups, &bids[i]);
        if (bids[i].low > bids[i].high) {
            return NULL;
        }
        low += bids[i].low;
        high += bids[i].high;
    }
    if (groups < low || groups > high) {
        return NULL;
    }
    bids_settle(bids, domains, n, groups);
    bids_finish(bids, n, groups, turn);
    return g_steal_pointer(&bids);
}

/*
 * Returns: the shares of @n @domains in what @all gets, or NULL if its
 * groups cannot respect the borders of the domains
 */
static GArray *divide(const Domain *domains, unsigned n, const Domain *all,
                      DomainLimits *limits, const Share *share)
{
    g_autoptr(GArray) shares = shares_new(n);
    g_autofree Bid *now = bids_new(domains, n, all, limits, share->groups,
                                   past_times(share, share->groups));

    if (!now) {
        return NULL;
    }
    for (unsigned i = 0; i < n; i++) {
        g_array_index(shares, Share, i).groups =
            now[i].groups + now[i].extra;
    }
    for (unsigned p = 0; p < share->past->len; p++) {
        const Past *past = &g_array_index(share->past, Past, p);
        g_autofree Bid *then = bids_new(domains, n, all, limits,
                                        past->groups, past->times);

        for (unsigned i = 0; then && i < n; i++) {
            Share *s = &g_array_index(shares, Share, i);

            past_add(s, then[i].groups, past->times - then[i].extras_before);
            past_add(s, then[i].groups + 1, then[i].extras_before);
        }
    }
    return g_steal_pointer(&shares);
}

/* How many places of its ring of cores a domain deals out in one turn */
static unsigned ring_step(const Domain *d, unsigned groups)
{
    unsigned q = d->n_cores / groups;

    return q ? (groups - d->n_cores % groups) * q : groups % d->n_cores;
}

static unsigned ring_start(const Domain *d, const Share *share)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < share->past->len; i++) {
        const Past *past = &g_array_index(share->past, Past, i);

        sum += (uint64_t)past->times * ring_step(d, past->groups);
    }
    return sum % d->n_cores;
}

static void add_cpus(const Layout *l, CpuSet *group, unsigned first,
                     unsigned n)
{
    for (unsigned i = first; i < first + n; i++) {
        cpuset_add(group, g_array_index(l->cpus, const HostCpu *, i)->cpu);
    }
}

/*
 * Groups of whole cores.  The smaller ones come first on the ring, from
 * @start, so that the next caller's smaller ones follow them.
 */
static void join_cores(const Layout *l, const Domain *d, unsigned groups,
                       unsigned start, GPtrArray *out)
{
    unsigned q = d->n_cores / groups;
    unsigned small = groups - d->n_cores % groups;
    g_autofree CpuSet **owner = g_new0(CpuSet *, d->n_cores);
    unsigned pos = start;
    CpuSet *last = NULL;

    for (unsigned i = 0; i < groups; i++) {
        CpuSet *group = cpuset_new();

        for (unsigned n = i < small ? q : q + 1; n; n--) {
            const GroupCore *core = &g_array_index(l->cores, GroupCore,
                                                   d->first_core + pos);

            add_cpus(l, group, core->first_cpu, core->n_cpus);
            owner[pos] = group;
            pos = (pos + 1) % d->n_cores;
        }
    }
    /* The group across the end of the ring is listed by its lower part */
    for (unsigned i = 0; i < d->n_cores; i++) {
        if (owner[i] != last && (i == 0 || owner[i] != owner[0])) {
            g_ptr_array_add(out, owner[i]);
        }
        last = owner[i];
    }
}

/*
 * How many groups each core is cut into.  Every round cuts the cores that
 * can be cut once more; the last one, in which not all are, goes around the
 * ring of those.
 */
static unsigned *cuts_new(const Layout *l, const Domain *d, unsigned groups,
                          unsigned start)
{
    unsigned *cuts = g_new0(unsigned, d->n_cores);
    unsigned left = groups;

    for (unsigned round = 0; left; round++) {
        unsigned able = 0, seen = 0;

        for (unsigned i = 0; i < d->n_cores; i++) {
            able += g_array_index(l->cores, GroupCore,
                                  d->first_core + i).n_cpus > round;
        }
        for (unsigned i = 0; i < d->n_cores; i++) {
            if (g_array_index(l->cores, GroupCore,
                              d->first_core + i).n_cpus > round) {
                cuts[i] += left >= able ||
                           (seen + able - start % able) % able < left;
                seen++;
            }
        }
        left -= MIN(left, able);
    }
    return cuts;
}

static void cut_cores(const Layout *l, const Domain *d, unsigned groups,
                      unsigned start, GPtrArray *out)
{
    g_autofree unsigned *cuts = cuts_new(l, d, groups, start);

    for (unsigned i = 0; i < d->n_cores; i++) {
        const GroupCore *core = &g_array_index(l->cores, GroupCore,
                                               d->first_core + i);

        for (unsigned j = 0; j < cuts[i]; j++) {
            unsigned from = core->n_cpus * j / cuts[i];
            unsigned to = core->n_cpus * (j + 1) / cuts[i];
            CpuSet *group = cpuset_new();

            add_cpus(l, group, core->first_cpu + from, to - from);
            g_ptr_array_add(out, group);
        }
    }
}

static void divide_cores(const Layout *l, const Domain *d, const Share *share,
                         GPtrArray *out)
{
    unsigned start = ring_start(d, share);

    if (share->groups <= d->n_cores) {
        join_cores(l, d, share->groups, start, out);
    } else {
        cut_cores(l, d, share->groups, start, out);
    }
}

static void divide_node(const Layout *l, const Domain *node,
                        const Share *share, GPtrArray *out)
{
    const Domain *caches = (const Domain *)l->caches->data;
    g_autoptr(GArray) shares = NULL;
    unsigned first = 0, n = 0;

    while (caches[first].first_core < node->first_core) {
        first++;
    }
    while (first + n < l->caches->len &&
           caches[first + n].first_core < node->first_core + node->n_cores) {
        n++;
    }
    shares = divide(caches + first, n, node, cache_limits, share);
    if (!shares) {
        divide_cores(l, node, share, out);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        divide_cores(l, &caches[first + i],
                     &g_array_index(shares, Share, i), out);
    }
}

/* More groups than CPUs: one CPU each, and each CPU as often as others */
static void repeat_cpus(const Layout *l, unsigned groups, unsigned offset,
                        GPtrArray *out)
{
    unsigned n = l->cpus->len;
    unsigned rest = groups % n;
    unsigned start = (uint64_t)offset * rest % n;

    for (unsigned i = 0; i < n; i++) {
        unsigned times = groups / n + ((i + n - start) % n < rest);

        for (unsigned j = 0; j < times; j++) {
            CpuSet *group = cpuset_new();

            add_cpus(l, group, i, 1);
            g_ptr_array_add(out, group);
        }
    }
}

GPtrArray *cpu_groups_new(const HostTopology *topo, const CpuSet *cpus,
                          unsigned n_groups, unsigned offset)
{
    GPtrArray *out = g_ptr_array_new_with_free_func(
        (GDestroyNotify)cpuset_free);
    g_autoptr(GArray) all = shares_new(1);
    Share *share = &g_array_index(all, Share, 0);
    Layout l;

    layout_init(&l, topo, cpus);
    g_assert(n_groups && l.cpus->len);
    share->groups = n_groups;
    past_add(share, n_groups, offset);

    if (n_groups > l.cpus->len) {
        repeat_cpus(&l, n_groups, offset, out);
    } else if (n_groups < l.nodes->len) {
        Domain whole = { .n_cores = l.cores->len, .n_cpus = l.cpus->len };

        divide_cores(&l, &whole, share, out);
    } else {
        const Domain *nodes = (const Domain *)l.nodes->data;
        g_autoptr(GArray) shares = divide(nodes, l.nodes->len, NULL,
                                          node_limits, share);

        for (unsigned i = 0; i < l.nodes->len; i++) {
            divide_node(&l, &nodes[i], &g_array_index(shares, Share, i),
                        out);
        }
    }
    layout_clear(&l);
    g_assert(out->len == n_groups);
    return out;
}
