/*
 * The planner's promises, on random hosts with random wishes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-pinning.h"
#include "qapi/qobject-output-visitor.h"
#include "qobject/qjson.h"
#include "qobject/qobject.h"
#include "pinning-plan-harness.h"

#define ROUNDS 1500

/* A random host, a random machine, and what is known of both */
typedef struct World {
    HostTopology *topo;
    Machine machine;
    PinningMode mode;
    CpuSet *named;          /* pinning-cpus, or NULL */
    CpuSet *theirs;         /* exclusive or parked CPUs of others */
    CpuSet *held;           /* with whole vCPUs of others */
    unsigned guest_nodes;
    unsigned smt;           /* of PinningSmt */
    GString *options, *taken, *nodes;
} World;

static CpuSet *random_subset(GRand *rand, const CpuSet *set, double chance)
{
    CpuSet *subset = cpuset_new();

    CPUSET_FOREACH(n, set) {
        if (g_rand_double(rand) < chance) {
            cpuset_add(subset, n);
        }
    }
    return subset;
}

static void random_host(World *w, GRand *rand)
{
    HostSpec spec = {
        .packages = g_rand_int_range(rand, 1, 4),
        .nodes = g_rand_int_range(rand, 1, 4),
        .llcs = g_rand_int_range(rand, 1, 4),
        .cores = g_rand_int_range(rand, 1, 5),
        .threads = g_rand_int_range(rand, 1, 3),
        .siblings_apart = g_rand_boolean(rand),
    };
    HostTopology *topo = w->topo = host_build(&spec);

    for (unsigned i = 0; i < topo->n_nodes; i++) {
        if (g_rand_int_range(rand, 0, 5) == 0) {
            host_memory(topo, i, 0, 0);
        } else {
            host_memory(topo, i, 16 * GiB,
                        g_rand_int_range(rand, 1, 17) * GiB);
        }
    }
    if (topo->n_cpus > 2 && g_rand_int_range(rand, 0, 4) == 0) {
        g_autoptr(CpuSet) gone = random_subset(rand, topo->online, 0.2);
        g_autofree char *text = NULL;

        cpuset_del(gone, 0);
        text = cpulist_format(gone);
        host_offline(topo, text);
    }
    if (topo->n_cpus > 2 && g_rand_int_range(rand, 0, 4) == 0) {
        g_autoptr(CpuSet) isolated = random_subset(rand, topo->online, 0.2);
        g_autofree char *text = NULL;

        cpuset_del(isolated, 0);
        text = cpulist_format(isolated);
        host_isolate(topo, text);
    }
}

static void random_options(World *w, GRand *rand)
{
    w->mode = g_rand_int_range(rand, PINNING_MODE_BALANCED,
                               PINNING_MODE__MAX);
    w->options = g_string_new(PinningMode_str(w->mode));
    w->smt = PINNING_SMT_PREFER;
    if (g_rand_int_range(rand, 0, 4) == 0) {
        w->smt = g_rand_int_range(rand, 0, PINNING_SMT__MAX);
        g_string_append_printf(w->options, ",smt=%s", PinningSmt_str(w->smt));
    }
    if (g_rand_int_range(rand, 0, 4) == 0) {
        g_string_append(w->options, ",strategy=pack");
    }
    if (g_rand_int_range(rand, 0, 3) == 0) {
        g_autofree char *text = NULL;
        g_auto(GStrv) parts = NULL;
        g_autofree char *doubled = NULL;

        w->named = random_subset(rand, w->topo->allowed_cpus, 0.7);
        if (w->mode != PINNING_MODE_ONE_TO_ONE) {
            cpuset_andnot(w->named, w->topo->isolated);
        }
        cpuset_add(w->named, 0);
        text = cpulist_format(w->named);
        parts = g_strsplit(text, ",", 0);
        doubled = g_strjoinv(",,", parts);
        g_string_append_printf(w->options, ",cpus=%s", doubled);
    }
}

static void random_others(World *w, GRand *rand)
{
    g_autofree char *held = NULL;
    g_autofree char *theirs = NULL;
    bool busy = g_rand_boolean(rand);

    w->held = random_subset(rand, w->topo->online, busy ? 0.3 : 0);
    w->theirs = random_subset(rand, w->topo->online, busy ? 0.1 : 0);
    cpuset_andnot(w->held, w->theirs);
    held = cpulist_format(w->held);
    theirs = cpulist_format(w->theirs);
    w->taken = g_string_new("{ 'rotation': 3");
    if (*theirs) {
        g_string_append_printf(w->taken, ", 'exclusive-cpus': '%s'", theirs);
    }
    if (*held) {
        g_string_append_printf(w->taken, ", 'cpus': [{ 'host-cpus': '%s', "
                               "'load': 1000 }]", held);
    }
    g_string_append(w->taken, " }");
}

