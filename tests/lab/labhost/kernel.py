# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's kernels: fetched, unpacked, nothing installed."""

import fcntl
import glob
import lzma
import os
import re
import shutil
import struct

from . import LabError, ROOT, cache_dir
from . import proc

# What the lab calls it: the suite that has it
SUITES = {'6.1': 'bookworm', '6.12': 'bookworm-backports'}


class Kernel:
    """An unpacked kernel package below @path."""

    def __init__(self, version, path):
        self.version = version
        self.vmlinux = os.path.join(path, 'vmlinux')
        self.release = os.listdir(os.path.join(path, 'modules'))[0]
        self.modules = os.path.join(path, 'modules', self.release)


def inflate(image):
    """The ELF file inside the bytes of a bzImage.

    Booted by PVH it saves the seconds that inflating costs under emulation.
    """
    # Offsets of the x86 boot protocol
    sectors, = struct.unpack_from('<B', image, 0x1f1)
    offset, length = struct.unpack_from('<II', image, 0x248)
    start = (sectors + 1) * 512 + offset
    payload = image[start:start + length]
    if payload.startswith(b'\xfd7zXZ\0'):
        elf = lzma.LZMADecompressor().decompress(payload)
    elif payload.startswith(b'\x28\xb5\x2f\xfd'):
        # Four bytes of size follow the stream; zstd complains about them
        # after it has written everything
        elf = _zstd(payload)
    else:
        raise LabError('kernel image: compression not known: %s'
                       % payload[:6].hex())
    if not elf.startswith(b'\x7fELF'):
        raise LabError('kernel image: no ELF file in it')
    return elf


def _zstd(payload):
    child = proc.start(['zstd', '-dcq'], stdin=-1, stdout=-1, stderr=-1)
    return child.communicate(payload)[0]


def _apt(*args, **kwargs):
    return proc.output([os.path.join(ROOT, 'scripts/pinning/private-apt'),
                        os.path.join(cache_dir(), 'apt')]
                       + sorted(SUITES.values())
                       + ['--'] + list(args), **kwargs).decode()


def _package(version):
    """The package that linux-image-amd64 of this version stands for."""
    for line in _apt('apt-cache', 'madison', 'linux-image-amd64').split('\n'):
        fields = [field.strip() for field in line.split('|')]
        if len(fields) == 3 and fields[1].startswith(version + '.') \
                and SUITES[version] + '/' in fields[2]:
            text = _apt('apt-cache', 'show', 'linux-image-amd64=' + fields[1])
            return re.search(r'^Depends:.*?(linux-image-\S+)', text,
                             re.M).group(1)
    raise LabError('no Linux %s in suite %s' % (version, SUITES[version]))


def _unpack(package, path):
    work = path + '.deb'
    os.makedirs(work)
    _apt('apt-get', 'download', package, cwd=work)
    deb, = glob.glob(os.path.join(work, '*.deb'))
    tree = os.path.join(work, 'tree')
    proc.output(['dpkg-deb', '-x', deb, tree])
    os.makedirs(path)
    image, = glob.glob(os.path.join(tree, 'boot/vmlinuz-*'))
    with open(image, 'rb') as src, \
            open(os.path.join(path, 'vmlinux'), 'wb') as dst:
        dst.write(inflate(src.read()))
    os.rename(os.path.join(tree, 'lib/modules'),
              os.path.join(path, 'modules'))
    shutil.rmtree(work)


def get(version, log):
    """Kernel @version, from the cache or fetched now."""
    final = os.path.join(cache_dir(), 'kernel-' + version)
    with open(final + '.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(final):
            for left in (final + '.tmp', final + '.tmp.deb'):
                shutil.rmtree(left, ignore_errors=True)
            package = _package(version)
            log('fetching %s' % package)
            _unpack(package, final + '.tmp')
            with open(os.path.join(final + '.tmp', 'package'), 'w') as f:
                f.write(package + '\n')
            os.rename(final + '.tmp', final)
    return Kernel(version, final)
