# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2 1n8c cgroup
# kernels: all
# limit: 120
# modules: vhost_net tun
"""Without our options nothing is placed: no call, no mask, no policy."""

import lab

CALLS = ['sched_setaffinity', 'mbind', 'set_mempolicy', 'migrate_pages',
         'move_pages']
PREFERRED_MANY = 5
t = lab.Tap()


def calls(watch):
    """All but what libnuma does when it is loaded: it asks the kernel
    whether it knows a policy, by setting it and then the old one."""
    seen = watch.seen
    if [(call.name, call.args[0]) for call in seen[:2]] == [
            ('set_mempolicy', PREFERRED_MANY), ('set_mempolicy', 0)]:
        seen = seen[2:]
    return [call.name for call in seen]


def check(name, q, watch, want):
    q.wait_guest()
    t.equal(calls(watch), [],
            name + ': no call that places')
    t.equal([task for task in q.threads() if task.mask != want], [],
            name + ': every thread has the inherited mask')
    t.ok(len(q.threads()) > len(q.vcpus()), name + ': threads were seen')
    t.equal(sorted({vma.policy for vma in q.vmas()}), ['default'],
            name + ': no memory policy')


watch = lab.Watch(calls=CALLS)
with lab.Qemu(*lab.net(), '-object', 'iothread,id=io0', smp=4,
              watch=watch) as q:
    check('all CPUs', q, watch, lab.allowed())

some = lab.allowed()[1:4]
watch = lab.Watch(calls=CALLS)
with lab.Qemu(smp=2, affinity=some, watch=watch) as q:
    check('started on CPUs ' + lab.show(some), q, watch, some)

# That a call would have been seen
watch = lab.Watch(calls=CALLS)
with lab.Qemu('-object', 'memory-backend-ram,id=m,size=64M,host-nodes=0,'
              'policy=bind', '-machine', 'memory-backend=m',
              watch=watch) as q:
    t.equal(calls(watch), ['mbind'],
            'a memory backend of QEMU\'s own is seen to bind')
t.done()
