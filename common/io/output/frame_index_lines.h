/* The text of an index of frames (frame_index.h): writes its first lines, and reads all lines. */
#ifndef BRAGG_IO_OUTPUT_FRAME_INDEX_LINES_H
#define BRAGG_IO_OUTPUT_FRAME_INDEX_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "io/output/frame_index.h"

/* Values of the column HIT: a frame with lattices, and one without. */
#define INDEX_HIT "hit\t"
#define INDEX_BLANK "blank\t"

/* Returns the first lines of a new index.  The caller frees them with free().  NULL: out of memory.
 */
char *index_head(const struct frame_index_settings *settings);

/* Returns true if a line is the first line of an index with this lineage.  The line may end with
 * a line feed. */
bool index_is_of(const char *line, const char *lineage);

/* The state of reading an index line by line. */
struct index_lines {
    FILE *in;
    const char *path;  // for messages
    char *line;        // owned, from malloc
    size_t room;
    long number;
    bool torn;     // the last line is incomplete
    bool no_hits;  // version 2: lines have no HIT
    bool ours;     // the first lines are those of an index of this lineage
};

/* Reads the first lines, and the line after them if there is one (*more).  Errors about another
 * lineage, or a file that is not an index, are those of frame_index_open. */
enum status index_begin(struct index_lines *l, const struct frame_index_settings *settings,
                        bool *more, struct error *e);

/* Parses the current line into *entry, whose names are borrowed from the line. */
enum status index_parse(const struct index_lines *l, struct index_entry *entry, struct error *e);

/* Reads the next line.  Returns false if there is no further complete line. */
bool index_advance(struct index_lines *l);

#endif
