# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: all
# limit: 300
# needs: pinning linux-guest
# modules: vhost_net tun
"""vhost-net workers: each beside its vCPU, alone as far as CPUs allow.

Two network devices with four queues each and a vCPU on each of four nodes;
then the same as four machines.  Masks and nodes are from /proc and /sys.
"""

import collections

import lab

t = lab.Tap()
ACCEL = 'kvm,pinning=one-to-one'
KIND = 'task' if lab.kernel == '6.12' else 'kthread'


def backends(mib):
    args = []
    for node in range(4):
        args += ['-object', 'memory-backend-ram,id=m%d,size=%dM'
                 % (node, mib), '-numa',
                 'node,nodeid=%d,cpus=%d,memdev=m%d' % (node, node, node)]
    return args


def said_of(q, role):
    return [thread for thread in q.qmp('query-pinning')['threads']
            if thread['role'] == role]


def check(name, q, one_to_one=True):
    """What holds for the workers of one machine; the CPU of each."""
    workers = q.vhost_workers()
    t.equal([w.kind for w in workers], [KIND] * 8,
            name + ': 8 workers, as this kernel makes them')
    t.equal([len(w.mask) for w in workers], [1] * 8,
            name + ': one CPU for each')
    used = [w.mask[0] for w in workers]
    t.equal(sorted(lab.node_of(cpu) for cpu in used),
            [0, 0, 1, 1, 2, 2, 3, 3], name + ': two on each node')
    masks = q.vcpu_masks()
    vcpu_cpus = [mask[0] for mask in masks.values()]
    if one_to_one:
        t.equal(set(used) & set(vcpu_cpus), set(),
                name + ': none on a vCPU')
    said = said_of(q, 'vhost')
    by_tid = {w.tid: w.mask for w in workers}
    t.equal({s['thread-id']: lab.cpus(s['actual-cpus']) for s in said},
            by_tid, name + ': query-pinning agrees with /proc')
    t.equal(sorted((s['device'], s['queue']) for s in said),
            [(dev, n) for dev in ('net0', 'net1') for n in range(4)],
            name + ': and knows the queue of each')
    t.equal([lab.node_of(by_tid[s['thread-id']][0]) for s in said],
            [lab.node_of(masks[s['queue']][0]) for s in said],
            name + ': each is on the node of the vCPU of its queue')
    return used


# Helpers that such a VM has for a while or on some kernels only.  The one of
# RCU is always there, and older than names are.
HELPERS = {'worker', 'kvm-nx-lpage-re', 'IO mon_iothread'}
RCU = 'qemu-system-x86'


def roles(name, q):
    """No thread without a role, none that is elsewhere than wanted."""
    said = q.qmp('query-pinning')['threads']
    tids = {s['thread-id'] for s in said}
    names = {thread.tid: thread.name for thread in q.threads()}
    t.equal([names[s['thread-id']] for s in said if s['role'] == 'helper'
             and names.get(s['thread-id']) not in HELPERS], [RCU],
            name + ': no helper is unknown')
    t.equal([s['role'] for s in said].count('main'), 1,
            name + ': there is one main loop')
    t.equal({thread.tid for thread in q.threads()} - tids, set(),
            name + ': query-pinning lists every thread')
    t.equal([s for s in said
             if s.get('wanted-cpus', s['actual-cpus']) != s['actual-cpus']],
            [], name + ': all are where they should be')


nets = lab.net(0, queues=4) + lab.net(1, queues=4)
with lab.Qemu(*nets, *backends(48), guest='linux', smp=4, mem='192M',
              accel=ACCEL) as q:
    lab.net_up(0)
    lab.net_up(1)
    used = check('one VM', q)
    # 12 I/O CPUs: 16 without those of the vCPUs
    t.equal(max(collections.Counter(used).values()), 1,
            'one VM: no I/O CPU has more than one')
    q.wait_guest('INNER-UP', 180)
    busy = sum(lab.schedstat(w.tid)[0] for w in q.vhost_workers())
    t.equal((lab.ping(0), lab.ping(1)), (3, 3), 'one VM: traffic flows')
    t.ok(sum(lab.schedstat(w.tid)[0] for w in q.vhost_workers()) > busy,
         'one VM: through the workers')
    roles('one VM', q)

vms = []
load = collections.Counter()
for n in range(4):
    args = []
    for dev in range(2):
        # Every machine has its own net0 and net1
        args += [a.replace('tap%d' % dev, 'tap%d' % (2 * n + dev))
                 for a in lab.net(dev, queues=4)]
    vms.append(lab.Qemu(*args, *backends(4), smp=4, mem='16M',
                        accel='kvm,pinning=numa'))
    load.update(check('VM %d of 4' % n, vms[-1], False)
                if n == 3 else [w.mask[0] for w in vms[-1].vhost_workers()])
t.equal(sum(load.values()), 32, '4 VMs: 32 workers')
mean = 32 / len(lab.online())
t.ok(max(load.values()) <= mean + 1, '4 VMs: at most one above the mean',
     load)
t.equal([sum(load[cpu] for cpu in node.cpus)
         for node in lab.nodes().values()], [8] * 4, '4 VMs: 8 on each node')
vms.pop(0).stop()
vms.append(lab.Qemu(*[a.replace('tap0', 'tap8') for a in lab.net(0, queues=4)],
                    *backends(4), smp=4, mem='16M',
                    accel='kvm,pinning=numa'))
load = collections.Counter(w.mask[0] for q in vms for w in q.vhost_workers())
t.ok(max(load.values()) <= 28 / len(lab.online()) + 1,
     'one has ended, another come: still', load)
for q in vms:
    q.stop()

with lab.Qemu(*lab.net(0, queues=4), smp=4, mem='16M', *backends(4),
              accel='kvm,pinning=numa,pinning-io-cpus=0,pinning-io-share=2',
              ) as q:
    t.equal([w.mask for w in q.vhost_workers()], [[0]] * 4,
            'pinning-io-cpus is obeyed')
    t.ok(any('pinning-io-share=2' in text
             for text in q.qmp('query-pinning')['warnings'])
         and 'pinning-io-share=2' in q.said(),
         'more than pinning-io-share is said', q.said())
with lab.Qemu(*lab.net(0, queues=4), smp=4, mem='16M',
              accel='kvm,pinning=numa,pinning-hostnodes=0,'
              'pinning-io-cpus=0,,4,,5,pinning-io-share=2') as q:
    load = collections.Counter(w.mask[0] for w in q.vhost_workers())
    t.equal((load[0], load[4] + load[5]), (2, 2),
            'pinning-io-share moves some to the next node')
t.done()
