#include "web/access.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/opt.h"

/* --- the head of a request --------------------------------------------------------------- */

char *http_cut(char *text, const char *end)
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

static bool split_header(struct http_head *r, char *line)
{
    char *value = http_cut(line, ":");
    if (!value || !is_name(line) || r->count == HTTP_HEADERS_MAX)
        return false;
    value += strspn(value, " \t");
    for (size_t n = strlen(value); n && strchr(" \t", value[n - 1]);)
        value[--n] = '\0';
    r->headers[r->count].name = line;
    r->headers[r->count++].value = value;
    return true;
}

bool http_head_split(struct http_head *r, char *head)
{
    char *next = http_cut(head, "\r\n");
    *r = (struct http_head){.method = head};
    r->target = next ? http_cut(head, " ") : NULL;
    r->version = r->target ? http_cut(r->target, " ") : NULL;
    if (!r->version || strchr(r->version, ' '))
        return false;
    for (char *line = next; strcmp(line, "\r\n") != 0; line = next) {
        next = http_cut(line, "\r\n");
        if (!next || !split_header(r, line))
            return false;
    }
    return true;
}

const char *http_header(const struct http_head *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcasecmp(r->headers[i].name, name) == 0)
            return r->headers[i].value;
    return "";
}

bool http_head_is_ambiguous(const struct http_head *r)
{
    static const char *const once[] = {"host",
                                       "origin",
                                       "cookie",
                                       "upgrade",
                                       "sec-websocket-key",
                                       "sec-websocket-version",
                                       "content-length",
                                       "transfer-encoding"};
    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        size_t n = 0;
        for (size_t j = 0; j < r->count; j++)
            n += strcasecmp(r->headers[j].name, once[i]) == 0;
        if (n > 1)
            return true;
    }
    return false;
}

/* --- access ------------------------------------------------------------------------------ */

/* Returns true if the text is empty, or is a colon and a port. */
static bool is_port(const char *text)
{
    const size_t digits = text[0] == ':' ? strspn(text + 1, "0123456789") : 0;
    return !text[0] || (digits >= 1 && digits <= 5 && !text[1 + digits]);
}

/* Copies a host without its port to `name`.  Sets *bracketed if the host is in brackets, as an
 * IPv6 address is.  Returns false if the host is empty, too long or followed by other text. */
static bool without_port(const char *host, char *name, size_t size, bool *bracketed)
{
    *bracketed = host[0] == '[';
    const char *first = host + *bracketed;
    const size_t length = strcspn(first, *bracketed ? "]" : ":");
    const char *behind = first + length;
    if (!length || length >= size || (*bracketed && *behind++ != ']') || !is_port(behind))
        return false;
    memcpy(name, first, length);
    name[length] = '\0';
    return true;
}

bool web_host_is_good(const char *host, const char *name)
{
    char bare[256];
    unsigned char address[16];
    bool bracketed;
    if (!without_port(host, bare, sizeof bare, &bracketed))
        return false;
    if (bracketed)
        return inet_pton(AF_INET6, bare, address) == 1;
    return strcasecmp(bare, "localhost") == 0 || (name && strcasecmp(bare, name) == 0) ||
           inet_pton(AF_INET, bare, address) == 1;
}

bool web_origin_is_good(const char *origin, const char *host)
{
    if (!origin[0])
        return true;
    for (int tls = 0; tls < 2; tls++) {
        const char *scheme = tls ? "https://" : "http://";
        const size_t n = strlen(scheme);
        if (strncasecmp(origin, scheme, n) == 0 && strcasecmp(origin + n, host) == 0)
            return true;
    }
    return false;
}

bool web_cookie(const char *cookies, const char *name, char *value, size_t size)
{
    const size_t n = strlen(name);
    for (const char *at = cookies; *at;) {
        at += strspn(at, "; ");
        const size_t length = strcspn(at, ";");
        if (length > n && strncmp(at, name, n) == 0 && at[n] == '=' && length - n - 1 < size) {
            memcpy(value, at + n + 1, length - n - 1);
            value[length - n - 1] = '\0';
            return true;
        }
        at += length;
    }
    return false;
}

