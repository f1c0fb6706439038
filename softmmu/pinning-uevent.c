/*
 * Host CPUs that go offline or come online
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <linux/netlink.h>
#include <sys/socket.h>
#include "qemu/main-loop.h"
#include "pinning-uevent.h"

/* The group in which the kernel speaks itself; udev has another one */
#define KERNEL_GROUP 1

static int fd = -1;
static void (*listener)(void);

/* A message is "ACTION@PATH" and the same again in variables */
static bool is_about_cpu(const char *text)
{
    const char *path = strchr(text, '@');

    return path && g_str_has_prefix(path + 1, "/devices/system/cpu/cpu") &&
           (g_str_has_prefix(text, "online@") ||
            g_str_has_prefix(text, "offline@"));
}

static void receive(void *opaque)
{
    bool any = false;
    char text[4096];
    ssize_t len;

    do {
        len = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
        if (len > 0) {
            text[len] = '\0';
            any |= is_about_cpu(text);
        } else if (len < 0 && errno == ENOBUFS) {
            any = true;         /* some were lost */
        }
    } while (len > 0 || (len < 0 && (errno == EINTR || errno == ENOBUFS)));
    if (any) {
        listener();
    }
}

static int listen_to_kernel(void)
{
    struct sockaddr_nl addr = {
        .nl_family = AF_NETLINK,
        .nl_groups = KERNEL_GROUP,
    };
    int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
                      NETLINK_KOBJECT_UEVENT);

    if (sock >= 0 && bind(sock, (struct sockaddr *)&addr,
                          sizeof(addr)) < 0) {
        close(sock);
        sock = -1;
    }
    return sock;
}

void pinning_uevent_watch(void (*fn)(void))
{
    listener = fn;
    if (fn && fd < 0) {
        fd = listen_to_kernel();
        if (fd >= 0) {
            qemu_set_fd_handler(fd, receive, NULL, NULL);
        }
    } else if (!fn && fd >= 0) {
        qemu_set_fd_handler(fd, NULL, NULL, NULL);
        close(fd);
        fd = -1;
    }
}
