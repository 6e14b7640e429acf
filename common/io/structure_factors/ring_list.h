/*
 * A list of powder rings: the volume of the cell in a comment, and a line for each ring with d in
 * A, the sum of F squared over its reflections in electrons squared per cell, and the number of
 * these reflections, which can be left out:
 *
 *     # V=71.83
 *     4.15683  8513.9  6
 *     2.93932  28780.0 12
 */
#ifndef BRAGG_IO_RING_LIST_H
#define BRAGG_IO_RING_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct ring_line {
    double d_A, F2;
    double reflections;  // 0: the list does not say
};

struct ring_list {
    double cell_A3;
    size_t count;
    struct ring_line *lines;  // owned
};

/* Returns true if the first line of a file that is not a comment begins with a number. */
bool ring_list_is(const char *path);

/* Reads a list.  The caller always calls ring_list_free.  STATUS_INPUT: a line is wrong, there is
 * no ring, or no volume. */
enum status ring_list_read(const char *path, struct ring_list *list, struct error *e);

void ring_list_free(struct ring_list *list);

#endif
