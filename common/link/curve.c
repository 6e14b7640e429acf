#include "link/curve.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <zmq.h>

#include "base/log.h"
#include "base/program.h"
#include "link/endpoint.h"

/* A network may spoil a connection, and a relay take one for somebody who is not there. */
enum { FOREIGN_MIN = 3, FAILURES_MIN = 5 };
static const uint64_t FOREIGN_NS = UINT64_C(1000000000), FAILURES_NS = UINT64_C(10000000000);
static const uint64_t SETTLED_NS = UINT64_C(500000000);

enum status curve_open(struct curve *c, const char *folder, bool insecure, enum keys_role role,
                       struct error *e)
{
    *c = (struct curve){.keyed = folder != NULL, .insecure = insecure};
    return folder ? keys_read(&c->keys, folder, role, e) : STATUS_OK;
}

void curve_close(struct curve *c)
{
    explicit_bzero(c, sizeof *c);
}

static bool set_text(void *socket, int option, const char *text)
{
    return zmq_setsockopt(socket, option, text, strlen(text) + 1) == 0;
}

static bool set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

bool curve_serve(void *socket, const char *secret)
{
    static const char domain[] = "bragg";
    return set_int(socket, ZMQ_CURVE_SERVER, 1) && set_text(socket, ZMQ_CURVE_SECRETKEY, secret) &&
           zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, domain, strlen(domain)) == 0;
}

static bool guard_client(const struct keys *k, void *socket)
{
    return set_text(socket, ZMQ_CURVE_SERVERKEY, k->server.public_key) &&
           set_text(socket, ZMQ_CURVE_PUBLICKEY, k->own.public_key) &&
           set_text(socket, ZMQ_CURVE_SECRETKEY, k->own.secret_key);
}

static void warn(const char *endpoint)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&said))
        log_line(LOG_WARNING,
                 "--insecure: %s has no keys: anybody who reaches it can read, take and forge "
                 "frames",
                 endpoint);
}

enum status curve_guard(const struct curve *c, void *socket, bool bind, const char *endpoint,
                        struct error *e)
{
    if (!endpoint_is_network(endpoint))
        return STATUS_OK;
    if (!c->keyed) {
        const enum status s = endpoint_check(endpoint, bind, c->insecure, e);
        if (s == STATUS_OK)
            warn(endpoint);
        return s;
    }
    if (bind && !c->keys.server.secret_key[0])
        return error_set(e, STATUS_USAGE,
                         "%s: who binds needs server.key_secret among its --keys, else connect",
                         endpoint);
    if (bind ? curve_serve(socket, c->keys.server.secret_key) : guard_client(&c->keys, socket))
        return STATUS_OK;
    return error_set(e, STATUS_FAILED, "%s: cannot use the keys: %s", endpoint,
                     zmq_strerror(errno));
}

/* Parts of a question. */
enum { VERSION, REQUEST, DOMAIN, ADDRESS, IDENTITY, MECHANISM, KEY, PARTS };

struct question {
    size_t nparts;
    struct text {
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
        struct text *part = &q->parts[q->nparts < PARTS ? q->nparts : PARTS - 1];
        int got;
        do
            got = zmq_recv(socket, part->bytes, sizeof part->bytes, 0);
        while (got < 0 && errno == EINTR);
        if (got < 0 || zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) != 0)
            return false;
        part->size = (size_t)got < sizeof part->bytes ? (size_t)got : sizeof part->bytes;
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
    enum { KEY_BYTES = 32 };
    char key[KEY_SIZE];
    if (q->nparts != PARTS || !is_text(q, MECHANISM, "CURVE") || q->parts[KEY].size != KEY_BYTES)
        return NULL;
    (void)zmq_z85_encode(key, q->parts[KEY].bytes, KEY_BYTES);
    return strcmp(key, z->client) == 0    ? ZAP_CLIENT
           : strcmp(key, z->watcher) == 0 ? ZAP_WATCHER
                                          : NULL;
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

/* Signals are for others. */
static enum status start_thread(struct zap *z, struct error *e)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    errno = program_thread(&z->thread, NULL, run, z);
    z->runs = errno == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return z->runs ? STATUS_OK : error_errno(e, STATUS_FAILED, "cannot start a thread");
}

enum status zap_open(struct zap *z, void *context, const struct keys *keys, struct error *e)
{
    memcpy(z->client, keys->client, sizeof z->client);
    memcpy(z->watcher, keys->watcher, sizeof z->watcher);
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

const char *curve_suspicion(const struct curve *c, const struct trial *t)
{
    if (t->failed > t->broken)
        return c->keyed ? "the other end has no keys" : "the other end wants keys: say --keys=DIR";
    if (!t->failed || t->admitted)
        return NULL;
    return c->keyed
               ? "every connection ends before the keys are agreed on: are they those of this run?"
               : "every connection ends at once: does the other end want keys (--keys=DIR)?";
}

const char *curve_verdict(const struct curve *c, struct trial *t, uint64_t now_ns)
{
    if (t->denied)
        return "my keys are refused";
    if (!t->failed || !t->failing_ns)
        t->failing_ns = now_ns;
    const uint64_t lasts_ns = now_ns - t->failing_ns;
    const bool sure = t->failed > t->broken
                          ? t->failed - t->broken >= FOREIGN_MIN && lasts_ns > FOREIGN_NS
                          : c->keyed && t->failed >= FAILURES_MIN && lasts_ns > FAILURES_NS;
    return sure ? curve_suspicion(c, t) : NULL;
}

/* Libzmq does not tell which ones fail: it is the least number that is open at any moment of a
 * while, as a handshake takes a moment only. */
unsigned curve_refused(struct trial *t, uint64_t now_ns)
{
    const unsigned open = t->accepted - t->admitted - t->refused;
    t->open = open < t->open ? open : t->open;
    if (now_ns < t->settled_ns + SETTLED_NS)
        return 0;
    const unsigned more = t->settled_ns ? t->open : 0;
    t->settled_ns = now_ns;
    t->refused += more;
    t->open = open - more;
    return more;
}
