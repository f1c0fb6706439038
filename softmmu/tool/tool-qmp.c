/*
 * qemu-pinning: talking to a running machine
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-sockets.h"
#include "qemu/sockets.h"
#include "qobject/json-parser.h"
#include "qobject/qdict.h"
#include "tool-qmp.h"

/* A server that talks to somebody else does not even greet */
#define PATIENCE_MS 10000

struct ToolQmp {
    int fd;
    JSONMessageParser parser;
    QDict *reply;           /* the last message that was no event */
    Error *err;             /* what came was no JSON */
};

static void note_message(void *opaque, QObject *obj, Error *err)
{
    ToolQmp *qmp = opaque;
    QDict *message = qobject_to(QDict, obj);

    if (err) {
        error_propagate(&qmp->err, err);
    } else if (message && !qdict_haskey(message, "event")) {
        qobject_unref(qmp->reply);
        qmp->reply = qobject_ref(message);
    }
    qobject_unref(obj);
}

/* Returns: bytes read, at least 1; -1 with @errp set */
static ssize_t read_some(ToolQmp *qmp, char *buf, size_t size, Error **errp)
{
    ERRP_GUARD();
    GPollFD poll = { .fd = qmp->fd, .events = G_IO_IN };
    ssize_t n;

    if (g_poll(&poll, 1, PATIENCE_MS) <= 0) {
        error_setg(errp, "The machine does not answer");
        error_append_hint(errp, "A QMP server talks to one client at a time;"
                          " libvirt's talks to libvirt, see"
                          " 'virsh qemu-monitor-command'.\n");
        return -1;
    }
    n = RETRY_ON_EINTR(read(qmp->fd, buf, size));
    if (n < 0) {
        error_setg_errno(errp, errno, "Cannot read from the machine");
    } else if (!n) {
        error_setg(errp, "The machine has closed the connection");
    }
    return n ?: -1;
}

/* The next message that is no event; it stays @qmp's */
static QDict *read_message(ToolQmp *qmp, Error **errp)
{
    char buf[4096];

    qobject_unref(qmp->reply);
    qmp->reply = NULL;
    while (!qmp->reply) {
        ssize_t n = read_some(qmp, buf, sizeof(buf), errp);

        if (n < 0) {
            return NULL;
        }
        json_message_parser_feed(&qmp->parser, buf, n);
        if (qmp->err) {
            error_propagate(errp, g_steal_pointer(&qmp->err));
            return NULL;
        }
    }
    return qmp->reply;
}

QObject *tool_qmp_run(ToolQmp *qmp, const char *command, Error **errp)
{
    g_autofree char *line = g_strdup_printf("{\"execute\": \"%s\"}\n",
                                            command);
    QDict *reply;

    if (qemu_write_full(qmp->fd, line, strlen(line)) != strlen(line)) {
        error_setg_errno(errp, errno, "Cannot write to the machine");
        return NULL;
    }
    reply = read_message(qmp, errp);
    if (!reply) {
        return NULL;
    }
    if (qdict_haskey(reply, "error")) {
        QDict *error = qdict_get_qdict(reply, "error");
        const char *desc = error ? qdict_get_try_str(error, "desc") : NULL;

        error_setg(errp, "%s: %s", command, desc ?: "failed");
        return NULL;
    }
    return qobject_ref(qdict_get(reply, "return"));
}

static int connect_to(const char *address, Error **errp)
{
    g_autoptr(SocketAddress) addr = NULL;

    if (strchr(address, '/') || !strchr(address, ':')) {
        return unix_connect(g_str_has_prefix(address, "unix:") ?
                            address + strlen("unix:") : address, errp);
    }
    addr = socket_parse(address, errp);
    return addr ? socket_connect(addr, errp) : -1;
}

ToolQmp *tool_qmp_new(const char *address, Error **errp)
{
    g_autoptr(ToolQmp) qmp = NULL;
    QObject *done;
    int fd = connect_to(address, errp);

    if (fd < 0) {
        return NULL;
    }
    qmp = g_new0(ToolQmp, 1);
    qmp->fd = fd;
    json_message_parser_init(&qmp->parser, note_message, qmp, NULL);
    if (!read_message(qmp, errp)) {
        return NULL;
    }
    if (!qdict_haskey(qmp->reply, "QMP")) {
        error_setg(errp, "'%s' is no QMP server", address);
        return NULL;
    }
    done = tool_qmp_run(qmp, "qmp_capabilities", errp);
    qobject_unref(done);
    return done ? g_steal_pointer(&qmp) : NULL;
}

void tool_qmp_free(ToolQmp *qmp)
{
    if (qmp) {
        json_message_parser_destroy(&qmp->parser);
        qobject_unref(qmp->reply);
        error_free(qmp->err);
        close(qmp->fd);
        g_free(qmp);
    }
}
