/*
 * What newer versions of QEMU have in another place or form
 *
 * Our files include this one in the stead of the headers below, so that they
 * build on QEMU 10.0 and on what came after it (make check-next).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SYSTEM_PINNING_QEMU_H
#define SYSTEM_PINNING_QEMU_H

#define HAVE_HEADER(name) __has_include(name)

/*
 * AccelClass::init_machine: how to define one, of which @ms is a parameter,
 * and to call another from it
 */
#if HAVE_HEADER("system/memory.h")      /* 10.1 */
#include "accel/accel-ops.h"
#include "system/memory.h"
#define INIT_MACHINE(name) int name(AccelState *accel, MachineState *ms)
#define CALL_INIT_MACHINE(name) name(accel, ms)
#else
#include "exec/memory.h"
#include "qemu/accel.h"
#define INIT_MACHINE(name) int name(MachineState *ms)
#define CALL_INIT_MACHINE(name) name(ms)
#endif

#if HAVE_HEADER("hw/core/boards.h")     /* 11.0 */
#include "hw/core/boards.h"
#include "hw/core/qdev.h"
#else
#include "hw/boards.h"
#include "hw/qdev-core.h"
#endif

#endif
