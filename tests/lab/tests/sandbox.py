# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: all
# limit: 120
# needs: pinning
# modules: vhost_net tun
"""libvirt's sandbox under KVM: who is plugged has a place all the same.

No mask can be set once the guest may run, so the last vCPU and a vhost worker
get theirs by birth; all else works, except for set-pinning, which says why.
"""

import os

import lab

t = lab.Tap()
GROUP = 'resourcecontrol=deny'
FULL = ('on,obsolete=deny,elevateprivileges=deny,spawn=deny,' + GROUP)
ACCEL = 'kvm,pinning=one-to-one,pinning-io-cpus=14-15'


def off_place(q):
    """Threads that /proc shows elsewhere than query-pinning wants them."""
    return [thread for thread in q.qmp('query-pinning')['threads']
            if 'wanted-cpus' in thread
            and lab.cpus(thread['wanted-cpus']) != lab.mask(
                thread['thread-id'])]


def unlisted(q):
    return ({thread.tid for thread in q.threads()} -
            {thread['thread-id']
             for thread in q.qmp('query-pinning')['threads']})


watch = lab.Watch(ioctls=[lab.KVM_CREATE_VCPU])
with lab.Qemu('-sandbox', FULL, guest='spin', watch=watch,
              smp='3,maxcpus=4,sockets=4,cores=1,threads=1',
              accel=ACCEL) as q:
    q.wait_guest()
    early = q.vcpu_masks()
    t.equal([len(set(sum(early.values(), []))), off_place(q)], [3, []],
            'everybody is where the plan wants')
    t.equal(unlisted(q), set(), 'and known')

    q.qmp('device_add', driver='host-x86_64-cpu', id='late', socket_id=3,
          core_id=0, thread_id=0)
    masks = q.vcpu_masks()
    t.ok(len(masks[3]) == 1 and masks[3] not in early.values(),
         'the last vCPU has a CPU of its own', masks)
    t.equal([call.mask for call in watch.ioctl(lab.KVM_CREATE_VCPU)],
            [masks[vcpu] for vcpu in sorted(masks)],
            'which it had when KVM made it')

    q.qmp('netdev_add', type='tap', id='net0', ifname='tap0', script='no',
          downscript='no', vhost=True)
    workers = q.vhost_workers()
    said = [thread for thread in q.qmp('query-pinning')['threads']
            if thread['role'] == 'vhost']
    if lab.kernel == '6.12':
        tasks = [thread for thread in q.threads()
                 if thread.name.startswith('vhost-')]
        t.ok(len(tasks) == 1 and len(tasks[0].mask) == 1
             and tasks[0].mask[0] in (14, 15),
             'a worker that is plugged is on an I/O CPU', tasks)
        t.equal([(s['thread-id'], s['wanted-cpus']) for s in said],
                [(x.tid, lab.show(x.mask)) for x in tasks],
                'and query-pinning agrees')
    else:
        t.ok(len(workers) + len(said) >= 1 and not any(
             'wanted-cpus' in s for s in said),
             'a worker of the kernel stays where it is, and that is said',
             workers, said)
    t.equal([off_place(q), unlisted(q)], [[], set()],
            'still everybody is where the plan wants, and known')

    try:
        q.qmp('set-pinning', options={'mode': 'numa'})
        said = None
    except lab.QmpError as e:
        said = str(e)
    t.ok(said and 'forbidden by -sandbox ' + GROUP in said,
         'set-pinning says why it cannot be', said)
    t.equal(q.vcpu_masks(), masks, 'and changes nothing')
    with open('/proc/%d/status' % q.pid) as f:
        filters = lab.field(f.read(), 'Seccomp_filters')
    t.ok(filters and int(filters) >= 2, 'the filter is there', filters)

# -daemonize forks and makes a session, which the rest of the line forbids
status, said = lab.run(
    lab.QEMU, '-nodefaults', '-no-user-config', '-display', 'none',
    '-name', 'daemon,debug-threads=on', '-machine', 'q35', '-m', '64M',
    '-cpu', 'host', '-smp', '2', '-accel', 'kvm,pinning=one-to-one',
    '-bios', '/lab/guest-spin.bin', '-daemonize', '-pidfile',
    '/tmp/daemon.pid', '-sandbox', 'on,obsolete=deny,' + GROUP)
t.ok(status == 0, '-daemonize works', said)
pid = int(lab.read('/tmp/daemon.pid'))
try:
    masks = [task.mask for task in lab.tasks(pid)
             if task.name.startswith('CPU ')]
    t.ok(len({tuple(mask) for mask in masks}) == 2
         and all(len(mask) == 1 for mask in masks),
         '-daemonize: each vCPU has a CPU', lab.tasks(pid))
finally:
    os.kill(pid, 9)
t.done()
