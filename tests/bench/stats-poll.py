#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""stats-poll.py QEMU [VCPUS]: what it costs to ask for statistics of vCPUs.

What the main thread's CPU is busy with the command, which it runs with the
BQL held, next to a command that every management layer polls.  To keep: a poll
each second is below 2 % of one CPU with 256 vCPUs.
"""

import statistics
import sys
import tempfile

sys.dont_write_bytecode = True

from benchlib.mainloop import busy, machine         # noqa: E402

RUNS = 15
PINNING = {'target': 'vcpu', 'providers': [{'provider': 'pinning'}]}
FEW = {'target': 'vcpu', 'providers': [
    {'provider': 'pinning', 'names': ['stacked', 'last-cpu']}]}
CASES = (('query-cpus-fast', 'query-cpus-fast', {}),
         ('query-stats, all', 'query-stats', PINNING),
         ('query-stats, 2 names', 'query-stats', FEW),
         ('query-pinning', 'query-pinning', {}))


def cost(pid, qmp, command, arguments):
    """Milliseconds of the main thread."""
    samples = []
    for _ in range(RUNS):
        before = busy(pid)
        qmp(command, **arguments)
        samples.append((busy(pid) - before) / 1e6)
    return statistics.median(samples)


def measure(qemu, vcpus, folder):
    with machine(qemu, 'tcg,pinning=numa,pinning-registry=off', vcpus,
                 folder) as (pid, qmp):
        base = None
        for name, command, arguments in CASES:
            ms = cost(pid, qmp, command, arguments)
            base = base or ms
            print('%4d vCPUs  %-22s %7.2f ms  %5.1f x  %5.2f %% of a CPU at'
                  ' one poll a second' % (vcpus, name, ms, ms / base,
                                          ms / 10), flush=True)


def main():
    vcpus = [int(sys.argv[2])] if len(sys.argv) > 2 else [16, 64, 256]
    for n in vcpus:
        with tempfile.TemporaryDirectory() as folder:
            measure(sys.argv[1], n, folder)


main()
