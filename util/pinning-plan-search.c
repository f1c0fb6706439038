/*
 * Choosing where a virtual machine goes: the best assignment
 *
 * Every unit has candidates, sets of places that are enough for it alone.
 * An assignment picks one for each unit.
 *
 * Up to PLAN_EXACT_PLACES the candidates are all smallest sets that are
 * enough, and the search is a branch and bound over all assignments: it
 * starts from a good one, takes the closest sets first, and leaves a branch
 * when the costs so far, plus what the missing units cost at least, are not
 * below the best.  Units that
 * are alike are kept in ascending order of their candidates, as exchanging
 * them changes nothing.  What is enough for each unit alone may not be
 * enough for all; only then are larger sets candidates too.
 *
 * On larger hosts the candidates are sets that grow from one place to its
 * neighbours, and the good assignment, improved step by step, has to do.
 *
 * The order among units that are alike is settled at the end: neighbouring
 * guest nodes go to neighbouring host nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "pinning-plan-internal.h"

/* Costs computed at most; beyond, the best found so far is taken */
#define SEARCH_STEPS 2000000
#define SEARCH_STEPS_WIDER 200000
/* Costs computed at most for the good assignment */
#define GREEDY_STEPS 40000
/* Places that the good assignment gives beyond the fewest */
#define WIDER_GREEDY 2

typedef struct PlanSet {
    unsigned first;         /* index into Candidates.members */
    unsigned n;
    /* For the exact search only */
    uint32_t mask;          /* of places */
    int64_t inner;          /* what it adds to COST_INNER */
} PlanSet;

QEMU_BUILD_BUG_ON(PLAN_EXACT_PLACES > 32);

typedef struct Candidates {
    GArray *members;        /* of unsigned, places */
    GArray *sets;           /* of PlanSet */
    unsigned smallest;
} Candidates;

typedef struct Search {
    Planner *p;
    PlanTrial *t;
    PlanUnit **units;       /* those to be assigned; alike ones in a row */
    Candidates **cands;     /* one for each unit; alike ones share */
    unsigned n;
    unsigned *choice;
    unsigned *best;
    PlanScore best_score;
    bool found;
    bool own;               /* sharing costs more than opening host nodes */
    unsigned wider;         /* places a set may have beyond the fewest */
    uint32_t nearest;       /* smallest distance between two places */
    uint64_t steps;
    uint64_t limit;
} Search;

static const PlanSet *set_at(const Candidates *c, unsigned i)
{
    return &g_array_index(c->sets, PlanSet, i);
}

static const unsigned *set_places(const Candidates *c, unsigned i,
                                  unsigned *n)
{
    const PlanSet *set = set_at(c, i);

    *n = set->n;
    return &g_array_index(c->members, unsigned, set->first);
}

static Candidates *candidates_new(void)
{
    Candidates *c = g_new0(Candidates, 1);

    c->members = g_array_new(FALSE, FALSE, sizeof(unsigned));
    c->sets = g_array_new(FALSE, FALSE, sizeof(PlanSet));
    return c;
}

static void candidates_free(Candidates *c)
{
    g_array_unref(c->members);
    g_array_unref(c->sets);
    g_free(c);
}

static void candidates_add(Candidates *c, const unsigned *places, unsigned n)
{
    PlanSet set = { .first = c->members->len, .n = n };

    g_array_append_vals(c->members, places, n);
    g_array_append_val(c->sets, set);
    c->smallest = c->sets->len > 1 ? MIN(c->smallest, n) : n;
}

/* The next subset of the same size in ascending order */
static bool next_subset(unsigned *subset, unsigned k, unsigned n)
{
    unsigned i = k;

    while (i && subset[i - 1] == n - k + i - 1) {
        i--;
    }
    if (!i) {
        return false;
    }
    subset[i - 1]++;
    for (; i < k; i++) {
        subset[i] = subset[i - 1] + 1;
    }
    return true;
}

static void all_places(const Planner *p, unsigned *places)
{
    for (unsigned i = 0; i < p->host.n_places; i++) {
        places[i] = i;
    }
}

