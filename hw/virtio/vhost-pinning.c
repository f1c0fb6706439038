/*
 * Birth and place of the kernel's vhost workers
 *
 * A device gets its worker, a thread of the kernel that moves its data, with
 * VHOST_SET_OWNER.  No ioctl tells which thread that is.  Whether it is a
 * task of this process or a thread of the kernel's own depends on version,
 * configuration and a module parameter, so it is looked at, not derived.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <linux/vhost.h>
#include <sys/ioctl.h>
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/config-file.h"
#include "qemu/io-spread.h"
#include "qemu/option.h"
#include "qemu/thread-affinity.h"
#include "hw/virtio/vhost-pinning.h"
#include "net/net.h"
#include "softmmu/pinning-creators.h"
#include "softmmu/pinning-internal.h"
#include "softmmu/pinning-io.h"
#include "softmmu/pinning-threads.h"
#include "trace/trace-softmmu.h"

#define WORKER_NAME "vhost-"

VhostPinningKind vhost_pinning_kind(int fd)
{
    static const struct {
        const char *suffix;
        VhostPinningKind kind;
    } kinds[] = {
        { "/vhost-net", VHOST_PINNING_NET },
        { "/vhost-scsi", VHOST_PINNING_SCSI },
        { "/vhost-vsock", VHOST_PINNING_VSOCK },
    };
    g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
    g_autofree char *path = g_file_read_link(link, NULL);
    unsigned i;

    for (i = 0; path && i < ARRAY_SIZE(kinds); i++) {
        if (g_str_has_suffix(path, kinds[i].suffix)) {
            return kinds[i].kind;
        }
    }
    return VHOST_PINNING_OTHER;
}

static unsigned live_queues(const char *netdev)
{
    return qemu_find_net_clients_except(netdev, NULL, NET_CLIENT_DRIVER_NIC,
                                        0);
}

/*
 * While a network device is made it has as many clients as were made so far.
 * Where the command line tells how many there will be, its workers are born
 * where they stay; else they move when all are there.
 */
static unsigned queues_of_netdev(const char *netdev)
{
    QemuOptsList *list = qemu_find_opts_err("netdev", NULL);
    QemuOpts *opts = list ? qemu_opts_find(list, netdev) : NULL;
    const char *text = opts ? qemu_opt_get(opts, "queues") : NULL;
    unsigned live = live_queues(netdev), told = 1;

    if (text && qemu_strtoui(text, NULL, 10, &told) < 0) {
        told = 1;
    }
    return MAX(live, MIN(told, MAX_QUEUE_NUM));
}

/* A device with one queue serves all vCPUs */
static CpuSet *served_by_net(const IoThread *io)
{
    unsigned n = queues_of_netdev(io->device);
    unsigned vcpu;

    if (n < 2 || io->queue >= n) {
        return NULL;
    }
    vcpu = io_spread_vcpu(io->queue, n, current_machine->smp.cpus);
    return cpuset_new_range(vcpu, vcpu);
}

/* The queues of a device are made one after the other, under one name */
static IoThread *new_net_worker(struct vhost_dev *dev)
{
    NetClientState *nc = container_of(dev, struct vhost_net, dev)->nc;
    unsigned live = live_queues(nc->name);

    return pinning_io_new(PINNING_THREAD_ROLE_VHOST, nc->name,
                          live ? live - 1 : 0, served_by_net, NULL);
}

static IoThread *new_worker(VhostPinningKind kind, struct vhost_dev *dev)
{
    switch (kind) {
    case VHOST_PINNING_NET:
        return new_net_worker(dev);
    case VHOST_PINNING_SCSI:
        return vhost_pinning_scsi_worker(dev);
    case VHOST_PINNING_VSOCK:
        return pinning_io_new(PINNING_THREAD_ROLE_VHOST, "vhost-vsock", 0,
                              NULL, NULL);
    default:
        return pinning_io_new(PINNING_THREAD_ROLE_VHOST, "vhost", 0, NULL,
                              NULL);
    }
}

static bool has_name(const char *comm_path, const char *name, bool whole)
{
    g_autofree char *comm = NULL;

    if (!g_file_get_contents(comm_path, &comm, NULL, NULL)) {
        return false;
    }
    g_strchomp(comm);
    return whole ? g_str_equal(comm, name) : g_str_has_prefix(comm, name);
}

static bool contains(const GArray *tids, pid_t tid)
{
    unsigned i;

    for (i = 0; i < tids->len; i++) {
        if (g_array_index(tids, pid_t, i) == tid) {
            return true;
        }
    }
    return false;
}

/* A task of ours that was not there before, or 0 */
static pid_t find_task(const GArray *before)
{
    g_autoptr(GArray) after = thread_list();
    unsigned i;

    for (i = 0; after && before && i < after->len; i++) {
        pid_t tid = g_array_index(after, pid_t, i);
        g_autofree char *path = g_strdup_printf("/proc/self/task/%d/comm",
                                                tid);

        if (!contains(before, tid) && has_name(path, WORKER_NAME, false)) {
            return tid;
        }
    }
    return 0;
}

/*
 * A thread of the kernel's own is named after the thread that asked for it.
 * The one that is not known yet is the new one.  0: not visible.
 */
