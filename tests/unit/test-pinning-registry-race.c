/*
 * Unit tests for the registry of reservations: many at once, killed at any
 * moment
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sys/ptrace.h>
#include "qemu/cpulist.h"
#include "pinning-registry-util.h"

#define N_CPUS 64
#define N_CHOOSERS 64
#define ROUNDS 3

/* A planner that knows one thing: the lowest host CPU that nobody has */
static int choose(const PinningTaken *taken)
{
    g_autoptr(CpuSet) used = NULL;
    int host_cpu;

    used = *taken->exclusive_cpus ? cpulist_parse(taken->exclusive_cpus,
                                                  &error_abort)
                                  : cpuset_new();
    for (host_cpu = 0; host_cpu < N_CPUS; host_cpu++) {
        if (!cpuset_contains(used, host_cpu)) {
            return host_cpu;
        }
    }
    return -1;
}

/* Returns the CPU that was chosen, N_CPUS if there was none left */
static int choose_and_record(PinningRegistry *reg)
{
    g_autoptr(PinningReservation) entry = NULL;
    g_autofree char *list = NULL;
    PinningTaken *taken;
    int host_cpu;

    pinning_registry_lock(reg, &error_abort);
    taken = pinning_registry_taken(reg, NULL, &error_abort);
    host_cpu = choose(taken);
    qapi_free_PinningTaken(taken);
    if (host_cpu >= 0) {
        list = g_strdup_printf("%d", host_cpu);
        entry = entry_new("racer", list, true);
        pinning_registry_record(reg, entry, &error_abort);
    }
    pinning_registry_unlock(reg);
    return host_cpu < 0 ? N_CPUS : host_cpu;
}

static pid_t start_chooser(const char *dir)
{
    pid_t pid = fork();

    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        PinningRegistry *reg = pinning_registry_open(dir, &error_abort);

        if (choose_and_record(reg) == N_CPUS) {
            _exit(1);
        }
        wait_for_death();
    }
    return pid;
}

/*
 * Nobody can begin to hold anything while the lock is held, so what is seen
 * twice in one look is held twice.  Returns the number of live holders.
 */
static unsigned assert_no_cpu_twice(const char *dir)
{
    g_autoptr(PinningRegistry) reg = pinning_registry_open(dir, &error_abort);
    g_autoptr(GPtrArray) list = NULL;
    g_autoptr(CpuSet) seen = cpuset_new();
    unsigned i;

    pinning_registry_lock(reg, &error_abort);
    list = pinning_registry_list(reg, false, NULL, &error_abort);
    pinning_registry_unlock(reg);
    for (i = 0; i < list->len; i++) {
        PinningReservation *entry = list->pdata[i];
        g_autoptr(CpuSet) own = cpulist_parse(entry->host_cpus, &error_abort);

        g_assert(!cpuset_intersects(seen, own));
        cpuset_or(seen, own);
    }
    return list->len;
}

/* That it ended is the killer's doing, never a CPU that could not be had */
static void reap(pid_t pid)
{
    int status;

    g_assert_cmpint(pid, >, 1);
    kill(pid, SIGKILL);
    g_assert_cmpint(RETRY_ON_EINTR(waitpid(pid, &status, 0)), ==, pid);
    g_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void race_round(const char *dir, GRand *rand)
{
    int64_t end = g_get_monotonic_time() + TEST_TIMEOUT_MS * 1000LL;
    pid_t pids[N_CHOOSERS];
    int i, kills;

    for (i = 0; i < N_CHOOSERS; i++) {
        pids[i] = start_chooser(dir);
    }
    /* At most 64 live at a time, so one CPU is always left for the next */
    for (kills = 0; kills < N_CHOOSERS; kills++) {
        g_usleep(g_rand_int_range(rand, 0, 2000));
        i = g_rand_int_range(rand, 0, N_CHOOSERS);
        reap(pids[i]);
        pids[i] = start_chooser(dir);
        if (kills % 4 == 0) {
            assert_no_cpu_twice(dir);
        }
    }
    while (assert_no_cpu_twice(dir) < N_CHOOSERS) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(1000);
    }
    assert_held(dir, "0-63");
    for (i = 0; i < N_CHOOSERS; i++) {
        reap(pids[i]);
    }
    assert_held(dir, "");
}

