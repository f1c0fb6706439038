# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 60
# needs: pinning
"""vhost-user: another process, for which query-pinning has advice."""

import os
import socket
import struct
import threading

import lab

t = lab.Tap()
PATH = '/tmp/vhost-user'
GET_FEATURES, GET_PROTOCOL_FEATURES, GET_QUEUE_NUM = 1, 15, 17
# Protocol features and version 1; the multiqueue feature; queues
ANSWERS = {GET_FEATURES: 1 << 30 | 1 << 32, GET_PROTOCOL_FEATURES: 1,
           GET_QUEUE_NUM: 8}


def serve(listener):
    """As much of a backend as QEMU needs to start."""
    peer, _ = listener.accept()
    while True:
        head = peer.recv(12, socket.MSG_WAITALL)
        if len(head) < 12:
            return
        request, _, size = struct.unpack('<III', head)
        if size:
            peer.recv(size, socket.MSG_WAITALL)
        if request in ANSWERS:
            peer.sendall(struct.pack('<IIIQ', request, 5, 8,
                                     ANSWERS[request]))


listener = socket.socket(socket.AF_UNIX)
listener.bind(PATH)
listener.listen()
threading.Thread(target=serve, args=(listener,), daemon=True).start()
args = ['-chardev', 'socket,id=other,path=' + PATH, '-netdev',
        'vhost-user,id=dpdk,chardev=other,queues=4', '-device',
        'virtio-net-pci,netdev=dpdk,mq=on,vectors=10,romfile=']
for node in range(4):
    args += ['-object', 'memory-backend-ram,id=m%d,size=4M,share=on' % node,
             '-numa', 'node,nodeid=%d,cpus=%d,memdev=m%d'
             % (node, node, node)]
with lab.Qemu(*args, smp=4, mem='16M', paused=True,
              accel='kvm,pinning=one-to-one') as q:
    advice = q.qmp('query-pinning')['advice']
    t.equal([(a['device'], a['queue']) for a in advice],
            [('dpdk', n) for n in range(4)], 'advice for each queue')
    masks = q.vcpu_masks()
    for a in advice:
        vcpu = masks[a['queue']][0]
        cpus = lab.cpus(a['host-cpus'])
        t.equal(({lab.node_of(cpu) for cpu in cpus}, vcpu in cpus),
                ({lab.node_of(vcpu)}, False),
                'queue %d: on the node of its vCPU, not on it' % a['queue'])
with lab.Qemu(smp=2, paused=True, accel='kvm,pinning=numa') as q:
    t.equal(q.qmp('query-pinning')['advice'], [], 'none when none is needed')
os.unlink(PATH)
t.done()
