/*
 * Directory of the registry of reservations: owners, files and locks
 *
 * Liveness is an open file description lock for writing, on the whole
 * entry.  It belongs to the open file, so fork() hands it on, the last
 * close() ends it, SIGKILL or not, and it is seen in every pid namespace.
 * Two more things speak for it and against flock(): it can be tested without
 * being taken, so readers do not get in each other's way; and taking it
 * needs a descriptor open for writing, so a user who may only read an entry
 * can neither make it look alive nor keep it so.
 *
 * Between users, protection is that of a sticky directory: entries are
 * writable by their owner only, and can be removed or replaced by him, the
 * owner of the directory and root.  Whoever may write the directory is
 * trusted not to hold the lock file for ever, and not to reserve what he
 * does not use.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <dirent.h>
#include <sys/random.h>
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/pinning-registry-int.h"
#include "qemu/units.h"

#define LOCK_NAME "lock"
#define TEMP_PREFIX ".tmp-"
#define ENTRY_PREFIX "entry-"
#define ENTRY_SUFFIX ".json"
#define RANDOM_DIGITS 16

/* Text of the counter: digits and a newline, always of the same length */
#define COUNTER_DIGITS 10

#define LOCK_POLL_MAX_US 4000

/* How often an entry may be written anew while it is being read */
#define LOAD_TRIES 16

/* Opening must neither follow a link nor wait for a FIFO's other end */
#define OPEN_SAFELY (O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

static bool registry_dir_check(int dirfd, const char *dir, Error **errp)
{
    ERRP_GUARD();
    struct stat st;

    if (fstat(dirfd, &st) < 0) {
        error_setg_errno(errp, errno, "Cannot examine registry '%s'", dir);
        return false;
    }
    if (st.st_uid != 0 && st.st_uid != geteuid()) {
        error_setg(errp, "Registry '%s' belongs to user %u, only root and"
                   " user %u are trusted", dir, st.st_uid, geteuid());
        return false;
    }
    if (st.st_mode & S_IWOTH) {
        error_setg(errp, "Registry '%s' has mode %04o, may be written by"
                   " everybody", dir, st.st_mode & 07777);
        error_append_hint(errp, "Use a group: chmod 1770.\n");
        return false;
    }
    if ((st.st_mode & S_IWGRP) && !(st.st_mode & S_ISVTX)) {
        error_setg(errp, "Registry '%s' has mode %04o, its group could remove"
                   " the entries of others", dir, st.st_mode & 07777);
        error_append_hint(errp, "Set the sticky bit: chmod +t.\n");
        return false;
    }
    return true;
}

static void registry_open_error(const char *path, const char *dir,
                                int mkdir_err, int open_err, Error **errp)
{
    struct stat st;

    if (lstat(path, &st) < 0 && mkdir_err) {
        error_setg_errno(errp, mkdir_err, "Cannot make registry '%s'", dir);
    } else if (S_ISLNK(st.st_mode)) {
        error_setg(errp, "Registry '%s' is a link", dir);
    } else {
        error_setg_errno(errp, open_err, "Cannot open registry '%s'", dir);
    }
}

int registry_dir_open(const char *dir, Error **errp)
{
    g_autofree char *path = g_strdup(dir);
    size_t len = strlen(path);
    int fd, err = 0;

    if (!qemu_has_ofd_lock()) {
        error_setg(errp, "The registry needs a host with open file"
                   " description locks");
        return -1;
    }
    /* "link/" would follow the link */
    while (len > 1 && path[len - 1] == '/') {
        path[--len] = '\0';
    }
    /* All may see what root holds; sharing more is up to the administrator */
    if (mkdir(path, geteuid() ? 0700 : 0755) < 0) {
        err = errno;
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        registry_open_error(path, dir, err, errno, errp);
        return -1;
    }
    if (!registry_dir_check(fd, dir, errp)) {
        close(fd);
        return -1;
    }
    return fd;
}

static char *random_name(const char *prefix, const char *suffix)
{
    uint64_t value;

    /*
     * Not qemu_guest_getrandom(): machines with the same -seed would agree.
     * Without entropy the clock must do; names are not secret.
     */
    if (getrandom(&value, sizeof(value), 0) != sizeof(value)) {
        value = (uint64_t)getpid() << 40 ^ g_get_monotonic_time();
    }
    return g_strdup_printf("%s%0*" PRIx64 "%s", prefix, RANDOM_DIGITS, value,
                           suffix);
}

