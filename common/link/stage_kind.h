/*
 * The role of a stage in the stream: what it takes and what it gives, and the group of processes
 * with which it shares frames.  This is the part of a stage's table that its neighbours and the
 * source need.
 *
 * Terms:
 *   source   the stage that numbers the frames and sends them
 *   sink     a stage without output
 *   passive  a sink that the run does not wait for; it may leave at any time
 *   durable  stored so that a crash cannot lose it
 */
#ifndef BRAGG_LINK_STAGE_KIND_H
#define BRAGG_LINK_STAGE_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* What passes from one stage to the next. */
enum kind {
    KIND_NONE,        // nothing: the input of a first stage and the output of a sink
    KIND_EXPERIMENT,  // one experiment and no frames
    KIND_RECIPE,      // an experiment, then frames without images
    KIND_IMAGE,       // an experiment, then frames with images
    KIND_ANY,         // input of a sink that accepts any of the three kinds above
};

enum { OUTLOOK_FASTER_SIZE = 512 };

/* What a source can say about a run whose frames take long. */
struct outlook {
    double computed;  // fraction of the frames that are computed; the others are blank
    char faster[OUTLOOK_FASTER_SIZE];  // the option that makes frames faster, and what it changes,
                                       // as sentences; "": none
};

/* Returns the name of a kind for messages: "recipe" and so on. */
const char *kind_name(enum kind kind);

/* For messages: the programs that most often give and take a kind.  Index: a kind other than
 * KIND_NONE. */
extern const struct kind_programs {
    const char *giver, *taker;
} kind_programs[];

struct role {
    const char *name;        // name of the program: "bragg-noise"
    enum kind wants, gives;  // input and output
    bool transient;          // passive sink: the run does not wait until it has a frame
    bool finds_durable;      // sink that finds its durable frames in its output.  The runtime sets
                             // this if the stage has the callback `have`
    bool in_memory;          // sink whose result exists only in memory until the end.  If it dies,
                             // its frames are computed again.  It must be a single process,
                             // because each of several would have only some of the frames
    const char *group;       // default of --group; NULL: name of the program and kind of its output
};

/* Returns true for the source, which numbers the frames.  It gets the experiment from a stage
 * before it, or makes the experiment itself. */
static inline bool role_is_source(const struct role *r)
{
    return r->gives >= KIND_RECIPE && r->wants <= KIND_EXPERIMENT;
}

/* Returns true for a sink.  A frame is durable when the callback `frame` of the sink returns. */
static inline bool role_is_sink(const struct role *r)
{
    return r->gives == KIND_NONE;
}

/* Returns true for a passive sink: the run does not wait for it, and it may leave at any time. */
static inline bool role_is_watcher(const struct role *r)
{
    return role_is_sink(r) && r->transient;
}

/* --- groups of sinks: the value of --groups, "N" or "NAME,NAME"; NULL means "1" ------------- */

enum { GROUPS_MAX = 64 };

/* Checks the value of --groups.  STATUS_USAGE: it is not a number from 1 to GROUPS_MAX, nor a list
 * of at most GROUPS_MAX different names. */
enum status groups_check(const char *text, struct error *e);

/* Returns the number of groups for which the source waits.  `text` has passed groups_check. */
size_t groups_count(const char *text);

/* Returns true if the source waits for `group`: `text` lists its name, or `text` is a number N and
 * fewer than N other groups are `taken` already. */
bool groups_ask_for(const char *text, const char *group, size_t taken);

#endif
