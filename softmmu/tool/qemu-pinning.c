/*
 * qemu-pinning: look at a host, and at where a machine would go on it,
 * without starting one
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu-version.h"
#include "tool-registry.h"
#include "tool-status.h"
#include "tool.h"

static const ToolCommand commands[] = {
    {
        .name = "topology",
        .what = "show the CPUs and the memory of a host",
        .accepts = TOOL_HOST | TOOL_JSON,
        .run = tool_topology,
    }, {
        .name = "plan",
        .what = "show where a machine would go, and why",
        .accepts = TOOL_HOST | TOOL_PLAN | TOOL_TRIAL | TOOL_JSON,
        .run = tool_plan,
    }, {
        .name = "map",
        .what = "draw the host, with a machine on it if --mode is given",
        .accepts = TOOL_HOST | TOOL_PLAN | TOOL_TRIAL | TOOL_MAP,
        .run = tool_map,
    }, {
        .name = "list",
        .what = "show who holds what on this host",
        .main = tool_list,
    }, {
        .name = "status",
        .what = "show where a running machine is",
        .main = tool_status,
    }, {
        .name = "run",
        .what = "run another program on host CPUs of its own",
        .usage = "[OPTION]... [--] COMMAND [ARGUMENT]...",
        .more = "Choose host CPUs that nobody else in the registry uses, "
                "record them, and\nrun COMMAND there.  The entry ends when "
                "COMMAND and all it has started have\nended.  COMMAND finds "
                "its host CPUs and host nodes in the environment, as\n"
                "QEMU_PINNING_CPUS and QEMU_PINNING_NODES.\n\n"
                "The mode is one-to-one if none is given.  With --root it is "
                "planned for a\ncaptured host: recorded and run, but with "
                "neither CPUs nor memory policy set.\n\n"
                "Exit status is that of COMMAND; 127 if it was not found, "
                "126 if it cannot be\nexecuted, 125 after another error.\n",
        .accepts = TOOL_HOST | TOOL_PLAN | TOOL_RUN,
        .failure = TOOL_RUN_FAILED,
        .run = tool_run,
    },
};

static const ToolCommand *find_command(const char *name)
{
    for (int i = 0; i < ARRAY_SIZE(commands); i++) {
        if (!strcmp(commands[i].name, name)) {
            return &commands[i];
        }
    }
    return NULL;
}

static void print_help(void)
{
    printf("Usage: qemu-pinning COMMAND [OPTION]...\n\n"
           "Look at a host, and at where a virtual machine would go on it.\n"
           "\nCommands:\n");
    for (int i = 0; i < ARRAY_SIZE(commands); i++) {
        printf("  %-12s %s\n", commands[i].name, commands[i].what);
    }
    printf("\n'qemu-pinning COMMAND --help' lists the options of a command.\n"
           "Exit status is 0, or 1 after an error, which is on stderr; that "
           "of run\nis the program's.\n");
}

static void print_command_help(const ToolCommand *command)
{
    printf("Usage: qemu-pinning %s %s\n\n%c%s.\n\n", command->name,
           command->usage ?: "[OPTION]...", g_ascii_toupper(*command->what),
           command->what + 1);
    if (command->more) {
        printf("%s\n", command->more);
    }
    printf("Options:\n");
    tool_print_options(command->accepts);
    printf("  %-26s %s\n", "--help", "show this");
}

static int run_command(const ToolCommand *command, int argc, char **argv)
{
    g_auto(ToolArgs) args = { 0 };
    Error *err = NULL;
    bool help = false;
    int status = 1;

    if (tool_args_parse(&args, command->accepts, argc, argv, &help, &err)) {
        if (help) {
            print_command_help(command);
            return 0;
        }
        status = command->run(&args, &err);
    }
    if (err) {
        error_report_err(err);
        return command->failure ?: 1;
    }
    return status;
}

int main(int argc, char **argv)
{
    const ToolCommand *command;

    error_init(argv[0]);
    if (argc < 2) {
        error_report("a command is missing");
        error_printf("Try 'qemu-pinning --help'.\n");
        return 1;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
        !strcmp(argv[1], "help")) {
        print_help();
        return 0;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("qemu-pinning version " QEMU_FULL_VERSION "\n");
        return 0;
    }
    command = find_command(argv[1]);
    if (!command) {
        error_report("there is no command '%s'", argv[1]);
        error_printf("Try 'qemu-pinning --help'.\n");
        return 1;
    }
    return command->main ? command->main(argc - 1, argv + 1)
                         : run_command(command, argc - 1, argv + 1);
}