static void random_machine(World *w, GRand *rand)
{
    unsigned threads = g_rand_int_range(rand, 1, 3);
    unsigned sockets = g_rand_int_range(rand, 1, 4);
    unsigned vcpus = threads * sockets * g_rand_int_range(rand, 1, 5);

    w->nodes = g_string_new("");
    if (g_rand_boolean(rand)) {
        w->guest_nodes = sockets;
        for (unsigned i = 0; i < sockets; i++) {
            g_string_append_printf(w->nodes, "%s%u %u-%u", i ? ";" : "",
                                   1024 * g_rand_int_range(rand, 1, 5),
                                   vcpus / sockets * i,
                                   vcpus / sockets * (i + 1) - 1);
        }
    }
    w->machine = (Machine) {
        .options = w->options->str,
        .vcpus = vcpus,
        .sockets = sockets,
        .threads = threads,
        .memory = w->guest_nodes ? 0
                  : g_rand_int_range(rand, 1, 40) * 512 * MiB,
        .nodes = w->guest_nodes ? w->nodes->str : NULL,
        .taken = w->taken->str,
    };
}

static void world_clear(World *w)
{
    host_topology_free(w->topo);
    cpuset_free(w->named);
    cpuset_free(w->theirs);
    cpuset_free(w->held);
    g_string_free(w->options, TRUE);
    g_string_free(w->taken, TRUE);
    g_string_free(w->nodes, TRUE);
}

static CpuSet *bound_of(const World *w)
{
    CpuSet *bound = cpuset_copy(w->topo->allowed_cpus);

    if (w->named) {
        cpuset_and(bound, w->named);
    } else {
        cpuset_andnot(bound, w->topo->isolated);
    }
    return bound;
}

static unsigned count_cores(const World *w, const CpuSet *cpus)
{
    g_autoptr(CpuSet) cores = cpuset_new();

    CPUSET_FOREACH(cpu, cpus) {
        cpuset_add(cores, host_topology_cpu(w->topo, cpu)->core);
    }
    return cpuset_count(cores);
}

/* Never outside of what is allowed, never on what is somebody's alone */
static void check_bounds(const World *w, const PinningPlan *plan,
                         const CpuSet *all)
{
    g_autoptr(CpuSet) bound = bound_of(w);
    g_autoptr(CpuSet) emulator = host_set(plan->emulator_cpus);
    g_autoptr(CpuSet) io = host_set(plan->io_cpus);
    g_autoptr(CpuSet) parked = host_set(plan->parked_cpus);

    g_assert_true(cpuset_is_subset(all, bound));
    g_assert_false(cpuset_intersects(all, w->theirs));
    g_assert_false(cpuset_intersects(all, parked));
    g_assert_false(cpuset_is_empty(emulator));
    g_assert_false(cpuset_is_empty(io));
    g_assert_true(cpuset_is_subset(emulator, w->topo->allowed_cpus));
    g_assert_true(cpuset_is_subset(io, w->topo->allowed_cpus));
    if (!plan_warns(plan, "helper threads")) {
        g_assert_false(cpuset_intersects(emulator, w->theirs));
        g_assert_false(cpuset_intersects(emulator, parked));
        g_assert_false(cpuset_intersects(emulator, w->topo->isolated));
        g_assert_true(cpuset_is_subset(emulator, bound));
        if (w->mode == PINNING_MODE_ONE_TO_ONE) {
            g_assert_false(cpuset_intersects(emulator, all));
            g_assert_false(cpuset_intersects(io, all));
        }
    }
}

