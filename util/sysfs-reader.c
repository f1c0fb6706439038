/*
 * Reading the kernel's small text files below a chosen root
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/sysfs-reader.h"
#include "sysfs-capture.h"

/* Room for the longest set that cpulist_parse() takes, and its padding */
#define SYSFS_MAX_LENGTH (CPULIST_MAX_LENGTH + 4 * KiB)

/* As much as sysfs gives at once, or less: the smallest page there is */
#define SYSFS_CHUNK (4 * KiB)

/* Directories that are kept open: of CPUs, nodes, and what else is counted */
#define N_BASES 4

/* A directory with numbered ones in it, of which many files are read */
typedef struct SysfsBase {
    char *path;             /* or NULL */
    int dirfd;
} SysfsBase;

struct SysfsReader {
    char *root;             /* as it was named, for messages */
    int dirfd;              /* the root directory, or -1 */
    SysfsBase bases[N_BASES];
    SysfsCapture *capture;  /* or NULL */
    GString *content;       /* of the file that is being read */
    uint64_t count;
};

static SysfsReader *reader_new(const char *root, int dirfd,
                               SysfsCapture *capture)
{
    SysfsReader *r = g_new0(SysfsReader, 1);

    r->root = g_strdup(root);
    r->dirfd = dirfd;
    r->capture = capture;
    r->content = g_string_new(NULL);
    return r;
}

static SysfsReader *reader_new_from_file(const char *root, Error **errp)
{
    ERRP_GUARD();
    g_autoptr(GError) gerr = NULL;
    SysfsCapture *capture;
    char *text;
    gsize size;

    if (!g_file_get_contents(root, &text, &size, &gerr)) {
        error_setg(errp, "%s", gerr->message);
        return NULL;
    }
    capture = sysfs_capture_new(text, size, errp);
    if (!capture) {
        error_prepend(errp, "'%s' is no capture of a host: ", root);
        error_append_hint(errp, "scripts/pinning/capture-topology makes "
                          "captures.\n");
        return NULL;
    }
    return reader_new(root, -1, capture);
}

SysfsReader *sysfs_reader_new(const char *root, Error **errp)
{
    struct stat st;
    int fd;

    if (stat(root, &st) < 0) {
        error_setg_errno(errp, errno, "cannot open host root '%s'", root);
        return NULL;
    }
    if (S_ISREG(st.st_mode)) {
        return reader_new_from_file(root, errp);
    }
    if (!S_ISDIR(st.st_mode)) {
        error_setg(errp, "host root '%s' is neither a directory nor a "
                   "capture", root);
        return NULL;
    }
    fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        error_setg_errno(errp, errno, "cannot open host root '%s'", root);
        return NULL;
    }
    return reader_new(root, fd, NULL);
}

SysfsReader *sysfs_reader_new_from_text(const char *text, size_t size,
                                        Error **errp)
{
    char *copy = g_malloc(size + 1);
    SysfsCapture *capture;

    memcpy(copy, text, size);
    capture = sysfs_capture_new(copy, size, errp);
    return capture ? reader_new("", -1, capture) : NULL;
}

void sysfs_reader_free(SysfsReader *r)
{
    if (!r) {
        return;
    }
    if (r->dirfd >= 0) {
        close(r->dirfd);
    }
    for (int i = 0; i < N_BASES && r->bases[i].path; i++) {
        close(r->bases[i].dirfd);
        g_free(r->bases[i].path);
    }
    sysfs_capture_free(r->capture);
    g_string_free(r->content, true);
    g_free(r->root);
    g_free(r);
}

uint64_t sysfs_reader_count(const SysfsReader *r)
{
    return r->count;
}

/* Names the file as the user knows it; the root may be "/" or "tree/" */
static SysfsResult broken(const SysfsReader *r, const char *path,
                          const char *why, Error **errp)
{
    const char *slash = g_str_has_suffix(r->root, "/") ? "" : "/";

    error_setg(errp, "'%s%s%s': %s", r->root, slash, path, why);
    return SYSFS_BROKEN;
}

/* A CPU that goes away while we read takes its directory along */
static SysfsResult failed(const SysfsReader *r, const char *path, int err,
                          Error **errp)
{
    if (err == ENOENT || err == ENOTDIR || err == ENODEV) {
        return SYSFS_ABSENT;
    }
    return broken(r, path, g_strerror(err), errp);
}

