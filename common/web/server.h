/*
 * Serves the page and one websocket for each, on a thread of its own.  What is shown is one panel:
 * the detector as a whole.
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
    WEB_PAGES_MAX = 64,     // at once
    WEB_ADDRESS_SIZE = 320  // of the page
};

struct web;

struct web_settings {
    const char *bind;    // IPv4 address:port; port 0 is any free one
    const char *host;    // one more name in Host headers; NULL for none
    const char *token;   // that pages must know; NULL: all may come
    size_t store_bytes;  // of frames and of answers on their way: three quarters and one
};

/* Listens, and puts the address of the page into `address`.  STATUS_FAILED when the port is taken,
 * or cannot be had.  Free it with web_close. */
enum status web_open(struct web **web, const struct web_settings *settings,
                     char address[WEB_ADDRESS_SIZE], struct error *e);

/* Sets the detector that pages show, which the caller keeps until web_close, and the JSON text that
 * describes it.  Call it once. */
enum status web_begin(struct web *web, const struct panel *panel, const char *json,
                      struct error *e);

struct web_store *web_frames(struct web *web);

/* Whether a page is visible to a person now. */
bool web_is_watched(const struct web *web);

/* Notifies the pages that web_frames has a new frame. */
void web_news(struct web *web);

/* What pages show of the pipeline from now on: JSON.  Nothing happens when memory is out. */
void web_pipeline(struct web *web, const char *json);

/* The stream is over, as the JSON says, which pages show; the first time counts.  STATUS_FAILED
 * when memory is out. */
enum status web_end(struct web *web, const char *json, struct error *e);

/* Ends all pages and frees *web; NULL is fine. */
void web_close(struct web *web);

#endif
