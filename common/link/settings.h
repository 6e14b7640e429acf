/* What the command line asks of a process in the stream; stage/options.h reads it. */
#ifndef BRAGG_LINK_SETTINGS_H
#define BRAGG_LINK_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

enum transport { TRANSPORT_AUTO, TRANSPORT_INLINE };  // order of --transport

struct settings {
    struct opt_texts in, out;  // endpoints; @ENDPOINT binds, a plain one connects
    const char *control;       // where the source listens; NULL: chosen
    const char *keys;          // folder; NULL: none
    bool insecure;             // tcp without keys
    int64_t window;            // source: frames under way
    int64_t attempts;          // source: deaths at work on a frame before it is given up
    const char *groups;        // source: durable groups to wait for (groups.h); NULL: one
    int transport;             // enum transport
    const char *group;         // who shares frames with this process; NULL: that of its role
    bool resume;               // last stages: continue what is there
    double start_timeout_s;
    double source_timeout_s;                        // 0: twice what the source calls dead
    double dead_after_s, hang_s, rejoin_timeout_s;  // source
    const char *stats, *trace;                      // files; NULL: none
    bool compress;                                  // pixels that leave through tcp
    bool order;                                     // take frames as the source lists them
    bool restricted;  // options come from a file: take none that does more than make frames
    bool verbose, quiet;
};

#endif