static void test_choosers(void)
{
    g_autofree char *dir = make_dir();
    g_autoptr(PinningRegistry) reg = pinning_registry_open(dir, &error_abort);
    GRand *rand = g_rand_new_with_seed(g_test_rand_int());
    int i;

    for (i = 0; i < ROUNDS; i++) {
        race_round(dir, rand);
    }
    pinning_registry_collect(reg, &error_abort);
    g_assert_cmpint(count_files(dir, ""), ==, 0);
    g_rand_free(rand);
    remove_dir(dir);
}

/* The whole life of an entry, to be cut off at each of its system calls */
static void live_a_life(const char *dir)
{
    PinningRegistry *reg = pinning_registry_open(dir, &error_abort);

    choose_and_record(reg);
    choose_and_record(reg);
    pinning_registry_close(reg);
}

/*
 * Let a child live and kill it when it stops for the @n-th time, before or
 * after a system call.  Returns whether it had got that far.
 */
static bool kill_at_stop(const char *dir, int n, bool *traced)
{
    int status, i;
    pid_t pid = fork();

    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0) {
            _exit(77);
        }
        raise(SIGSTOP);
        live_a_life(dir);
        _exit(0);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    *traced = WIFSTOPPED(status);
    for (i = 0; i < n && WIFSTOPPED(status); i++) {
        g_assert_cmpint(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), ==, 0);
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    }
    if (!WIFSTOPPED(status)) {
        g_assert(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, *traced ? 0 : 77);
        return false;
    }
    reap(pid);
    return true;
}

static void test_kill_at_each_syscall(void)
{
    g_autofree char *dir = make_dir();
    g_autofree char *fresh = g_build_filename(dir, "fresh", NULL);
    bool traced, more = true;
    int n, held_early = 0;

    for (n = 0; more; n++) {
        PinningRegistry *reg;

        more = kill_at_stop(fresh, n, &traced);
        if (!traced) {
            g_test_skip("processes cannot be traced here");
            break;
        }
        /* Nothing is held, the lock is free, and all can be tidied up */
        assert_held(fresh, "");
        reg = pinning_registry_open(fresh, &error_abort);
        held_early += count_files(fresh, "entry-");
        g_assert_cmpint(choose_and_record(reg), ==, 0);
        assert_held(fresh, "0");
        g_assert_cmpint(pinning_registry_collect(reg, &error_abort), ==, 0);
        g_assert_cmpint(count_files(fresh, ""), ==, 1);
        pinning_registry_close(reg);
        g_assert_cmpint(count_files(fresh, ""), ==, 0);
        remove_dir(fresh);
    }
    if (traced) {
        g_test_message("%d stops, %d dead entries", n, held_early);
        /* That some left an entry shows that the killing was real */
        g_assert_cmpint(n, >, 50);
        g_assert_cmpint(held_early, >, 0);
    }
    remove_dir(dir);
}

/* An entry that is being written again and again never seems to be gone */
static void test_list_while_rewriting(void)
{
    g_autofree char *dir = make_dir();
    pid_t pid = fork();
    int64_t end;
    int seen = 0;

    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        PinningRegistry *reg = pinning_registry_open(dir, &error_abort);

        alarm(60);
        for (;;) {
            record(reg, "busy", "5");
        }
    }
    wait_held(dir, "5");
    end = g_get_monotonic_time() + 500 * 1000;
    while (g_get_monotonic_time() < end) {
        assert_held(dir, "5");
        seen++;
    }
    g_assert_cmpint(seen, >, 10);
    reap(pid);
    assert_held(dir, "");
    remove_dir(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pinning-registry-race/choosers", test_choosers);
    g_test_add_func("/pinning-registry-race/kill-at-each-syscall",
                    test_kill_at_each_syscall);
    g_test_add_func("/pinning-registry-race/list-while-rewriting",
                    test_list_while_rewriting);
    return g_test_run();
}
