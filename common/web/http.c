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

/* --- the head of a request ----------------------------------------------------- */

enum { HEADERS_MAX = 64 };

/* The parts of a request.  The pointers point into the text of the request. */
struct request {
    const char *method, *version;
    char *target;
    size_t count;
    struct {
        const char *name, *value;
    } headers[HEADERS_MAX];
};

static void refuse(struct http_answer *a, unsigned code, const char *text)
{
    *a = (struct http_answer){.code = code, .text = text};
}

/* Ends the text at the first `end`, and returns the text after it.  Returns NULL if the text does
 * not contain `end`. */
static char *cut(char *text, const char *end)
{
    char *at = strstr(text, end);
    if (!at)
        return NULL;
    *at = '\0';
    return at + strlen(end);
}

static bool is_name(const char *name)
{
    return name[0] && !name[strspn(name, "!#$%&'*+-.^_`|~0123456789"
                                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")];
}

static bool split_header(struct request *r, char *line)
{
    char *value = cut(line, ":");
    if (!value || !is_name(line) || r->count == HEADERS_MAX)
        return false;
    value += strspn(value, " \t");
    for (size_t n = strlen(value); n && strchr(" \t", value[n - 1]);)
        value[--n] = '\0';
    r->headers[r->count].name = line;
    r->headers[r->count++].value = value;
    return true;
}

/* Splits the head of a request into *r.  Returns false if the head is malformed. */
static bool split(struct request *r, char *head)
{
    char *next = cut(head, "\r\n");
    *r = (struct request){.method = head};
    r->target = next ? cut(head, " ") : NULL;
    r->version = r->target ? cut(r->target, " ") : NULL;
    if (!r->version || strchr(r->version, ' '))
        return false;
    for (char *line = next; strcmp(line, "\r\n") != 0; line = next) {
        next = cut(line, "\r\n");
        if (!next || !split_header(r, line))
            return false;
    }
    return true;
}

/* Returns the value of a header; "" if the header is missing. */
static const char *header(const struct request *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcasecmp(r->headers[i].name, name) == 0)
            return r->headers[i].value;
    return "";
}

/* Returns true if a header that affects a decision appears twice.  Such a request is malformed,
 * because two programs could read different values. */
static bool is_ambiguous(const struct request *r)
{
    static const char *const once[] = {"host",
                                       "origin",
                                       "cookie",
                                       "upgrade",
                                       "sec-websocket-key",
                                       "sec-websocket-version",
                                       "content-length"};
    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        size_t n = 0;
        for (size_t j = 0; j < r->count; j++)
            n += strcasecmp(r->headers[j].name, once[i]) == 0;
        if (n > 1)
            return true;
    }
    return false;
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

static bool cookie_is_good(const struct request *r, const struct http_rules *rules)
{
    char value[WEB_TOKEN_SIZE];
    return !rules->token[0] ||
           (web_cookie(header(r, "cookie"), rules->cookie, value, sizeof value) &&
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

static void read_upgrade(const struct request *r, const struct http_rules *rules,
                         struct http_answer *a)
{
    *a = (struct http_answer){.code = HTTP_SWITCHING};
    if (strcasecmp(header(r, "upgrade"), "websocket") != 0 ||
        !has_word(header(r, "connection"), "upgrade"))
        refuse(a, 400, "This server upgrades to websockets only.");
    else if (strcmp(header(r, "sec-websocket-version"), "13") != 0)
        refuse(a, 426, "The version of the websocket must be 13.");
    else if (!ws_accept(header(r, "sec-websocket-key"), a->accept))
        refuse(a, 400, "The key of the websocket is malformed.");
    else if (!has_word(header(r, "sec-websocket-protocol"), PROTOCOL))
        refuse(a, 400, "The protocol of the websocket must be " PROTOCOL ".");
    else if (!web_origin_is_good(header(r, "origin"), header(r, "host")))
        refuse(a, 403, "Pages of other servers may not connect.");
    else if (!cookie_is_good(r, rules))
        refuse(a, 403, "The request has no token.");
    else if (rules->full)
        refuse(a, 503, "Too many pages are open.");
}

static void read_file(const struct request *r, const struct http_rules *rules, const char *path,
                      const char *query, struct http_answer *a)
{
    *a = (struct http_answer){.code = 200, .text = "OK"};
    if (query_is_good(query, rules))
        *a = (struct http_answer){.code = 303, .text = "See Other", .welcome = true};
    else if (!cookie_is_good(r, rules))
        refuse(a, 403, "The address has no token: use the address that bragg-view printed.");
    else if (!(a->file = find_file(path)))
        refuse(a, 404, "There is no such page.");
}

void http_read(char *head, size_t n, const struct http_rules *rules, struct http_answer *a)
{
    struct request r;
    head[n] = '\0';
    if (n >= HTTP_HEAD_MAX) {
        refuse(a, 431, "The request is too long.");
    } else if (strlen(head) < n || !split(&r, head) || is_ambiguous(&r)) {
        refuse(a, 400, "The request is malformed.");
    } else if (strcmp(r.version, "HTTP/1.1") != 0 && strcmp(r.version, "HTTP/1.0") != 0) {
        refuse(a, 505, "This server uses HTTP/1.1 only.");
    } else if (!web_host_is_good(header(&r, "host"), rules->host)) {
        refuse(a, 403, "The name in the address is not a name of this server.");
    } else if (strcmp(r.method, "GET") != 0) {
        refuse(a, 405, "This server answers GET only.");
    } else if (header(&r, "upgrade")[0]) {
        read_upgrade(&r, rules, a);
    } else {
        const char *query = cut(r.target, "?");
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
