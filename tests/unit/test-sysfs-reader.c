/*
 * Unit tests for reading sysfs below a root
 *
 * The root is a directory and a capture in turn: which one it is must make
 * no difference to any result.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qapi/error.h"
#include "qemu/sysfs-reader.h"

typedef struct Content {
    const char *text;
    size_t len;
} Content;

#define CONTENT(literal) { literal, sizeof(literal) - 1 }

typedef struct TestFile {
    const char *path;
    Content content;
    const char *line;       /* content in a capture */
} TestFile;

static const TestFile files[] = {
    { "sys/text", CONTENT("hello world\n"), "hello world\\n" },
    { "sys/lines", CONTENT("one\ntwo\tthree\n"), "one\\ntwo\\tthree\\n" },
    { "sys/padded", CONTENT("  \t 42\t\n\n"), "  \\t 42\\t\\n\\n" },
    { "sys/backslash", CONTENT("a\\b\xff\r"), "a\\\\b\\xff\\r" },
    { "sys/empty", CONTENT(""), "" },
    { "sys/newline", CONTENT("\n"), "\\n" },
    { "sys/nul", CONTENT("\0\n"), "\\0\\n" },
    { "sys/nul-inside", CONTENT("1\0002\n"), "1\\02\\n" },
    { "sys/negative", CONTENT("-1\n"), "-1\\n" },
    { "sys/zeros", CONTENT("0010\n\0"), "0010\\n\\0" },
    { "sys/hex", CONTENT("0x00000000411fd461\n"),
      "0x00000000411fd461\\n" },
    { "sys/huge", CONTENT("9223372036854775808\n"),
      "9223372036854775808\\n" },
    { "sys/list", CONTENT("0-3,8\n"), "0-3,8\\n" },
    { "sys/list-reversed", CONTENT("3-1\n"), "3-1\\n" },
    { "sys/list-null", CONTENT("   (null)\n"), "   (null)\\n" },
    { "sys/mask", CONTENT("0000,0000003f\n"), "0000,0000003f\\n" },
    { "sys/dir/cpu1/online", CONTENT("1\n"), "1\\n" },
    { "sys/dir/cpu10/online", CONTENT("1\n"), "1\\n" },
    { "sys/dir/cpu2-x/online", CONTENT("1\n"), "1\\n" },
    { "sys/dir/cpu2/online", CONTENT("1\n"), "1\\n" },
    { "sys/dir/uevent", CONTENT(""), "" },
};

static const char empty_dir[] = "sys/empty-dir";

static char *tree;          /* the directory */
static char *capture;       /* the file */
static SysfsReader *reader; /* of one of them */

static void write_file(const char *path, const char *text, size_t len)
{
    g_autofree char *name = g_build_filename(tree, path, NULL);
    g_autofree char *parent = g_path_get_dirname(name);

    g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
    g_assert_true(g_file_set_contents(name, text, len, NULL));
}

static void make_roots(void)
{
    g_autoptr(GString) text = g_string_new("# a comment\n\n");
    g_autofree char *dir = NULL;

    tree = g_dir_make_tmp("sysfs-reader-XXXXXX", NULL);
    g_assert_nonnull(tree);
    for (int i = 0; i < ARRAY_SIZE(files); i++) {
        write_file(files[i].path, files[i].content.text,
                   files[i].content.len);
        g_string_append_printf(text, "%s\t%s\n", files[i].path,
                               files[i].line);
    }
    dir = g_build_filename(tree, empty_dir, NULL);
    g_assert_cmpint(g_mkdir(dir, 0700), ==, 0);
    g_string_append_printf(text, "%s/\t\n", empty_dir);

    capture = g_strconcat(tree, ".capture", NULL);
    g_assert_true(g_file_set_contents(capture, text->str, text->len, NULL));
}

static void assert_error(Error *err, const char *expected)
{
    g_assert_nonnull(err);
    g_assert_cmpstr(error_get_pretty(err), ==, expected);
    error_free(err);
}

