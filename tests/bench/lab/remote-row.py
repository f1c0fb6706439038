# SPDX-License-Identifier: GPL-2.0-or-later
"""One way to start the machine whose remote accesses are counted.

ROW, which is put before this text, says which: @qemu, @args, @append
for the guest's kernel, @affinity of the process, @pins of its vCPUs after
start, @pause before it, in seconds.
"""

import array
import json
import os
import time

import lab

WINDOW_STEP = 0.02
RAM_BLOCK = 64 << 20            # smaller ones are firmware
TRACING = '/sys/kernel/tracing'


def trace_moves():
    """From here on every move of a vCPU thread is written down."""
    if not os.path.isdir(TRACING + '/events'):
        lab.run('mount', '-t', 'tracefs', 'tracefs', TRACING)
    event = TRACING + '/events/sched/sched_migrate_task'
    lab.write(event + '/filter', 'comm ~ "CPU */KVM"')
    lab.write(TRACING + '/trace', '')
    lab.write(event + '/enable', 1)


def moves():
    """What was written down, as [from CPU, to CPU]."""
    lab.write(TRACING + '/events/sched/sched_migrate_task/enable', 0)
    out = []
    for line in lab.read(TRACING + '/trace').split('\n'):
        facts = dict(word.split('=', 1) for word in line.split()
                     if '=' in word)
        if 'orig_cpu' in facts:
            out.append([int(facts['orig_cpu']), int(facts['dest_cpu'])])
    return out


def sample(tids):
    """CPU and state of each vCPU thread."""
    out = []
    for tid in tids:
        fields = lab.read('/proc/%d/stat' % tid).rsplit(')', 1)[1].split()
        out.append([int(fields[36]), fields[0]])
    return out


def ranges(numbers):
    out = []
    for n in sorted(numbers):
        if out and out[-1][1] == n - 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return out


def guest_pages(q):
    """Physical pages of guest RAM, as ranges."""
    found = []
    fd = os.open('/proc/%d/pagemap' % q.pid, os.O_RDONLY)
    for hva, size in q.ram_blocks().values():
        if size < RAM_BLOCK:
            continue
        entries = array.array('Q')
        entries.frombytes(os.pread(fd, size >> 9, hva >> 9))
        found += [e & ((1 << 55) - 1) for e in entries if e >> 63]
    os.close(fd)
    return ranges(found)


def node_pages():
    """Of each host node, ranges of physical pages."""
    block = int(lab.read('/sys/devices/system/memory/block_size_bytes'), 16)
    out = {}
    for node in lab.nodes():
        blocks = [int(name[6:]) for name in os.listdir(
            '%snode%d' % (lab.NODE, node)) if name[:6] == 'memory'
            and name[6:].isdigit()]
        out[node] = [[a * block >> 12, ((b + 1) * block >> 12) - 1]
                     for a, b in ranges(blocks)]
    return out


def balanced_pages():
    """How many pages automatic balancing has moved since boot."""
    for line in lab.read('/proc/vmstat').split('\n'):
        if line.startswith('numa_pages_migrated '):
            return int(line.split()[1])
    return 0


def main():
    t = lab.Tap()
    lab.QEMU = ROW['qemu']
    time.sleep(ROW['pause'])
    trace_moves()
    accel, *args = ROW['args']
    args += ['-kernel', '/lab/vmlinux', '-initrd', '/lab/work.cpio',
             '-append', lab.LINUX_ARGS + ' ' + ROW['append']]
    with lab.Qemu(*args, guest=None, accel=accel,
                  smp='8,sockets=4,cores=2', mem='512M', paused=True,
                  affinity=ROW['affinity']) as q:
        tids = [tid for _, tid in sorted(q.vcpus().items())]
        for tid, cpu in zip(tids, ROW['pins'] or ()):
            os.sched_setaffinity(tid, {cpu})
        q.qmp('cont')
        q.wait_guest('WORK-BEGIN', 600)
        lab.write(TRACING + '/trace', '')
        before = balanced_pages()
        samples = []
        while 'WORK-END' not in q.serial() and not q.ended():
            samples.append(sample(tids))
            time.sleep(WINDOW_STEP)
        facts = {
            'row': ROW['row'], 'moves': moves(), 'samples': samples,
            'guest_pages': guest_pages(q), 'node_pages': node_pages(),
            'balanced_pages': balanced_pages() - before,
            'nodes': {n: node.cpus for n, node in lab.nodes().items()},
            'siblings': {c: lab.siblings(c) for c in lab.online()},
            'numa_balancing': lab.read('/proc/sys/kernel/numa_balancing'),
            'thp': lab.read('/sys/kernel/mm/transparent_hugepage/enabled'),
            'kernel': os.uname().release,
            'guest': [line for line in q.serial().split('\n')
                      if line.startswith('WORK')],
            'masks': [lab.show(m) for m in q.vcpu_masks().values()],
        }
    lab.keep('row-%s.json' % ROW['row'], json.dumps(facts))
    t.ok('WORK-END' in facts['guest'], 'the guest did its work',
         facts['guest'])
    t.done()


main()
