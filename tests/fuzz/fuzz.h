/*
 * What the fuzzers share
 *
 * Built with libFuzzer, a fuzzer looks for new inputs.  Built with
 * -DFUZZ_REPLAY it is a plain program that runs the files and directories it
 * is given, so that the corpus can be checked without a fuzzing compiler.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

#ifdef FUZZ_REPLAY
static int replay(const char *path)
{
    g_autofree char *data = NULL;
    GDir *dir = g_dir_open(path, 0, NULL);
    const char *name;
    gsize size;
    int n = 0;

    if (dir) {
        while ((name = g_dir_read_name(dir))) {
            g_autofree char *file = g_build_filename(path, name, NULL);

            n += replay(file);
        }
        g_dir_close(dir);
        return n;
    }
    if (!g_file_get_contents(path, &data, &size, NULL)) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    LLVMFuzzerTestOneInput((uint8_t *)data, size);
    return 1;
}

int main(int argc, char **argv)
{
    int i, n = 0;

    for (i = 1; i < argc; i++) {
        n += replay(argv[i]);
    }
    printf("%d inputs replayed\n", n);
    return n ? 0 : 1;
}
#endif /* FUZZ_REPLAY */

#endif /* TESTS_FUZZ_FUZZ_H */
