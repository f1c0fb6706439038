/*
 * Threads that do I/O for the guest, and where each of them is
 *
 * Iothreads, and the kernel's vhost workers.  Both have one host CPU each, so
 * that a queue stays where its data is in the cache; which one is counted
 * together with those of other machines, by way of the registry.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_IO_H
#define SOFTMMU_PINNING_IO_H

#include "qemu/cpulist.h"
#include "qapi/qapi-types-pinning.h"

typedef struct IoThread IoThread;

/*
 * Returns: indexes of the vCPUs that the thread serves, which may change
 * while devices come and go; NULL if it serves none in particular.
 */
typedef CpuSet *IoServes(const IoThread *io);

struct IoThread {
    pid_t tid;                  /* 0 until it is born */
    PinningThreadRole role;     /* iothread or vhost */
    bool kernel_thread;         /* and thus no task of this process */
    bool immobile;              /* the host does not let us place it */
    char *device;
    unsigned queue;
    IoServes *serves;
    CpuSet *vcpus;              /* for use by @serves, or NULL */
    int host_cpu;               /* where it should be; -1: nowhere */
    int turn;                   /* host node that had its turn, or -1 */
    bool remote;                /* pinning-io-share sent it away */
    bool exceeded;              /* more than pinning-io-share where it is */
    char *reason;
};

/**
 * pinning_io_add:
 * @role: iothread or vhost
 * @device: what it is of
 * @queue: the first queue that it serves
 * @serves: which vCPUs it serves
 * @vcpus: taken over, for @serves
 *
 * Returns: the thread, owned by this module, without a place until
 * pinning_io_settle().
 */
IoThread *pinning_io_add(PinningThreadRole role, const char *device,
                         unsigned queue, IoServes *serves, CpuSet *vcpus);

/**
 * pinning_io_new:
 * @role, @device, @queue, @serves, @vcpus: as above
 *
 * Chooses a host CPU for a thread that does not exist yet, and records that
 * choice for others to see.
 *
 * Returns: the thread, owned by this module.
 */
IoThread *pinning_io_new(PinningThreadRole role, const char *device,
                         unsigned queue, IoServes *serves, CpuSet *vcpus);

/** pinning_io_drop: the thread that was to be born was not. */
void pinning_io_drop(IoThread *io);

/** pinning_io_place: move a live thread to where it should be. */
void pinning_io_place(IoThread *io);

/**
 * pinning_io_find:
 * @tid: id of a thread
 *
 * Returns: the thread, or NULL if it is none that does I/O.
 */
IoThread *pinning_io_find(pid_t tid);

/** pinning_io_foreach: call @fn for each live thread. */
void pinning_io_foreach(void (*fn)(IoThread *io, void *opaque), void *opaque);

/**
 * pinning_io_near:
 * @vcpus: indexes of vCPUs
 *
 * Returns: I/O CPUs nearest to where the plan has these vCPUs; all if it
 * says nothing of them.
 */
CpuSet *pinning_io_near(const CpuSet *vcpus);

/** pinning_io_forget: forget threads that have ended. */
void pinning_io_forget(void);

/**
 * pinning_io_settle:
 *
 * Forgets threads that have ended, places those that have no place yet, and
 * moves those whose place is not right any more, since there is another plan
 * or they serve other vCPUs.  What somebody else did to their masks is left
 * alone.
 */
void pinning_io_settle(void);

/** pinning_io_reapply: put all threads back to where they should be. */
void pinning_io_reapply(void);

/** pinning_io_load: Returns: what the reservation says, or NULL. */
PinningTakenCpuList *pinning_io_load(void);

/** pinning_io_warning: Returns: what is amiss, to free, or NULL. */
char *pinning_io_warning(void);

#endif /* SOFTMMU_PINNING_IO_H */
