/*
 * Choosing host CPUs for threads that do I/O
 *
 * Pure functions; softmmu/pinning-io.c makes system calls of what they say.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef QEMU_IO_SPREAD_H
#define QEMU_IO_SPREAD_H

#include "qemu/host-topology.h"

/* How many I/O threads, of whomever, each host CPU carries */
typedef struct IoLoad {
    unsigned *count;            /* by number of the host CPU */
    unsigned len;
} IoLoad;

typedef struct IoChoice {
    int host_cpu;
    int host_node;              /* HOST_UNKNOWN if the host does not tell */
    bool exceeded;              /* it carries more than the share */
    bool remote;                /* it is not the nearest, for the share */
} IoChoice;

void io_load_add(IoLoad *load, unsigned host_cpu, unsigned n);
void io_load_del(IoLoad *load, unsigned host_cpu);
unsigned io_load_of(const IoLoad *load, unsigned host_cpu);
void io_load_clear(IoLoad *load);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IoLoad, io_load_clear)

/**
 * io_spread_vcpu:
 * @queue: a data queue, from 0
 * @n_queues: how many the device has, at least 1
 * @vcpus: how many vCPUs the guest has, at least 1
 *
 * With as many queues as vCPUs each serves the vCPU of its number.  With
 * fewer, drivers give each queue a run of successive vCPUs, the first queues
 * one more where they do not come out even.
 *
 * Returns: the first vCPU that @queue serves.
 */
unsigned io_spread_vcpu(unsigned queue, unsigned n_queues, unsigned vcpus);

/**
 * io_spread_near:
 * @topo: the host
 * @io_cpus: host CPUs for I/O; not empty
 * @near: host CPUs of what is served
 *
 * Returns: those of @io_cpus whose host node is least distant from those of
 * @near; all of them if the host does not tell.
 */
CpuSet *io_spread_near(const HostTopology *topo, const CpuSet *io_cpus,
                       const CpuSet *near);

/**
 * io_spread_cpu:
 * @topo: the host
 * @near: host CPUs to choose from while they carry less than @share; not
 *        empty
 * @io_cpus: host CPUs for I/O, of which @near are some
 * @friends: host CPUs of what is served; their cache is preferred
 * @load: what host CPUs carry
 * @share: how many I/O threads one host CPU may carry, 0: any number
 * @rotation: among equals, with which to begin
 *
 * The host CPU of @near with the least load; among those the one whose core
 * has the least, then one that shares a cache with @friends, then the one
 * whose cache has the least, then by @rotation.  Counting keeps all within
 * one of each other whoever comes and goes, which dealing out in turn does
 * only until the first one leaves.
 *
 * If all of @near carry @share, the nearest other of @io_cpus that does not;
 * if there is none either, the least loaded of @near, and @exceeded.
 */
IoChoice io_spread_cpu(const HostTopology *topo, const CpuSet *near,
                       const CpuSet *io_cpus, const CpuSet *friends,
                       const IoLoad *load, unsigned share,
                       unsigned rotation);

/**
 * io_spread_turn:
 * @weights: of each party; not all 0
 * @given: how many turns each has had
 * @n: number of parties
 * @rotation: among equals, with which to begin
 *
 * Returns: whose turn it is, so that turns are in proportion to weights.
 */
unsigned io_spread_turn(const unsigned *weights, const unsigned *given,
                        unsigned n, unsigned rotation);

#endif /* QEMU_IO_SPREAD_H */
