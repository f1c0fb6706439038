# SPDX-License-Identifier: GPL-2.0-or-later
"""Child processes that do not outlive us, whatever ends us."""

import ctypes
import os
import signal
import subprocess

from . import LabError

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    """For preexec_fn: SIGKILL when the thread that started us is gone."""
    parent = os.getppid()
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have died before the call above took effect
    if os.getppid() != parent:
        os._exit(1)


def start(args, **kwargs):
    return subprocess.Popen(args, preexec_fn=die_with_parent, **kwargs)


def output(args, check=True, **kwargs):
    """The standard output of a short command, as bytes."""
    kwargs.setdefault('stderr', subprocess.PIPE)
    child = start(args, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                  **kwargs)
    out, err = child.communicate()
    if check and child.returncode != 0:
        raise LabError('%s ended with status %d:\n%s' % (
            ' '.join(map(str, args)), child.returncode,
            (err or out).decode(errors='replace').strip()))
    return out