static bool name_has_form(const char *name, const char *prefix,
                          const char *suffix)
{
    const char *p;

    if (!strstart(name, prefix, &p) ||
        strspn(p, "0123456789abcdef") != RANDOM_DIGITS) {
        return false;
    }
    return g_str_equal(p + RANDOM_DIGITS, suffix);
}

bool registry_name_is_ours(const char *name)
{
    return name_has_form(name, ENTRY_PREFIX, ENTRY_SUFFIX);
}

/*
 * The file gets its group and mode before it gets its name, else others
 * would find it closed to them for a moment.  It is opened without O_CREAT
 * where it exists, because fs.protected_regular forbids the combination in
 * a sticky directory.
 */
static bool lock_file_make(int dirfd)
{
    g_autofree char *temp = random_name(TEMP_PREFIX, "");
    struct stat st;
    bool ok;
    int fd;

    fd = openat(dirfd, temp, O_RDWR | O_CREAT | O_EXCL | OPEN_SAFELY, 0600);
    if (fd < 0) {
        return false;
    }
    ok = fstat(dirfd, &st) == 0;
    if (ok && (st.st_mode & S_IWGRP)) {
        /* An owner outside of the group locks for himself alone */
        ok = fchown(fd, -1, st.st_gid) < 0 || fchmod(fd, 0660) == 0;
    }
    /* If another has made it, he may have swept ours away already */
    ok = ok && (linkat(dirfd, temp, dirfd, LOCK_NAME, 0) == 0 ||
                errno == EEXIST || errno == ENOENT);
    if (!ok) {
        int saved = errno;

        unlinkat(dirfd, temp, 0);
        close(fd);
        errno = saved;
        return false;
    }
    unlinkat(dirfd, temp, 0);
    close(fd);
    return true;
}

static int lock_file_open(int dirfd)
{
    struct stat st;
    int fd;

    fd = openat(dirfd, LOCK_NAME, O_RDWR | OPEN_SAFELY);
    if (fd < 0 && errno == ENOENT) {
        if (!lock_file_make(dirfd)) {
            return -1;
        }
        fd = openat(dirfd, LOCK_NAME, O_RDWR | OPEN_SAFELY);
    }
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

/* Whether @fd is still what others find under that name */
static bool file_is_current(int dirfd, const char *name, int fd)
{
    struct stat by_name, by_fd;

    return fstat(fd, &by_fd) == 0 &&
           fstatat(dirfd, name, &by_name, AT_SYMLINK_NOFOLLOW) == 0 &&
           by_fd.st_dev == by_name.st_dev && by_fd.st_ino == by_name.st_ino;
}

/*
 * Polling, since a blocking lock has no timeout, and a machine that does not
 * start should say why.  Each waits a time of its own, so that none is
 * always late.
 */
int registry_dir_lock(int dirfd, const char *dir, int timeout_ms,
                      Error **errp)
{
    ERRP_GUARD();
    int64_t end = g_get_monotonic_time() + timeout_ms * 1000LL;
    int fd, ret;

    for (;;) {
        fd = lock_file_open(dirfd);
        if (fd < 0) {
            error_setg_errno(errp, errno, "Cannot open the lock of registry"
                             " '%s'", dir);
            return -1;
        }
        ret = qemu_lock_fd(fd, 0, 0, true);
        if (ret == 0 && file_is_current(dirfd, LOCK_NAME, fd)) {
            return fd;
        }
        close(fd);
        if (ret < 0 && ret != -EAGAIN && ret != -EACCES) {
            error_setg_errno(errp, -ret, "Cannot lock registry '%s'", dir);
            return -1;
        }
        if (g_get_monotonic_time() >= end) {
            error_setg(errp, "Registry '%s' has been locked by another"
                       " process for %d ms", dir, timeout_ms);
            error_append_hint(errp, "\"fuser %s/" LOCK_NAME "\" names it.\n",
                              dir);
            return -1;
        }
        g_usleep(g_random_int_range(100, LOCK_POLL_MAX_US));
    }
}

bool registry_counter_read(int dirfd, uint32_t *value)
{
    char text[COUNTER_DIGITS + 2] = "";
    int fd = openat(dirfd, LOCK_NAME, O_RDONLY | OPEN_SAFELY);
    unsigned number;
    ssize_t len;

    if (fd < 0) {
        return false;
    }
    len = RETRY_ON_EINTR(pread(fd, text, sizeof(text) - 1, 0));
    close(fd);
    if (len != COUNTER_DIGITS + 1 || text[COUNTER_DIGITS] != '\n') {
        return false;
    }
    text[COUNTER_DIGITS] = '\0';
    if (strspn(text, "0123456789") != COUNTER_DIGITS ||
        qemu_strtoui(text, NULL, 10, &number) < 0) {
        return false;
    }
    *value = number;
    return true;
}

bool registry_counter_write(int lockfd, uint32_t value, Error **errp)
{
    g_autofree char *text = g_strdup_printf("%0*" PRIu32 "\n", COUNTER_DIGITS,
                                            value);
    ssize_t len = strlen(text);
    ssize_t ret;

    ret = RETRY_ON_EINTR(pwrite(lockfd, text, len, 0));
    if (ret != len) {
        error_setg_errno(errp, ret < 0 ? errno : ENOSPC,
                         "Cannot write the registry's counter");
        return false;
    }
    return true;
}

static DIR *registry_dir_stream(int dirfd)
{
    /* Not dup(): the position would be shared with other users of dirfd */
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);

    if (!stream && fd >= 0) {
        close(fd);
    }
    return stream;
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Temporary files exist only while their writer has the registry locked */
GPtrArray *registry_dir_names(int dirfd, const char *dir, int *swept,
                              Error **errp)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    DIR *stream = registry_dir_stream(dirfd);
    struct dirent *de;
    int err;

    if (!stream) {
        error_setg_errno(errp, errno, "Cannot read registry '%s'", dir);
        return NULL;
    }
    for (errno = 0; (de = readdir(stream)); errno = 0) {
        if (de->d_name[0] != '.' &&
            g_str_has_suffix(de->d_name, ENTRY_SUFFIX)) {
            g_ptr_array_add(names, g_strdup(de->d_name));
        } else if (swept && name_has_form(de->d_name, TEMP_PREFIX, "") &&
                   unlinkat(dirfd, de->d_name, 0) == 0) {
            (*swept)++;
        }
    }
    err = errno;
    closedir(stream);
    if (err) {
        error_setg_errno(errp, err, "Cannot read registry '%s'", dir);
        return NULL;
    }
    g_ptr_array_sort(names, compare_names);
    return g_steal_pointer(&names);
}