/*
 * Returns: bytes read, @size at most, or a negative errno value.  Where a
 * page or more is always given at once, less than that is the end of the
 * file, and need not be asked for: there are thousands of small files.
 */
static ssize_t read_all(int fd, char *buf, size_t size, bool in_pages)
{
    size_t len = 0;
    ssize_t n;

    do {
        n = RETRY_ON_EINTR(read(fd, buf + len, size - len));
        if (n < 0) {
            return -errno;
        }
        len += n;
    } while (n > 0 && len < size && !(in_pages && n < SYSFS_CHUNK));
    return len;
}

/*
 * Where to look for @path, which is made relative to that: finding a file
 * takes longer than reading it, and nearly all begin alike.
 */
static int find_base(SysfsReader *r, const char **path)
{
    size_t len = strcspn(*path, "0123456789");
    g_autofree char *dir = NULL;
    int fd;

    while (len > 0 && (*path)[len - 1] != '/') {
        len--;
    }
    if (!len || !(*path)[len]) {
        return r->dirfd;
    }
    for (int i = 0; i < N_BASES; i++) {
        SysfsBase *base = &r->bases[i];

        if (!base->path) {
            dir = g_strndup(*path, len);
            fd = openat(r->dirfd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
            if (fd < 0) {
                break;
            }
            base->path = g_steal_pointer(&dir);
            base->dirfd = fd;
        }
        if (strlen(base->path) == len && !memcmp(base->path, *path, len)) {
            *path += len;
            return base->dirfd;
        }
    }
    return r->dirfd;
}

static SysfsResult read_from_dir(SysfsReader *r, const char *path,
                                 Error **errp)
{
    const char *name = path;
    int dirfd = find_base(r, &name);
    /* A fixture may hold anything: do not wait for a FIFO's other end */
    int fd = openat(dirfd, name,
                    O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t len;

    if (fd < 0) {
        return failed(r, path, errno, errp);
    }
    g_string_set_size(r->content, SYSFS_MAX_LENGTH + 1);
    len = read_all(fd, r->content->str, r->content->len,
                   g_str_has_prefix(path, "sys/"));
    close(fd);
    if (len < 0) {
        return failed(r, path, -len, errp);
    }
    g_string_truncate(r->content, len);
    return SYSFS_VALUE;
}

static SysfsResult read_from_capture(SysfsReader *r, const char *path,
                                     Error **errp)
{
    const SysfsCaptureEntry *e = sysfs_capture_find(r->capture, path);

    if (!e) {
        return failed(r, path, sysfs_capture_is_dir(r->capture, path) ?
                      EISDIR : ENOENT, errp);
    }
    if (e->broken) {
        return broken(r, path, e->content, errp);
    }
    g_string_truncate(r->content, 0);
    g_string_append_len(r->content, e->content, e->len);
    return SYSFS_VALUE;
}

static bool is_padding(char c)
{
    return c == '\0' || g_ascii_isspace(c);
}

/*
 * Kernels pad with blanks, and old ones end files in NULs.  Returns NULL if
 * there is a NUL elsewhere.
 */
static char *strip_padding(const GString *content)
{
    const char *start = content->str;
    const char *end = content->str + content->len;

    while (end > start && is_padding(end[-1])) {
        end--;
    }
    while (start < end && is_padding(*start)) {
        start++;
    }
    if (memchr(start, '\0', end - start)) {
        return NULL;
    }
    return g_strndup(start, end - start);
}

static SysfsResult read_path(SysfsReader *r, const char *path, char **text,
                             Error **errp)
{
    SysfsResult res;
    char *stripped;

    r->count++;
    res = r->capture ? read_from_capture(r, path, errp) :
                       read_from_dir(r, path, errp);
    if (res != SYSFS_VALUE) {
        return res;
    }
    if (r->content->len > SYSFS_MAX_LENGTH) {
        return broken(r, path, "more text than expected", errp);
    }
    stripped = strip_padding(r->content);
    if (!stripped) {
        return broken(r, path, "binary data", errp);
    }
    *text = stripped;
    return SYSFS_VALUE;
}

SysfsResult sysfs_reader_read_text(SysfsReader *r, char **text, Error **errp,
                                   const char *fmt, ...)
{
    g_autofree char *path = NULL;
    va_list ap;

    va_start(ap, fmt);
    path = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    return read_path(r, path, text, errp);
}

SysfsResult sysfs_reader_read_int(SysfsReader *r, int64_t *value,
                                  Error **errp, const char *fmt, ...)
{
    g_autofree char *path = NULL;
    g_autofree char *text = NULL;
    SysfsResult res;
    int64_t number;
    va_list ap;
    int base;

    va_start(ap, fmt);
    path = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    res = read_path(r, path, &text, errp);
    if (res != SYSFS_VALUE) {
        return res;
    }
    /* Not base 0: a leading zero does not make a number octal here */
    base = g_str_has_prefix(text, "0x") ? 16 : 10;
    if (qemu_strtoi64(text, NULL, base, &number) < 0) {
        return broken(r, path, "not a number", errp);
    }
    *value = number;
    return SYSFS_VALUE;
}

/* "(null)" is how the kernel prints a set that it has not allocated */
static SysfsResult parse_set(const SysfsReader *r, const char *path,
                             const char *text, bool mask, CpuSet **set,
                             Error **errp)
{
    Error *err = NULL;
    SysfsResult res;

    if (!*text || g_str_equal(text, "(null)")) {
        *set = cpuset_new();
        return SYSFS_VALUE;
    }
    *set = mask ? cpumask_parse(text, &err) : cpulist_parse(text, &err);
    if (*set) {
        return SYSFS_VALUE;
    }
    res = broken(r, path, error_get_pretty(err), errp);
    error_free(err);
    return res;
}

static SysfsResult read_set(SysfsReader *r, const char *path, bool mask,
                            CpuSet **set, Error **errp)
{
    g_autofree char *text = NULL;
    SysfsResult res = read_path(r, path, &text, errp);

    return res == SYSFS_VALUE ? parse_set(r, path, text, mask, set, errp)
                              : res;
}

SysfsResult sysfs_reader_read_cpulist(SysfsReader *r, CpuSet **set,
                                      Error **errp, const char *fmt, ...)
{
    g_autofree char *path = NULL;
    va_list ap;

    va_start(ap, fmt);
    path = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    return read_set(r, path, false, set, errp);
}

SysfsResult sysfs_reader_read_cpumask(SysfsReader *r, CpuSet **set,
                                      Error **errp, const char *fmt, ...)
{
    g_autofree char *path = NULL;
    va_list ap;

    va_start(ap, fmt);
    path = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    return read_set(r, path, true, set, errp);
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static SysfsResult list_dir(SysfsReader *r, const char *path, GStrv *names,
                            Error **errp)
{
    int fd = openat(r->dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    GPtrArray *found;

    if (!dir) {
        int err = errno;

        if (fd >= 0) {
            close(fd);
        }
        return failed(r, path, err, errp);
    }
    found = g_ptr_array_new();
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] != '.') {
            g_ptr_array_add(found, g_strdup(entry->d_name));
        }
    }
    closedir(dir);
    g_ptr_array_sort(found, compare_names);
    g_ptr_array_add(found, NULL);
    *names = (GStrv)g_ptr_array_free(found, false);
    return SYSFS_VALUE;
}

SysfsResult sysfs_reader_list(SysfsReader *r, GStrv *names, Error **errp,
                              const char *fmt, ...)
{
    g_autofree char *path = NULL;
    GStrv found;
    va_list ap;

    va_start(ap, fmt);
    path = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    r->count++;
    if (!r->capture) {
        return list_dir(r, path, names, errp);
    }
    found = sysfs_capture_list(r->capture, path);
    if (!found) {
        return SYSFS_ABSENT;
    }
    *names = found;
    return SYSFS_VALUE;
}

bool sysfs_reader_exists(SysfsReader *r, const char *fmt, ...)
{
    g_autofree char *path = NULL;
    struct stat st;
    va_list ap;

    va_start(ap, fmt);
    path = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    r->count++;
    if (r->capture) {
        return sysfs_capture_find(r->capture, path) ||
               sysfs_capture_is_dir(r->capture, path);
    }
    return fstatat(r->dirfd, path, &st, 0) == 0;
}
