/* What PID 1 of an initramfs must do before it can serve: mounts, modules, the port to the host. */
#define _GNU_SOURCE
#include "agent.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define PORTS "/sys/class/virtio-ports/"
enum { PATIENCE = 500, TURN = 10000 /* microseconds */ };

static int log_file;

/* One write is one record. Not dprintf(): it seeks first, which /dev/kmsg answers with EINVAL. */
static void say(const char *what, const char *why)
{
    char line[640];
    int length = snprintf(line, sizeof line, "fsyncgate-agent: %s: %s\n", what, why);
    if (write(log_file, line, length) < 0)
        return; /* nowhere else to say it */
}

static void mount_on(const char *type, const char *where)
{
    mkdir(where, 0755);
    mount(type, where, type, 0, NULL);
}

/* The host has unpacked them, and put each after those that it needs. */
static void load_modules(void)
{
    char path[512];
    FILE *list = fopen("/modules.list", "re");

    while (list && fgets(path, sizeof path, list)) {
        path[strcspn(path, "\n")] = 0;
        int module = open(path, O_RDONLY | O_CLOEXEC);
        if ((module < 0 || syscall(SYS_finit_module, module, "", 0)) && errno != EEXIST)
            say(path, strerror(errno));
        close(module);
    }
    if (list)
        fclose(list);
}

void boot(void)
{
    mount_on("devtmpfs", "/dev");
    mount_on("proc", "/proc");
    mount_on("sysfs", "/sys");
    mount_on("tracefs", "/sys/kernel/tracing");
    setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 0);

    log_file = high(open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
    int console = high(open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC));
    redirect(console < 0 ? log_file : console);
    close(console);
    load_modules();
}

/* The port's number in /dev changes with the devices of the machine; its name does not. */
static int open_port(void)
{
    glob_t names = {0};
    int opened = -1;

    glob(PORTS "*/name", 0, NULL, &names);
    for (size_t i = 0; i < names.gl_pathc && opened < 0; i++) {
        const char *entry = names.gl_pathv[i] + strlen(PORTS);
        char name[64] = "";
        char port[64];
        snprintf(port, sizeof port, "/dev/%.*s", (int)strcspn(entry, "/"), entry);
        int file = open(names.gl_pathv[i], O_RDONLY | O_CLOEXEC);
        if (file >= 0 && read(file, name, sizeof name - 1) > 0 && !strcmp(name, "fsyncgate\n"))
            opened = open(port, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        close(file);
    }
    globfree(&names);
    return opened;
}

int wait_for_port(void)
{
    int port;

    for (int turns = 0; (port = open_port()) < 0; turns++) {
        if (turns == PATIENCE)
            say("no virtio-serial port named 'fsyncgate'", "still looking");
        usleep(TURN);
    }
    say("the port to the host", "ready");
    close(log_file);
    return port;
}
