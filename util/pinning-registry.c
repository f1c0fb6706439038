/*
 * Reservations: who holds what on this host
 *
 * Files and locks are the job of pinning-registry-dir.c, their content that
 * of pinning-registry-entry.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-types-pinning.h"
#include "qapi/util.h"
#include "qemu/pinning-registry-int.h"

#define SHARED_DIR "/run/qemu-pinning"
#define DIR_NAME "qemu-pinning"

/* Choosing takes milliseconds; who waits longer had better hear why */
#define LOCK_TIMEOUT_MS 30000

/* The parser quotes from the entry, which may be long */
#define WARNING_MAX_LENGTH 200

struct PinningRegistry {
    char *dir;
    int dirfd;
    int lockfd;             /* -1 while not locked */
    int fd;                 /* the entry of this process, or -1 */
    char *name;             /* its file, or NULL */
    uint32_t rotation;      /* its position in the order of arrival */
    uint32_t n_holders;     /* others alive when last asked */
    pid_t pid;              /* whom @start_time is about */
    uint64_t start_time;
    bool captured;          /* holders touch no memory of that host */
    GHashTable *named;      /* skipped files that were named already */
};

char *pinning_registry_default_dir_of(const char *shared, const char *xdg)
{
    g_autofree char *parent = g_path_get_dirname(shared);
    struct stat st;

    if (lstat(shared, &st) == 0 || access(parent, W_OK) == 0) {
        return g_strdup(shared);
    }
    if (xdg && g_path_is_absolute(xdg)) {
        return g_build_filename(xdg, DIR_NAME, NULL);
    }
    return NULL;
}

char *pinning_registry_default_dir(void)
{
    return pinning_registry_default_dir_of(SHARED_DIR,
                                           g_getenv("XDG_RUNTIME_DIR"));
}

PinningRegistry *pinning_registry_open(const char *dir, Error **errp)
{
    PinningRegistry *reg;
    int dirfd = registry_dir_open(dir, errp);

    if (dirfd < 0) {
        return NULL;
    }
    reg = g_new0(PinningRegistry, 1);
    reg->dir = g_strdup(dir);
    reg->dirfd = dirfd;
    reg->lockfd = -1;
    reg->fd = -1;
    reg->named = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return reg;
}

void pinning_registry_set_captured(PinningRegistry *reg)
{
    reg->captured = true;
}

/*
 * A process forked from this one may hold the entry too, as after
 * -daemonize: then it must stay.  An entry is never held again once it was
 * let go, so looking after closing is no race.
 */
static void registry_leave(PinningRegistry *reg)
{
    if (reg->fd < 0) {
        return;
    }
    close(reg->fd);
    reg->fd = -1;
    if (reg->dirfd >= 0 &&
        registry_file_state(reg->dirfd, reg->name) == REGISTRY_DEAD) {
        unlinkat(reg->dirfd, reg->name, 0);
    }
}

void pinning_registry_seal(PinningRegistry *reg)
{
    if (reg && reg->dirfd >= 0) {
        close(reg->dirfd);
        reg->dirfd = -1;
    }
}

static bool registry_in_reach(const PinningRegistry *reg, Error **errp)
{
    if (reg->dirfd < 0) {
        error_setg(errp, "Registry %s is out of reach after -run-with chroot=",
                   reg->dir);
    }
    return reg->dirfd >= 0;
}

void pinning_registry_close(PinningRegistry *reg)
{
    if (!reg) {
        return;
    }
    registry_leave(reg);
    if (reg->lockfd >= 0) {
        pinning_registry_unlock(reg);
    }
    pinning_registry_seal(reg);
    g_hash_table_unref(reg->named);
    g_free(reg->name);
    g_free(reg->dir);
    g_free(reg);
}

bool pinning_registry_lock(PinningRegistry *reg, Error **errp)
{
    assert(reg->lockfd < 0);
    if (!registry_in_reach(reg, errp)) {
        return false;
    }
    reg->lockfd = registry_dir_lock(reg->dirfd, reg->dir, LOCK_TIMEOUT_MS,
                                    errp);
    return reg->lockfd >= 0;
}

