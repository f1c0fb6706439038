# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 120
# needs: pinning
"""A vCPU has its place from the start; when that has gone, it is refused.

The guest sees nothing of what is refused.
"""

import lab

t = lab.Tap()


def refused(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
        return None
    except lab.QmpError as e:
        return str(e)


def plug(q):
    q.qmp('device_add', driver='host-x86_64-cpu', id='late', socket_id=3,
          core_id=0, thread_id=0)


with lab.Qemu(smp='3,maxcpus=4,sockets=4,cores=1,threads=1',
              accel='kvm,pinning=one-to-one,pinning-cpus=4-7,'
              'pinning-registry=off') as q:
    used = sum(q.vcpu_masks().values(), [])
    left = next(c for c in range(4, 8) if c not in used)
    t.ok(any('%d r' % left in line for line in
             q.hmp('info pinning').split('\n')), 'the map shows what is '
         'reserved', q.hmp('info pinning'))
    lab.cpu_online(left, False)
    said = refused(plug, q)
    t.ok(said and 'vCPU 3' in said and 'host CPUs %d' % left in said,
         'a vCPU whose CPU is offline is refused', said)
    t.equal([len(q.qmp('query-cpus-fast')),
             [e for e in q.events if e['event'].startswith('ACPI')]], [3, []],
            'and nobody has seen it')
    lab.cpu_online(left, True)
    plug(q)
    t.equal(q.vcpu_masks()[3], [left], 'when it is back, it is not')
t.done()
