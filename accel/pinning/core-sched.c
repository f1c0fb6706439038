/*
 * Core scheduling cookies of vCPU threads
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sys/prctl.h>
#include <pthread.h>
#include "qapi/error.h"
#include "core-sched.h"

/* Numbers of the kernel's interface, younger than some C libraries */
#define CORE_SCHED              62
#define CORE_SCHED_CREATE       1
#define CORE_SCHED_SHARE_TO     2
#define CORE_SCHED_SHARE_FROM   3
#define SCOPE_THREAD            0

bool core_sched_enter(PinningCoreSched how, pid_t member, Error **errp)
{
    ERRP_GUARD();
    bool share = how == PINNING_CORE_SCHED_VM && member;

    if (how == PINNING_CORE_SCHED_OFF) {
        return true;
    }
    if (prctl(CORE_SCHED, share ? CORE_SCHED_SHARE_FROM : CORE_SCHED_CREATE,
              share ? member : 0, SCOPE_THREAD, 0) == 0) {
        return true;
    }
    error_setg_errno(errp, errno, "pinning-core-sched=%s is not possible",
                     PinningCoreSched_str(how));
    error_append_hint(errp, "It needs Linux 5.14 with CONFIG_SCHED_CORE, and"
                      " a host with SMT.\n");
    return false;
}

typedef struct Sharing {
    pid_t member;
    pid_t other;
    int err;
} Sharing;

static void *share(void *opaque)
{
    Sharing *sharing = opaque;

    if (prctl(CORE_SCHED, CORE_SCHED_SHARE_FROM, sharing->member,
              SCOPE_THREAD, 0) != 0 ||
        prctl(CORE_SCHED, CORE_SCHED_SHARE_TO, sharing->other,
              SCOPE_THREAD, 0) != 0) {
        sharing->err = errno;
    }
    return NULL;
}

bool core_sched_share(pid_t member, pid_t other, Error **errp)
{
    Sharing sharing = { .member = member, .other = other };
    pthread_t thread;

    /*
     * A cookie is passed on by who has it, and cannot be given back, so a
     * thread for that is needed; qemu_thread_create() ends QEMU when there
     * may be no more threads.
     */
    sharing.err = pthread_create(&thread, NULL, share, &sharing);
    if (!sharing.err) {
        pthread_join(thread, NULL);
    }
    if (sharing.err) {
        error_setg_errno(errp, sharing.err, "Cannot give thread %d the core"
                         " scheduling cookie of the vCPUs", (int)other);
        return false;
    }
    return true;
}
