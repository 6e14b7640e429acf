/*
 * What a stage is in the stream: what it consumes and produces, and the group of sinks to which it
 * belongs.  This is the part of a stage's table that its neighbours and the source need.
 */
#ifndef BRAGG_LINK_STAGE_KIND_H
#define BRAGG_LINK_STAGE_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* What travels on an edge. */
enum kind {
    KIND_NONE,        // nothing: a first stage consumes it, a last stage produces it
    KIND_EXPERIMENT,  // one experiment and no frames
    KIND_RECIPE,      // experiment, then frames without images
    KIND_IMAGE,       // experiment, then frames with images
    KIND_ANY,         // one of the last three: a last stage takes what it gets
};

/* "recipe" and so on, for messages. */
const char *kind_name(enum kind kind);

/* The programs that most often give a kind, which is not KIND_NONE, and take it; for messages. */
extern const struct kind_programs {
    const char *giver, *taker;
} kind_programs[];

struct role {
    const char *name;  // the executable, "bragg-noise"
    enum kind wants, gives;
    bool transient;      // a last stage that only watches: nothing waits for its frames
    bool finds_durable;  // a last stage that can tell from its output which frames are durable: in
                         // the table of a stage its `have` says so
    bool in_memory;      // a last stage whose result is in its memory until the end: if it dies,
                         // what it took is computed again; one of several processes is refused,
                         // which would have some of the frames
    const char *group;   // who shares frames with it, default of --group; NULL: program and what it
                         // gives
};

/* True for the stage that numbers the frames: of an experiment that came, or of its own. */
static inline bool role_is_source(const struct role *r)
{
    return r->gives >= KIND_RECIPE && r->wants <= KIND_EXPERIMENT;
}

/* True for a last stage, whose frames are durable when its callback returns. */
static inline bool role_is_sink(const struct role *r)
{
    return r->gives == KIND_NONE;
}

/* True for a last stage that nothing waits for: it may leave at any time. */
static inline bool role_is_watcher(const struct role *r)
{
    return role_is_sink(r) && r->transient;
}

/* --- the groups of sinks for which a source waits, as --groups gives them: how many, or names  */

enum { GROUPS_MAX = 64 };

/* Checks "N" or "NAME,NAME"; NULL is as "1".  STATUS_USAGE. */
enum status groups_check(const char *text, struct error *e);

/* How many groups a good text asks for. */
size_t groups_count(const char *text);

/* True when it asks for this group: by its name, or as one of so many, of which others already
 * take `taken`. */
bool groups_ask_for(const char *text, const char *group, size_t taken);

#endif
