# SPDX-License-Identifier: GPL-2.0-or-later
# topologies: 1n8c
"""No result."""
