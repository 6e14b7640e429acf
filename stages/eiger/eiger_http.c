#include "eiger_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "web/access.h"
#include "web/http.h"

enum { BODY_MAX = 65536, IN_MAX = HTTP_HEAD_MAX + BODY_MAX };
static const uint64_t SLOW_NS = 10000000000;  // time for a request, or for taking an answer
static const uint64_t DRAIN_NS = 2000000000;  // time in which a refused client can end its request

struct connection {
    int file;
    char *in;  // owned, room + 1 bytes; NULL until bytes arrive
    size_t nin, room;
    char *out;  // owned
    size_t nout, sent;
    int body;           // owned: file that is sent after `out`; 0: none
    size_t left;        // bytes of it that have not been sent
    uint64_t since_ns;  // when the request or the answer began; 0: nothing is pending
    uint64_t used_ns;   // when the connection was accepted, or last answered
    bool closes;        // after the answer
    bool refused;       // the answer came before the end of the request
    uint64_t drain_ns;  // when a refused client got its answer; 0: not yet
    bool headless;      // HEAD: the answer has no body
    bool continued;     // the client may send its body
    enum http_wait wait;
    uint64_t until_ns;  // end of the wait; 0: none
};

struct http {
    int listener;
    char host[128];
    const char *large_ending;  // paths whose bodies may have large_bytes; NULL: none
    size_t large_bytes;
    http_handler *handler;
    void *state;
    size_t count;
    struct connection connections[HTTP_CONNECTIONS_MAX];
};

/* --- answers ------------------------------------------------------------------- */

