/* The frames that host, supervisor and actors exchange, and the buffers that hold them.
 *
 * A frame is a header of 28 bytes and a body, all numbers little endian (x86-64 only):
 * the host's side of this page is harness/fsyncgate/guest/frame.py. */
#ifndef AGENT_H
#define AGENT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x74677366u /* "fsgt" */
#define REPLY 0x80000000u
#define REFUSED (REPLY | 256)
#define LOST (REPLY | 257)
#define EXITED (REPLY | 258)
enum { HELLO = 1, CALL, FORK, SPAWN, RUN, ADOPT = 100 /* from actor to supervisor only */ };
enum { PROTOCOL = 1, HEADER = 28, MAX_BODY = 4 << 20, ARENA_SIZE = 8 << 20 };

struct header {
    uint32_t magic, length, request, actor, op, body_crc, own_crc;
};

/* A queue of bytes: taken at `start`, added at `end`. */
struct buffer {
    unsigned char *bytes;
    size_t start, end, size;
};

int boot(void);                                     /* boot.c: as PID 1; returns the host's port */
_Noreturn void live_as_actor(uint32_t id, int link); /* actor.c */
int high(int fd);                                   /* agent.c: move a descriptor out of the host's way */
void put_hello(struct buffer *b, uint32_t request, uint32_t actor);

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
    for (const unsigned char *at = data, *end = at + length; at < end; at++)
        crc = table[(crc ^ *at) & 255] ^ (crc >> 8);
    return ~crc;
}

static inline int good_header(const struct header *h)
{
    return h->magic == MAGIC && h->own_crc == crc32(h, HEADER - 4);
}

static inline size_t held(const struct buffer *b) { return b->end - b->start; }
static inline unsigned char *first(const struct buffer *b) { return b->bytes + b->start; }

/* Where `length` more bytes may be written; the caller then adds what it wrote to `end`. */
static inline unsigned char *room(struct buffer *b, size_t length)
{
    if (b->size - b->end < length && b->start && b->start >= b->size / 2) {
        memmove(b->bytes, b->bytes + b->start, held(b));
        b->end -= b->start;
        b->start = 0;
    }
    if (b->size - b->end < length) {
        b->size = 2 * b->size + length;
        b->bytes = realloc(b->bytes, b->size);
        if (!b->bytes)
            abort();
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

static inline void put_frame(struct buffer *b, uint32_t request, uint32_t actor, uint32_t op,
                             const void *body, size_t length)
{
    struct header h = {MAGIC, length, request, actor, op, crc32(body, length), 0};
    h.own_crc = crc32(&h, HEADER - 4);
    put(b, &h, HEADER);
    put(b, body, length);
}

static inline void refuse(struct buffer *b, const struct header *h, const char *why)
{
    put_frame(b, h->request, h->actor, REFUSED, why, strlen(why));
}

#endif
