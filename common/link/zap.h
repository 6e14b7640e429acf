/*
 * Who may connect: answers what the sockets of a context ask (RFC 27, inproc://zeromq.zap.01).
 * The keys of clients and watchers are taken, under these names; others are not.
 */
#ifndef BRAGG_LINK_ZAP_H
#define BRAGG_LINK_ZAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "link/keys.h"

#define ZAP_CLIENT "client"
#define ZAP_WATCHER "watcher"

struct zap {
    bool runs;
    pthread_t thread;
    void *socket;  // of the thread
    struct {
        bool listed;
        uint8_t key[32];
        const char *user;
    } users[2];
};

/* Starts it in a context, before anything binds there; *z stays where it is. */
enum status zap_open(struct zap *z, void *context, const struct keys *keys, struct error *e);

/* Likewise in a context of its own, for somebody who ends that with zmq_ctx_term; NULL after an
 * error. */
void *zap_open_context(struct zap *z, const struct keys *keys, struct error *e);

/* After zmq_ctx_term, which ends it; nothing happens where there is none. */
void zap_close(struct zap *z);

#endif
