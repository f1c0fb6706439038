# SPDX-License-Identifier: GPL-2.0-or-later
"""Two busy vCPUs beside a noisy neighbour, on this machine's own CPUs.

The neighbour is busy for some milliseconds and then sleeps for as long, so
that the scheduler has something to balance all the time.  Modes take turns;
the counters are the kernel's for the two vCPU threads.
"""

import os
import signal
import time

from benchlib import BenchError
from benchlib.figures import table, with_spread
from benchlib.guest import firmware
from benchlib.vm import Vm, status

TITLE = 'Stacking beside a noisy neighbour'
MODES = ('none', 'numa', 'spread', 'one-to-one')
SECONDS = 2.0
STEP = 0.01
NOISE_MS = 7


def neighbour():
    """A process that is busy half of the time."""
    pid = os.fork()
    if pid:
        return pid
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        end = time.monotonic() + NOISE_MS / 1000
        while time.monotonic() < end:
            pass
        time.sleep(NOISE_MS / 1000)


def counters(pid, tid):
    """Migrations, involuntary switches, nanoseconds waiting for a CPU."""
    base = '/proc/%d/task/%d/' % (pid, tid)
    with open(base + 'schedstat') as f:
        delay = int(f.read().split()[1])
    return [migrations(base), int(status(pid, tid)[
        'nonvoluntary_ctxt_switches']), delay]


def migrations(base):
    try:
        with open(base + 'sched') as f:
            for line in f:
                if line.startswith('se.nr_migrations'):
                    return int(line.split(':')[1])
    except OSError:
        pass
    return None                 # a kernel without CONFIG_SCHED_DEBUG


def last_cpus(pid, tids):
    """CPU of each thread, None for those that do not want one now."""
    out = []
    for tid in tids:
        with open('/proc/%d/task/%d/stat' % (pid, tid)) as f:
            fields = f.read().rsplit(')', 1)[1].split()
        out.append(int(fields[36]) if fields[0] == 'R' else None)
    return out


def difference(before, after):
    if before is None or after is None:
        return None
    return after - before


def watch(pid, tids):
    before = [counters(pid, tid) for tid in tids]
    moves = stacked = samples = 0
    last = last_cpus(pid, tids)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        time.sleep(STEP)
        now = last_cpus(pid, tids)
        samples += 1
        stacked += None not in now and len(set(now)) < len(now)
        moves += sum(a is not None and b is not None and a != b
                     for a, b in zip(last, now))
        last = now
    after = [counters(pid, tid) for tid in tids]
    names = ('migrations', 'involuntary_switches', 'run_delay_ms')
    out = {}
    for i, name in enumerate(names):
        parts = [difference(b[i], a[i]) for b, a in zip(before, after)]
        out[name] = None if None in parts else sum(parts)
    out['run_delay_ms'] = out['run_delay_ms'] / 1e6
    out.update(moves_seen=moves,
               stacked_percent=100 * stacked / max(samples, 1))
    return out


def one(setup, mode, bios):
    accel = 'tcg,thread=multi'
    binary = setup.ours
    if mode != 'none':
        accel += ',pinning=%s,pinning-registry=%s' % (mode, setup.registry)
    with Vm(binary, accel, smp=2, bios=bios) as vm:
        vm.running()
        tids = vm.vcpus()
        time.sleep(0.3)                 # the guest's vCPUs are all started
        return watch(vm.pid, tids)


def measure(setup):
    if (os.cpu_count() or 1) < 2:
        raise BenchError('stacking: needs two host CPUs')
    bios = firmware(setup, 'spin')
    out = {mode: [] for mode in MODES}
    noise = neighbour()
    try:
        for run in range(setup.runs(10, 3)):
            turn = run % len(MODES)
            for mode in MODES[turn:] + MODES[:turn]:
                out[mode].append(one(setup, mode, bios))
    finally:
        os.kill(noise, signal.SIGTERM)
        os.waitpid(noise, 0)
    return out


def column(runs, name, digits):
    values = [run[name] for run in runs]
    return '-' if None in values else with_spread(values, digits)


def tables(found):
    return table(
        ['mode', 'migrations', 'moves seen', 'involuntary switches',
         'run delay, ms', 'stacked samples %', 'runs'],
        [[mode, column(runs, 'migrations', 0), column(runs, 'moves_seen', 0),
          column(runs, 'involuntary_switches', 0),
          column(runs, 'run_delay_ms', 0),
          column(runs, 'stacked_percent', 1), len(runs)]
         for mode, runs in found.items()])
