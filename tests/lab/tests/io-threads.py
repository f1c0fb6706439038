# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: all
# limit: 120
# needs: pinning
# modules: vhost_net tun
"""Iothreads are spread, beside the vCPUs they serve where that is known."""

import collections
import json
import os
import socket
import struct

import lab
from placed_io import iothreads, nodes, recorded

t = lab.Tap()

# 200 of them
many = []
for number in range(200):
    many += ['-object', 'iothread,id=io%d' % number]
with lab.Qemu(*nodes, *many, smp=4, mem='16M',
              accel='kvm,pinning=numa') as q:
    masks = iothreads(q)
    t.equal({len(mask) for mask in masks.values()}, {1},
            '200 iothreads: one CPU each')
    load = collections.Counter(mask[0] for mask in masks.values())
    t.equal((len(load), max(load.values()) - min(load.values())), (16, 1),
            '200 iothreads: evenly on all 16 CPUs')
    t.equal(recorded(), load, 'others see it')
    said = [s for s in q.qmp('query-pinning')['threads']
            if s['role'] == 'iothread']
    t.equal({s['device']: lab.cpus(s['actual-cpus']) for s in said}, masks,
            'query-pinning agrees')
    q.qmp('object-add', qom_type='iothread', id='hot')
    hot = iothreads(q)['hot']
    t.equal((len(hot), load[hot[0]]), (1, min(load.values())),
            'one that is added gets the emptiest CPU at once')
    q.qmp('object-del', id='hot')
    q.qmp('query-pinning')
    t.equal(recorded(), load, 'and leaves nothing behind')

# Where it is known whom they serve
disk = json.dumps({'driver': 'virtio-blk-pci', 'drive': 'd',
                   'num-queues': 4, 'romfile': '', 'iothread-vq-mapping': [
                       {'iothread': 'a', 'vqs': [2]},
                       {'iothread': 'b', 'vqs': [0]},
                       {'iothread': 'c', 'vqs': [1, 3]}]})
with lab.Qemu(*nodes, '-object', 'iothread,id=a', '-object',
              'iothread,id=b', '-object', 'iothread,id=c', '-blockdev',
              'null-co,node-name=d,size=1048576', '-device', disk, smp=4,
              mem='16M', accel='kvm,pinning=one-to-one') as q:
    masks = iothreads(q)
    vcpus = q.vcpu_masks()
    t.equal([lab.node_of(masks['a'][0]), lab.node_of(masks['b'][0])],
            [lab.node_of(vcpus[2][0]), lab.node_of(vcpus[0][0])],
            'iothread-vq-mapping: on the node of the vCPU of the queue')
    t.ok(lab.node_of(masks['c'][0]) in {lab.node_of(vcpus[1][0]),
                                        lab.node_of(vcpus[3][0])},
         'iothread-vq-mapping: of one of the vCPUs', masks)

# Threads of an iothread's pool have all I/O CPUs of its node
class Disk:
    """A file that QEMU exports by NBD from an iothread, and its client."""

    PATH = '/tmp/nbd'

    def __init__(self, q, node, iothread):
        q.qmp('nbd-server-start', addr={'type': 'unix',
                                        'data': {'path': self.PATH}})
        q.qmp('block-export-add', type='nbd', id='export', name='disk',
              node_name=node, iothread=iothread)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(self.PATH)
        assert self._get(18)[:8] == b'NBDMAGIC'
        # Without the zeroes that old servers send; option 1 is the name
        self.socket.sendall(struct.pack('>I8sII', 3, b'IHAVEOPT', 1, 4)
                            + b'disk')
        self._get(10)

    def _get(self, size):
        return self.socket.recv(size, socket.MSG_WAITALL)

    def read(self):
        self.socket.sendall(struct.pack('>IHHQQI', 0x25609513, 0, 0, 0, 0,
                                        4096))
        assert self._get(16 + 4096)[:8] == struct.pack('>II', 0x67446698, 0)


lab.write('/tmp/disk', 'x' * 4096)
with lab.Qemu(*nodes, '-object', 'iothread,id=io', '-blockdev',
              'file,node-name=d,filename=/tmp/disk', smp=4, mem='16M',
              accel='kvm,pinning=one-to-one') as q:
    io = iothreads(q)['io'][0]
    disk = Disk(q, 'd', 'io')
    taken = {mask[0] for mask in q.vcpu_masks().values()}
    want = sorted(set(lab.nodes()[lab.node_of(io)].cpus) - taken)

    def of_pool():
        """Those that query-pinning takes for ones of the pool"""
        disk.read()
        return [s for s in q.qmp('query-pinning')['threads']
                if s.get('reason') == 'of the pool of an iothread']

    t.equal({tuple(lab.cpus(s['actual-cpus']))
             for s in lab.wait_for('the pool', of_pool)}, {tuple(want)},
            'threads of a pool: on the I/O CPUs of the node')
    t.equal(iothreads(q)['io'], [io], 'and the iothread stays alone')
os.unlink('/tmp/disk')

# Placed when it runs already
with lab.Qemu(*nodes, *lab.net(0, queues=4), '-object', 'iothread,id=io',
              smp=4, mem='16M', accel='kvm') as q:
    t.equal({len(w.mask) for w in q.vhost_workers()}, {16},
            'without pinning workers are anywhere')
    q.qmp('set-pinning', options={'mode': 'one-to-one'})
    load = collections.Counter(w.mask[0] for w in q.vhost_workers()
                               if len(w.mask) == 1)
    t.equal(sorted(map(lab.node_of, load)), [0, 1, 2, 3],
            'set-pinning: a worker on each node')
    load.update(mask[0] for mask in iothreads(q).values())
    t.equal(recorded(), load, 'set-pinning: others see it')
    q.qmp('set-pinning', options={'mode': 'numa'})
    load = collections.Counter(w.mask[0] for w in q.vhost_workers())
    load.update(mask[0] for mask in iothreads(q).values())
    t.equal(recorded(), load, 'set-pinning again: others still see it')
t.done()
