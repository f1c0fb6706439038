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
 * Memory bound to several host nodes may still be moved among them by the
 * kernel's automatic balancing, which otherwise leaves bound memory alone
 * (MPOL_F_NUMA_BALANCING of mbind(2)).
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
 * numa_hostnodes_policy:
 * @ptr: an address in a mapping
 * @mode: set to the policy there, as the kernel has it, with its flags
 * @host_nodes: set to its host nodes, to free with cpuset_free()
 *
 * Returns: 0, or a negative errno: -EPERM where a container forbids it.
 */
int numa_hostnodes_policy(void *ptr, int *mode, CpuSet **host_nodes);

/**
 * numa_hostnodes_restore:
 * @ptr: begin of a mapping, aligned to its page size
 * @size: its size in bytes
 * @mode: policy from numa_hostnodes_policy()
 * @host_nodes: its host nodes
 *
 * Returns: 0, or a negative errno as of numa_hostnodes_bind().
 */
int numa_hostnodes_restore(void *ptr, uint64_t size, int mode,
                           const CpuSet *host_nodes);

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

/* Bytes that do not move, by what keeps them */
typedef struct NumaStuck {
    uint64_t shared;        /* another process maps them, too */
    uint64_t pinned;        /* a device or the kernel uses them directly */
    uint64_t no_room;       /* there is no free memory where they belong */
} NumaStuck;

/**
 * numa_hostnodes_stuck:
 * @ptr: begin of a mapping
 * @size: its size in bytes, whole pages
 * @page_size: size of its pages in bytes
 * @host_nodes: where its pages should be; not empty
 * @stuck: what is elsewhere and does not move is added, by what keeps some of
 *         its pages
 *
 * For what numa_hostnodes_bind() has left behind.
 *
 * Returns: bytes that are elsewhere, those that only had to be asked again
 * included.
 */
uint64_t numa_hostnodes_stuck(void *ptr, uint64_t size, uint64_t page_size,
                              const CpuSet *host_nodes, NumaStuck *stuck);

#endif /* HW_CORE_NUMA_HOSTNODES_H */
