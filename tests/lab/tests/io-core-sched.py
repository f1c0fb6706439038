# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2 1n8c
# kernels: 6.12
# limit: 60
# needs: pinning
# modules: vhost_net tun
"""Core scheduling cookies, as the kernel tells them.

No kernel of Debian's has them (CONFIG_SCHED_CORE is not set), so where they
are missing it is noted what QEMU asks of the kernel, and who would then have
which cookie.
"""

import ctypes
import errno

import lab

t = lab.Tap()
PR_SCHED_CORE, GET, CREATE, SHARE_TO, SHARE_FROM = 62, 0, 1, 2, 3
THREAD = 0
HAS = ' sched_core_share_pid\n' in lab.read('/proc/kallsyms')
_libc = ctypes.CDLL(None, use_errno=True)
t.note('kernel %s core scheduling' % ('has' if HAS else 'lacks'))


class Kernel:
    """Cookies as Linux would hand them out; a thread inherits its maker's.

    That a thread was made is not seen, but that it makes a vCPU is, and
    vCPUs are made one at a time.
    """

    last = 0                    # no two VMs ever have the same

    def __init__(self):
        self.cookies = {}
        self.maker = None

    def answer(self, call):
        if call.name == 'ioctl':
            if self.maker in self.cookies:
                self.cookies.setdefault(call.tid, self.cookies[self.maker])
            self.maker = None
            return None
        if call.args[0] != PR_SCHED_CORE:
            return None
        command, other, scope = call.args[1:4]
        if scope != THREAD:
            return errno.EINVAL
        if command == CREATE and other in (0, call.tid):
            Kernel.last += 1
            self.cookies[call.tid] = Kernel.last
            self.maker = call.tid
        elif command == SHARE_FROM:
            self.cookies[call.tid] = self.cookies.get(other, 0)
            self.maker = call.tid
        elif command == SHARE_TO:
            self.cookies[other] = self.cookies.get(call.tid, 0)
        else:
            return errno.EINVAL
        return 0


def cookie(q, tid):
    if not HAS:
        return q.kernel.cookies.get(tid, 0)
    value = ctypes.c_uint64()
    if _libc.prctl(PR_SCHED_CORE, GET, tid, THREAD, ctypes.byref(value)):
        raise OSError(ctypes.get_errno(), 'PR_SCHED_CORE')
    return value.value


def machine(how, *args, **kwargs):
    kernel = Kernel()
    watch = lab.Watch(ioctls=[lab.KVM_CREATE_VCPU], calls=['prctl'],
                      answer=kernel.answer)
    q = lab.Qemu(*args, accel='kvm,pinning=one-to-one,pinning-core-sched='
                 + how, watch=None if HAS else watch, **kwargs)
    q.kernel = kernel
    return q


if lab.topology == '1n8c' or not HAS:
    said = lab.qemu_error(smp=2, accel='kvm,pinning=one-to-one,'
                          'pinning-core-sched=vm')
    t.ok(said and 'pinning-core-sched=vm' in said and 'SMT' in said,
         'a host without SMT, or a kernel without it: an error', said)
if lab.topology == '1n8c':
    t.done()

NET = lab.net(0, queues=2)
with machine('vm', *NET, smp='2,maxcpus=3') as q:
    vcpus = {cookie(q, tid) for tid in q.vcpus().values()}
    t.equal((len(vcpus), 0 in vcpus), (1, False), 'vm: one for all vCPUs')
    workers = [w for w in q.vhost_workers()]
    t.equal([cookie(q, w.tid) for w in workers], list(vcpus) * 2,
            'vm: and for the vhost workers')
    t.equal(cookie(q, q.pid), 0, 'vm: none for the main loop')
    slot = [cpu for cpu in q.qmp('query-hotpluggable-cpus')
            if 'qom-path' not in cpu][0]
    q.qmp('device_add', id='late', driver=slot['type'], **slot['props'])
    late = q.vcpus()
    t.equal((len(late), {cookie(q, tid) for tid in late.values()}),
            (3, vcpus), 'vm: a vCPU that is plugged has it, too')
    with machine('vm', smp=2) as other:
        t.ok(not vcpus & {cookie(other, tid)
                          for tid in other.vcpus().values()},
             'vm: another VM has another')
with machine('vcpu', *NET, smp=3) as q:
    vcpus = {cookie(q, tid) for tid in q.vcpus().values()}
    t.equal((len(vcpus), 0 in vcpus), (3, False), 'vcpu: one for each')
    t.equal({cookie(q, w.tid) for w in q.vhost_workers()}, {0},
            'vcpu: none for the vhost workers')
with machine('off', *NET, smp=3) as q:
    t.equal({cookie(q, tid) for tid in q.vcpus().values()}, {0}, 'off: none')
t.done()
