/*
 * The clients that are connected to a socket of a gateway, and the time from an answer to the
 * next request of a client.
 */
#include "gateway/client_socket.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/alloc.h"

enum { SEND_BUFFER_MAX = 1 << 20 };  // bytes; the kernel keeps only few larger messages anyway

void clients_open(struct clients *c, bool sparing, bool speak)
{
    struct rlimit files;
    *c = (struct clients){.sparing = sparing, .most = CLIENTS_MAX, .speak = speak, .batch = 1};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 2 < c->most)
        c->most = files.rlim_cur / 2;
    c->list = mem_array(c->most, sizeof *c->list);
}

void clients_close(struct clients *c)
{
    mem_free(c->list);
    *c = (struct clients){0};
}

/* Limits the send buffer of a connection, so that the kernel keeps about one message for the
 * client.  ZMQ_SNDBUF would do this for all connections.  It must be set before the first
 * connection, when the size of a message is not known yet. */
static void bound_buffer(const struct clients *c, int fd)
{
    const int bytes = (int)c->message_bytes;
    if (c->sparing && bytes && bytes < SEND_BUFFER_MAX)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static struct client *find_client(const struct clients *c, int fd)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].fd == fd)
            return &c->list[i];
    return NULL;
}

static void cut_off(const struct client *one)
{
    (void)shutdown(one->fd, SHUT_RDWR);  // libzmq closes the socket
}

static void forget_client(struct clients *c, struct client *one)
{
    *one = c->list[--c->count];
}

/* Returns the oldest connection that has neither asked nor subscribed.  NULL: there is none, or
 * clients need not ask or subscribe. */
static struct client *oldest_silent(const struct clients *c)
{
    struct client *oldest = NULL;
    for (size_t i = 0; i < c->count && c->speak; i++) {
        struct client *one = &c->list[i];
        if (!one->spoke && (!oldest || one->turn < oldest->turn))
            oldest = one;
    }
    return oldest;
}

void clients_came(struct clients *c, int fd)
{
    struct client one = {.fd = fd, .before = c->frames, .turn = c->turns++};
    if (c->count == c->most) {
        struct client *silent = oldest_silent(c);
        cut_off(silent ? silent : &one);
        c->turned_away++;
        if (!silent)
            return;
        forget_client(c, silent);
    }
    c->list[c->count++] = one;
    bound_buffer(c, fd);
}

void clients_left(struct clients *c, int fd)
{
    struct client *one = find_client(c, fd);
    if (!one)
        return;
    const uint64_t frames = c->frames - one->before;
    c->perhaps_lost += (frames < CLIENT_FRAMES_MAX ? frames : CLIENT_FRAMES_MAX) * c->batch;
    forget_client(c, one);
}

void clients_asked(struct clients *c, int fd)
{
    struct client *one = find_client(c, fd);
    if (one)
        one->spoke = true;
}

void clients_subscribed(struct clients *c, int fd, size_t size, bool all)
{
    struct client *one = find_client(c, fd);
    if (!one)
        return;
    one->spoke = true;
    one->gets_all |= all;
    one->subscriptions++;
    one->subscribed_bytes += size;
    if (one->subscriptions <= SUBSCRIPTIONS_MAX && one->subscribed_bytes <= SUBSCRIBED_BYTES_MAX)
        return;
    cut_off(one);
    c->cut_off++;
    forget_client(c, one);
}

size_t clients_subscribers(const struct clients *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++)
        n += c->list[i].gets_all;
    return n;
}

void clients_cut(const struct clients *c)
{
    for (size_t i = 0; i < c->count; i++)
        cut_off(&c->list[i]);
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

static const double STEP = 1.02, SHORTEST_NS = 1000;

void latency_open(struct latency *t)
{
    *t = (struct latency){0};
    (void)pthread_mutex_init(&t->mutex, NULL);
}

void latency_answered(struct latency *t, const void *address, uint8_t size, uint64_t now_ns)
{
    (void)pthread_mutex_lock(&t->mutex);
    struct latency_client *c = &t->clients[t->next];
    t->next = (t->next + 1) % LATENCY_CLIENTS;
    *c = (struct latency_client){.size = size, .since_ns = now_ns};
    memcpy(c->address, address, size);
    (void)pthread_mutex_unlock(&t->mutex);
}

static void count_latency(struct latency *t, uint64_t ns)
{
    const double took_ns = fmax((double)ns, SHORTEST_NS);
    const double bin = floor(log(took_ns / SHORTEST_NS) / log(STEP));
    t->bins[(size_t)fmin(bin, LATENCY_BINS - 1)]++;
    t->count++;
}

void latency_asked(struct latency *t, const void *address, uint8_t size, uint64_t now_ns)
{
    (void)pthread_mutex_lock(&t->mutex);
    for (size_t i = 0; i < LATENCY_CLIENTS; i++) {
        struct latency_client *c = &t->clients[i];
        if (!c->since_ns || c->size != size || memcmp(c->address, address, size) != 0)
            continue;
        count_latency(t, now_ns - c->since_ns);
        c->since_ns = 0;
        break;
    }
    (void)pthread_mutex_unlock(&t->mutex);
}

static double quantile_s(const struct latency *t, double share)
{
    uint64_t below = 0;
    for (size_t i = 0; i < LATENCY_BINS; i++) {
        below += t->bins[i];
        if (below && (double)below >= share * (double)t->count)
            return SHORTEST_NS * 1e-9 * pow(STEP, (double)i + 0.5);
    }
    return 0;
}

uint64_t latency_quantiles(struct latency *t, const double *shares, double *quantiles_s,
                           size_t count)
{
    (void)pthread_mutex_lock(&t->mutex);
    for (size_t i = 0; i < count; i++)
        quantiles_s[i] = quantile_s(t, shares[i]);
    const uint64_t times = t->count;
    (void)pthread_mutex_unlock(&t->mutex);
    return times;
}
