/*
 * Guest memory on host nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include "hw/core/numa-hostnodes.h"
#include "qemu/host-mempolicy.h"

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

/* The kernel takes one off the number of bits that it is told: @n_bits */
static unsigned long *node_mask(const CpuSet *host_nodes,
                                unsigned long *n_bits)
{
    unsigned long *mask;

    *n_bits = 1;
    CPUSET_FOREACH(host_node, host_nodes) {
        *n_bits = host_node + 1;
    }
    mask = bitmap_new(*n_bits);
    CPUSET_FOREACH(host_node, host_nodes) {
        set_bit(host_node, mask);
    }
    ++*n_bits;
    return mask;
}

int numa_hostnodes_bind(void *ptr, uint64_t size, HostMemPolicy policy,
                        const CpuSet *host_nodes, bool move)
{
    unsigned flags = move ? MPOL_MF_MOVE | MPOL_MF_STRICT : 0;
    g_autofree unsigned long *mask = NULL;
    unsigned long n_bits;
    int mode, ret;

    if (policy == HOST_MEM_POLICY_DEFAULT) {
        return bind_range(ptr, size, MPOL_DEFAULT, NULL, 0, flags);
    }
    mask = node_mask(host_nodes, &n_bits);
    mode = host_mempolicy_mode(policy, cpuset_count(host_nodes));
    ret = bind_range(ptr, size, mode, mask, n_bits, flags);
    if (ret == -EINVAL && mode != (int)policy) {
        /* An older kernel: it prefers the first node only, moves no page */
        ret = bind_range(ptr, size, policy, mask, n_bits, flags);
    }
    return ret;
}

int numa_hostnodes_policy(void *ptr, int *mode, CpuSet **host_nodes)
{
    /* More than any kernel has, and no more than a page, which is refused */
    unsigned long n_bits = 4096, bit;
    g_autofree unsigned long *mask = bitmap_new(n_bits);

    if (syscall(SYS_get_mempolicy, mode, mask, n_bits, ptr,
                MPOL_F_ADDR) < 0) {
        return -errno;
    }
    *host_nodes = cpuset_new();
    for (bit = find_first_bit(mask, n_bits); bit < n_bits;
         bit = find_next_bit(mask, n_bits, bit + 1)) {
        cpuset_add(*host_nodes, bit);
    }
    return 0;
}

int numa_hostnodes_restore(void *ptr, uint64_t size, int mode,
                           const CpuSet *host_nodes)
{
    g_autofree unsigned long *mask = NULL;
    unsigned long n_bits;

    mask = node_mask(host_nodes, &n_bits);
    return bind_range(ptr, size, mode, cpuset_is_empty(host_nodes) ? NULL
                                                                   : mask,
                      n_bits, 0);
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

/*
 * Pages that are asked to move once more, evenly spread: a page that does not
 * move is tried ten times by the kernel.
 */
#define STUCK_TRIES 8

/* Not a node, nor a negative errno: the kernel has said nothing */
#define NOTHING_SAID INT_MAX

/* Returns: the counter in @stuck that @page belongs to, NULL if it moves */
static uint64_t *try_page(void *page, int host_node, NumaStuck *stuck)
{
    int status = NOTHING_SAID;
    bool no_room = syscall(SYS_move_pages, 0, 1, &page, &host_node, &status,
                           MPOL_MF_MOVE) < 0 && errno == ENOMEM;

    if (no_room || status == -ENOMEM) {
        return &stuck->no_room;
    }
    if (status == -EACCES) {
        return &stuck->shared;
    }
    return status == NOTHING_SAID || status == -EBUSY ? &stuck->pinned : NULL;
}

/* Pages of a mapping that are elsewhere */
static GPtrArray *wrong_pages(void *ptr, uint64_t size, uint64_t page_size,
                              const CpuSet *host_nodes)
{
    g_autofree void **pages = g_new(void *, PAGES_PER_CALL);
    g_autofree int *status = g_new(int, PAGES_PER_CALL);
    GPtrArray *wrong = g_ptr_array_new();
    uint64_t offset = 0;
    unsigned i, n;

    while (offset + page_size <= size) {
        n = MIN((size - offset) / page_size, PAGES_PER_CALL);
        for (i = 0; i < n; i++) {
            pages[i] = (char *)ptr + offset + i * page_size;
        }
        offset += n * page_size;
        if (syscall(SYS_move_pages, 0, n, pages, NULL, status, 0) < 0) {
            break;
        }
        for (i = 0; i < n; i++) {
            if (status[i] >= 0 && !cpuset_contains(host_nodes, status[i])) {
                g_ptr_array_add(wrong, pages[i]);
            }
        }
    }
    return wrong;
}

uint64_t numa_hostnodes_stuck(void *ptr, uint64_t size, uint64_t page_size,
                              const CpuSet *host_nodes, NumaStuck *stuck)
{
    g_autoptr(GPtrArray) wrong = wrong_pages(ptr, size, page_size,
                                             host_nodes);
    unsigned n = MIN(wrong->len, STUCK_TRIES);
    uint64_t bytes = wrong->len * page_size;
    unsigned i;

    for (i = 0; i < n; i++) {
        void *page = g_ptr_array_index(wrong, (uint64_t)i * wrong->len / n);
        uint64_t *counter = try_page(page, cpuset_first(host_nodes), stuck);

        if (counter) {
            *counter += bytes / n;
        }
    }
    return bytes;
}
