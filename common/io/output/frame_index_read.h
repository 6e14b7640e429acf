/* How an index is written down, for frame_index.c. */
#ifndef BRAGG_IO_FRAME_INDEX_READ_H
#define BRAGG_IO_FRAME_INDEX_READ_H

#include <stdbool.h>
#include <stdio.h>

#include "io/output/frame_index.h"

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
    bool ours;     // it has begun as an index of this lineage
};

/* The first lines of a new index; the caller frees them.  NULL when memory is out. */
char *index_head(const struct frame_index_settings *settings);

/* Whether a line, with or without its end, begins an index of a lineage. */
bool index_is_of(const char *line, const char *lineage);

/* Takes the first lines in, and the one behind them if *more.  Another lineage that has frames, or
 * no index, is refused as frame_index_open says. */
enum status index_begin(struct index_lines *l, const struct frame_index_settings *settings,
                        bool *more, struct error *e);

/* Reads the frame of the line at hand; its names are borrowed from the line. */
enum status index_parse(const struct index_lines *l, struct index_entry *entry, struct error *e);

/* Takes the next line in; false when there is none that is whole. */
bool index_advance(struct index_lines *l);

#endif
