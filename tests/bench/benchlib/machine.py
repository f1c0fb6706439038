# SPDX-License-Identifier: GPL-2.0-or-later
"""What a result was measured with."""

import os
import time

from . import output


def _cpu_model():
    try:
        with open('/proc/cpuinfo') as f:
            for line in f:
                if line.startswith('model name'):
                    return line.split(':', 1)[1].strip()
    except OSError:
        pass
    return os.uname().machine


def describe(setup):
    """Of this machine and the programs; no name that identifies it."""
    return {
        'date': time.strftime('%Y-%m-%d', time.gmtime()),
        'cpu': _cpu_model(),
        'cpus': os.cpu_count(),
        'load': round(os.getloadavg()[0], 1),
        'kernel': os.uname().release,
        'ours': output(setup.ours, '--version'),
        'stock': output(setup.build + '/stock/bin/qemu-system-x86_64',
                        '--version'),
        'compiler': output('cc', '--version'),
        'quick': setup.quick,
    }


def line(facts):
    return ('%(date)s, %(cpus)d x %(cpu)s, Linux %(kernel)s, load %(load)s '
            'at the start; ours: %(ours)s; stock: %(stock)s; %(compiler)s'
            % facts
            + ('; quick' if facts['quick'] else ''))
