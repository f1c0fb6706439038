#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""start-test.py QEMU QEMU-IMG

However a machine is started, its threads are where the plan wants them, a
vCPU that is plugged later is so, too, and the monitor tells the truth; under
-sandbox resourcecontrol=deny as well, where only set-pinning is refused.  Masks
are read from /proc.  TAP.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'scripts', 'pinning'))
import qmp as qmp_client                                        # noqa: E402
import cpulist                                                  # noqa: E402

QEMU, QEMU_IMG = (os.path.abspath(path) for path in sys.argv[1:3])
MACHINE = ['-nodefaults', '-no-user-config', '-display', 'none',
           '-machine', 'q35', '-cpu', 'qemu64', '-m', '32M',
           '-smp', '1,maxcpus=2,sockets=2,cores=1']
ACCEL = 'tcg,pinning=one-to-one,pinning-registry=off'
GROUP = 'resourcecontrol=deny'
# What libvirt asks for
FULL = 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,' + GROUP
# Without what forbids to fork, or to become another user
PART = 'on,obsolete=deny,' + GROUP
NOBODY = 'nobody'
LIMIT = 60


class Failed(Exception):
    """What should be so is not."""


def expect(condition, what, *values):
    if not condition:
        raise Failed(what + ''.join('\n%r' % (value,) for value in values))


def members(text):
    return set(cpulist.members(text))


class Machine:
    """A QEMU with a monitor; use it with "with"."""

    def __init__(self, folder, *args, accel=ACCEL):
        self.folder = folder
        self.socket = folder + '/qmp'
        self.pidfile = folder + '/pid'
        self.pid = None
        for path in (self.socket, self.pidfile):
            if os.path.exists(path):
                os.unlink(path)
        command = [QEMU] + MACHINE + [
            '-accel', accel, '-pidfile', self.pidfile, '-qmp',
            'unix:%s,server=on,wait=off' % self.socket] + list(args)
        self.run = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.daemonize = '-daemonize' in args
        if self.daemonize:
            self.said = self.run.communicate(timeout=LIMIT)[0]
            expect(self.run.returncode == 0, 'it starts', self.said)
        self.qmp = self._connect()

    def _connect(self):
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            if not self.daemonize and self.run.poll() is not None:
                raise Failed('it ended: ' + self.run.stdout.read())
            try:
                with open(self.pidfile) as f:
                    self.pid = int(f.read())
                return qmp_client.Qmp(self.socket, LIMIT)
            except (OSError, ValueError):
                time.sleep(0.02)
        raise Failed('no monitor')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not self.daemonize:
            self.run.communicate()

    def mask(self, tid):
        with open('/proc/%d/task/%d/status' % (self.pid, tid)) as f:
            return members(re.search(r'^Cpus_allowed_list:\s*(\S*)$',
                                     f.read(), re.M).group(1))

    def tids(self):
        return set(map(int, os.listdir('/proc/%d/task' % self.pid)))

    def vcpus(self):
        """Thread of each vCPU, by its number."""
        return {cpu['cpu-index']: cpu['thread-id']
                for cpu in self.qmp('query-cpus-fast')}

    def threads(self):
        return self.qmp('query-pinning')['threads']


def check_masks(m, number, proc):
    """All is where it should be, and the monitor knows all of it."""
    vcpus = m.vcpus()
    masks = [m.mask(tid) for tid in vcpus.values()]
    expect(len(masks) == number and all(len(mask) == 1 for mask in masks) and
           len(set.union(*masks)) == number, 'each vCPU has a CPU', masks)
    threads = m.threads()
    told = {t['thread-id'] for t in threads}
    expect(told == m.tids() if proc else told <= m.tids(),
           'the threads are listed', told, m.tids())
    expect({t['vcpu']: t['thread-id'] for t in threads
            if t['role'] == 'vcpu'} == vcpus, 'with the vCPUs', threads)
    for thread in threads:
        real = m.mask(thread['thread-id'])
        expect(members(thread['actual-cpus']) == real, 'as /proc says',
               thread, real)
        if 'wanted-cpus' in thread:
            expect(members(thread['wanted-cpus']) == real,
                   'where it should be', thread, real)
    main = [t for t in threads if t['role'] == 'main']
    expect(len(main) == 1 and 'wanted-cpus' in main[0], 'main is placed',
           threads)


