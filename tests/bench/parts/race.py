# SPDX-License-Identifier: GPL-2.0-or-later
"""How long vCPUs run where they should not, after a start.

Ours against a script that does what is usual: wait for the monitor to
answer, ask it for the threads, call taskset for each.  A plugin counts the
guest instructions that vCPUs execute with a mask wider than one host CPU
(unpinned.c); without it the time is taken till the last vCPU has its mask.
"""

import os
import subprocess
import time

from benchlib import BenchError
from benchlib.figures import table, with_spread
from benchlib.guest import firmware
from benchlib.vm import Vm, status

TITLE = 'Start race'
VCPUS = 2
OURS, SCRIPT = 'ours, pinning=one-to-one', 'stock, query-cpus-fast and taskset'


def vcpu_threads(pid):
    """Threads of vCPUs by name: QMP would not answer yet."""
    try:
        tids = [int(tid) for tid in os.listdir('/proc/%d/task' % pid)]
    except OSError:
        return []
    found = [(tid, status(pid, tid)) for tid in tids]
    return [facts for _, facts in found
            if facts and facts['Name'].startswith('CPU ')]


def pinned(facts):
    return facts['Cpus_allowed_list'].isdigit()


def till_pinned(vm):
    """Seconds from before the process till all vCPUs have their CPU."""
    while True:
        threads = vcpu_threads(vm.pid)
        now = time.monotonic()
        if len(threads) == VCPUS and all(map(pinned, threads)):
            return now - vm.began
        if now - vm.began > 60:
            raise BenchError('race: no pins in a minute; masks: %s' % [
                facts['Cpus_allowed_list'] for facts in threads])


def poll_and_pin(vm):
    """The script."""
    vm.greeted()
    for cpu, tid in enumerate(vm.vcpus()):
        subprocess.run(['taskset', '-pc', str(cpu), str(tid)], check=True,
                       stdout=subprocess.DEVNULL)
    return time.monotonic() - vm.began


def way(setup, name):
    """Binary and accelerator."""
    if name == OURS:
        return setup.ours, ('tcg,thread=multi,pinning=one-to-one,'
                            'pinning-registry=' + setup.registry)
    return setup.stock, 'tcg,thread=multi'


def timed(setup, name, bios):
    with Vm(*way(setup, name), smp=VCPUS, bios=bios) as vm:
        return 1000 * (till_pinned if name == OURS else poll_and_pin)(vm)


def counted(setup, name, bios, plugin):
    path = os.path.join(setup.out, 'unpinned')
    if os.path.exists(path):
        os.unlink(path)
    with Vm(*way(setup, name), '-plugin', '%s,cpus=1,out=%s' % (
            plugin, path), smp=VCPUS, bios=bios) as vm:
        if name == OURS:
            vm.greeted()
        else:
            poll_and_pin(vm)
        time.sleep(0.2)                 # all vCPUs have executed something
        vm.quit()
    with open(path) as f:
        return sum(int(line.split()[1]) for line in f)


def measure(setup):
    if (os.cpu_count() or 1) < VCPUS:
        raise BenchError('race: needs %d host CPUs' % VCPUS)
    bios = firmware(setup, 'spin')
    plugin = setup.plugin('unpinned.c')
    out = {name: {'ms': [], 'instructions': []} for name in (OURS, SCRIPT)}
    for run in range(setup.runs(11, 5)):
        for name in (OURS, SCRIPT) if run % 2 else (SCRIPT, OURS):
            out[name]['ms'].append(timed(setup, name, bios))
            out[name]['instructions'].append(
                counted(setup, name, bios, plugin))
    return out


def tables(found):
    ratio = [b / a for a, b in zip(found[OURS]['ms'], found[SCRIPT]['ms'])]
    lines = [[name, with_spread(runs['ms'], 1),
              with_spread(ratio, 2) if name == SCRIPT else '1',
              with_spread(runs['instructions'], 0),
              max(runs['instructions']), len(runs['ms'])]
             for name, runs in found.items()]
    return table(['way', 'last vCPU pinned after, ms', 'ratio',
                  'guest instructions before', 'at most', 'runs'], lines)
