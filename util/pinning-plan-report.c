/*
 * Choosing where a virtual machine goes: the plan as QAPI has it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "pinning-plan-internal.h"

static unsigned *unit_of_vcpu(const Planner *p)
{
    unsigned *unit = g_new0(unsigned, p->req->vcpus);

    for (unsigned i = 0; i < p->n_units; i++) {
        CPUSET_FOREACH(v, p->units[i].vcpus) {
            if (v < p->req->vcpus) {
                unit[v] = p->units[i].guest_node;
            }
        }
    }
    return unit;
}

static PinningVcpuPlanList *report_vcpus(const Planner *p)
{
    PinningVcpuPlanList *list = NULL, **tail = &list;
    g_autofree unsigned *unit = unit_of_vcpu(p);
    g_autofree char *text = NULL;
    const CpuSet *last = NULL;

    for (unsigned v = 0; v < p->req->vcpus; v++) {
        PinningVcpuPlan *vcpu = g_new0(PinningVcpuPlan, 1);

        /* many vCPUs in a row have the same set on large hosts */
        if (p->vcpu_cpus[v] != last) {
            last = p->vcpu_cpus[v];
            g_free(text);
            text = cpulist_format(last);
        }
        vcpu->vcpu = v;
        vcpu->host_cpus = g_strdup(text);
        vcpu->has_guest_node = p->guest_nodes;
        vcpu->guest_node = unit[v];
        vcpu->reason = g_strdup(p->vcpu_reason[v]);
        QAPI_LIST_APPEND(tail, vcpu);
    }
    return list;
}

static PinningNodePlanList *report_nodes(const Planner *p)
{
    PinningNodePlanList *list = NULL, **tail = &list;

    for (unsigned i = 0; i < p->n_units; i++) {
        const PlanUnit *u = &p->units[i];
        PinningNodePlan *node = g_new0(PinningNodePlan, 1);

        node->guest_node = u->guest_node;
        node->host_nodes = cpulist_format(u->memory_nodes);
        node->policy = u->policy;
        node->size = u->size;
        node->reason = g_strdup_printf("%s%s", u->reason ?: "not placed",
                                       u->memory_reason);
        QAPI_LIST_APPEND(tail, node);
    }
    return list;
}

PinningPlan *plan_report(const Planner *p)
{
    PinningPlan *plan = g_new0(PinningPlan, 1);
    strList **tail = &plan->warnings;

    plan->mode = p->wishes.mode;
    plan->vcpus = report_vcpus(p);
    plan->nodes = report_nodes(p);
    plan->emulator_cpus = cpulist_format(p->emulator_cpus);
    plan->io_cpus = cpulist_format(p->io_cpus);
    plan->parked_cpus = cpulist_format(p->parked);
    plan->guest_topology = g_memdup2(&p->guest, sizeof(p->guest));
    for (unsigned i = 0; i < p->warnings->len; i++) {
        QAPI_LIST_APPEND(tail, g_strdup(p->warnings->pdata[i]));
    }
    return plan;
}