static pid_t find_kernel_thread(pid_t asker)
{
    g_autofree char *name = g_strdup_printf(WORKER_NAME "%d", asker);
    g_autoptr(GDir) proc = g_dir_open("/proc", 0, NULL);
    const char *entry;

    while (proc && (entry = g_dir_read_name(proc))) {
        g_autofree char *path = g_strdup_printf("/proc/%s/comm", entry);
        int pid;

        if (qemu_strtoi(entry, NULL, 10, &pid) == 0 &&
            has_name(path, name, true) && !pinning_io_find(pid) &&
            pinning_thread_is_kernels(pid)) {
            return pid;
        }
    }
    return 0;
}

static void adopt(pid_t tid, bool kernel_thread)
{
    IoThread *io = pinning_io_add(PINNING_THREAD_ROLE_VHOST, "vhost", 0, NULL,
                                  NULL);

    io->tid = tid;
    io->kernel_thread = kernel_thread;
}

void vhost_pinning_adopt(void)
{
    g_autoptr(GArray) tids = thread_list();
    unsigned i;
    pid_t pid;

    pinning_io_forget();
    for (i = 0; tids && i < tids->len; i++) {
        pid_t tid = g_array_index(tids, pid_t, i);
        g_autofree char *path = g_strdup_printf("/proc/self/task/%d/comm",
                                                tid);

        if (!pinning_io_find(tid) && has_name(path, WORKER_NAME, false)) {
            adopt(tid, false);
        }
    }
    while ((pid = find_kernel_thread(qemu_get_thread_id()))) {
        adopt(pid, true);
    }
}

static void warn_once(Error *err)
{
    static bool warned;

    if (warned) {
        error_free(err);
        return;
    }
    warned = true;
    warn_reportf_err(err, "pinning: vhost workers of this kernel are threads"
                     " of its own and stay where they are: ");
}

static void place_kernel_thread(IoThread *io)
{
    g_autoptr(CpuSet) cpu = cpuset_new_range(io->host_cpu, io->host_cpu);
    Error *err = NULL;

    if (!thread_affinity_set(io->tid, cpu, &err)) {
        io->immobile = true;
        warn_once(err);
    }
}

static void find_worker(IoThread *io, const GArray *before, pid_t asker)
{
    Error *err = NULL;

    io->tid = find_task(before);
    if (!io->tid) {
        io->tid = find_kernel_thread(asker);
        io->kernel_thread = true;
    }
    trace_pinning_vhost_worker(io->tid, io->device, io->queue, io->host_cpu);
    if (!io->tid) {
        error_setg(&err, "no thread " WORKER_NAME "%d is visible",
                   asker);
        warn_once(err);
        pinning_io_drop(io);
        return;
    }
    if (io->kernel_thread) {
        place_kernel_thread(io);
    }
    pinning_io_place(io);
}

typedef struct Request {
    int fd;
    unsigned long request;
    void *arg;
    int ret;
    int err;
} Request;

static void issue(void *opaque)
{
    Request *r = opaque;

    r->ret = ioctl(r->fd, r->request, r->arg);
    r->err = errno;
}

/*
 * This thread itself gets the worker's mask for a moment.  Another one that
 * asks in its place would need a thread where RLIMIT_NPROC may allow none,
 * and give the worker a name by which nobody finds it: tools look for
 * "vhost-" and the process.  Only a sandbox that forbids masks leaves no
 * other way.
 */
static int issue_on(int host_cpu, int fd, unsigned long request, void *arg,
                    pid_t *asker)
{
    g_autofree char *list = g_strdup_printf("%d", host_cpu);
    PlacedThread *creator = pinning_creator(list);
    Request r = { .fd = fd, .request = request, .arg = arg };
    g_autoptr(CpuSet) before = NULL;
    g_autoptr(CpuSet) cpu = NULL;
    bool moved;

    if (creator) {
        *asker = placed_thread_tid(creator);
        placed_thread_run(creator, issue, &r);
        errno = r.err;
        return r.ret;
    }
    *asker = qemu_get_thread_id();
    before = thread_affinity_get(0, NULL);
    cpu = cpuset_new_range(host_cpu, host_cpu);
    moved = before && thread_affinity_set(0, cpu, NULL);
    issue(&r);

    if (moved) {
        thread_affinity_set(0, before, NULL);
    }
    errno = r.err;
    return r.ret;
}

int vhost_pinning_create(IoThread *io, int fd, unsigned long request,
                         void *arg)
{
    g_autoptr(GArray) before = thread_list();
    pid_t asker;
    int ret = issue_on(io->host_cpu, fd, request, arg, &asker);
    int err = errno;

    if (ret < 0) {
        pinning_io_drop(io);
    } else {
        find_worker(io, before, asker);
    }
    errno = err;
    return ret;
}

int vhost_pinning_create_worker(struct vhost_dev *dev, int fd,
                                unsigned long request, void *arg)
{
    VhostPinningKind kind = vhost_pinning_kind(fd);
    int ret = vhost_pinning_create(new_worker(kind, dev), fd, request, arg);

    if (ret >= 0 && request == VHOST_SET_OWNER &&
        kind == VHOST_PINNING_SCSI) {
        vhost_pinning_scsi_split(dev, fd);
    }
    if (ret >= 0) {
        pinning_threads_look_soon();
    }
    return ret;
}
