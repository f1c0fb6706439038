#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""boot-sector.py PROGRAM: start PROGRAM without -L, with one vCPU for each
host CPU that may be used (at most two), one-to-one; the firmware reads a boot
sector that says "here", and the kernel confirms the masks.  Exit status 0 if
all of it is so."""

import os
import re
import subprocess
import sys
import tempfile
import time

# mov al, letter; out 0xe9, al; for each; hlt; jmp to it
CODE = b''.join(b'\xb0%c\xe6\xe9' % c for c in b'here') + b'\xf4\xeb\xfd'


def boot(program, smp, folder):
    disk, said = folder + '/disk', folder + '/said'
    with open(disk, 'wb') as f:
        f.write(CODE.ljust(510, b'\0') + b'\x55\xaa')
        f.truncate(8 << 20)     # the firmware wants whole cylinders
    return said, subprocess.Popen(
        [program, '-nodefaults', '-no-user-config', '-display', 'none',
         '-machine', 'q35', '-smp', str(smp), '-accel',
         'tcg,pinning=one-to-one', '-debugcon', 'file:' + said,
         '-drive', 'format=raw,file=' + disk])


def masks(pid):
    found = {}
    for task in os.listdir('/proc/%d/task' % pid):
        with open('/proc/%d/task/%s/status' % (pid, task)) as f:
            status = f.read()
        found[task] = re.search(r'Cpus_allowed_list:\s*(\S+)', status).group(1)
    return found


def main():
    cpus = sorted(os.sched_getaffinity(0))[:2]
    with tempfile.TemporaryDirectory() as folder:
        said, process = boot(sys.argv[1], len(cpus), folder)
        try:
            end = time.monotonic() + 120
            while time.monotonic() < end and process.poll() is None:
                if os.path.exists(said) and open(said).read() == 'here':
                    break
                time.sleep(0.2)
            else:
                sys.exit('the boot sector did not run')
            seen = masks(process.pid)
        finally:
            process.kill()
            process.wait()
    single = {mask for mask in seen.values() if mask.isdigit()}
    print('threads:', seen)
    return 0 if len(single) >= len(cpus) else 1


sys.exit(main())
