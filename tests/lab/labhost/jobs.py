# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs jobs, a few labs side by side, and reports what the tests said."""

import json
import os
import selectors
import time

from . import HERE
from . import boot
from . import image
from .cpio import Archive
from . import kernel as kernels

DIED = 125


def overlay(host, job):
    """What differs from boot to boot: agent, helper, tests, settings."""
    archive = Archive()
    with open(os.path.join(HERE, 'inside', 'init'), 'rb') as f:
        archive.file('init', f.read(), 0o755)
    for path in [os.path.join(HERE, 'inside', name + '.py') for name in
                 ('agent', 'placed', 'placed_io')] + [
                     os.path.join(HERE, 'lab.py')]:
        piece = image.Piece('python-' + os.path.basename(path)[:-3])
        piece.copy(path, 'lab/' + os.path.basename(path) + 'c', 'pyc')
        with image.lock(), open(piece.build(), 'rb') as f:
            yield f.read()
        archive.copy(path, 'lab/source/' + os.path.basename(path))
    for test in job.tests:
        archive.copy(test.path, 'lab/tests/%s.py' % test.name)
    cgroup = host.cgroup or ('', '')
    archive.file('lab/env', ''.join(
        "%s='%s'\n" % item for item in {
            'LAB_MODULES': ' '.join(job.modules()),
            'LAB_OFFLINE': ' '.join(map(str, host.offline)),
            'LAB_ONLINE': ' '.join(map(str, host.online)),
            'LAB_CGROUP_CPUS': cgroup[0],
            'LAB_CGROUP_MEMS': cgroup[1]}.items()).encode())
    archive.file('lab/config.json', json.dumps({
        'topology': job.topology, 'kernel': job.kernel,
        'expect': host.expect,
        'tests': [test.name for test in job.tests]}).encode())
    yield archive.pack()


class Setup:
    """What all boots of a run share."""

    def __init__(self, hosts, outer, binary, out, slow, log):
        self.hosts = hosts
        self.outer = outer
        self.out = out
        self.slow = slow
        self._log = log
        self._binary = binary
        self._pieces = {}

    def kernel(self, version):
        return kernels.get(version, self._log)

    def archives(self, version, linux_guest):
        key = (version, linux_guest)
        if key not in self._pieces:
            with image.lock():
                kernel = self.kernel(version)
                pieces = [image.base(), image.modules(kernel),
                          image.qemu(self._binary)]
                if linux_guest:
                    pieces.append(image.inner(kernel))
                self._pieces[key] = [open(piece.build(), 'rb')
                                     for piece in pieces]
        return self._pieces[key]


class Running:
    """A booted job: collects its tests' lines, reports each when it ends."""

    def __init__(self, setup, job, number, report):
        self.job = job
        self._report = report
        self._where = '%s/%s ' % (job.topology, job.kernel)
        self._lines = []
        self._begun = 0
        self.left = list(job.tests)         # not ended yet
        host = setup.hosts[job.topology]
        archives = list(setup.archives(job.kernel,
                                       job.needs('linux-guest')))
        archives += overlay(host, job)
        initrd = boot.memory_file(archives)
        argv = boot.command(setup.outer, host, setup.kernel(job.kernel),
                            initrd, job.append)
        out = os.path.join(setup.out, '%02d-%s-%s' % (
            number, job.topology, job.kernel))
        self.lab = boot.Lab(argv, initrd, host, [
            {'name': test.name, 'limit': test.limit} for test in job.tests],
            out, self._event, setup.slow)

    def _event(self, kind, name, value=None):
        if kind == 'start':
            self._lines = []
            self._begun = time.monotonic()
        elif kind == 'line':
            self._lines.append(value)
        else:
            self._end(name, value)

    def _end(self, name, status, trouble=None):
        self._report.test(self._where + name, self._lines, status, trouble)
        self._lines = []
        self.status = status
        self.left = [test for test in self.left if test.name != name]
        if self._report.verbose and self._begun:
            self._report.note('%s%s took %.1f s' % (
                self._where, name, time.monotonic() - self._begun))

    def finish(self):
        """After power-off; what is left when that came too early."""
        lab = self.lab
        lab.finish()
        if lab.bye and not lab.stuck and not self.left:
            self._report.note('%s%d tests, %.1f s' % (
                self._where, len(self.job.tests), lab.seconds))
            return []
        trouble = ('hangs in %s' % lab.stuck if lab.stuck else
                   'the lab ended, status %s' % lab.process.returncode)
        if lab.current or self.left:
            self._end(lab.current or self.left[0].name, DIED, trouble)
        else:
            self._report.result(False, self._where + trouble)
        self._report.note('%slogs are in %s; the console\'s end:'
                          % (self._where, lab.out))
        for line in lab.console_tail():
            self._report.note('    ' + line)
        return self.left


def run(setup, todo, width, report):
    """All jobs, @width at a time; the last test's exit status."""
    todo = list(todo)
    for job in todo:
        # Now, for a lab that runs must not wait for it
        setup.archives(job.kernel, job.needs('linux-guest'))
    running = []
    number = 0
    status = 0
    selector = selectors.DefaultSelector()
    try:
        while todo or running:
            while todo and len(running) < width:
                number += 1
                one = Running(setup, todo.pop(0), number, report)
                running.append(one)
                for sock, reader in one.lab.sockets().items():
                    selector.register(sock, selectors.EVENT_READ, reader)
            for key, _ in selector.select(0.1):
                if not key.data():
                    selector.unregister(key.fileobj)
            for one in list(running):
                if one.lab.process.poll() is None:
                    if one.lab.overdue():
                        one.lab.give_up()
                    else:
                        continue
                running.remove(one)
                for sock in one.lab.sockets():
                    if sock in selector.get_map():
                        selector.unregister(sock)
                left = one.finish()
                status = one.status
                if left:
                    # A lab that died takes no other test with it
                    one.job.tests = left
                    todo.insert(0, one.job)
    finally:
        for one in running:
            one.lab.kill()
    return status