static const char *reason(unsigned code)
{
    static const struct {
        unsigned code;
        const char *text;
    } reasons[] = {{200, "OK"},
                   {204, "No Content"},
                   {400, "Bad Request"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {408, "Request Timeout"},
                   {411, "Length Required"},
                   {413, "Content Too Large"},
                   {431, "Request Header Fields Too Large"},
                   {500, "Internal Server Error"},
                   {503, "Service Unavailable"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].code == code)
            return reasons[i].text;
    return "HTTP Version Not Supported";
}

/* Ends the answer: nothing of it is left to be sent. */
static void end_answer(struct connection *c)
{
    if (c->body)
        (void)close(c->body);
    mem_free(c->out);
    c->out = NULL;
    c->body = 0;
    c->nout = c->sent = c->left = 0;
    c->since_ns = 0;
}

/* Sends a part of the file that is the body.  A client that takes some of it is not slow.  Returns
 * false if the rest has to wait, or if the connection is over. */
static bool send_file(struct connection *c)
{
    enum { PART = 1 << 20 };
    const ssize_t n = sendfile(c->file, c->body, NULL, c->left < PART ? c->left : PART);
    if (n > 0) {
        c->left -= (size_t)n;
        c->since_ns = clock_ns();
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        c->closes = true;
        end_answer(c);
    }
    return n > 0 && c->left == 0;
}

static void send_out(struct connection *c)
{
    while (c->sent < c->nout) {
        const ssize_t n = send(c->file, c->out + c->sent, c->nout - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) {
            c->closes |= errno != EAGAIN;
            c->nout = errno == EAGAIN ? c->nout : c->sent;
            c->left = errno == EAGAIN ? c->left : 0;
            return;
        }
        c->sent += n > 0 ? (size_t)n : 0;
    }
    if (!c->left || send_file(c))
        end_answer(c);
}

/* Puts head and body into one buffer, because some clients expect them in one segment of TCP. */
static void put_reply(struct connection *c, const struct http_reply *reply)
{
    char head[256];
    const size_t n = reply->size || reply->file ? reply->size
                     : reply->body              ? strlen(reply->body)
                                                : 0;
    int length =
        snprintf(head, sizeof head, "HTTP/1.1 %u %s\r\n", reply->code, reason(reply->code));
    if (n)
        length += snprintf(head + length, sizeof head - (size_t)length, "Content-Type: %s\r\n",
                           reply->type);
    if (c->closes)
        length += snprintf(head + length, sizeof head - (size_t)length, "Connection: close\r\n");
    if (reply->code != 204)
        length +=
            snprintf(head + length, sizeof head - (size_t)length, "Content-Length: %zu\r\n", n);
    length += snprintf(head + length, sizeof head - (size_t)length, "\r\n");
    const size_t body = c->headless || reply->file ? 0 : n;
    c->out = mem_room((size_t)length + body + 1);
    memcpy(c->out, head, (size_t)length);
    if (body)
        memcpy(c->out + length, reply->body, body);
    c->nout = (size_t)length + body;
    c->sent = 0;
    c->body = reply->file;
    c->left = reply->file && !c->headless ? n : 0;
    c->since_ns = c->used_ns = clock_ns();
    c->wait = HTTP_NOW;
    send_out(c);
}

static void refuse_request(struct connection *c, unsigned code, const char *text)
{
    char *body = strdup(text);
    c->closes = c->refused = true;
    put_reply(
        c, &(struct http_reply){.code = code, .type = "text/plain; charset=utf-8", .body = body});
    free(body);
}

/* --- requests ------------------------------------------------------------------ */

/* Reads the length of the body.  Returns false if the header is malformed. */
static bool read_length(const struct http_head *head, size_t *length)
{
    const char *text = http_header(head, "content-length");
    char *end;
    *length = 0;
    if (!*text)
        return true;
    if (strspn(text, "0123456789") != strlen(text) || strlen(text) > 18)
        return false;
    *length = strtoull(text, &end, 10);
    return true;
}

/* Returns true if the path of a request is one of http_allow_large. */
static bool is_large(const struct http *h, const struct http_head *head)
{
    const size_t n = strlen(head->target), ending = h->large_ending ? strlen(h->large_ending) : 0;
    return ending && n >= ending && strcmp(head->method, "PUT") == 0 &&
           strcmp(head->target + n - ending, h->large_ending) == 0;
}

/* Makes room for a large body, which one connection at a time may send.  Returns false if it was
 * refused. */
static bool make_body_room(struct http *h, struct connection *c, size_t bytes)
{
    if (bytes <= c->room)
        return true;
    for (size_t i = 0; i < h->count; i++)
        if (&h->connections[i] != c && h->connections[i].room > IN_MAX) {
            refuse_request(c, 503, "The server receives another large body.");
            return false;
        }
    char *in = mem_room(bytes + 1);
    memcpy(in, c->in, c->nin);
    mem_free(c->in);
    c->in = in;
    c->room = bytes;
    return true;
}

/* Refuses a request whose head is wrong.  Returns false if it was refused. */
static bool check_head(const struct http *h, struct connection *c, const struct http_head *head,
                       size_t *length)
{
    if (http_head_is_ambiguous(head) || !read_length(head, length))
        refuse_request(c, 400, "The request is malformed.");
    else if (strcmp(head->version, "HTTP/1.1") != 0 && strcmp(head->version, "HTTP/1.0") != 0)
        refuse_request(c, 505, "This server uses HTTP/1.1 only.");
    else if (!web_host_is_good(http_header(head, "host"), h->host[0] ? h->host : NULL))
        refuse_request(c, 403, "The name in the address is not a name of this server.");
    else if (http_header(head, "transfer-encoding")[0])
        refuse_request(c, 411, "The body needs Content-Length.");
    else if (*length > (is_large(h, head) ? h->large_bytes : BODY_MAX))
        refuse_request(c, 413, "The body is too large.");
    else
        return true;
    return false;
}

static void answer_request(struct http *h, struct connection *c, const struct http_head *head,
                           char *body)
{
    struct http_reply reply = {.code = 200, .type = "application/json; charset=utf-8"};
    struct http_request r = {.method = head->method, .path = head->target, .body = body};
    r.query = http_cut(head->target, "?");
    c->headless = strcmp(head->method, "HEAD") == 0;
    c->closes = strcasecmp(http_header(head, "connection"), "close") == 0 ||
                (strcmp(head->version, "HTTP/1.0") == 0 &&
                 strcasecmp(http_header(head, "connection"), "keep-alive") != 0);
    h->handler(h->state, &r, &reply);
    c->wait = reply.wait;
    c->until_ns = reply.until_ns;
    c->since_ns = 0;
    if (!reply.wait)
        put_reply(c, &reply);
    free(reply.body);
}

/* Allows the client once to send its body. */
static void allow_body(struct connection *c, const struct http_head *head)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (!c->continued && strcasecmp(http_header(head, "expect"), "100-continue") == 0)
        (void)send(c->file, text, sizeof text - 1, MSG_NOSIGNAL);
    c->continued = true;
}

