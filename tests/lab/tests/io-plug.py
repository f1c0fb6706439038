# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: all
# limit: 120
# needs: pinning
# modules: vhost_net tun vhost_vsock
"""Nothing is left of what was plugged and unplugged."""

import collections
import os

import lab
from placed_io import nodes, recorded

t = lab.Tap()
# Workers are alike; where they are threads of the kernel plugging is slow
kinds = ['nic', 'vsock'] if lab.kernel == '6.12' else ['nic']

with lab.Qemu(*nodes, smp=4, mem='16M', machine='pc', paused=True,
              accel='kvm,pinning=numa') as q:
    def plug(number, queues=2):
        q.qmp('netdev_add', type='tap', id='hot%d' % number,
              ifname='tap%d' % number, script='no', downscript='no',
              vhost=True, queues=queues)

    def state():
        return (len(q.threads()), len(os.listdir('/proc/%d/fd' % q.pid)),
                len(q.vhost_workers()))

    def plug_devices(times):
        """Five of each kind, for what takes long is to get rid of them."""
        for n in range(5):
            plug(n)
            q.qmp('device_add', driver='virtio-net-pci', netdev='hot%d' % n,
                  id='nic%d' % n, mq=True, vectors=6, romfile='')
            if 'vsock' in kinds:
                q.qmp('device_add', driver='vhost-vsock-pci',
                      guest_cid=9 + 5 * times + n, id='vsock%d' % n)
        count = len(q.vhost_workers())
        names = [kind + str(n) for kind in kinds for n in range(5)]
        for name in names:
            q.qmp('device_del', id=name)
        # No guest gives them back, but then none has them
        q.qmp('system_reset')
        for _ in names:
            while 'device' not in q.wait_event('DEVICE_DELETED')['data']:
                pass
        for n in range(5):
            q.qmp('netdev_del', id='hot%d' % n)
        return count

    plug_devices(0)
    before = state()
    workers = {plug_devices(times) for times in range(10)}
    after = state()
    t.equal(workers, {5 * (1 + len(kinds))},
            'plugged 50 times: each has its workers')
    t.ok(all(a <= b for a, b in zip(after, before)),
         'plugged 50 times: no thread, no file is left', before,
         after)
    q.qmp('query-pinning')
    t.equal(recorded(), {}, 'plugged 50 times: no entry is left')
    plug(0, queues=4)
    load = collections.Counter(w.mask[0] for w in q.vhost_workers())
    t.equal((sum(load.values()), max(load.values())), (4, 1),
            'and the next is placed like the first')
    masks = q.vcpu_masks()
    lab.wait_for('workers to be beside their vCPUs', lambda: sorted(
        lab.node_of(w.mask[0]) for w in q.vhost_workers()) == sorted(
            lab.node_of(mask[0]) for mask in masks.values()))
    t.ok(True, 'beside its vCPUs when all queues are there')
t.done()
