/* The guest agent: executes system calls for the host, in as many processes as the host asks for.
 *
 * /init (PID 1)   serves the virtio-serial port named "fsyncgate" for ever
 * agent --stdio   serves stdin and stdout until end of file
 *
 * This file is the supervisor. It only moves frames, so it never waits for anything but poll():
 * each actor is a process of its own (actor.c), and one that hangs in fsync stops no other. */
#define _GNU_SOURCE
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* From here up an actor keeps descriptors of its own, so that the host's calls get 3, 4, 5 ... */
enum { HIGH_DESCRIPTOR = 900 };
enum { MAX_ACTORS = 256, MAX_WAITING = 256, CHUNK = 1 << 18 };
/* Unsent data: from ENOUGH on actors are not read, or refuse; from TOO_MUCH on the host is not read. */
enum { ENOUGH = 8 << 20, TOO_MUCH = 64 << 20 };

static struct actor {
    uint32_t id; /* 0: a free place */
    pid_t pid;
    int fd;       /* the link; -1 when it is broken and the actor is about to end */
    int new_link; /* a descriptor that came with ADOPT, or -1 */
    uint32_t waiting[MAX_WAITING]; /* requests it has got and not answered */
    size_t waits;
    struct buffer received, unsent;
} actors[MAX_ACTORS];
static int places; /* how many of them were ever used: the rest need not be looked at */

static struct {
    int in, out;
    int is_port;    /* without an end: another host may connect later */
    int gone;       /* no host is connected now */
    int in_garbage; /* this run of garbage has been refused already */
    struct buffer received, unsent;
} host;

static sigset_t signals; /* of every process but the supervisor, which hears SIGCHLD only in ppoll() */
static void *arena;      /* at the same address in every actor */

int high(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    if (moved < 0)
        return fd;
    close(fd);
    return moved;
}

void put_hello(struct buffer *b, uint32_t request, uint32_t actor)
{
    struct {
        uint32_t protocol, pid;
        uint64_t address, size;
    } hello = {PROTOCOL, getpid(), (uintptr_t)arena, ARENA_SIZE};
    put_frame(b, request, actor, HELLO | REPLY, &hello, sizeof hello);
}

static void nothing(int number) { (void)number; }

static struct actor *find(uint32_t id)
{
    for (struct actor *a = actors; a < actors + MAX_ACTORS; a++)
        if (a->id == id)
            return a;
    return NULL;
}

/* End of file in --stdio mode. An actor that hangs in the kernel is not waited for: two seconds. */
static _Noreturn void finish(void)
{
    pid_t pid;
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (struct actor *a = actors; a < actors + MAX_ACTORS; a++)
        if (a->id)
            kill(a->pid, SIGKILL);
    do
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
    while (pid == 0 && sigtimedwait(&child, NULL, &(struct timespec){.tv_sec = 2}) > 0);
    exit(0);
}

/* Write what can be written now. 0, or -1 when the other end is gone. */
static int flush(int fd, struct buffer *b)
{
    while (held(b)) {
        ssize_t n = write(fd, first(b), held(b));
        if (n <= 0)
            return n == 0 || errno == EAGAIN || errno == EINTR ? 0 : -1;
        take(b, n);
    }
    return 0;
}

static void bury(struct actor *a, int32_t status)
{
    close(a->fd);
    put_frame(&host.unsent, 0, a->id, EXITED, &status, 4);
    for (size_t i = 0; i < a->waits; i++)
        put_frame(&host.unsent, a->waiting[i], a->id, LOST, "", 0);
    free(a->received.bytes);
    free(a->unsent.bytes);
    a->id = 0;
    a->fd = -1;
}

/* An actor whose link is broken cannot go on; reap() tells the host how it ended. */
static void disconnect(struct actor *a)
{
    close(a->fd);
    a->fd = -1;
    if (kill(a->pid, SIGKILL) && errno == ESRCH)
        bury(a, SIGKILL); /* it was reaped before it was adopted */
}