void pinning_registry_unlock(PinningRegistry *reg)
{
    assert(reg->lockfd >= 0);
    /* close() is not enough while a thread is between fork() and exec() */
    qemu_unlock_fd(reg->lockfd, 0, 0);
    close(reg->lockfd);
    reg->lockfd = -1;
}

static void registry_warn(PinningRegistry *reg, const RegistryFile *file,
                          const Error *err, GPtrArray *warnings)
{
    char *key;

    if (!warnings) {
        return;
    }
    key = g_strdup_printf("%s %" PRIu64 " %" PRId64, file->name,
                          (uint64_t)file->ino, file->mtime_ns);
    if (g_hash_table_add(reg->named, key)) {
        /* Both can have been chosen by another user, for our terminal */
        g_autofree char *name = g_strescape(file->name, NULL);
        g_autofree char *why = g_strescape(error_get_pretty(err), "\"");

        g_ptr_array_add(warnings,
                        g_strdup_printf("Entry '%s' of registry '%s' is"
                                        " skipped: %.*s", name, reg->dir,
                                        WARNING_MAX_LENGTH, why));
    }
}

static PinningReservation *registry_parse(PinningRegistry *reg,
                                          const RegistryFile *file,
                                          GPtrArray *warnings)
{
    PinningReservation *entry;
    Error *err = NULL;

    if (!file->data) {
        registry_warn(reg, file, file->err, warnings);
        return NULL;
    }
    entry = pinning_entry_parse(file->data, file->len, NULL, &err);
    if (!entry) {
        registry_warn(reg, file, err, warnings);
        error_free(err);
    }
    return entry;
}

/*
 * A link to another's entry would make it count twice, and a directory that
 * anybody made links in must not hide the entry; so count files, not names.
 */
static bool seen_before(GHashTable *seen, const RegistryFile *file)
{
    return !g_hash_table_add(seen, g_strdup_printf("%" PRIu64 " %" PRIu64,
                                                   (uint64_t)file->dev,
                                                   (uint64_t)file->ino));
}

typedef void RegistryVisit(PinningRegistry *reg, const RegistryFile *file,
                           PinningReservation *entry, void *opaque);

/* Calls @visit, which takes the entry, for each one that can be understood */
static bool registry_for_each(PinningRegistry *reg, GPtrArray *warnings,
                              int *swept, RegistryVisit *visit, void *opaque,
                              Error **errp)
{
    g_autoptr(GHashTable) seen = NULL;
    g_autoptr(GPtrArray) names = NULL;
    unsigned i;

    if (!registry_in_reach(reg, errp)) {
        return false;
    }
    names = registry_dir_names(reg->dirfd, reg->dir, swept, errp);
    if (!names) {
        return false;
    }
    seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (i = 0; i < names->len; i++) {
        g_autoptr(RegistryFile) file = NULL;
        PinningReservation *entry;

        file = registry_file_load(reg->dirfd, names->pdata[i]);
        if (!file || seen_before(seen, file)) {
            continue;
        }
        entry = registry_parse(reg, file, warnings);
        visit(reg, file, entry, opaque);
    }
    return true;
}

/*
 * Whether the file is surely one of a registry, so that removing it cannot
 * hurt: the user may have named a directory that has other files in it.
 */
static bool registry_may_remove(const RegistryFile *file,
                                const PinningReservation *entry)
{
    return file->state == REGISTRY_DEAD &&
           (entry || registry_name_is_ours(file->name));
}

/* Not by name: another user may have made a link to it */
static bool registry_is_own(PinningRegistry *reg, const RegistryFile *file)
{
    struct stat st;

    return reg->fd >= 0 && fstat(reg->fd, &st) == 0 &&
           st.st_dev == file->dev && st.st_ino == file->ino;
}

