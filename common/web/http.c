/* The page itself, and what is refused. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "web/page.h"
#include "web/session.h"

enum { HEADER_SIZE = 1024 };

/* A header, "" when there is none or it is too long. */
static void header(struct lws *wsi, enum lws_token_indexes token, char text[HEADER_SIZE])
{
    if (lws_hdr_copy(wsi, text, HEADER_SIZE, token) < 0)
        text[0] = '\0';
}

static int refuse(struct lws *wsi, unsigned code, const char *why)
{
    (void)lws_return_http_status(wsi, code, why);
    return -1;
}

static bool host_is_good(struct web *web, struct lws *wsi, char host[HEADER_SIZE])
{
    header(wsi, WSI_TOKEN_HOST, host);
    return web_host_is_good(host, web->host[0] ? web->host : NULL);
}

static bool cookie_is_good(struct web *web, struct lws *wsi)
{
    char cookies[HEADER_SIZE], value[WEB_TOKEN_SIZE];
    header(wsi, WSI_TOKEN_HTTP_COOKIE, cookies);
    return !web->token[0] || (web_cookie(cookies, web->cookie, value, sizeof value) &&
                              web_token_equal(web->token, value));
}

/* The token behind the address, as the program prints it. */
static bool address_is_good(struct web *web, struct lws *wsi)
{
    char given[WEB_TOKEN_SIZE + 16];
    const char *value = lws_get_urlarg_by_name(wsi, "token=", given, sizeof given);
    return web->token[0] && value && web_token_equal(web->token, value);
}

bool http_allows_socket(struct web *web, struct lws *wsi)
{
    char host[HEADER_SIZE], origin[HEADER_SIZE];
    header(wsi, WSI_TOKEN_ORIGIN, origin);
    /* an Origin that is too long for the buffer cannot be checked */
    if (!origin[0] && lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) > 0)
        return false;
    return host_is_good(web, wsi, host) && web_origin_is_good(origin, host) &&
           cookie_is_good(web, wsi);
}

/* --- answers --------------------------------------------------------------- */

struct answer {
    unsigned char buffer[LWS_PRE + 2048];
    unsigned char *at, *end;
};

static bool add(struct answer *a, struct lws *wsi, const char *name, const char *value)
{
    return lws_add_http_header_by_name(wsi, (const unsigned char *)name,
                                       (const unsigned char *)value, (int)strlen(value), &a->at,
                                       a->end) == 0;
}

static bool begin(struct answer *a, struct lws *wsi, unsigned code, const char *type, size_t size)
{
    a->at = a->buffer + LWS_PRE;
    a->end = a->buffer + sizeof a->buffer;
    return lws_add_http_common_headers(wsi, code, type, size, &a->at, a->end) == 0 &&
           add(a, wsi, "cache-control:", "no-store") &&
           add(a, wsi, "x-content-type-options:", "nosniff") &&
           add(a, wsi, "referrer-policy:", "no-referrer") &&
           add(a, wsi, "x-frame-options:", "DENY") &&
           add(a, wsi, "content-security-policy:",
               "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
               "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

static int finish(struct answer *a, struct lws *wsi)
{
    return lws_finalize_write_http_header(wsi, a->buffer + LWS_PRE, &a->at, a->end) ? -1 : 0;
}

/* A request with the token gets the token as a cookie, and is redirected to the address without
 * it. */
static int welcome(struct web *web, struct lws *wsi)
{
    struct answer a;
    char cookie[WEB_TOKEN_SIZE + 96];
    (void)snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", web->cookie,
                   web->token);
    if (!begin(&a, wsi, HTTP_STATUS_SEE_OTHER, "text/plain", 0) ||
        !add(&a, wsi, "location:", "/") || !add(&a, wsi, "set-cookie:", cookie) || finish(&a, wsi))
        return -1;
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int send_file(struct lws *wsi, const struct web_file *file)
{
    struct answer a;
    const size_t size = (size_t)(file->end - file->begin);
    if (!begin(&a, wsi, HTTP_STATUS_OK, file->type, size) || finish(&a, wsi))
        return -1;
    unsigned char *room = mem_array(1, LWS_PRE + size);
    if (!room)
        return -1;
    memcpy(room + LWS_PRE, file->begin, size);
    const int n = lws_write(wsi, room + LWS_PRE, size, LWS_WRITE_HTTP_FINAL);
    mem_free(room);
    return n < (int)size || lws_http_transaction_completed(wsi) ? -1 : 0;
}

int http_answer(struct web *web, struct lws *wsi, const char *path)
{
    char host[HEADER_SIZE];
    if (!host_is_good(web, wsi, host))
        return refuse(wsi, HTTP_STATUS_FORBIDDEN, "This name is not one of this server's.");
    if (address_is_good(web, wsi))
        return welcome(web, wsi);
    if (!cookie_is_good(web, wsi))
        return refuse(wsi, HTTP_STATUS_FORBIDDEN, "The address lacks its token.");
    if (lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) <= 0)
        return refuse(wsi, HTTP_STATUS_METHOD_NOT_ALLOWED, "GET is what there is.");
    const struct web_file *file = web_page_find(path);
    return file ? send_file(wsi, file) : refuse(wsi, HTTP_STATUS_NOT_FOUND, "No such page.");
}
