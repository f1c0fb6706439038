# SPDX-License-Identifier: GPL-2.0-or-later
"""What placement costs: time to start, answers of the monitor, memory.

Starts are made in pairs, one of ours and one of stock QEMU in turn, and the
median of the pairs' ratios is taken: what else the machine does hits both.
Time on the CPU, which others cannot add to, stands beside the time passed.
"""

import time

from benchlib.figures import median, spread, table, with_spread
from benchlib.vm import Vm, own_kib

TITLE = 'Cost'
MODES = ('none', 'balanced', 'numa', 'spread', 'one-to-one')
BOUNDS = {'none': 1.01}
BOUND = 1.05
SIZES = (2, 64, 256)


def start(binary, accel):
    """Milliseconds to running, milliseconds on the CPU, milliseconds till a
    machine is ready whose vCPUs do not run yet."""
    with Vm(binary, accel, threads=False) as vm:
        ms = vm.running() * 1000
    with Vm(binary, accel, threads=False, paused=True) as ready:
        ready.greeted()
        ready.qmp('query-status')
        ready_ms = (time.monotonic() - ready.began) * 1000
    return (ms, (vm.usage.ru_utime + vm.usage.ru_stime) * 1000, ready_ms)


def memory(binary, accel):
    """KiB that the process has written before its guest runs."""
    with Vm(binary, accel, threads=False, paused=True) as vm:
        vm.greeted()
        return own_kib(vm.pid)


def ours(setup, mode):
    """A registry of its own: other machines here must not be in the way."""
    if mode == 'none':
        return 'tcg'
    return 'tcg,pinning=%s,pinning-registry=%s' % (mode, setup.registry)


def start_pairs(setup, mode, runs):
    pairs = []
    for run in range(runs):
        order = [('ours', setup.ours, ours(setup, mode)),
                 ('stock', setup.stock, 'tcg')]
        found = {name: start(binary, accel)
                 for name, binary, accel in
                 (order if run % 2 else reversed(order))}
        pairs.append([found['ours'], found['stock']])
    return pairs


def answers(setup, vcpus, runs):
    """Milliseconds of query-pinning, set-pinning and query-cpus-fast."""
    out = {'query-cpus-fast': [], 'query-pinning': [], 'set-pinning': []}
    with Vm(setup.ours, ours(setup, 'numa'), '-cpu', 'max,x2apic=on',
            smp=vcpus, mem='256M', paused=True) as vm:
        vm.greeted()
        for run in range(runs):
            todo = {'query-cpus-fast': {}, 'query-pinning': {},
                    # Another set of CPUs each time: there is work to do
                    'set-pinning': {'options': {'mode': 'numa',
                                    'cpus': '0' if run % 2 else '0-1'}}}
            for command, arguments in todo.items():
                begun = time.monotonic()
                vm.qmp(command, **arguments)
                out[command].append((time.monotonic() - begun) * 1000)
    return out


def measure(setup):
    start(setup.stock, 'tcg')           # files are in memory from here on
    start(setup.ours, 'tcg')
    return {
        'starts': {mode: start_pairs(setup, mode, setup.runs(20, 8))
                   for mode in MODES},
        'memory': {mode: [[memory(setup.ours, ours(setup, mode)),
                           memory(setup.stock, 'tcg')]
                          for _ in range(setup.runs(7, 3))]
                   for mode in MODES},
        'answers': {vcpus: answers(setup, vcpus, setup.runs(20, 6))
                    for vcpus in SIZES}}


def ratios(pairs, what):
    return [ours[what] / stock[what] for ours, stock in pairs]


def tables(found):
    lines = []
    for mode, pairs in found['starts'].items():
        passed, used, ready = (ratios(pairs, what) for what in range(3))
        added = [a - b for a, b in found['memory'][mode]]
        lines.append([mode, with_spread([pair[0][0] for pair in pairs], 1),
                      with_spread([pair[1][0] for pair in pairs], 1),
                      with_spread(passed, 3), with_spread(used, 3),
                      with_spread(ready, 3),
                      '%.2f' % BOUNDS.get(mode, BOUND),
                      '%+d ± %d' % (median(added), spread(added)),
                      len(pairs)])
    out = table(['mode', 'ours, ms', 'stock, ms', 'ratio', 'ratio on the CPU',
                 'ratio paused', 'to reach', 'memory, KiB', 'pairs'], lines)
    lines = [[vcpus] + [with_spread(found['answers'][key][command], 2)
                        for command in ('query-cpus-fast', 'query-pinning',
                                        'set-pinning')]
             for key in found['answers'] for vcpus in [int(key)]]
    return out + [''] + table(['vCPUs', 'query-cpus-fast, ms',
                               'query-pinning, ms', 'set-pinning, ms'], lines)
