# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: all
# limit: 120
# needs: linux-guest
# modules: vhost_net tun
"""The Linux guest says what it sees of NUMA and answers pings by vhost."""

import lab

t = lab.Tap()


def backend(name, mib, node):
    return ['-object', 'memory-backend-ram,id=%s,size=%dM,host-nodes=%d,'
            'policy=bind' % (name, mib, node)]


with lab.Qemu(*lab.net(queues=2), *backend('a', 96, 0),
              *backend('b', 64, 2),
              '-numa', 'node,nodeid=0,memdev=a,cpus=0',
              '-numa', 'node,nodeid=1,memdev=b,cpus=1',
              '-numa', 'dist,src=0,dst=1,val=17', guest='linux', smp=2,
              mem='160M') as q:
    lab.net_up()
    t.equal(q.wait_guest('INNER-UP'), 'INNER-UP cpus=0-1',
            'the Linux guest is up')
    seen = [line.split() for line in q.serial().split('\n')
            if line.startswith('INNER-NODE')]
    t.equal([line[1:3] + line[4:] for line in seen],
            [['0', 'cpus=0', 'distance=10', '17'],
             ['1', 'cpus=1', 'distance=17', '10']],
            'and says what it sees of NUMA')
    busy = [lab.schedstat(w.tid)[0] for w in q.vhost_workers()]
    t.equal(lab.ping(count=3), 3, 'and answers pings')
    t.ok(sum(lab.schedstat(w.tid)[0] for w in q.vhost_workers())
         > sum(busy), 'which go through the vhost workers')
t.done()
