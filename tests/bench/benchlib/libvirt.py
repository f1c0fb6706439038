# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines that the system's libvirt starts and pins."""

import contextlib
import os
import subprocess
import sys
import time

from . import BenchError, ROOT

sys.path.insert(0, os.path.join(ROOT, 'tests', 'pinning'))
import libvirtd                                     # noqa: E402

XML = '''<domain type='qemu'
    xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>bench</name>
  <memory unit='MiB'>128</memory>
  <vcpu>%(vcpus)d</vcpu>
  <cputune>%(pins)s</cputune>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/></features>
  <devices>
    <emulator>%(emulator)s</emulator>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
  </devices>
  <qemu:commandline>%(args)s</qemu:commandline>
</domain>
'''


class Libvirt:
    """Use it with "with".

    @reason: why there is none here, or None
    """

    def __init__(self, setup):
        self._emulator = setup.stock
        self.reason = libvirtd.why_not(setup.stock)
        self._daemon = None

    def __enter__(self):
        if self.reason is None:
            self._daemon = libvirtd.Daemon()
            self._daemon.wait()
        else:
            print('bench: no libvirt: ' + self.reason, file=sys.stderr)
        return self

    def __exit__(self, *_):
        if self._daemon:
            self._daemon.stop()

    def path(self, name):
        """Of a file that the machine may write."""
        return self._daemon.path('registry', name)

    @contextlib.contextmanager
    def machine(self, vcpus, *args):
        """Stock QEMU with vCPU n on host CPU n: its pid, and when the kernel
        says it was started, by CLOCK_BOOTTIME, to a tick."""
        path = self._daemon.path('bench.xml')
        with open(path, 'w') as f:
            f.write(XML % {
                'vcpus': vcpus, 'emulator': self._emulator,
                'pins': ''.join("<vcpupin vcpu='%d' cpuset='%d'/>" % (n, n)
                                for n in range(vcpus)),
                'args': ''.join("<qemu:arg value='%s'/>" % arg
                                for arg in args)})
        os.chmod(path, 0o644)
        pidfile = self._daemon.path('runtime_dir/libvirt/qemu/run/bench.pid')
        starting = subprocess.Popen(
            ['virsh', '-q', '-c', 'qemu:///session', 'create', path],
            stdout=subprocess.DEVNULL, env=self._daemon.env,
            cwd=self._daemon.folder, **libvirtd.USER)
        try:
            pid = wait_for_pid(pidfile, starting)
            yield pid, started(pid)
            self._daemon.virsh('destroy', 'bench')
        finally:
            starting.wait(60)


def wait_for_pid(path, starting):
    end = time.monotonic() + 60
    while starting.poll() in (None, 0) and time.monotonic() < end:
        with contextlib.suppress(OSError, ValueError):
            with open(path) as f:
                return int(f.read())
    raise BenchError('libvirt did not start the machine')


def started(pid):
    with open('/proc/%d/stat' % pid) as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return int(fields[19]) / os.sysconf('SC_CLK_TCK')
