# SPDX-License-Identifier: GPL-2.0-or-later
"""Manual pages of what the packages install: QEMU's configuration, cut down
to two pages, with the name of our program."""

import os

qemu_docdir = os.path.abspath('../../docs')      # from here
with open(os.path.join(qemu_docdir, 'conf.py')) as f:
    exec(compile(f.read(), f.name, 'exec'))

program = os.environ['PROGRAM']
include_patterns = ['index.rst', 'system/qemu-manpage.rst',
                    'tools/qemu-pinning.rst']
# Pages that these two refer to are not here
suppress_warnings += ['ref.*', 'toc.*']
nitpicky = False
rst_epilog = '.. |qemu_system| replace:: %s\n' \
    '.. |qemu_system_x86| replace:: %s\n' % (program, program)
man_pages = [
    ('system/qemu-manpage', program, 'QEMU that places itself on its host',
     [], 1),
    ('tools/qemu-pinning', 'qemu-pinning',
     'look at a host, and at where virtual machines go on it', [], 1),
]