static void adopt(uint32_t id, pid_t pid, int fd)
{
    struct actor *a = fd < 0 || find(id) ? NULL : find(0);
    if (!a) { /* the host hears of it as REFUSED by the next request to `id` */
        kill(pid, SIGKILL);
        close(fd);
        return;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    *a = (struct actor){.id = id, .pid = pid, .fd = fd, .new_link = -1};
    if (places <= a - actors)
        places = a - actors + 1;
}

static void spawn(const struct header *h, uint32_t id)
{
    int link[2];
    int64_t pid = -1;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link))
        return refuse(&host.unsent, h, strerror(errno));
    pid = fork();
    if (pid == 0) {
        int own = high(link[1]);
        for (int fd = 3; fd < 2 * HIGH_DESCRIPTOR; fd++)
            if (fd != own)
                close(fd);
        sigprocmask(SIG_SETMASK, &signals, NULL);
        signal(SIGCHLD, SIG_DFL);
        live_as_actor(id, own);
    }
    close(link[1]);
    if (pid < 0) {
        refuse(&host.unsent, h, strerror(errno));
        close(link[0]);
        return;
    }
    adopt(id, pid, link[0]);
    put_frame(&host.unsent, h->request, 0, SPAWN | REPLY, &pid, 8);
}

static void forward(const struct header *h, struct actor *a)
{
    if (a->waits == MAX_WAITING || held(&a->unsent) > ENOUGH)
        return refuse(&host.unsent, h, "too much is waiting for this actor");
    a->waiting[a->waits++] = h->request;
    put(&a->unsent, first(&host.received), HEADER + h->length);
    if (a->fd >= 0 && flush(a->fd, &a->unsent))
        disconnect(a);
}

/* A frame from the host whose header and body are sound. */
static void serve(const struct header *h)
{
    struct actor *a = h->actor ? find(h->actor) : NULL;
    const char *why = NULL;
    uint32_t id = 0;

    if ((h->op == FORK || h->op == SPAWN) && h->length == 4)
        memcpy(&id, first(&host.received) + HEADER, 4);
    if (h->op < HELLO || h->op > RUN)
        why = "unknown operation";
    else if (h->actor && !a)
        why = "unknown actor";
    else if (h->op != HELLO && (h->op == SPAWN) != !a)
        why = a ? "only the supervisor spawns" : "the supervisor only spawns";
    else if (h->op == HELLO && h->length)
        why = "the body of HELLO is too long";
    else if ((h->op == FORK || h->op == SPAWN) && !id)
        why = "the body is not the number of an actor";
    else if (id && (find(id) || !find(0)))
        why = find(id) ? "an actor with this number exists" : "too many actors";
    if (why)
        refuse(&host.unsent, h, why);
    else if (a)
        forward(h, a);
    else if (h->op == SPAWN)
        spawn(h, id);
    else
        put_hello(&host.unsent, h->request, 0);
}

/* Take the host's frames, and find the way back when bytes were lost or damaged. */
static void read_host(void)
{
    struct buffer *b = &host.received;
    struct header h;

    while (held(b) >= HEADER) {
        memcpy(&h, first(b), HEADER);
        if (!good_header(&h)) {
            if (!host.in_garbage)
                refuse(&host.unsent, &(struct header){0}, "bytes that belong to no frame");
            host.in_garbage = 1;
            take(b, 1);
            continue;
        }
        host.in_garbage = 0;
        if (h.length > MAX_BODY) {
            refuse(&host.unsent, &h, "the body is too long");
            take(b, HEADER);
            continue;
        }
        if (held(b) < HEADER + h.length)
            return;
        if (crc32(first(b) + HEADER, h.length) == h.body_crc)
            serve(&h);
        else
            refuse(&host.unsent, &h, "the body is damaged");
        take(b, HEADER + h.length);
    }
}

/* Read once, with a descriptor that may come along. 0 when the link is broken. */
static int receive(struct actor *a)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec data = {room(&a->received, CHUNK), CHUNK};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t n = recvmsg(a->fd, &message, MSG_CMSG_CLOEXEC);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? -1 : 0;
    if (message.msg_controllen && control.header.cmsg_type == SCM_RIGHTS)
        memcpy(&a->new_link, CMSG_DATA(&control.header), sizeof(int));
    a->received.end += n;
    return n > 0;
}

