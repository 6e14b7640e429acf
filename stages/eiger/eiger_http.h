/* The HTTP server of bragg-eiger: connections that stay open, requests with a body, and answers
 * that are given later.  It runs in the loop of the caller. */
#ifndef BRAGG_EIGER_HTTP_H
#define BRAGG_EIGER_HTTP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { HTTP_CONNECTIONS_MAX = 256 };

/* Requests whose answer is given later, by http_finish. */
enum http_wait {
    HTTP_NOW,
    HTTP_WAIT_ARM,
    HTTP_WAIT_TRIGGER,
    HTTP_WAIT_NEXT,   // the next image of the monitor
    HTTP_WAIT_NEWEST  // the newest image of the monitor
};

struct http_request {
    const char *method;
    char *path, *query;  // query: NULL if there is none
    const char *body;    // ends with NUL
};

struct http_reply {
    unsigned code;
    const char *type;  // static
    char *body;        // owned, of malloc; NULL: empty
    size_t size;       // of the body; 0: the body is a text
    int file;          // owned: an open file of `size` bytes is the body; 0: none
    enum http_wait wait;
    uint64_t until_ns;  // when the answer to a request that waits is 408; 0: never
};

typedef void http_handler(void *state, struct http_request *request, struct http_reply *reply);

struct http;

/* Listens at an IPv4 address.  `host`: a further name for Host headers, or NULL.  STATUS_FAILED:
 * the port is not free. */
enum status http_open(struct http **http, const char *address, int port, const char *host,
                      http_handler *handler, void *state, struct error *e);
void http_close(struct http *http);

/* Allows PUT requests whose path has this ending, a static text, to have a body of `bytes` bytes
 * instead of 64 KiB.  One connection at a time may send such a body. */
void http_allow_large(struct http *http, const char *ending, size_t bytes);

/* Returns the port at which the server listens. */
int http_port(const struct http *http);

/* Writes what to poll to `files`, which has room for HTTP_CONNECTIONS_MAX + 1, and returns the
 * number of entries. */
size_t http_files(const struct http *http, struct pollfd *files);

/* Handles what poll has found in the files of http_files, and closes connections that are too
 * slow.  If all connections are taken, a new one replaces the one that has been idle longest. */
void http_turn(struct http *http, const struct pollfd *files, size_t count);

/* Gives all requests that wait this answer.  Takes ownership of the body. */
void http_finish(struct http *http, enum http_wait wait, struct http_reply reply);

/* Gives the answer to the request among them whose wait ends first, which must exist. */
void http_finish_first(struct http *http, enum http_wait wait, struct http_reply reply);

/* Returns true if a request waits for this. */
bool http_waits(const struct http *http, enum http_wait wait);

#endif
