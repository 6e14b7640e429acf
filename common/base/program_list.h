/*
 * The programs of braggpipe: one table for `braggpipe list`, for hints about unknown options, and
 * for the programs that bragg-replay --recompute may start.
 */
#ifndef BRAGG_BASE_PROGRAM_LIST_H
#define BRAGG_BASE_PROGRAM_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct listed_program {
    const char *name;     // as in `braggpipe NAME`; the executable is bragg-NAME
    const char *summary;  // one line of `braggpipe list`
    /* An unknown option of another program gets the hint that this program has it.  The first
     * program in the table is named, so the table has the order of a pipe. */
    bool hints;
    /* bragg-replay --recompute may start the program for a file from an unknown source.  With
     * --restrict the program cannot start others or write files. */
    bool recomputes;
};

extern const struct listed_program program_list[];
extern const size_t program_list_length;

/* Finds the row of an executable such as "bragg-orient".  NULL: the table has no such program. */
const struct listed_program *program_list_find(const char *executable);

#endif
