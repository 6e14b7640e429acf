/* The options that the runtime adds to every stage. */
#ifndef BRAGG_STAGE_OPTIONS_H
#define BRAGG_STAGE_OPTIONS_H

#include "base/opt.h"
#include "stage/stage.h"

enum transport { TRANSPORT_AUTO, TRANSPORT_INLINE };  // order of --transport

struct runtime_options {
    struct opt_texts in, out;  // endpoints; @ENDPOINT binds, a plain one connects
    const char *control;       // where the source listens; NULL: chosen
    const char *keys;          // folder; NULL: none
    bool insecure;             // tcp without keys
    int64_t window;            // source: frames under way
    int64_t attempts;          // source: deaths at work on a frame before it is given up
    const char *groups;        // source: durable groups to wait for (groups.h); NULL: one
    int transport;             // enum transport
    const char *group;         // who shares frames with this process; NULL: program and output
    bool resume;               // last stages: continue what is there
    double start_timeout_s;
    double source_timeout_s;                        // 0: twice what the source calls dead
    double dead_after_s, hang_s, rejoin_timeout_s;  // source
    const char *stats, *trace;                      // files; NULL: none
    bool order;                                     // take frames as the source lists them
    bool restricted;  // options come from a file: take none that does more than make frames
    bool verbose, quiet;
};

/* The defaults. */
void options_defaults(struct runtime_options *o);

/* The table for opt_parse: a source has more than others. */
const struct opt *options_table(const struct stage *stage);

/* True for the stage that numbers the frames: of an experiment that came, or of its own. */
static inline bool stage_is_source(const struct stage *stage)
{
    return stage->gives >= KIND_RECIPE && stage->wants <= KIND_EXPERIMENT;
}

/* True for a last stage, whose frames are durable when its callback returns. */
static inline bool stage_is_sink(const struct stage *stage)
{
    return stage->gives == KIND_NONE;
}

/* True for a last stage that nothing waits for: it may leave at any time. */
static inline bool stage_is_watcher(const struct stage *stage)
{
    return stage_is_sink(stage) && stage->transient;
}

#endif
