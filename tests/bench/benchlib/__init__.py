# SPDX-License-Identifier: GPL-2.0-or-later
"""What the parts of a benchmark share."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))
LAB = os.path.join(ROOT, 'tests', 'lab')
if LAB not in sys.path:
    sys.path.insert(0, LAB)


class BenchError(Exception):
    """Something the user must see, without a traceback."""


class Setup:
    """What is measured, and how thoroughly.

    @build: folder of make's results; @out: a folder for raw results
    @quick: fewer runs, the same measurements
    @jobs: labs side by side
    """

    def __init__(self, build, out, quick=False, jobs=2):
        self.build = os.path.realpath(build)
        self.out = os.path.realpath(out)
        self.quick = quick
        self.jobs = jobs
        self.ours = self._program('bin/qemu-system-x86_64')
        self._registry = None
        os.makedirs(self.out, exist_ok=True)

    def _program(self, name, how='make'):
        path = os.path.join(self.build, name)
        if not os.access(path, os.X_OK):
            raise BenchError('no %s: run "%s" first' % (path, how))
        return path

    @property
    def stock(self):
        return self._program('stock/bin/qemu-system-x86_64', 'make stock')

    @property
    def registry(self):
        """A folder of our own, in memory as /run is on a usual host."""
        if not self._registry:
            shm = '/dev/shm'
            self._registry = tempfile.TemporaryDirectory(
                dir=shm if os.access(shm, os.W_OK) else None)
        return self._registry.name

    @property
    def tool(self):
        return self._program('bin/qemu-pinning')

    def built(self, name):
        """A program that only benchmarks need."""
        return self._program('qemu/softmmu/tool/' + name,
                             'ninja softmmu/tool/' + name)

    def runs(self, full, quick):
        return quick if self.quick else full

    def compile(self, source, output, *args):
        """One C file of ours; its path when compiled."""
        path = os.path.join(self.out, output)
        run = subprocess.run(
            ['cc', '-O2', '-Wall', '-Werror', '-o', path,
             os.path.join(HERE, source)] + list(args),
            capture_output=True, text=True)
        if run.returncode:
            raise BenchError('%s does not compile:\n%s'
                             % (source, run.stderr))
        return path

    def plugin(self, source):
        """A TCG plugin of ours; its path when compiled."""
        glib = subprocess.run(['pkg-config', '--cflags', 'glib-2.0'],
                              capture_output=True, text=True, check=True)
        return self.compile(
            source, os.path.splitext(source)[0] + '.so', '-shared', '-fPIC',
            '-I', os.path.join(self.build, 'tree/include/qemu'),
            *glib.stdout.split())

    def note(self, text):
        print('bench: ' + text, file=sys.stderr, flush=True)


def output(*args):
    """The first line of what a command says; '' when it cannot."""
    try:
        run = subprocess.run(args, capture_output=True, text=True)
    except OSError:
        return ''
    return (run.stdout.strip().split('\n') or [''])[0]
