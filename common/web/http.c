#include "web/http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "web/access.h"

/* --- files of the page --------------------------------------------------------- */

/* Embeds a file of the folder page/ in the program.  The assembler reads the file. */
#define EMBED(symbol, file)                                                 \
    __asm__(".pushsection .rodata\n"                                        \
            ".global web_" #symbol "_begin, web_" #symbol "_end\n"          \
            ".hidden web_" #symbol "_begin, web_" #symbol "_end\n"          \
            "web_" #symbol "_begin: .incbin \"common/web/page/" file "\"\n" \
            "web_" #symbol "_end:\n"                                        \
            ".popsection\n");                                               \
    extern const char web_##symbol##_begin[], web_##symbol##_end[]

EMBED(index, "index.html");
EMBED(style, "style.css");
EMBED(main, "main.js");
EMBED(link, "link.js");
EMBED(image, "image.js");
EMBED(colors, "colors.js");
EMBED(geometry, "geometry.js");
EMBED(marks, "marks.js");
EMBED(pointer, "pointer.js");
EMBED(pipeline, "pipeline.js");
EMBED(strip, "strip.js");

#define SCRIPT(symbol)                                                                 \
    {                                                                                  \
        "/" #symbol ".js", "text/javascript", web_##symbol##_begin, web_##symbol##_end \
    }

static const struct web_file files[] = {
    {"/", "text/html; charset=utf-8", web_index_begin, web_index_end},
    {"/style.css", "text/css", web_style_begin, web_style_end},
    SCRIPT(main),
    SCRIPT(link),
    SCRIPT(image),
    SCRIPT(colors),
    SCRIPT(geometry),
    SCRIPT(marks),
    SCRIPT(pointer),
    SCRIPT(pipeline),
    SCRIPT(strip),
};

/* Returns the file with this path; NULL if there is none. */
static const struct web_file *find_file(const char *path)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}

#define PROTOCOL "bragg-view"

static void refuse_request(struct http_answer *a, unsigned code, const char *text)
{
    *a = (struct http_answer){.code = code, .text = text};
}

/* Returns true if a list of words, separated by commas, contains `word`. */
static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; *at;) {
        at += strspn(at, ", \t");
        const size_t length = strcspn(at, ", \t");
        if (length == n && strncasecmp(at, word, n) == 0)
            return true;
        at += length;
    }
    return false;
}

/* --- what is allowed ----------------------------------------------------------- */

static bool cookie_is_good(const struct http_head *r, const struct http_rules *rules)
{
    char value[WEB_TOKEN_SIZE];
    return !rules->token[0] ||
           (web_cookie(http_header(r, "cookie"), rules->cookie, value, sizeof value) &&
            web_token_equal(rules->token, value));
}

/* Returns true if the query of the address contains the token, as in the address that the program
 * prints. */
static bool query_is_good(const char *query, const struct http_rules *rules)
{
    char given[WEB_TOKEN_SIZE];
    for (const char *at = query; rules->token[0] && at && *at;) {
        const size_t n = strcspn(at, "&");
        if (n > 6 && strncmp(at, "token=", 6) == 0 && n - 6 < sizeof given) {
            memcpy(given, at + 6, n - 6);
            given[n - 6] = '\0';
            if (web_token_equal(rules->token, given))
                return true;
        }
        at += n + (at[n] == '&');
    }
    return false;
}

static void read_upgrade(const struct http_head *r, const struct http_rules *rules,
                         struct http_answer *a)
{
    *a = (struct http_answer){.code = HTTP_SWITCHING};
    if (strcasecmp(http_header(r, "upgrade"), "websocket") != 0 ||
        !has_word(http_header(r, "connection"), "upgrade"))
        refuse_request(a, 400, "This server upgrades to websockets only.");
    else if (strcmp(http_header(r, "sec-websocket-version"), "13") != 0)
        refuse_request(a, 426, "The version of the websocket is not supported; expected 13.");
    else if (!ws_accept(http_header(r, "sec-websocket-key"), a->accept))
        refuse_request(a, 400, "The key of the websocket is malformed.");
    else if (!has_word(http_header(r, "sec-websocket-protocol"), PROTOCOL))
        refuse_request(a, 400, "The protocol of the websocket must be " PROTOCOL ".");
    else if (!web_origin_is_good(http_header(r, "origin"), http_header(r, "host")))
        refuse_request(a, 403, "Pages of other servers may not connect.");
    else if (!cookie_is_good(r, rules))
        refuse_request(a, 403, "The request has no token.");
    else if (rules->full)
        refuse_request(a, 503, "Too many pages are open.");
}

