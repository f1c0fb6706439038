# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists of CPUs as the kernel and our programs write them."""


def members(text):
    """Members of a list such as '0-3,8', in order; there are no strides."""
    found = []
    for part in filter(None, (text or '').split(',')):
        first, _, last = part.partition('-')
        found += range(int(first), int(last or first) + 1)
    return found
