# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: all
# limit: 120
# modules: vhost_net tun
"""What a vhost worker is on each kernel: the facts that we build on.

6.1: a kernel thread of root, which does not follow QEMU's affinity and
which its owner cannot pin.  6.12: a task of QEMU, which inherits the mask
of the thread that made it; with fork_from_owner_default=0 the older kind.
"""

import errno
import os

import lab

t = lab.Tap()
NOBODY = 65534


def pin_as(uid, tid, cpu):
    """What sched_setaffinity by @uid gives: 0 or an errno."""
    pid = os.fork()
    if pid == 0:
        os.setuid(uid)
        try:
            os.sched_setaffinity(tid, [cpu])
        except OSError as e:
            os._exit(e.errno)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def workers_of(kind, queues):
    """@queues workers of @kind, with the guest not even started."""
    watch = lab.Watch(ioctls=[lab.VHOST_SET_OWNER])
    with lab.Qemu(*lab.net(queues=queues), smp=queues, paused=True,
                  affinity=[1, 2, 3], watch=watch) as q:
        found = q.vhost_workers()
        t.equal([(w.name, w.kind) for w in found],
                [('vhost-%d' % q.pid, kind)] * queues,
                '%s: one worker a queue pair, before the guest runs' % kind)
        t.equal([call.mask for call in watch.seen], [[1, 2, 3]] * queues,
                '%s: made by a thread on CPUs 1-3' % kind)
        t.equal([w.mask for w in found],
                [[1, 2, 3] if kind == 'task' else lab.online()] * queues,
                '%s: %s its mask' % (kind, 'has' if kind == 'task' else
                                     'does not have'))
        for worker in found:
            os.sched_setaffinity(worker.tid, [5])
        t.equal([w.mask for w in q.vhost_workers()], [[5]] * queues,
                '%s: root can pin it' % kind)


def owner(kind):
    """A user's QEMU and its worker."""
    for name in '/dev/kvm', '/dev/vhost-net', '/dev/net/tun':
        os.chmod(name, 0o666)
    lab.run('ip', 'tuntap', 'add', 'dev', 'tap0', 'mode', 'tap', 'user',
            str(NOBODY))
    with lab.Qemu(*lab.net(), uid=NOBODY, paused=True) as q:
        worker, = q.vhost_workers()
        t.equal(pin_as(NOBODY, worker.tid, 3),
                0 if kind == 'task' else errno.EPERM,
                '%s: its owner %s pin it' % (
                    kind, 'can' if kind == 'task' else 'cannot'))
    lab.run('ip', 'tuntap', 'del', 'dev', 'tap0', 'mode', 'tap')


# Which patch a distribution has put on top does not show in the version
kinds = ['task', 'kthread'] if os.path.exists(lab.VHOST_SWITCH) else ['kthread']
t.equal(len(kinds), 2 if lab.kernel == '6.12' else 1,
        'kinds of worker that this kernel has')
for kind in kinds:
    if len(kinds) > 1:
        lab.vhost_tasks(kind == 'task')
    workers_of(kind, 2)
    owner(kind)
if len(kinds) > 1:
    lab.vhost_tasks(True)
t.done()