static void read_file(const struct http_head *r, const struct http_rules *rules, const char *path,
                      const char *query, struct http_answer *a)
{
    *a = (struct http_answer){.code = 200, .text = "OK"};
    if (query_is_good(query, rules))
        *a = (struct http_answer){.code = 303, .text = "See Other", .welcome = true};
    else if (!cookie_is_good(r, rules))
        refuse_request(a, 403,
                       "The address has no token: use the address that bragg-view printed.");
    else if (!(a->file = find_file(path)))
        refuse_request(a, 404, "There is no such page.");
}

void http_read(char *head, size_t n, const struct http_rules *rules, struct http_answer *a)
{
    struct http_head r;
    head[n] = '\0';
    if (n >= HTTP_HEAD_MAX) {
        refuse_request(a, 431, "The request is too long.");
    } else if (strlen(head) < n || !http_head_split(&r, head) || http_head_is_ambiguous(&r)) {
        refuse_request(a, 400, "The request is malformed.");
    } else if (strcmp(r.version, "HTTP/1.1") != 0 && strcmp(r.version, "HTTP/1.0") != 0) {
        refuse_request(a, 505, "This server uses HTTP/1.1 only.");
    } else if (!web_host_is_good(http_header(&r, "host"), rules->host)) {
        refuse_request(a, 403, "The name in the address is not a name of this server.");
    } else if (strcmp(r.method, "GET") != 0) {
        refuse_request(a, 405, "This server answers GET only.");
    } else if (http_header(&r, "upgrade")[0]) {
        read_upgrade(&r, rules, a);
    } else {
        const char *query = http_cut(r.target, "?");
        read_file(&r, rules, r.target, query, a);
    }
}

/* --- answers ------------------------------------------------------------------- */

static const char *reason(unsigned code)
{
    switch (code) {
    case 200:
        return "OK";
    case 303:
        return "See Other";
    case 400:
        return "Bad Request";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 426:
        return "Upgrade Required";
    case 431:
        return "Request Header Fields Too Large";
    case 503:
        return "Service Unavailable";
    default:
        return "HTTP Version Not Supported";
    }
}

static int write_switch(const struct http_answer *a, char *out, size_t size)
{
    return snprintf(out, size,
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                    "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n"
                    "Sec-WebSocket-Protocol: " PROTOCOL "\r\n\r\n",
                    a->accept);
}

/* Writes the headers that only some answers have to `out`: redirect and cookie, or the headers of
 * the errors 405 and 426. */
static void write_extra(const struct http_answer *a, const struct http_rules *rules, char *out,
                        size_t size)
{
    out[0] = '\0';
    if (a->welcome)
        (void)snprintf(out, size,
                       "Location: /\r\nSet-Cookie: %s=%s; Path=/; HttpOnly; SameSite=Strict\r\n",
                       rules->cookie, rules->token);
    if (a->code == 405)
        (void)snprintf(out, size, "Allow: GET\r\n");
    if (a->code == 426)
        (void)snprintf(out, size, "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n");
}

size_t http_write(const struct http_answer *a, const struct http_rules *rules, char *out,
                  size_t size)
{
    char extra[WEB_TOKEN_SIZE + 160];
    const char *body = a->file ? a->file->begin : a->welcome ? "" : a->text;
    const size_t n = a->code == HTTP_SWITCHING ? 0
                     : a->file                 ? (size_t)(a->file->end - a->file->begin)
                                               : strlen(body);
    write_extra(a, rules, extra, sizeof extra);
    const int head =
        a->code == HTTP_SWITCHING
            ? write_switch(a, out, size)
            : snprintf(out, size,
                       "HTTP/1.1 %u %s\r\nServer: bragg-view\r\nContent-Type: %s\r\n"
                       "Content-Length: %zu\r\nConnection: close\r\n%s"
                       "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                       "Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n"
                       "Content-Security-Policy: default-src 'none'; script-src 'self'; "
                       "style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\r\n",
                       a->code, reason(a->code), a->file ? a->file->type : "text/plain", n, extra);
    if (head < 0 || (size_t)head + n > size)
        return 0;
    if (n)
        memcpy(out + head, body, n);
    return (size_t)head + n;
}
