# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: isolcpus
# kernels: all
# limit: 180
# needs: pinning
# modules: vhost_net tun
"""one-to-one on isolated CPUs: nobody else of the VM is ever there."""

import os
import time

import lab

t = lab.Tap()
CPUS = [2, 3]

with lab.Qemu(*lab.net(0, queues=2), '-object', 'iothread,id=io0', smp=2,
              guest='spin', accel='kvm,pinning=one-to-one,pinning-cpus=2-3',
              ) as q:
    q.wait_guest()
    tids = set(q.vcpus().values())
    t.equal(sorted(m[0] for m in q.vcpu_masks().values()), CPUS,
            'the vCPUs are on the isolated CPUs')

    def others():
        return [thread for thread in q.threads() + q.vhost_workers()
                if thread.tid not in tids]

    # What the first run of a vCPU brings forth is moved out after a moment
    lab.wait_for('others to be elsewhere', lambda: not [
        o for o in others() if set(o.mask) & set(CPUS)])
    t.ok(True, 'no other thread may run there')
    t.ok(len(others()) >= 5, 'there are others', others())
    # One that sleeps all the time was there last before it was moved
    ran = {o.tid: lab.schedstat(o.tid)[0] for o in others()}
    seen = set()
    for _ in range(12):
        time.sleep(0.1)
        seen |= {(o.tid, o.name) for o in others() if o.cpu in CPUS
                 and lab.schedstat(o.tid)[0] != ran.get(o.tid)}
    t.equal(seen, set(), 'and none ever does')
    t.ok(any(lab.schedstat(o.tid)[0] != ran.get(o.tid) for o in others()),
         'though some did run')
    said = q.qmp('query-pinning')['threads']
    t.equal([s for s in said
             if s.get('wanted-cpus', s['actual-cpus']) != s['actual-cpus']],
            [], 'query-pinning: all are where they should be')
    # Others decide about what is not new
    helper = [s for s in said if s['role'] == 'helper'][0]['thread-id']
    os.sched_setaffinity(helper, [0])
    q.qmp('stop')
    q.qmp('cont')
    time.sleep(1)
    t.equal(lab.mask(helper), [0], 'what somebody else did stays')
t.done()
