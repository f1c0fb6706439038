# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs on this machine: kernel and image building, booting, reporting."""

import os

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))


class LabError(Exception):
    """Something the user must see, without a traceback."""


def cache_dir():
    """Kernels, images and logs; nothing outside of it is ever written."""
    path = os.environ.get('LAB_CACHE') or os.path.join(ROOT, 'build', 'lab')
    os.makedirs(path, exist_ok=True)
    return os.path.realpath(path)
