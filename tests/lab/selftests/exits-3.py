# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 1n8c
"""Its exit status is all that is wrong with it."""
import sys

import lab

t = lab.Tap()
t.ok(True, 'one')
print('1..1', flush=True)
sys.exit(3)