def check_jail(m):
    """An open directory would be a way out of a chroot."""
    fds = '/proc/%d/fd' % m.pid
    opened = [os.readlink(fd.path) for fd in os.scandir(fds)
              if os.path.isdir(fd.path)]
    expect(opened == [], 'no directory is open', opened)


def plug(m):
    m.qmp('device_add', driver='qemu64-x86_64-cpu', id='late', socket_id=1,
          core_id=0, thread_id=0)


def check_set(m, sandbox, proc):
    """A mask that somebody changed is restored, or that is refused."""
    vcpu, tid = min(m.vcpus().items())
    own = m.mask(tid)
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(tid, everywhere)
    try:
        m.qmp('set-pinning')
        said = None
    except qmp_client.QmpError as e:
        said = str(e)
    shown = [t for t in m.threads() if t.get('vcpu') == vcpu]
    if sandbox:
        expect(said and 'forbidden by -sandbox ' + GROUP in said,
               'set-pinning is refused with the reason', said)
    elif not proc:
        expect(said and 'chroot' in said,
               'set-pinning is refused with the reason', said)
    else:
        expect(said is None, 'set-pinning works', said)
    want = everywhere if said else own
    expect(m.mask(tid) == want and members(shown[0]['actual-cpus']) == want,
           'and its effect is shown', m.mask(tid), shown)
    os.sched_setaffinity(tid, own)


def standard(folder, args, sandbox, proc=True, then=None):
    args = list(args) + (['-sandbox', sandbox] if sandbox else [])
    with Machine(folder, *args) as m:
        if then:
            then(m)
        check_masks(m, 1, proc)
        if not proc:
            check_jail(m)
        plug(m)
        m.qmp('object-add', qom_type='iothread', id='late-io')
        check_masks(m, 2, proc)
        check_set(m, sandbox, proc)


def leave_preconfig(m):
    early = m.qmp('query-pinning')
    expect(early['enabled'] and
           not [t for t in early['threads'] if t['role'] == 'vcpu'],
           'a plan, but no vCPU yet', early)
    m.qmp('x-exit-preconfig')


def state_is(*states):
    def check(m):
        state = m.qmp('query-status')['status']
        expect(state in states, 'the machine is %s' % ' or '.join(states),
               state)
    return check


def plain(folder, sandbox):
    standard(folder, [], sandbox, then=state_is('running'))


def paused(folder, sandbox):
    standard(folder, ['-S'], sandbox, then=state_is('prelaunch'))


def managed(folder, sandbox):
    """What libvirt does between -S and cont to a domain that says nothing."""
    args = ['-S'] + (['-sandbox', sandbox] if sandbox else [])
    with Machine(folder, *args) as m:
        own = {t['thread-id']: m.mask(t['thread-id']) for t in m.threads()
               if t['role'] in ('vcpu', 'main')}
        for tid in own:
            os.sched_setaffinity(tid, os.sched_getaffinity(0))
        m.qmp('cont')
        expect({tid: m.mask(tid) for tid in own} == own,
               'they are back when the guest runs', own)
        check_masks(m, 1, True)
        [tid] = m.vcpus().values()
        os.sched_setaffinity(tid, os.sched_getaffinity(0))
        m.qmp('stop')
        m.qmp('cont')
        expect(m.mask(tid) == os.sched_getaffinity(0),
               'what comes later is left alone', m.mask(tid))


def pinned(folder, sandbox):
    """A mask that somebody has chosen is there when the guest runs."""
    args = ['-S'] + (['-sandbox', sandbox] if sandbox else [])
    with Machine(folder, *args) as m:
        [tid] = m.vcpus().values()
        other = {max(os.sched_getaffinity(0) - m.mask(tid))}
        os.sched_setaffinity(tid, other)
        m.qmp('cont')
        expect(m.mask(tid) == other, 'it is left alone', m.mask(tid))


def preconfig(folder, sandbox):
    standard(folder, ['-preconfig'], sandbox, then=leave_preconfig)


def incoming_defer(folder, sandbox):
    standard(folder, ['-incoming', 'defer'], sandbox,
             then=state_is('inmigrate'))