static void taken_visit(PinningRegistry *reg, const RegistryFile *file,
                        PinningReservation *entry, void *opaque)
{
    GArray *holders = opaque;

    if (reg->lockfd >= 0 && registry_may_remove(file, entry)) {
        /* In a sticky directory others' files stay; that is no harm */
        unlinkat(reg->dirfd, file->name, 0);
    }
    if (!entry || file->state != REGISTRY_ALIVE ||
        registry_is_own(reg, file)) {
        qapi_free_PinningReservation(entry);
    } else {
        PinningHolder holder = { .entry = entry };

        if (!reg->captured) {
            pinning_proc_touched("/proc", &holder);
        }
        g_array_append_val(holders, holder);
    }
}

static void holder_clear(void *opaque)
{
    PinningHolder *holder = opaque;

    qapi_free_PinningReservation(holder->entry);
}

/*
 * Counted, not derived from who is alive: else the machine that replaces one
 * that stopped would get the rotation of one that runs.  Only where the
 * counter is lost must the living do.
 */
static uint32_t registry_next_rotation(PinningRegistry *reg)
{
    uint32_t value;

    if (reg->fd >= 0) {
        return reg->rotation;
    }
    return registry_counter_read(reg->dirfd, &value) ? value
                                                      : reg->n_holders;
}

PinningTaken *pinning_registry_taken(PinningRegistry *reg,
                                     GPtrArray *warnings, Error **errp)
{
    g_autoptr(GArray) holders = g_array_new(false, false,
                                            sizeof(PinningHolder));
    int swept = 0;

    g_array_set_clear_func(holders, holder_clear);
    if (!registry_for_each(reg, warnings, reg->lockfd >= 0 ? &swept : NULL,
                           taken_visit, holders, errp)) {
        return NULL;
    }
    reg->n_holders = holders->len;
    return pinning_registry_sum((PinningHolder *)holders->data, holders->len,
                                registry_next_rotation(reg));
}

/* Readers refuse names that could play with their terminals */
static void registry_clean_name(PinningReservation *entry)
{
    char *name = g_utf8_make_valid(entry->name, -1);
    GString *clean = g_string_new(NULL);
    const char *p;

    for (p = name; *p; p = g_utf8_next_char(p)) {
        gunichar c = g_utf8_get_char(p);

        g_string_append_unichar(clean, g_unichar_iscntrl(c) ? '?' : c);
    }
    g_free(name);
    g_free(entry->name);
    entry->name = g_string_free(clean, false);
}

/* What a later QEMU, or a human, has added to the entry of this process */
static QDict *registry_own_unknown(PinningRegistry *reg)
{
    g_autoptr(PinningReservation) entry = NULL;
    g_autofree char *data = NULL;
    QDict *unknown = NULL;
    size_t len;

    data = reg->fd < 0 ? NULL : registry_fd_read(reg->fd, &len, NULL);
    if (data) {
        entry = pinning_entry_parse(data, len, &unknown, NULL);
    }
    return unknown;
}

static void registry_complete(PinningRegistry *reg, PinningReservation *entry)
{
    /* Kept, since with -run-with chroot= there is no /proc any more */
    if (reg->pid != getpid()) {
        reg->pid = getpid();
        reg->start_time = 0;
        pinning_proc_start_time("/proc", 0, &reg->start_time);
    }
    entry->version = PINNING_ENTRY_VERSION;
    entry->pid = reg->pid;
    entry->start_time = reg->start_time;
    entry->rotation = registry_next_rotation(reg);
    registry_clean_name(entry);
}

/* Returns: the file that now stands for @entry, held, or -1 */
static int registry_publish(PinningRegistry *reg,
                            const PinningReservation *entry, Error **errp)
{
    g_autoptr(QDict) unknown = registry_own_unknown(reg);
    g_autoptr(GString) text = pinning_entry_format(entry, unknown, errp);

    if (!text) {
        return -1;
    }
    /* A number that is lost because the rest fails does no harm */
    if (reg->fd < 0 && !registry_counter_write(reg->lockfd,
                                               entry->rotation + 1, errp)) {
        return -1;
    }
    return registry_dir_publish(reg->dirfd, &reg->name, text, errp);
}

