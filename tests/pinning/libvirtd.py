# SPDX-License-Identifier: GPL-2.0-or-later
"""A libvirt daemon of one's own, an ordinary user's, in a folder."""

import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time

PATIENCE = 60


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError('waited in vain for ' + what)
        time.sleep(0.1)


def ordinary_user():
    """Arguments for Popen: what root runs for us is run by nobody"""
    if os.getuid():
        return {}
    nobody = pwd.getpwnam('nobody')
    return {'user': nobody.pw_uid, 'group': nobody.pw_gid, 'extra_groups': []}


USER = ordinary_user()


def reachable(program):
    """Whether an ordinary user may run it"""
    try:
        return subprocess.run([program, '--version'], capture_output=True,
                              cwd='/', **USER).returncode == 0
    except OSError:
        return False


def why_not(emulator, *more):
    """A reason why there can be no daemon here, or None"""
    for program in ('libvirtd', 'virsh') + more:
        if not shutil.which(program, path='/usr/sbin:/usr/bin:/sbin:/bin'):
            return program + ' is not installed'
    if not reachable(emulator):
        return 'an ordinary user cannot reach ' + emulator
    return None


class Daemon:
    """libvirtd with all that it keeps below one folder"""

    def __init__(self):
        # Sockets are below it, so its name has to be short
        folder = self.folder = tempfile.mkdtemp(prefix='lv', dir='/tmp')
        os.chmod(folder, stat.S_IRWXU | stat.S_IXOTH | stat.S_IROTH)
        self.env = {'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'LC_ALL': 'C',
                    'HOME': folder}
        for name in ('RUNTIME_DIR', 'CACHE_HOME', 'CONFIG_HOME', 'DATA_HOME'):
            self.env['XDG_' + name] = self.path(name.lower())
            os.mkdir(self.path(name.lower()), 0o700)
        os.mkdir(self.path('registry'), 0o700)
        if USER:
            for name in ('.', *os.listdir(folder)):
                os.chown(self.path(name), USER['user'], USER['group'])
        with open(self.path('log'), 'w') as log:
            self.process = subprocess.Popen(
                ['libvirtd'], env=self.env, cwd=folder, stdout=log,
                stderr=log, stdin=subprocess.DEVNULL, **USER)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run(self, *args):
        return subprocess.run(args, env=self.env, cwd=self.folder,
                              capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, **USER)

    def virsh(self, *args):
        done = self.run('virsh', '-q', '-c', 'qemu:///session', *args)
        if done.returncode:
            raise AssertionError('virsh %s: %s' % (' '.join(args),
                                                   done.stderr.strip()))
        return done.stdout

    def wait(self):
        wait_for(lambda: os.path.exists(
            self.path('runtime_dir/libvirt/libvirt-sock')), 'libvirtd')

    def stop(self):
        """The daemon, and what it has started"""
        for name in self.run('virsh', '-q', '-c', 'qemu:///session', 'list',
                             '--name').stdout.split():
            self.run('virsh', '-q', '-c', 'qemu:///session', 'destroy', name)
        self.process.terminate()
        self.process.wait(30)
        pid = self.path('runtime_dir/libvirt/virtlogd.pid')
        if os.path.exists(pid):
            os.kill(int(open(pid).read()), signal.SIGTERM)
            wait_for(lambda: not os.path.exists(pid), 'the end of virtlogd')
        shutil.rmtree(self.folder)
