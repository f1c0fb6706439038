# SPDX-License-Identifier: GPL-2.0-or-later
# modules: vhost_net tun
# topologies: 1n8c
"""A VM, and files for outside."""
import lab

t = lab.Tap()
with lab.Qemu(*lab.net(), smp=2) as q:
    t.ok('GUEST-OK' in q.wait_guest(), 'a guest')
with open('/tmp/out/bytes', 'wb') as f:
    f.write(bytes(range(256)) * 300)
lab.keep('text', 'kept\n')
t.done()