/* All sets of the smallest size at which any set is enough, or little more */
static void add_subsets(const Search *s, const PlanUnit *u, Candidates *c)
{
    unsigned n = s->p->host.n_places, sum = 0, most = n;
    g_autofree unsigned *subset = g_new(unsigned, n);

    for (unsigned i = 0; i < n; i++) {
        sum += plan_trial_capacity(s->t, i);
    }
    if (sum < u->n_chunks) {
        return;
    }
    for (unsigned k = 1; k <= most; k++) {
        all_places(s->p, subset);
        do {
            if (plan_trial_fits(s->t, u, subset, k)) {
                candidates_add(c, subset, k);
                most = MIN(most, k + s->wider);
            }
        } while (next_subset(subset, k, n));
    }
}

/* The place with the smallest sum in @distance, of those the roomiest */
static unsigned closest_place(const Search *s, const uint64_t *distance)
{
    unsigned best = 0;

    for (unsigned i = 1; i < s->p->host.n_places; i++) {
        if (distance[i] < distance[best] ||
            (distance[i] == distance[best] && distance[i] != UINT64_MAX &&
             plan_trial_capacity(s->t, i) >
             plan_trial_capacity(s->t, best))) {
            best = i;
        }
    }
    return best;
}

/* From each place on, one place after the other that is closest to the set */
static void add_neighbourhoods(const Search *s, const PlanUnit *u,
                               Candidates *c)
{
    const PlanHost *h = &s->p->host;
    unsigned n = h->n_places;
    g_autofree unsigned *set = g_new(unsigned, n);
    g_autofree uint64_t *distance = g_new(uint64_t, n);

    for (unsigned i = 0; i < n; i++) {
        unsigned k = 0, next = i, wider = 0;

        memset(distance, 0, n * sizeof(*distance));
        do {
            set[k++] = next;
            for (unsigned j = 0; j < n; j++) {
                if (distance[j] != UINT64_MAX) {
                    distance[j] += h->distance[next * n + j];
                }
            }
            distance[next] = UINT64_MAX;
            next = closest_place(s, distance);
            if (plan_trial_fits(s->t, u, set, k)) {
                candidates_add(c, set, k);
                wider++;
            }
        } while (k < n && wider <= s->wider);
    }
}

/*
 * A machine of more vCPUs than there are cores wants all of them: by threads
 * it would fit on fewer host nodes, with fewer cores.
 */
static bool add_everything(const Search *s, const PlanUnit *u, Candidates *c)
{
    const Planner *p = s->p;
    g_autofree unsigned *set = g_new(unsigned, p->host.n_places);
    unsigned cores = 0, n = 0;

    for (unsigned i = 0; i < p->host.n_cores; i++) {
        cores += p->host.cores[i].n_cpus >= p->chunk;
    }
    if (s->n > 1 || u->n_chunks <= cores) {
        return false;
    }
    for (unsigned i = 0; i < p->host.n_places; i++) {
        if (plan_trial_capacity(s->t, i)) {
            set[n++] = i;
        }
    }
    if (!n || !plan_trial_fits(s->t, u, set, n)) {
        return false;
    }
    candidates_add(c, set, n);
    return true;
}

static int compare_sets(gconstpointer a, gconstpointer b)
{
    const PlanSet *x = a, *y = b;

    if (x->inner != y->inner) {
        return x->inner < y->inner ? -1 : 1;
    }
    return x->first < y->first ? -1 : x->first > y->first;
}

/* What the exact search wants to know of each set; the closest come first */
static void measure_sets(const Search *s, Candidates *c)
{
    const PlanHost *h = &s->p->host;

    for (unsigned i = 0; i < c->sets->len; i++) {
        PlanSet *set = &g_array_index(c->sets, PlanSet, i);
        const unsigned *places = &g_array_index(c->members, unsigned,
                                                set->first);

        for (unsigned j = 0; j < set->n; j++) {
            set->mask |= 1u << places[j];
            for (unsigned k = 0; k < j; k++) {
                set->inner += h->distance[places[j] * h->n_places +
                                          places[k]];
            }
        }
    }
    g_array_sort(c->sets, compare_sets);
}

