# SPDX-License-Identifier: GPL-2.0-or-later
# limit: 2
# topologies: 1n8c
"""Stops what should end it."""
import os
import signal
import time

os.kill(os.getppid(), signal.SIGSTOP)
time.sleep(1000)