/* Messages name the file below the root as the user named that */
static void assert_broken(SysfsResult res, Error *err, const char *root,
                          const char *path, const char *why)
{
    g_autofree char *expected = g_strdup_printf("'%s/%s': %s", root, path,
                                                why);

    g_assert_cmpint(res, ==, SYSFS_BROKEN);
    assert_error(err, expected);
}

typedef struct TextCase {
    const char *path;
    const char *text;       /* NULL: broken */
    const char *why;
} TextCase;

static const TextCase text_cases[] = {
    { "sys/text", "hello world" },
    { "sys/lines", "one\ntwo\tthree" },
    { "sys/padded", "42" },
    { "sys/backslash", "a\\b\xff" },
    { "sys/empty", "" },
    { "sys/newline", "" },
    { "sys/nul", "" },
    { "sys/nul-inside", NULL, "binary data" },
    { "sys/dir", NULL, "Is a directory" },
    { "sys/empty-dir", NULL, "Is a directory" },
};

static void test_text(gconstpointer root)
{
    for (int i = 0; i < ARRAY_SIZE(text_cases); i++) {
        const TextCase *tc = &text_cases[i];
        g_autofree char *text = NULL;
        Error *err = NULL;
        SysfsResult res;

        res = sysfs_reader_read_text(reader, &text, &err, "%s", tc->path);
        if (tc->text) {
            g_assert_cmpint(res, ==, SYSFS_VALUE);
            g_assert_null(err);
            g_assert_cmpstr(text, ==, tc->text);
        } else {
            assert_broken(res, err, root, tc->path, tc->why);
            g_assert_null(text);
        }
    }
}

typedef struct IntCase {
    const char *path;
    int64_t value;
    const char *why;        /* broken, if there is a reason */
} IntCase;

static const IntCase int_cases[] = {
    { "sys/padded", 42 },
    { "sys/negative", -1 },
    { "sys/zeros", 10 },
    { "sys/hex", 0x411fd461 },
    { "sys/huge", 0, "not a number" },
    { "sys/text", 0, "not a number" },
    { "sys/list", 0, "not a number" },
    { "sys/empty", 0, "not a number" },
    { "sys/dir", 0, "Is a directory" },
};

static void test_int(gconstpointer root)
{
    for (int i = 0; i < ARRAY_SIZE(int_cases); i++) {
        const IntCase *ic = &int_cases[i];
        int64_t value = 4711;
        Error *err = NULL;
        SysfsResult res;

        res = sysfs_reader_read_int(reader, &value, &err, "%s", ic->path);
        if (ic->why) {
            assert_broken(res, err, root, ic->path, ic->why);
            g_assert_cmpint(value, ==, 4711);
        } else {
            g_assert_cmpint(res, ==, SYSFS_VALUE);
            g_assert_null(err);
            g_assert_cmpint(value, ==, ic->value);
        }
    }
}

typedef struct SetCase {
    const char *path;
    bool mask;
    const char *list;       /* NULL: broken */
    const char *why;
} SetCase;

static const SetCase set_cases[] = {
    { "sys/list", false, "0-3,8" },
    { "sys/mask", true, "0-5" },
    { "sys/empty", false, "" },
    { "sys/empty", true, "" },
    { "sys/nul", false, "" },
    { "sys/list-null", false, "" },
    { "sys/list-null", true, "" },
    { "sys/list-reversed", false, NULL,
      "range 3-1 at position 1 ends below its start" },
    { "sys/mask", false, NULL,
      "expected '-', ',' or the end at position 13, found 'f'" },
    { "sys/list", true, NULL,
      "expected a hexadecimal digit, ',' or the end at position 2, "
      "found '-'" },
    { "sys/dir", false, NULL, "Is a directory" },
};

