# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 120
# needs: pinning
"""A host with two kinds of cores: KVM is set up on the kind of the vCPUs.

The lab has one kind; what sysfs says of two is put over it, for this test
alone: CPUs 0-11 are performance cores, 12-15 efficient ones.
"""

import ctypes
import os

import lab

t = lab.Tap()
KVM_CREATE_VM = 0xae01
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 4096, 0x4000, 1 << 18
KINDS = {'cpu_core': '0-11', 'cpu_atom': '12-15'}
libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind, flags):
    if libc.mount(source.encode(), target.encode(), kind.encode(), flags,
                  None):
        raise OSError(ctypes.get_errno(), 'mount ' + target)


def make_hybrid():
    if libc.unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), 'unshare')
    mount('none', '/', '', MS_REC | MS_PRIVATE)
    new = '/tmp/devices'
    os.makedirs(new + '/system')
    mount('/sys/devices/system', new + '/system', '', MS_BIND | MS_REC)
    for name, cpus in KINDS.items():
        os.mkdir(new + '/' + name)
        lab.write('%s/%s/cpus' % (new, name), cpus + '\n')
    mount(new, '/sys/devices', '', MS_BIND | MS_REC)


def emulator_cpus(q):
    return next(lab.cpus(x['wanted-cpus'])
                for x in q.qmp('query-pinning')['threads']
                if x['role'] == 'main')


def start(name, options, want, *args):
    """The mask when KVM was asked for a VM, and what is at the end."""
    watch = lab.Watch(ioctls=[KVM_CREATE_VM])
    with lab.Qemu(*args, smp=2, watch=watch, accel='kvm,' + options) as q:
        vm = [call.mask for call in watch.ioctl(KVM_CREATE_VM)]
        # It may be interrupted and called again
        t.ok(vm and all(mask == want for mask in vm),
             name + ': KVM_CREATE_VM is called there', vm)
        masks = sum(q.vcpu_masks().values(), [])
        t.equal(set(masks) - set(want), set(),
                name + ': and so are the vCPUs')
        helpers = [x for x in q.threads()
                   if x.tid not in q.vcpus().values()]
        where = emulator_cpus(q)
        t.equal([x for x in helpers if x.mask != where
                 and x.name != 'kvm-nx-lpage-re'], [],
                name + ': all others are released')
        return q.said(), where


make_hybrid()
big, small = lab.cpus(KINDS['cpu_core']), lab.cpus(KINDS['cpu_atom'])
every = big + small
said, _ = start('largest', 'pinning=one-to-one', big)
t.ok('several kinds' not in said, 'nothing to warn of', said)
start('efficient', 'pinning=one-to-one,pinning-cpu-kind=efficient', small)
start('performance', 'pinning=numa,pinning-cpu-kind=performance', big)
_, where = start('emulator CPUs', 'pinning=one-to-one,'
                 'pinning-cpu-kind=efficient,pinning-emulator-cpus=0-15',
                 small)
t.equal(where, every, 'emulator CPUs: of any kind')

# Mixed, and the guest is told of the counters of one kind
MIX = 'pinning=one-to-one,pinning-cpu-kind=any,pinning-cpus=11-12'
said, _ = start('mixed', MIX, lab.allowed())
t.ok('several kinds' in said and 'pmu=on' in said, 'mixed: a warning', said)
said, _ = start('mixed without pmu', MIX, lab.allowed(), '-cpu',
                'host,pmu=off')
t.ok('several kinds' not in said, 'mixed without pmu: no warning', said)
t.done()