/* Each vCPU one host CPU, each host CPU one vCPU, own cores if they exist */
static void check_one_to_one(const World *w, const PinningPlan *plan,
                             const CpuSet *all)
{
    g_autoptr(CpuSet) open = bound_of(w);
    unsigned vcpus = w->machine.vcpus, threads = w->machine.threads;

    g_assert_cmpuint(cpuset_count(all), ==, vcpus);
    cpuset_andnot(open, w->theirs);
    cpuset_andnot(open, w->held);
    if (cpuset_count(open) >= vcpus && w->smt == PINNING_SMT_PREFER &&
        threads == 1) {
        g_assert_false(cpuset_intersects(all, w->held));
    }
    if (plan_warns(plan, "shared by vCPUs")) {
        g_assert_cmpuint(count_cores(w, all), <, vcpus);
    } else if (threads == 1 && w->smt != PINNING_SMT_REQUIRE) {
        g_assert_cmpuint(count_cores(w, all), ==, vcpus);
    }
    if (w->smt == PINNING_SMT_ISOLATE) {
        g_assert_cmpuint(count_cores(w, all), ==, vcpus);
    }
}

/* The guest's siblings are the host's, all of them or none of them */
static void check_siblings(const World *w, const PinningPlan *plan)
{
    if (w->machine.threads == 1 || w->smt == PINNING_SMT_ISOLATE ||
        plan_warns(plan, "not SMT siblings")) {
        return;
    }
    for (unsigned v = 0; v < w->machine.vcpus; v += 2) {
        g_autoptr(CpuSet) a = plan_cpus(plan, v);
        g_autoptr(CpuSet) b = plan_cpus(plan, v + 1);

        g_assert_cmpint(host_topology_cpu(w->topo, cpuset_first(a))->core,
                        ==,
                        host_topology_cpu(w->topo, cpuset_first(b))->core);
    }
}

static void check_spread(const World *w, const PinningPlan *plan)
{
    g_autoptr(CpuSet) seen = cpuset_new();

    for (unsigned v = 0; v < w->machine.vcpus; v++) {
        g_autoptr(CpuSet) cpus = plan_cpus(plan, v);

        g_assert_false(cpuset_is_empty(cpus));
        if (!plan_warns(plan, "do not find a host CPU of their own")) {
            g_assert_false(cpuset_intersects(seen, cpus));
        }
        cpuset_or(seen, cpus);
    }
}

/* Memory of nodes without CPUs is another tier, and only the last resort */
static bool is_nearest_memory(const World *w, unsigned node, unsigned memory)
{
    for (unsigned i = 0; i < w->topo->n_nodes; i++) {
        if (w->topo->nodes[i].memory &&
            !cpuset_is_empty(w->topo->nodes[i].cpus) &&
            host_topology_distance(w->topo, node, i) <
            host_topology_distance(w->topo, node, memory)) {
            return false;
        }
    }
    return true;
}

/*
 * The memory of a guest node is on the nodes of its vCPUs, or where these
 * have none, on the nearest one
 */
static void check_memory(const World *w, const PinningPlan *plan,
                         const PinningNodePlan *node)
{
    g_autoptr(CpuSet) memory = host_set(node->host_nodes);
    g_autoptr(CpuSet) nodes = cpuset_new();
    unsigned vcpus = 0;

    for (PinningVcpuPlanList *l = plan->vcpus; l; l = l->next) {
        g_autoptr(CpuSet) cpus = host_set(l->value->host_cpus);

        g_assert_cmpint(l->value->has_guest_node, ==, w->guest_nodes > 0);
        if (l->value->guest_node == node->guest_node) {
            vcpus++;
            CPUSET_FOREACH(cpu, cpus) {
                cpuset_add(nodes, host_topology_cpu(w->topo, cpu)->node);
            }
        }
    }
    g_assert_cmpint(cpuset_is_empty(memory), ==,
                    node->policy == HOST_MEM_POLICY_DEFAULT);
    CPUSET_FOREACH(m, memory) {
        /* memory may need more nodes than there are guest cores */
        bool near = plan_warns(plan, "are put on others") ||
                    DIV_ROUND_UP(vcpus, 2) <= cpuset_count(memory);

        g_assert_cmpint(host_topology_node(w->topo, m)->memory, >, 0);
        CPUSET_FOREACH(n, nodes) {
            near |= is_nearest_memory(w, n, m);
        }
        g_assert_true(near);
    }
}

/* In balanced and numa, vCPUs of one guest node move over the same CPUs */
static void check_float(const World *w, const PinningPlan *plan)
{
    for (PinningVcpuPlanList *l = plan->vcpus; l && l->next; l = l->next) {
        const PinningVcpuPlan *a = l->value, *b = l->next->value;

        if (a->guest_node == b->guest_node) {
            g_assert_cmpstr(a->host_cpus, ==, b->host_cpus);
        }
    }
}

