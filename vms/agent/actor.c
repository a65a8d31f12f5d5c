/* An actor: a process that does what the host asks, one request at a time.
 *
 * It may hang in a call, crash or be killed; the supervisor notices and tells the host. */
#define _GNU_SOURCE
#include "agent.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { PROTOCOL = 1, ARENA_SIZE = 8 << 20, KEPT_OUTPUT = 1 << 20 };
/* From here up an actor keeps descriptors of its own, so that the host's calls get 3, 4, 5 ... */
enum { HIGH_DESCRIPTOR = 900 };
#define NO_CALL UINT64_MAX /* copy memory only */

static unsigned char arena[ARENA_SIZE] __attribute__((aligned(4096)));
static pid_t self;
static int supervisor = -1; /* the link to it */
static int new_link = -1;   /* the link to a new actor, for the supervisor */
static struct buffer request, reply;

struct range {
    uint64_t address;
    uint32_t length;
} __attribute__((packed));

struct call {
    uint64_t number, argument[6];
    uint32_t writes, reads;
};

int high(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    if (moved < 0)
        return fd;
    close(fd);
    return moved;
}

void redirect(int output)
{
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(output, 1);
    dup2(output, 2);
    if (null > 2)
        close(null);
}

struct hello greeting(void)
{
    return (struct hello){PROTOCOL, getpid(), (uintptr_t)arena, ARENA_SIZE};
}

/* As fork() in what it returns; `link` is for the supervisor. */
int64_t make_actor(uint64_t flags, int *link)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return -1;
    int64_t pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(supervisor);
        supervisor = high(ends[1]);
        self = getpid();
    } else {
        close(ends[1]);
    }
    if (pid > 0)
        *link = ends[0];
    else
        close(ends[0]);
    return pid;
}

/* The kernel copies, so that an address nobody mapped gives EFAULT where a memcpy would die. */
static int copy(int inwards, const void *local, uint64_t address, size_t length)
{
    struct iovec here = {(void *)local, length};
    struct iovec there = {(void *)address, length};
    ssize_t n = inwards ? process_vm_writev(self, &here, 1, &there, 1, 0)
                        : process_vm_readv(self, &here, 1, &there, 1, 0);
    return n < 0 ? errno : (size_t)n == length ? 0 : EFAULT;
}

/* The operations put the body of the answer into `reply`, or return why they refuse. */
static const char *do_hello(struct header *h)
{
    struct hello hello = greeting();
    (void)h;
    put(&reply, &hello, sizeof hello);
    return NULL;
}

