# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows that run inside the lab, a boot for each run.

What happens in there must not depend on how busy this machine is: the lab's
clock goes with the instructions that it executes, and idle time is skipped.
"""

import concurrent.futures
import os
import shutil

from . import HERE, LAB, BenchError                 # noqa: F401
from labhost import image, jobs, plan, report
import topologies

TOPOLOGY = '4x2x2'
KERNEL = '6.12'
ICOUNT = ['-icount', 'shift=0,sleep=off', '-rtc', 'clock=vm']   # 1 ns each
LIMIT = 900                         # seconds of the emulator, for a row
STOCK = '/usr/local/bin/qemu-stock'
OURS = '/usr/local/bin/qemu-system-x86_64'


class Setup(jobs.Setup):
    """With the stock QEMU and the guest that does the work, too."""

    def __init__(self, bench, host, folder):
        super().__init__({TOPOLOGY: host}, os.path.realpath(bench.ours),
                         bench.ours, folder,
                         float(os.environ.get('LAB_SLOW') or 1), bench.note)
        self._bench = bench

    def archives(self, version, linux_guest):
        found = super().archives(version, linux_guest)
        with image.lock():
            piece = image.Piece('bench')
            piece.program(os.path.realpath(self._bench.stock), STOCK[1:])
            piece.copy(image.guest_archive(
                self.kernel(version), 'work',
                os.path.join(HERE, 'lab', 'work-init'),
                [os.path.join(self._bench.out, 'remote-work')]),
                'lab/work.cpio')
            return found + [open(piece.build(), 'rb')]


def _scripts(folder, name, rows, run, append):
    """A lab test for each row; another order and another time in each run,
    as everything else is the same in all of them."""
    with open(os.path.join(HERE, 'lab', name + '-row.py')) as f:
        body = f.read()
    shift = run * 5 % len(rows)
    paths = []
    for row in rows[shift:] + rows[:shift]:
        row = dict(row, pause=0.037 * run, append=append)
        path = os.path.join(folder, 'row-%s.py' % row['row'])
        with open(path, 'w') as f:
            f.write('# limit: %d\n# needs: linux-guest\n# modules: %s\n'
                    'ROW = %r\n%s' % (LIMIT, row.get('modules', ''), row,
                                      body))
        paths.append(path)
    return paths


def _boot(bench, name, rows, run, part, append, outer):
    """One lab, in which each row runs once; the folder of its results."""
    folder = os.path.join(bench.out, name, 'run%d.%d' % (run, part))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    paths = _scripts(folder, name, rows, run, append)
    host = topologies.HOSTS[TOPOLOGY]()
    host.boot *= 5              # to count instructions costs time
    mib = int(host.args[host.args.index('-m') + 1].rstrip('M'))
    host.args += ICOUNT + outer(folder, mib)
    tests = [plan.Test(path, topologies.HOSTS) for path in paths]
    with open(os.path.join(folder, 'said'), 'w') as said:
        out = report.Report(out=said)
        jobs.run(Setup(bench, host, folder),
                 [plan.Job(TOPOLOGY, KERNEL, '', tests)], 1, out)
        out.close()
    bench.note('%s: run %d: %d results, %d failed' % (
        name, run + 1, out.passed, out.failed))
    return folder


def run(bench, name, rows, runs, append, outer=lambda folder, mib: []):
    """Folders of results of @runs runs of all rows, bench.jobs labs side by
    side.  When there are fewer runs than that, the labs share the rows.

    @name: of the script in lab/; @append: for the guest's kernel
    @outer: more options of the lab's emulator, from a folder and the lab's
        memory in MiB
    """
    bench.compile('remote-work.c', 'remote-work', '-static', '-pthread')
    parts = max(bench.jobs // runs, 1)
    with concurrent.futures.ThreadPoolExecutor(bench.jobs) as pool:
        todo = [pool.submit(_boot, bench, name, rows[part::parts], number,
                            part, append, outer)
                for number in range(runs) for part in range(parts)]
        return [one.result() for one in todo]


def by_row(bench, name, rows, found):
    """@found, {row: results}, in the order of @rows; a row of which no run
    has ended is left out."""
    missing = [row['row'] for row in rows if not found.get(row['row'])]
    if missing:
        bench.note('%s: no result for %s; see %s/%s' % (
            name, ' '.join(missing), bench.out, name))
    if len(missing) == len(rows):
        raise BenchError(name + ': no results')
    return {row['row']: found[row['row']] for row in rows
            if row['row'] not in missing}
