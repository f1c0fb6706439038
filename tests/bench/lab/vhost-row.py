# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets through a vhost worker for each vCPU.

ROW, which is put before this text, says how the machine is started: @qemu,
@args, the first of which is the accelerator, @append for the guest's kernel,
@pause before it, in seconds.
"""

import json
import os
import re
import time

import lab

TRACING = '/sys/kernel/tracing'
EVENT = re.compile(r'\s*(.+)-\d+\s+\[(\d+)\].*?: (sched_\w+): (.*)')
QUEUES = 8


def trace(on):
    if not os.path.isdir(TRACING + '/events'):
        lab.run('mount', '-t', 'tracefs', 'tracefs', TRACING)
    for name in ('sched_stat_runtime', 'sched_waking', 'sched_wakeup',
                 'sched_migrate_task'):
        event = '%s/events/sched/%s' % (TRACING, name)
        lab.write(event + '/filter',
                  'comm ~ "CPU */KVM" || comm ~ "vhost-*"'
                  if 'wak' in name else 'comm ~ "vhost-*"')
        lab.write(event + '/enable', int(on))


def kind(name):
    return ('vcpu' if name.startswith('CPU ') else
            'worker' if name.startswith('vhost-') else 'other')


def events():
    """Run time of workers by CPU; wake-ups by who and whom; moves.

    Who wakes is seen when waking begins, where the woken one will run only
    when it is done, which may be on another CPU.
    """
    out = {'runtime': {}, 'wakeups': [], 'moves': []}
    waking = {}
    for line in lab.read(TRACING + '/trace').split('\n'):
        found = EVENT.match(line)
        if not found:
            continue
        who, cpu, event, text = found.groups()
        facts = dict(re.findall(r'(\w+)=(\S+)', text))
        pid = facts['pid']
        if event == 'sched_stat_runtime':
            key = '%s %s' % (pid, int(cpu))
            out['runtime'][key] = out['runtime'].get(key, 0) + int(
                facts['runtime'])
        elif event == 'sched_migrate_task':
            out['moves'].append([int(facts['orig_cpu']),
                                 int(facts['dest_cpu'])])
        elif event == 'sched_waking':
            waking[pid] = kind(who), int(cpu)
        elif pid in waking:
            by, from_cpu = waking.pop(pid)
            whom = 'vcpu' if text.startswith('comm=CPU ') else 'worker'
            out['wakeups'].append([by, whom, from_cpu,
                                   int(facts['target_cpu'])])
    return out


def main():
    t = lab.Tap()
    lab.QEMU = ROW['qemu']
    accel, *args = ROW['args']
    args += ['-kernel', '/lab/vmlinux', '-initrd', '/lab/work.cpio',
             '-append', lab.LINUX_ARGS + ' ' + ROW['append']]
    time.sleep(ROW['pause'])
    with lab.Qemu(*args, *lab.net(1, queues=QUEUES), guest=None, accel=accel,
                  smp='8,sockets=4,cores=2', mem='512M') as q:
        for n in range(QUEUES):
            lab.run('ip', 'addr', 'add', '10.0.1.%d/24' % (n + 1), 'dev',
                    'tap1')
        lab.run('ip', 'link', 'set', 'tap1', 'up')
        lab.write('/proc/sys/kernel/sched_schedstats', 1)
        q.wait_guest('WORK-BEGIN', 600)
        trace(True)
        q.wait_guest('WORK-END', 600)
        trace(False)
        facts = dict(events(), row=ROW['row'], kernel=os.uname().release,
                     nodes={n: node.cpus
                            for n, node in lab.nodes().items()},
                     vcpus=[lab.show(m) for m in q.vcpu_masks().values()],
                     workers={w.tid: lab.show(w.mask)
                              for w in q.vhost_workers()},
                     guest=[line for line in q.serial().split('\n')
                            if line.startswith('WORK')])
        said = q.serial()
    lab.write(TRACING + '/trace', '')
    lab.keep('row-%s.json' % ROW['row'], json.dumps(facts))
    t.ok('WORK-END' in facts['guest'], 'the guest has sent', said[-500:])
    t.equal(len(facts['workers']), QUEUES, 'workers')
    t.done()


main()
