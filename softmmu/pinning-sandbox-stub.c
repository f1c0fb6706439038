/*
 * Placement in a QEMU that has no sandbox
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "pinning-sandbox.h"

void pinning_sandbox_postpone(void)
{
}

bool pinning_sandbox_is_postponed(void)
{
    return false;
}

bool pinning_sandbox_forbids(void)
{
    return false;
}

bool pinning_sandbox_close(Error **errp)
{
    return true;
}
