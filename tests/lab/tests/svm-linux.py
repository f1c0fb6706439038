# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 1n8c
# kernels: 6.12
# limit: 390
# needs: linux-guest
# alone: yes
"""A Linux guest comes up ten times in a row (svm-irq has the reason).

Without our patch none of 14 did, with the emulator's CPUs in one thread.
"""

import lab

# The machine with the least to look for at every start
MACHINE = 'microvm,pit=on,pic=on,rtc=on,isa-serial=on'
t = lab.Tap()
for start in range(1, 11):
    with lab.Qemu(guest='linux', smp=2, mem='128M', machine=MACHINE,
                  append='inner.off') as q:
        try:
            said = q.wait_guest('INNER-UP')
        except TimeoutError as e:
            said = str(e)
        t.equal(said, 'INNER-UP cpus=0-1', 'start %d' % start)
        if t.failed:
            break                       # the others would hang as well
t.done()
