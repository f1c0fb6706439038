# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 240
# needs: pinning linux-guest
"""pinning-vnuma: guest nodes that nobody typed, as a Linux guest sees them.

One piece of RAM, in ranges on different host nodes; and such a machine
migrates to one with other host nodes.
"""

import os

import lab

t = lab.Tap()
MIB = 1024 * 1024
VNUMA = 'kvm,pinning=numa,pinning-vnuma=on'


def ranges(q):
    """Policy and pages of each range of pc.ram, in order of addresses."""
    out = []
    for vma in sorted(q.block_vmas()):
        if out and out[-1][0] == vma.policy:
            for node, count in vma.pages.items():
                out[-1][1][node] = out[-1][1].get(node, 0) + count
        else:
            out.append((vma.policy, dict(vma.pages)))
    return out


def placed(name, q, size):
    """What holds for every such machine; the host nodes."""
    said = q.qmp('query-pinning')['memory']
    nodes = [int(m['host-nodes']) for m in said]
    t.equal([m['size'] for m in said], [size * MIB // len(said)] * len(said),
            name + ': memory in proportion to vCPUs')
    seen = ranges(q)
    t.equal([policy for policy, _ in seen], ['bind:%d' % n for n in nodes],
            name + ': a range for each')
    t.ok(all(pages.get(n, 0) >= 0.999 * sum(pages.values())
             for n, (_, pages) in zip(nodes, seen)),
         name + ': whose pages are there', seen)
    return nodes


def inner_nodes(q):
    """What the Linux guest says: CPUs, KiB, distances of each node."""
    out = []
    for line in q.serial().split('\n'):
        if line.startswith('INNER-NODE'):
            _, _, cpus, kib, *distance = line.split()
            out.append((cpus.split('=')[1], int(kib.split('=')[1]),
                        [int(d.replace('distance=', '')) for d in distance]))
    return out


# --- what the guest sees --------------------------------------------------

with lab.Qemu(guest='linux', smp='4,sockets=2,cores=2', mem='256M',
              accel=VNUMA, append='inner.fill=120') as q:
    q.wait_guest('INNER-UP', 100)
    nodes = placed('2 sockets', q, 256)
    apart = lab.nodes()[nodes[0]].distances[
        sorted(lab.nodes()).index(nodes[1])]
    inside = inner_nodes(q)
    t.equal([(cpus, d) for cpus, _, d in inside],
            [('0-1', [10, apart]), ('2-3', [apart, 10])],
            'the guest sees CPUs and distances')
    t.ok(len(inside) == 2 and all(0.6 * 128 * 1024 < kib <= 128 * 1024
                                  for _, kib, _ in inside),
         'and the memory', inside)
    t.equal(list(q.ram_blocks())[0], 'pc.ram', 'in one piece of RAM')
    ours = {name: size for name, (_, size) in q.ram_blocks().items()}
with lab.Qemu(guest=None, smp='4,sockets=2,cores=2', mem='256M',
              paused=True) as q:
    t.equal({name: size for name, (_, size) in q.ram_blocks().items()}, ours,
            'RAM blocks are those of a machine without all this')

with lab.Qemu(smp='8,sockets=8,cores=1', mem='64M', accel=VNUMA) as q:
    q.wait_guest()
    nodes = placed('8 sockets', q, 64)
    t.equal(len(nodes), len([n for n in lab.nodes().values() if n.cpus]),
            'no more nodes than the host has')
with lab.Qemu(smp='4,sockets=2,cores=2', mem='64M',
              accel='kvm,pinning=balanced,pinning-vnuma=on') as q:
    q.wait_guest()
    said = q.qmp('query-pinning')['memory']
    used = {lab.node_of(cpu) for m in q.vcpu_masks().values() for cpu in m}
    t.equal(len(said), len(used), 'balanced: as many as host nodes are used')

lab.run('mkdir', '-p', '/tmp/huge')
lab.run('mount', '-t', 'hugetlbfs', 'none', '/tmp/huge')
for node in 2, 3:
    lab.hugepages(node, 2048, 40)
for args in ['-mem-path', '/tmp/huge'], ['-mem-path', '/tmp/huge',
                                         '-mem-prealloc']:
    with lab.Qemu(*args, smp='2,sockets=2', mem='70M',
                  accel=VNUMA + ',pinning-hostnodes=2-3') as q:
        q.wait_guest()
        t.equal(sorted((policy, list(pages)) for policy, pages in ranges(q)),
                [('bind:2', [2]), ('bind:3', [3])],
                'hugepages are not cut: ' + ' '.join(args))
for node in 2, 3:
    lab.hugepages(node, 2048, 0)
said = lab.qemu_error(machine='none', accel=VNUMA, guest=None)
t.ok(said and "'none'" in said and 'pinning-vnuma' in said,
     'refused where there are no guest nodes', said)

# --- guest topology -------------------------------------------------------

with lab.Qemu(smp='4,sockets=4,cores=1', mem='64M', accel='kvm,'
              'pinning=one-to-one,pinning-smt=require,'
              'pinning-guest-topology=host') as q:
    seen = [(c['props']['socket-id'], c['props']['core-id'],
             c['props']['thread-id']) for c in q.qmp('query-cpus-fast')]
    masks = [m[0] for _, m in sorted(q.vcpu_masks().items())]
    t.equal([(a[:2] == b[:2]) for a in seen for b in seen],
            [x in lab.siblings(y) for x in masks for y in masks],
            'threads of the guest are siblings of the host')

# --- to other host nodes --------------------------------------------------

state = '/tmp/vnuma.state'
with lab.Qemu(guest='write', smp='2,sockets=2', mem='64M',
              accel=VNUMA + ',pinning-hostnodes=0-1') as q:
    q.wait_guest('GUEST-ROUND')
    t.equal(sorted(placed('source', q, 64)), [0, 1], 'source: nodes 0, 1')
    before = q.rounds(2)
    q.qmp('migrate', uri='file:' + state)
    lab.wait_for('the migration', lambda: q.qmp('query-migrate').get(
        'status') in ('completed', 'failed'), 60, 0.2)
    t.equal(q.qmp('query-migrate')['status'], 'completed', 'it is saved')
with lab.Qemu('-incoming', 'file:' + state, guest='write',
              smp='2,sockets=2', mem='64M',
              accel=VNUMA + ',pinning-hostnodes=2-3') as q:
    lab.wait_for('the guest to run', lambda: q.qmp('query-status')['status']
                 == 'running', 60, 0.2)
    lab.wait_for('the guest to go on', lambda: min(q.rounds(2))
                 > max(before) + 2, 60, 0.2)
    t.equal(sorted(placed('destination', q, 64)), [2, 3],
            'destination: nodes 2, 3')
    t.ok('GUEST-BAD' not in q.serial(), 'its memory is what it was')
os.unlink(state)
t.done()
