# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab's guests, for machines that run outside of it."""

import os

from . import LAB                                   # noqa: F401
from labhost import image


def firmware(setup, name):
    """Path of guest.S in one of its kinds."""
    with open(os.path.join(image.HERE, 'inside', 'guest.S')) as f:
        data = image.assemble(f.read(), image.GUESTS[name])
    path = os.path.join(setup.out, 'guest-%s.bin' % name)
    with open(path, 'wb') as f:
        f.write(data)
    return path
