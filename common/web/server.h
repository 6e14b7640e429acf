/*
 * The web server of bragg-view: serves the page, and a websocket for each open page, on a thread of
 * its own.  The page shows one picture of the whole detector, whose geometry is that of a panel.
 *
 * The server sends a page texts of JSON, {"what": "stream" | "frames" | "end" | "pipeline", ...},
 * and binary messages that begin with a struct web_head.  A page sends the requests of request.h.
 * A page has at most one pending answer of each kind, so a slow page gets fewer answers.  The
 * server disconnects a page that takes nothing for 30 s, or for 2 s while answers have no room.
 */
#ifndef BRAGG_WEB_SERVER_H
#define BRAGG_WEB_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "model/experiment.h"
#include "web/access.h"
#include "web/store.h"

enum {
    WEB_PAGES_MAX = 64,     // maximum number of open pages
    WEB_ADDRESS_SIZE = 320  // size of the address of the page in bytes
};

struct web;

struct web_settings {
    const char *bind;    // IPv4 address:port; port 0 means any free port
    const char *host;    // a further name that Host headers may have; NULL: none
    const char *token;   // password that requests must contain; NULL: all requests are allowed
    size_t store_bytes;  // memory limit: three quarters for frames, one quarter for answers that
                         // are being sent
};

/* Listens, starts the thread, and writes the address of the page to `address`.  The caller must
 * call web_close, also after an error.
 *
 * STATUS_USAGE: settings->bind is malformed.  STATUS_FAILED: the server cannot listen there. */
enum status web_open(struct web **web, const struct web_settings *settings,
                     char address[WEB_ADDRESS_SIZE], struct error *e);

/* Sets the detector that pages show, and the JSON text that describes it.  *panel must stay valid
 * until web_close.  Must be called once. */
void web_begin(struct web *web, const struct panel *panel, const char *json);

/* Returns the frames that pages show.  The server owns the store. */
struct web_store *web_frames(struct web *web);

/* Returns true if at least one page is visible to a person now. */
bool web_is_watched(const struct web *web);

/* Notifies the pages that web_frames has a new frame. */
void web_news(struct web *web);

/* Replaces the JSON text that describes the pipeline to pages. */
void web_pipeline(struct web *web, const char *json);

/* Notifies pages that the stream has ended.  `json` is the text that they show.  Only the first
 * call has an effect. */
void web_end(struct web *web, const char *json);

/* Closes all connections and frees *web.  NULL: does nothing. */
void web_close(struct web *web);

#endif
