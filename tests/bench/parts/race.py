# SPDX-License-Identifier: GPL-2.0-or-later
"""How long vCPUs run where they should not, after a start.

Ours against a script that does what is usual: wait for the monitor to
answer, ask it for the threads, call taskset for each; and against libvirt with
a <vcpupin> for each vCPU, which keeps the guest from running till then, and
whose process is timed by the kernel's clock ticks.  A plugin counts the
guest instructions that vCPUs execute with a mask wider than one host CPU
(unpinned.c); without it the time is taken till the last vCPU has its mask.
"""

import os
import subprocess
import time

from benchlib import BenchError
from benchlib.figures import table, with_spread
from benchlib.guest import firmware
from benchlib.libvirt import Libvirt
from benchlib.vm import Vm, status

TITLE = 'Start race'
VCPUS = 2
OURS, SCRIPT = 'ours, pinning=one-to-one', 'stock, query-cpus-fast and taskset'
LIBVIRT = 'stock, libvirt with vcpupin'


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


def till_pinned(pid, began, clock=time.CLOCK_MONOTONIC):
    """Seconds from @began, by @clock, till all vCPUs have their CPU."""
    while True:
        threads = vcpu_threads(pid)
        now = time.clock_gettime(clock)
        if len(threads) == VCPUS and all(map(pinned, threads)):
            return now - began
        if now - began > 60:
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
        return 1000 * (till_pinned(vm.pid, vm.began) if name == OURS
                       else poll_and_pin(vm))


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
    return instructions(path)


def instructions(path):
    """That the plugin has counted."""
    with open(path) as f:
        return sum(int(line.split()[1]) for line in f)


def by_libvirt(libvirt, bios, plugin):
    """Milliseconds, and instructions in a second start."""
    with libvirt.machine(VCPUS, '-bios', bios) as (pid, began):
        ms = 1000 * till_pinned(pid, began, time.CLOCK_BOOTTIME)
    path = libvirt.path('unpinned')
    with libvirt.machine(VCPUS, '-bios', bios, '-plugin', '%s,cpus=1,out=%s'
                         % (plugin, path)) as (pid, began):
        till_pinned(pid, began, time.CLOCK_BOOTTIME)
        time.sleep(0.2)
    return ms, instructions(path)


def measure(setup):
    if (os.cpu_count() or 1) < VCPUS:
        raise BenchError('race: needs %d host CPUs' % VCPUS)
    bios = firmware(setup, 'spin')
    plugin = setup.plugin('unpinned.c')
    out = {name: {'ms': [], 'instructions': []} for name in (OURS, SCRIPT)}
    with Libvirt(setup) as libvirt:
        for run in range(setup.runs(11, 5)):
            for name in (OURS, SCRIPT) if run % 2 else (SCRIPT, OURS):
                out[name]['ms'].append(timed(setup, name, bios))
                out[name]['instructions'].append(
                    counted(setup, name, bios, plugin))
            if libvirt.reason is None:
                one = out.setdefault(LIBVIRT, {'ms': [], 'instructions': []})
                ms, count = by_libvirt(libvirt, bios, plugin)
                one['ms'].append(ms)
                one['instructions'].append(count)
    return out


def tables(found):
    lines = []
    for name, runs in found.items():
        ratio = [b / a for a, b in zip(found[OURS]['ms'], runs['ms'])]
        lines.append([name, with_spread(runs['ms'], 1),
                      '1' if name == OURS else with_spread(ratio, 2),
                      with_spread(runs['instructions'], 0),
                      max(runs['instructions']), len(runs['ms'])])
    return table(['way', 'last vCPU pinned after, ms', 'ratio',
                  'guest instructions before', 'at most', 'runs'], lines)
