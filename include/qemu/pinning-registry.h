/*
 * Reservations: who holds what on this host
 *
 * A directory holds one JSON file (PinningReservation) for each holder.  An
 * entry is alive while its holder keeps a lock on the open file, so it ends
 * with the process, however that ends.  Choosing and recording happen under
 * one lock of the directory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef QEMU_PINNING_REGISTRY_H
#define QEMU_PINNING_REGISTRY_H

#include "qemu/pinning-plan.h"

/* One open registry, and the entry of this process in it, if any */
typedef struct PinningRegistry PinningRegistry;

/**
 * pinning_registry_default_dir:
 *
 * Returns: the directory that is used when none is named: /run/qemu-pinning
 * if it exists or can be made, else qemu-pinning below XDG_RUNTIME_DIR, else
 * NULL.  Free with g_free().
 */
char *pinning_registry_default_dir(void);

/**
 * pinning_registry_open:
 * @dir: the directory; it is made if its parent exists
 * @errp: pointer to error object
 *
 * Refuses, by name, a directory that is a link, that belongs to neither root
 * nor this user, that others than owner and group may write, or that the
 * group may write without sticky bit, since then its members could remove
 * one another's entries.
 *
 * Returns: the registry to close with pinning_registry_close(), or NULL with
 * @errp set.
 */
PinningRegistry *pinning_registry_open(const char *dir, Error **errp);

/**
 * pinning_registry_set_captured:
 * @reg: the registry
 *
 * It is about another host than this one, a captured one: what holders touch
 * here does not lessen what is free there.
 */
void pinning_registry_set_captured(PinningRegistry *reg);

/**
 * pinning_registry_seal:
 * @reg: the registry, or NULL
 *
 * For a process that is about to chroot: an open directory would be a way
 * out.  The entry stays as it is for the life of the process; what needs the
 * directory fails from now on and says why.
 */
void pinning_registry_seal(PinningRegistry *reg);

/**
 * pinning_registry_close:
 * @reg: the registry, or NULL; the entry of this process ends
 */
void pinning_registry_close(PinningRegistry *reg);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PinningRegistry, pinning_registry_close)

/**
 * pinning_registry_lock:
 * @reg: the registry
 * @errp: pointer to error object
 *
 * Waits until nobody else chooses; after half a minute of that, which a
 * stopped process can cause, it is an error.  Between lock and unlock, what
 * pinning_registry_taken() says stays true, except that holders may end.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_registry_lock(PinningRegistry *reg, Error **errp);

/** pinning_registry_unlock: let others choose. */
void pinning_registry_unlock(PinningRegistry *reg);

/**
 * pinning_registry_taken:
 * @reg: the registry; locked, unless the answer is for show only
 * @warnings: of char *, or NULL; entries that were skipped are named here,
 *            each once in the life of @reg as long as it does not change
 * @errp: pointer to error object
 *
 * Returns: the sum of what all live holders but this process hold; free it
 * with qapi_free_PinningTaken().  NULL with @errp set if the directory
 * cannot be read.
 */
PinningTaken *pinning_registry_taken(PinningRegistry *reg,
                                     GPtrArray *warnings, Error **errp);

/**
 * pinning_reservation_new:
 * @name: name of the machine or the program
 * @uuid: UUID of the machine, or NULL
 * @req: what was asked for
 * @plan: what came out
 *
 * Returns: what to record for @plan; free it with
 * qapi_free_PinningReservation().
 */
PinningReservation *pinning_reservation_new(const char *name,
                                            const char *uuid,
                                            const PinningRequest *req,
                                            const PinningPlan *plan);

/**
 * pinning_reservation_add_memory:
 * @entry: a reservation
 * @host_nodes: where the memory is, evenly
 * @page_size: size of its pages, 0 for ordinary memory
 * @size: bytes
 *
 * Promises memory that is not in the plan @entry was made for.
 */
void pinning_reservation_add_memory(PinningReservation *entry,
                                    const CpuSet *host_nodes,
                                    uint64_t page_size, uint64_t size);

/**
 * pinning_registry_record:
 * @reg: the registry, locked
 * @entry: what this process holds from now on, in place of what it held
 * @errp: pointer to error object
 *
 * All or nothing: on failure the previous entry, if any, still stands.
 * @entry's version, pid, start-time and rotation are filled in here, and
 * control characters in its name are replaced.  Members of the previous entry
 * that this version does not know are kept.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_registry_record(PinningRegistry *reg, PinningReservation *entry,
                             Error **errp);

/**
 * pinning_registry_choose:
 * @reg: the registry, not locked; NULL to plan without one
 * @topo: the host
 * @req: what is wanted
 * @name: name of the machine or the program
 * @uuid: UUID of the machine, or NULL
 * @warnings: of char *; what is amiss with the registry, once
 * @errp: pointer to error object
 *
 * Plan around what others hold, and record the plan, under one lock.  Where
 * the registry cannot be locked, read or written, there is a plan and a
 * warning; but an error if exclusive host CPUs were asked for.
 *
 * Returns: the plan, to free with qapi_free_PinningPlan(), or NULL with
 * @errp set and what this process held before still recorded.
 */
PinningPlan *pinning_registry_choose(PinningRegistry *reg,
                                     const HostTopology *topo,
                                     const PinningRequest *req,
                                     const char *name, const char *uuid,
                                     GPtrArray *warnings, Error **errp);

/**
 * pinning_registry_holds:
 * @reg: the registry
 *
 * Returns: whether this process has an entry in it.
 */
bool pinning_registry_holds(const PinningRegistry *reg);

/**
 * pinning_registry_inherit:
 * @reg: the registry
 * @errp: pointer to error object
 *
 * Let the entry of this process, if it has one, outlive this program: from
 * now on programs that the process executes hold it too, and it ends when
 * the last of them has ended, or closed all its files.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_registry_inherit(PinningRegistry *reg, Error **errp);

/**
 * pinning_registry_list:
 * @reg: the registry
 * @dead: also list entries whose holder is gone
 * @warnings: as above
 * @errp: pointer to error object
 *
 * Returns: array of PinningReservation, that of this process included, in
 * order of arrival; a dead one has pid 0.  NULL with @errp set if the
 * directory cannot be read.
 */
GPtrArray *pinning_registry_list(PinningRegistry *reg, bool dead,
                                 GPtrArray *warnings, Error **errp);

/**
 * pinning_registry_overlaps:
 * @reg: the registry
 * @own: what this process holds
 * @overlaps: where to put the other live holders that have host CPUs which
 *            @own has too, or which one of the two keeps idle; free it with
 *            qapi_free_PinningOverlapList()
 * @errp: pointer to error object
 *
 * Returns: true, or false with @errp set if the directory cannot be read.
 */
bool pinning_registry_overlaps(PinningRegistry *reg,
                               const PinningReservation *own,
                               PinningOverlapList **overlaps, Error **errp);

/**
 * pinning_registry_collect:
 * @reg: the registry
 * @errp: pointer to error object
 *
 * Remove the files of holders that are gone, as far as this user may.
 * Choosing does the same by the way.
 *
 * Returns: how many were removed, -1 with @errp set.
 */
int pinning_registry_collect(PinningRegistry *reg, Error **errp);

#endif /* QEMU_PINNING_REGISTRY_H */
