#include "link/zap.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <zmq.h>

/* Parts of a question. */
enum { VERSION, REQUEST, DOMAIN, ADDRESS, IDENTITY, MECHANISM, KEY, PARTS };

struct question {
    size_t nparts;
    struct {
        size_t size;
        uint8_t bytes[256];
    } parts[PARTS];
};

/* False when the context ends.  A part that is too long is cut. */
static bool receive(void *socket, struct question *q)
{
    int more = 1;
    size_t size = sizeof more;
    for (q->nparts = 0; more; q->nparts++) {
        uint8_t *into = q->parts[q->nparts < PARTS ? q->nparts : PARTS - 1].bytes;
        int got;
        do
            got = zmq_recv(socket, into, sizeof q->parts[0].bytes, 0);
        while (got < 0 && errno == EINTR);
        if (got < 0 || zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) != 0)
            return false;
        q->parts[q->nparts < PARTS ? q->nparts : PARTS - 1].size =
            (size_t)got < sizeof q->parts[0].bytes ? (size_t)got : sizeof q->parts[0].bytes;
    }
    return true;
}

static bool is_text(const struct question *q, size_t part, const char *text)
{
    return q->parts[part].size == strlen(text) &&
           memcmp(q->parts[part].bytes, text, strlen(text)) == 0;
}

/* The name of who asks; NULL for one that is not taken. */
static const char *find_user(const struct zap *z, const struct question *q)
{
    if (q->nparts != PARTS || !is_text(q, MECHANISM, "CURVE"))
        return NULL;
    for (size_t i = 0; i < sizeof z->users / sizeof *z->users; i++)
        if (z->users[i].listed && q->parts[KEY].size == sizeof z->users[i].key &&
            memcmp(q->parts[KEY].bytes, z->users[i].key, sizeof z->users[i].key) == 0)
            return z->users[i].user;
    return NULL;
}

static void answer(void *socket, const struct question *q, const char *user)
{
    const char *const words[] = {user ? "200" : "400", user ? "OK" : "no good key",
                                 user ? user : ""};
    (void)zmq_send(socket, "1.0", 3, ZMQ_SNDMORE);
    (void)zmq_send(socket, q->parts[REQUEST].bytes, q->parts[REQUEST].size, ZMQ_SNDMORE);
    for (size_t i = 0; i < 3; i++)
        (void)zmq_send(socket, words[i], strlen(words[i]), ZMQ_SNDMORE);
    (void)zmq_send(socket, "", 0, 0);
}

static void *run(void *zap)
{
    struct zap *z = zap;
    struct question q;
    while (receive(z->socket, &q))
        answer(z->socket, &q, find_user(z, &q));
    (void)zmq_close(z->socket);
    return NULL;
}

static void list(struct zap *z, size_t i, const char *key, const char *user)
{
    z->users[i].user = user;
    z->users[i].listed = key[0] && zmq_z85_decode(z->users[i].key, key);
}

/* Signals are for others. */
static enum status start_thread(struct zap *z, struct error *e)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    errno = pthread_create(&z->thread, NULL, run, z);
    z->runs = errno == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return z->runs ? STATUS_OK : error_errno(e, STATUS_FAILED, "cannot start a thread");
}

enum status zap_open(struct zap *z, void *context, const struct keys *keys, struct error *e)
{
    list(z, 0, keys->client, ZAP_CLIENT);
    list(z, 1, keys->watcher, ZAP_WATCHER);
    z->socket = zmq_socket(context, ZMQ_REP);
    if (!z->socket)
        return error_set(e, STATUS_FAILED, "cannot make a socket: %s", zmq_strerror(errno));
    enum status s = STATUS_OK;
    if (zmq_bind(z->socket, "inproc://zeromq.zap.01") != 0)
        s = error_set(e, STATUS_FAILED, "cannot look after keys: %s", zmq_strerror(errno));
    if (s == STATUS_OK)
        s = start_thread(z, e);
    if (s)
        (void)zmq_close(z->socket);
    return s;
}

void *zap_open_context(struct zap *z, const struct keys *keys, struct error *e)
{
    void *context = zmq_ctx_new();
    if (!context) {
        (void)error_memory(e, "sockets");
        return NULL;
    }
    if (zap_open(z, context, keys, e) == STATUS_OK)
        return context;
    (void)zmq_ctx_term(context);
    return NULL;
}

void zap_close(struct zap *z)
{
    if (z->runs)
        (void)pthread_join(z->thread, NULL);
    z->runs = false;
}