static Candidates *find_candidates(const Search *s, const PlanUnit *u)
{
    Candidates *c = candidates_new();
    unsigned n = s->p->host.n_places;
    g_autofree unsigned *all = g_new(unsigned, n);

    if (add_everything(s, u, c)) {
        return c;
    }
    if (n <= PLAN_EXACT_PLACES) {
        add_subsets(s, u, c);
        measure_sets(s, c);
    } else {
        add_neighbourhoods(s, u, c);
    }
    if (!c->sets->len) {
        all_places(s->p, all);
        candidates_add(c, all, n);
    }
    return c;
}

static bool alike(const PlanUnit *a, const PlanUnit *b)
{
    return !a->fixed && !b->fixed && a->n_chunks == b->n_chunks &&
           a->size == b->size && a->binds == b->binds &&
           a->page_size == b->page_size;
}

/* Large ones first: they leave the others least choice */
static int compare_units(const void *a, const void *b)
{
    const PlanUnit *x = *(PlanUnit **)a, *y = *(PlanUnit **)b;

    if (x->n_chunks != y->n_chunks) {
        return x->n_chunks > y->n_chunks ? -1 : 1;
    }
    if (x->size != y->size) {
        return x->size > y->size ? -1 : 1;
    }
    if (x->binds != y->binds) {
        return x->binds ? -1 : 1;
    }
    if (x->page_size != y->page_size) {
        return x->page_size < y->page_size ? -1 : 1;
    }
    return x->guest_node < y->guest_node ? -1 : 1;
}

static void search_init(Search *s, Planner *p, PlanLevel level, PlanRoom room,
                        unsigned wider)
{
    const PlanHost *h = &p->host;

    *s = (Search) {
        .p = p,
        .t = plan_trial_new(p, level, room),
        .units = g_new0(PlanUnit *, p->n_units),
        .cands = g_new0(Candidates *, p->n_units),
        .choice = g_new0(unsigned, p->n_units),
        .best = g_new0(unsigned, p->n_units),
        .own = plan_cost_order(p)[2] == COST_SHARED,
        .nearest = h->n_places > 1 ? UINT32_MAX : 0,
        .wider = wider,
        .limit = wider ? SEARCH_STEPS_WIDER : SEARCH_STEPS,
    };
    for (unsigned i = 0; i < p->n_units; i++) {
        PlanUnit *u = &p->units[i];

        if (u->fixed) {
            plan_trial_add(s->t, u, u->places, u->n_places);
        } else {
            s->units[s->n++] = u;
        }
    }
    qsort(s->units, s->n, sizeof(*s->units), compare_units);
    for (unsigned i = 0; i < s->n; i++) {
        s->cands[i] = i && alike(s->units[i], s->units[i - 1])
                      ? s->cands[i - 1] : find_candidates(s, s->units[i]);
    }
    for (unsigned i = 0; i < h->n_places; i++) {
        for (unsigned j = 0; j < i; j++) {
            s->nearest = MIN(s->nearest, h->distance[i * h->n_places + j]);
        }
    }
}

static void search_clear(Search *s)
{
    for (unsigned i = 0; i < s->n; i++) {
        if (!i || s->cands[i] != s->cands[i - 1]) {
            candidates_free(s->cands[i]);
        }
    }
    plan_trial_free(s->t);
    g_free(s->units);
    g_free(s->cands);
    g_free(s->choice);
    g_free(s->best);
}

static void search_cost(Search *s, unsigned unit, unsigned set,
                        PlanScore *score)
{
    unsigned n;
    const unsigned *places = set_places(s->cands[unit], set, &n);

    s->steps++;
    plan_trial_cost(s->t, s->units[unit], places, n, score);
}

static void search_add(Search *s, unsigned unit, unsigned set)
{
    unsigned n;
    const unsigned *places = set_places(s->cands[unit], set, &n);

    s->choice[unit] = set;
    plan_trial_add(s->t, s->units[unit], places, n);
}

static void search_remove(Search *s, unsigned unit)
{
    unsigned n;
    const unsigned *places = set_places(s->cands[unit], s->choice[unit], &n);

    plan_trial_remove(s->t, s->units[unit], places, n);
}

