/* What a stage cost: one line of JSON. */
#ifndef BRAGG_STAGE_STATS_H
#define BRAGG_STAGE_STATS_H

#include <stdint.h>

#include "base/error.h"

struct stats {
    uint64_t frames, bytes_in, bytes_out;
    uint64_t start_ns;  // clock_ns when the stage connected
    uint64_t wait_in_ns, compute_ns, wait_out_ns;
    uint64_t codec_ns;  // messages: checksums, encoding and decoding
    const char *identity;
    const char *more;  // members of the stage's own, `"dropped":3`, or NULL
};

/* Appends the line to a file ("-": stderr); several stages may share one. */
enum status stats_write(const struct stats *s, const char *path, const char *stage,
                        struct error *e);

#endif
