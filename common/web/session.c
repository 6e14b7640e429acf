/* One connection: its request, and then the requests and answers of its page. */
#include "web/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

enum {
    HEAD_S = 10,          // maximum time until a request is complete, s
    STALL_S = 30,         // maximum time during which a client takes no bytes, s
    DRAIN_S = 2,          // time that a client has to close its side, s
    CHECK_US = 30000000,  // time between two calls of session_check
    RETRY_US = 100000     // time until a page without room for its answer tries again (make_room)
};
static const uint64_t STALL_CROWDED_NS = 2000000000;  // replaces STALL_S if answers have no room
static const uint64_t SILENT_NS = 60000000000;        // maximum silence of a page; a ping is sent
                                                      // after half of this time

/* Buffer for the bytes to send.  All sessions share it, because only one thread sends. */
static unsigned char room[LWS_PRE + WS_HEAD_MAX + SESSION_CHUNK];

void session_open(struct session *s, struct web *web, struct lws *wsi)
{
    *s = (struct session){.web = web, .wsi = wsi, .heard_ns = clock_ns()};
    lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, HEAD_S);
}

static void set_looks(struct session *s, bool looks)
{
    if (looks != s->looks)
        (void)atomic_fetch_add(&s->web->watchers, looks ? 1 : -1);
    s->looks = looks;
}

void session_close(struct session *s)
{
    if (!s->counted)
        return;
    set_looks(s, false);
    struct session **at = &s->web->sessions;
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    (void)atomic_fetch_sub(&s->web->pages, 1);
    web_blob_drop(s->blob);
    *s = (struct session){0};
}

/* --- the request --------------------------------------------------------------- */

/* Sends `n` bytes that begin at room + LWS_PRE.  libwebsockets keeps the bytes that the network
 * does not take, and calls session_send when all bytes were sent.  Returns false if the
 * connection fails. */
static bool send_room(struct session *s, size_t n)
{
    lws_set_timeout(s->wsi, PENDING_TIMEOUT_USER_OK, STALL_S);
    (void)lws_callback_on_writable(s->wsi);
    return lws_write(s->wsi, room + LWS_PRE, n, LWS_WRITE_RAW) >= (int)n;
}

/* Turns the connection into the websocket of a page, and adds it to web->sessions. */
static void begin_page(struct session *s)
{
    s->phase = SESSION_PAGE;
    s->counted = true;
    s->next = s->web->sessions;
    s->web->sessions = s;
    (void)atomic_fetch_add(&s->web->pages, 1);
    lws_set_timer_usecs(s->wsi, CHECK_US);
}

static bool answer_head(struct session *s)
{
    struct web *web = s->web;
    struct http_answer a;
    const struct http_rules rules = {.host = web->host[0] ? web->host : NULL,
                                     .token = web->token,
                                     .cookie = web->cookie,
                                     .full = atomic_load(&web->pages) >= WEB_PAGES_MAX};
    http_read(s->head, s->nhead, &rules, &a);
    const size_t n = http_write(&a, &rules, (char *)room + LWS_PRE, sizeof room - LWS_PRE);
    if (a.code == HTTP_SWITCHING)
        begin_page(s);
    else
        s->phase = SESSION_FLUSH;
    return n && send_room(s, n);
}

/* Reads bytes of a request up to its end, and returns the number of bytes that were used.  If
 * the request is complete or too long, answers it and sets *good to whether the answer could be
 * sent. */
static size_t take_head(struct session *s, const unsigned char *bytes, size_t n, bool *good)
{
    size_t used = 0;
    bool whole = false;
    while (used < n && !whole && s->nhead < HTTP_HEAD_MAX) {
        s->head[s->nhead++] = (char)bytes[used++];
        whole = s->nhead >= 4 && memcmp(s->head + s->nhead - 4, "\r\n\r\n", 4) == 0;
    }
    if (whole || s->nhead == HTTP_HEAD_MAX)
        *good = answer_head(s);
    return used;
}

/* --- frames of the page -------------------------------------------------------- */

/* Drops the answer that is being sent, and prepares a close frame with this code and reason. */
static void begin_close(struct session *s, enum ws_code code, const char *why)
{
    set_looks(s, false);
    web_blob_drop(s->blob);
    s->blob = NULL;
    s->reader.code = code;
    s->reader.why = why;
    s->phase = SESSION_CLOSE;
    (void)lws_callback_on_writable(s->wsi);
}

static void take_message(struct session *s)
{
    struct web_request r;
    if (!web_request_read(s->reader.message, s->reader.length, &r)) {
        begin_close(s, WS_CODE_POLICY, "the text is not a request");
    } else if (r.verb == WEB_LOOK) {
        set_looks(s, r.looks);
    } else {
        s->asked[r.verb] = true;
        s->request[r.verb] = r;
        (void)lws_callback_on_writable(s->wsi);
    }
}

