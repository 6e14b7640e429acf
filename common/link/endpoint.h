/* Endpoints: their syntax, what may be bound, the private folder, the line in the pipe. */
#ifndef BRAGG_LINK_ENDPOINT_H
#define BRAGG_LINK_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "wire/control.h"

/* An endpoint without a leading @: only ipc:// and tcp:// are known, and tcp:// is refused unless
 * it is guarded by keys, or meant to be open: `tcp`.  STATUS_USAGE. */
enum status endpoint_check(const char *name, bool bind, bool tcp, struct error *e);

/* One endpoint as typed: true in *bind for @ENDPOINT.  Checked as by endpoint_check. */
enum status endpoint_parse(const char *text, bool tcp, bool *bind, char endpoint[ENDPOINT_SIZE],
                           struct error *e);

/* One where foreign clients connect: beyond this host only with keys or when meant to be open:
 * `anywhere`.  STATUS_USAGE. */
enum status endpoint_check_clients(const char *name, bool anywhere, struct error *e);

/* Before an ipc endpoint is bound: refuses a path that is no socket or that
 * answers, removes a dead socket.  Other transports pass. */
enum status endpoint_clear(const char *endpoint, struct error *e);

/* False for an ipc endpoint at which nobody accepts connections. */
bool endpoint_answers(const char *endpoint);

/* True for a tcp endpoint where connections are refused, or an ipc endpoint where nobody accepts
 * them.  May take a second. */
bool endpoint_is_refused(const char *endpoint);

/* A control endpoint on all interfaces (host 0.0.0.0 or [::]) gets the host of `via`,
 * the data endpoint through which it was learned. */
void endpoint_resolve(char endpoint[ENDPOINT_SIZE], const char *via);

/* STATUS_FAILED for an ipc endpoint whose socket belongs to another user, who is not root: frames
 * from there would be that user's.  One that is not there yet passes, as do other transports. */
enum status endpoint_check_owner(const char *endpoint, struct error *e);

/* Likewise for the process at the other end of a connected socket; what cannot be told passes. */
enum status endpoint_check_peer(const char *endpoint, int fd, struct error *e);

/* True for an endpoint that only this host can reach. */
bool endpoint_is_local(const char *endpoint);

/* True when connections through it can be cut or damaged, and come back. */
bool endpoint_is_network(const char *endpoint);

/* Removes the socket file of a bound ipc endpoint. */
void endpoint_remove(const char *endpoint);

/* A private folder for the sockets "data" and "control", and the process that
 * removes it when this one is killed. */
struct folder {
    char path[ENDPOINT_SIZE];  // "" for none
    int watched;               // as long as this is open the folder stays
    pid_t watcher;
};

/* Makes one (mode 0700) in XDG_RUNTIME_DIR or /tmp. */
enum status folder_open(struct folder *f, struct error *e);

/* Removes it with its sockets; nothing happens where there is none. */
void folder_close(struct folder *f);

/* The line of text that passes through a pipe: "bragg1 RUN DATA CONTROL". */
#define PIPE_WORD "bragg1"

struct pipe_line {
    uint64_t run;
    char data[ENDPOINT_SIZE];
    char control[ENDPOINT_SIZE];  // "" before the source
};

enum { PIPE_LINE_SIZE = 2 * ENDPOINT_SIZE + 32 };

/* Formats with the newline; reads without it. */
void pipe_line_format(const struct pipe_line *line, char text[PIPE_LINE_SIZE]);
enum status pipe_line_parse(const char *text, struct pipe_line *line, struct error *e);

#endif
