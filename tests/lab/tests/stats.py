# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 120
# needs: pinning
"""Statistics of vCPUs against /proc: where, how long they wait, who shares.

What the kernel does not count is seen by those who look: another node, and
two vCPUs on one host CPU.
"""

import os

import lab

t = lab.Tap()


def stats(q):
    """By the number of the vCPU."""
    paths = {cpu['qom-path']: cpu['cpu-index']
             for cpu in q.qmp('query-cpus-fast')}
    return {paths[r['qom-path']]: {s['name']: s['value'] for s in r['stats']}
            for r in q.qmp('query-stats', target='vcpu',
                           providers=[{'provider': 'pinning'}])}


with lab.Qemu(smp=3, guest='spin', accel='kvm,pinning=one-to-one,'
              'pinning-registry=off') as q:
    q.wait_guest()
    tids = q.vcpus()
    home = {vcpu: mask[0] for vcpu, mask in q.vcpu_masks().items()}
    first = stats(q)
    t.equal({v: s['last-cpu'] for v, s in first.items()}, home,
            'vCPUs that spin are on their CPUs')
    t.equal([s['stacked'] + s['node-migrations'] for s in first.values()],
            [0, 0, 0], 'alone, on their nodes')
    before = lab.schedstat(tids[1])[1]
    middle = stats(q)[1]['run-delay']
    t.ok(before <= middle <= lab.schedstat(tids[1])[1],
         'run-delay is that of the kernel', before, middle)

    away = next(c for c in lab.online()
                if lab.node_of(c) != lab.node_of(home[0]))
    os.sched_setaffinity(tids[0], [away])
    lab.wait_for('vCPU 0 to move', lambda: lab.last_cpu(tids[0]) == away)
    now = stats(q)
    t.ok(now[0]['last-cpu'] == away and now[0]['node-migrations'] == 1
         and now[0]['cpu-migrations'] > first[0]['cpu-migrations'],
         'one that is moved to another node is counted', first[0], now[0])
    t.equal(now[2]['node-migrations'], 0, 'no other is')

    os.sched_setaffinity(tids[0], [home[1]])
    lab.wait_for('two on one CPU', lambda: stats(q)[1]['stacked'] > 0)
    now = stats(q)
    t.ok(now[0]['stacked'] > 0 and now[2]['stacked'] == 0,
         'two that share a CPU are seen, the third is not', now)
    t.equal([x['stacked'] > 0 for x in q.qmp('query-pinning')['threads']
             if x['role'] == 'vcpu'], [True, True, False],
            'query-pinning tells that, too')
    t.ok(stats(q)[1]['run-delay'] > middle, 'they wait for each other')
    t.ok('differs: vcpu 0' in q.hmp('info pinning'),
         'the map says who is elsewhere', q.hmp('info pinning'))
t.done()
