# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2 1n8c
# kernels: all
# limit: 120
# needs: pinning
"""A vCPU's mask is on its thread before KVM_CREATE_VCPU allocates.

The kernel is asked to hold every thread at that ioctl while its mask is
read, so no order of events is guessed.
"""

import lab

t = lab.Tap()


def created(watch):
    return watch.ioctl(lab.KVM_CREATE_VCPU)


# The measure itself: without pinning the masks are all of ours
watch = lab.Watch(ioctls=[lab.KVM_CREATE_VCPU])
with lab.Qemu(smp=4, watch=watch) as q:
    t.equal([call.mask for call in created(watch)], [lab.allowed()] * 4,
            'stock: made with the inherited mask')

watch = lab.Watch(ioctls=[lab.KVM_CREATE_VCPU])
with lab.Qemu(smp='4,maxcpus=5', accel='kvm,pinning=one-to-one',
              watch=watch) as q:
    calls = created(watch)
    vcpus = q.vcpus()
    t.equal(sorted(call.tid for call in calls), sorted(vcpus.values()),
            'one-to-one: each vCPU thread made its vCPU')
    t.equal([len(call.mask) for call in calls], [1] * 4,
            'one-to-one: with a mask of one CPU')
    t.equal({call.tid: call.mask for call in calls},
            {tid: lab.mask(tid) for tid in vcpus.values()},
            'one-to-one: which is the final one')
    slot = [cpu for cpu in q.qmp('query-hotpluggable-cpus')
            if 'qom-path' not in cpu][0]
    q.qmp('device_add', driver=slot['type'], id='plugged', **slot['props'])
    call = created(watch)[-1]
    t.equal([len(created(watch)), call.tid, len(call.mask)],
            [5, q.vcpus()[4], 1], 'one-to-one: a vCPU plugged in as well')
    t.equal(call.mask, lab.mask(call.tid),
            'one-to-one: and its mask is the final one')
t.done()
