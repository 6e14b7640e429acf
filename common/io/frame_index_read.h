/* How an index is written down, for frame_index.c. */
#ifndef BRAGG_IO_FRAME_INDEX_READ_H
#define BRAGG_IO_FRAME_INDEX_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "io/frame_index.h"

/* What a line says of a frame. */
struct listed {
    uint64_t id, bytes;
    uint32_t crc;
    uint64_t names;  // hash
};

/* The column that tells them apart. */
#define INDEX_HIT "hit\t"
#define INDEX_BLANK "blank\t"

/* The lines of an index, one after the other. */
struct index_lines {
    FILE *in;
    const char *path;  // for messages
    char *line;        // owned, from malloc
    size_t room;
    long number;
    bool torn;     // the last line has no end
    bool no_hits;  // of version 2
};

/* The first lines of a new index; the caller frees them.  NULL when memory is out. */
char *index_head(const struct frame_index_settings *settings);

/* Takes the first lines in, and the one behind them if *more.  Another lineage, or no
 * index, is refused as frame_index_open says. */
enum status index_begin(struct index_lines *l, const struct frame_index_settings *settings,
                        bool *more, struct error *e);

/* Reads the frame of the line at hand, and takes in the one behind it if *more. */
enum status index_next(struct index_lines *l, struct listed *listed, bool *more, struct error *e);

#endif
