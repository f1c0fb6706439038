# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: hotplug
# kernels: all
# limit: 120
"""A host CPU can be unplugged and plugged again from inside a test."""

import lab

t = lab.Tap()
t.equal(lab.show(lab.online()), '0-7', 'all are there')
lab.unplug_cpu(7)
t.equal(lab.show(lab.online()), '0-6', 'CPU 7 is gone')
lab.plug_cpu(7)
t.equal(lab.show(lab.online()), '0-7', 'and back')
t.equal(lab.node_of(7), 1, 'on its node')
try:
    lab.host_qmp('device_del', id='cpu99')
    said = None
except lab.QmpError as e:
    said = str(e)
t.ok(said and 'cpu99' in said, 'an error of the emulator is an exception',
     said)
t.done()