/* Answers the request at the begin of c->in.  Returns false if it is not complete. */
static bool take_request(struct http *h, struct connection *c)
{
    char text[HTTP_HEAD_MAX + 1];
    struct http_head head;
    size_t length;
    const char *end = memmem(c->in, c->nin, "\r\n\r\n", 4);
    const size_t n = end ? (size_t)(end - c->in) + 4 : c->nin;
    if (n > HTTP_HEAD_MAX) {
        refuse_request(c, 431, "The request is too long.");
        return false;
    }
    if (!end)
        return false;
    memcpy(text, c->in, n);
    text[n] = '\0';
    if (strlen(text) < n || !http_head_split(&head, text)) {
        refuse_request(c, 400, "The request is malformed.");
        return false;
    }
    if (!check_head(h, c, &head, &length))
        return false;
    if (!make_body_room(h, c, n + length))
        return false;
    if (c->nin < n + length) {
        allow_body(c, &head);
        return false;
    }
    char *body = mem_room(length + 1);
    memcpy(body, c->in + n, length);
    body[length] = '\0';
    memmove(c->in, c->in + n + length, c->nin -= n + length);
    c->continued = false;
    if (!c->nin && c->room > IN_MAX) {
        mem_free(c->in);
        c->in = NULL;
        c->room = 0;
    }
    answer_request(h, c, &head, body);
    mem_free(body);
    return true;
}

/* Answers requests while none waits for its answer. */
static void take_requests(struct http *h, struct connection *c)
{
    while (c->nin && !c->nout && !c->wait && !c->closes && take_request(h, c))
        ;
    if (c->nin && !c->wait && !c->since_ns)
        c->since_ns = clock_ns();
}

/* --- connections ---------------------------------------------------------------- */

static void drop_connection(struct http *h, size_t i)
{
    struct connection *c = &h->connections[i];
    end_answer(c);
    (void)close(c->file);
    mem_free(c->in);
    *c = h->connections[--h->count];
}

/* Makes room for a connection: drops the one that has been idle longest.  Returns false if all
 * connections have requests or answers under way. */
static bool make_room(struct http *h)
{
    size_t oldest = h->count;
    for (size_t i = 0; i < h->count; i++) {
        const struct connection *c = &h->connections[i];
        const bool idle = !c->since_ns && !c->wait;
        if (idle && (oldest == h->count || c->used_ns < h->connections[oldest].used_ns))
            oldest = i;
    }
    if (oldest == h->count)
        return false;
    drop_connection(h, oldest);
    return true;
}