bool pinning_registry_record(PinningRegistry *reg, PinningReservation *entry,
                             Error **errp)
{
    ERRP_GUARD();
    int fd;

    assert(reg->lockfd >= 0);
    registry_complete(reg, entry);
    fd = registry_publish(reg, entry, errp);
    if (fd < 0) {
        error_prepend(errp, "Registry '%s': ", reg->dir);
        return false;
    }
    if (reg->fd >= 0) {
        close(reg->fd);
    }
    reg->fd = fd;
    reg->rotation = entry->rotation;
    return true;
}

bool pinning_registry_holds(const PinningRegistry *reg)
{
    return reg->fd >= 0;
}

bool pinning_registry_inherit(PinningRegistry *reg, Error **errp)
{
    if (reg->fd >= 0 && fcntl(reg->fd, F_SETFD, 0) < 0) {
        error_setg_errno(errp, errno, "Cannot hand on the entry in registry"
                         " '%s'", reg->dir);
        return false;
    }
    return true;
}

typedef struct ListState {
    GPtrArray *list;
    bool dead;
} ListState;

static void list_visit(PinningRegistry *reg, const RegistryFile *file,
                       PinningReservation *entry, void *opaque)
{
    ListState *state = opaque;
    bool alive = file->state == REGISTRY_ALIVE;

    if (!entry || (!alive && !state->dead)) {
        qapi_free_PinningReservation(entry);
        return;
    }
    if (!alive) {
        entry->pid = 0;
    }
    g_ptr_array_add(state->list, entry);
}

static int compare_arrival(gconstpointer a, gconstpointer b)
{
    const PinningReservation *x = *(PinningReservation *const *)a;
    const PinningReservation *y = *(PinningReservation *const *)b;

    if (x->rotation != y->rotation) {
        return x->rotation < y->rotation ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

GPtrArray *pinning_registry_list(PinningRegistry *reg, bool dead,
                                 GPtrArray *warnings, Error **errp)
{
    g_autoptr(GPtrArray) list = NULL;
    ListState state;

    list = g_ptr_array_new_with_free_func(
        (GDestroyNotify)qapi_free_PinningReservation);
    state.list = list;
    state.dead = dead;
    if (!registry_for_each(reg, warnings, NULL, list_visit, &state, errp)) {
        return NULL;
    }
    g_ptr_array_sort(list, compare_arrival);
    return g_steal_pointer(&list);
}

typedef struct OverlapState {
    const PinningReservation *own;
    PinningOverlapList **tail;
} OverlapState;

static void overlap_visit(PinningRegistry *reg, const RegistryFile *file,
                          PinningReservation *entry, void *opaque)
{
    OverlapState *state = opaque;
    PinningOverlap *overlap = NULL;

    if (entry && file->state == REGISTRY_ALIVE &&
        !registry_is_own(reg, file)) {
        overlap = pinning_entry_overlap(state->own, entry);
    }
    if (overlap) {
        QAPI_LIST_APPEND(state->tail, overlap);
    }
    qapi_free_PinningReservation(entry);
}

bool pinning_registry_overlaps(PinningRegistry *reg,
                               const PinningReservation *own,
                               PinningOverlapList **overlaps, Error **errp)
{
    OverlapState state = { .own = own, .tail = overlaps };

    *overlaps = NULL;
    if (registry_for_each(reg, NULL, NULL, overlap_visit, &state, errp)) {
        return true;
    }
    qapi_free_PinningOverlapList(*overlaps);
    *overlaps = NULL;
    return false;
}

static void collect_visit(PinningRegistry *reg, const RegistryFile *file,
                          PinningReservation *entry, void *opaque)
{
    int *removed = opaque;

    if (registry_may_remove(file, entry) &&
        unlinkat(reg->dirfd, file->name, 0) == 0) {
        (*removed)++;
    }
    qapi_free_PinningReservation(entry);
}

int pinning_registry_collect(PinningRegistry *reg, Error **errp)
{
    bool locked = reg->lockfd >= 0;
    int removed = 0;
    bool ok;

    if (!locked && !pinning_registry_lock(reg, errp)) {
        return -1;
    }
    ok = registry_for_each(reg, NULL, &removed, collect_visit, &removed,
                           errp);
    if (!locked) {
        pinning_registry_unlock(reg);
    }
    return ok ? removed : -1;
}