static bool search_keep(Search *s)
{
    const PlanScore *score = plan_trial_score(s->t);

    if (s->found && plan_score_compare(s->p, score, &s->best_score) >= 0) {
        return false;
    }
    s->found = true;
    s->best_score = *score;
    memcpy(s->best, s->choice, s->n * sizeof(*s->best));
    return true;
}

static unsigned cheapest(Search *s, unsigned unit)
{
    PlanScore best, score;
    unsigned found = 0;

    search_cost(s, unit, 0, &best);
    for (unsigned i = 1; i < s->cands[unit]->sets->len; i++) {
        search_cost(s, unit, i, &score);
        if (plan_score_compare(s->p, &score, &best) < 0) {
            best = score;
            found = i;
        }
    }
    return found;
}

/* The first unit is put somewhere, each other one where it is cheapest */
static void search_from(Search *s, unsigned seed)
{
    for (unsigned i = 0; i < s->n; i++) {
        search_add(s, i, i ? cheapest(s, i) : seed);
    }
    search_keep(s);
    for (unsigned i = s->n; i-- > 0;) {
        search_remove(s, i);
    }
}

static void search_first_fit(Search *s)
{
    for (unsigned i = 0; i < s->n; i++) {
        const PlanScore *now = plan_trial_score(s->t);
        unsigned set = 0;

        for (; set + 1 < s->cands[i]->sets->len; set++) {
            PlanScore score;

            search_cost(s, i, set, &score);
            if (score.cost[COST_CPU_LACK] == now->cost[COST_CPU_LACK] &&
                score.cost[COST_MEMORY_LACK] == now->cost[COST_MEMORY_LACK]) {
                break;
            }
        }
        search_add(s, i, set);
    }
    search_keep(s);
    for (unsigned i = s->n; i-- > 0;) {
        search_remove(s, i);
    }
}

/* Take one unit out of the best assignment and put it where it is cheapest */
static bool improve_unit(Search *s, unsigned unit)
{
    bool better;

    for (unsigned i = 0; i < s->n; i++) {
        if (i != unit) {
            search_add(s, i, s->best[i]);
        }
    }
    search_add(s, unit, cheapest(s, unit));
    better = search_keep(s);
    search_remove(s, unit);
    for (unsigned i = s->n; i-- > 0;) {
        if (i != unit) {
            search_remove(s, i);
        }
    }
    return better;
}

/* Exchange one place of the set of @unit for one outside, if that is better */
static bool exchange_place(Search *s, unsigned unit, const unsigned *places,
                           unsigned n)
{
    g_autofree unsigned *set = g_memdup2(places, n * sizeof(*places));
    PlanScore score;

    for (unsigned i = 0; i < n; i++) {
        for (unsigned place = 0; place < s->p->host.n_places; place++) {
            bool inside = false;

            for (unsigned j = 0; j < n && !inside; j++) {
                inside = places[j] == place;
            }
            set[i] = place;
            if (inside || !plan_trial_fits(s->t, s->units[unit], set, n)) {
                continue;
            }
            s->steps++;
            plan_trial_cost(s->t, s->units[unit], set, n, &score);
            if (plan_score_compare(s->p, &score, &s->best_score) < 0) {
                candidates_add(s->cands[unit], set, n);
                return true;
            }
        }
        set[i] = places[i];
    }
    return false;
}

/* A machine of one unit that needs several places of many */
static void improve_set(Search *s)
{
    const unsigned *places;
    unsigned n;

    for (unsigned round = 0; round < 64; round++) {
        places = set_places(s->cands[0], s->best[0], &n);
        if (n < 2 || (uint64_t)n * n * n * s->p->host.n_places > 10000000 ||
            !exchange_place(s, 0, places, n)) {
            return;
        }
        search_add(s, 0, s->cands[0]->sets->len - 1);
        search_keep(s);
        search_remove(s, 0);
    }
}

