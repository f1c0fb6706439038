# SPDX-License-Identifier: GPL-2.0-or-later
"""The archives the lab host boots from, each cached by its content.

An image is several archives one behind the other, so that a new QEMU does
not mean packing python again.
"""

import contextlib
import fcntl
import glob
import hashlib
import lzma
import os
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from . import HERE, LabError, cache_dir
from . import proc
from .cpio import Archive

PROGRAMS = ('bash', 'numactl', 'lscpu', 'taskset', 'setpriv', 'chrt', 'ip',
            'ps', 'strace', 'migratepages')
LAB_MODULES = ('kvm_amd', 'vhost_net', 'vhost_vsock', 'vhost_scsi', 'tun')
INNER_MODULES = ('virtio_pci', 'virtio_net')
FIRMWARE = ('bios-256k.bin', 'kvmvapic.bin', 'linuxboot_dma.bin', 'pvh.bin')
# For microvm, and by hand in the shell when -nodefaults is forgotten
FIRMWARE_EXTRA = ('bios-microvm.bin', 'vgabios-stdvga.bin', 'efi-virtio.rom',
                  'efi-e1000e.rom')
FIRMWARE_DIRS = ('/usr/share/qemu', '/usr/share/seabios',
                 '/usr/lib/ipxe/qemu')
GUESTS = {'idle': 0, 'spin': 1, 'write': 2, 'irq': 3}
# What no test wants of python's library: a third of the time to unpack it
NO_PYTHON = re.compile(
    r'^(lib2to3|pydoc|pydoc_data|ensurepip|idlelib|distutils|test|unittest'
    r'|xmlrpc|wsgiref|sqlite3|curses|dbm|email|html|http|xml|config-|tkinter'
    r'|turtledemo|urllib|venv|asyncio|multiprocessing|dist-packages'
    r'|zoneinfo|turtle|__phello__|this|antigravity)'
    r'|_codecs_|_(ssl|hashlib|curses|lzma|bz2|sqlite3|tkinter|dbm|crypt)\.'
    r'|readline\.|_test|xxlimited'
    r'|encodings/(cp|mac|iso|big|euc|gb|shift|jis|koi|hz|hp|johab|ptcp)')


def need(name):
    path = shutil.which(name, path=os.environ.get('PATH', '')
                        + ':/usr/sbin:/sbin')
    if not path:
        raise LabError('the lab needs %s; as root: apt-get install %s' % (
            name, ' '.join(open(os.path.join(HERE, 'packages'))
                           .read().split())))
    return os.path.realpath(path)


def firmware(name, required=True):
    for folder in FIRMWARE_DIRS:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    if required:
        raise LabError('the lab needs %s, of the packages seabios and '
                       'qemu-system-data' % name)
    return None


@contextlib.contextmanager
def lock():
    """One builds, others wait and find it built."""
    with open(os.path.join(cache_dir(), 'images.lock'), 'w') as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        # Of a builder that was killed: whoever holds the lock is alone
        shutil.rmtree(os.path.join(cache_dir(), 'tmp'), ignore_errors=True)
        yield


def workdir():
    folder = os.path.join(cache_dir(), 'tmp')
    os.makedirs(folder, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=folder)


class Piece:
    """One archive: what goes in, a key over all of it, and the packing."""

    def __init__(self, name):
        self.name = name
        self._items = {}        # path -> (how, mode, bytes)
        self._links = {}

    def data(self, path, data, mode=0o644, how='plain'):
        self._items[path] = (how, mode, data)

    def copy(self, source, path, how='plain'):
        with open(source, 'rb') as f:
            self.data(path, f.read(), os.fstat(f.fileno()).st_mode & 0o777,
                      how)

    def link(self, path, target):
        self._links[path] = target

    def program(self, source, path):
        """A program, stripped, with the libraries that it loads."""
        self.copy(source, path, 'strip')
        listing = subprocess.run(['ldd', source], capture_output=True)
        for lib in re.findall(r'(/\S+) \(0x', listing.stdout.decode()):
            self.copy(lib, lib)

    def _key(self):
        digest = hashlib.sha256()
        for path, (how, mode, data) in sorted(self._items.items()):
            digest.update(('%s %s %o %d\n' % (path, how, mode, len(data)))
                          .encode())
            digest.update(data)
        digest.update(repr(sorted(self._links.items())).encode())
        return digest.hexdigest()[:16]

    def build(self):
        """Path of the archive; packed when there is none with our key.

        Open it before the lock is given up, see _forget_old().
        """
        folder = os.path.join(cache_dir(), 'images')
        os.makedirs(folder, exist_ok=True)
        final = os.path.join(folder, '%s-%s.cpio' % (self.name, self._key()))
        if os.path.exists(final):
            os.utime(final)
            return final
        archive = Archive()
        for path, (how, mode, data) in self._items.items():
            archive.file(path, _transform(how, path, data), mode)
        for path, target in self._links.items():
            archive.link(path, target)
        with workdir() as work:
            path = os.path.join(work, 'archive')
            with open(path, 'wb') as f:
                f.write(archive.pack())
            os.rename(path, final)
        _forget_old(folder, self.name)
        return final


