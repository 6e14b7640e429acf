/* Which requests may see the page: checks of the headers before the server answers. */
#ifndef BRAGG_WEB_ACCESS_H
#define BRAGG_WEB_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { WEB_TOKEN_SIZE = 129, WEB_TOKEN_MIN = 16 };

/* Splits "ADDRESS:PORT" or "localhost:PORT", the value of --`option`, into an IPv4 address and a
 * port, from 0 (any free one) to 65535.  *loopback is true if only this host reaches the address.
 * STATUS_USAGE for anything else. */
enum status web_bind_parse(const char *option, const char *given, char address[16], int *port,
                           bool *loopback, struct error *e);

/* Listens at an address that web_bind_parse has split, and stops at once.  STATUS_FAILED with the
 * reason if another program has the port, or if it is not an address of this host: libwebsockets
 * does not report a reason. */
enum status web_bind_try(const char *option, const char *given, const char *address, int port,
                         struct error *e);

/* Whether a Host header is good: an IP address, localhost or `name` (NULL for none), with or
 * without a port.  Names of others may lead here against the user's will (DNS rebinding). */
bool web_host_is_good(const char *host, const char *name);

/* Whether a page of that Host may open a websocket: without an Origin, as programs ask, or with the
 * same. */
bool web_origin_is_good(const char *origin, const char *host);

/* The value of cookie `name`, up to `size` with its NUL; false when there is none, or none so
 * short. */
bool web_cookie(const char *cookies, const char *name, char *value, size_t size);

/* Compares in a time that does not depend on how many characters agree. */
bool web_token_equal(const char *token, const char *given);

/* The first line of a file that only its owner may read: letters, digits, - and _. */
enum status web_token_read(const char *path, char token[WEB_TOKEN_SIZE], struct error *e);

/* A new one of 128 random bits. */
enum status web_token_make(char token[WEB_TOKEN_SIZE], struct error *e);

#endif
