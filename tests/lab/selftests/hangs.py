# SPDX-License-Identifier: GPL-2.0-or-later
# limit: 2
# topologies: 1n8c
"""Never ends, and leaves a process that never ends."""
import os
import time

import lab

t = lab.Tap()
t.ok(True, 'before')
os.fork()
time.sleep(1000)