def _forget_old(folder, name):
    """The newest eight stay: several kernels and QEMUs in turn are common.

    Who uses an older one has it open.
    """
    found = [path for path in glob.glob(os.path.join(folder, name + '-*'))
             if re.fullmatch(r'[0-9a-f]{16}\.cpio',
                             os.path.basename(path)[len(name) + 1:])]
    for path in sorted(found, key=os.path.getmtime)[:-8]:
        os.unlink(path)


def _transform(how, path, data):
    if how == 'plain':
        return data
    with workdir() as work:
        name = os.path.join(work, 'in')
        with open(name, 'wb') as f:
            f.write(data)
        if how == 'pyc':
            py_compile.compile(
                name, name + 'c', '/' + path, doraise=True,
                invalidation_mode=py_compile.PycInvalidationMode
                .UNCHECKED_HASH)
            name += 'c'
        elif how == 'module':
            # Without its signature too: checking that is slow
            proc.output(['strip', '--strip-debug', '-R', '.BTF', name])
        else:
            proc.output(['strip', '-s', name], check=False)
        with open(name, 'rb') as f:
            return f.read()


def _busybox(piece):
    piece.copy(need('busybox'), 'bin/busybox')
    for applet in proc.output([need('busybox'), '--list']).decode().split():
        if applet != 'busybox':
            piece.link('bin/' + applet, 'busybox')
    piece.data('etc/passwd', b'root:x:0:0::/root:/bin/bash\n'
                             b'nobody:x:65534:65534::/:/bin/sh\n')
    piece.data('etc/group', b'root:x:0:\nnogroup:x:65534:\n')
    for folder in ('dev', 'proc', 'sys', 'tmp', 'run', 'root', 'mnt',
                   'var/run'):
        piece.data(folder + '/.keep', b'')


def _python(piece):
    binary = os.path.realpath(sys.executable)
    piece.program(binary, 'usr/bin/python3')
    library = sysconfig.get_paths()['stdlib']
    for path in sorted(glob.glob(library + '/**', recursive=True)):
        name = os.path.relpath(path, library)
        if NO_PYTHON.search(name) or not os.path.isfile(path) \
                or '__pycache__' in name:
            continue
        if name.endswith('.py'):
            # Without the source: one file less to unpack for each
            piece.copy(path, library[1:] + '/' + name + 'c', 'pyc')
        elif name.endswith('.so'):
            piece.program(path, library[1:] + '/' + name)


def base():
    piece = Piece('base')
    _busybox(piece)
    for name in PROGRAMS:
        piece.program(need(name), 'usr/bin/' + name)
    _python(piece)
    # Where the first lines of scripts look for them
    piece.link('bin/bash', '/usr/bin/bash')
    piece.link('usr/bin/env', '/bin/env')
    for name in FIRMWARE + FIRMWARE_EXTRA:
        path = firmware(name, name in FIRMWARE)
        if path:
            piece.copy(path, 'usr/share/qemu/' + name)
    # Where a QEMU of any prefix looks for it
    piece.link('usr/local/share/qemu', '/usr/share/qemu')
    return piece


def _module(path):
    """Bytes of a module and the names of those it needs."""
    with open(path, 'rb') as f:
        data = f.read()
    if path.endswith('.xz'):
        data = lzma.decompress(data)
    needs = re.search(rb'\0depends=([^\0]*)\0', data).group(1).decode()
    return data, [name for name in needs.split(',') if name]