/* Pass an actor's answers on. Their bodies are for the host to check. */
static void read_actor(struct actor *a)
{
    struct buffer *b = &a->received;
    struct header h;
    int64_t pid;

    while (held(b) >= HEADER) {
        memcpy(&h, first(b), HEADER);
        if (!good_header(&h) || h.length > MAX_BODY)
            return disconnect(a);
        if (held(b) < HEADER + h.length)
            return;
        if (h.op == ADOPT) {
            memcpy(&pid, first(b) + HEADER, sizeof pid);
            adopt(h.actor, pid, a->new_link);
            a->new_link = -1;
        }
        for (size_t i = 0; i < a->waits; i++)
            if (h.op != ADOPT && a->waiting[i] == h.request) {
                memmove(a->waiting + i, a->waiting + i + 1, (--a->waits - i) * sizeof *a->waiting);
                put(&host.unsent, first(b), HEADER + h.length);
                break;
            }
        take(b, HEADER + h.length);
    }
}

/* Reap every child. What an actor had still answered goes first. */
static void reap(void)
{
    int32_t status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (struct actor *a = actors; a < actors + MAX_ACTORS; a++)
            if (a->id && a->pid == pid) {
                while (a->fd >= 0 && receive(a) > 0)
                    read_actor(a);
                if (a->id)
                    bury(a, status);
                break;
            }
}

static void serve_host(int events)
{
    ssize_t n = read(host.in, room(&host.received, CHUNK), CHUNK);
    if (n > 0) {
        host.received.end += n;
        read_host();
    } else if (!host.is_port && (n == 0 || errno != EAGAIN)) {
        finish();
    } else if (n == 0 && !host.gone) {
        /* The next host begins a new frame. What is unsent may answer it already: that stays. */
        take(&host.received, held(&host.received));
        host.in_garbage = 0;
    }
    host.gone = host.is_port && n <= 0 && (events & POLLHUP);
}

/* One turn: wait for something, then move what can be moved. */
static void turn(void)
{
    static struct pollfd p[2 + MAX_ACTORS];
    static int napping;
    size_t unsent = held(&host.unsent);

    /* A port without a host is always "ready": leave it out of every other poll, for 1 ms. */
    napping = host.gone && !napping;
    p[0] = (struct pollfd){napping || unsent > TOO_MUCH ? -1 : host.in, POLLIN, 0};
    p[1] = (struct pollfd){!napping && unsent ? host.out : -1, POLLOUT, 0};
    const int polled = places;
    for (int i = 0; i < polled; i++) {
        short events = (unsent < ENOUGH ? POLLIN : 0) | (held(&actors[i].unsent) ? POLLOUT : 0);
        p[2 + i] = (struct pollfd){actors[i].id && events ? actors[i].fd : -1, events, 0};
    }
    struct timespec nap = {.tv_nsec = 1000000};
    if (ppoll(p, 2 + polled, napping ? &nap : NULL, &signals) < 0)
        return;
    for (int i = 0; i < polled; i++) {
        struct actor *a = &actors[i];
        int got = p[2 + i].revents & ~POLLOUT ? receive(a) : -1;
        if (got > 0)
            read_actor(a);
        if (p[2 + i].revents && a->fd >= 0 && (got == 0 || flush(a->fd, &a->unsent)))
            disconnect(a);
    }
    if (p[0].revents)
        serve_host(p[0].revents);
    if (flush(host.out, &host.unsent) && !host.is_port)
        finish();
}

/* Keep stdin and stdout for the host alone; what an actor prints goes to stderr. */
static void take_stdio(void)
{
    host.in = fcntl(0, F_DUPFD_CLOEXEC, 3);
    host.out = fcntl(1, F_DUPFD_CLOEXEC, 3);
    fcntl(host.in, F_SETFL, fcntl(host.in, F_GETFL) | O_NONBLOCK);
    fcntl(host.out, F_SETFL, fcntl(host.out, F_GETFL) | O_NONBLOCK);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(null, 0);
    dup2(fcntl(2, F_GETFD) < 0 ? null : 2, 1);
    close(null);
}

int main(int argc, char **argv)
{
    sigset_t child;

    if (argc > 1 && !strcmp(argv[1], "--stdio")) {
        take_stdio();
    } else if (getpid() == 1) {
        host.in = host.out = boot();
        host.is_port = 1;
    } else {
        fprintf(stderr, "usage: agent --stdio, or as PID 1 of an initramfs\n");
        return 2;
    }
    arena = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, nothing);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &signals);
    sigdelset(&signals, SIGCHLD);
    for (;;) {
        reap();
        turn();
    }
}
