/* One connection to the web server: a request for a file of the page, or the websocket of a page.
 * Only server.c, session.c and http.c include this file. */
#ifndef BRAGG_WEB_SESSION_H
#define BRAGG_WEB_SESSION_H

#include <libwebsockets.h>
#include <pthread.h>
#include <stdatomic.h>

#include "web/http.h"
#include "web/request.h"
#include "web/server.h"
#include "web/websocket.h"

/* Maximum number of connections that are not pages.  If one more arrives, the oldest is closed. */
enum { WEB_WAITING_MAX = 256 };

enum { TILES_KEPT = 4, SESSION_CHUNK = 1 << 17 };  // number of kept tiles; bytes per write

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
    bool runs;                // the thread was started
    atomic_bool stop, leave;  // stop: the thread ends at once; leave: pages are closed after their
                              // last texts
    atomic_int watchers;      // number of pages that are visible to a person
    atomic_int pages;
    /* `lock` protects the texts for all pages. */
    pthread_mutex_t lock;
    const struct panel *panel;
    struct web_blob *stream, *end, *pipeline;
    uint64_t pipelines;  // number of texts about the pipeline so far
    /* Only the thread of the server uses the members below. */
    struct lws *waiting[WEB_WAITING_MAX];  // connections that are not pages, oldest first
    size_t nwaiting;
    struct session *sessions;  // list of all pages
    size_t answers_max;        // maximum number of bytes of all answers that are kept or being
                               // sent
    struct kept_tile tiles[TILES_KEPT];
    size_t next_tile;
};

enum session_phase {
    SESSION_HEAD,   // the request is not complete yet
    SESSION_PAGE,   // the connection is a websocket
    SESSION_CLOSE,  // a close frame must be sent
    SESSION_FLUSH,  // the last bytes have not been sent yet
    SESSION_DRAIN   // the server has ended its side, and waits for the client to end its own
};

struct session {
    struct web *web;
    struct session *next;  // next page in web->sessions
    struct lws *wsi;
    enum session_phase phase;
    char head[HTTP_HEAD_MAX + 1];  // the part of the request that has arrived
    size_t nhead;
    uint64_t took_ns;         // when the page last took a piece of an answer
    uint64_t heard_ns;        // when the client last sent a byte
    bool pinged, owes_pong;   // pinged: a ping was sent; owes_pong: a ping arrived and has no
                              // answer yet
    struct ws_reader reader;  // state of the websocket
    bool counted, looks;      // counted: the session is in web->sessions; looks: the page is
                              // visible to a person
    bool told_stream, told_end;
    uint64_t told_number;     // newest frame that the page was notified of
    uint64_t told_pipelines;  // number of the latest text about the pipeline that the page got
    bool asked[WEB_VERBS];
    struct web_request request[WEB_VERBS];
    unsigned char pong[WS_CONTROL_MAX];  // payload of the pong that must be sent
    size_t npong;
    struct web_blob *blob;  // the answer that is being sent; the session is one of its users
    size_t sent;            // number of bytes of `blob` that were sent
};

/* Begins a connection: sets all fields of *s.  `web` must outlive the connection. */
void session_open(struct session *s, struct web *web, struct lws *wsi);

/* Reads `n` bytes that the client sent.  Returns false if the caller must cut the connection. */
bool session_take(struct session *s, const unsigned char *bytes, size_t n);

/* Sends the next bytes.  Call it when all previous bytes were sent.  Returns false if the caller
 * must cut the connection. */
bool session_send(struct session *s);

/* Sends a ping to a page that has been silent.  Returns false if the page did not answer: the
 * caller must cut the connection. */
bool session_check(struct session *s);

/* Frees the memory of the session and removes it from web->sessions. */
void session_close(struct session *s);

#endif
