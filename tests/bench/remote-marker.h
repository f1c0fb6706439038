/*
 * What remote.c knows remote-work.c by
 *
 * It counts between two instructions, NOPs of 8 bytes that no compiler makes,
 * told apart by their displacement.  The work's memory is where no other
 * program has any.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#define REMOTE_START 0x016e6970
#define REMOTE_STOP 0x026e6970

#define REMOTE_MEMORY 0x250000000000ULL
#define REMOTE_MEMORY_SIZE 0x10000000000ULL
