# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 120
"""guest.S does what tests rely on; mbind and numa_maps are real."""

import lab

t = lab.Tap()
MIB = 1024


def backend(name, mib, node):
    return ['-object', 'memory-backend-ram,id=%s,size=%dM,host-nodes=%d,'
            'policy=bind' % (name, mib, node)]


# Two guest nodes bound to host nodes 1 and 3, all touched by all vCPUs
with lab.Qemu(*backend('a', 64, 1), *backend('b', 64, 3),
              '-numa', 'node,memdev=a,cpus=0-1',
              '-numa', 'node,memdev=b,cpus=2-3',
              guest='spin', smp=4, mem='128M') as q:
    t.equal(q.wait_guest(), 'GUEST-OK cpus=04 pages=00007F00',
            'guest.S touched all but the first of 128 MiB')
    t.equal([q.policies('a'), q.policies('b')], [['bind:1'], ['bind:3']],
            'numa_maps shows the policies')
    for name, node, kib in ('a', 1, 63 * MIB), ('b', 3, 64 * MIB):
        pages = q.pages(name)
        t.ok(list(pages) == [node] and pages[node] >= kib,
             'guest node %s is on host node %d, all of it' % (name, node),
             pages)
    tids = list(q.vcpus().values())
    before = [lab.schedstat(tid)[0] for tid in tids]
    t.ok(lab.wait_for('vCPUs to run', lambda: all(
        lab.schedstat(tid)[0] > old for tid, old in zip(tids, before))),
        'all vCPUs of guest.S "spin" use time')

with lab.Qemu(guest='write', smp=2, mem='16M') as q:
    q.wait_guest('GUEST-ROUND')
    first = q.rounds(2)
    lab.wait_for('more rounds', lambda: min(q.rounds(2)) > max(first))
    t.ok('GUEST-BAD' not in q.serial(),
         'guest.S "write" goes through its memory and finds it right')
    # Word 1 of a page is vCPU 1's
    q.poke(0x234000 + 4, b'\0\0\0\0')
    t.equal(q.wait_guest('GUEST-BAD'), 'GUEST-BAD 00234004',
            'and sees a wrong word')
t.done()
