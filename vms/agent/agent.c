/* The guest agent: executes system calls for the host, in as many processes as the host asks for.
 *
 * /init (PID 1)   serves the virtio-serial port named "fsyncgate" for ever
 * agent --stdio   serves stdin and stdout until end of file
 *
 * This file is the supervisor. It only moves frames, so it never waits for anything but poll():
 * each actor is a process of its own (actor.c), and one that hangs in fsync stops no other.
 *
 * A frame is a header of 28 bytes and a body, all numbers little endian (x86-64 only):
 * the host's side of this page is harness/fsyncgate/guest/frame.py. */
#include "agent.h"

#include <poll.h>
#include <sys/eventfd.h>

#define MAGIC 0x74677366u /* "fsgt" */
#define LOST (REPLY | 257)
#define EXITED (REPLY | 258)
enum { HEADER = 28, MAX_ACTORS = 64 };
enum { HIGH_DESCRIPTOR = 900 }; /* so that the host's calls get 3, 4, 5 ... */
enum { ENOUGH = 8 << 20 }; /* so many bytes may wait for a reader; it gets no more before it reads */

struct header {
    uint32_t magic, length, request, actor, op, body_crc, own_crc;
};

static struct {
    int in, out;
    struct buffer received, unsent;
} host;

/* The first serves the host as actor 0: it only makes actors that inherit nothing. */
static struct actor *actors;
pid_t supervisor;
int bell;

/* The CRC of zlib. */
static uint32_t crc32(const void *data, size_t length)
{
    static uint32_t table[256];
    for (uint32_t i = 0; !table[255] && i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] & 1 ? 0xedb88320u ^ (table[i] >> 1) : table[i] >> 1;
    }
    uint32_t crc = ~0u;
    for (const unsigned char *at = data; length; at++, length--)
        crc = table[(crc ^ *at) & 255] ^ (crc >> 8);
    return ~crc;
}

static void put(struct buffer *b, const void *data, size_t length)
{
    b->bytes = realloc(b->bytes, b->length + length);
    if (!b->bytes)
        abort();
    memcpy(b->bytes + b->length, data, length);
    b->length += length;
}

/* The next put() gives the memory back. */
static void take(struct buffer *b, size_t length)
{
    b->length -= length;
    if (b->length)
        memmove(b->bytes, b->bytes + length, b->length);
}

static void tell(uint32_t request, uint32_t actor, uint32_t op, const void *body, size_t length)
{
    struct header h = {MAGIC, length, request, actor, op, crc32(body, length), 0};
    h.own_crc = crc32(&h, HEADER - 4);
    put(&host.unsent, &h, HEADER);
    put(&host.unsent, body, length);
}

/* With 0: a free place. */
static struct actor *find(uint32_t id)
{
    for (struct actor *a = actors + 1; a < actors + MAX_ACTORS; a++)
        if (a->id == id)
            return a;
    return NULL;
}

