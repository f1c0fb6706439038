/*
 * How much longer the 100th machine takes to start than the first, as far
 * as the registry of reservations is concerned
 *
 * Usage: registry-bench [COMMAND [ARGUMENT...]]
 *
 * COMMAND is what a start costs without registry, "true" if none is given;
 * with a QEMU that quits at once the last ratio is that of real machines.
 * Nothing here passes or fails.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sys/wait.h>
#include "qapi/error.h"
#include "qapi/util.h"
#include "qemu/pinning-registry.h"
#include "qemu/units.h"

#define N_OTHERS 99
#define RUNS 101

static PinningReservation *entry_of(unsigned n)
{
    PinningReservation *entry = g_new0(PinningReservation, 1);
    unsigned node;

    entry->name = g_strdup_printf("vm%u", n);
    entry->uuid = g_strdup("00000000-0000-0000-0000-000000000000");
    entry->mode = PINNING_MODE_ONE_TO_ONE;
    entry->host_cpus = g_strdup_printf("%u-%u", n * 8, n * 8 + 7);
    entry->vcpus = 8;
    entry->parked_cpus = g_strdup_printf("%u-%u", n * 8 + 4000,
                                         n * 8 + 4007);
    entry->io_cpus = g_strdup("0-3");
    for (node = 0; node < 2; node++) {
        PinningReservationMemory *m = g_new0(PinningReservationMemory, 1);

        m->host_node = node;
        m->size = 4 * GiB;
        QAPI_LIST_PREPEND(entry->memory, m);
    }
    return entry;
}

/* What a machine does with the registry when it starts */
static PinningRegistry *start(const char *dir, unsigned n)
{
    PinningRegistry *reg = pinning_registry_open(dir, &error_abort);
    PinningReservation *entry = entry_of(n);

    pinning_registry_lock(reg, &error_abort);
    qapi_free_PinningTaken(pinning_registry_taken(reg, NULL, &error_abort));
    pinning_registry_record(reg, entry, &error_abort);
    pinning_registry_unlock(reg);
    qapi_free_PinningReservation(entry);
    return reg;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(double *times)
{
    qsort(times, RUNS, sizeof(*times), compare);
    return times[RUNS / 2];
}

static double time_start(const char *dir)
{
    double times[RUNS];
    int i;

    for (i = 0; i < RUNS; i++) {
        int64_t begin = g_get_monotonic_time();
        PinningRegistry *reg = start(dir, N_OTHERS);

        times[i] = g_get_monotonic_time() - begin;
        pinning_registry_close(reg);
    }
    return median(times);
}

static double time_command(char **argv)
{
    double times[RUNS];
    int i, status;

    for (i = 0; i < RUNS; i++) {
        int64_t begin = g_get_monotonic_time();
        pid_t pid = fork();

        if (pid == 0) {
            dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
            execvp(argv[0], argv);
            _exit(127);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid ||
            !WIFEXITED(status) || WEXITSTATUS(status) == 127) {
            fprintf(stderr, "cannot run %s\n", argv[0]);
            exit(1);
        }
        times[i] = g_get_monotonic_time() - begin;
    }
    return median(times);
}

/* In processes of their own, so that there is a /proc to look into */
static void start_others(const char *dir, pid_t *pids)
{
    unsigned char byte = 0;
    int fds[2], i;

    for (i = 0; i < N_OTHERS; i++) {
        if (pipe(fds) < 0) {
            abort();
        }
        pids[i] = fork();
        if (pids[i] == 0) {
            start(dir, i);
            if (write(fds[1], &byte, 1) == 1) {
                alarm(600);
                pause();
            }
            _exit(1);
        }
        close(fds[1]);
        if (read(fds[0], &byte, 1) != 1) {
            abort();
        }
        close(fds[0]);
    }
}

int main(int argc, char **argv)
{
    char *default_command[] = { (char *)"true", NULL };
    char **command = argc > 1 ? argv + 1 : default_command;
    g_autofree char *dir = g_dir_make_tmp("registry-bench-XXXXXX", NULL);
    g_autofree char *lock = NULL;
    pid_t pids[N_OTHERS];
    double first, last, program;
    int i;

    if (!dir) {
        perror("registry-bench");
        return 1;
    }
    lock = g_build_filename(dir, "lock", NULL);
    first = time_start(dir);
    start_others(dir, pids);
    last = time_start(dir);
    program = time_command(command);

    printf("choose and record, first:   %8.0f us\n"
           "choose and record, 100th:   %8.0f us  (ratio %.1f)\n"
           "%s alone: %.0f us\n"
           "start-up of the 100th against the first, both: ratio %.2f\n",
           first, last, last / first, command[0], program,
           (program + last) / (program + first));

    for (i = 0; i < N_OTHERS; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    pinning_registry_collect(pinning_registry_open(dir, &error_abort),
                             &error_abort);
    unlink(lock);
    rmdir(dir);
    return 0;
}
