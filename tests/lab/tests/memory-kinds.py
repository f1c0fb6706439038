# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 4x2x2
# kernels: 6.12
# limit: 120
# needs: pinning
"""Every kind of guest memory is on its host node, preallocated or not.

By numa_maps: at least 99.9 % of the pages of each guest node.
"""

import lab
from placed import both, check, flat, guest_nodes

t = lab.Tap()

for node in 0, 2, 3:
    lab.hugepages(node, 2048, 48)
lab.run('mkdir', '-p', '/dev/shm', '/tmp/huge')
lab.run('mount', '-t', 'hugetlbfs', 'none', '/tmp/huge')
lab.run('mount', '-t', 'tmpfs', 'none', '/dev/shm')

KINDS = {
    'ram': ('ram', {}),
    'memfd': ('memfd', {}),
    'memfd, hugepages': ('memfd', {'hugetlb': 'on'}),
    'file on hugetlbfs': ('file', {'mem_path': '/tmp/huge'}),
    'file on tmpfs, shared': ('file', {'mem_path': '/dev/shm',
                                       'share': 'on'}),
    'shm': ('shm', {}),
}
for name, (kind, more) in KINDS.items():
    with lab.Qemu(*guest_nodes(64, '32', kind, prealloc=('off', 'on'),
                               **more),
                  smp=4, mem='64M', accel='kvm,pinning=numa') as q:
        check(t, '%s, one preallocated' % name, q, both(64, '3', '2'))

for name, args, block in (
        ('-mem-prealloc', ['-mem-prealloc'], 'pc.ram'),
        ('-mem-path', ['-mem-path', '/tmp/huge'], 'pc.ram'),
        ('-mem-path, -mem-prealloc', ['-mem-path', '/tmp/huge',
                                      '-mem-prealloc'], 'pc.ram'),
        ('memory-backend=', ['-object', 'memory-backend-memfd,id=m,size=64M,'
                             'hugetlb=on', '-machine', 'memory-backend=m'],
         'm')):
    with lab.Qemu(*args, smp=2, mem='64M', accel='kvm,pinning=balanced,'
                  'pinning-hostnodes=3') as q:
        check(t, name, q, flat(64, '3', block=block))
for node in 0, 2, 3:
    lab.hugepages(node, 2048, 0)
t.done()