static void search_good(Search *s)
{
    unsigned sets = s->cands[0]->sets->len;
    uint64_t each = (uint64_t)s->n * sets;
    unsigned seeds = MAX(1, MIN(sets, GREEDY_STEPS / MAX(each, 1)));
    bool better = true;

    search_first_fit(s);
    search_from(s, cheapest(s, 0));
    for (unsigned i = 0; i < seeds; i++) {
        search_from(s, (uint64_t)i * sets / seeds);
    }
    if (s->n == 1 && s->p->host.n_places > PLAN_EXACT_PLACES) {
        improve_set(s);
    }
    while (better && s->n > 1 && s->steps < 4 * GREEDY_STEPS) {
        better = false;
        for (unsigned i = 0; i < s->n; i++) {
            better |= improve_unit(s, i);
        }
    }
}

/*
 * Pairs that @uses more uses of places add at least: none is used twice
 * while another is used less.
 */
static int64_t fewest_shares(const Search *s, unsigned uses)
{
    unsigned n = s->p->host.n_places;
    int64_t shares = 0;

    for (unsigned level = 0; uses; level++) {
        for (unsigned i = 0; i < n && uses; i++) {
            if (plan_trial_users(s->t, i) <= level) {
                shares += level;
                uses--;
            }
        }
    }
    return shares;
}

/* Sum of the @k smallest of @n values, which are put in another order */
static int64_t sum_of_least(int64_t *values, unsigned n, unsigned k)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < k && i < n; i++) {
        for (unsigned j = i + 1; j < n; j++) {
            if (values[j] < values[i]) {
                int64_t less = values[j];

                values[j] = values[i];
                values[i] = less;
            }
        }
        sum += values[i];
    }
    return sum;
}

/*
 * Distances between @uses of the @n places in @open: known when all of them
 * are taken, else none is smaller than the smallest.
 */
static int64_t apart_at_least(const Search *s, const unsigned *open,
                              unsigned n, unsigned uses)
{
    const PlanHost *h = &s->p->host;
    int64_t sum = 0;

    if (uses < n) {
        return (int64_t)uses * (uses - 1) / 2 * s->nearest;
    }
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < i; j++) {
            sum += h->distance[open[i] * h->n_places + open[j]];
        }
    }
    return sum;
}

/* Raise @score by what taking @uses places that nobody has costs at least */
static void bound_opened(const Search *s, unsigned uses, PlanScore *score)
{
    static const PlanCost costs[] = {
        COST_NODES, COST_NO_DEVICE, COST_DETOUR, COST_APART, COST_MEMORY,
        COST_LOAD,
    };
    int64_t values[ARRAY_SIZE(costs)][PLAN_EXACT_PLACES];
    unsigned open[PLAN_EXACT_PLACES], n = 0;
    PlanScore opening;

    for (unsigned i = 0; i < s->p->host.n_places; i++) {
        if (plan_trial_users(s->t, i)) {
            continue;
        }
        plan_trial_opening(s->t, i, &opening);
        for (unsigned j = 0; j < ARRAY_SIZE(costs); j++) {
            values[j][n] = opening.cost[costs[j]];
        }
        open[n++] = i;
    }
    for (unsigned j = 0; j < ARRAY_SIZE(costs); j++) {
        score->cost[costs[j]] += sum_of_least(values[j], n, uses);
    }
    score->cost[COST_APART] += apart_at_least(s, open, n, uses);
}

/*
 * Raise @score, the costs before unit @from, to what a complete assignment
 * costs at least.  If the missing units must not share to be as good as the
 * best, they open new host nodes.
 */
static void search_bound(const Search *s, unsigned from, PlanScore *score)
{
    int64_t uses = 0, shares;

    for (unsigned i = from; i < s->n; i++) {
        uses += s->cands[i]->smallest;
        score->cost[COST_INNER] += set_at(s->cands[i], 0)->inner;
    }
    if (!s->own) {
        return;
    }
    shares = fewest_shares(s, uses);
    score->cost[COST_SHARED] += shares;
    if (!shares &&
        score->cost[COST_SHARED] == s->best_score.cost[COST_SHARED]) {
        bound_opened(s, uses, score);
    }
}

