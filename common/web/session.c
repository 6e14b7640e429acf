/* What one page asked for, and what it is sent. */
#include "web/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { STALL_S = 30, RETRY_US = 100000 };  // how long a page may take nothing; see make_room
static const uint64_t STALL_CROWDED_NS = 2000000000;  // likewise, while answers have no room

bool session_open(struct session *s, struct web *web, struct lws *wsi)
{
    *s = (struct session){.web = web, .wsi = wsi};
    if (atomic_fetch_add(&web->pages, 1) >= WEB_PAGES_MAX) {
        (void)atomic_fetch_sub(&web->pages, 1);
        return false;
    }
    s->counted = true;
    s->next = web->sessions;
    web->sessions = s;
    return true;
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

bool session_take(struct session *s, struct lws *wsi, const char *text, size_t length)
{
    struct web_request r;
    if (length > sizeof s->text - s->length)
        return false;
    memcpy(s->text + s->length, text, length);
    s->length += length;
    if (lws_remaining_packet_payload(wsi) || !lws_is_final_fragment(wsi))
        return true;
    const size_t whole = s->length;
    s->length = 0;
    if (!web_request_read(s->text, whole, &r))
        return false;
    if (r.verb == WEB_LOOK) {
        set_looks(s, r.looks);
        return true;
    }
    s->asked[r.verb] = true;
    s->request[r.verb] = r;
    (void)lws_callback_on_writable(wsi);
    return true;
}

bool session_has_news(const struct session *s)
{
    struct web *web = s->web;
    (void)pthread_mutex_lock(&web->lock);
    const bool told = (!web->stream || s->told_stream) && (!web->end || s->told_end);
    (void)pthread_mutex_unlock(&web->lock);
    return !told || web_store_span(&web->store).newest != s->told_number;
}

/* --- answers --------------------------------------------------------------- */

/* A text that every page gets once; NULL if there is none or the page has it. */
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

/* The latest text of the pipeline, or NULL if the page has it. */
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

/* The tile of a region.  Pages that show the same region share one tile. */
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
    if (t->blob)
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

/* Whether there is room for one more answer.  If there is none, pages that have taken nothing for
 * STALL_CROWDED_NS are disconnected, and this page tries again after RETRY_US. */
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

/* The answer to the first request that has none yet; NULL without such a request. */
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

/* --- sending --------------------------------------------------------------- */

/* Sends the next piece of the answer. */
static bool send_chunk(struct session *s, struct lws *wsi)
{
    static unsigned char room[LWS_PRE + SESSION_CHUNK];  // one thread sends
    const size_t left = s->blob->size - s->sent, n = left < SESSION_CHUNK ? left : SESSION_CHUNK;
    const int kind = s->blob->text ? LWS_WRITE_TEXT : LWS_WRITE_BINARY;
    memcpy(room + LWS_PRE, s->blob->data + s->sent, n);
    const int flags = lws_write_ws_flags(kind, s->sent == 0, n == left);
    if (lws_write(wsi, room + LWS_PRE, n, (enum lws_write_protocol)flags) < (int)n)
        return false;
    s->sent += n;
    s->took_ns = clock_ns();
    lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, STALL_S);
    return true;
}

bool session_send(struct session *s, struct lws *wsi)
{
    if (!s->blob) {
        s->blob = next_blob(s);
        s->sent = 0;
        s->took_ns = clock_ns();
    }
    if (!s->blob)
        return !(atomic_load(&s->web->leave));
    if (!send_chunk(s, wsi))
        return false;
    if (s->sent == s->blob->size) {
        web_blob_drop(s->blob);
        s->blob = NULL;
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
    }
    (void)lws_callback_on_writable(wsi);
    return true;
}
