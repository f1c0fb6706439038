# SPDX-License-Identifier: GPL-2.0-or-later
"""newc archives, written without root and without unpacking anything.

They stay uncompressed: unpacking is then a memcpy, while inflating costs
seconds under emulation.
"""

import os
import stat


class Archive:
    """Collects entries in memory; parent directories come by themselves."""

    def __init__(self):
        self._entries = {}

    def _add(self, path, mode, data):
        path = path.strip('/')
        parent = os.path.dirname(path)
        if parent and parent not in self._entries:
            self.dir(parent)
        self._entries[path] = (mode, data)

    def dir(self, path, mode=0o755):
        self._add(path, stat.S_IFDIR | mode, b'')

    def file(self, path, data, mode=0o644):
        self._add(path, stat.S_IFREG | mode, data)

    def link(self, path, target):
        self._add(path, stat.S_IFLNK | 0o777, target.encode())

    def copy(self, source, path):
        """A file of this machine, links followed, permissions kept."""
        with open(source, 'rb') as f:
            mode = stat.S_IMODE(os.fstat(f.fileno()).st_mode)
            self.file(path, f.read(), mode)

    def paths(self):
        return list(self._entries)

    def pack(self):
        out = bytearray()
        for inode, (path, (mode, data)) in enumerate(self._entries.items()):
            _emit(out, inode + 1, path, mode, data)
        _emit(out, 0, 'TRAILER!!!', 0, b'')
        # The kernel takes archives one behind the other
        out.extend(bytes(-len(out) % 512))
        return bytes(out)


def _emit(out, inode, path, mode, data):
    name = path.encode() + b'\0'
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
    out.extend(b'070701' + b''.join(b'%08X' % field for field in fields))
    out.extend(name)
    out.extend(bytes(-len(out) % 4))
    out.extend(data)
    out.extend(bytes(-len(out) % 4))
