/*
 * A part of stream.c: replacements of the sockets of link/port.h, and of everything else that a
 * stage requests from the system.
 */
#ifndef BRAGG_FUZZ_STREAM_PORTS_H
#define BRAGG_FUZZ_STREAM_PORTS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/exchange.h"
#include "link/port.h"

enum { UP, UP_CONNECTED, DOWN, DOWN_CONNECTED, CONTROL, SOCKETS };

static struct fake {
    bool full, cut;
    struct address from;
    struct message message;
} fakes[SOCKETS];
static bool refuse;  // nothing can be sent

bool address_equal(const struct address *a, const struct address *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

enum status port_open(struct port *p, void *context, const struct curve *c, int64_t part_max,
                      struct error *e)
{
    (void)context, (void)c, (void)part_max, (void)e;
    const char *number = strrchr(p->endpoint, ':');  // of a stranger, perhaps
    p->socket = p->watch = &fakes[number ? (unsigned)atoi(number + 1) % SOCKETS : CONTROL];
    return STATUS_OK;
}

bool port_happened(struct port *p)
{
    struct fake *f = p->watch;
    const bool cut = f && f->cut;
    if (f)
        f->cut = false;
    return cut;
}

void *port_context_open(void)
{
    return NULL;
}

void port_context_close(void *context)
{
    (void)context;
}

int port_descriptor(const struct port *p)
{
    (void)p;
    return -1;
}

void port_set_linger(struct port *p, int ms)
{
    (void)p, (void)ms;
}

void port_close(struct port *p)
{
    p->socket = p->watch = NULL;
}

void port_drop(struct port *p)
{
    port_close(p);
}

enum status port_share(struct message *m, struct error *e)
{
    (void)m, (void)e;
    return STATUS_OK;
}

/* Whatever a stage sends must be good. */
bool port_send(struct port *p, const struct address *to, const struct message *m,
               const struct part *instead)
{
    struct route r;
    (void)to;
    if (!instead && route_open(&r, m, NULL) != STATUS_OK)
        abort();
    p->stirred = true;
    return p->socket && !refuse;
}

bool port_has_messages(const struct port *p)
{
    return ((struct fake *)p->socket)->full;
}

enum port_got port_receive(struct port *p, struct address *from, struct message *m)
{
    struct fake *f = p->socket;
    *from = p->bound ? f->from : (struct address){0};
    *m = (struct message){0};
    if (!f->full)
        return PORT_NOTHING;
    *m = f->message;
    f->message = (struct message){0};
    f->full = false;
    return PORT_MESSAGE;
}

/* The linker uses this function instead of execv, because a stage that starts again would start the
 * fuzzer again. */
int __wrap_execv(const char *path, char *const *argv);

int __wrap_execv(const char *path, char *const *argv)
{
    (void)path;
    (void)argv;
    errno = EACCES;
    return -1;
}

/* Likewise of what such a stage waits for and opens: its main thread is this one, and the file
 * for the process that it becomes is always the same. */
bool __wrap_exchange_await_main(struct exchange *x, int seconds);
int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);

bool __wrap_exchange_await_main(struct exchange *x, int seconds)
{
    (void)seconds;
    return x->now.main_done;
}

int __wrap_memfd_create(const char *name, unsigned flags)
{
    static int file = -1;
    if (file < 0)
        file = __real_memfd_create(name, flags);
    if (ftruncate(file, 0) || lseek(file, 0, SEEK_SET))
        abort();
    return file;
}

#endif
