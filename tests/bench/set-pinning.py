#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""set-pinning.py QEMU [VCPUS]: how long set-pinning keeps the main loop.

What the main thread's CPU is busy with the command, which it runs with the
BQL held; that others have the CPU meanwhile does not count.  In brackets the
time to the reply.  To keep: below 20 ms with 256 vCPUs.
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

RUNS = 21
CASES = (('numa', {'options': {'mode': 'numa'}}),
         ('balanced', {'options': {'mode': 'balanced'}}),
         ('again', {}),
         ('none', {'options': {'mode': 'none'}}))


def busy(pid):
    """Nanoseconds that the main thread has run."""
    with open('/proc/%d/task/%d/schedstat' % (pid, pid)) as f:
        return int(f.read().split()[0])


def cost(machine, qmp, command, **arguments):
    """Milliseconds of the main thread, and to the reply."""
    before, begun = busy(machine.pid), time.monotonic()
    qmp(command, **arguments)
    return ((busy(machine.pid) - before) / 1e6,
            (time.monotonic() - begun) * 1000)


def show(accel, vcpus, what, costs):
    print('%-4s %4d vCPUs  %-22s %6.2f ms  (%.2f ms)'
          % (accel.split(',')[0], vcpus, what,
             statistics.median(c[0] for c in costs),
             statistics.median(c[1] for c in costs)), flush=True)


def connect(path):
    for _ in range(600):
        try:
            return Qmp(path)
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.1)
    raise TimeoutError(path)


def measure(qemu, accel, vcpus, folder):
    path = folder + '/qmp'
    machine = subprocess.Popen(
        [qemu, '-machine', 'q35', '-accel', accel, '-cpu', 'max',
         '-smp', str(vcpus), '-m', '64M', '-nodefaults', '-display', 'none', '-S',
         '-qmp', 'unix:%s,server=on,wait=off' % path],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        qmp = connect(path)
        qmp('set-pinning', options={'mode': 'numa', 'registry': folder})
        for name, arguments in CASES:
            qmp('set-pinning', options={'mode': 'balanced',
                                        'registry': folder})
            show(accel, vcpus, 'set-pinning, ' + name,
                 [cost(machine, qmp, 'set-pinning', **arguments)
                  for _ in range(RUNS)])
        qmp('set-pinning', options={'mode': 'numa', 'registry': folder})
        show(accel, vcpus, 'query-pinning',
             [cost(machine, qmp, 'query-pinning') for _ in range(RUNS)])
    finally:
        machine.kill()
        machine.wait()
        os.unlink(path)


def main():
    qemu = sys.argv[1]
    counts = [int(n) for n in sys.argv[2:]] or [2, 64, 256]
    with tempfile.TemporaryDirectory() as folder:
        for vcpus in counts:
            measure(qemu, 'tcg,thread=multi', vcpus, folder)


if __name__ == '__main__':
    main()
