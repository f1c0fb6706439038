/*
 * The story of a placement
 *
 * A machine is placed in four steps.  Early, what the process may use of
 * its host is noted.  When the machine's shape is known, a place is chosen
 * for everything it can ever have, and nothing has been created yet.  Each
 * thread is then created where the plan wants it.  When all is ready, what
 * the host made of it is read back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <linux/vhost.h>
#include <sys/ioctl.h>
#include "qapi/error.h"
#include "qapi/clone-visitor.h"
#include "qapi/qapi-events-pinning.h"
#include "qapi/qapi-visit-pinning.h"
#include "qemu/config-file.h"
#include "qemu/option.h"
#include "qemu/thread-affinity.h"
#include "qobject/qdict.h"
#include "system/hostmem.h"
#include "system/numa.h"
#include "system/pinning.h"
#include "system/pinning-qemu.h"
#include "system/runstate.h"
#include "system/system.h"
#include "hw/virtio/vhost-pinning.h"
#include "accel/pinning/accel-props.h"
#include "accel/pinning/vcpu-thread.h"
#include "pinning-backends.h"
#include "pinning-board.h"
#include "pinning-creators.h"
#include "pinning-drift.h"
#include "pinning-internal.h"
#include "pinning-kind.h"
#include "pinning-memory.h"
#include "pinning-plug.h"
#include "pinning-prealloc.h"
#include "pinning-sandbox.h"
#include "pinning-stats.h"
#include "pinning-threads.h"
#include "pinning-vcpu-plug.h"
#include "trace.h"

static PinningState pinning;

static bool places_threads(void)
{
    return pinning_places_threads(&pinning);
}

/* Mode none, and no memory, either */
static bool holds_nothing(void)
{
    const PinningNodePlanList *node = pinning.plan->nodes;

    while (node && !*node->value->host_nodes) {
        node = node->next;
    }
    return !places_threads() && !node;
}

const PinningState *pinning_state(void)
{
    return &pinning;
}

static void before_accel(MachineState *ms)
{
    const PinningOptions *options = pinning_accel_props_get(ms->accelerator);

    if (options->mode != PINNING_MODE_NONE && !pinning.topo) {
        /* What is wrong with the host is told when the plan is made */
        pinning.topo = host_topology_new(NULL, pinning.affinity, NULL);
    }
    if (pinning.topo) {
        pinning_kind_confine(&pinning, options, ms);
    }
}

void pinning_early_init(QDict *machine_opts, Error **errp)
{
    unsigned n_opts = qdict_size(machine_opts);

    pinning_accel_props_register();
    if (!pinning_accel_props_take_sugar(machine_opts, errp)) {
        return;
    }
    if (qdict_size(machine_opts) != n_opts || pinning_accel_props_used() ||
        pinning_config_wants_memory()) {
        pinning.affinity = thread_affinity_get(0, errp);
        pinning.ram_id = g_strdup(qdict_get_try_str(machine_opts,
                                                    "memory-backend"));
        pinning_sandbox_postpone();
        pinning_accel_props_before_init(before_accel);
    }
}

/* Everything is there: settle the rest, and see what became of it */
static void finish(void)
{
    pinning_prealloc_end();
    if (places_threads()) {
        pinning_threads_settle(pinning.plan);
        pinning_verify(pinning.plan);
        pinning_stats_offer();
        pinning_vcpu_plug_watch();
        pinning_kind_warn(&pinning);
        if (!pinning_sandbox_is_postponed()) {
            pinning_threads_watch();
        }
    }
    pinning_memory_show(pinning.plan);
    pinning_plug_watch(current_machine);
    pinning_drift_watch(holds_nothing() ? NULL : pinning.plan,
                        pinning.options->heal);
    qapi_event_send_pinning_changed(pinning.plan->mode);
}

static VMChangeStateEntry *first_run;

/*
 * The last moment before the guest may run.  With -S a management layer may
 * have had the threads in its hands since they were placed.
 */
static void before_first_run(void *opaque, bool running, RunState state)
{
    if (!running) {
        return;
    }
    g_clear_pointer(&first_run, qemu_del_vm_change_state_handler);
    if (places_threads()) {
        pinning_threads_restore(pinning.plan, pinning.affinity);
    }
    if (places_threads() && pinning_sandbox_is_postponed()) {
        pinning_creators_park(pinning.plan);
    }
    pinning_sandbox_close(&error_fatal);
}

/* -run-with chroot= is about to be acted on */
static bool will_chroot(void)
{
    QemuOpts *opts = qemu_opts_find(qemu_find_opts("run-with"), NULL);

    return opts && qemu_opt_get(opts, "chroot");
}

static void machine_ready(Notifier *notifier, void *data)
{
    if (pinning.plan) {
        finish();
    }
    if (will_chroot()) {
        pinning_registry_seal(pinning.registry);
    }
    first_run = qemu_add_vm_change_state_handler(before_first_run, NULL);
}

static void machine_exit(Notifier *notifier, void *data)
{
    g_clear_pointer(&pinning.registry, pinning_registry_close);
}

static Notifier ready_notifier = { .notify = machine_ready };
static Notifier exit_notifier = { .notify = machine_exit };

/* pinning-guest-topology=host: here counts may change, but no number may */
static bool follow_host(MachineState *ms, Error **errp)
{
    return pinning.options->guest_topology != PINNING_GUEST_TOPOLOGY_HOST ||
           pinning_board_set_topology(ms, pinning.plan->guest_topology, errp);
}

