/*
 * Placement under -sandbox resourcecontrol=deny
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sched.h>
#include <seccomp.h>
#include "qemu/config-file.h"
#include "qemu/option.h"
#include "pinning-sandbox.h"

static bool postponed;
static bool closed;

static int denies(void *opaque, QemuOpts *opts, Error **errp)
{
    return qemu_opt_get_bool(opts, "enable", false) &&
           g_strcmp0(qemu_opt_get(opts, "resourcecontrol"), "deny") == 0;
}

static int postpone(void *opaque, QemuOpts *opts, Error **errp)
{
    if (denies(opaque, opts, errp)) {
        postponed = true;
        qemu_opt_set(opts, "resourcecontrol", "allow", &error_abort);
    }
    return 0;
}

void pinning_sandbox_postpone(void)
{
    QemuOptsList *sandbox = qemu_find_opts_err("sandbox", NULL);

    if (sandbox) {
        qemu_opts_foreach(sandbox, postpone, NULL, NULL);
    }
}

bool pinning_sandbox_is_postponed(void)
{
    return postponed;
}

bool pinning_sandbox_forbids(void)
{
    QemuOptsList *sandbox = qemu_find_opts_err("sandbox", NULL);

    /* Without placement QEMU itself has put it up */
    return postponed || (sandbox &&
                         qemu_opts_foreach(sandbox, denies, NULL, NULL));
}

/* What QEMU means by the group: idle priority stays allowed */
static int add_rules(scmp_filter_ctx ctx)
{
    const struct scmp_arg_cmp not_idle = SCMP_A1(SCMP_CMP_NE, SCHED_IDLE);
    const uint32_t deny = SCMP_ACT_ERRNO(EPERM);
    int rc;

    rc = seccomp_rule_add(ctx, deny, SCMP_SYS(setpriority), 0);
    rc = rc ?: seccomp_rule_add(ctx, deny, SCMP_SYS(sched_setparam), 0);
    rc = rc ?: seccomp_rule_add(ctx, deny, SCMP_SYS(sched_setaffinity), 0);
    return rc ?: seccomp_rule_add_array(ctx, deny,
                                        SCMP_SYS(sched_setscheduler), 1,
                                        &not_idle);
}

bool pinning_sandbox_close(Error **errp)
{
    scmp_filter_ctx ctx;
    int rc;

    if (!postponed || closed) {
        return true;
    }
    ctx = seccomp_init(SCMP_ACT_ALLOW);
    if (!ctx) {
        error_setg(errp, "Cannot prepare the filter for -sandbox"
                   " resourcecontrol=deny");
        return false;
    }
    rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
    rc = rc ?: add_rules(ctx);
    rc = rc ?: seccomp_load(ctx);
    seccomp_release(ctx);
    if (rc) {
        error_setg_errno(errp, -rc, "Cannot put up -sandbox"
                         " resourcecontrol=deny");
        return false;
    }
    closed = true;
    return true;
}
