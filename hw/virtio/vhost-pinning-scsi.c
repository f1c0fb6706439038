/*
 * Workers of vhost-scsi: one for each host node
 *
 * The kernel's vhost-scsi is the driver that can have several workers for one
 * device.  A worker shared by the rings of a node is what the shared-worker
 * proposal of 2015 wanted, with the interface of today.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <linux/vhost.h>
#include <sys/ioctl.h>
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/io-spread.h"
#include "system/pinning-qemu.h"
#include "hw/virtio/vhost-pinning.h"
#include "hw/virtio/vhost-scsi-common.h"
#include "softmmu/pinning-internal.h"
#include "softmmu/pinning-io.h"
#include "trace/trace-softmmu.h"

/* The rings for control and events carry no data */
#define DATA_RING VIRTIO_SCSI_VQ_NUM_FIXED

static VHostSCSICommon *common_of(struct vhost_dev *dev)
{
    return container_of(dev, VHostSCSICommon, dev);
}

static unsigned data_queues(const struct vhost_dev *dev)
{
    return dev->nvqs > DATA_RING ? dev->nvqs - DATA_RING : 1;
}

static bool wants_many(struct vhost_dev *dev)
{
    return VIRTIO_SCSI_COMMON(common_of(dev))->conf.worker_per_virtqueue;
}

/* The id that the user gave, or else what tells one device from another */
static const char *name_of(struct vhost_dev *dev)
{
    Object *obj = OBJECT(common_of(dev));
    DeviceState *proxy = (DeviceState *)object_dynamic_cast(obj->parent,
                                                            TYPE_DEVICE);

    return DEVICE(obj)->id ?: proxy && proxy->id ? proxy->id :
           VIRTIO_SCSI_COMMON(obj)->conf.wwpn;
}

static unsigned vcpu_of(const struct vhost_dev *dev, unsigned queue)
{
    return io_spread_vcpu(queue, data_queues(dev),
                          current_machine->smp.cpus);
}

static int node_of(const struct vhost_dev *dev, unsigned queue)
{
    unsigned vcpu = vcpu_of(dev, queue);
    g_autoptr(CpuSet) vcpus = cpuset_new_range(vcpu, vcpu);
    g_autoptr(CpuSet) near = pinning_io_near(vcpus);
    const HostCpu *cpu = host_topology_cpu(pinning_state()->topo,
                                           cpuset_first(near));

    return cpu ? cpu->node : HOST_UNKNOWN;
}

/* The data queues of the host node of @queue */
static CpuSet *queues_beside(const struct vhost_dev *dev, unsigned queue)
{
    CpuSet *queues = cpuset_new();
    int node = node_of(dev, queue);
    unsigned i;

    for (i = 0; i < data_queues(dev); i++) {
        if (node_of(dev, i) == node) {
            cpuset_add(queues, i);
        }
    }
    return queues;
}

static CpuSet *served(const IoThread *io)
{
    return io->vcpus ? cpuset_copy(io->vcpus) : NULL;
}

static IoThread *new_worker(struct vhost_dev *dev, const CpuSet *queues)
{
    CpuSet *vcpus = data_queues(dev) > 1 ? cpuset_new() : NULL;

    if (vcpus) {
        CPUSET_FOREACH(queue, queues) {
            cpuset_add(vcpus, vcpu_of(dev, queue));
        }
    }
    return pinning_io_new(PINNING_THREAD_ROLE_VHOST, name_of(dev),
                          cpuset_first(queues), served, vcpus);
}

typedef struct Count {
    const char *device;
    unsigned n;
} Count;

static void count_worker(IoThread *io, void *opaque)
{
    Count *count = opaque;

    count->n += io->role == PINNING_THREAD_ROLE_VHOST &&
                g_str_equal(io->device, count->device);
}

IoThread *vhost_pinning_scsi_worker(struct vhost_dev *dev)
{
    Count count = { .device = name_of(dev) };
    g_autoptr(CpuSet) queues = NULL;

    if (wants_many(dev)) {
        /* One after the other, the first for the first data queue */
        pinning_io_foreach(count_worker, &count);
        count.n = MIN(count.n, data_queues(dev) - 1);
        queues = cpuset_new_range(count.n, count.n);
    } else {
        queues = queues_beside(dev, 0);
    }
    return new_worker(dev, queues);
}

static bool attach(int fd, unsigned ring, unsigned worker_id)
{
    struct vhost_vring_worker ring_worker = {
        .index = ring,
        .worker_id = worker_id,
    };

    if (ioctl(fd, VHOST_ATTACH_VRING_WORKER, &ring_worker) == 0) {
        return true;
    }
    warn_report("vhost-scsi: Cannot give ring %u its worker: %s", ring,
                strerror(errno));
    return false;
}

/* Returns: false when there is no use in trying it for other nodes */
static bool add_worker(struct vhost_dev *dev, int fd, const CpuSet *queues)
{
    struct vhost_worker_state worker = { };
    bool used = false;

    if (vhost_pinning_create(new_worker(dev, queues), fd, VHOST_NEW_WORKER,
                             &worker) < 0) {
        /* Kernels without workers of that kind say one or the other */
        if (errno != ENOTTY && errno != EFAULT) {
            warn_report("vhost-scsi: Cannot create a worker for each host"
                        " node: %s", strerror(errno));
        }
        return false;
    }
    CPUSET_FOREACH(queue, queues) {
        if (!attach(fd, DATA_RING + queue, worker.worker_id)) {
            if (!used) {
                ioctl(fd, VHOST_FREE_WORKER, &worker);
            }
            return false;
        }
        used = true;
    }
    return true;
}

/* What the kernel made of it */
static void read_back(const struct vhost_dev *dev, int fd)
{
    unsigned ring;

    for (ring = 0; ring < dev->nvqs; ring++) {
        struct vhost_vring_worker ring_worker = { .index = ring };

        if (ioctl(fd, VHOST_GET_VRING_WORKER, &ring_worker) == 0) {
            trace_pinning_vhost_ring(ring, ring_worker.worker_id);
        }
    }
}

void vhost_pinning_scsi_split(struct vhost_dev *dev, int fd)
{
    g_autoptr(CpuSet) done = NULL;
    unsigned queue;

    if (wants_many(dev)) {
        return;
    }
    done = queues_beside(dev, 0);
    for (queue = 0; queue < data_queues(dev); queue++) {
        g_autoptr(CpuSet) queues = NULL;

        if (!cpuset_contains(done, queue)) {
            queues = queues_beside(dev, queue);
            if (!add_worker(dev, fd, queues)) {
                break;
            }
            cpuset_or(done, queues);
        }
    }
    read_back(dev, fd);
}
