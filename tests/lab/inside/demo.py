# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# limit: 120
# needs: pinning
"""Two VMs with different modes on one host, and who sits where.

The map is drawn from /proc and /sys alone; QEMU is not asked.
"""

import lab

VMS = [
    ('A', 'one-to-one', dict(smp='4,sockets=2,cores=1,threads=2')),
    ('B', 'numa', dict(smp='8,sockets=2,cores=2,threads=2')),
]
MIB = 1024


def guest_nodes(smp):
    """Two guest nodes of 96 MiB with half of the vCPUs each."""
    half = int(smp.split(',')[0]) // 2
    out = []
    for node in range(2):
        out += ['-object', 'memory-backend-ram,id=ram%d,size=96M' % node,
                '-numa', 'node,nodeid=%d,memdev=ram%d,cpus=%d-%d' % (
                    node, node, node * half, node * half + half - 1)]
    return out


def start(mode, smp):
    return lab.Qemu(*guest_nodes(smp), smp=smp, mem='192M', guest='spin',
                    accel='kvm,pinning=' + mode)


def who(vms, cpu):
    """vCPUs that may run on a host CPU: alone there, or floating."""
    out = []
    for name, _, q in vms:
        for vcpu, mask in sorted(q.vcpu_masks().items()):
            if mask == [cpu]:
                out.append('%s.%d' % (name, vcpu))
            elif cpu in mask and len(mask) < len(lab.online()):
                out.append('(%s.%d)' % (name, vcpu))
    return ' '.join(out) or '-'


def draw(vms):
    distances = {}
    for node, facts in lab.nodes().items():
        distances[node] = facts.distances
        memory = ', '.join(
            '%s.ram%d %d MiB' % (name, guest, kib // MIB)
            for name, _, q in vms for guest in range(2)
            for where, kib in q.pages('ram%d' % guest).items()
            if where == node and kib >= MIB)
        print('  +-- host node %d, distances %s' % (
            node, ' '.join(map(str, facts.distances))))
        print('  |   guest memory: %s' % (memory or '-'))
        done = set()
        for cpu in facts.cpus:
            if cpu in done:
                continue
            print('  |   core %s' % lab.show(lab.siblings(cpu)))
            for one in lab.siblings(cpu):
                print('  |     CPU %-2d  %s' % (one, who(vms, one)))
                done.add(one)
    print('  +--')


vms = []
for name, mode, options in VMS:
    q = start(mode, **options)
    vms.append((name, mode, q))
    print('VM %s: pinning=%s, -smp %s, two guest nodes; process %d' % (
        name, mode, options['smp'], q.pid))
for _, _, q in vms:
    q.wait_guest()
print('\nA.0 is vCPU 0 of VM A, with this CPU for itself; (B.0) may run')
print('here and elsewhere.  Linux %s, kvm:\n' % lab.kernel)
draw(vms)
print('\nWhat VM A says of itself ("info pinning"):\n')
print(vms[0][2].hmp('info pinning').replace('\r', ''))
