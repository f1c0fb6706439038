# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: all
# limit: 300
# needs: pinning
# modules: vhost_net tun vhost_vsock
"""Iothreads are spread; nothing is left of what was unplugged; limits."""

import collections
import json
import os
import resource
import socket
import struct

import lab

t = lab.Tap()
NOBODY = 65534
REGISTRY = '/run/qemu-pinning'
nodes = []
for number in range(4):
    nodes += ['-object', 'memory-backend-ram,id=m%d,size=4M' % number,
              '-numa', 'node,nodeid=%d,cpus=%d,memdev=m%d'
              % (number, number, number)]


def iothreads(q):
    return {thread['id']: lab.mask(thread['thread-id'])
            for thread in q.qmp('query-iothreads')}


def recorded():
    """I/O threads that the reservations name, by CPU."""
    load = collections.Counter()
    for name in os.listdir(REGISTRY):
        if name.endswith('.json'):
            entry = json.loads(lab.read(os.path.join(REGISTRY, name)))
            for part in entry.get('io-load', []):
                for cpu in lab.cpus(part['host-cpus']):
                    load[cpu] += part['load']
    return load


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

# Plugged and unplugged
with lab.Qemu(*nodes, smp=4, mem='16M', machine='pc', paused=True,
              accel='kvm,pinning=numa') as q:
    def plug():
        q.qmp('netdev_add', type='tap', id='hot', ifname='tap0',
              script='no', downscript='no', vhost=True, queues=4)

    def state():
        return (len(q.threads()), len(os.listdir('/proc/%d/fd' % q.pid)),
                len(q.vhost_workers()))

    def plug_devices(number):
        plug()
        q.qmp('device_add', driver='virtio-net-pci', netdev='hot', id='nic',
              mq=True, vectors=10, romfile='')
        q.qmp('device_add', driver='vhost-vsock-pci', guest_cid=9 + number,
              id='vsock')
        count = len(q.vhost_workers())
        q.qmp('device_del', id='nic')
        q.qmp('device_del', id='vsock')
        # No guest gives them back, but then none has them
        q.qmp('system_reset')
        for _ in 'nic', 'vsock':
            while 'device' not in q.wait_event('DEVICE_DELETED')['data']:
                pass
        q.qmp('netdev_del', id='hot')
        return count

    plug_devices(0)
    before = state()
    workers = {plug_devices(number) for number in range(50)}
    after = state()
    t.equal(workers, {5}, 'plugged 50 times: each has its workers')
    t.ok(all(a <= b for a, b in zip(after, before)),
         'plugged 50 times: no thread, no file is left', before,
         after)
    q.qmp('query-pinning')
    t.equal(recorded(), {}, 'plugged 50 times: no entry is left')
    plug()
    load = collections.Counter(w.mask[0] for w in q.vhost_workers())
    t.equal((sum(load.values()), max(load.values())), (4, 1),
            'and the next is placed like the first')
    masks = q.vcpu_masks()
    lab.wait_for('workers to be beside their vCPUs', lambda: sorted(
        lab.node_of(w.mask[0]) for w in q.vhost_workers()) == sorted(
            lab.node_of(mask[0]) for mask in masks.values()))
    t.ok(True, 'beside its vCPUs when all queues are there')

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

# No more threads: the same as without pinning
for name in '/dev/kvm', '/dev/vhost-net', '/dev/net/tun':
    os.chmod(name, 0o666)
lab.run('ip', 'tuntap', 'add', 'dev', 'tap0', 'mode', 'tap', 'user',
        str(NOBODY))


def at_limit(accel):
    with lab.Qemu(smp=2, accel=accel, uid=NOBODY) as q:
        resource.prlimit(q.pid, resource.RLIMIT_NPROC, (1, 1))
        try:
            q.qmp('netdev_add', type='tap', id='hot', ifname='tap0',
                  script='no', downscript='no', vhost=True, vhostforce=True)
            error = None
        except lab.QmpError as e:
            error = str(e)
        return error, q.said(), len(q.vhost_workers()), q.ended()


stock = at_limit('kvm')
ours = at_limit('kvm,pinning=numa,pinning-registry=off')
t.equal((ours[0], ours[2:]), (stock[0], stock[2:]),
        'RLIMIT_NPROC reached: as without pinning')
if lab.kernel == '6.12':
    t.equal(ours[1], stock[1], 'RLIMIT_NPROC reached: nothing else is said')
else:
    # A thread of the kernel, which this user may not move
    t.equal(ours[1].count('stay where they are'), 1,
            'workers that cannot be placed: one warning')
t.equal(ours[3], False, 'RLIMIT_NPROC reached: QEMU goes on')
t.equal(ours[0] is not None, lab.kernel == '6.12',
        'RLIMIT_NPROC reached: an error where workers are tasks')
lab.run('ip', 'tuntap', 'del', 'dev', 'tap0', 'mode', 'tap')

# What kind of worker there is depends on more than the version
if lab.kernel == '6.12':
    lab.vhost_tasks(False)
    with lab.Qemu(*nodes, *lab.net(0, queues=4), smp=4, mem='16M',
                  paused=True, accel='kvm,pinning=one-to-one') as q:
        t.equal([(w.kind, len(w.mask), lab.node_of(w.mask[0]))
                 for w in sorted(q.vhost_workers(),
                                 key=lambda w: lab.node_of(w.mask[0]))],
                [('kthread', 1, node) for node in range(4)],
                'fork_from_owner_default=0: kernel threads, and placed')
    lab.vhost_tasks(True)
t.done()
