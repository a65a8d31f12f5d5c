/* An actor: a process that does what the host asks, one request at a time.
 *
 * It may hang in a call, crash or be killed; the supervisor notices and tells the host. */
#include "agent.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/uio.h>

enum { PROTOCOL = 1, ARENA_SIZE = 8 << 20, KEPT_OUTPUT = 1 << 20 };
#define NO_CALL UINT64_MAX /* copy memory only */

static unsigned char arena[ARENA_SIZE] __attribute__((aligned(PAGE)));
static struct actor *self;
static size_t asked; /* the length of the request */

struct range {
    uint64_t address;
    uint32_t length;
} __attribute__((packed));

struct call {
    uint64_t number, argument[6];
    uint32_t writes, reads;
};

void redirect(int output)
{
    dup2(output, 1);
    dup2(output, 2);
    int null = open("/dev/null", O_RDONLY); /* now, as `output` may be 0 */
    dup2(null, 0);
    close(null);
    if (output > 2)
        close(output);
}

void ring(int number __attribute__((unused)))
{
    uint64_t one = 1;
    if (write(bell, &one, sizeof one) < 0)
        _exit(1);
}

size_t greet(void *answer)
{
    struct {
        uint32_t protocol, pid;
        uint64_t arena, size;
    } hello = {PROTOCOL, getpid(), (uintptr_t)arena, ARENA_SIZE};
    memcpy(answer, &hello, sizeof hello);
    return sizeof hello;
}

/* Add to the answer. */
static void put(const void *data, size_t length)
{
    memcpy(self->answer + self->length, data, length);
    self->length += length;
}

/* The kernel copies, so that an address nobody mapped gives EFAULT where a memcpy would die. */
static int copy(int inwards, const void *local, const struct range *range)
{
    struct iovec here = {(void *)local, range->length};
    struct iovec there = {(void *)range->address, range->length};
    ssize_t n = (inwards ? process_vm_writev : process_vm_readv)(self->pid, &here, 1, &there, 1, 0);
    return n < 0 ? errno : n == range->length ? 0 : EFAULT;
}

/* Each operation writes an answer, or returns why it refuses. */
static const char *do_hello(void)
{
    self->length = greet(self->answer);
    return NULL;
}

static const char *do_call(void)
{
    const struct call *call = (const void *)self->request;
    const struct range *range = (const void *)(call + 1);
    const uint64_t *a = call->argument;
    size_t answer = 12;

    if (asked < sizeof *call)
        return "the body of CALL is too short";
    size_t left = asked - sizeof *call;
    for (uint32_t i = 0; i < call->writes; i++) {
        if (left < sizeof *range)
            return "CALL counts more buffers than its body holds";
        if (left - sizeof *range < range->length)
            return "a buffer of CALL reaches beyond its body";
        if (copy(1, range + 1, range))
            return "EFAULT: a buffer could not be written to its address";
        left -= sizeof *range + range->length;
        range = (const void *)((const char *)(range + 1) + range->length);
    }
    if (left < call->reads * sizeof *range)
        return "CALL counts more buffers than its body holds";
    if (left > call->reads * sizeof *range)
        return "the body of CALL is too long";
    for (uint32_t i = 0; i < call->reads; i++)
        answer += 4 + (size_t)range[i].length;
    if (answer > MAX_BODY)
        return "the answer would be too long";

    int64_t value = 0;
    if (call->number != NO_CALL)
        value = syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    int32_t error = value == -1 ? errno : 0;
    /* After a fork, vfork or clone that the host asked for there may be two of us. */
    if (syscall(SYS_gettid) != self->pid)
        syscall(SYS_exit, 0);
    put(&value, 8);
    put(&error, 4);
    for (uint32_t i = 0; i < call->reads; i++) {
        error = copy(0, self->answer + self->length + 4, &range[i]);
        int32_t length = error ? -error : (int32_t)range[i].length;
        put(&length, 4);
        self->length += error ? 0 : length;
    }
    return NULL;
}

/* The new actor is the supervisor's child, not ours: so the supervisor learns how it ends. The kernel
 * notes its pid before it runs, so that whoever ends at whatever moment, the supervisor knows. */
static const char *do_fork(void)
{
    struct actor *child = *(struct actor **)self->request;
    int64_t pid = syscall(SYS_clone, CLONE_PARENT | CLONE_PARENT_SETTID | SIGCHLD, 0, &child->pid, 0, 0);
    if (pid == 0)
        live_as_actor(child);
    if (pid < 0)
        return strerror(errno);
    put(&pid, 8);
    return NULL;
}

/* The output goes to a file in memory: a daemon left behind may keep it open for ever. */
static const char *do_run(void)
{
    char *text = (char *)self->request;
    char *end = text + asked;
    int32_t status = 0;

    if (text == end || end[-1])
        return "the arguments of RUN do not end with NUL";
    char **argv = calloc(asked + 1, sizeof *argv); /* more than enough */
    for (size_t argc = 0; text < end; text += strlen(text) + 1)
        argv[argc++] = text;
    int output = memfd_create("output", MFD_CLOEXEC);
    pid_t pid = output < 0 ? -1 : fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_DFL);
        redirect(output);
        execvp(argv[0], argv);
        dprintf(1, "exec '%s': %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    const char *why = pid < 0 ? strerror(errno) : NULL;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    put(&status, 4);
    ssize_t n = pread(output, self->answer + 4, KEPT_OUTPUT, 0);
    self->length += n < 0 ? 0 : n;
    free(argv);
    close(output);
    return why;
}

void live_as_actor(struct actor *own)
{
    static const char *(*const operations[])(void) = {
        [HELLO] = do_hello, [CALL] = do_call, [FORK] = do_fork, [SPAWN] = do_fork, [RUN] = do_run,
    };
    uint32_t state;

    self = own;
    for (;;) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* again and again: calls like setuid() clear it */
        if (getppid() != supervisor)
            _exit(1);
        while ((state = self->state) != ASKED)
            syscall(SYS_futex, &self->state, FUTEX_WAIT, state, NULL, NULL, 0);
        asked = self->length;
        self->length = 0;
        const char *why = operations[self->op]();
        if (why) {
            self->length = 0;
            put(why, strlen(why));
        }
        self->op = why ? REFUSED : self->op | REPLY;
        if (fcntl(bell, F_GETFD) < 0)
            _exit(1); /* the host has closed it: nobody would hear of the answer */
        self->state = ANSWERED;
        ring(0);
    }
}
