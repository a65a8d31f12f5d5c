/* An actor: a process that does what the host asks, one request at a time.
 *
 * It may hang in a call, crash or be killed; the supervisor notices and tells the host. */
#define _GNU_SOURCE
#include "agent.h"

#include <errno.h>
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
#include <unistd.h>

enum { KEPT_OUTPUT = 1 << 20 };
#define NO_CALL UINT64_MAX /* copy memory only */

static uint32_t actor_id;
static pid_t self;
static int supervisor;
static struct buffer request, reply;

static void become(uint32_t id, int link)
{
    actor_id = id;
    self = getpid();
    supervisor = high(link);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Without the supervisor an actor has nothing to do. */
static void read_all(void *to, size_t length)
{
    for (unsigned char *at = to; length;) {
        ssize_t n = read(supervisor, at, length);
        if (n == 0 || (n < 0 && errno != EINTR))
            _exit(1);
        at += n < 0 ? 0 : n;
        length -= n < 0 ? 0 : n;
    }
}

static void send_reply(void)
{
    while (held(&reply)) {
        ssize_t n = write(supervisor, first(&reply), held(&reply));
        if (n < 0 && errno != EINTR)
            _exit(1);
        take(&reply, n < 0 ? 0 : n);
    }
}

/* The kernel copies, so that an address nobody mapped gives EFAULT where a memcpy would die. */
static int copy(int inwards, const void *local, uint64_t address, size_t length)
{
    struct iovec here = {(void *)local, length}, there = {(void *)address, length};
    ssize_t n = inwards ? process_vm_writev(self, &here, 1, &there, 1, 0)
                        : process_vm_readv(self, &here, 1, &there, 1, 0);
    return n < 0 ? errno : (size_t)n == length ? 0 : EFAULT;
}

struct range {
    uint64_t address;
    uint32_t length;
} __attribute__((packed));

struct call {
    uint64_t number, argument[6];
    uint32_t writes, reads;
};

/* Check the whole body before anything is done. NULL when it parses, else the reason. */
static const char *check_call(const unsigned char *at, size_t left)
{
    struct call call;
    struct range range;
    size_t answer = 12;

    if (left < sizeof call)
        return "the body of CALL is too short";
    memcpy(&call, at, sizeof call);
    at += sizeof call, left -= sizeof call;
    for (uint64_t i = 0; i < (uint64_t)call.writes + call.reads; i++) {
        if (left < sizeof range)
            return "CALL counts more buffers than its body holds";
        memcpy(&range, at, sizeof range);
        at += sizeof range, left -= sizeof range;
        if (i >= call.writes) {
            answer += 4 + (size_t)range.length;
            continue;
        }
        if (left < range.length)
            return "a buffer of CALL reaches beyond its body";
        at += range.length, left -= range.length;
    }
    return left ? "the body of CALL is too long" : answer > MAX_BODY ? "the answer would be too long" : NULL;
}

static void do_call(const struct header *h)
{
    const unsigned char *at = first(&request);
    const char *why = check_call(at, h->length);
    struct buffer answer = {0};
    struct call call;
    struct range range;
    int64_t value = 0;
    int32_t error;

    if (why)
        return refuse(&reply, h, why);
    memcpy(&call, at, sizeof call);
    at += sizeof call;
    for (uint32_t i = 0; i < call.writes; i++, at += range.length) {
        memcpy(&range, at, sizeof range);
        at += sizeof range;
        if (copy(1, at, range.address, range.length))
            return refuse(&reply, h, "EFAULT: a buffer could not be written to its address");
    }
    const uint64_t *a = call.argument;
    if (call.number != NO_CALL)
        value = syscall(call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
    error = value == -1 ? errno : 0;
    /* After a fork, vfork or clone that the host asked for there may be two of us. */
    if (syscall(SYS_gettid) != self)
        syscall(SYS_exit, 0);
    put(&answer, &value, 8);
    put(&answer, &error, 4);
    for (uint32_t i = 0; i < call.reads; i++, at += sizeof range) {
        memcpy(&range, at, sizeof range);
        unsigned char *to = room(&answer, 4 + (size_t)range.length);
        error = copy(0, to + 4, range.address, range.length);
        int32_t length = error ? -error : (int32_t)range.length;
        memcpy(to, &length, 4);
        answer.end += 4 + (error ? 0 : range.length);
    }
    put_frame(&reply, h->request, actor_id, CALL | REPLY, first(&answer), held(&answer));
    free(answer.bytes);
}

/* Give the supervisor its end of the link to the new actor `id`. */
static int send_link(uint32_t id, int64_t pid, int link)
{
    struct buffer frame = {0};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof link)];
    } control = {.header = {CMSG_LEN(sizeof link), SOL_SOCKET, SCM_RIGHTS}};

    memcpy(CMSG_DATA(&control.header), &link, sizeof link);
    put_frame(&frame, 0, id, ADOPT, &pid, 8);
    struct iovec data = {first(&frame), held(&frame)};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t n;
    while ((n = sendmsg(supervisor, &message, 0)) < 0 && errno == EINTR)
        ;
    int sent = n == (ssize_t)held(&frame);
    free(frame.bytes);
    return sent;
}

