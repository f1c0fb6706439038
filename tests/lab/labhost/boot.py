# SPDX-License-Identifier: GPL-2.0-or-later
"""One lab host: from power-on to power-off."""

import json
import os
import socket
import time

from . import LabError
from . import image
from . import proc

# kvm_amd wants an AMD CPU with SVM.  Emulation takes topoext away, without
# which Linux sees no SMT siblings (6.1) or no shared caches (6.12): all
# features are forced, and those that emulation has not are off by name.
CPU = ('EPYC-v3,check=off,x-force-features=on,clzero=off,xsaveerptr=off,'
       'xsaves=off,xsavec=off,rdseed=off,sha-ni=off,perfctr-core=off,'
       'ibpb=off,nrip-save=off,osvw=off,misalignsse=off,3dnowprefetch=off,'
       'fxsr-opt=off')
# One thread for all CPUs: with one for each, those that wait for the answer
# to an IPI take the time from those that should give it
ACCEL = 'tcg,thread=single,tb-size=512'
# no_timer_check: whether the timer works is tried against the clock, and
# fails on a machine that is busy
APPEND = ('console=ttyS0 panic=-1 quiet loglevel=4 nokaslr mitigations=off '
          'tsc=reliable no_timer_check nowatchdog audit=0 apparmor=0 '
          'cryptomgr.notests initcall_blacklist=crypto_kdf108_init,'
          'jent_mod_init,init_encrypted,load_system_certificate_list,'
          'selinux_nf_ip_init')
# Seconds that a test told to end has for it, as well as power-off
GRACE = float(os.environ.get('LAB_GRACE') or 15)


def memory_file(archives):
    """Archives, bytes or files, one behind the other in a nameless file.

    Nothing is left of it when we or the emulator are killed.
    """
    fd = os.memfd_create('initrd')
    with os.fdopen(os.dup(fd), 'wb') as out:
        for archive in archives:
            if not isinstance(archive, bytes):
                archive.seek(0)
                archive = archive.read()
            out.write(archive)
    return fd


def command(outer, host, kernel, initrd, append=''):
    """Of the outer emulator, less its serial lines."""
    dirs = [arg for folder in image.FIRMWARE_DIRS for arg in ('-L', folder)]
    return [outer] + dirs + [
        '-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none',
        '-machine', 'q35,usb=off' + host.machine,
        '-accel', host.accel or ACCEL,
        '-cpu', CPU + host.cpu] + host.args + [
        '-kernel', kernel.vmlinux, '-initrd', '/proc/self/fd/%d' % initrd,
        '-append', ' '.join((APPEND, host.append, append))]


class Clock:
    """A limit in seconds that the emulator has run, not that have passed.

    On a busy machine it gets less, and must not be ended for that.  What
    hangs without running is found after three times the limit.
    """

    def __init__(self, pid, slow):
        self._stat = '/proc/%d/stat' % pid
        self._slow = slow
        self._last = 0

    def _ran(self):
        try:
            with open(self._stat) as f:
                fields = f.read().rsplit(')', 1)[1].split()
        except OSError:
            return self._last       # it has ended
        self._last = sum(map(int, fields[11:13])) / os.sysconf('SC_CLK_TCK')
        return self._last

    def set(self, limit):
        self._limit = limit * self._slow
        self._begun = time.monotonic()
        self._ran_before = self._ran()

    def over(self):
        return (self._ran() - self._ran_before > self._limit or
                time.monotonic() - self._begun > 3 * self._limit)


