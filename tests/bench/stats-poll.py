#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stats-poll.py QEMU [VCPUS]: what it costs to ask for statistics of vCPUs.

What the main thread's CPU is busy with the command, which it runs with the
BQL held, next to a command that every management layer polls.  To keep: a poll
each second is below 2 % of one CPU with 256 vCPUs.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.realpath(__file__).rsplit('/tests/', 1)[0]
sys.path.insert(0, TOP + '/scripts/pinning')
sys.dont_write_bytecode = True

from qmp import Qmp             # noqa: E402

RUNS = 15
PINNING = {'target': 'vcpu', 'providers': [{'provider': 'pinning'}]}
FEW = {'target': 'vcpu', 'providers': [
    {'provider': 'pinning', 'names': ['stacked', 'last-cpu']}]}
CASES = (('query-cpus-fast', 'query-cpus-fast', {}),
         ('query-stats, all', 'query-stats', PINNING),
         ('query-stats, 2 names', 'query-stats', FEW),
         ('query-pinning', 'query-pinning', {}))


def busy(pid):
    """Nanoseconds that the main thread has run."""
    with open('/proc/%d/task/%d/schedstat' % (pid, pid)) as f:
        return int(f.read().split()[0])


def cost(pid, qmp, command, arguments):
    """Milliseconds of the main thread."""
    samples = []
    for _ in range(RUNS):
        before = busy(pid)
        qmp(command, **arguments)
        samples.append((busy(pid) - before) / 1e6)
    return statistics.median(samples)


def connect(path):
    for _ in range(600):
        try:
            return Qmp(path)
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.1)
    raise TimeoutError(path)


def measure(qemu, vcpus, folder):
    path = folder + '/qmp'
    machine = subprocess.Popen(
        [qemu, '-machine', 'q35', '-accel',
         'tcg,pinning=numa,pinning-registry=off', '-cpu', 'max', '-smp',
         str(vcpus), '-m', '64M', '-nodefaults', '-display', 'none', '-S',
         '-qmp', 'unix:%s,server=on,wait=off' % path],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        qmp = connect(path)
        base = None
        for name, command, arguments in CASES:
            ms = cost(machine.pid, qmp, command, arguments)
            base = base or ms
            print('%4d vCPUs  %-22s %7.2f ms  %5.1f x  %5.2f %% of a CPU at'
                  ' one poll a second' % (vcpus, name, ms, ms / base,
                                          ms / 10), flush=True)
    finally:
        machine.kill()
        machine.wait()


def main():
    vcpus = [int(sys.argv[2])] if len(sys.argv) > 2 else [16, 64, 256]
    for n in vcpus:
        with tempfile.TemporaryDirectory() as folder:
            measure(sys.argv[1], n, folder)


main()
