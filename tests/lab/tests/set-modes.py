# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: all
# limit: 240
# needs: pinning
"""A running guest moves from mode to mode and node to node, with its memory.

It writes and checks all of its memory meanwhile, and must not notice.
"""

import ctypes
import mmap
import os
import struct

import lab
from placed import MIB, SHARE, guest_nodes

t = lab.Tap()
CPUS_PER_NODE = {n: node.cpus for n, node in lab.nodes().items()}


def rounds_go_on(q, smp, block, what):
    first = q.rounds(smp, block)
    lab.wait_for('more rounds', lambda: all(
        new > old for new, old in zip(q.rounds(smp, block), first)))
    t.ok('GUEST-BAD' not in q.serial(),
         what + ': the guest works on and finds its memory right',
         q.serial()[-200:])


def masks_right(q, plan, what):
    """Kernel, plan and query-pinning agree on every thread."""
    want = {v['vcpu']: lab.cpus(v['host-cpus']) for v in plan['vcpus']}
    t.equal(q.vcpu_masks(), want, what + ': vCPU masks')
    t.equal(lab.misplaced(q), [], what + ': masks of all threads')
    return want


def memory_right(q, plan, blocks, what):
    """At least 99.9 % of the pages on the host nodes of the plan."""
    for block, node in zip(blocks, plan['nodes']):
        pages = q.pages(block)
        total = sum(pages.values())
        here = sum(pages.get(n, 0) for n in lab.cpus(node['host-nodes']))
        t.ok(total * 1024 >= 0.95 * node['size']
             and here >= SHARE * total,
             '%s: %s is on host nodes %s' % (what, block,
                                             node['host-nodes']), pages)
        # A boot block of another policy may be part of the mapping
        t.equal(q.policies(block), ['%s:%s' % (node['policy'],
                                               node['host-nodes'])],
                '%s: policy of %s' % (what, block))


def move(q, what, blocks=('a', 'b'), smp=4, ends=False, **options):
    """One set-pinning with all that must be true after it.

    @ends: memory was moving, and that must end.
    """
    q.events.clear()
    plan = q.qmp('set-pinning', options=options, move_memory=True)
    t.equal(q.wait_event('PINNING_CHANGED')['data']['mode'],
            options['mode'], what + ': PINNING_CHANGED')
    want = masks_right(q, plan, what)
    if ends:
        t.ok(q.wait_event('PINNING_MEMORY_MOVED')['data']['cancelled'],
             what + ': what was moving is cancelled')
    moved = q.wait_event('PINNING_MEMORY_MOVED')['data']
    memory_right(q, plan, blocks, what)
    t.ok(not moved['cancelled'] and moved['shared'] == 0
         and moved['pinned'] == 0 and moved['no-room'] == 0,
         what + ': nothing was left behind', moved)
    rounds_go_on(q, smp, blocks[0], what)
    return plan, want, moved


def pin(fd, size):
    """As a device's driver does; lasts till the returned file is closed."""
    ring = lab._libc.syscall(425, 1, ctypes.create_string_buffer(120))
    memory = mmap.mmap(fd, size)
    first = ctypes.c_char.from_buffer(memory)
    address = ctypes.addressof(first)
    del first
    if ring < 0 or lab._libc.syscall(427, ring, 0, struct.pack(
            '=QQ', address, size), 1) < 0:
        raise OSError(ctypes.get_errno(), 'io_uring')
    memory.close()
    return ring


# --- from mode to mode ----------------------------------------------------

with lab.Qemu(*guest_nodes(64, kind='ram'), smp=4, mem='64M', guest='write',
              accel='kvm,pinning=numa,pinning-hostnodes=0-1') as q:
    q.wait_guest('GUEST-ROUND')
    t.ok(lab.reservation(q), 'there is a reservation')
    move(q, 'one-to-one', mode='one-to-one', hostnodes='0-1')
    plan, want, moved = move(q, 'other nodes', mode='one-to-one',
                             hostnodes='2-3')
    t.ok(all(len(m) == 1 for m in want.values())
         and {lab.node_of(m[0]) for m in want.values()} == {2, 3},
         'other nodes: one CPU each, there', want)
    t.ok(moved['moved'] >= 0.95 * 64 * MIB, 'and all memory went with it',
         moved)
    plan, want, _ = move(q, 'balanced', mode='balanced', hostnodes='1')
    t.equal({tuple(m) for m in want.values()}, {tuple(CPUS_PER_NODE[1])},
            'balanced: all CPUs of the node')
    q.events.clear()
    q.qmp('set-pinning', options={'mode': 'none'})
    t.equal({tuple(m) for m in q.vcpu_masks().values()},
            {tuple(lab.allowed())}, 'none: masks as at start')
    t.equal([q.policies('a'), q.policies('b')], [['default']] * 2,
            'none: no policies')
    t.equal(lab.reservation(q), None, 'none: no reservation')
    rounds_go_on(q, 4, 'a', 'none')

