/* Requests over HTTP: their heads, and which of them may see the page (checks of headers, tokens
 * and addresses). */
#ifndef BRAGG_WEB_ACCESS_H
#define BRAGG_WEB_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* --- the head of a request over HTTP/1.1: its first line and its headers ----------------- */

enum { HTTP_HEADERS_MAX = 64 };

/* The parts of a request.  The pointers point into the text of the request. */
struct http_head {
    const char *method, *version;
    char *target;
    size_t count;
    struct {
        const char *name, *value;
    } headers[HTTP_HEADERS_MAX];
};

/* Ends the text at the first `end`, and returns the text after it.  Returns NULL if the text does
 * not contain `end`. */
char *http_cut(char *text, const char *end);

/* Splits the head of a request, up to its empty line, into *r.  Returns false if the head is
 * malformed. */
bool http_head_split(struct http_head *r, char *head);

/* Returns the value of a header; "" if the header is missing. */
const char *http_header(const struct http_head *r, const char *name);

/* Returns true if a header that affects a decision appears twice.  Such a request is malformed,
 * because two programs could read different values. */
bool http_head_is_ambiguous(const struct http_head *r);

/* --- access ------------------------------------------------------------------------------ */

enum { WEB_TOKEN_SIZE = 129, WEB_TOKEN_MIN = 16 };

/* Splits "ADDRESS:PORT" or "localhost:PORT", the value of --`option`, into an IPv4 address and a
 * port from 0 to 65535; 0 means any free port.  *loopback is true if only this host reaches the
 * address.  STATUS_USAGE for any other text. */
enum status web_bind_parse(const char *option, const char *given, char address[16], int *port,
                           bool *loopback, struct error *e);

/* Listens at an address that web_bind_parse has split, and stops at once.  STATUS_FAILED, with the
 * reason, if another program has the port or if this host does not have the address.  libwebsockets
 * does not report a reason. */
enum status web_bind_try(const char *option, const char *given, const char *address, int port,
                         struct error *e);

/* Returns true if a Host header is accepted: an IP address, localhost or `name` (NULL: no further
 * name), with or without a port.  Other names are rejected, because a foreign name may lead to
 * this host against the user's will (DNS rebinding). */
bool web_host_is_good(const char *host, const char *name);

/* Returns true if a page of this Origin may open a websocket to this Host.  The Origin must name
 * the Host.  An empty Origin is allowed, because it comes from a program that is not a browser. */
bool web_origin_is_good(const char *origin, const char *host);

/* Copies the value of the cookie `name` to `value`, which has `size` bytes including the NUL.
 * Returns false if there is no such cookie. */
bool web_cookie(const char *cookies, const char *name, char *value, size_t size);

/* Returns true if two tokens are equal.  The time does not depend on the number of equal
 * characters, which an attacker could measure. */
bool web_token_equal(const char *token, const char *given);

/* Reads a token from the first line of a file: WEB_TOKEN_MIN or more letters, digits, - and _.
 * STATUS_INPUT if the file cannot be read, if other users may read it, or for any other text. */
enum status web_token_read(const char *path, char token[WEB_TOKEN_SIZE], struct error *e);

/* Makes a token of 128 random bits.  STATUS_FAILED if the kernel gives no random numbers. */
enum status web_token_make(char token[WEB_TOKEN_SIZE], struct error *e);

#endif
