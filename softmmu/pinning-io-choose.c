/*
 * Choosing a host CPU for a thread that does I/O, among those of others
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/timer.h"
#include "pinning-internal.h"
#include "pinning-io-choose.h"

#define RETRY_MS (60 * 1000)

static void add_others(IoBooks *books, const PinningTaken *taken)
{
    PinningTakenCpuList *entry;

    for (entry = taken->io_load; entry; entry = entry->next) {
        const char *list = entry->value->host_cpus;
        g_autoptr(CpuSet) cpus = *list ? cpulist_parse(list, NULL) : NULL;

        if (cpus) {
            CPUSET_FOREACH(host_cpu, cpus) {
                io_load_add(&books->load, host_cpu, entry->value->load);
            }
        }
    }
    books->rotation = taken->rotation;
}

/*
 * A process that was stopped while it chose keeps the lock, and waiting for it
 * takes long: a machine with many queues must not wait for each of them.
 */
static bool lock(PinningRegistry *registry)
{
    static int64_t not_before;
    int64_t now = qemu_clock_get_ms(QEMU_CLOCK_REALTIME);
    Error *err = NULL;

    if (now < not_before) {
        return false;
    }
    if (!pinning_registry_lock(registry, &err)) {
        warn_reportf_err(err, "pinning: others do not see these iothreads and"
                         " vhost workers: ");
        not_before = qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + RETRY_MS;
        return false;
    }
    return true;
}

/* Without a registry others are not seen, which was said when it failed */
void io_books_open(IoBooks *books, const GPtrArray *threads)
{
    PinningRegistry *registry = pinning_state()->registry;
    g_autoptr(PinningTaken) taken = NULL;
    unsigned i;

    *books = (IoBooks) { .threads = threads };
    for (i = 0; i < threads->len; i++) {
        const IoThread *io = threads->pdata[i];

        if (io->host_cpu >= 0) {
            io_load_add(&books->load, io->host_cpu, 1);
        }
    }
    if (registry) {
        /* If what was planned could not be recorded, nothing else can */
        books->locked = pinning_registry_holds(registry) && lock(registry);
        taken = pinning_registry_taken(registry, NULL, NULL);
        if (taken) {
            add_others(books, taken);
        }
    }
}

void io_books_close(IoBooks *books)
{
    const PinningState *state = pinning_state();

    if (books->locked && books->changed) {
        g_autoptr(PinningReservation) entry = pinning_reservation_of(state);

        pinning_registry_record(state->registry, entry, NULL);
    }
    if (books->locked) {
        pinning_registry_unlock(state->registry);
    }
    io_load_clear(&books->load);
}

static CpuSet *cpus_of_vcpus(const CpuSet *vcpus)
{
    CpuSet *cpus = cpuset_new();
    PinningVcpuPlanList *entry = pinning_state()->plan->vcpus;

    for (; entry; entry = entry->next) {
        const PinningVcpuPlan *vcpu = entry->value;

        if (*vcpu->host_cpus && (!vcpus ||
                                 cpuset_contains(vcpus, vcpu->vcpu))) {
            g_autoptr(CpuSet) own = cpulist_parse(vcpu->host_cpus,
                                                  &error_abort);

            cpuset_or(cpus, own);
        }
    }
    return cpus;
}

static CpuSet *io_cpus(void)
{
    return cpulist_parse(pinning_state()->plan->io_cpus, &error_abort);
}

CpuSet *pinning_io_near(const CpuSet *vcpus)
{
    g_autoptr(CpuSet) io = io_cpus();
    g_autoptr(CpuSet) cpus = cpus_of_vcpus(vcpus);

    return io_spread_near(pinning_state()->topo, io, cpus);
}

/* How many vCPUs may be on each host node, by its index in the topology */
static void weigh_nodes(const HostTopology *topo, unsigned *weights)
{
    PinningVcpuPlanList *entry = pinning_state()->plan->vcpus;
    unsigned i;

    for (; entry; entry = entry->next) {
        const char *list = entry->value->host_cpus;
        g_autoptr(CpuSet) cpus = *list ? cpulist_parse(list, &error_abort) :
                                         cpuset_new();

        for (i = 0; i < topo->n_nodes; i++) {
            weights[i] += cpuset_intersects(cpus, topo->nodes[i].cpus);
        }
    }
}

