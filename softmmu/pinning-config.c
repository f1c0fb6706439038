/*
 * From options and machine to a request
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "system/tcg.h"
#include "pinning-internal.h"

#define SYSFS "/sys/devices/system"

HostTopology *pinning_host_new(const CpuSet *affinity, Error **errp)
{
    if (access(SYSFS, R_OK) < 0) {
        error_setg_errno(errp, errno, "The host cannot be looked at: %s is"
                         " not there, as after -run-with chroot=", SYSFS);
        return NULL;
    }
    return host_topology_new(NULL, affinity, errp);
}

/* Whether anything but the mode is set */
static bool has_details(const PinningOptions *o)
{
    return o->cpus || o->hostnodes || o->has_smt || o->has_cpu_kind ||
           o->has_strategy || o->has_memory || o->emulator_cpus ||
           o->io_cpus || o->has_io_share || o->has_vnuma ||
           o->has_guest_topology || o->has_exclusive || o->has_core_sched ||
           o->registry || o->has_heal;
}

bool pinning_config_check(const PinningOptions *options, MachineState *ms,
                          Error **errp)
{
    ERRP_GUARD();

    if (options->mode == PINNING_MODE_NONE && has_details(options)) {
        error_setg(errp, "pinning-... options need a mode, but pinning is %s",
                   options->has_mode ? "none" : "not given");
        error_append_hint(errp, "Add pinning=balanced, numa, spread or"
                          " one-to-one.\n");
        return false;
    }
    if (options->has_io_share && !options->io_share) {
        error_setg(errp, "Parameter 'pinning-io-share' is 0, but one host CPU"
                   " must carry 1 iothread or vhost worker at least");
        error_append_hint(errp, "Leave it out for any number.\n");
        return false;
    }
    if (options->vnuma && !ms->numa_state) {
        error_setg(errp, "pinning-vnuma=on is not possible: machine type '%s'"
                   " has no guest nodes", MACHINE_GET_CLASS(ms)->name);
        return false;
    }
    return true;
}

void pinning_config_request(PinningRequest *req, MachineState *ms,
                            uint64_t ram_page_size,
                            const PinningOptions *options)
{
    const CpuTopology *smp = &ms->smp;

    *req = (PinningRequest) {
        .options = options,
        .vcpus = smp->max_cpus,
        .sockets = smp->drawers * smp->books * smp->sockets,
        .dies = smp->dies,
        .clusters = smp->clusters * smp->modules,
        .cores = smp->cores,
        .threads = smp->threads,
        .memory = ms->ram_size,
        .page_size = ram_page_size,
        .one_thread = tcg_enabled() && !qemu_tcg_mttcg_enabled(),
    };
}