static void test_set(gconstpointer root)
{
    for (int i = 0; i < ARRAY_SIZE(set_cases); i++) {
        const SetCase *sc = &set_cases[i];
        g_autoptr(CpuSet) set = NULL;
        Error *err = NULL;
        SysfsResult res;

        res = sc->mask ?
              sysfs_reader_read_cpumask(reader, &set, &err, "%s", sc->path) :
              sysfs_reader_read_cpulist(reader, &set, &err, "%s", sc->path);
        if (sc->list) {
            g_autofree char *list = NULL;

            g_assert_cmpint(res, ==, SYSFS_VALUE);
            g_assert_null(err);
            list = cpulist_format(set);
            g_assert_cmpstr(list, ==, sc->list);
        } else {
            assert_broken(res, err, root, sc->path, sc->why);
            g_assert_null(set);
        }
    }
}

static const char *const absent_paths[] = {
    "sys/none", "none/at/all", "sys/text/below", "sys/dir/cpu", "sys/tex",
};

/* Absence is no error, and leaves what it would have set alone */
static void test_absent(gconstpointer root)
{
    for (int i = 0; i < ARRAY_SIZE(absent_paths); i++) {
        const char *path = absent_paths[i];
        char *text = NULL;
        int64_t value = 4711;
        CpuSet *set = NULL;
        GStrv names = NULL;

        g_assert_cmpint(sysfs_reader_read_text(reader, &text, &error_abort,
                                               "%s", path), ==, SYSFS_ABSENT);
        g_assert_cmpint(sysfs_reader_read_int(reader, &value, &error_abort,
                                              "%s", path), ==, SYSFS_ABSENT);
        g_assert_cmpint(sysfs_reader_read_cpulist(reader, &set, &error_abort,
                                                  "%s", path),
                        ==, SYSFS_ABSENT);
        g_assert_cmpint(sysfs_reader_read_cpumask(reader, &set, &error_abort,
                                                  "%s", path),
                        ==, SYSFS_ABSENT);
        g_assert_cmpint(sysfs_reader_list(reader, &names, &error_abort,
                                          "%s", path), ==, SYSFS_ABSENT);
        g_assert_false(sysfs_reader_exists(reader, "%s", path));
        g_assert_null(text);
        g_assert_cmpint(value, ==, 4711);
        g_assert_null(set);
        g_assert_null(names);
    }
}

static void assert_names(const char *path, const char *expected)
{
    g_auto(GStrv) names = NULL;
    g_autofree char *joined = NULL;

    g_assert_cmpint(sysfs_reader_list(reader, &names, &error_abort, "%s",
                                      path), ==, SYSFS_VALUE);
    joined = g_strjoinv(" ", names);
    g_assert_cmpstr(joined, ==, expected);
}

static void test_list(gconstpointer root)
{
    GStrv names = NULL;

    assert_names("sys/dir", "cpu1 cpu10 cpu2 cpu2-x uevent");
    assert_names("sys/dir/cpu2", "online");
    assert_names("sys/empty-dir", "");
    g_assert_cmpint(sysfs_reader_list(reader, &names, &error_abort,
                                      "sys/text"), ==, SYSFS_ABSENT);
    g_assert_true(sysfs_reader_exists(reader, "sys/dir"));
    g_assert_true(sysfs_reader_exists(reader, "sys/dir/cpu%d/online", 10));
    g_assert_true(sysfs_reader_exists(reader, "sys/empty-dir"));
}

static void test_count(gconstpointer root)
{
    uint64_t before = sysfs_reader_count(reader);
    g_autofree char *text = NULL;
    int64_t value;

    sysfs_reader_read_text(reader, &text, &error_abort, "sys/text");
    sysfs_reader_read_int(reader, &value, &error_abort, "sys/none");
    sysfs_reader_exists(reader, "sys/dir");
    g_assert_cmpuint(sysfs_reader_count(reader), ==, before + 3);
}