static void count_turns(const GPtrArray *threads, const HostTopology *topo,
                        unsigned *given)
{
    unsigned i, k;

    for (i = 0; i < threads->len; i++) {
        const IoThread *io = threads->pdata[i];

        for (k = 0; io->turn >= 0 && k < topo->n_nodes; k++) {
            given[k] += topo->nodes[k].node == io->turn;
        }
    }
}

/* Host node for a thread that serves nobody in particular; -1: any */
static int take_turn(const IoBooks *books)
{
    const HostTopology *topo = pinning_state()->topo;
    g_autofree unsigned *weights = g_new0(unsigned, topo->n_nodes);
    g_autofree unsigned *given = g_new0(unsigned, topo->n_nodes);
    unsigned i, sum = 0;

    weigh_nodes(topo, weights);
    count_turns(books->threads, topo, given);
    for (i = 0; i < topo->n_nodes; i++) {
        sum += weights[i];
    }
    return sum ? topo->nodes[io_spread_turn(weights, given, topo->n_nodes,
                                            books->rotation)].node : -1;
}

static bool has_vcpus(int host_node)
{
    const HostNode *node = host_topology_node(pinning_state()->topo,
                                              host_node);
    g_autoptr(CpuSet) cpus = cpus_of_vcpus(NULL);

    return node && cpuset_intersects(cpus, node->cpus);
}

/* What @io serves: host CPUs, and in words */
static CpuSet *friends_of(IoThread *io, const IoBooks *books, char **why)
{
    g_autoptr(CpuSet) vcpus = io->serves ? io->serves(io) : NULL;
    const HostNode *node = NULL;
    g_autofree char *list = NULL;

    if (vcpus && !cpuset_is_empty(vcpus)) {
        io->turn = -1;
        list = cpulist_format(vcpus);
        *why = g_strdup_printf("serves vCPU %s", list);
        return cpus_of_vcpus(vcpus);
    }
    if (io->turn < 0 || !has_vcpus(io->turn)) {
        io->turn = -1;
        io->turn = take_turn(books);
    }
    if (io->turn >= 0) {
        node = host_topology_node(pinning_state()->topo, io->turn);
        *why = g_strdup_printf("serves all, turn of host node %d", io->turn);
        return cpuset_copy(node->cpus);
    }
    *why = g_strdup("serves all");
    return cpuset_new();
}

static void set_reason(IoThread *io, const IoChoice *choice, const char *why)
{
    g_autofree char *node = choice->host_node < 0 ? g_strdup("") :
        g_strdup_printf(", host node %d", choice->host_node);

    g_free(io->reason);
    io->reason = g_strdup_printf("%s%s%s", why, node, choice->exceeded ?
        ", more than pinning-io-share on its host CPU" : choice->remote ?
        ", nearest with room for pinning-io-share" : "");
}

bool io_choose(IoThread *io, IoBooks *books)
{
    const PinningState *state = pinning_state();
    g_autofree char *why = NULL;
    g_autoptr(CpuSet) all = io_cpus();
    g_autoptr(CpuSet) friends = friends_of(io, books, &why);
    g_autoptr(CpuSet) near = io_spread_near(state->topo, all, friends);
    unsigned share = state->options->has_io_share ?
                     state->options->io_share : 0;
    int before = io->host_cpu;
    IoChoice choice;

    if (before >= 0) {
        if (cpuset_contains(io->remote ? all : near, before) &&
            (!share || io_load_of(&books->load, before) <= share) &&
            !io->exceeded) {
            return false;
        }
        io_load_del(&books->load, before);
    }
    choice = io_spread_cpu(state->topo, near, all, friends, &books->load,
                           share, books->rotation);
    io->host_cpu = choice.host_cpu;
    io->remote = choice.remote;
    io->exceeded = choice.exceeded;
    io_load_add(&books->load, choice.host_cpu, 1);
    set_reason(io, &choice, why);
    if (io->host_cpu == before) {
        return false;
    }
    books->changed = true;
    return true;
}
