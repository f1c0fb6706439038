# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 120
# needs: pinning
"""All memory that a guest touches is on the host nodes of the plan.

Every mode, by numa_maps: at least 99.9 % of the pages of each guest node.
memory-kinds has the kinds of memory.
"""

import lab
from placed import both, check, flat, guest_nodes

t = lab.Tap()


def planned(q):
    """Host node of each guest node, which two vCPUs each must be on."""
    nodes = [m['host-nodes'] for m in q.qmp('query-pinning')['memory']]
    masks = q.vcpu_masks()
    for number, node in enumerate(nodes):
        for vcpu in (2 * number, 2 * number + 1):
            if {str(lab.node_of(cpu)) for cpu in masks[vcpu]} != {node}:
                return None
    return nodes


for accel in 'kvm', 'tcg,thread=multi', 'tcg,thread=single':
    short = accel.replace('tcg,thread=', 'tcg ')
    tcg = 'tcg' in accel
    for mode in ('numa',) if tcg else ('balanced', 'numa', 'spread'):
        with lab.Qemu(accel='%s,pinning=%s' % (accel, mode), smp=2,
                      mem='64M') as q:
            node = q.qmp('query-pinning')['memory'][0]['host-nodes']
            check(t, '%s %s, -m alone' % (short, mode), q, flat(64, node))
    if 'single' in accel:
        continue
    for mode in ('numa', 'one-to-one') if tcg else (
            'balanced', 'numa', 'spread', 'one-to-one'):
        with lab.Qemu(*guest_nodes(64), smp=4, mem='64M',
                      accel='%s,pinning=%s' % (accel, mode)) as q:
            nodes = planned(q)
            t.ok(nodes, '%s %s: vCPUs are where the memory is'
                 % (short, mode), q.vcpu_masks())
            if nodes:
                check(t, '%s %s, two guest nodes' % (short, mode), q,
                      both(64, *nodes))
t.done()
