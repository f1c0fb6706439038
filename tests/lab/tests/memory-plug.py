# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 240
# needs: pinning
"""Memory devices: their memory follows their guest node.

pc-dimm and virtio-mem, cold and hot, preallocated or not; set-numa-node.
"""

import lab

t = lab.Tap()
MIB = 1024 * 1024
SLOTS = dict(mem='64M,slots=8,maxmem=1G', smp=4, accel='kvm,pinning=numa')
NODES = ['-object', 'memory-backend-ram,id=a,size=32M',
         '-object', 'memory-backend-ram,id=b,size=32M',
         '-numa', 'node,memdev=a,cpus=0-1,hostnodes=3',
         '-numa', 'node,memdev=b,cpus=2-3,hostnodes=1']


def block(q, name):
    """A device may put its address before the name of its memory."""
    return next(b for b in q.ram_blocks() if b.split('/')[-1] == name)


def where(q, name, node, bytes_there=None):
    """Policy and pages of a backend are those of host node @node."""
    t.equal(q.policies(block(q, name)), ['bind:%d' % node],
            name + ' has the policy')
    pages = q.pages(block(q, name))
    if bytes_there is None:
        t.ok(set(pages) <= {node}, name + ' has no page elsewhere', pages)
    else:
        t.equal(pages, {node: bytes_there // 1024},
                name + ' has its pages there')


def shown(q):
    return {m['id']: (m['policy'], m['host-nodes'])
            for m in q.qmp('query-memdev')}


with lab.Qemu(*NODES,
              '-object', 'memory-backend-ram,id=c0,size=128M,prealloc=on',
              '-device', 'pc-dimm,id=d0,memdev=c0,node=1',
              '-object', 'memory-backend-ram,id=c1,size=128M,prealloc=on',
              '-device', '{"driver":"pc-dimm","id":"d1","memdev":"c1",'
              '"node":0}', **SLOTS) as q:
    q.wait_guest()
    where(q, 'c0', 1, 128 * MIB)
    where(q, 'c1', 3, 128 * MIB)
    for name, prealloc, guest_node, node in (('h0', False, 0, 3),
                                             ('h1', True, 1, 1)):
        q.qmp('object-add', qom_type='memory-backend-ram', id=name,
              size=128 * MIB, prealloc=prealloc)
        t.equal(shown(q)[name], ('default', []),
                name + ' is nobody\'s before it is plugged')
        q.qmp('device_add', driver='pc-dimm', id='dimm-' + name, memdev=name,
              node=guest_node)
        where(q, name, node, 128 * MIB if prealloc else None)
        t.equal(shown(q)[name], ('bind', [node]), name + ' shows it')
    said = q.qmp('query-pinning')['memory']
    t.equal([m['size'] // MIB for m in said], [32 + 256, 32 + 256],
            'query-pinning counts it')
    t.equal([[m['host-node'] for m in one['actual']] for one in said],
            [[3], [1]], 'on its host nodes')
    q.qmp('object-add', qom_type='memory-backend-ram', id='u',
          size=128 * MIB, **{'host-nodes': [2], 'policy': 'bind'})
    q.qmp('device_add', driver='pc-dimm', id='du', memdev='u', node=0)
    t.equal(q.policies('u'), ['bind:2'], "a policy of the user's")

with lab.Qemu(*NODES,
              '-object', 'memory-backend-ram,id=v,size=256M',
              '-device', 'virtio-mem-pci,id=vm,memdev=v,node=1,'
              'requested-size=64M', **SLOTS) as q:
    q.wait_guest()
    where(q, 'v', 1)
    q.qmp('object-add', qom_type='memory-backend-ram', id='w',
          size=256 * MIB)
    q.qmp('device_add', driver='pc-dimm', id='dw', memdev='w', node=0)
    where(q, 'w', 3)
    t.equal(q.said(), '', 'without a word')

# More than its host node has: better elsewhere than not at all
with lab.Qemu(*NODES, mem='64M,slots=4,maxmem=4G', smp=4,
              accel='kvm,pinning=numa') as q:
    q.qmp('object-add', qom_type='memory-backend-ram', id='big',
          size=1536 * MIB)
    q.qmp('device_add', driver='pc-dimm', id='db', memdev='big', node=0)
    t.ok(q.policies('big')[0].startswith('prefer')
         and q.policies('big')[0].endswith(':3'),
         'what finds no room is preferred there', q.policies('big'))
    t.ok("'big'" in q.said() and '1536 MiB' in q.said(), 'with a warning',
         q.said())

# Guest nodes that the monitor makes
with lab.Qemu('-preconfig', '-object', 'memory-backend-ram,id=a,size=32M,'
              'prealloc=on', '-object', 'memory-backend-ram,id=b,size=32M',
              mem='64M', smp=4) as q:
    for number, name, nodes in (0, 'a', [3]), (1, 'b', [0, 1]):
        q.qmp('set-numa-node', type='node', nodeid=number, memdev=name,
              cpus=[2 * number, 2 * number + 1], hostnodes=nodes)
    q.qmp('x-exit-preconfig')
    q.wait_guest()
    where(q, 'a', 3, 32 * MIB)
    t.equal(q.policies('b'), ['bind=balancing:0-1'], 'set-numa-node with two hostnodes')
with lab.Qemu('-preconfig', '-object', 'memory-backend-ram,id=a,size=32M',
              '-object', 'memory-backend-ram,id=b,size=32M',
              '-numa', 'node,nodeid=0,memdev=a', mem='64M', smp=4,
              accel='kvm,pinning=numa') as q:
    q.qmp('set-numa-node', type='node', nodeid=1, memdev='b',
          hostnodes=[2], policy='preferred')
    for vcpu in 0, 1, 2, 3:
        q.qmp('set-numa-node', **{
            'type': 'cpu', 'node-id': vcpu // 2, 'socket-id': 0,
            'core-id': vcpu, 'thread-id': 0})
    q.qmp('x-exit-preconfig')
    q.wait_guest()
    t.ok(q.policies('b')[0].startswith('prefer')
         and q.policies('b')[0].endswith(':2'),
         'set-numa-node with a policy', q.policies('b'))
    masks = q.vcpu_masks()
    t.equal([{lab.node_of(cpu) for cpu in masks[v]} for v in (2, 3)],
            [{2}, {2}], 'vCPUs follow set-numa-node')
    a = int(q.qmp('query-pinning')['memory'][0]['host-nodes'])
    t.equal([{lab.node_of(cpu) for cpu in masks[v]} for v in (0, 1)],
            [{a}, {a}], 'all of them')
    where(q, 'a', a)
t.done()