def incoming(folder, sandbox):
    standard(folder, ['-incoming', 'unix:%s/in' % folder], sandbox,
             then=state_is('inmigrate'))


def loadvm(folder, sandbox):
    disk = folder + '/disk'
    drive = ['-drive', 'if=none,id=d,format=qcow2,file=' + disk]
    subprocess.run([QEMU_IMG, 'create', '-q', '-f', 'qcow2', disk, '16M'],
                   check=True, timeout=LIMIT)
    with Machine(folder, *drive) as m:
        said = m.qmp('human-monitor-command', command_line='savevm here')
        expect(said == '', 'a snapshot is taken', said)
        m.qmp('quit')
        m.run.wait(timeout=LIMIT)
    standard(folder, drive + ['-loadvm', 'here'], sandbox,
             then=state_is('running', 'paused'))


def daemonize(folder, sandbox):
    standard(folder, ['-daemonize'], sandbox and PART)


def user(folder, sandbox):
    standard(folder, ['-run-with', 'user=' + NOBODY], sandbox and PART)


def jail(folder):
    os.makedirs(folder + '/jail', exist_ok=True)
    return 'chroot=%s/jail' % folder


def chroot(folder, sandbox):
    standard(folder, ['-run-with', jail(folder)], sandbox, proc=False)


def chroot_user(folder, sandbox):
    standard(folder, ['-daemonize', '-run-with',
                      jail(folder) + ',user=' + NOBODY], sandbox and PART,
             proc=False)


def preconfig_jail(folder, sandbox):
    where = jail(folder)
    # Firmware is read when QEMU is in there already
    with open(folder + '/jail/rom', 'wb') as f:
        f.write(b'\xf4' * 65536)
    standard(folder, ['-preconfig', '-bios', '/rom', '-run-with',
                      where + ',user=' + NOBODY], sandbox and PART,
             proc=False, then=leave_preconfig)


CASES = [('as is', plain, False), ('-S', paused, False),
         ('-preconfig', preconfig, False),
         ('-incoming defer', incoming_defer, False),
         ('-S, and masks of nobody', managed, False),
         ('-S, and a mask of somebody', pinned, False),
         ('-incoming unix:', incoming, False), ('-loadvm', loadvm, False),
         ('-daemonize', daemonize, False), ('user=', user, True),
         ('chroot=', chroot, True),
         ('-daemonize, chroot= and user=', chroot_user, True),
         ('-preconfig, chroot= and user=', preconfig_jail, True)]


def forks(folder, _):
    """spawn=deny forbids what -daemonize does: QEMU's own word, not ours."""
    run = subprocess.run([QEMU] + MACHINE + ['-accel', ACCEL, '-daemonize',
                                     '-sandbox', FULL],
                         capture_output=True, text=True, timeout=LIMIT)
    expect(run.returncode != 0, 'it ends', run)


def off(folder, _):
    """Without placement, too, set-pinning knows why it cannot be."""
    with Machine(folder, '-sandbox', FULL, accel='tcg') as m:
        try:
            m.qmp('set-pinning', options={'mode': 'numa'})
            said = None
        except qmp_client.QmpError as e:
            said = str(e)
        expect(said and GROUP in said, 'the reason', said)


def main():
    results = []

    def case(name, function, sandbox):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            try:
                function(folder, sandbox)
                why = None
            except (Failed, qmp_client.QmpError, OSError,
                    subprocess.SubprocessError):
                why = traceback.format_exc()
        results.append(why is None)
        print('%sok %d - start: %s' % ('' if why is None else 'not ',
                                       len(results), name), flush=True)
        for line in (why or '').splitlines():
            print('# ' + line)

    if len(os.sched_getaffinity(0)) < 2:
        print('1..0 # SKIP needs 2 host CPUs')
        return 0
    for name, function, needs_root in CASES:
        for sandbox in (None, FULL):
            full = name + (', sandboxed' if sandbox else '')
            if needs_root and os.getuid() != 0:
                results.append(True)
                print('ok %d - start: %s # SKIP needs root' % (len(results),
                                                               full))
            else:
                case(full, function, sandbox)
    case('-daemonize and spawn=deny', forks, None)
    case('set-pinning where nothing was placed, sandboxed', off, None)
    print('1..%d' % len(results))
    return 0 if all(results) else 1


sys.exit(main())