static void accept_all(struct http *h)
{
    for (;;) {
        const int file = accept4(h->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (file < 0)
            return;
        if (h->count == HTTP_CONNECTIONS_MAX && !make_room(h)) {
            (void)close(file);
            continue;
        }
        const int one = 1;
        (void)setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        h->connections[h->count++] = (struct connection){.file = file, .used_ns = clock_ns()};
    }
}

/* Reads what has arrived.  Returns false if the client has closed the connection. */
static bool read_in(struct connection *c)
{
    if (!c->in)
        c->in = mem_room((c->room = IN_MAX) + 1);
    const ssize_t n = recv(c->file, c->in + c->nin, c->room - c->nin, 0);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    c->nin += (size_t)n;
    return n > 0;
}

/* Discards what a refused client still sends, because it could lose its answer if the connection
 * was reset.  Returns false if the connection is over. */
static bool drain(struct connection *c)
{
    if (!c->drain_ns) {
        (void)shutdown(c->file, SHUT_WR);
        c->drain_ns = clock_ns();
    }
    c->nin = 0;
    return clock_ns() - c->drain_ns < DRAIN_NS;
}

/* Returns false if the connection is over. */
static bool turn_connection(struct http *h, struct connection *c, short events)
{
    if (events & (POLLERR | POLLNVAL))
        return false;
    if (events & POLLOUT)
        send_out(c);
    if (events & (POLLIN | POLLHUP) && !c->nout && !read_in(c))
        return false;
    take_requests(h, c);
    if (c->closes && !c->nout && !c->wait)
        return c->refused && drain(c);
    return !c->since_ns || clock_ns() - c->since_ns < SLOW_NS;
}

size_t http_files(const struct http *h, struct pollfd *files)
{
    files[0] = (struct pollfd){.fd = h->listener, .events = POLLIN};
    for (size_t i = 0; i < h->count; i++) {
        const struct connection *c = &h->connections[i];
        const bool full = c->nin && c->nin == c->room;
        files[i + 1] = (struct pollfd){.fd = c->file,
                                       .events = c->nout ? POLLOUT
                                                 : full  ? 0
                                                         : POLLIN};
    }
    return h->count + 1;
}

/* Answers requests whose wait is over. */
static void expire(struct http *h)
{
    char text[] = "There was no image in this time.";
    const uint64_t now_ns = clock_ns();
    for (size_t i = 0; i < h->count; i++) {
        struct connection *c = &h->connections[i];
        if (c->wait && c->until_ns && now_ns >= c->until_ns)
            put_reply(c, &(struct http_reply){
                             .code = 408, .type = "text/plain; charset=utf-8", .body = text});
    }
}

void http_turn(struct http *h, const struct pollfd *files, size_t count)
{
    for (size_t i = count - 1; i > 0; i--)
        if (!turn_connection(h, &h->connections[i - 1], files[i].revents))
            drop_connection(h, i - 1);
    if (files[0].revents)
        accept_all(h);
    expire(h);
}

bool http_waits(const struct http *h, enum http_wait wait)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->connections[i].wait == wait)
            return true;
    return false;
}

void http_finish_first(struct http *h, enum http_wait wait, struct http_reply reply)
{
    struct connection *first = NULL;
    for (size_t i = 0; i < h->count; i++) {
        struct connection *c = &h->connections[i];
        if (c->wait == wait && (!first || c->until_ns < first->until_ns))
            first = c;
    }
    if (first)
        put_reply(first, &reply);
    free(reply.body);
}

void http_finish(struct http *h, enum http_wait wait, struct http_reply reply)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->connections[i].wait == wait)
            put_reply(&h->connections[i], &reply);
    free(reply.body);
}

/* --- the server ----------------------------------------------------------------- */

void http_allow_large(struct http *h, const char *ending, size_t bytes)
{
    h->large_ending = ending;
    h->large_bytes = bytes;
}

enum status http_open(struct http **opened, const char *address, int port, const char *host,
                      http_handler *handler, void *state, struct error *e)
{
    struct http *h = *opened = mem_array(1, sizeof *h);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int one = 1;
    h->handler = handler;
    h->state = state;
    (void)snprintf(h->host, sizeof h->host, "%s", host ? host : "");
    h->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)inet_pton(AF_INET, address, &at.sin_addr);
    (void)setsockopt(h->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(h->listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(h->listener, HTTP_CONNECTIONS_MAX) != 0)
        return error_set(e, STATUS_FAILED, "--bind: cannot listen at %s:%d: %s%s", address, port,
                         strerror(errno),
                         errno == EADDRINUSE ? ". Give another port, or port 0 for a free one"
                                             : "");
    return STATUS_OK;
}

int http_port(const struct http *h)
{
    struct sockaddr_in at = {0};
    socklen_t size = sizeof at;
    (void)getsockname(h->listener, (struct sockaddr *)&at, &size);
    return ntohs(at.sin_port);
}

void http_close(struct http *h)
{
    if (!h)
        return;
    while (h->count)
        drop_connection(h, 0);
    (void)close(h->listener);
    mem_free(h);
}
