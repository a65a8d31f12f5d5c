/* What PID 1 of an initramfs must do before it can serve: mounts, modules, the port to the host. */
#define _GNU_SOURCE
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PORTS "/sys/class/virtio-ports/"
enum { COMPRESSED = 4 }; /* MODULE_INIT_COMPRESSED_FILE */

/* One write is one record. Not dprintf(): it seeks first, which /dev/kmsg answers with EINVAL. */
static void say(int log, const char *what, const char *why)
{
    char line[640];
    int length = snprintf(line, sizeof line, "fsyncgate-agent: %s%s%s\n", what, *why ? ": " : "", why);
    if (write(log, line, length) < 0)
        return; /* nowhere else to say it */
}

static void mount_on(const char *type, const char *where)
{
    mkdir(where, 0755);
    mount(type, where, type, 0, NULL);
}

static void load_modules(int log)
{
    char path[512];
    FILE *list = fopen("/modules.list", "re");

    while (list && fgets(path, sizeof path, list)) {
        size_t length = strcspn(path, "\n");
        path[length] = 0;
        if (!length)
            continue;
        int plain = length > 3 && !strcmp(path + length - 3, ".ko");
        int module = open(path, O_RDONLY | O_CLOEXEC);
        if ((module < 0 || syscall(SYS_finit_module, module, "", plain ? 0 : COMPRESSED)) && errno != EEXIST)
            say(log, path, strerror(errno));
        close(module);
    }
    if (list)
        fclose(list);
}

/* The port's number in /dev changes with the devices of the machine; its name does not. */
static int open_port(void)
{
    glob_t names = {0};
    char port[64];
    int opened = -1;

    glob(PORTS "*/name", 0, NULL, &names);
    for (size_t i = 0; i < names.gl_pathc && opened < 0; i++) {
        const char *entry = names.gl_pathv[i] + strlen(PORTS);
        char name[64] = "";
        snprintf(port, sizeof port, "/dev/%.*s", (int)strcspn(entry, "/"), entry);
        int file = open(names.gl_pathv[i], O_RDONLY | O_CLOEXEC);
        if (file >= 0 && read(file, name, sizeof name - 1) > 0 && !strcmp(name, "fsyncgate\n"))
            opened = open(port, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        close(file);
    }
    globfree(&names);
    return opened;
}

int boot(void)
{
    mount_on("devtmpfs", "/dev");
    mount_on("proc", "/proc");
    mount_on("sysfs", "/sys");
    mount_on("tracefs", "/sys/kernel/tracing");
    setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 0);

    int log = high(open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
    int console = high(open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC));
    int null = high(open("/dev/null", O_RDONLY | O_CLOEXEC));
    dup2(null, 0);
    dup2(console < 0 ? log : console, 1);
    dup2(console < 0 ? log : console, 2);
    close(null);
    close(console);

    load_modules(log);
    int port;
    for (int tries = 1; (port = open_port()) < 0; tries++) {
        if (tries == 500)
            say(log, "no virtio-serial port named 'fsyncgate'", "still looking");
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    say(log, "ready", "");
    close(log);
    return port;
}
