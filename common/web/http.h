/* Requests over HTTP/1.1.  A request is for a file of the page or for a websocket.  The files of
 * the page are compiled into the program. */
#ifndef BRAGG_WEB_HTTP_H
#define BRAGG_WEB_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "web/websocket.h"

enum {
    HTTP_HEAD_MAX = 8192,  // bytes of a request up to its empty line
    HTTP_SWITCHING = 101   // the code that accepts a websocket
};

/* A file of the page, which is part of the program. */
struct web_file {
    const char *path;  // in the address of the page
    const char *type;
    const char *begin, *end;
};

/* What the server allows. */
struct http_rules {
    const char *host;    // one more name in Host headers; NULL for none
    const char *token;   // password that requests must contain; "": none is needed
    const char *cookie;  // the name of the cookie that holds the token
    bool full;           // there is no room for one more page
};

struct http_answer {
    unsigned code;                // a status of HTTP
    const char *text;             // static, the reason; the body if there is no file
    const struct web_file *file;  // the body; NULL for none
    bool welcome;                 // sets the cookie, and redirects to /
    char accept[WS_ACCEPT_SIZE];  // of HTTP_SWITCHING
};

/* Reads the request in head[0..n), and fills *a.  `head` has room for one more byte.  The function
 * changes `head`. */
void http_read(char *head, size_t n, const struct http_rules *rules, struct http_answer *a);

/* Writes the answer to `out`, and returns the number of its bytes; 0 if `size` bytes are too few.
 */
size_t http_write(const struct http_answer *a, const struct http_rules *rules, char *out,
                  size_t size);

#endif