/*
 * Places that the next unit cannot use if the assignment is to be better
 * than the best: sharing one would make it worse.
 */
static uint32_t closed_places(const Search *s, const PlanScore *score)
{
    const PlanCost *order = plan_cost_order(s->p);
    uint32_t mask = 0;

    for (unsigned i = 0; i < COST__MAX; i++) {
        if (score->cost[order[i]] < s->best_score.cost[order[i]]) {
            return 0;
        }
        if (order[i] == COST_SHARED) {
            break;
        }
    }
    for (unsigned i = 0; i < s->p->host.n_places; i++) {
        mask |= plan_trial_users(s->t, i) ? 1u << i : 0;
    }
    return mask;
}

static void search_all(Search *s, unsigned unit);

/* With the set @set for @unit, if that can lead to something better */
static void search_with(Search *s, unsigned unit, unsigned set)
{
    PlanScore score;

    search_cost(s, unit, set, &score);
    if (plan_score_compare(s->p, &score, &s->best_score) >= 0) {
        return;
    }
    search_add(s, unit, set);
    search_bound(s, unit + 1, &score);
    if (plan_score_compare(s->p, &score, &s->best_score) < 0) {
        if (unit + 1 < s->n) {
            search_all(s, unit + 1);
        } else {
            search_keep(s);
        }
    }
    search_remove(s, unit);
}

static void search_all(Search *s, unsigned unit)
{
    const Candidates *c = s->cands[unit];
    bool again = unit && c == s->cands[unit - 1];
    PlanScore least = *plan_trial_score(s->t);
    int64_t inner;

    search_bound(s, unit, &least);
    inner = least.cost[COST_INNER] - set_at(c, 0)->inner;
    for (unsigned i = again ? s->choice[unit - 1] : 0;
         i < c->sets->len && s->steps < s->limit; i++) {
        const PlanSet *set = set_at(c, i);

        s->steps++;
        least.cost[COST_INNER] = inner + set->inner;
        if (plan_score_compare(s->p, &least, &s->best_score) >= 0) {
            /* Those that follow are no closer */
            break;
        }
        if (!(set->mask & closed_places(s, plan_trial_score(s->t)))) {
            search_with(s, unit, i);
        }
    }
}

static int compare_unsigned(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return (x > y) - (x < y);
}

static void take_places(PlanUnit *u, const Candidates *c, unsigned set)
{
    unsigned n;
    const unsigned *places = set_places(c, set, &n);

    g_free(u->places);
    u->places = g_memdup2(places, n * sizeof(*places));
    u->n_places = n;
    qsort(u->places, n, sizeof(*u->places), compare_unsigned);
}

/* Mean distance between two sets of places, in sixteenths */
static uint64_t set_distance(const PlanHost *h, const PlanUnit *a,
                             const PlanUnit *b)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < a->n_places; i++) {
        for (unsigned j = 0; j < b->n_places; j++) {
            sum += h->distance[a->places[i] * h->n_places + b->places[j]];
        }
    }
    return sum * 16 / (a->n_places * b->n_places);
}

static void swap_places(PlanUnit *a, PlanUnit *b)
{
    unsigned *places = a->places, n = a->n_places;

    a->places = b->places;
    a->n_places = b->n_places;
    b->places = places;
    b->n_places = n;
}

/* Way from guest node to guest node, only around @i and @j */
static uint64_t way_around(const Planner *p, unsigned i, unsigned j)
{
    uint64_t sum = 0;

    for (unsigned k = 0; k + 1 < p->n_units; k++) {
        if (k == i || k + 1 == i || k == j || k + 1 == j) {
            sum += set_distance(&p->host, &p->units[k], &p->units[k + 1]);
        }
    }
    return sum;
}

static int compare_places(const PlanUnit *a, const PlanUnit *b)
{
    for (unsigned i = 0; i < MIN(a->n_places, b->n_places); i++) {
        if (a->places[i] != b->places[i]) {
            return a->places[i] < b->places[i] ? -1 : 1;
        }
    }
    return (a->n_places > b->n_places) - (a->n_places < b->n_places);
}

