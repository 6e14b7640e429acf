#include "gateway/clients.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include "base/alloc.h"

enum { SEND_BUFFER_MAX = 1 << 20 };  // bytes; of larger messages the system keeps few by itself

bool clients_open(struct clients *c, bool sparing)
{
    struct rlimit files;
    *c = (struct clients){.sparing = sparing, .most = CLIENTS_MAX};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 2 < c->most)
        c->most = files.rlim_cur / 2;
    c->list = mem_array(c->most, sizeof *c->list);
    return c->list != NULL;
}

void clients_close(struct clients *c)
{
    mem_free(c->list);
    *c = (struct clients){0};
}

/* The system keeps about one message for a client.  ZMQ_SNDBUF would say so for all that connect,
 * but it is to be known before the first of them comes, and messages are not. */
static void bound_buffer(const struct clients *c, int fd)
{
    const int bytes = (int)c->message_bytes;
    if (c->sparing && bytes && bytes < SEND_BUFFER_MAX)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

void clients_came(struct clients *c, int fd)
{
    if (c->count == c->most) {
        (void)shutdown(fd, SHUT_RDWR);  // libzmq closes it
        c->turned_away++;
        return;
    }
    c->list[c->count++] = (struct client){fd, c->frames};
    bound_buffer(c, fd);
}

void clients_left(struct clients *c, int fd)
{
    size_t i = 0;
    while (i < c->count && c->list[i].fd != fd)
        i++;
    if (i == c->count)
        return;
    const uint64_t frames = c->frames - c->list[i].before;
    c->perhaps_lost += frames < CLIENT_FRAMES_MAX ? frames : CLIENT_FRAMES_MAX;
    c->list[i] = c->list[--c->count];
}

void clients_cut(const struct clients *c)
{
    for (size_t i = 0; i < c->count; i++)
        (void)shutdown(c->list[i].fd, SHUT_RDWR);  // libzmq closes it
}

void clients_expect(struct clients *c, size_t bytes)
{
    if (bytes > SEND_BUFFER_MAX)
        bytes = SEND_BUFFER_MAX;
    if (bytes <= c->message_bytes)
        return;
    c->message_bytes = bytes;
    for (size_t i = 0; i < c->count; i++)
        bound_buffer(c, c->list[i].fd);
}
