/*
 * Every moment at which the pinning code acts
 *
 * Files of QEMU call these functions and no others.  Without a pinning
 * option each returns at once, having done nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SYSTEM_PINNING_H
#define SYSTEM_PINNING_H

struct HostMemoryBackend;
struct NumaNodeOptions;
struct ObjectOptions;
struct vhost_dev;

/**
 * pinning_note_object:
 * @opts: an object that the command line asks for
 *
 * Main thread, while options are read.  Keeps what the plan needs to know of
 * memory backends, which do not exist yet when it is made.
 */
void pinning_note_object(const struct ObjectOptions *opts);

/**
 * pinning_early_init:
 * @machine_opts: what -machine says; keys named "pinning" or "pinning-..."
 *                are taken out and handed to the accelerator
 * @errp: pointer to error object
 *
 * Main thread, before the sandbox, before -daemonize, before there is a
 * machine.  Adds the options to every accelerator.  If a pinning option is
 * used, notes what the process may use of the host.
 */
void pinning_early_init(QDict *machine_opts, Error **errp);

/**
 * pinning_machine_plan:
 * @ms: the machine, with -smp, -m and its accelerator, but without memory
 * @mem_path: -mem-path, or NULL
 * @errp: pointer to error object
 *
 * Main thread, with the BQL.  Chooses a place for all vCPUs that there can
 * ever be.  Everything that is created later gets its place from this plan.
 */
void pinning_machine_plan(MachineState *ms, const char *mem_path,
                          Error **errp);

/**
 * pinning_bind_backend:
 * @backend: guest RAM that is mapped, but neither touched nor preallocated
 * @errp: pointer to error object
 *
 * Main thread, with the BQL.  Binds the memory to the host nodes of its guest
 * nodes.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_bind_backend(struct HostMemoryBackend *backend, Error **errp);

/**
 * pinning_numa_node:
 * @guest_node: number of a guest node
 * @node: its options, from -numa or set-numa-node
 *
 * Main thread, with the BQL.  Notes the host nodes that the user wants.
 */
void pinning_numa_node(uint16_t guest_node,
                       const struct NumaNodeOptions *node);

/**
 * pinning_board_init:
 * @ms: the machine, with all its guest nodes, but without vCPUs
 * @errp: pointer to error object
 *
 * Main thread, with the BQL; with -preconfig from the monitor.  Makes the guest
 * nodes that the plan has and the user did not name.  If the monitor has added
 * guest nodes, plans again.
 */
void pinning_board_init(MachineState *ms, Error **errp);

/**
 * pinning_create_vcpu_thread:
 * @cpu: a vCPU that is being realized, cold or hot plugged
 * @create: the accelerator's function that creates its thread
 *
 * Main thread, with the BQL.  Runs @create so that the new thread is on its
 * host CPUs from its first instruction.  A mask that the host refuses ends
 * QEMU at start-up, and is a warning when a vCPU is hot plugged.
 */
void pinning_create_vcpu_thread(CPUState *cpu, void (*create)(CPUState *cpu));

/**
 * pinning_vhost_ioctl:
 * @dev: a vhost device whose backend is the kernel's
 * @fd: its file
 * @request: a request of ioctl()
 * @arg: its argument
 *
 * Main thread, with the BQL.  Requests that make the kernel create a worker
 * are issued so that the worker is on its host CPUs.
 *
 * Returns: as ioctl() does, with errno.
 */
int pinning_vhost_ioctl(struct vhost_dev *dev, int fd, unsigned long request,
                        void *arg);

#endif /* SYSTEM_PINNING_H */