/* Ascending, so that what follows starts from the same, whatever was found */
static void order_ascending(Planner *p)
{
    for (unsigned i = 1; i < p->n_units; i++) {
        for (unsigned j = 0; j < i; j++) {
            PlanUnit *a = &p->units[j], *b = &p->units[i];

            if (alike(a, b) && compare_places(a, b) > 0) {
                swap_places(a, b);
            }
        }
    }
}

/* Bring next to each unit the closest of the later ones that are like it */
static void order_chain(Planner *p)
{
    for (unsigned i = 0; i + 1 < p->n_units; i++) {
        PlanUnit *next = &p->units[i + 1];
        PlanUnit *found = next;
        uint64_t best = set_distance(&p->host, &p->units[i], next);

        for (unsigned j = i + 2; j < p->n_units; j++) {
            uint64_t d = set_distance(&p->host, &p->units[i], &p->units[j]);

            if (alike(next, &p->units[j]) && d < best) {
                best = d;
                found = &p->units[j];
            }
        }
        if (found != next) {
            swap_places(next, found);
        }
    }
}

static bool order_swaps(Planner *p)
{
    bool better = false;

    for (unsigned i = 0; i < p->n_units; i++) {
        for (unsigned j = i + 1; j < p->n_units; j++) {
            uint64_t before;

            if (!alike(&p->units[i], &p->units[j])) {
                continue;
            }
            before = way_around(p, i, j);
            swap_places(&p->units[i], &p->units[j]);
            if (way_around(p, i, j) < before) {
                better = true;
            } else {
                swap_places(&p->units[i], &p->units[j]);
            }
        }
    }
    return better;
}

static void order_units(Planner *p)
{
    order_ascending(p);
    order_chain(p);
    for (unsigned i = 0; i < 8 && p->n_units <= 32 && order_swaps(p); i++) {
        continue;
    }
}

/* Whether memory of one page size would do if it were not on nodes */
static bool memory_could_fit(const Search *s, unsigned page_size)
{
    const PlanHost *h = &s->p->host;
    uint64_t size = 0, memory = 0;

    for (unsigned i = 0; i < s->n; i++) {
        const PlanUnit *u = s->units[i];

        size += u->binds && u->page_size == page_size ? u->size : 0;
    }
    for (unsigned i = page_size; i < h->n_memories * h->n_sizes;
         i += h->n_sizes) {
        if (!h->memories[i].known) {
            return true;
        }
        memory += h->memories[i].total;
    }
    return size <= memory;
}

/* Whether there is room for all units if it were not divided into nodes */
static bool could_fit(const Search *s, PlanRoom room)
{
    const PlanHost *h = &s->p->host;
    uint64_t chunks = 0, cores = 0;

    for (unsigned i = 0; i < s->n; i++) {
        chunks += s->units[i]->n_chunks;
    }
    for (unsigned i = 0; i < h->n_places; i++) {
        cores += plan_trial_capacity(s->t, i);
    }
    for (unsigned i = 0; i < h->n_sizes; i++) {
        if (room != PLAN_ANY && !memory_could_fit(s, i)) {
            return false;
        }
    }
    return chunks <= cores;
}

static void search_once(Search *s)
{
    search_good(s);
    if (s->p->host.n_places <= PLAN_EXACT_PLACES) {
        s->steps = 0;
        search_all(s, 0);
    }
    for (unsigned i = 0; i < s->n; i++) {
        take_places(s->units[i], s->cands[i], s->best[i]);
    }
    s->p->score = s->best_score;
}

void plan_search(Planner *p, PlanLevel level, PlanRoom room)
{
    unsigned n = p->host.n_places;
    unsigned widest = n <= PLAN_EXACT_PLACES ? n - 1 : WIDER_GREEDY;
    bool again = true;

    for (unsigned wider = 0; wider <= widest && again; wider++) {
        Search s;

        search_init(&s, p, level, room, wider);
        if (s.n) {
            search_once(&s);
        } else {
            p->score = *plan_trial_score(s.t);
        }
        again = s.n > 1 && !plan_is_enough(p) && could_fit(&s, room);
        search_clear(&s);
    }
    order_units(p);
}