static void check_guest(const World *w, const PinningPlan *plan)
{
    const PinningTopologyPlan *g = plan->guest_topology;
    unsigned n = 0;

    g_assert_cmpuint(g->sockets * g->dies * g->cores * g->threads, ==,
                     w->machine.vcpus);
    for (PinningVcpuPlanList *l = plan->vcpus; l; l = l->next) {
        g_assert_cmpuint(l->value->vcpu, ==, n++);
        g_assert_cmpstr(l->value->reason, !=, "");
    }
    g_assert_cmpuint(n, ==, w->machine.vcpus);
}

static char *to_json(PinningPlan *plan)
{
    QObject *obj = NULL;
    Visitor *v = qobject_output_visitor_new(&obj);
    GString *text;

    visit_type_PinningPlan(v, NULL, &plan, &error_abort);
    visit_complete(v, &obj);
    visit_free(v);
    text = qobject_to_json(obj);
    qobject_unref(obj);
    return g_string_free(text, FALSE);
}

static void check_same_again(const World *w, PinningPlan *plan)
{
    g_autoptr(PinningPlan) again = machine_place(w->topo, &w->machine,
                                                 &error_abort);
    g_autofree char *a = to_json(plan);
    g_autofree char *b = to_json(again);

    g_assert_cmpstr(a, ==, b);
}

/* With --verbose, the last world shown is the one that failed */
static void show_world(const World *w, PinningPlan *plan)
{
    g_autofree char *json = to_json(plan);

    if (g_test_verbose()) {
        g_test_message("%u nodes of %u CPUs; %s; %u vCPUs, %u sockets, %u "
                       "threads; nodes %s; taken %s; %s", w->topo->n_nodes,
                       w->topo->n_cpus, w->options->str, w->machine.vcpus,
                       w->machine.sockets, w->machine.threads, w->nodes->str,
                       w->taken->str, json);
    }
}

static void check_plan(const World *w, PinningPlan *plan)
{
    g_autoptr(CpuSet) all = cpuset_new();

    show_world(w, plan);

    for (unsigned v = 0; v < w->machine.vcpus; v++) {
        g_autoptr(CpuSet) cpus = plan_cpus(plan, v);

        cpuset_or(all, cpus);
    }
    check_bounds(w, plan, all);
    check_guest(w, plan);
    check_same_again(w, plan);
    for (PinningNodePlanList *l = plan->nodes; l; l = l->next) {
        check_memory(w, plan, l->value);
    }
    switch (w->mode) {
    case PINNING_MODE_ONE_TO_ONE:
        check_one_to_one(w, plan, all);
        check_siblings(w, plan);
        break;
    case PINNING_MODE_SPREAD:
        check_spread(w, plan);
        break;
    default:
        check_float(w, plan);
    }
}

/* Refused only if the numbers say so */
static void check_refusal(const World *w, const char *message)
{
    g_autoptr(CpuSet) usable = bound_of(w);

    if (w->smt == PINNING_SMT_PREFER) {
        cpuset_andnot(usable, w->theirs);
        if (w->mode == PINNING_MODE_ONE_TO_ONE) {
            g_assert_cmpuint(cpuset_count(usable), <, w->machine.vcpus);
        } else {
            g_assert_true(cpuset_is_empty(usable));
        }
    }
    g_assert_nonnull(strstr(message, " needs "));
    g_assert_nonnull(strstr(message, " usable"));
}

static void test_promises(gconstpointer seed)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(GPOINTER_TO_UINT(seed));
    unsigned plans = 0, refusals = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        World w = { 0 };
        PinningPlan *plan;
        Error *err = NULL;

        random_host(&w, rand);
        random_options(&w, rand);
        random_others(&w, rand);
        random_machine(&w, rand);
        plan = machine_place(w.topo, &w.machine, &err);
        if (plan) {
            check_plan(&w, plan);
            plans++;
        } else {
            check_refusal(&w, error_get_pretty(err));
            error_free(err);
            refusals++;
        }
        qapi_free_PinningPlan(plan);
        world_clear(&w);
    }
    /* both kinds of answer have been seen, so both were checked */
    g_assert_cmpuint(plans, >, ROUNDS / 2);
    g_assert_cmpuint(refusals, >, ROUNDS / 50);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned seed = 1; seed <= 4; seed++) {
        g_autofree char *path = g_strdup_printf("/pinning-plan/promises/%u",
                                                seed);

        g_test_add_data_func(path, GUINT_TO_POINTER(seed), test_promises);
    }
    return g_test_run();
}
