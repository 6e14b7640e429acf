/* One page: what it asked for, and what it is being sent.  For server.c and http.c only. */
#ifndef BRAGG_WEB_SESSION_H
#define BRAGG_WEB_SESSION_H

#include <libwebsockets.h>
#include <pthread.h>
#include <stdatomic.h>

#include "web/request.h"
#include "web/server.h"
#include "web/tile.h"

/* The most connections that are not pages.  One more closes the oldest of them. */
enum { WEB_WAITING_MAX = 256 };

enum { TILES_KEPT = 4, SESSION_CHUNK = 1 << 17 };  // of tiles; bytes in a write

struct kept_tile {
    uint64_t number;
    struct web_region region;
    struct web_blob *blob;
};

struct web {
    struct lws_context *context;
    struct web_store store;
    char token[WEB_TOKEN_SIZE], cookie[32], host[256];
    pthread_t thread;
    bool runs;                // the thread does
    atomic_bool stop, leave;  // at once; when pages know that it is over
    atomic_int watchers;      // pages that somebody sees
    atomic_int pages;
    /* texts for all pages, under `lock` */
    pthread_mutex_t lock;
    const struct panel *panel;
    struct web_blob *stream, *end, *pipeline;
    uint64_t pipelines;  // how many texts of the pipeline there were
    /* of the thread */
    struct lws *waiting[WEB_WAITING_MAX];  // connections that are no pages, the oldest first
    size_t nwaiting;
    struct session *sessions;  // pages
    size_t answers_max;        // bytes of answers that are on their way, or kept
    struct kept_tile tiles[TILES_KEPT];
    size_t next_tile;
};

struct session {
    struct web *web;
    struct session *next;  // in web->sessions
    struct lws *wsi;
    uint64_t took_ns;  // when it last took a piece of an answer
    bool counted, looks;
    bool told_stream, told_end;
    uint64_t told_number;        // newest frame that the page was notified of
    uint64_t told_pipelines;     // latest text of the pipeline that it got
    char text[WEB_REQUEST_MAX];  // what came of a message, in pieces
    size_t length;
    bool asked[WEB_VERBS];
    struct web_request request[WEB_VERBS];
    struct web_blob *blob;  // on its way
    size_t sent;
};

/* A websocket begins, receives a part of a request, sends a part of an answer, and ends.  If the
 * result is false the caller closes the connection. */
bool session_open(struct session *s, struct web *web, struct lws *wsi);
bool session_take(struct session *s, struct lws *wsi, const char *text, size_t length);
bool session_send(struct session *s, struct lws *wsi);
void session_close(struct session *s);

/* Whether the page lacks a text or has not been notified of the newest frame. */
bool session_has_news(const struct session *s);

/* HTTP: whether the headers of a websocket are good. */
bool http_allows_socket(struct web *web, struct lws *wsi);
/* Answers for a path: the return value for libwebsockets. */
int http_answer(struct web *web, struct lws *wsi, const char *path);

#endif
