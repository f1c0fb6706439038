# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 120
# needs: pinning
"""Eight VMs started at once, some of them killed while they start.

They want all the host has: each CPU once, and as much memory as fits.  What
they have is read from /proc; what they hold is asked of the tool when all of
them are dead.
"""

import collections
import json
import os
import random
import signal
import time

import lab

t = lab.Tap()
REGISTRY = '/run/registry-vms'
VMS = 8
KILLS = 4
seed = int.from_bytes(os.urandom(4), 'big')
random.seed(seed)
t.note('seed %d' % seed)


def start(options, *args):
    """Does not wait: that they start at once is the point"""
    args = [lab.QEMU, '-nodefaults', '-display', 'none', '-name',
            'vm,debug-threads=on', '-bios', '/lab/guest-idle.bin', '-smp',
            '2', '-accel', 'kvm,pinning-registry=%s,%s' % (REGISTRY,
                                                           options), *args]
    pid = os.fork()
    if pid == 0:
        os.execv(args[0], args)
    return pid


def end(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def vcpus(pid):
    """Masks of the vCPUs that are there by now"""
    return [task.mask for task in lab.tasks(pid)
            if task.name.startswith('CPU ')]


def storm(*args):
    """Start, kill and replace; the VMs that are left, and what was seen"""
    vms = [start(*args) for _ in range(VMS)]
    seen = []
    for _ in range(KILLS):
        time.sleep(random.uniform(0, 1.5))
        victim = random.randrange(VMS)
        end(vms[victim])
        vms[victim] = start(*args)
        seen.append({pid: vcpus(pid) for pid in vms})
    lab.wait_for('all VMs', lambda: all(len(vcpus(pid)) == 2 for pid in vms))
    seen.append({pid: vcpus(pid) for pid in vms})
    return vms, seen


def entries():
    return json.loads(lab.run('qemu-pinning', 'list', '--json', '--registry',
                              REGISTRY)[1])


def after(name, vms):
    for pid in vms:
        end(pid)
    t.equal([e for e in entries() if e['pid']], [],
            name + ': all have died, nothing is held')


vms, seen = storm('pinning=one-to-one,pinning-exclusive=on', '-m', '16M')
for number, masks in enumerate(seen):
    flat = [mask for pid in masks for mask in masks[pid]]
    t.equal((len(sum(flat, [])), len(set(map(tuple, flat)))),
            (len(flat), len(flat)),
            'one-to-one, look %d: no CPU has two' % number)
t.equal(sorted(mask[0] for masks in seen[-1].values() for mask in masks),
        lab.online(), 'one-to-one: in the end each CPU has one')
after('one-to-one', vms)

free = {node: int(lab.field(
    lab.read(lab.NODE + 'node%d/meminfo' % node).replace(
        'Node %d ' % node, ''), 'MemFree').split()[0]) << 10
    for node in lab.nodes()}
# Two on each node, and no third, although nobody touches any of it
size = min(free.values()) // 5 * 2 >> 20
vms, seen = storm('pinning=balanced', '-m', '%dM' % size, '-S')
promised = collections.Counter()
cpus = collections.Counter()
held = [entry for entry in entries() if entry['pid']]
for entry in held:
    for memory in entry['memory']:
        promised[memory['host-node']] += memory['size']
t.equal(len(held), VMS, 'balanced: each has an entry')
t.equal(sum(promised.values()), VMS * size << 20,
        'balanced: all of them promise themselves their memory')
t.equal({node: n for node, n in promised.items() if n > free[node]}, {},
        'balanced: no node promises more than it has')
for pid in vms:
    nodes = {lab.node_of(cpu) for mask in vcpus(pid) for cpu in mask}
    cpus.update(nodes)
t.equal(cpus, {node: 2 for node in free}, 'balanced: two VMs on each node')
after('balanced', vms)
t.equal(lab.run('qemu-pinning', 'list', '--gc', '--registry', REGISTRY)[0],
        0, 'what is left can be removed')
t.equal(os.listdir(REGISTRY), ['lock'], 'and then nothing is left')

# Who overlaps is told, and who must not is refused by name
SAME = 'kvm,pinning=one-to-one,pinning-cpus=4-5'
with lab.Qemu(smp=2, paused=True, accel=SAME) as first:
    t.equal(first.qmp('query-pinning')['overlaps'], [], 'alone: no overlap')
    with lab.Qemu(smp=2, paused=True, accel=SAME + ',,12') as second:
        seen = second.qmp('query-pinning')['overlaps']
        t.equal([(o['pid'], o['mode'], lab.cpus(o['host-cpus']))
                 for o in seen], [(first.pid, 'one-to-one',
                                   sorted({4, 5} & {m[0] for m in second
                                           .vcpu_masks().values()}))],
                'an overlap is told by the one')
        t.equal([(o['pid'], o['host-cpus']) for o in
                 first.qmp('query-pinning')['overlaps']],
                [(second.pid, seen[0]['host-cpus'])], 'and by the other')
        t.ok('nobody else has' in second.said(), 'and said at the start',
             second.said())
        name = first.qmp('query-name')['name']
        t.equal(seen[0]['name'], name, 'with its name')
        line = "shared: %s with '%s', pid %d" % (seen[0]['host-cpus'], name,
                                                 first.pid)
        said = second.hmp('info pinning')
        t.ok(line in said.splitlines(), '"info pinning" has it, too', said)
    t.equal(first.qmp('query-pinning')['overlaps'], [], 'until it ends')
with lab.Qemu(smp=2, paused=True,
              accel=SAME + ',pinning-exclusive=on') as first:
    said = lab.qemu_error(smp=2, accel=SAME)
    t.ok(said and first.qmp('query-name')['name'] in said,
         'exclusive: an explicit overlap is refused by name', said)
    with lab.Qemu(smp=14, paused=True, accel='kvm,pinning=one-to-one') as q:
        t.equal(sorted(sum(q.vcpu_masks().values(), [])),
                [cpu for cpu in lab.online() if cpu not in (4, 5)],
                'exclusive: all others are there for automatic choice')

# The entry is the daemon's, not of the process that was started
PIDFILE = '/tmp/registry-vms.pid'
status, said = lab.run(
    lab.QEMU, '-nodefaults', '-display', 'none', '-S', '-daemonize',
    '-pidfile', PIDFILE, '-accel', 'kvm,pinning=one-to-one,pinning-registry='
    + REGISTRY)
t.equal((status, said), (0, ''), '-daemonize')
daemon = int(lab.read(PIDFILE))
t.equal([e['pid'] for e in entries()], [daemon], '-daemonize: it has the entry')
os.kill(daemon, signal.SIGKILL)
lab.wait_for('its end', lambda: [e['pid'] for e in entries()] in ([], [0]))

# A registry that cannot be written
DIR = '/run/qemu-pinning'
os.makedirs(DIR, exist_ok=True)
for how, options in ('read-only', 'ro'), ('full', 'size=4k,nr_inodes=1'):
    lab.run('mount', '-t', 'tmpfs', '-o', options + ',mode=755', 'none', DIR)
    with lab.Qemu(smp=2, paused=True, accel='kvm,pinning=one-to-one') as q:
        masks = q.vcpu_masks()
        t.equal([len(mask) for mask in masks.values()], [1, 1],
                how + ' registry: it is placed')
        said = q.said().split('\n')
        t.ok(len(said) == 1 and DIR in said[0],
             how + ' registry: with one line that names it', said)
    said = lab.qemu_error(smp=2, accel='kvm,pinning=one-to-one,'
                          'pinning-exclusive=on')
    t.ok(said and DIR in said, how + ' registry: exclusive is refused', said)
    lab.run('umount', DIR)
t.done()