/* Relative links lead on; a loop is broken, a link to nowhere is absent */
static void test_links(void)
{
    g_autoptr(SysfsReader) r = sysfs_reader_new(tree, &error_abort);
    g_autofree char *link = g_build_filename(tree, "sys/link", NULL);
    g_autofree char *loop = g_build_filename(tree, "sys/loop", NULL);
    g_autofree char *dangling = g_build_filename(tree, "sys/dangling", NULL);
    g_autofree char *text = NULL;
    Error *err = NULL;
    SysfsResult res;

    g_assert_cmpint(symlink("dir/cpu1/../../text", link), ==, 0);
    g_assert_cmpint(symlink("loop", loop), ==, 0);
    g_assert_cmpint(symlink("../nowhere", dangling), ==, 0);

    g_assert_cmpint(sysfs_reader_read_text(r, &text, &error_abort,
                                           "sys/link"), ==, SYSFS_VALUE);
    g_assert_cmpstr(text, ==, "hello world");
    res = sysfs_reader_read_text(r, &text, &err, "sys/loop");
    assert_broken(res, err, tree, "sys/loop",
                  "Too many levels of symbolic links");
    g_assert_cmpint(sysfs_reader_read_text(r, &text, &error_abort,
                                           "sys/dangling"),
                    ==, SYSFS_ABSENT);

    g_assert_cmpint(g_unlink(link), ==, 0);
    g_assert_cmpint(g_unlink(loop), ==, 0);
    g_assert_cmpint(g_unlink(dangling), ==, 0);
}

static void test_long(void)
{
    g_autofree char *content = g_strnfill(MiB, ' ');
    g_autofree char *name = g_build_filename(tree, "sys/long", NULL);
    g_autoptr(SysfsReader) r = sysfs_reader_new(tree, &error_abort);
    g_autofree char *text = NULL;
    Error *err = NULL;
    SysfsResult res;

    write_file("sys/long", content, MiB);
    res = sysfs_reader_read_text(r, &text, &err, "sys/long");
    assert_broken(res, err, tree, "sys/long", "more text than expected");
    g_assert_cmpint(g_unlink(name), ==, 0);

    /* What reads as little, but never ends */
    g_assert_cmpint(symlink("/dev/zero", name), ==, 0);
    err = NULL;
    res = sysfs_reader_read_text(r, &text, &err, "sys/long");
    assert_broken(res, err, tree, "sys/long", "more text than expected");
    g_assert_cmpint(g_unlink(name), ==, 0);
}

static void assert_bad_root(const char *root, const char *expected)
{
    Error *err = NULL;

    g_assert_null(sysfs_reader_new(root, &err));
    assert_error(err, expected);
}

static void test_bad_root(void)
{
    g_autofree char *none = g_build_filename(tree, "none", NULL);
    g_autofree char *message = g_strdup_printf("cannot open host root '%s': "
                                               "No such file or directory",
                                               none);
    g_autofree char *lines = g_build_filename(tree, "sys/lines", NULL);
    g_autofree char *no_capture = g_strdup_printf("'%s' is no capture of a "
                                                  "host: line 1 has no tab",
                                                  lines);

    assert_bad_root(none, message);
    assert_bad_root(lines, no_capture);
    assert_bad_root("/dev/null", "host root '/dev/null' is neither a "
                    "directory nor a capture");
}

typedef struct BadCapture {
    Content content;
    const char *error;
} BadCapture;

static const BadCapture bad_captures[] = {
    { CONTENT("a\tb"), "line 1 does not end" },
    { CONTENT("a\tb\nc\t1\0\n"), "line 2 has a NUL byte" },
    { CONTENT("#\n\nfile\n"), "line 3 has no tab" },
    { CONTENT("\tb\n"), "line 1 does not begin with a relative path" },
    { CONTENT("/a\tb\n"), "line 1 does not begin with a relative path" },
    { CONTENT("a//b\tc\n"), "line 1 does not begin with a relative path" },
    { CONTENT("a\t\\\n"), "line 1 has a backslash that escapes nothing" },
    { CONTENT("a\t\\q\n"), "line 1 has a backslash that escapes nothing" },
    { CONTENT("a\t\\x4\n"), "line 1 has a backslash that escapes nothing" },
    { CONTENT("a\t\\!\\\n"), "line 1 has a backslash that escapes nothing" },
    { CONTENT("a\t1\nb\t1\na\t1\n"), "'a' is there twice" },
    { CONTENT("a\t1\na-b\t1\na/b\t1\n"),
      "'a' is both a file and a directory" },
    { CONTENT("a/\t\na\t1\n"), "'a' is both a file and a directory" },
};

