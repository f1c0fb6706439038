# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 1n8c
# kernels: all
# limit: 120
"""The emulated SVM delivers an injected interrupt once.

Without our patch the exception index stays set after VMRUN has injected an
interrupt; when the vCPU has to leave its loop before the next #VMEXIT, the
vector is delivered again, with interrupts off.  The guest's handler runs
long on purpose and sees that.
"""

import lab

t = lab.Tap()
for cpus in 1, 4:
    with lab.Qemu(guest='irq', smp=cpus) as q:
        t.equal(q.wait_guest('GUEST-IRQ-'), 'GUEST-IRQ-OK',
                '64 timer interrupts on each of %d vCPUs' % cpus)
t.done()
