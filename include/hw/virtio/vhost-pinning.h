/*
 * Birth and place of the kernel's vhost workers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_VIRTIO_VHOST_PINNING_H
#define HW_VIRTIO_VHOST_PINNING_H

#include "hw/virtio/vhost.h"

struct IoThread;

typedef enum VhostPinningKind {
    VHOST_PINNING_OTHER,
    VHOST_PINNING_NET,
    VHOST_PINNING_SCSI,
    VHOST_PINNING_VSOCK,
} VhostPinningKind;

/**
 * vhost_pinning_create_worker:
 * @dev: the device whose worker it is; its backend is the kernel's
 * @fd: the device's file
 * @request: VHOST_SET_OWNER or VHOST_NEW_WORKER
 * @arg: argument of @request
 *
 * Issues @request while the calling thread has the worker's mask, which a
 * worker that is a task of this process inherits.  Kernels make workers that
 * are threads of their own as well; these are looked for and moved, which
 * needs CAP_SYS_NICE; without it there is one warning.
 *
 * Returns: what the request returned, with its errno.
 */
int vhost_pinning_create_worker(struct vhost_dev *dev, int fd,
                                unsigned long request, void *arg);

/**
 * vhost_pinning_adopt:
 *
 * Takes over workers that were made while there was no placement.  Which
 * device each is of cannot be found out any more.
 */
void vhost_pinning_adopt(void);

/* Parts of it, for hw/virtio/vhost-pinning*.c */

/** vhost_pinning_kind: Returns: what the file @fd is of. */
VhostPinningKind vhost_pinning_kind(int fd);

/**
 * vhost_pinning_create:
 * @io: whose place was chosen; gets its id, or is dropped
 * @fd: the device's file
 * @request: a request that makes the kernel create a worker
 * @arg: argument of @request
 *
 * Returns: what the request returned, with its errno.
 */
int vhost_pinning_create(struct IoThread *io, int fd, unsigned long request,
                         void *arg);

/**
 * vhost_pinning_scsi_worker:
 * @dev: a vhost-scsi device
 *
 * Returns: its next worker, with a place.
 */
struct IoThread *vhost_pinning_scsi_worker(struct vhost_dev *dev);

/**
 * vhost_pinning_scsi_split:
 * @dev: a vhost-scsi device with its first worker
 * @fd: the device's file
 *
 * Gives each host node whose vCPUs the rings serve a worker, and each ring
 * the worker of its node: not all rings one, which is far from most of them,
 * nor each its own, which is more than there are CPUs.  Where the user wants
 * a worker for each ring, or the kernel has one only, that is left alone.
 */
void vhost_pinning_scsi_split(struct vhost_dev *dev, int fd);

#endif /* HW_VIRTIO_VHOST_PINNING_H */
