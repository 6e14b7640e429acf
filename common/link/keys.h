/*
 * The keys of a run, and how they guard tcp endpoints.
 *
 * Keys are files that ZeroMQ's own tools read, in a private folder:
 *
 *     server.key_secret, server.key      who binds
 *     client.key_secret, client.key      who connects, to take part
 *     watcher.key_secret, watcher.key    who connects to see how far the run is
 *
 * Each is text with the lines `public-key = "..."` and, in a .key_secret, `secret-key = "..."`:
 * 40 characters of Z85.
 *
 * A socket that is guarded uses ZeroMQ's CURVE.  A process that connects knows from the server's
 * key that it has reached the right process.  A process that binds takes only the keys of clients
 * and watchers: a thread answers libzmq, which asks about each key (RFC 27,
 * inproc://zeromq.zap.01).
 */
#ifndef BRAGG_LINK_KEYS_H
#define BRAGG_LINK_KEYS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { KEY_SIZE = 41 };  // with the terminator

struct key_pair {
    char public_key[KEY_SIZE], secret_key[KEY_SIZE];  // "": not known
};

struct keys {
    struct key_pair server;                    // secret: of who may bind
    struct key_pair own;                       // of who connects
    char client[KEY_SIZE], watcher[KEY_SIZE];  // public: whom a bound socket takes; "": nobody
};

/* What they are read for. */
enum keys_role {
    KEYS_STAGE,  // takes part; without server.key_secret it can only connect
    KEYS_WATCH,  // watches: server.key and watcher.key_secret are enough
    KEYS_SERVE,  // binds for clients: server.key_secret and client.key
};

/* Reads the keys of a folder.  STATUS_USAGE when others can reach the folder or a secret or can
 * write a file, or when one belongs to somebody else; STATUS_INPUT for what is no key;
 * STATUS_FAILED when a file cannot be opened. */
enum status keys_read(struct keys *k, const char *folder, enum keys_role role, struct error *e);

/* Makes three new pairs in `folder`, which is made (mode 0700), or is there and empty.  Leaves
 * nothing behind after an error.  STATUS_USAGE when something is in it. */
enum status keys_make(const char *folder, struct error *e);

/* --- sockets that the keys guard --------------------------------------------------------- */

struct curve {
    bool keyed;     // keys are there
    bool insecure;  // tcp without keys is allowed
    struct keys keys;
};

/* Reads the keys of `folder` (NULL: none) as keys_read does. */
enum status curve_open(struct curve *c, const char *folder, bool insecure, enum keys_role role,
                       struct error *e);

/* Forgets the keys. */
void curve_close(struct curve *c);

/* Before a socket of ZeroMQ binds or connects: gives it its keys where that is tcp.  STATUS_USAGE
 * for tcp without keys, unless that is allowed, which is said once. */
enum status curve_guard(const struct curve *c, void *socket, bool bind, const char *endpoint,
                        struct error *e);

/* Before a socket of ZeroMQ binds: takes only who knows the public key of the server whose secret
 * key, in Z85, this is, and whom zap_open lets in: without that libzmq takes all of these.  False,
 * with errno, when that cannot be. */
bool curve_serve(void *socket, const char *secret);

/* Who may connect, under these names. */
#define ZAP_CLIENT "client"
#define ZAP_WATCHER "watcher"

struct zap {
    bool runs;
    pthread_t thread;
    void *socket;                              // of the thread
    char client[KEY_SIZE], watcher[KEY_SIZE];  // "": nobody
};

/* Starts it in a context, before anything binds there; *z stays where it is. */
enum status zap_open(struct zap *z, void *context, const struct keys *keys, struct error *e);

/* Likewise in a context of its own, for somebody who ends that with zmq_ctx_term; NULL after an
 * error. */
void *zap_open_context(struct zap *z, const struct keys *keys, struct error *e);

/* After zmq_ctx_term, which ends it; nothing happens where there is none. */
void zap_close(struct zap *z);

/* What has happened to the connections of a socket. */
struct trial {
    unsigned accepted, admitted;  // bound: taken; both: established
    unsigned failed;              // ended before that, since one was established last; of these ...
    unsigned broken;              // ... so many without a reason that the other end gave
    uint64_t failing_ns;          // since when, 0: not noted yet
    bool denied;                  // connecting: the keys of this process are not on the list
    bool nobody;                  // connecting: nobody took a connection
    bool established;             // connecting: the latest was
    unsigned open, refused;       // bound: see curve_refused ...
    uint64_t settled_ns;          // ... likewise
};

/* Why no connection has come about so far, as far as that can be told, as the end of a sentence
 * that begins with the endpoint; NULL when none has failed. */
const char *curve_suspicion(const struct curve *c, const struct trial *t);

/* Likewise, once there is no hope that one comes about; NULL as long as there is. */
const char *curve_verdict(const struct curve *c, struct trial *t, uint64_t now_ns);

/* Of a bound socket, to be asked often: how many connections more have turned out to be without a
 * good key. */
unsigned curve_refused(struct trial *t, uint64_t now_ns);

#endif
