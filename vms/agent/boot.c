/* What PID 1 of an initramfs must do before it can serve: mounts, modules, the port to the host. */
#include "agent.h"

#include <glob.h>
#include <sys/mount.h>

#define PORTS "/sys/class/virtio-ports/"

/* The host has unpacked the modules and listed each after those that it needs. */
static void load_modules(void)
{
    char path[512];
    FILE *list = fopen("/modules.list", "re");

    while (list && fgets(path, sizeof path, list)) {
        path[strcspn(path, "\n")] = 0;
        int module = open(path, O_RDONLY | O_CLOEXEC);
        if ((module < 0 || syscall(SYS_finit_module, module, "", 0)) && errno != EEXIST)
            dprintf(2, "fsyncgate-agent: %s: %s\n", path, strerror(errno));
        close(module);
    }
    if (list)
        fclose(list);
}

/* The port's number in /dev changes with the devices of the machine; its name does not. */
static int open_port(void)
{
    glob_t names = {0};
    int opened = -1;

    glob(PORTS "*/name", 0, NULL, &names);
    for (size_t i = 0; i < names.gl_pathc && opened < 0; i++) {
        char name[64] = "", port[64] = "/dev/";
        sscanf(names.gl_pathv[i], PORTS "%50[^/]", port + strlen(port));
        int file = open(names.gl_pathv[i], O_RDONLY | O_CLOEXEC);
        if (read(file, name, sizeof name - 1) > 0 && !strcmp(name, "fsyncgate\n"))
            opened = open(port, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        close(file);
    }
    globfree(&names);
    return opened;
}

int boot(void)
{
    int port;

    mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
    mount("proc", "/proc", "proc", 0, NULL);
    mount("sysfs", "/sys", "sysfs", 0, NULL);
    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
    setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 0);
    redirect(open("/dev/console", O_WRONLY | O_NOCTTY));
    load_modules();
    for (int tries = 1; (port = open_port()) < 0; tries++) {
        if (tries == 500)
            dprintf(2, "fsyncgate-agent: no virtio-serial port named 'fsyncgate', still looking\n");
        usleep(10000);
    }
    dprintf(2, "fsyncgate-agent: ready\n");
    return port;
}
