# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2 1n8c
# kernels: all
# limit: 60
# needs: pinning
# modules: vhost_net tun
"""Core scheduling cookies, as the kernel tells them."""

import ctypes

import lab

t = lab.Tap()
PR_SCHED_CORE, GET = 62, 0
_libc = ctypes.CDLL(None, use_errno=True)


def cookie(tid):
    value = ctypes.c_uint64()
    if _libc.prctl(PR_SCHED_CORE, GET, tid, 0, ctypes.byref(value)):
        raise OSError(ctypes.get_errno(), 'PR_SCHED_CORE')
    return value.value


def machine(how):
    return lab.Qemu(*lab.net(0, queues=2), smp=3, accel='kvm,'
                    'pinning=one-to-one,pinning-core-sched=' + how)


HAS = ' sched_core_share_pid\n' in lab.read('/proc/kallsyms')
t.note('kernel %s core scheduling' % ('has' if HAS else 'lacks'))
if lab.topology == '1n8c' or not HAS:
    said = lab.qemu_error(smp=2, accel='kvm,pinning=one-to-one,'
                          'pinning-core-sched=vm')
    t.ok(said and 'pinning-core-sched=vm' in said and 'SMT' in said,
         'a host without SMT, or a kernel without it: an error', said)
    t.done()

with machine('vm') as q:
    vcpus = {cookie(tid) for tid in q.vcpus().values()}
    t.equal((len(vcpus), 0 in vcpus), (1, False), 'vm: one for all vCPUs')
    t.equal({cookie(w.tid) for w in q.vhost_workers()}, vcpus,
            'vm: and for the vhost workers')
    t.equal(cookie(q.pid), 0, 'vm: none for the main loop')
    with lab.Qemu(smp=2, accel='kvm,pinning=one-to-one,'
                  'pinning-core-sched=vm') as other:
        t.ok(not vcpus & {cookie(tid) for tid in other.vcpus().values()},
             'vm: another VM has another')
with machine('vcpu') as q:
    vcpus = {cookie(tid) for tid in q.vcpus().values()}
    t.equal((len(vcpus), 0 in vcpus), (3, False), 'vcpu: one for each')
    t.equal({cookie(w.tid) for w in q.vhost_workers()}, {0},
            'vcpu: none for the vhost workers')
with machine('off') as q:
    t.equal({cookie(tid) for tid in q.vcpus().values()}, {0}, 'off: none')
t.done()
