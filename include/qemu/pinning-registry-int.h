/*
 * Parts of the registry of reservations: for util/pinning-registry*.c and
 * their tests only
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef QEMU_PINNING_REGISTRY_INT_H
#define QEMU_PINNING_REGISTRY_INT_H

#include "qemu/pinning-registry.h"
#include "qobject/qdict.h"

/* The format that is written, and the only one that is understood */
#define PINNING_ENTRY_VERSION 1

/*
 * Longest entry, in bytes.  Three lists of CPUs of 64 KiB each, and a
 * thousand nodes with several page sizes, stay well below it.
 */
#define PINNING_ENTRY_MAX_SIZE (1 * MiB)

/* util/pinning-registry-entry.c: text <-> PinningReservation */

/**
 * pinning_entry_parse:
 * @data: content of an entry, not necessarily terminated
 * @len: its length in bytes
 * @unknown: where to put members that this version does not know, or NULL;
 *           NULL is stored when there are none
 * @errp: pointer to error object
 *
 * What is returned is sane: its sets of CPUs can be parsed, its name can be
 * printed, and its sizes are no negative numbers in disguise.
 *
 * Returns: the entry to free with qapi_free_PinningReservation(), or NULL
 * with @errp set.
 */
PinningReservation *pinning_entry_parse(const char *data, size_t len,
                                        QDict **unknown, Error **errp);

/**
 * pinning_entry_format:
 * @entry: an entry
 * @unknown: members to keep, as pinning_entry_parse() stores them, or NULL
 * @errp: pointer to error object
 *
 * Returns: text that pinning_entry_parse() understands, or NULL with @errp
 * set if @entry is such that it would not.
 */
GString *pinning_entry_format(const PinningReservation *entry,
                              const QDict *unknown, Error **errp);

/* util/pinning-registry-sum.c: entries -> what is taken */

/* A live entry, and what is known of how far its promises are kept */
typedef struct PinningHolder {
    PinningReservation *entry;
    uint64_t touched;       /* bytes of ordinary memory, at most */
    uint64_t touched_huge;  /* bytes of hugepages, at most */
} PinningHolder;

/**
 * pinning_registry_sum:
 * @holders: live entries
 * @n_holders: their number
 * @rotation: how many were placed before
 *
 * Returns: what they hold together; free with qapi_free_PinningTaken().
 */
PinningTaken *pinning_registry_sum(const PinningHolder *holders,
                                   size_t n_holders, uint32_t rotation);

/**
 * pinning_entry_overlap:
 * @own: an entry
 * @other: another one
 *
 * Returns: what @other has in common with @own, to free with
 * qapi_free_PinningOverlap(), or NULL if that is nothing.
 */
PinningOverlap *pinning_entry_overlap(const PinningReservation *own,
                                      const PinningReservation *other);

/* util/pinning-registry-proc.c: what /proc says about a holder */

/**
 * pinning_proc_start_time:
 * @proc: what stands for "/proc"
 * @pid: a process, 0 for this one
 * @ticks: where to put its start time, in clock ticks since boot
 *
 * Returns: true, or false if that cannot be read.
 */
bool pinning_proc_start_time(const char *proc, int64_t pid, uint64_t *ticks);

/**
 * pinning_proc_touched:
 * @proc: what stands for "/proc"
 * @holder: filled in with what its process has touched; 0 if that cannot be
 *          read, or if its pid is now another process, or one of another
 *          pid namespace
 */
void pinning_proc_touched(const char *proc, PinningHolder *holder);

/* util/pinning-registry-dir.c: files, locks, owners */

typedef enum RegistryState {
    REGISTRY_GONE,          /* removed or replaced meanwhile */
    REGISTRY_DEAD,          /* nobody holds it */
    REGISTRY_ALIVE,
} RegistryState;

typedef struct RegistryFile {
    char *name;
    dev_t dev;
    ino_t ino;
    int64_t mtime_ns;
    RegistryState state;
    char *data;             /* NULL if it could not be read: see @err */
    size_t len;
    Error *err;
} RegistryFile;

void registry_file_free(RegistryFile *file);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RegistryFile, registry_file_free)

/* Returns: an open directory that has passed the checks, or -1. */
int registry_dir_open(const char *dir, Error **errp);

/* Returns: the locked lock file, waiting at most @timeout_ms, or -1. */
int registry_dir_lock(int dirfd, const char *dir, int timeout_ms,
                      Error **errp);

/* The counter in the lock file; false if it has none yet */
bool registry_counter_read(int dirfd, uint32_t *value);
bool registry_counter_write(int lockfd, uint32_t value, Error **errp);

/*
 * Returns: sorted names of the entries, NULL with @errp set on failure.  If
 * @swept is given, the registry is locked: what crashed writers left is
 * removed, and how much that was is added to @swept.
 */
GPtrArray *registry_dir_names(int dirfd, const char *dir, int *swept,
                              Error **errp);

/* Whether @name is one that registry_dir_publish() makes up. */
bool registry_name_is_ours(const char *name);

/* Returns: the file @name, whatever is wrong with it; NULL if not there. */
RegistryFile *registry_file_load(int dirfd, const char *name);

/* Whether somebody holds the entry @name. */
RegistryState registry_file_state(int dirfd, const char *name);

/* Returns: all of the open file @fd, or NULL. */
char *registry_fd_read(int fd, size_t *len, Error **errp);

/*
 * Make @text the content of the entry @name, which is made up and stored if
 * NULL.  Returns: the new file, held, or -1 with nothing changed.
 */
int registry_dir_publish(int dirfd, char **name, const GString *text,
                         Error **errp);

/*
 * pinning_registry_default_dir() with its surroundings as arguments: the
 * shared directory, and the value of XDG_RUNTIME_DIR or NULL.
 */
char *pinning_registry_default_dir_of(const char *shared, const char *xdg);

#endif /* QEMU_PINNING_REGISTRY_INT_H */