class Lab:
    """A booted lab host that runs tests and talks to us.

    @out: folder for the logs
    @tests: dicts with name and limit, in the order in which they run
    @events: called with (kind, ...): ('start', name), ('line', name, text),
        ('end', name, status)
    """

    def __init__(self, argv, initrd, host, tests, out, events, slow=1.0):
        self.out = out
        self._events = events
        self._limits = {test['name']: test['limit'] for test in tests}
        self.current = None
        self.aborted = False        # the test was told to end
        self.bye = self.ready = False
        self.stuck = None           # why we ended it
        self._input = b''
        self._files_wanted = []     # (name, size)
        self._files_in = b''
        self._qmp_in = b''
        self._asked = False
        os.makedirs(out, exist_ok=True)
        pairs = [socket.socketpair() for _ in range(3)]
        fds = [theirs.fileno() for _, theirs in pairs]
        argv = argv + [
            '-serial', 'file:' + os.path.join(out, 'console.log'),
            '-chardev', 'socket,id=tap,fd=%d' % fds[0],
            '-serial', 'chardev:tap',
            '-chardev', 'socket,id=files,fd=%d' % fds[1],
            '-serial', 'chardev:files',
            '-chardev', 'socket,id=qmp,fd=%d' % fds[2],
            '-mon', 'chardev=qmp,mode=control']
        with open(os.path.join(out, 'qemu.log'), 'wb') as log, \
                open(os.devnull, 'rb') as null:
            self.process = proc.start(argv, stdin=null, stdout=log,
                                      stderr=log,
                                      pass_fds=fds + [initrd])
        os.close(initrd)
        for _, theirs in pairs:
            theirs.close()
        self.tap, self.files, self.qmp = (ours for ours, _ in pairs)
        self._log = open(os.path.join(out, 'tap.log'), 'wb')
        self.qmp.sendall(b'{"execute":"qmp_capabilities"}')
        self.begun = time.monotonic()
        self._clock = Clock(self.process.pid, slow)
        self._clock.set(host.boot)

    def sockets(self):
        """What to wait for, and who is called then."""
        return {self.tap: self.read_tap, self.files: self.read_files,
                self.qmp: self.read_qmp}

    @staticmethod
    def _receive(sock):
        try:
            return sock.recv(1 << 16)
        except ConnectionError:
            return b''

    def read_tap(self):
        """False at the end."""
        data = self._receive(self.tap)
        self._log.write(data)
        *lines, self._input = (self._input + data).split(b'\n')
        for line in lines:
            self._line(line.decode(errors='replace').rstrip('\r'))
        return bool(data)

    def _line(self, line):
        if line.startswith('|'):
            self._events('line', self.current, line[1:])
            return
        word, _, rest = line.partition(' ')
        if word == '@start':
            self.current = rest
            self.aborted = False
            self._clock.set(self._limits[rest])
            self._events('start', rest)
        elif word == '@end':
            name, status = rest.split()
            self.current = None
            self._clock.set(GRACE)
            self._events('end', name, int(status))
        elif word == '@ready':
            self.ready = True
            self._clock.set(GRACE)
        elif word == '@bye':
            self.bye = True
        elif word == '@file':
            name, size = rest.split()
            self._files_wanted.append((os.path.basename(name), int(size)))
            self._write_files()
        elif word == '@ask':
            self._ask(json.loads(rest))

    def _ask(self, request):
        self._asked = True
        self.qmp.sendall(json.dumps(request['qmp']).encode())

    def read_qmp(self):
        data = self._receive(self.qmp)
        *lines, self._qmp_in = (self._qmp_in + data).split(b'\n')
        for line in lines:
            reply = json.loads(line)
            if self._asked and ('return' in reply or 'error' in reply):
                self._asked = False
                self.tap.sendall(json.dumps(reply).encode() + b'\n')
            elif reply.get('id') == 'registers':
                with open(os.path.join(self.out, 'registers.log'),
                          'w') as f:
                    f.write(str(reply.get('return')))
        return bool(data)

    def read_files(self):
        data = self._receive(self.files)
        self._files_in += data
        self._write_files()
        return bool(data)

    def _write_files(self):
        """Names come on one line, bytes on another, in any order."""
        while self._files_wanted and \
                len(self._files_in) >= self._files_wanted[0][1]:
            name, size = self._files_wanted.pop(0)
            with open(os.path.join(self.out, name), 'wb') as f:
                f.write(self._files_in[:size])
            self._files_in = self._files_in[size:]

    def overdue(self):
        """Whether it hangs; a test that does is first told to end."""
        if self.stuck or not self._clock.over():
            return False
        if self.current and not self.aborted:
            self.aborted = True
            self._clock.set(GRACE)
            self.tap.sendall(b'abort %s\n' % self.current.encode())
            return False
        return True

    def give_up(self):
        """It hangs: note where its CPUs are, then end it."""
        self.stuck = ('test %s' % self.current if self.current else
                      'power-off' if self.bye else
                      'the agent' if self.ready else 'booting')
        try:
            self.qmp.settimeout(2)
            self.qmp.sendall(json.dumps({
                'execute': 'human-monitor-command', 'id': 'registers',
                'arguments': {'command-line': 'info registers -a'}})
                .encode())
            until = time.monotonic() + 2
            while time.monotonic() < until and not os.path.exists(
                    os.path.join(self.out, 'registers.log')):
                if not self.read_qmp():
                    break
        except OSError:
            pass
        self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def finish(self):
        """After the emulator has ended: the sockets' rest, the logs."""
        for sock, reader in self.sockets().items():
            sock.settimeout(1)
            try:
                while reader():
                    pass
            except OSError:
                pass
            sock.close()
        self._log.close()
        self.seconds = time.monotonic() - self.begun

    def console_tail(self, count=60):
        try:
            with open(os.path.join(self.out, 'console.log'),
                      errors='replace') as f:
                lines = f.read().replace('\r', '').split('\n')
            with open(os.path.join(self.out, 'qemu.log'),
                      errors='replace') as f:
                lines += f.read().split('\n')
        except OSError:
            return []
        return [line for line in lines if line.strip()][-count:]


def probe(binary, args):
    """Whether @binary starts with @args (and a machine without anything)."""
    child = proc.start([binary, '-machine', 'none', '-display', 'none',
                        '-nodefaults', '-no-user-config', '-S', '-monitor',
                        'stdio'] + args, stdin=-1, stdout=-1, stderr=-1)
    try:
        child.communicate(b'quit\n', timeout=30)
    except Exception as e:
        child.kill()
        raise LabError('%s %s: %s' % (binary, ' '.join(args), e))
    return child.returncode == 0
