/*
 * Endpoints: the addresses at which processes connect, such as ipc:///tmp/x and tcp://HOST:PORT.
 *
 * This file checks the syntax of endpoints and whether they are safe to use.  It also makes the
 * private folder for the sockets of a process, and the line of text through which two stages in a
 * shell pipe find each other.
 */
#ifndef BRAGG_LINK_ENDPOINT_H
#define BRAGG_LINK_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "wire/control.h"

/* Checks an endpoint `name` without a leading @.  It must begin with ipc:// or tcp://.  `bind`: the
 * process binds it, so that a free port (`:*`) is allowed.  `tcp`: tcp:// is allowed, because keys
 * guard it or --insecure is given.  STATUS_USAGE: the endpoint is not allowed. */
enum status endpoint_check(const char *name, bool bind, bool tcp, struct error *e);

/* Parses an endpoint as the user typed it.  Sets *bind to true if `text` is @ENDPOINT, and copies
 * ENDPOINT to `endpoint`.  Checks ENDPOINT as endpoint_check does. */
enum status endpoint_parse(const char *text, bool tcp, bool *bind, char endpoint[ENDPOINT_SIZE],
                           struct error *e);

/* Checks an endpoint that a stage binds for clients that are not stages.  `anywhere`: clients on
 * other hosts are allowed, because keys guard the endpoint or --insecure is given.  STATUS_USAGE:
 * the endpoint is not allowed. */
enum status endpoint_check_clients(const char *name, bool anywhere, struct error *e);

/* Prepares the path of an ipc endpoint that is to be bound: removes a socket at which no process
 * accepts connections.  Does nothing for other transports.  STATUS_USAGE: the path is not a socket,
 * or another process uses it.  STATUS_FAILED: the socket cannot be removed. */
enum status endpoint_clear(const char *endpoint, struct error *e);

/* Returns false for an ipc endpoint at which no process accepts connections.  Returns true for
 * every other endpoint. */
bool endpoint_answers(const char *endpoint);

/* Returns true for a tcp endpoint that refuses connections, and for an ipc endpoint at which no
 * process accepts them.  May take a second. */
bool endpoint_is_refused(const char *endpoint);

/* Replaces the host in a control endpoint that is bound on all interfaces (host 0.0.0.0 or [::]).
 * The new host is that of `via`, the data endpoint through which the control endpoint was received.
 * Does nothing to other endpoints. */
void endpoint_resolve(char endpoint[ENDPOINT_SIZE], const char *via);

/* Checks the owner of the socket file of an ipc endpoint.  STATUS_FAILED: the file belongs to
 * another user than this one and root, so that frames from it would be forged.  A file that does
 * not exist yet and other transports are accepted. */
enum status endpoint_check_owner(const char *endpoint, struct error *e);

/* Checks the user of the process at the other end of the connected ipc socket `fd`, as
 * endpoint_check_owner checks the owner of a file.  Accepts the process if the system does not
 * report its user. */
enum status endpoint_check_peer(const char *endpoint, int fd, struct error *e);

/* Returns true for an endpoint that only this host can reach. */
bool endpoint_is_local(const char *endpoint);

/* Returns true for a tcp endpoint.  Its connections can be cut and opened again, and messages
 * through it may be corrupt. */
bool endpoint_is_network(const char *endpoint);

/* Removes the socket file of a bound ipc endpoint.  Does nothing for other transports. */
void endpoint_remove(const char *endpoint);

/* A private folder for the sockets "data" and "control", and a small process that removes the
 * folder if this process is killed. */
struct folder {
    char path[ENDPOINT_SIZE];  // "": there is no folder
    int watched;               // write end of a pipe; the folder is removed when it is closed
    pid_t watcher;             // the process that removes the folder
};

/* Makes the folder (mode 0700) in XDG_RUNTIME_DIR or /tmp, under a random name, and starts the
 * process that removes it.  STATUS_FAILED: one of the two is not possible. */
enum status folder_open(struct folder *f, struct error *e);

/* Removes the folder with its sockets, and clears *f.  Does nothing if there is no folder. */
void folder_close(struct folder *f);

/* The line of text that passes through a shell pipe: "bragg1 RUN DATA CONTROL".  RUN is the id of
 * the run in hexadecimal digits, DATA and CONTROL are endpoints. */
#define PIPE_WORD "bragg1"

struct pipe_line {
    uint64_t run;                 // id of the run
    char data[ENDPOINT_SIZE];     // where the next stage gets experiment and frames
    char control[ENDPOINT_SIZE];  // where the source listens; "" in the stages before the source
};

enum { PIPE_LINE_SIZE = 2 * ENDPOINT_SIZE + 32 };

/* Formats the line, with the newline at its end. */
void pipe_line_format(const struct pipe_line *line, char text[PIPE_LINE_SIZE]);

/* Parses a line without the newline.  STATUS_USAGE: the text is not such a line. */
enum status pipe_line_parse(const char *text, struct pipe_line *line, struct error *e);

#endif