bool web_token_equal(const char *token, const char *given)
{
    const size_t n = strlen(token), m = strlen(given);
    unsigned char differ = n != m;
    for (size_t i = 0; i < n; i++)
        differ |= (unsigned char)(token[i] ^ (i < m ? given[i] : '\0'));
    return !differ;
}

static bool is_good(const char *token)
{
    size_t n = 0;
    while (isalnum((unsigned char)token[n]) || token[n] == '-' || token[n] == '_')
        n++;
    return !token[n] && n >= WEB_TOKEN_MIN;
}

enum status web_token_read(const char *path, char token[WEB_TOKEN_SIZE], struct error *e)
{
    struct stat st;
    FILE *in = input_open(path);
    if (!in)
        return error_errno(e, STATUS_INPUT, "%s", path);
    const bool is_private = stat(path, &st) == 0 && !(st.st_mode & 077);
    if (!fgets(token, WEB_TOKEN_SIZE, in))
        token[0] = '\0';
    token[strcspn(token, "\n")] = '\0';
    const bool failed = ferror(in);
    const int why = errno;
    (void)fclose(in);
    if (failed) {
        errno = why;
        return error_errno(e, STATUS_INPUT, "%s", path);
    }
    if (!is_private)
        return error_set(e, STATUS_INPUT,
                         "%s: other users may read the token; set its mode with chmod 600", path);
    if (!is_good(token))
        return error_set(
            e, STATUS_INPUT,
            "%s:1: a token has %d to %d characters, which are letters, digits, - and _", path,
            WEB_TOKEN_MIN, WEB_TOKEN_SIZE - 2);
    return STATUS_OK;
}

enum status web_token_make(char token[WEB_TOKEN_SIZE], struct error *e)
{
    uint8_t bits[16];
    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return error_errno(e, STATUS_FAILED,
                           "cannot make a token: the kernel gives no random numbers");
    for (size_t i = 0; i < sizeof bits; i++)
        (void)snprintf(token + 2 * i, 3, "%02x", bits[i]);
    return STATUS_OK;
}

enum status web_bind_parse(const char *option, const char *given, char address[16], int *port,
                           bool *loopback, struct error *e)
{
    struct in_addr in;
    struct error ignored = {0};
    int64_t number = 0;
    const char *colon = strrchr(given, ':');
    const size_t length = colon ? (size_t)(colon - given) : 16;
    if (length < 16)
        (void)snprintf(address, 16, "%.*s", (int)length, given);
    if (length < 16 && strcmp(address, "localhost") == 0)
        (void)snprintf(address, 16, "127.0.0.1");
    if (length >= 16 || inet_pton(AF_INET, address, &in) != 1 ||
        parse_int(colon + 1, 0, 65535, "port", &number, &ignored))
        return error_set(e, STATUS_USAGE,
                         "--%s: '%s' is not ADDRESS:PORT, such as 127.0.0.1:8080; ADDRESS is "
                         "localhost or an IPv4 address, and port 0 is any free port",
                         option, given);
    *port = (int)number;
    *loopback = ntohl(in.s_addr) >> 24 == 127;
    return STATUS_OK;
}

enum status web_bind_try(const char *option, const char *given, const char *address, int port,
                         struct error *e)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)inet_pton(AF_INET, address, &at.sin_addr);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) ||
        bind(fd, (const struct sockaddr *)&at, sizeof at) || listen(fd, 1)) {
        (void)error_set(e, STATUS_FAILED, "--%s=%s: %s%s", option, given, strerror(errno),
                        errno == EADDRINUSE ? ". Give another port, or port 0 for a free one" : "");
        if (fd >= 0)
            (void)close(fd);
        return STATUS_FAILED;
    }
    (void)close(fd);
    return STATUS_OK;
}
