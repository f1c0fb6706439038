/*
 * Guest memory on host nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include "hw/core/numa-hostnodes.h"

QEMU_BUILD_BUG_ON((int)HOST_MEM_POLICY_DEFAULT != (int)MPOL_DEFAULT);
QEMU_BUILD_BUG_ON((int)HOST_MEM_POLICY_PREFERRED != (int)MPOL_PREFERRED);
QEMU_BUILD_BUG_ON((int)HOST_MEM_POLICY_BIND != (int)MPOL_BIND);
QEMU_BUILD_BUG_ON((int)HOST_MEM_POLICY_INTERLEAVE != (int)MPOL_INTERLEAVE);

/* Since Linux 5.15; older headers do not have it */
#define POLICY_PREFERRED_MANY 5

/* Pages asked about in one call: few enough to keep the call short */
#define PAGES_PER_CALL 4096

static int bind_range(void *ptr, uint64_t size, int mode,
                      const unsigned long *mask, unsigned long n_bits,
                      unsigned flags)
{
    if (syscall(SYS_mbind, ptr, size, mode, mask, n_bits, flags) < 0) {
        return -errno;
    }
    return 0;
}

int numa_hostnodes_bind(void *ptr, uint64_t size, HostMemPolicy policy,
                        const CpuSet *host_nodes, bool move)
{
    unsigned flags = move ? MPOL_MF_MOVE | MPOL_MF_STRICT : 0;
    g_autofree unsigned long *mask = NULL;
    unsigned long n_bits = 1;
    int ret;

    if (policy == HOST_MEM_POLICY_DEFAULT) {
        return bind_range(ptr, size, MPOL_DEFAULT, NULL, 0, flags);
    }
    CPUSET_FOREACH(host_node, host_nodes) {
        n_bits = host_node + 1;
    }
    mask = bitmap_new(n_bits);
    CPUSET_FOREACH(host_node, host_nodes) {
        set_bit(host_node, mask);
    }
    /* The kernel takes one off the number of bits that it is told */
    n_bits++;
    if (policy == HOST_MEM_POLICY_PREFERRED && cpuset_count(host_nodes) > 1) {
        ret = bind_range(ptr, size, POLICY_PREFERRED_MANY, mask, n_bits,
                         flags);
        if (ret != -EINVAL) {
            return ret;
        }
        /* An older kernel prefers the first node only */
    }
    return bind_range(ptr, size, policy, mask, n_bits, flags);
}

static void add_to_node(GArray *on_node, int host_node, uint64_t bytes)
{
    if (host_node >= on_node->len) {
        g_array_set_size(on_node, host_node + 1);   /* made to clear */
    }
    g_array_index(on_node, uint64_t, host_node) += bytes;
}

int numa_hostnodes_count(void *ptr, uint64_t size, uint64_t page_size,
                         uint64_t max_pages, GArray *on_node)
{
    uint64_t n_pages = size / page_size;
    uint64_t n_looks = MIN(n_pages, max_pages);
    g_autofree void **pages = g_new(void *, PAGES_PER_CALL);
    g_autofree int *status = g_new(int, PAGES_PER_CALL);
    uint64_t done, i, n;

    for (done = 0; done < n_looks; done += n) {
        n = MIN(n_looks - done, PAGES_PER_CALL);
        for (i = 0; i < n; i++) {
            /* Evenly spread: look number k is at page k * pages / looks */
            uint64_t page = (unsigned __int128)(done + i) * n_pages / n_looks;

            pages[i] = (char *)ptr + page * page_size;
        }
        if (syscall(SYS_move_pages, 0, n, pages, NULL, status, 0) < 0) {
            return -errno;
        }
        for (i = 0; i < n; i++) {
            if (status[i] >= 0) {
                add_to_node(on_node, status[i], size / n_looks);
            }
        }
    }
    return 0;
}
