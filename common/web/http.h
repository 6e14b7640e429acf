/* Requests over HTTP/1.1.  A request is for a file of the page or for a websocket.  The files of
 * the page are compiled into the program. */
#ifndef BRAGG_WEB_HTTP_H
#define BRAGG_WEB_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "web/websocket.h"

enum {
    HTTP_HEAD_MAX = 8192,  // maximum number of bytes of a request up to its empty line
    HTTP_SWITCHING = 101   // status code of the answer that accepts a websocket
};

/* A file of the page.  The file is embedded in the program. */
struct web_file {
    const char *path;  // path in the address of the page
    const char *type;
    const char *begin, *end;
};

/* Rules by which the server accepts or refuses requests. */
struct http_rules {
    const char *host;    // a further name that Host headers may have; NULL: none
    const char *token;   // password that requests must contain; "": none is needed
    const char *cookie;  // name of the cookie that contains the token
    bool full;           // the maximum number of pages is open, so that no further page is
                         // accepted
};

struct http_answer {
    unsigned code;                // status code of HTTP
    const char *text;             // static: the reason, which is also the body if there is no file
    const struct web_file *file;  // the body; NULL: no file
    bool welcome;                 // the answer sets the cookie, and redirects to /
    char accept[WS_ACCEPT_SIZE];  // only for HTTP_SWITCHING: answer to the key of the client
                                  // (ws_accept)
};

/* Reads the request in head[0..n), and sets *a to the answer.  `head` must have room for one more
 * byte, and is overwritten. */
void http_read(char *head, size_t n, const struct http_rules *rules, struct http_answer *a);

/* Writes the answer to `out`.  Returns the number of its bytes; 0 if it has more than `size`
 * bytes. */
size_t http_write(const struct http_answer *a, const struct http_rules *rules, char *out,
                  size_t size);

#endif
