# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: sparse
# kernels: 6.12
# limit: 120
# needs: pinning
"""Host node numbers with a gap, a page of 1 GiB, memory handed over by CPR."""

import json
import os
import threading

import lab

t = lab.Tap()
MIB = 1024 * 1024


def on(name, q, block, node):
    pages = q.pages(block)
    t.ok(pages.get(node, 0) >= 0.999 * sum(pages.values()) > 0, name, pages)


def one(hostnodes, mib=64, more=''):
    return ['-object', 'memory-backend-memfd,id=a,size=%dM%s' % (mib, more),
            '-numa', 'node,memdev=a%s' % (
                ',hostnodes=' + hostnodes if hostnodes else '')]


# --- the gap --------------------------------------------------------------

t.equal(sorted(lab.nodes()), [0, 2], 'the host has nodes 0 and 2')
said = lab.qemu_error(*one('1'), accel='kvm,pinning=numa', mem='64M')
t.ok(said and 'hostnodes' in said and 'does not exist' in said
     and '0,2' in said, 'node 1 is refused by name', said)
with lab.Qemu(*one('2'), accel='kvm,pinning=numa', mem='64M') as q:
    q.wait_guest()
    t.equal(q.policies('a'), ['bind:2'], 'node 2: policy')
    on('node 2: pages', q, 'a', 2)
with lab.Qemu(*one('0,hostnodes=2,policy=interleave'), smp=2, mem='64M',
              accel='kvm,pinning=numa') as q:
    q.wait_guest()
    t.equal(q.policies('a'), ['interleave:0,2'], 'both nodes: policy')
    pages = q.pages('a')
    t.ok(set(pages) == {0, 2} and max(pages.values()) - min(pages.values())
         <= 4096, 'both nodes: evenly', pages)
with lab.Qemu(smp='4,sockets=2', mem='64M', accel='kvm,pinning=one-to-one,'
              'pinning-vnuma=on') as q:
    q.wait_guest()
    said = q.qmp('query-pinning')['memory']
    masks = q.vcpu_masks()
    for number, (memory, policy) in enumerate(zip(said, q.policies())):
        t.equal([policy] + [lab.node_of(masks[2 * number + k][0])
                            for k in (0, 1)],
                ['bind:' + memory['host-nodes']]
                + [int(memory['host-nodes'])] * 2,
                'one guest node on each: %d' % number)
    t.equal(sorted(m['host-nodes'] for m in said), ['0', '2'],
            'guest nodes are on nodes 0 and 2')

# --- a page of 1 GiB ------------------------------------------------------

HUGE = ',hugetlb=on,hugetlbsize=1G'
for name, where in ('asked for', '2'), ('found', ''):
    with lab.Qemu(*one(where, 1024, HUGE), mem='1G',
                  accel='kvm,pinning=numa') as q:
        q.wait_guest()
        t.equal(q.policies('a'), ['bind:2'], 'a page of 1 GiB, ' + name)
        on('which is on node 2', q, 'a', 2)
for nodes, mib, text in ('2', 2048, 'node 2: needs 2048 MiB of 1 GiB pages, '
                         '1024 MiB free (of 1024)'), \
        ('0', 1024, 'node 0: needs 1024 MiB of 1 GiB pages, 0 MiB free '
         '(of 0)'):
    said = lab.qemu_error(*one(nodes, mib, HUGE), mem='%dM' % mib,
                          accel='kvm,pinning=numa')
    t.ok(said and text in said, 'pages of 1 GiB that node %s lacks' % nodes,
         said)

# --- CPR: the memory of a QEMU that goes on in another --------------------


def channel(kind, path):
    return {'channel-type': kind, 'addr': {
        'transport': 'socket', 'type': 'unix', 'path': path}}


def shared(node, *more):
    return lab.Qemu(
        '-object', 'memory-backend-memfd,id=m,size=64M,share=on', *more,
        guest='write', smp=2, mem='64M', machine='q35,memory-backend=m,'
        'aux-ram-share=on', accel='kvm,pinning=numa,pinning-hostnodes=%d'
        % node)


class Successor(threading.Thread):
    """It answers only when it has the memory, so it waits in a thread."""

    def run(self):
        self.qemu = shared(0, *sum((
            ['-incoming', json.dumps(channel(kind, '/tmp/' + kind))]
            for kind in ('main', 'cpr')), []))


with shared(2) as q:
    q.wait_guest('GUEST-ROUND')
    on('before CPR: on node 2', q, 'm', 2)
    before = q.rounds(2, 'm')
    successor = Successor()
    successor.start()
    lab.wait_for('the successor', lambda: os.path.exists('/tmp/cpr'), 30)
    q.qmp('migrate-set-parameters', mode='cpr-transfer')
    q.qmp('migrate', channels=[channel('main', '/tmp/main'),
                               channel('cpr', '/tmp/cpr')])
    successor.join(60)
    with successor.qemu as q2:
        lab.wait_for('the guest to run', lambda: q2.qmp('query-status')[
            'status'] == 'running', 60, 0.2)
        lab.wait_for('the guest to go on', lambda: min(q2.rounds(2, 'm'))
                     > max(before) + 2, 60, 0.2)
        on('after CPR: still there', q2, 'm', 2)
        t.equal({lab.node_of(cpu) for mask in q2.vcpu_masks().values()
                 for cpu in mask}, {0}, 'the vCPUs are where it was told')
        t.ok('CPR' in q2.said(), 'which it says', q2.said())
        t.ok('GUEST-BAD' not in q2.serial(), 'its memory is what it was')
t.done()
