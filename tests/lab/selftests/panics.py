# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 1n8c
"""Takes the lab's kernel down."""
import time

import lab

lab.write('/proc/sysrq-trigger', 'c')
time.sleep(1000)
