/* What the supervisor (agent.c) and its actors (actor.c) share: frames, and buffers to hold them.
 *
 * A frame is a header of 28 bytes and a body, all numbers little endian (x86-64 only):
 * the host's side of this page is harness/fsyncgate/guest/frame.py. */
#ifndef AGENT_H
#define AGENT_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC 0x74677366u /* "fsgt" */
#define REPLY 0x80000000u
#define REFUSED (REPLY | 256)
#define LOST (REPLY | 257)
#define EXITED (REPLY | 258)
enum { HELLO = 1, CALL, FORK, SPAWN, RUN };
enum { HEADER = 28, MAX_BODY = 4 << 20, CHUNK = 1 << 18 };

struct header {
    uint32_t magic, length, request, actor, op, body_crc, own_crc;
};

/* The answer to HELLO. The arena is memory for the host to use, at one address in every actor. */
struct hello {
    uint32_t protocol, pid;
    uint64_t arena, size;
};

/* A queue of bytes: taken at `start`, added at `end`. */
struct buffer {
    unsigned char *bytes;
    size_t start, end, size;
};

void boot(void);                              /* boot.c: what PID 1 does first */
int wait_for_port(void);                      /* boot.c: the descriptor of the port to the host */
int high(int fd);                             /* actor.c: move a descriptor out of the host's way */
void redirect(int output);                    /* actor.c: stdin is empty, the rest goes to `output` */
struct hello greeting(void);                  /* actor.c: of this process */
int64_t make_actor(uint64_t flags, int *link); /* actor.c: fork() */
_Noreturn void live_as_actor(void);           /* actor.c: in the process that make_actor() has made */

/* The CRC of zlib. */
static inline uint32_t crc32(const void *data, size_t length)
{
    static uint32_t table[256];
    for (uint32_t i = 0; !table[255] && i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
        table[i] = c;
    }
    uint32_t crc = ~0u;
    for (const unsigned char *at = data; length; at++, length--)
        crc = table[(crc ^ *at) & 255] ^ (crc >> 8);
    return ~crc;
}

static inline struct header header_of(uint32_t request, uint32_t actor, uint32_t op,
                                      const void *body, size_t length)
{
    struct header h = {MAGIC, length, request, actor, op, crc32(body, length), 0};
    h.own_crc = crc32(&h, HEADER - 4);
    return h;
}

static inline size_t held(const struct buffer *b)
{
    return b->end - b->start;
}

static inline unsigned char *first(const struct buffer *b)
{
    return b->bytes + b->start;
}

/* Where `length` more bytes may be written; the caller then adds what it wrote to `end`. */
static inline unsigned char *room(struct buffer *b, size_t length)
{
    if (b->size - b->end < length) {
        struct buffer larger = {.end = held(b), .size = 2 * held(b) + length};
        larger.bytes = malloc(larger.size);
        if (!larger.bytes)
            abort();
        if (held(b))
            memcpy(larger.bytes, first(b), held(b));
        free(b->bytes);
        *b = larger;
    }
    return b->bytes + b->end;
}

static inline void put(struct buffer *b, const void *data, size_t length)
{
    memcpy(room(b, length), data, length);
    b->end += length;
}

/* Drop `length` bytes at the front; a large buffer that is empty goes back to the system. */
static inline void take(struct buffer *b, size_t length)
{
    b->start += length;
    if (b->start < b->end)
        return;
    b->start = b->end = 0;
    if (b->size > 1 << 20) {
        free(b->bytes);
        *b = (struct buffer){0};
    }
}

/* Whether a whole frame is at the front. Its header is copied to `h` as soon as that is there. */
static inline int whole_frame(const struct buffer *b, struct header *h)
{
    if (held(b) < HEADER)
        return 0;
    memcpy(h, first(b), HEADER);
    return held(b) - HEADER >= h->length;
}

#endif
