# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: all
# limit: 90
# needs: pinning
# modules: vhost_scsi vhost_vsock
"""vhost-scsi: a worker for each host node, and each ring the one of its node.

Which worker a ring has is what the kernel answers to VHOST_GET_VRING_WORKER,
which it does for the owner only, so QEMU asks and traces the answer.
"""

import re

import lab

t = lab.Tap()
MANY = lab.kernel == '6.12'


def machine(vcpus, queues, device='', accel='kvm,pinning=one-to-one'):
    args = ['-trace', 'pinning_vhost_ring']
    for node in range(4):
        per = vcpus // 4
        args += ['-object', 'memory-backend-ram,id=m%d,size=4M' % node,
                 '-numa', 'node,nodeid=%d,cpus=%d-%d,memdev=m%d'
                 % (node, per * node, per * node + per - 1, node)]
    args += ['-device', 'vhost-scsi-pci,id=disks,num_queues=%d,'
             'wwpn=naa.5001405324af0985%s' % (queues, device)]
    return lab.Qemu(*args, smp=vcpus, mem='16M', accel=accel, paused=True)


def rings(q):
    """Worker id of each ring."""
    return {int(ring): int(worker) for ring, worker in re.findall(
        r'pinning_vhost_ring ring (\d+) worker (\d+)', q.said())}


def nodes_of(workers):
    return sorted(lab.node_of(w.mask[0]) for w in workers if
                  len(w.mask) == 1)


for vcpus, queues in (4, 4), (8, 8), (8, 4):
    name = '%d vCPUs, %d queues' % (vcpus, queues)
    with machine(vcpus, queues) as q:
        workers = q.vhost_workers()
        said = [thread for thread in q.qmp('query-pinning')['threads']
                if thread['role'] == 'vhost']
        t.equal(sorted(s['thread-id'] for s in said),
                sorted(w.tid for w in workers),
                name + ': query-pinning knows them')
        t.equal({s['device'] for s in said}, {'disks'},
                name + ': by the id of the device')
        if not MANY:
            t.equal(len(workers), 1, name + ': this kernel has one worker')
            t.equal(rings(q), {}, name + ': and cannot say which')
            continue
        t.equal(nodes_of(workers), [0, 1, 2, 3],
                name + ': one worker on each node')
        # The first worker has 0, and the rings for control and events
        per = queues // 4
        t.equal(rings(q), {0: 0, 1: 0, **{2 + i: i // per
                                          for i in range(queues)}},
                name + ': each ring has the worker of its node')
        by_queue = {s['queue']: lab.node_of(int(s['actual-cpus']))
                    for s in said}
        t.equal(by_queue, {node * per: node for node in range(4)},
                name + ': which is the node of the vCPU')

with machine(4, 4, ',worker_per_virtqueue=on') as q:
    workers = q.vhost_workers()
    t.equal(len(workers), 4 if MANY else 1,
            'worker_per_virtqueue=on wins: one for each')
    if MANY:
        t.equal(nodes_of(workers), [0, 1, 2, 3], 'each on its own node')
with machine(8, 8, ',worker_per_virtqueue=on') as q:
    workers = q.vhost_workers()
    t.equal(len(workers), 8 if MANY else 1,
            'worker_per_virtqueue=on wins: 8 for 8')
    if MANY:
        t.equal(nodes_of(workers), [0, 0, 1, 1, 2, 2, 3, 3],
                'each beside its vCPU')
with machine(4, 4, accel='kvm') as q:
    t.equal(len(q.vhost_workers()), 1, 'without pinning: one, as ever')
with lab.Qemu('-device', 'vhost-vsock-pci,guest-cid=9', smp=2, paused=True,
              accel='kvm,pinning=balanced') as q:
    workers = q.vhost_workers()
    t.equal([len(w.mask) for w in workers], [1] * len(workers),
            'vhost-vsock: its workers have one CPU each')
    t.equal([lab.node_of(w.mask[0]) for w in workers],
            [lab.node_of(q.vcpu_masks()[0][0])] * len(workers),
            'vhost-vsock: on the node of the VM')
    t.ok(workers, 'vhost-vsock: there is one')
t.done()
