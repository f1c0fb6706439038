# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: all
# limit: 120
# needs: pinning
# modules: vhost_net tun
"""vhost workers at the limit of threads, and as threads of the kernel."""

import os
import resource

import lab
from placed_io import nodes

t = lab.Tap()
NOBODY = 65534

# No more threads: the same as without pinning
for name in '/dev/kvm', '/dev/vhost-net', '/dev/net/tun':
    os.chmod(name, 0o666)
lab.run('ip', 'tuntap', 'add', 'dev', 'tap0', 'mode', 'tap', 'user',
        str(NOBODY))


def at_limit(accel):
    with lab.Qemu(smp=2, accel=accel, uid=NOBODY) as q:
        resource.prlimit(q.pid, resource.RLIMIT_NPROC, (1, 1))
        try:
            q.qmp('netdev_add', type='tap', id='hot', ifname='tap0',
                  script='no', downscript='no', vhost=True, vhostforce=True)
            error = None
        except lab.QmpError as e:
            error = str(e)
        return error, q.said(), len(q.vhost_workers()), q.ended()


stock = at_limit('kvm')
ours = at_limit('kvm,pinning=numa,pinning-registry=off')
t.equal((ours[0], ours[2:]), (stock[0], stock[2:]),
        'RLIMIT_NPROC reached: as without pinning')
if lab.kernel == '6.12':
    t.equal(ours[1], stock[1], 'RLIMIT_NPROC reached: nothing else is said')
else:
    # A thread of the kernel, which this user may not move
    t.equal(ours[1].count('stay where they are'), 1,
            'workers that cannot be placed: one warning')
t.equal(ours[3], False, 'RLIMIT_NPROC reached: QEMU goes on')
t.equal(ours[0] is not None, lab.kernel == '6.12',
        'RLIMIT_NPROC reached: an error where workers are tasks')
lab.run('ip', 'tuntap', 'del', 'dev', 'tap0', 'mode', 'tap')

# What kind of worker there is depends on more than the version
if lab.kernel == '6.12':
    lab.vhost_tasks(False)
    with lab.Qemu(*nodes, *lab.net(0, queues=4), smp=4, mem='16M',
                  paused=True, accel='kvm,pinning=one-to-one') as q:
        t.equal([(w.kind, len(w.mask), lab.node_of(w.mask[0]))
                 for w in sorted(q.vhost_workers(),
                                 key=lambda w: lab.node_of(w.mask[0]))],
                [('kthread', 1, node) for node in range(4)],
                'fork_from_owner_default=0: kernel threads, and placed')
    lab.vhost_tasks(True)
t.done()