static const char *do_call(struct header *h)
{
    const unsigned char *at = first(&request) + HEADER;
    size_t left = h->length;
    size_t answer = 12;
    struct call call;
    struct range range;

    if (left < sizeof call)
        return "the body of CALL is too short";
    memcpy(&call, at, sizeof call);
    at += sizeof call;
    left -= sizeof call;
    for (uint32_t i = 0; i < call.writes; i++) {
        if (left < sizeof range)
            return "CALL counts more buffers than its body holds";
        memcpy(&range, at, sizeof range);
        at += sizeof range;
        left -= sizeof range;
        if (left < range.length)
            return "a buffer of CALL reaches beyond its body";
        if (copy(1, at, range.address, range.length))
            return "EFAULT: a buffer could not be written to its address";
        at += range.length;
        left -= range.length;
    }
    const struct range *reads = (const void *)at;
    if (left < call.reads * sizeof range)
        return "CALL counts more buffers than its body holds";
    if (left > call.reads * sizeof range)
        return "the body of CALL is too long";
    for (uint32_t i = 0; i < call.reads; i++)
        answer += 4 + (size_t)reads[i].length;
    if (answer > MAX_BODY)
        return "the answer would be too long";

    const uint64_t *a = call.argument;
    int64_t value = 0;
    if (call.number != NO_CALL)
        value = syscall(call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
    int32_t error = value == -1 ? errno : 0;
    /* After a fork, vfork or clone that the host asked for there may be two of us. */
    if (syscall(SYS_gettid) != self)
        syscall(SYS_exit, 0);
    put(&reply, &value, 8);
    put(&reply, &error, 4);
    for (uint32_t i = 0; i < call.reads; i++) {
        unsigned char *to = room(&reply, 4 + (size_t)reads[i].length);
        error = copy(0, to + 4, reads[i].address, reads[i].length);
        int32_t length = error ? -error : (int32_t)reads[i].length;
        memcpy(to, &length, 4);
        reply.end += 4 + (error ? 0 : length);
    }
    return NULL;
}

/* FORK, and SPAWN in the process that is kept for that. */
static const char *do_fork(struct header *h)
{
    /* The new actor is the supervisor's child, not ours: so the supervisor learns how it ends. */
    int64_t pid = make_actor(h->op == FORK ? CLONE_PARENT : CLONE_PARENT, &new_link);
    if (pid == 0)
        live_as_actor();
    if (pid < 0)
        return strerror(errno);
    /* The supervisor has checked the body. The answer tells it whose link comes along. */
    memcpy(&h->actor, first(&request) + HEADER, 4);
    put(&reply, &pid, 8);
    return NULL;
}

static _Noreturn void execute(char **argv, int output)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_DFL);
    redirect(output);
    execvp(argv[0], argv);
    dprintf(1, "exec '%s': %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* The output goes to a file in memory: a daemon left behind may keep it open for ever. */
static const char *do_run(struct header *h)
{
    char *text = (char *)first(&request) + HEADER;
    char *end = text + h->length;
    int32_t status = 0;

    if (text == end || end[-1])
        return "the arguments of RUN do not end with NUL";
    char **argv = calloc(h->length + 1, sizeof *argv); /* more than enough */
    for (size_t argc = 0; text < end; text += strlen(text) + 1)
        argv[argc++] = text;
    int output = high(memfd_create("output", MFD_CLOEXEC));
    pid_t pid = output < 0 ? -1 : fork();
    if (pid == 0)
        execute(argv, output);
    int error = errno;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    put(&reply, &status, 4);
    ssize_t n = pread(output, room(&reply, KEPT_OUTPUT), KEPT_OUTPUT, 0);
    reply.end += n < 0 ? 0 : n;
    free(argv);
    close(output);
    return pid < 0 ? strerror(error) : NULL;
}

/* Send `reply`. With its first bytes goes the link to a new actor, if there is one. */
static void send_reply(void)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof new_link)];
    } control = {.header = {CMSG_LEN(sizeof new_link), SOL_SOCKET, SCM_RIGHTS}};

    memcpy(CMSG_DATA(&control.header), &new_link, sizeof new_link);
    while (held(&reply)) {
        struct iovec data = {first(&reply), held(&reply)};
        struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control};
        message.msg_controllen = new_link < 0 ? 0 : sizeof control;
        ssize_t n = sendmsg(supervisor, &message, 0);
        if (n < 0 && errno != EINTR)
            _exit(1);
        if (n < 0)
            continue;
        take(&reply, n);
        close(new_link);
        new_link = -1;
    }
}

void live_as_actor(void)
{
    static const char *(*const operations[])(struct header *) = {
        [HELLO] = do_hello, [CALL] = do_call, [FORK] = do_fork, [SPAWN] = do_fork, [RUN] = do_run,
    };
    struct header h;

    /* What these hold after a fork is the business of the parent. */
    take(&request, held(&request));
    take(&reply, held(&reply));
    for (;;) {
        while (!whole_frame(&request, &h)) {
            ssize_t n = read(supervisor, room(&request, CHUNK), CHUNK);
            if (n == 0 || (n < 0 && errno != EINTR))
                _exit(1); /* without the supervisor there is nothing to do */
            request.end += n < 0 ? 0 : n;
        }
        put(&reply, &h, HEADER); /* the place of its header */
        const char *why = operations[h.op](&h);
        if (why) {
            reply.end = reply.start + HEADER;
            put(&reply, why, strlen(why));
        }
        h = header_of(h.request, h.actor, why ? REFUSED : h.op | REPLY,
                      first(&reply) + HEADER, held(&reply) - HEADER);
        memcpy(first(&reply), &h, HEADER);
        take(&request, HEADER + length);
        send_reply();
    }
}
