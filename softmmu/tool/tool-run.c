/*
 * qemu-pinning run: another program on host CPUs of its own
 *
 * The program replaces this one, so the entry that was recorded here is held
 * by the program, under the pid that started it, and by what it leaves
 * running; there is no supervisor that could die first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sys/syscall.h>
#include "qapi/error.h"
#include "qemu/cpulist.h"
#include "qemu/error-report.h"
#include "qemu/host-mempolicy.h"
#include "qemu/pinning-registry.h"
#include "qemu/thread-affinity.h"
#include "tool-registry.h"

/* As env(1) and nice(1) have it */
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127

static CpuSet *plan_nodes(const PinningPlan *plan)
{
    g_autoptr(CpuSet) all = cpuset_new();
    PinningNodePlanList *n;

    for (n = plan->nodes; n; n = n->next) {
        g_autoptr(CpuSet) own = NULL;

        if (*n->value->host_nodes) {
            own = cpulist_parse(n->value->host_nodes, &error_abort);
            cpuset_or(all, own);
        }
    }
    return g_steal_pointer(&all);
}

/* The kernel looks at one bit less than it is told */
static bool set_policy(int mode, const CpuSet *nodes)
{
    return syscall(SYS_set_mempolicy, mode, nodes->bits,
                   nodes->nbits + 1) == 0;
}

static bool apply_memory(const PinningPlan *plan, Error **errp)
{
    g_autoptr(CpuSet) nodes = plan_nodes(plan);
    g_autofree char *list = cpulist_format(nodes);
    HostMemPolicy policy;

    if (cpuset_is_empty(nodes)) {
        return true;
    }
    policy = plan->nodes->value->policy;
    if (policy == HOST_MEM_POLICY_DEFAULT ||
        set_policy(host_mempolicy_mode(policy, cpuset_count(nodes)), nodes) ||
        (errno == EINVAL && set_policy(policy, nodes))) {
        return true;
    }
    error_setg_errno(errp, errno, "Cannot set memory policy '%s' on host"
                     " nodes %s", HostMemPolicy_str(policy), list);
    return false;
}

/* CPUs first: what follows is allocated where they are */
static bool apply(const HostTopology *topo, const PinningPlan *plan,
                  Error **errp)
{
    g_autoptr(CpuSet) cpus = pinning_plan_cpus(plan);

    if (cpuset_count(cpus) > 1 && cpuset_intersects(cpus, topo->isolated)) {
        warn_report("some of the host CPUs are isolated: the kernel does not"
                    " balance there, the program has to pin its threads");
    }
    if (!cpuset_equal(cpus, topo->allowed_cpus) &&
        !thread_affinity_set(0, cpus, errp)) {
        return false;
    }
    return apply_memory(plan, errp);
}

/* A poll-mode program wants to know which CPUs are its own */
static void tell_program(const PinningPlan *plan)
{
    g_autoptr(CpuSet) cpus = pinning_plan_cpus(plan);
    g_autoptr(CpuSet) nodes = plan_nodes(plan);
    g_autofree char *cpu_list = cpulist_format(cpus);
    g_autofree char *node_list = cpulist_format(nodes);

    g_setenv("QEMU_PINNING_CPUS", cpu_list, true);
    g_setenv("QEMU_PINNING_NODES", node_list, true);
}

static PinningRegistry *open_registry(const ToolArgs *args, Error **errp)
{
    g_autofree char *dir = NULL;
    PinningRegistry *reg;

    if (!g_strcmp0(args->registry, "off")) {
        return NULL;
    }
    dir = tool_registry_dir(args->registry, args->root, errp);
    reg = dir ? pinning_registry_open(dir, errp) : NULL;
    if (reg && args->root) {
        pinning_registry_set_captured(reg);
    }
    return reg;
}

static const char *name_of(const ToolArgs *args)
{
    const char *slash = strrchr(args->command[0], '/');

    return args->name ?: slash ? slash + 1 : args->command[0];
}

static void report_all(const GPtrArray *warnings, const strList *more)
{
    unsigned i;

    for (i = 0; i < warnings->len; i++) {
        warn_report("%s", (char *)warnings->pdata[i]);
    }
    for (; more; more = more->next) {
        warn_report("%s", more->value);
    }
}

static PinningPlan *choose(const ToolArgs *args, const PinningRequest *req,
                           PinningRegistry **reg, const HostTopology *topo,
                           Error **errp)
{
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
    Error *err = NULL;
    PinningPlan *plan;

    *reg = open_registry(args, &err);
    if (!*reg && req->options->exclusive) {
        if (!err) {
            error_setg(&err, "--exclusive needs a registry, --registry is"
                       " 'off'");
        }
        error_propagate(errp, err);
        return NULL;
    }
    if (err) {
        warn_report("Others do not know what this one uses: %s",
                    error_get_pretty(err));
        error_free(err);
    }
    plan = pinning_registry_choose(*reg, topo, req, name_of(args), NULL,
                                   warnings, errp);
    report_all(warnings, plan ? plan->warnings : NULL);
    return plan;
}

static bool prepare(const ToolArgs *args, PinningRegistry **reg,
                    Error **errp)
{
    g_auto(ToolMachine) machine = { 0 };
    g_autoptr(HostTopology) topo = NULL;
    g_autoptr(PinningPlan) plan = NULL;

    if (!qdict_haskey(args->pinning, "mode")) {
        qdict_put_str(args->pinning, "mode", "one-to-one");
    }
    if (!tool_machine_init(&machine, args, errp)) {
        return false;
    }
    topo = tool_host_new(args, errp);
    plan = topo ? choose(args, &machine.req, reg, topo, errp) : NULL;
    if (!plan || (!args->root && !apply(topo, plan, errp)) ||
        (*reg && !pinning_registry_inherit(*reg, errp))) {
        return false;
    }
    tell_program(plan);
    return true;
}

int tool_run(const ToolArgs *args, Error **errp)
{
    g_autoptr(PinningRegistry) reg = NULL;
    int status;

    if (!prepare(args, &reg, errp)) {
        return TOOL_RUN_FAILED;
    }
    execvp(args->command[0], args->command);
    status = errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
    error_report("Cannot run '%s': %s", args->command[0], strerror(errno));
    return status;
}
