# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 1n8c
"""Plans two results and has one."""
print('ok 1 - one')
print('1..2')
