/*
 * The keys of a run, which guard its tcp endpoints.
 *
 * Keys are files in a private folder.  ZeroMQ's own tools can read them:
 *
 *     server.key_secret, server.key      for processes that bind
 *     client.key_secret, client.key      for processes that connect and take part in the run
 *     watcher.key_secret, watcher.key    for processes that connect to see the progress of the run
 *
 * Each is text with the lines `public-key = "..."` and, in a .key_secret, `secret-key = "..."`:
 * 40 characters of Z85.
 *
 * A guarded socket uses the CURVE encryption of ZeroMQ.  A process that connects verifies with the
 * server's key that it has reached the right process.  A process that binds accepts only the keys
 * of clients and watchers.  For each new connection libzmq asks whether its key is accepted, and a
 * thread of this process answers (ZeroMQ RFC 27, endpoint inproc://zeromq.zap.01).
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
    struct key_pair server;                    // key of the process that binds.  The secret key is
                                               // known only to a process that may bind
    struct key_pair own;                       // key of this process when it connects
    char client[KEY_SIZE], watcher[KEY_SIZE];  // public keys that a bound socket accepts; "": none
};

/* The purpose for which keys are read. */
enum keys_role {
    KEYS_STAGE,  // takes part in the run; without server.key_secret the process can only connect
    KEYS_WATCH,  // observes the run; needs server.key and watcher.key_secret
    KEYS_SERVE,  // binds an endpoint for clients; needs server.key_secret and client.key
};

/* Reads the keys in a folder.  STATUS_USAGE: other users have access to the folder or to a secret
 * key, other users can write to a file, or a file belongs to another user.  STATUS_INPUT: a file is
 * not a key.  STATUS_FAILED: a file cannot be read, or ZeroMQ was built without CURVE.  After an
 * error *k is zero. */
enum status keys_read(struct keys *k, const char *folder, enum keys_role role, struct error *e);

/* Makes three new pairs of keys in `folder`.  Makes the folder (mode 0700) if it does not exist; an
 * existing folder must be empty.  Leaves no file behind after an error.  STATUS_USAGE: the folder
 * is not empty.  STATUS_FAILED: any other failure. */
enum status keys_make(const char *folder, struct error *e);

/* --- sockets that the keys guard --------------------------------------------------------- */

struct curve {
    bool keyed;        // the process has keys
    bool insecure;     // tcp without keys is allowed
    struct keys keys;  // only if `keyed`
};

/* Reads the keys in `folder` as keys_read does.  NULL: there are no keys. */
enum status curve_open(struct curve *c, const char *folder, bool insecure, enum keys_role role,
                       struct error *e);

/* Overwrites the keys in memory. */
void curve_close(struct curve *c);

/* Sets the keys of a ZeroMQ socket before it binds or connects to `endpoint`, if that is a tcp
 * endpoint.  STATUS_USAGE: tcp without keys is not allowed, or the process is to bind and does not
 * have the secret key of the server.  If tcp without keys is allowed, one warning says so. */
enum status curve_guard(const struct curve *c, void *socket, bool bind, const char *endpoint,
                        struct error *e);

/* Makes a ZeroMQ socket accept only clients that know the server's public key and whose own key
 * zap_open accepts.  Call before the socket binds.  secret: the server's secret key in Z85.
 * Without zap_open, libzmq accepts every client that knows the server's public key.  Returns false
 * and sets errno if the socket cannot be guarded. */
bool curve_serve(void *socket, const char *secret);

/* Makes a ZeroMQ socket prove the key `own`, and accept only a process with the key `server`.  Call
 * before the socket connects.  Returns false and sets errno if the socket cannot be guarded. */
bool curve_connect(void *socket, const struct keys *k);

/* Names under which libzmq reports the key of an accepted connection. */
#define ZAP_CLIENT "client"
#define ZAP_WATCHER "watcher"

/* The thread that answers libzmq which keys are accepted. */
struct zap {
    bool runs;
    pthread_t thread;
    void *socket;                              // used only by the thread
    char client[KEY_SIZE], watcher[KEY_SIZE];  // accepted public keys; "": none
};

/* Starts the thread in a ZeroMQ context.  Call before any socket of the context binds.  *z must
 * stay at its address until zap_close. */
enum status zap_open(struct zap *z, void *context, const struct keys *keys, struct error *e);

/* Makes a ZeroMQ context and starts the thread in it.  The caller ends the context with
 * zmq_ctx_term and then calls zap_close.  Returns NULL after an error. */
void *zap_open_context(struct zap *z, const struct keys *keys, struct error *e);

/* Waits for the end of the thread.  Call after zmq_ctx_term, which ends the thread.  Does nothing
 * if there is no thread. */
void zap_close(struct zap *z);

/* Events of the connections of a socket.  "Bound" and "connecting" name the sockets that use a
 * member. */
struct trial {
    unsigned accepted, admitted;  // bound: accepted connections; both: successful handshakes
    unsigned failed;              // connections that ended before their handshake succeeded,
                                  // since the last success
    unsigned broken;              // those of `failed` for which the peer gave no reason
    uint64_t failing_ns;          // since when connections fail; 0: not noted yet
    bool denied;                  // connecting: the peer does not accept the keys of this process
    bool nobody;                  // connecting: a process that accepts connections was not found
    bool established;             // connecting: the handshake of the latest connection succeeded
    unsigned open, refused;       // bound: counts of curve_refused
    uint64_t settled_ns;          // bound: when curve_refused last updated its counts
};

/* Returns the likely reason why no connection has been established so far.  The text is the end of
 * a sentence that begins with the endpoint.  NULL: no connection has failed, or the reason is
 * unknown. */
const char *curve_suspicion(const struct curve *c, const struct trial *t);

/* Returns the reason, as curve_suspicion does, once it is certain that no connection can be
 * established.  NULL: a connection may still be established. */
const char *curve_verdict(const struct curve *c, struct trial *t, uint64_t now_ns);

/* Bound sockets: returns the number of connections that were found to have no accepted key since
 * the last call.  Call often. */
unsigned curve_refused(struct trial *t, uint64_t now_ns);

#endif
