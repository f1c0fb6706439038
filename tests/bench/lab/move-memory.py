# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: all
# limit: 400
# needs: pinning
"""How fast set-pinning moves memory, beside migratepages on the same QEMU.

  tests/lab/run --kernel 6.12 tests/bench/lab/move-memory.py

Both move the machine's memory from node to node and back; what is printed is
the ratio of their best speeds.  Time in the lab is that of one emulator for
all CPUs, so that only the ratio says anything.  To keep: at least 1.0.
"""

import time

import lab

MIB = 256
RUNS = 5
t = lab.Tap()


def on(q, node):
    """KiB of the whole process there."""
    return sum(vma.pages.get(node, 0) * vma.page_kib for vma in q.vmas())


def migratepages(q, source, target):
    begun = time.monotonic()
    lab.run('migratepages', str(q.pid), str(source), str(target))
    return time.monotonic() - begun


def set_pinning(q, source, target):
    """From the new placement to the end of the move, as the events say."""
    q.events.clear()
    q.qmp('set-pinning', move_memory=True)
    stamps = [q.wait_event(name)['timestamp']
              for name in ('PINNING_CHANGED', 'PINNING_MEMORY_MOVED')]
    begin, end = (s['seconds'] + s['microseconds'] / 1e6 for s in stamps)
    return end - begin


def speed(q, source, target, tool):
    """MiB in a second."""
    before = on(q, source)
    took = tool(q, source, target)
    left = sum(q.pages('m').values()) - q.pages('m').get(target, 0)
    if left:
        t.note('%d KiB did not move' % left)
    return (before - on(q, source)) / 1024 / took


def measure(what, *args):
    with lab.Qemu(*args, '-machine', 'memory-backend=m', smp=1,
                  mem='%dM' % MIB, accel='kvm,pinning=balanced,'
                  'pinning-hostnodes=3') as q:
        q.wait_guest()
        best = {set_pinning: 0, migratepages: 0}
        for _ in range(RUNS):
            # To where the policy does not want it, and back
            for tool, source, target in ((migratepages, 3, 2),
                                         (set_pinning, 2, 3)):
                best[tool] = max(best[tool], speed(q, source, target, tool))
        for tool, mib in best.items():
            t.note('%-14s %-13s %6.0f MiB/s' % (what, tool.__name__, mib))
        t.note('%-14s ratio %.2f' % (what, best[set_pinning]
                                     / best[migratepages]))


OBJECT = 'memory-backend-%%s,id=m,size=%dM' % MIB
measure('anonymous', '-object', OBJECT % 'ram')
measure('memfd', '-object', OBJECT % 'memfd' + ',share=off')
measure('memfd, shared', '-object', OBJECT % 'memfd')
t.ok(True, 'measured')
t.done()
