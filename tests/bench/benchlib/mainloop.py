# SPDX-License-Identifier: GPL-2.0-or-later
"""A paused machine of many vCPUs, and what its main thread has to do."""

import contextlib
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.realpath(__file__).rsplit('/tests/', 1)[0]
                + '/scripts/pinning')

from qmp import Qmp             # noqa: E402


def busy(pid):
    """Nanoseconds that the main thread has run."""
    with open('/proc/%d/task/%d/schedstat' % (pid, pid)) as f:
        return int(f.read().split()[0])


def _connect(path):
    for _ in range(600):
        try:
            return Qmp(path)
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.1)
    raise TimeoutError(path)


@contextlib.contextmanager
def machine(qemu, accel, vcpus, folder):
    """Yields its process id and its monitor; it ends with the block."""
    path = folder + '/qmp'
    child = subprocess.Popen(
        [qemu, '-machine', 'q35', '-accel', accel, '-cpu', 'max',
         '-smp', str(vcpus), '-m', '64M', '-nodefaults', '-display', 'none',
         '-S', '-qmp', 'unix:%s,server=on,wait=off' % path],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield child.pid, _connect(path)
    finally:
        child.kill()
        child.wait()
        os.unlink(path)