static size_t take_frames(struct session *s, const unsigned char *bytes, size_t n)
{
    enum ws_event event;
    const size_t used = ws_take(&s->reader, bytes, n, &event);
    if (event == WS_EVENT_MESSAGE)
        take_message(s);
    if (event == WS_EVENT_END)
        begin_close(s, s->reader.code, s->reader.why);
    if (event == WS_EVENT_PING) {
        s->owes_pong = true;
        s->npong = s->reader.ncontrol;
        memcpy(s->pong, s->reader.control, s->npong);
        (void)lws_callback_on_writable(s->wsi);
    }
    return used;
}

bool session_take(struct session *s, const unsigned char *bytes, size_t n)
{
    bool good = true;
    s->heard_ns = clock_ns();
    s->pinged = false;
    for (size_t used = 0; used < n && good && s->phase <= SESSION_PAGE;)
        used += s->phase == SESSION_HEAD ? take_head(s, bytes + used, n - used, &good)
                                         : take_frames(s, bytes + used, n - used);
    return good;
}

/* --- answers ------------------------------------------------------------------- */

/* Returns a text that every page gets once, and records that the page got it.  Returns NULL if
 * there is no text, or if the page already got it.  The caller becomes a user of the text. */
static struct web_blob *share(struct web *web, struct web_blob *const *text, bool *told)
{
    (void)pthread_mutex_lock(&web->lock);
    struct web_blob *b = *told ? NULL : *text;
    if (b)
        b->users++;
    (void)pthread_mutex_unlock(&web->lock);
    *told |= b != NULL;
    return b;
}

/* Returns the latest text about the pipeline.  Returns NULL if the page already has it. */
static struct web_blob *share_pipeline(struct session *s)
{
    struct web *web = s->web;
    (void)pthread_mutex_lock(&web->lock);
    const bool news = web->pipeline && s->told_pipelines != web->pipelines;
    s->told_pipelines = web->pipelines;
    (void)pthread_mutex_unlock(&web->lock);
    bool told = !news;
    return share(web, &web->pipeline, &told);
}

static struct web_blob *frames_text(struct session *s)
{
    char text[320];
    const struct web_span span = web_store_span(&s->web->store);
    if (span.newest == s->told_number)
        return NULL;
    s->told_number = span.newest;
    (void)snprintf(
        text, sizeof text,
        "{\"what\":\"frames\",\"oldest\":%" PRIu64 ",\"newest\":%" PRIu64 ",\"id\":%" PRIu64
        ",\"came\":%" PRIu64 ",\"hits\":%" PRIu64 ",\"time\":%.3f,\"brightness\":%.6g}",
        span.oldest, span.newest, span.id, span.came, span.hits, span.time_s, span.brightness);
    return web_blob_text(text);
}

/* Returns the tile of a region, which the caller must drop.  The latest tiles are kept, so that
 * pages that show the same region share one tile. */
static struct web_blob *shared_tile(struct web *web, const struct web_frame *f,
                                    const struct panel *panel, const struct web_region *r)
{
    for (size_t i = 0; i < TILES_KEPT; i++) {
        struct kept_tile *t = &web->tiles[i];
        if (t->blob && t->number == f->number && web_region_equal(&t->region, r)) {
            t->blob->users++;
            return t->blob;
        }
    }
    struct kept_tile *t = &web->tiles[web->next_tile++ % TILES_KEPT];
    web_blob_drop(t->blob);
    *t = (struct kept_tile){.number = f->number, .region = *r, .blob = web_tile(f, panel, r)};
    t->blob->users++;
    return t->blob;
}

static struct web_blob *answer_frame(struct web *web, const struct panel *panel,
                                     const struct web_request *r)
{
    struct web_frame *f = web_store_use(&web->store, r->number);
    if (!f)
        return web_gone(r->number);
    struct web_blob *b =
        r->verb == WEB_ASK_MARKS ? web_marks(f) : shared_tile(web, f, panel, &r->region);
    web_store_drop(&web->store, f);
    return b;
}

/* Returns true if there is room for one more answer.  Otherwise disconnects pages that have taken
 * no bytes for STALL_CROWDED_NS.  This page then tries again after RETRY_US. */