void registry_file_free(RegistryFile *file)
{
    if (file) {
        g_free(file->name);
        g_free(file->data);
        error_free(file->err);
        g_free(file);
    }
}

char *registry_fd_read(int fd, size_t *len, Error **errp)
{
    const size_t max = PINNING_ENTRY_MAX_SIZE;
    g_autofree char *data = NULL;
    struct stat st;
    size_t size, done = 0;
    ssize_t ret;

    if (fstat(fd, &st) < 0) {
        error_setg_errno(errp, errno, "it cannot be examined");
        return NULL;
    }
    size = MIN(st.st_size, max);
    data = g_malloc(size + 1);
    while (st.st_size <= max) {
        ret = RETRY_ON_EINTR(pread(fd, data + done, size + 1 - done, done));
        if (ret < 0) {
            error_setg_errno(errp, errno, "it cannot be read");
            return NULL;
        }
        done += ret;
        if (ret == 0) {
            *len = done;
            return g_steal_pointer(&data);
        }
        if (done > size) {
            break;
        }
    }
    error_setg(errp, st.st_size > max ? "it is longer than a MiB"
                                      : "it grew while it was read");
    return NULL;
}

/*
 * Others than the owner must not be able to write an entry: they could
 * change what it says, and lock it.
 */
static bool file_check(const struct stat *st, Error **errp)
{
    if (!S_ISREG(st->st_mode)) {
        error_setg(errp, "it is a %s, not a regular file",
                   S_ISLNK(st->st_mode) ? "link" :
                   S_ISDIR(st->st_mode) ? "directory" : "special file");
        return false;
    }
    if (st->st_mode & (S_IWGRP | S_IWOTH)) {
        error_setg(errp, "its mode is %04o, others than its owner may write"
                   " it", st->st_mode & 07777);
        return false;
    }
    return true;
}

