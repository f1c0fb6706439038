/*
 * What the host's kernel calls a memory policy
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <linux/mempolicy.h>
#include "qemu/host-mempolicy.h"

QEMU_BUILD_BUG_ON((int)HOST_MEM_POLICY_DEFAULT != (int)MPOL_DEFAULT);
QEMU_BUILD_BUG_ON((int)HOST_MEM_POLICY_PREFERRED != (int)MPOL_PREFERRED);
QEMU_BUILD_BUG_ON((int)HOST_MEM_POLICY_BIND != (int)MPOL_BIND);
QEMU_BUILD_BUG_ON((int)HOST_MEM_POLICY_INTERLEAVE != (int)MPOL_INTERLEAVE);

/* Older headers do not have them */
#define MODE_PREFERRED_MANY 5
#define FLAG_NUMA_BALANCING (1 << 13)

int host_mempolicy_mode(HostMemPolicy policy, unsigned n_nodes)
{
    if (n_nodes > 1 && policy == HOST_MEM_POLICY_PREFERRED) {
        return MODE_PREFERRED_MANY;
    }
    if (n_nodes > 1 && policy == HOST_MEM_POLICY_BIND) {
        return MPOL_BIND | FLAG_NUMA_BALANCING;
    }
    return policy;
}
