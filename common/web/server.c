/* The thread that serves pages. */
#include "web/server.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "web/session.h"

enum { LEAVE_MS = 500, FDS_MAX = 512 };

/* --- libwebsockets ------------------------------------------------------------- */

static void stop_waiting(struct web *web, const struct lws *wsi)
{
    for (size_t i = 0; i < web->nwaiting; i++)
        if (web->waiting[i] == wsi) {
            memmove(&web->waiting[i], &web->waiting[i + 1],
                    (--web->nwaiting - i) * sizeof *web->waiting);
            return;
        }
}

/* Adds a new connection to web->waiting.  If WEB_WAITING_MAX connections are not pages already,
 * closes the oldest of them. */
static void start_waiting(struct web *web, struct lws *wsi)
{
    if (web->nwaiting == WEB_WAITING_MAX) {
        struct lws *oldest = web->waiting[0];
        stop_waiting(web, oldest);
        lws_set_timeout(oldest, PENDING_TIMEOUT_HTTP_CONTENT, LWS_TO_KILL_ASYNC);
    }
    web->waiting[web->nwaiting++] = wsi;
}

/* Asks libwebsockets to call session_send for every page, so that the pages get the news. */
static void wake_pages(struct web *web)
{
    for (struct session *s = web->sessions; s; s = s->next)
        (void)lws_callback_on_writable(s->wsi);
}

static bool on_bytes(struct web *web, struct session *s, const void *bytes, size_t n)
{
    const bool was_page = s->counted;
    const bool good = session_take(s, bytes, n);
    if (s->counted && !was_page)
        stop_waiting(web, s->wsi);
    return good;
}

/* Callback of libwebsockets, which listens, waits, and keeps the bytes that the network does not
 * take.  Its own HTTP and websockets are not used: libwebsockets 4 accepts frames without a mask
 * and text that is not UTF-8, and closes connections without a close frame. */
static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t length)
{
    struct web *web = lws_context_user(lws_get_context(wsi));
    struct session *s = user;
    switch (reason) {
    case LWS_CALLBACK_RAW_ADOPT:
        session_open(s, web, wsi);
        start_waiting(web, wsi);
        return 0;
    case LWS_CALLBACK_RAW_RX:
        return on_bytes(web, s, in, length) ? 0 : -1;
    case LWS_CALLBACK_RAW_WRITEABLE:
        return session_send(s) ? 0 : -1;
    case LWS_CALLBACK_TIMER:
        return session_check(s) ? 0 : -1;
    case LWS_CALLBACK_RAW_CLOSE:
        stop_waiting(web, wsi);
        session_close(s);
        return 0;
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
        wake_pages(web);
        return 0;
    default:
        return 0;
    }
}

static const struct lws_protocols protocols[] = {
    {.name = "bragg-view",
     .callback = on_event,
     .per_session_data_size = sizeof(struct session),
     .tx_packet_size = SESSION_CHUNK},
    {0},
};

static void *serve(void *context)
{
    struct web *web = context;
    while (!atomic_load(&web->stop) && lws_service(web->context, 0) >= 0)
        ;
    return NULL;
}

/* --- the address --------------------------------------------------------------- */

static enum status listen_at(struct web *web, const char *address, int *port, struct error *e)
{
    const struct lws_context_creation_info info = {
        .port = *port,
        .iface = address,
        .protocols = protocols,
        .user = web,
        .listen_accept_role = "raw-skt",
        .listen_accept_protocol = protocols[0].name,
        .fd_limit_per_thread = FDS_MAX,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_DISABLE_IPV6 |
                   LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND |
                   LWS_SERVER_OPTION_ADOPT_APPLY_LISTEN_ACCEPT_CONFIG};
    lws_set_log_level(0, NULL);
    web->context = lws_create_context(&info);
    struct lws_vhost *vhost = web->context ? lws_create_vhost(web->context, &info) : NULL;
    if (!vhost)
        return error_set(e, STATUS_FAILED, "cannot serve at %s:%d", address, *port);
    *port = lws_get_vhost_listen_port(vhost);
    return STATUS_OK;
}

/* Starts the thread of the server.  All signals are blocked in this thread, because other threads
 * handle them. */
