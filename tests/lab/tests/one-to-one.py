# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: all
# kernels: all
# limit: 120
# needs: pinning
"""one-to-one under KVM: query-pinning and /proc agree, on every host.

Each vCPU has one host CPU, which is online, allowed, not isolated and no
other vCPU's; cores come before their siblings; a spinning vCPU runs there.
"""

import time

import lab

t = lab.Tap()
ACCEL = 'kvm,pinning=one-to-one'


def usable():
    """What automatic choice may use, by /proc and /sys alone."""
    return [cpu for cpu in lab.allowed()
            if cpu in lab.online() and cpu not in lab.isolated()]


def cores(cpus):
    """Cores, as sets of usable siblings."""
    return {tuple(c for c in lab.siblings(cpu) if c in usable())
            for cpu in cpus}


def vcpu_threads(q):
    """What query-pinning says of the vCPUs."""
    return {thread['vcpu']: thread
            for thread in q.qmp('query-pinning')['threads']
            if thread['role'] == 'vcpu'}


def check(name, q):
    """What holds for every one-to-one VM; the host CPU of each vCPU."""
    tids = q.vcpus()
    masks = q.vcpu_masks()
    said = vcpu_threads(q)
    t.equal({v: s['thread-id'] for v, s in said.items()}, tids,
            name + ': query-pinning knows the vCPU threads')
    t.equal([(s['wanted-cpus'], s['actual-cpus'])
             for _, s in sorted(said.items())],
            [(lab.show(masks[v]),) * 2 for v in sorted(masks)],
            name + ': query-pinning and /proc agree')
    t.equal([len(m) for m in masks.values()], [1] * len(tids),
            name + ': one host CPU for each vCPU')
    used = [m[0] for m in masks.values()]
    t.equal(len(set(used)), len(tids), name + ': no two on one')
    t.equal(set(used) - set(usable()), set(),
            name + ': online, allowed, not isolated')
    t.ok(all(s.get('reason') for s in said.values()),
         name + ': with a reason', said)
    t.equal(q.policies(), ['default'], name + ': memory is left alone')
    return [masks[v][0] for v in sorted(masks)]


def running_there(q, used):
    """Several looks at where spinning vCPUs run."""
    tids = q.vcpus()
    for _ in range(5):
        time.sleep(0.1)
        now = [lab.last_cpu(tids[v]) for v in sorted(tids)]
        if now != used:
            return now
    return used


with lab.Qemu(smp=2, accel=ACCEL, guest='spin') as q:
    used = check('2 vCPUs', q)
    q.wait_guest()
    t.equal(running_there(q, used), used, '2 vCPUs: they run there')
    t.equal(len(cores(used)), 2, '2 vCPUs: on two cores')

pairs = [core for core in cores(usable()) if len(core) == 2]
if len(pairs) >= 2:
    with lab.Qemu(smp='4,sockets=1,cores=2,threads=2', accel=ACCEL) as q:
        used = check('threads=2', q)
        t.equal([lab.siblings(used[0]), lab.siblings(used[2])],
                [sorted(used[0:2]), sorted(used[2:4])],
                'threads=2: guest siblings are host siblings')
else:
    t.skip('threads=2', 'no two cores with two usable threads')

if lab.topology == 'hotplug':
    lab.unplug_cpu(7)

total = len(usable())
if total <= 16:
    with lab.Qemu(smp=total, accel=ACCEL) as q:
        t.equal(sorted(check('all %d' % total, q)), usable(),
                'all %d: every usable CPU has one' % total)
said = lab.qemu_error(smp=total + 1, accel=ACCEL)
t.ok(said and 'one-to-one' in said and str(total) in said
     and str(total + 1) in said,
     'one more is an error that names both numbers', said)

if lab.topology == 'hotplug':
    lab.plug_cpu(7)

# Linux leaves isolated CPUs out of the mask that everybody inherits
isolated = lab.isolated()[-2:]
for name, affinity in (('', None), (' and inherited', lab.online())):
    if isolated:
        with lab.Qemu(smp=2, affinity=affinity,
                      accel='%s,pinning-cpus=%s' % (
                          ACCEL, lab.show(isolated))) as q:
            t.equal(sorted(cpus[0] for cpus in q.vcpu_masks().values()),
                    isolated, 'isolated CPUs are used when named' + name)

# Under a mask that was there before us
some = usable()[-3:-1]
with lab.Qemu(smp=2, accel=ACCEL, affinity=some) as q:
    t.equal(sorted(cpus[0] for cpus in q.vcpu_masks().values()), some,
            'an inherited mask is not left')
t.done()