def _add_modules(piece, kernel, wanted):
    """Modules with all they need, inflated, and a list for modprobe."""
    known = {}
    for path in glob.glob(kernel.modules + '/kernel/**/*.ko*',
                          recursive=True):
        name = os.path.basename(path).split('.')[0].replace('-', '_')
        known[name] = path
    with open(os.path.join(kernel.modules, 'modules.builtin')) as f:
        builtin = {os.path.basename(line.strip())[:-3].replace('-', '_')
                   for line in f}
    todo = list(wanted)
    found = {}              # name: (path inside, names it needs)
    while todo:
        name = todo.pop()
        if name in found or name in builtin:
            continue
        if name not in known:
            raise LabError('Linux %s has no module %s'
                           % (kernel.version, name))
        data, needs = _module(known[name])
        path = os.path.relpath(known[name], kernel.modules)
        path = path.removesuffix('.xz')
        piece.data('lib/modules/%s/%s' % (kernel.release, path), data,
                   how='module')
        needs = [need.replace('-', '_') for need in needs]
        found[name] = (path, needs)
        todo += needs
    piece.data('lib/modules/%s/modules.dep' % kernel.release, ''.join(
        '%s: %s\n' % (path, ' '.join(found[n][0] for n in _closure(
            name, found))) for name, (path, _) in sorted(found.items()))
        .encode())


def _closure(name, found):
    """What @name needs, directly or not, in the order of modules.dep: each
    before what it needs itself."""
    out = []
    todo = list(found[name][1])
    while todo:
        need = todo.pop(0)
        if need in found:
            if need in out:
                out.remove(need)
            out.append(need)
            todo += found[need][1]
    return out


def modules(kernel):
    piece = Piece('modules-' + kernel.version)
    _add_modules(piece, kernel, LAB_MODULES)
    return piece


def qemu(binary):
    """The QEMU under test and what was built beside it."""
    piece = Piece('qemu')
    folder = os.path.dirname(binary)
    for name in ('qemu-img', 'qemu-pinning'):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            piece.program(path, 'usr/local/bin/' + name)
    piece.program(os.path.realpath(binary),
                  'usr/local/bin/qemu-system-x86_64')
    source = os.path.join(HERE, 'inside', 'guest.S')
    with open(source) as f:
        text = f.read()
    for name, mode in GUESTS.items():
        piece.data('lab/guest-%s.bin' % name, assemble(text, mode))
    return piece


def assemble(text, mode):
    """A 64 KiB firmware image of guest.S."""
    with workdir() as work:
        obj = os.path.join(work, 'guest.o')
        image = os.path.join(work, 'guest.bin')
        child = proc.start([need('as'), '--32', '--defsym', 'MODE=%d' % mode,
                            '-o', obj, '-'], stdin=subprocess.PIPE)
        child.communicate(text.encode())
        if child.returncode != 0:
            raise LabError('guest.S does not assemble')
        proc.output([need('ld'), '-melf_i386', '-Ttext=0xf0000',
                     '--oformat=binary', '-e', '0', obj, '-o', image])
        with open(image, 'rb') as f:
            return f.read()


def guest_archive(kernel, name, init, programs=()):
    """Path of the file system of a small Linux guest.

    @init: path of its /init; @programs: paths of static programs for /bin
    """
    inside = Piece('%s-%s' % (name, kernel.version))
    _busybox(inside)
    _add_modules(inside, kernel, INNER_MODULES)
    for path in programs:
        inside.copy(path, 'bin/' + os.path.basename(path))
    with open(init, 'rb') as f:
        inside.data('init', f.read(), 0o755)
    return inside.build()


def inner_archive(kernel):
    """Path of the file system of the one that says what it sees of NUMA."""
    return guest_archive(kernel, 'inner',
                         os.path.join(HERE, 'inside', 'inner-init'))


def inner(kernel):
    """The small Linux guest: its kernel and its file system."""
    piece = Piece('guest-' + kernel.version)
    piece.copy(kernel.vmlinux, 'lab/vmlinux')
    piece.copy(inner_archive(kernel), 'lab/inner.cpio')
    return piece