static void do_fork(const struct header *h)
{
    int link[2];
    uint32_t id;

    memcpy(&id, first(&request), 4); /* the supervisor has checked the body */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link))
        return refuse(&reply, h, strerror(errno));
    /* The new actor is the supervisor's child, not ours: so the supervisor learns how it ends. */
    int64_t pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        close(supervisor);
        close(link[0]);
        return become(id, link[1]); /* and no reply: the parent gives it */
    }
    if (pid < 0)
        refuse(&reply, h, strerror(errno));
    else if (send_link(id, pid, link[0]))
        put_frame(&reply, h->request, actor_id, FORK | REPLY, &pid, 8);
    else
        _exit(1);
    close(link[0]);
    close(link[1]);
}

static _Noreturn void execute(char **argv, int output)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_DFL);
    int null = open("/dev/null", O_RDONLY);
    if (null > 0) {
        dup2(null, 0);
        close(null);
    }
    dup2(output, 1);
    dup2(output, 2);
    execvp(argv[0], argv);
    dprintf(1, "exec '%s': %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* The output goes to a file in memory: a daemon left behind may keep it open for ever. */
static void do_run(const struct header *h)
{
    char *text = (char *)first(&request);
    struct buffer answer = {0};
    size_t argc = 0;
    int32_t status = 0;

    if (!h->length || text[h->length - 1])
        return refuse(&reply, h, "the arguments of RUN do not end with NUL");
    for (uint32_t i = 0; i < h->length; i++)
        argc += !text[i];
    char **argv = calloc(argc + 1, sizeof *argv);
    for (size_t i = 0; i < argc; i++, text += strlen(text) + 1)
        argv[i] = text;
    int output = high(memfd_create("output", MFD_CLOEXEC));
    pid_t pid = output < 0 ? -1 : fork();
    if (pid == 0)
        execute(argv, output);
    if (pid < 0) {
        refuse(&reply, h, strerror(errno));
    } else {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        put(&answer, &status, 4);
        ssize_t n = pread(output, room(&answer, KEPT_OUTPUT), KEPT_OUTPUT, 0);
        answer.end += n < 0 ? 0 : n;
        put_frame(&reply, h->request, actor_id, RUN | REPLY, first(&answer), held(&answer));
    }
    free(answer.bytes);
    free(argv);
    close(output);
}

void live_as_actor(uint32_t id, int link)
{
    struct header h;

    become(id, link);
    for (;;) {
        read_all(&h, HEADER);
        read_all(room(&request, h.length), h.length);
        request.end += h.length;
        if (h.op == CALL)
            do_call(&h);
        else if (h.op == FORK)
            do_fork(&h);
        else if (h.op == RUN)
            do_run(&h);
        else
            put_hello(&reply, h.request, actor_id);
        take(&request, h.length);
        send_reply();
    }
}