static enum status start_thread(struct web *web, struct error *e)
{
    sigset_t all, former;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    const int failed = pthread_create(&web->thread, NULL, serve, web);
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    web->runs = !failed;
    return failed ? error_set(e, STATUS_FAILED, "cannot start a thread: %s", strerror(failed))
                  : STATUS_OK;
}

enum status web_open(struct web **opened, const struct web_settings *settings,
                     char text[WEB_ADDRESS_SIZE], struct error *e)
{
    char address[16];
    int port;
    bool loopback;
    enum status s = web_bind_parse("bind", settings->bind, address, &port, &loopback, e);
    struct web *web = *opened = s ? NULL : mem_array(1, sizeof *web);
    if (s)
        return s;
    web->answers_max = settings->store_bytes / 4;
    web_store_open(&web->store, settings->store_bytes - web->answers_max);
    (void)pthread_mutex_init(&web->lock, NULL);
    (void)snprintf(web->token, sizeof web->token, "%s", settings->token ? settings->token : "");
    (void)snprintf(web->host, sizeof web->host, "%s", settings->host ? settings->host : "");
    s = web_bind_try("bind", settings->bind, address, port, e);
    if (s == STATUS_OK)
        s = listen_at(web, address, &port, e);
    if (s)
        return s;
    /* A browser sends a cookie to all ports of a host.  Therefore the name of the cookie contains
     * the port. */
    (void)snprintf(web->cookie, sizeof web->cookie, "bragg-view-%d", port);
    (void)snprintf(text, WEB_ADDRESS_SIZE, "http://%s:%d/%s%s", address, port,
                   web->token[0] ? "?token=" : "", web->token);
    return start_thread(web, e);
}

/* --- the content of the page --------------------------------------------------- */

struct web_store *web_frames(struct web *web)
{
    return &web->store;
}

bool web_is_watched(const struct web *web)
{
    return atomic_load(&web->watchers) > 0;
}

void web_news(struct web *web)
{
    if (atomic_load(&web->pages) > 0)
        lws_cancel_service(web->context);
}

/* Replaces the text *at, which all pages get, and wakes the pages. */
static void replace_text(struct web *web, struct web_blob **at, const char *json)
{
    struct web_blob *blob = web_blob_text(json);
    (void)pthread_mutex_lock(&web->lock);
    struct web_blob *former = *at;
    *at = blob;
    web_blob_drop(former);
    (void)pthread_mutex_unlock(&web->lock);
    lws_cancel_service(web->context);
}

void web_pipeline(struct web *web, const char *json)
{
    (void)pthread_mutex_lock(&web->lock);
    web->pipelines++;
    (void)pthread_mutex_unlock(&web->lock);
    replace_text(web, &web->pipeline, json);
}

void web_begin(struct web *web, const struct panel *panel, const char *json)
{
    (void)pthread_mutex_lock(&web->lock);
    web->panel = panel;
    (void)pthread_mutex_unlock(&web->lock);
    replace_text(web, &web->stream, json);
}

void web_end(struct web *web, const char *json)
{
    if (!web->end && web->runs)
        replace_text(web, &web->end, json);
}

/* Sends all pages their last texts and closes them, which takes at most LEAVE_MS.  Then ends the
 * thread. */
static void leave_pages(struct web *web)
{
    const struct timespec step = {.tv_nsec = 10000000};
    atomic_store(&web->leave, true);
    for (int ms = 0; ms < LEAVE_MS && atomic_load(&web->pages) > 0; ms += 10) {
        lws_cancel_service(web->context);
        (void)nanosleep(&step, NULL);
    }
    atomic_store(&web->stop, true);
    lws_cancel_service(web->context);
    (void)pthread_join(web->thread, NULL);
}

void web_close(struct web *web)
{
    if (!web)
        return;
    if (web->runs)
        leave_pages(web);
    if (web->context)
        lws_context_destroy(web->context);
    for (size_t i = 0; i < TILES_KEPT; i++)
        web_blob_drop(web->tiles[i].blob);
    web_blob_drop(web->stream);
    web_blob_drop(web->end);
    web_blob_drop(web->pipeline);
    web_store_close(&web->store);
    (void)pthread_mutex_destroy(&web->lock);
    mem_free(web);
}
