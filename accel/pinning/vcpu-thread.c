/*
 * Creating vCPU threads on their host CPUs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cpulist.h"
#include "qemu/error-report.h"
#include "qemu/placed-thread.h"
#include "system/pinning-qemu.h"
#include "softmmu/pinning-creators.h"
#include "core-sched.h"
#include "vcpu-thread.h"

typedef struct Creation {
    CPUState *cpu;
    void (*create)(CPUState *cpu);
    PinningCoreSched core_sched;
    bool created;
    Error *err;
} Creation;

/* On the thread that has the place of the vCPU */
static void create_here(void *opaque)
{
    Creation *creation = opaque;
    pid_t member = first_cpu == creation->cpu ? 0 : first_cpu->thread_id;

    if (core_sched_enter(creation->core_sched, member, &creation->err)) {
        creation->create(creation->cpu);
        creation->created = true;
    }
}

static void report_refused(const CPUState *cpu, Error *err)
{
    error_prepend(&err, "vCPU %d: ", cpu->cpu_index);
    if (phase_check(PHASE_MACHINE_READY)) {
        warn_report_err(err);
    } else {
        error_report_err(err);
        exit(EXIT_FAILURE);
    }
}

static void create_placed(Creation *creation, const PinningVcpuPlan *place)
{
    g_autoptr(CpuSet) host_cpus = cpulist_parse(place->host_cpus,
                                                &error_abort);
    g_autoptr(PlacedThread) thread = placed_thread_new(host_cpus,
                                                       &creation->err);

    if (thread) {
        placed_thread_run(thread, create_here, creation);
    }
}

void vcpu_thread_create(CPUState *cpu, void (*create)(CPUState *cpu),
                        const PinningVcpuPlan *place,
                        PinningCoreSched core_sched)
{
    Creation creation = { cpu, create, core_sched };
    PlacedThread *thread = pinning_creator(place->host_cpus);

    if (thread) {
        placed_thread_run(thread, create_here, &creation);
    } else {
        create_placed(&creation, place);
    }
    if (!creation.created) {
        report_refused(cpu, creation.err);
        create(cpu);
    }
}
