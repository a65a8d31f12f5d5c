/* What the supervisor (agent.c), its actors (actor.c) and boot.c share. */
#pragma once

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPLY 0x80000000u
#define REFUSED (REPLY | 256)
enum { HELLO = 1, CALL, FORK, SPAWN, RUN };
enum { PAGE = 4096, MAX_BODY = 4 << 20 };

/* A queue of bytes. */
struct buffer {
    unsigned char *bytes;
    size_t length;
};

/* What supervisor and actor know of an actor, in memory that all of them share. The state is a futex:
 * the supervisor writes the request and sets ASKED, the actor writes the answer and sets ANSWERED. */
enum { IDLE, ASKED, ANSWERED };
struct actor {
    uint32_t id; /* 0: a free place */
    pid_t pid;   /* 0: not forked yet */
    _Atomic uint32_t state;
    uint32_t op, length; /* of the request, then of the answer */
    struct buffer queue; /* the supervisor's: what is not answered yet */
    unsigned char request[MAX_BODY] __attribute__((aligned(PAGE)));
    unsigned char answer[MAX_BODY];
};

extern pid_t supervisor; /* agent.c: its process */
extern int bell;         /* agent.c: an eventfd, to wake it */

int boot(void);                                  /* boot.c: as PID 1; returns the host's port */
void redirect(int output);                       /* actor.c: `output` becomes stdout and stderr */
void ring(int number);                           /* actor.c: the bell; for signal(), too */
size_t greet(void *answer);                      /* actor.c: answer HELLO for this process */
_Noreturn void live_as_actor(struct actor *own); /* actor.c: in the process that was forked for it */
