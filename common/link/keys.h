/*
 * Keys of a run: files that ZeroMQ's own tools read, in a private folder.
 *
 *     server.key_secret, server.key      who binds
 *     client.key_secret, client.key      who connects, to take part
 *     watcher.key_secret, watcher.key    who connects to see how far the run is
 *
 * Each is text with the lines `public-key = "..."` and, in a .key_secret, `secret-key = "..."`:
 * 40 characters of Z85.
 */
#ifndef BRAGG_LINK_KEYS_H
#define BRAGG_LINK_KEYS_H

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

#endif
