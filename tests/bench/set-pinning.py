#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""set-pinning.py QEMU [VCPUS]: how long set-pinning keeps the main loop.

What the main thread's CPU is busy with the command, which it runs with the
BQL held; that others have the CPU meanwhile does not count.  In brackets the
time to the reply.  To keep: below 20 ms with 256 vCPUs.
"""

import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from benchlib.mainloop import busy, machine         # noqa: E402

RUNS = 21
CASES = (('numa', {'options': {'mode': 'numa'}}),
         ('balanced', {'options': {'mode': 'balanced'}}),
         ('again', {}),
         ('none', {'options': {'mode': 'none'}}))


def cost(pid, qmp, command, **arguments):
    """Milliseconds of the main thread, and to the reply."""
    before, begun = busy(pid), time.monotonic()
    qmp(command, **arguments)
    return ((busy(pid) - before) / 1e6,
            (time.monotonic() - begun) * 1000)


def show(accel, vcpus, what, costs):
    print('%-4s %4d vCPUs  %-22s %6.2f ms  (%.2f ms)'
          % (accel.split(',')[0], vcpus, what,
             statistics.median(c[0] for c in costs),
             statistics.median(c[1] for c in costs)), flush=True)


def measure(qemu, accel, vcpus, folder):
    with machine(qemu, accel, vcpus, folder) as (pid, qmp):
        qmp('set-pinning', options={'mode': 'numa', 'registry': folder})
        for name, arguments in CASES:
            qmp('set-pinning', options={'mode': 'balanced',
                                        'registry': folder})
            show(accel, vcpus, 'set-pinning, ' + name,
                 [cost(pid, qmp, 'set-pinning', **arguments)
                  for _ in range(RUNS)])
        qmp('set-pinning', options={'mode': 'numa', 'registry': folder})
        show(accel, vcpus, 'query-pinning',
             [cost(pid, qmp, 'query-pinning') for _ in range(RUNS)])


def main():
    qemu = sys.argv[1]
    counts = [int(n) for n in sys.argv[2:]] or [2, 64, 256]
    with tempfile.TemporaryDirectory() as folder:
        for vcpus in counts:
            measure(qemu, 'tcg,thread=multi', vcpus, folder)


if __name__ == '__main__':
    main()
