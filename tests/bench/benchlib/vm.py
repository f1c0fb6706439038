# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU on this machine, with QMP, for what can be timed."""

import json
import os
import signal
import socket
import time

from . import BenchError


class Vm:
    """Use it with "with".  Started when made; running() waits.

    @began: of time.monotonic(), right before the process was made
    @threads: name its threads, which costs a little
    """

    def __init__(self, binary, accel, *args, smp=2, mem='128M',
                 threads=True, paused=False, bios=None):
        ours, theirs = socket.socketpair()
        theirs.set_inheritable(True)
        self.args = [binary, '-nodefaults', '-no-user-config', '-display',
                     'none', '-machine', 'q35', '-accel', accel, '-smp',
                     str(smp), '-m', mem,
                     '-chardev', 'socket,id=qmp,fd=%d' % theirs.fileno(),
                     '-mon', 'chardev=qmp,mode=control'] + list(args)
        if threads:
            self.args += ['-name', 'bench,debug-threads=on']
        if paused:
            self.args.append('-S')
        if bios:
            self.args += ['-bios', bios]
        self._buffer = b''
        self._qmp = ours
        self.usage = None
        self._said = os.memfd_create('said')
        # fork() would first copy our page tables, spawn does not
        self.began = time.monotonic()
        self.pid = os.posix_spawn(
            binary, self.args, os.environ, setpgroup=0,
            file_actions=[(os.POSIX_SPAWN_DUP2, self._said, 2)])
        theirs.close()

    def _line(self):
        while b'\n' not in self._buffer:
            try:
                data = self._qmp.recv(1 << 20)
            except ConnectionError:
                data = b''
            if not data:
                raise BenchError('%s ended:\n%s' % (' '.join(self.args),
                                                    self.said()))
            self._buffer += data
        line, self._buffer = self._buffer.split(b'\n', 1)
        return json.loads(line)

    def said(self):
        """What it has written to its stderr."""
        return os.pread(self._said, 1 << 20, 0).decode(errors='replace')

    def greeted(self):
        self._line()
        self.qmp('qmp_capabilities')

    def qmp(self, command, **arguments):
        arguments = {name.replace('_', '-'): value
                     for name, value in arguments.items()}
        self._qmp.sendall(json.dumps({'execute': command,
                                      'arguments': arguments}).encode())
        while True:
            reply = self._line()
            if 'error' in reply:
                raise BenchError('%s: %s' % (command,
                                             reply['error']['desc']))
            if 'return' in reply:
                return reply['return']

    def running(self):
        """Seconds from before the process till it says that it runs."""
        self.greeted()
        while not self.qmp('query-status')['running']:
            time.sleep(0.001)
        return time.monotonic() - self.began

    def cpu_seconds(self):
        """That it has run so far."""
        with open('/proc/%d/stat' % self.pid) as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return sum(map(int, fields[11:13])) / os.sysconf('SC_CLK_TCK')

    def vcpus(self):
        return [cpu['thread-id'] for cpu in self.qmp('query-cpus-fast')]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends it; @usage is then what it has used, see wait4()."""
        if self.usage is None:
            os.kill(self.pid, signal.SIGKILL)
            self._reap()

    def _reap(self):
        _, _, self.usage = os.wait4(self.pid, 0)
        self._qmp.close()
        os.close(self._said)

    def quit(self):
        """As stop(), but by its own means, so that plugins have a say."""
        self.qmp('quit')
        self._reap()


def own_kib(pid):
    """KiB that are of no file: what others have mapped, and what has yet to
    be written to a disk, is no matter of the process."""
    with open('/proc/%d/smaps_rollup' % pid) as f:
        for line in f:
            words = line.split()
            if words[0] == 'Anonymous:':
                return int(words[1])
    return 0


def status(pid, tid):
    """/proc/PID/task/TID/status as a dict; None when the thread is gone."""
    try:
        with open('/proc/%d/task/%d/status' % (pid, tid)) as f:
            return dict(line.rstrip('\n').split(':\t', 1) for line in f
                        if ':\t' in line)
    except OSError:
        return None