/* What the plan is made from, but for guest nodes */
static bool note_machine(MachineState *ms, const char *mem_path, Error **errp)
{
    const PinningOptions *options = pinning_accel_props_get(ms->accelerator);

    pinning.options = QAPI_CLONE(PinningOptions, options);
    pinning.options->has_mode = true;
    if (!pinning.topo) {
        pinning.topo = host_topology_new(NULL, pinning.affinity, errp);
    }
    if (!pinning.topo) {
        return false;
    }
    pinning_config_request(&pinning.req, ms,
                           pinning_mem_path_page_size(mem_path),
                           pinning.options);
    pinning_config_ram(&pinning.req, pinning.ram_id);
    return true;
}

void pinning_machine_plan(MachineState *ms, const char *mem_path, Error **errp)
{
    const PinningOptions *options = pinning_accel_props_get(ms->accelerator);

    if (!pinning.affinity) {
        return;
    }
    qemu_add_machine_init_done_notifier(&ready_notifier);
    pinning_accel_props_warn_unused(ms->accelerator);
    if (!pinning_config_check(options, ms, errp)) {
        return;
    }
    if (options->mode == PINNING_MODE_NONE && !pinning_config_wants_memory()) {
        return;
    }
    if (note_machine(ms, mem_path, errp) &&
        pinning_config_nodes(&pinning.req, ms, errp) &&
        pinning_choose(&pinning, errp) && follow_host(ms, errp)) {
        qemu_add_exit_notifier(&exit_notifier);
    }
}

bool pinning_bind_backend(HostMemoryBackend *backend, Error **errp)
{
    return !pinning.plan ||
           pinning_memory_bind(&pinning, backend,
                               pinning_is_machine_ram(backend,
                                                      pinning.ram_id),
                               errp);
}

/* set-numa-node has changed the machine since the plan was made */
static void plan_again(MachineState *ms, PinningRequest *req, Error **errp)
{
    g_autoptr(PinningPlan) old = g_steal_pointer(&pinning.plan);

    pinning_request_cleanup(&pinning.req);
    pinning.req = *req;
    *req = (PinningRequest) { };
    if (pinning_choose(&pinning, errp)) {
        pinning_memory_rebind(pinning.plan, &pinning.req, ms->memdev,
                              PINNING_MEMORY_MOVE, errp);
    }
}

/* set-numa-node has hostnodes, where nothing else asked for a plan */
static void plan_late(MachineState *ms, Error **errp)
{
    pinning.affinity = thread_affinity_get(0, errp);
    if (pinning.affinity && note_machine(ms, NULL, errp) &&
        pinning_config_final_nodes(&pinning.req, ms, errp) &&
        pinning_choose(&pinning, errp) &&
        pinning_memory_rebind(pinning.plan, &pinning.req, ms->memdev,
                              PINNING_MEMORY_MOVE, errp)) {
        qemu_add_machine_init_done_notifier(&ready_notifier);
        qemu_add_exit_notifier(&exit_notifier);
    }
}

void pinning_board_init(MachineState *ms, Error **errp)
{
    g_auto(PinningRequest) req = pinning.req;

    req.nodes = NULL;
    req.n_nodes = 0;
    req.ram = NULL;
    if (!ms->numa_state) {
        return;
    }
    if (!pinning.plan) {
        if (pinning_config_wants_memory()) {
            plan_late(ms, errp);
        }
    } else if (!pinning_config_final_nodes(&req, ms, errp)) {
        return;
    } else if (!pinning_config_same_nodes(&req, &pinning.req)) {
        plan_again(ms, &req, errp);
    } else if (!req.n_nodes && pinning.options->vnuma) {
        pinning_board_add_nodes(ms, pinning.plan, pinning.topo, errp);
    }
}

void pinning_create_vcpu_thread(CPUState *cpu, void (*create)(CPUState *cpu))
{
    const PinningVcpuPlan *place = places_threads() ?
        pinning_wanted_cpus(pinning.plan, cpu->cpu_index) : NULL;

    if (place) {
        trace_pinning_create_vcpu(cpu->cpu_index, place->host_cpus,
                                  place->reason);
        vcpu_thread_create(cpu, create, place, pinning.options->core_sched);
    } else {
        create(cpu);
    }
}

void pinning_state_replace(PinningState *next)
{
    bool first = !pinning.plan, placed = places_threads();

    pinning_drift_watch(NULL, false);
    qapi_free_PinningPlan(pinning.plan);
    qapi_free_PinningOptions(pinning.options);
    host_topology_free(pinning.topo);
    pinning_request_cleanup(&pinning.req);
    cpuset_free(pinning.affinity);
    if (pinning.registry != next->registry) {
        pinning_registry_close(pinning.registry);
    }
    next->ram_id = pinning.ram_id;
    pinning = *next;
    pinning.req.options = pinning.options;
    if (first) {
        qemu_add_exit_notifier(&exit_notifier);
    }
    if (holds_nothing()) {
        g_clear_pointer(&pinning.registry, pinning_registry_close);
    }
    /* At start there is no device, and to look at all of /proc takes time */
    if (!placed && places_threads() && phase_check(PHASE_MACHINE_READY)) {
        vhost_pinning_adopt();
    }
    finish();
}

int pinning_vhost_ioctl(struct vhost_dev *dev, int fd, unsigned long request,
                        void *arg)
{
    if (places_threads() &&
        (request == VHOST_SET_OWNER || request == VHOST_NEW_WORKER)) {
        return vhost_pinning_create_worker(dev, fd, request, arg);
    }
    return ioctl(fd, request, arg);
}
