/*
 * What the host's kernel calls a memory policy
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef QEMU_HOST_MEMPOLICY_H
#define QEMU_HOST_MEMPOLICY_H

#include "qapi/qapi-types-common.h"

/**
 * host_mempolicy_mode:
 * @policy: memory policy
 * @n_nodes: number of host nodes it is for
 *
 * Of several nodes all are preferred (MPOL_PREFERRED_MANY), and automatic
 * balancing, which leaves bound memory alone otherwise, may move pages among
 * those that they are bound to (MPOL_F_NUMA_BALANCING).  Kernels before 5.15
 * and 5.12 refuse that with EINVAL; @policy itself is the mode for them.
 *
 * Returns: a mode for mbind(2) and set_mempolicy(2).
 */
int host_mempolicy_mode(HostMemPolicy policy, unsigned n_nodes);

#endif /* QEMU_HOST_MEMPOLICY_H */