# --- kinds of memory, and what cannot move --------------------------------

for node in 2, 3:
    lab.hugepages(node, 2048, 16)
for what, kind, more, extra in (
        ('hugepages', 'memfd', {'hugetlb': 'on'}, []),
        ('memfd, locked', 'memfd', {}, ['-overcommit', 'mem-lock=on'])):
    with lab.Qemu(*guest_nodes(32, kind=kind, **more), *extra, smp=4,
                  mem='32M', guest='write', accel='kvm,pinning=numa,'
                  'pinning-hostnodes=2') as q:
        q.wait_guest('GUEST-ROUND')
        moved = move(q, what, mode='numa', hostnodes='3')[2]
        t.ok(moved['moved'] >= 0.95 * 32 * MIB, what + ': all has moved',
             moved)
        if 'hugetlb' in more:
            plan = q.qmp('set-pinning', options={'mode': 'numa',
                                                 'hostnodes': '3'})
            t.equal([(n['host-nodes'], n['policy']) for n in plan['nodes']],
                    [('3', 'bind')] * 2,
                    'the pages that it has itself are room for it')
            continue
        # Another process maps guest node 0's memory
        fd = next(int(name) for name in os.listdir('/proc/%d/fd' % q.pid)
                  if 'memory-backend-memfd' in os.readlink(
                      '/proc/%d/fd/%s' % (q.pid, name)))
        with open('/proc/%d/fd/%d' % (q.pid, fd), 'r+b') as f:
            other = mmap.mmap(f.fileno(), 16 * MIB, mmap.MAP_SHARED,
                              mmap.PROT_READ)
            for page in range(0, 16 * MIB, 4096):
                other[page]
            q.qmp('set-pinning', options={'mode': 'numa', 'hostnodes': '2'},
                  move_memory=True)
            moved = q.wait_event('PINNING_MEMORY_MOVED')['data']
            t.ok(moved['shared'] >= 0.95 * 16 * MIB
                 and moved['moved'] >= 0.95 * 16 * MIB
                 and not moved['pinned'],
                 'what another process maps is counted and left', moved)
            other.close()
            ring = pin(f.fileno(), MIB)
            q.qmp('set-pinning', move_memory=True)
            moved = q.wait_event('PINNING_MEMORY_MOVED')['data']
            t.ok(moved['pinned'] == MIB and not moved['shared']
                 and moved['moved'] >= 0.9 * 15 * MIB,
                 'what is used directly is counted and left', moved)
            os.close(ring)
            q.qmp('set-pinning', move_memory=True)
            moved = q.wait_event('PINNING_MEMORY_MOVED')['data']
            t.ok(moved['moved'] > 0 and not moved['pinned'],
                 'and moves when it is let go', moved)

# --- slowly, cancelled ----------------------------------------------------

with lab.Qemu(smp=2, mem='64M', guest='write', accel='kvm,pinning=numa,'
              'pinning-hostnodes=0') as q:
    q.wait_guest('GUEST-ROUND')
    q.qmp('set-pinning', options={'mode': 'numa', 'hostnodes': '3'},
          move_memory=True, move_speed=MIB)
    info = lab.wait_for('some memory to move', lambda: (
        lambda move: move['moved'] and move)(q.qmp('query-pinning')['move']))
    t.ok(info['total'] == 64 * MIB and info['moved'] <= info['done']
         < 32 * MIB, 'a slow move shows how far it is', info)
    q.qmp('cancel-pinning-move')
    moved = q.wait_event('PINNING_MEMORY_MOVED')['data']
    pages = q.pages()
    t.ok(moved['cancelled'] and moved['moved'] < 32 * MIB
         and pages.get(0, 0) > pages.get(3, 0),
         'cancelled: the rest stays where it is', moved, pages)
    t.ok('move' not in q.qmp('query-pinning')
         and 'pinning-move' not in [x.name for x in q.threads()],
         'and nothing moves any more')
    q.qmp('cancel-pinning-move')
    # Another placement ends a move for the one before, and says so first
    for number in range(4):
        q.qmp('set-pinning', move_memory=True, move_speed=MIB)
    t.equal([q.wait_event('PINNING_MEMORY_MOVED')['data']['cancelled']
             for number in range(3)], [True] * 3, 'three of four end early')
    move(q, 'meanwhile another placement', ['pc.ram'], 2, True,
         mode='numa', hostnodes='1')
t.done()
