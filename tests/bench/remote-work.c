/*
 * The guest's work while remote accesses are counted
 *
 * Usage: remote-work KIB ROUNDS
 *
 * One thread on each vCPU, with memory of its own that it touches first:
 * three arrays of KIB for a triad and a ring of KIB to chase pointers
 * through.  All wait for one another after each pass, as programs with
 * parallel loops do, so vCPUs sleep and are woken.  Says WORK-BEGIN and
 * WORK-END outside of what is counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "remote-marker.h"

#define MAX_CPUS 256

static size_t bytes;
static int rounds;
static pthread_barrier_t all_here;

static inline void mark_start(void)
{
    asm volatile("nopl %c0(%%rax,%%rax,1)" : : "i"(REMOTE_START) : "memory");
}

static inline void mark_stop(void)
{
    asm volatile("nopl %c0(%%rax,%%rax,1)" : : "i"(REMOTE_STOP) : "memory");
}

/* Addresses are for each vCPU, so that nobody's page holds others' data */
static void *own_memory(unsigned cpu, unsigned n)
{
    uintptr_t at = REMOTE_MEMORY + ((uintptr_t)cpu * 4 + n) * bytes * 2;
    void *p = mmap((void *)at, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (p == MAP_FAILED) {
        perror("WORK-FAILED: no memory");
        exit(1);
    }
    memset(p, 0, bytes);
    return p;
}

/* A ring through all cache lines, in an order that no prefetcher knows */
static void **make_ring(unsigned cpu)
{
    size_t line = 64, n = bytes / line;
    size_t *order = calloc(n, sizeof(*order));
    char *memory = own_memory(cpu, 3);
    unsigned seed = cpu;

    for (size_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = rand_r(&seed) % (i + 1), swap = order[i];

        order[i] = order[j];
        order[j] = swap;
    }
    for (size_t i = 0; i < n; i++) {
        *(void **)(memory + order[i] * line) =
            memory + order[(i + 1) % n] * line;
    }
    free(order);
    return (void **)memory;
}

/* volatile: each access is made, one by one, whatever the compiler knows */
static void triad(volatile double *a, volatile double *b, volatile double *c)
{
    size_t n = bytes / sizeof(*a);

    for (size_t i = 0; i < n; i++) {
        a[i] = b[i] + 3.0 * c[i];
    }
}

/* As many loads as a triad has accesses */
static void **chase(void **p)
{
    size_t n = 3 * bytes / sizeof(double);

    for (size_t i = 0; i < n; i++) {
        /* volatile: as in triad() */
        p = *(void *volatile *)p;
    }
    return p;
}

static void go_to(uintptr_t cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

static void *work(void *opaque)
{
    uintptr_t cpu = (uintptr_t)opaque;
    double *a, *b, *c;
    void **ring;

    go_to(cpu);
    a = own_memory(cpu, 0);
    b = own_memory(cpu, 1);
    c = own_memory(cpu, 2);
    ring = make_ring(cpu);
    pthread_barrier_wait(&all_here);
    if (cpu == 0) {
        mark_start();
    }
    pthread_barrier_wait(&all_here);
    for (int i = 0; i < rounds; i++) {
        triad(a, b, c);
        pthread_barrier_wait(&all_here);
        ring = chase(ring);
        pthread_barrier_wait(&all_here);
    }
    if (cpu == 0) {
        mark_stop();
    }
    return ring;
}

int main(int argc, char **argv)
{
    pthread_t threads[MAX_CPUS];
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    if (argc != 3 || n < 1 || n > MAX_CPUS) {
        puts("WORK-FAILED: usage: remote-work KIB ROUNDS");
        return 1;
    }
    bytes = (size_t)atoi(argv[1]) * 1024;
    rounds = atoi(argv[2]);
    pthread_barrier_init(&all_here, NULL, n);
    printf("WORK-BEGIN vcpus=%ld\n", n);
    fflush(stdout);
    for (long i = 0; i < n; i++) {
        /* A thread's stacks come from where it is created */
        go_to(i);
        if (pthread_create(&threads[i], NULL, work, (void *)i)) {
            puts("WORK-FAILED: no thread");
            return 1;
        }
    }
    for (long i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
    puts("WORK-END");
    return 0;
}
