/*
 * Guest memory on host nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_CORE_NUMA_HOSTNODES_H
#define HW_CORE_NUMA_HOSTNODES_H

#include "qapi/qapi-types-common.h"
#include "qemu/cpulist.h"

/**
 * numa_hostnodes_bind:
 * @ptr: begin of a mapping, aligned to its page size
 * @size: its size in bytes
 * @policy: memory policy; HOST_MEM_POLICY_DEFAULT takes a policy away
 * @host_nodes: host nodes; not used by the default policy
 * @move: also move the pages that are there already
 *
 * Nothing is allocated.  Nodes that are offline or that this process may not
 * use make the call fail even if others would do.
 *
 * Returns: 0, or a negative errno: -EINVAL for such nodes, -EPERM where a
 * container forbids it, -EIO if pages could not be moved.
 */
int numa_hostnodes_bind(void *ptr, uint64_t size, HostMemPolicy policy,
                        const CpuSet *host_nodes, bool move);

/**
 * numa_hostnodes_count:
 * @ptr: begin of a mapping
 * @size: its size in bytes
 * @page_size: size of its pages in bytes
 * @max_pages: look at no more pages than this, evenly spread
 * @on_node: array of uint64_t; grows as needed; the bytes found on each host
 *           node are added, scaled up if not all pages were looked at
 *
 * Pages that were never touched are on no node, and are not touched by this.
 *
 * Returns: 0, or a negative errno.
 */
int numa_hostnodes_count(void *ptr, uint64_t size, uint64_t page_size,
                         uint64_t max_pages, GArray *on_node);

#endif /* HW_CORE_NUMA_HOSTNODES_H */
