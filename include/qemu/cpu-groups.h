/*
 * Dividing host CPUs evenly into groups
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef QEMU_CPU_GROUPS_H
#define QEMU_CPU_GROUPS_H

#include "qemu/host-topology.h"

/**
 * cpu_groups_new:
 * @topo: the host
 * @cpus: host CPUs to divide; not empty
 * @n_groups: how many groups, at least 1
 * @offset: rotation: callers that come after one another pass 0, 1, 2, ...
 *
 * Nodes get groups in proportion to their CPUs.  Inside a node the division
 * follows last-level caches, where they allow it, then whole cores.  While
 * there are no more groups than CPUs, groups are disjoint, cover @cpus, do
 * not leave their node, and differ by at most one core inside a node; with
 * fewer groups than nodes they span nodes.  With more groups than CPUs every
 * group has one CPU and the CPUs are used evenly.  Groups of a single CPU,
 * which carry more than their share, are dealt out so that callers with
 * successive @offset put them on different CPUs.
 *
 * The problem is the one of the Linux kernel's lib/group_cpus.c.
 *
 * Returns: an array of @n_groups sets, all of them non-empty; free it with
 * g_ptr_array_unref().
 */
GPtrArray *cpu_groups_new(const HostTopology *topo, const CpuSet *cpus,
                          unsigned n_groups, unsigned offset);

#endif /* QEMU_CPU_GROUPS_H */
