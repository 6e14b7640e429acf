/*
 * proxy SEED KINDS MEAN-MS FROM:TO...: passes bytes between ports of this host, and every
 * now and then does one of the KINDS of harm to one of its connections:
 *
 *   c  cuts it
 *   d  holds its bytes back for 50 to 400 ms
 *   t  passes on a part of what comes next, and then cuts it
 *   f  flips one bit of what comes next
 *
 * The pauses between are random around MEAN-MS; 0 does no harm.  It ends at SIGTERM and
 * prints how often it did what.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { ROUTES_MAX = 8, PAIRS_MAX = 64, BUFFER = 1 << 16, MS = 1000000 };

struct half {  // one direction of a connection
    int from, to;
    size_t at, end;
    uint8_t bytes[BUFFER];
};

struct pair {
    bool used;
    struct half half[2];
    uint64_t held_until_ns;
    char harm;      // done to the next bytes of ...
    int direction;  // ... this half
};

static struct {
    int listener, to;
} routes[ROUTES_MAX];
static int nroutes;
static struct pair pairs[PAIRS_MAX];
static unsigned done[128];
static uint64_t random_state;
static volatile sig_atomic_t ended;

static void on_end(int number)
{
    (void)number;
    ended = 1;
}

static uint32_t draw(uint32_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % below;
}

static struct sockaddr_in on_this_host(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static bool add_route(const char *text)
{
    int from, to;
    const int one = 1;
    if (nroutes == ROUTES_MAX || sscanf(text, "%d:%d", &from, &to) != 2)
        return false;
    const struct sockaddr_in here = on_this_host(from);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (const struct sockaddr *)&here, sizeof here) != 0 || listen(fd, 64) != 0) {
        perror(text);
        return false;
    }
    routes[nroutes].listener = fd;
    routes[nroutes++].to = to;
    return true;
}

/* Both sides see a reset, as when a machine between them forgets the connection. */
static void cut(struct pair *p)
{
    const struct linger reset = {.l_onoff = 1};
    for (int i = 0; i < 2; i++) {
        (void)setsockopt(p->half[i].from, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        (void)close(p->half[i].from);
    }
    p->used = false;
}

static void welcome(int listener, int port)
{
    const struct sockaddr_in there = on_this_host(port);
    const int in = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (in < 0)
        return;
    struct pair *p = pairs;
    while (p < pairs + PAIRS_MAX && p->used)
        p++;
    const int out = socket(AF_INET, SOCK_STREAM, 0);
    if (p == pairs + PAIRS_MAX || connect(out, (const struct sockaddr *)&there, sizeof there)) {
        (void)close(in);
        (void)close(out);
        return;
    }
    p->used = true;
    p->harm = 0;
    p->held_until_ns = 0;
    for (int i = 0; i < 2; i++) {
        p->half[i].from = i ? out : in;
        p->half[i].to = i ? in : out;
        p->half[i].at = p->half[i].end = 0;
    }
}

/* New bytes have arrived in a half: the harm that waits for them; false when it is cut. */
static bool harm(struct pair *p, struct half *h)
{
    if (!p->harm || h != &p->half[p->direction])
        return true;
    const char what = p->harm;
    p->harm = 0;
    done[(int)what]++;
    if (what == 'f') {
        h->bytes[draw((uint32_t)h->end)] ^= (uint8_t)(1 << draw(8));
        return true;
    }
    (void)send(h->to, h->bytes, draw((uint32_t)h->end), MSG_NOSIGNAL | MSG_DONTWAIT);
    cut(p);
    return false;
}

static void pass(struct pair *p, struct half *h, short events)
{
    if (h->at == h->end && events & (POLLIN | POLLHUP | POLLERR)) {
        const ssize_t n = recv(h->from, h->bytes, BUFFER, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            cut(p);
        if (n <= 0)
            return;
        h->at = 0;
        h->end = (size_t)n;
        if (!harm(p, h))
            return;
    }
    const ssize_t n = send(h->to, h->bytes + h->at, h->end - h->at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0)
        h->at += (size_t)n;
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        cut(p);
}

/* Chooses a connection that stands, and what happens to it. */
static void strike(const char *kinds, uint64_t now_ns)
{
    uint32_t nused = 0;
    for (const struct pair *p = pairs; p < pairs + PAIRS_MAX; p++)
        nused += p->used;
    uint32_t skipped = nused ? draw(nused) : 0;
    for (struct pair *p = pairs; p < pairs + PAIRS_MAX; p++) {
        if (!p->used || skipped-- > 0)
            continue;
        const char kind = kinds[draw((uint32_t)strlen(kinds))];
        p->direction = (int)draw(2);
        if (kind == 't' || kind == 'f') {
            p->harm = kind;
            return;
        }
        done[(int)kind]++;
        if (kind == 'c')
            cut(p);
        else
            p->held_until_ns = now_ns + (50 + draw(350)) * (uint64_t)MS;
        return;
    }
}

static void wait_and_pass(void)
{
    struct pollfd fds[ROUTES_MAX + 4 * PAIRS_MAX];
    nfds_t n = 0;
    const uint64_t now_ns = clock_ns();
    for (int i = 0; i < nroutes; i++)
        fds[n++] = (struct pollfd){.fd = routes[i].listener, .events = POLLIN};
    for (int i = 0; i < 2 * PAIRS_MAX; i++) {
        const struct pair *p = &pairs[i / 2];
        const struct half *h = &p->half[i % 2];
        const bool listening = p->used && now_ns >= p->held_until_ns;
        const bool full = h->at < h->end;
        fds[n++] = (struct pollfd){.fd = listening && !full ? h->from : -1, .events = POLLIN};
        fds[n++] = (struct pollfd){.fd = listening && full ? h->to : -1, .events = POLLOUT};
    }
    if (poll(fds, n, 10) <= 0)
        return;
    for (int i = 0; i < nroutes; i++)
        if (fds[i].revents)
            welcome(routes[i].listener, routes[i].to);
    for (int i = 0; i < 2 * PAIRS_MAX; i++) {
        const struct pollfd *both = &fds[nroutes + 2 * i];
        struct pair *p = &pairs[i / 2];
        if (p->used && (both[0].revents || both[1].revents))
            pass(p, &p->half[i % 2], both[0].revents);
    }
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    random_state = strtoull(argv[1], NULL, 10) * 2 + 1;
    const uint32_t mean_ms = (uint32_t)strtoul(argv[3], NULL, 10);
    for (int i = 4; i < argc; i++)
        if (!add_route(argv[i]))
            return 2;
    (void)signal(SIGTERM, on_end);
    uint64_t next_ns = clock_ns() + (uint64_t)mean_ms * MS;
    while (!ended) {
        wait_and_pass();
        const uint64_t now_ns = clock_ns();
        if (!mean_ms || now_ns < next_ns)
            continue;
        strike(argv[2], now_ns);
        next_ns = now_ns + (mean_ms / 2 + draw(mean_ms + 1)) * (uint64_t)MS;
    }
    for (const char *kind = argv[2]; *kind; kind++)
        printf("%c %u\n", *kind, done[(int)*kind]);
    return 0;
}