/* Give an idle actor its next request, which stays in the queue until it is answered. */
static void feed(struct actor *a)
{
    struct header h;

    memcpy(&h, a->queue.bytes, HEADER);
    memcpy(a->request, a->queue.bytes + HEADER, h.length);
    a->op = h.op;
    a->length = h.length;
    a->state = ASKED;
    syscall(SYS_futex, &a->state, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* A frame from the host whose header and body are sound. NULL, or why it is refused. */
static const char *serve(struct header h, const void *body)
{
    struct actor *a = h.actor ? find(h.actor) : actors;
    struct actor *child;
    unsigned char hello[64];
    uint32_t id;

    if (h.op < HELLO || h.op > RUN)
        return "unknown operation";
    if (!a || (a == actors && !a->pid))
        return "unknown actor";
    if (h.op == HELLO && h.length)
        return "the body of HELLO is too long";
    if (h.op != HELLO && (h.op == SPAWN) != (h.actor == 0))
        return h.actor ? "only the supervisor spawns" : "the supervisor only spawns";
    if (a->queue.length > ENOUGH)
        return "too much is waiting for this actor";
    if (h.op == HELLO && !h.actor) {
        tell(h.request, 0, HELLO | REPLY, hello, greet(hello));
        return NULL;
    }
    if (h.op == FORK || h.op == SPAWN) {
        if (h.length != sizeof id)
            return "the body is not the number of an actor";
        memcpy(&id, body, sizeof id);
        child = find(0);
        if (!child)
            return "too many actors";
        if (find(id))
            return "an actor with this number exists";
        child->id = id;
        body = &child; /* this is all that the parent must know */
        h.length = sizeof child;
        h.actor = id; /* and this is for answer() */
    }
    put(&a->queue, &h, HEADER);
    put(&a->queue, body, h.length);
    return NULL;
}

/* Take the host's frames, and find the way back when bytes were lost or damaged. */
static void read_host(void)
{
    static int in_garbage; /* and this run of garbage has been refused already */
    struct buffer *b = &host.received;
    struct header h;
    size_t at, used;
    const char *why;

    for (at = 0; b->length - at >= HEADER; at += used) {
        memcpy(&h, b->bytes + at, HEADER);
        const void *body = b->bytes + at + HEADER;
        used = HEADER + h.length;
        if (h.magic != MAGIC || h.own_crc != crc32(&h, HEADER - 4)) {
            why = in_garbage ? NULL : "bytes that belong to no frame";
            used = 1;
            h = (struct header){0};
        } else if (h.length > MAX_BODY) {
            why = "the body is too long";
            used = HEADER;
        } else if (b->length - at < used) {
            break;
        } else if (h.body_crc != crc32(body, h.length)) {
            why = "the body is damaged";
        } else {
            why = serve(h, body);
        }
        in_garbage = used == 1;
        if (why)
            tell(h.request, h.actor, REFUSED, why, strlen(why));
    }
    take(b, at);
}

static void bury(struct actor *a, int32_t status);

/* End the first request in the queue of an actor. */
static void answer(struct actor *a, uint32_t op, size_t length)
{
    struct actor *child;
    struct header h;

    memcpy(&h, a->queue.bytes, HEADER);
    if ((h.op == FORK || h.op == SPAWN) && op != (h.op | REPLY)) {
        memcpy(&child, a->queue.bytes + HEADER, sizeof child);
        if (child->id == h.actor && child->pid)
            kill(child->pid, SIGKILL); /* it was made, but nobody will know */
        else if (child->id == h.actor)
            bury(child, SIGKILL);
    }
    tell(h.request, a->id, op, a->answer, length <= MAX_BODY ? length : 0);
    take(&a->queue, HEADER + h.length);
    a->state = IDLE;
}

static void bury(struct actor *a, int32_t status)
{
    if (a->state == ANSWERED)
        answer(a, a->op, a->length);
    tell(0, a->id, EXITED, &status, sizeof status);
    while (a->queue.length)
        answer(a, LOST, 0);
    free(a->queue.bytes);
    madvise(a, sizeof *a, MADV_REMOVE); /* which clears it, too: a free place */
}

/* See which actors have answered or ended, and reap every child. */
static void attend(void)
{
    int status;
    pid_t pid;

    for (struct actor *a = actors; a < actors + MAX_ACTORS; a++)
        if (a->state == ANSWERED)
            answer(a, a->op, a->length);
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (struct actor *a = actors; a < actors + MAX_ACTORS; a++)
            if (a->pid == pid)
                bury(a, status);
}

/* One turn: wait for something, then move what can be moved. */
static void turn(void)
{
    static unsigned char chunk[1 << 18];
    short reads = host.unsent.length < ENOUGH ? POLLIN : 0;
    int out = host.unsent.length ? host.out : -1;
    struct pollfd p[] = {{host.in, reads, 0}, {bell, reads, 0}, {out, POLLOUT, 0}};
    uint64_t rings;
    size_t sent = 0;
    ssize_t n;

    poll(p, 3, -1); /* a signal may interrupt it: then nothing is there */
    if (p[1].revents && read(bell, &rings, sizeof rings) > 0)
        attend();
    if (p[0].revents) {
        n = read(host.in, chunk, sizeof chunk);
        if (n > 0) {
            put(&host.received, chunk, n);
            read_host();
        } else if (n == 0 || errno != EAGAIN) {
            if (supervisor != 1)
                exit(0); /* and the kernel ends the actors: PR_SET_PDEATHSIG */
            /* The next host begins a new frame. What is unsent may answer it already: that stays. */
            take(&host.received, host.received.length);
            usleep(1000); /* poll() does not wait for a host to connect */
        }
    }
    for (struct actor *a = actors; a < actors + MAX_ACTORS; a++)
        if (a->state == IDLE && a->queue.length)
            feed(a);
    for (n = 1; n > 0 && sent < host.unsent.length; sent += n > 0 ? n : 0)
        n = write(host.out, host.unsent.bytes + sent, host.unsent.length - sent);
    take(&host.unsent, sent);
}

int main(void)
{
    supervisor = getpid();
    if (supervisor == 1) {
        host.in = host.out = boot();
    } else {
        /* Keep these two for the host alone; what an actor prints goes to stderr. */
        host.in = fcntl(0, F_DUPFD_CLOEXEC, 3);
        host.out = fcntl(1, F_DUPFD_CLOEXEC, 3);
        fcntl(host.out, F_SETFL, fcntl(host.out, F_GETFL) | O_NONBLOCK);
        redirect(2);
    }
    actors = mmap(NULL, MAX_ACTORS * sizeof *actors, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int low = eventfd(0, EFD_NONBLOCK);
    bell = fcntl(low, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    close(low);
    if (actors == MAP_FAILED || bell < 0)
        abort();
    signal(SIGCHLD, ring);
    pid_t pid = fork();
    if (pid == 0) {
        close(host.in);
        close(host.out);
        signal(SIGCHLD, SIG_DFL);
        signal(SIGPIPE, SIG_IGN);
        live_as_actor(actors);
    }
    actors->pid = pid;
    for (;;)
        turn();
}