static bool make_room(struct session *s)
{
    struct web *web = s->web;
    for (size_t i = 0; i < TILES_KEPT && web_blob_bytes() >= web->answers_max; i++) {
        web_blob_drop(web->tiles[i].blob);
        web->tiles[i].blob = NULL;
    }
    if (web_blob_bytes() < web->answers_max)
        return true;
    for (struct session *other = web->sessions; other; other = other->next)
        if (other->blob && clock_ns() - other->took_ns > STALL_CROWDED_NS)
            lws_set_timeout(other->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
    lws_set_timer_usecs(s->wsi, RETRY_US);
    return false;
}

/* Returns the answer to the first request that has none yet.  Returns NULL if there is no such
 * request, or no room for its answer. */
static struct web_blob *next_answer(struct session *s)
{
    (void)pthread_mutex_lock(&s->web->lock);
    const struct panel *panel = s->web->panel;
    (void)pthread_mutex_unlock(&s->web->lock);
    int verb = 0;
    while (verb < WEB_VERBS && !s->asked[verb])
        verb++;
    if (!panel || verb == WEB_VERBS || !make_room(s))
        return NULL;
    struct web_request *r = &s->request[verb];
    s->asked[verb] = false;
    if (verb != WEB_ASK_MARKS &&
        !web_region_cut(&r->region, panel->fast_pixels, panel->slow_pixels))
        return web_gone(r->number);
    return verb == WEB_ASK_MASK ? web_mask(panel, &r->region) : answer_frame(s->web, panel, r);
}

static struct web_blob *next_blob(struct session *s)
{
    struct web_blob *b = share(s->web, &s->web->stream, &s->told_stream);
    if (!b)
        b = frames_text(s);
    if (!b)
        b = share(s->web, &s->web->end, &s->told_end);
    if (!b)
        b = share_pipeline(s);
    return b ? b : next_answer(s);
}

/* --- sending ------------------------------------------------------------------- */

/* Sends a frame whose payload of `n` bytes begins at room + LWS_PRE + WS_HEAD_MAX. */
static bool send_frame(struct session *s, enum ws_opcode opcode, bool final, size_t n)
{
    unsigned char head[WS_HEAD_MAX];
    const size_t size = ws_head(head, opcode, final, n);
    memmove(room + LWS_PRE + size, room + LWS_PRE + WS_HEAD_MAX, n);
    memcpy(room + LWS_PRE, head, size);
    return send_room(s, size + n);
}

static bool send_pong(struct session *s)
{
    s->owes_pong = false;
    memcpy(room + LWS_PRE + WS_HEAD_MAX, s->pong, s->npong);
    return send_frame(s, WS_PONG, true, s->npong);
}

/* Sends the close frame, which is the last frame of the connection. */
static bool send_close(struct session *s)
{
    s->phase = SESSION_FLUSH;
    const size_t n = ws_close_payload(room + LWS_PRE + WS_HEAD_MAX, s->reader.code, s->reader.why);
    return send_frame(s, WS_CLOSE, true, n);
}

/* Ends the server's side of the connection, and waits for the client.  If the server closed the
 * connection at once while bytes of the client are unread, the kernel would discard the answer
 * (RFC 6455 section 7.1.1). */
static bool end_side(struct session *s)
{
    s->phase = SESSION_DRAIN;
    lws_set_timeout(s->wsi, PENDING_TIMEOUT_USER_OK, DRAIN_S);
    return shutdown(lws_get_socket_fd(s->wsi), SHUT_WR) == 0;
}

/* Sends the next piece of the answer. */
static bool send_chunk(struct session *s)
{
    const size_t left = s->blob->size - s->sent, n = left < SESSION_CHUNK ? left : SESSION_CHUNK;
    const enum ws_opcode opcode = s->sent ? WS_CONTINUATION : s->blob->text ? WS_TEXT : WS_BINARY;
    memcpy(room + LWS_PRE + WS_HEAD_MAX, s->blob->data + s->sent, n);
    s->sent += n;
    s->took_ns = clock_ns();
    if (s->sent == s->blob->size) {
        web_blob_drop(s->blob);
        s->blob = NULL;
    }
    return send_frame(s, opcode, n == left, n);
}

static bool send_answer(struct session *s)
{
    if (s->owes_pong)
        return send_pong(s);
    if (!s->blob) {
        s->blob = next_blob(s);
        s->sent = 0;
        s->took_ns = clock_ns();
    }
    if (s->blob)
        return send_chunk(s);
    if (atomic_load(&s->web->leave))
        begin_close(s, WS_CODE_GOING_AWAY, "the program ends");
    return true;
}

bool session_send(struct session *s)
{
    if (s->phase == SESSION_PAGE || s->phase == SESSION_CLOSE)
        lws_set_timeout(s->wsi, NO_PENDING_TIMEOUT, 0);
    switch (s->phase) {
    case SESSION_PAGE:
        return send_answer(s);
    case SESSION_CLOSE:
        return send_close(s);
    case SESSION_FLUSH:
        return end_side(s);
    default:
        return true;
    }
}

bool session_check(struct session *s)
{
    const uint64_t silent_ns = clock_ns() - s->heard_ns;
    if (s->phase != SESSION_PAGE)
        return true;
    lws_set_timer_usecs(s->wsi, CHECK_US);
    (void)lws_callback_on_writable(s->wsi);
    if (silent_ns < SILENT_NS / 2 || lws_partial_buffered(s->wsi))
        return silent_ns < SILENT_NS;
    if (s->pinged)
        return silent_ns < SILENT_NS;
    s->pinged = true;
    return send_frame(s, WS_PING, true, 0);
}