static void test_bad_capture(void)
{
    for (int i = 0; i < ARRAY_SIZE(bad_captures); i++) {
        const Content *c = &bad_captures[i].content;
        Error *err = NULL;

        g_assert_null(sysfs_reader_new_from_text(c->text, c->len, &err));
        assert_error(err, bad_captures[i].error);
    }
}

/* A capture can say that a file could not be read */
static void test_recorded_failure(void)
{
    static const char text[] = "sys/secret\t\\!Permission denied\n"
                               "sys/open\t\\\\!\n";
    g_autoptr(SysfsReader) r = sysfs_reader_new_from_text(text,
                                                          strlen(text),
                                                          &error_abort);
    g_autofree char *content = NULL;
    CpuSet *set = NULL;
    Error *err = NULL;
    SysfsResult res;

    res = sysfs_reader_read_cpulist(r, &set, &err, "sys/secret");
    assert_broken(res, err, "", "sys/secret", "Permission denied");
    g_assert_null(set);
    g_assert_true(sysfs_reader_exists(r, "sys/secret"));

    g_assert_cmpint(sysfs_reader_read_text(r, &content, &error_abort,
                                           "sys/open"), ==, SYSFS_VALUE);
    g_assert_cmpstr(content, ==, "\\!");
}

static void test_empty_capture(void)
{
    g_autoptr(SysfsReader) r = sysfs_reader_new_from_text("", 0,
                                                          &error_abort);

    g_assert_false(sysfs_reader_exists(r, "sys"));
}

typedef struct RootTest {
    void (*func)(gconstpointer root);
    const char *root;
} RootTest;

static void run_root_test(gconstpointer data)
{
    const RootTest *test = data;

    reader = sysfs_reader_new(test->root, &error_abort);
    test->func(test->root);
    sysfs_reader_free(reader);
    reader = NULL;
}

static void add_root_test(const char *name, void (*func)(gconstpointer root))
{
    const char *const roots[] = { tree, capture };

    for (int i = 0; i < ARRAY_SIZE(roots); i++) {
        g_autofree char *path = g_strdup_printf("/sysfs-reader/%s/%s",
                                                i ? "capture" : "directory",
                                                name);
        RootTest *test = g_new(RootTest, 1);

        *test = (RootTest) { func, roots[i] };
        g_test_add_data_func_full(path, test, run_root_test, g_free);
    }
}

static void remove_tree(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *child = g_build_filename(path, name, NULL);

        remove_tree(child);
    }
    g_remove(path);
}

int main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    make_roots();

    add_root_test("text", test_text);
    add_root_test("int", test_int);
    add_root_test("set", test_set);
    add_root_test("absent", test_absent);
    add_root_test("list", test_list);
    add_root_test("count", test_count);
    g_test_add_func("/sysfs-reader/links", test_links);
    g_test_add_func("/sysfs-reader/long", test_long);
    g_test_add_func("/sysfs-reader/bad-root", test_bad_root);
    g_test_add_func("/sysfs-reader/bad-capture", test_bad_capture);
    g_test_add_func("/sysfs-reader/recorded-failure", test_recorded_failure);
    g_test_add_func("/sysfs-reader/empty-capture", test_empty_capture);
    ret = g_test_run();

    remove_tree(tree);
    g_remove(capture);
    g_free(tree);
    g_free(capture);
    return ret;
}