static void file_identify(RegistryFile *file, const struct stat *st)
{
    file->dev = st->st_dev;
    file->ino = st->st_ino;
    file->mtime_ns = st->st_mtim.tv_sec * 1000000000LL +
                     st->st_mtim.tv_nsec;
}

/* Test, do not take: the test is for reading, which a reader's lock passes */
static RegistryState fd_state(int dirfd, const char *name, int fd)
{
    if (qemu_lock_fd_test(fd, 0, 0, false) != 0) {
        return REGISTRY_ALIVE;
    }
    /* A holder that wrote anew holds the new file and let go of this one */
    return file_is_current(dirfd, name, fd) ? REGISTRY_DEAD : REGISTRY_GONE;
}

/* Returns: whether the name exists; then @file says what it is */
static bool file_load_once(int dirfd, const char *name, RegistryFile *file)
{
    struct stat st;
    int fd;

    /* Merely opening a device can do something, so look first */
    if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return false;
    }
    file_identify(file, &st);
    file->state = REGISTRY_DEAD;
    if (!file_check(&st, &file->err)) {
        return true;
    }

    fd = openat(dirfd, name, O_RDONLY | OPEN_SAFELY);
    if (fd < 0) {
        error_setg_errno(&file->err, errno, "it cannot be opened");
        return errno != ENOENT;
    }
    if (fstat(fd, &st) < 0) {
        error_setg_errno(&file->err, errno, "it cannot be examined");
    } else if (file_check(&st, &file->err)) {
        file_identify(file, &st);
        file->data = registry_fd_read(fd, &file->len, &file->err);
        file->state = fd_state(dirfd, name, fd);
    }
    close(fd);
    return true;
}

RegistryFile *registry_file_load(int dirfd, const char *name)
{
    int i;

    for (i = 0; i < LOAD_TRIES; i++) {
        g_autoptr(RegistryFile) file = g_new0(RegistryFile, 1);

        file->name = g_strdup(name);
        if (!file_load_once(dirfd, name, file)) {
            return NULL;
        }
        if (file->state != REGISTRY_GONE) {
            return g_steal_pointer(&file);
        }
        /* Replaced while it was read: its holder lives, look again */
    }
    return NULL;
}

RegistryState registry_file_state(int dirfd, const char *name)
{
    RegistryState state;
    int fd;

    fd = openat(dirfd, name, O_RDONLY | OPEN_SAFELY);
    if (fd < 0) {
        return REGISTRY_GONE;
    }
    state = fd_state(dirfd, name, fd);
    close(fd);
    return state;
}

/*
 * The file is locked before anybody can see it, so what is visible and not
 * locked is dead for good.  fsync() finds out while it can still be helped
 * whether the text fits on the disk.  The directory needs none: a crash of
 * the host that loses the entry has ended its holder too.
 */
static bool file_fill(int dirfd, int fd, const GString *text, Error **errp)
{
    int ret;

    if (fchmod(fd, 0644) < 0) {
        error_setg_errno(errp, errno, "Cannot open the entry to others");
        return false;
    }
    ret = qemu_lock_fd(fd, 0, 0, true);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "Cannot lock the entry");
        return false;
    }
    if (qemu_write_full(fd, text->str, text->len) != text->len ||
        fsync(fd) < 0) {
        error_setg_errno(errp, errno, "Cannot write the entry");
        return false;
    }
    return true;
}

int registry_dir_publish(int dirfd, char **name, const GString *text,
                         Error **errp)
{
    g_autofree char *temp = random_name(TEMP_PREFIX, "");
    g_autofree char *fresh = NULL;
    int fd;

    fd = openat(dirfd, temp, O_RDWR | O_CREAT | O_EXCL | OPEN_SAFELY, 0600);
    if (fd < 0) {
        error_setg_errno(errp, errno, "Cannot make an entry");
        return -1;
    }
    if (!file_fill(dirfd, fd, text, errp)) {
        goto fail;
    }
    fresh = *name ? NULL : random_name(ENTRY_PREFIX, ENTRY_SUFFIX);
    if (renameat(dirfd, temp, dirfd, fresh ?: *name) < 0) {
        error_setg_errno(errp, errno, "Cannot name the entry");
        goto fail;
    }
    if (fresh) {
        *name = g_steal_pointer(&fresh);
    }
    return fd;

fail:
    unlinkat(dirfd, temp, 0);
    close(fd);
    return -1;
}
