# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 120
# needs: pinning
"""Whoever preallocates guest memory runs beside it, and is gone afterwards."""

import lab
from placed import MIB, guest_nodes

t = lab.Tap()
lab.SYSCALLS['madvise'] = 28
POPULATE_WRITE = 23
for name, args, smp in (
        ('two guest nodes', guest_nodes(64, '32', prealloc='on'), 4),
        ('one vCPU, -mem-prealloc', ['-mem-prealloc'], 1),
        ('-mem-prealloc', ['-mem-prealloc'], 2),
        ('pinning-vnuma', ['-mem-prealloc'], '2,sockets=2')):
    watch = lab.Watch(calls=['madvise'])
    with lab.Qemu(*args, smp=smp, mem='64M', watch=watch,
                  accel='kvm,pinning=numa,pinning-hostnodes=2-3'
                  + (',pinning-vnuma=on' if 'vnuma' in name else '')) as q:
        done, wrong = set(), []
        where = {}
        for vma in q.vmas():
            if vma.policy.startswith('bind:'):
                for page in range(vma.start, vma.end, 2 * MIB):
                    where[page] = int(vma.policy[5:])
        for call in watch.seen:
            begin, size, advice = call.args[:3]
            if advice != POPULATE_WRITE or size < MIB:
                continue
            for page in range(begin, begin + size, 2 * MIB):
                if page in where and page not in done:
                    done.add(page)
                    if {lab.node_of(c) for c in call.mask} != {where[page]}:
                        wrong.append(call)
        t.ok(len(done) * 2 * MIB >= 64 * MIB and not wrong,
             'preallocated from its node: ' + name, len(done), wrong[:3])
        t.equal([x.name for x in q.threads() if x.name.startswith('TC ')
                 or x.name == 'touch_pages'], [], 'which leaves no thread')
t.done()
