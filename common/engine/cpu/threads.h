/*
 * The threads of OpenMP, and the rows of a frame distributed to them.
 *
 * Each thread has a band of consecutive rows, the same in every frame, so that a thread writes the
 * memory that it wrote before.  A thread takes a few rows of its own band at a time.  When none is
 * left it takes rows of other bands, because rows are unequal (ROI, mask) and processors have other
 * work.
 */
#ifndef BRAGG_ENGINE_THREADS_H
#define BRAGG_ENGINE_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Starts them, so many with the calling one, for all parallel loops of this thread to come: 0
 * becomes the number of processors.  They take no signals.  Where the system allows less the
 * program ends now, see base/program.h, and not when others wait for it; STATUS_FAILED when their
 * stacks are too small. */
enum status threads_start(int64_t *threads, struct error *e);

enum {
    BAND_TAKES = 16,  // in which a band is taken, at least, if it has so many rows
    BAND_ROWS = 16,   // that are taken at once, at most
};

/* As long as a cache line, so that those of two threads never share one. */
struct band {
    atomic_int_fast64_t next;  // the first row that nobody has; may be past the end
    int64_t end;
    char rest[64 - 2 * sizeof(int64_t)];
};

struct bands {
    int64_t rows, at_once;
    int count;
    struct band *band;  // owned
};

/* Shares rows 0 .. rows - 1 out among `threads` >= 1.  Bands begin at multiples of b->at_once.
 * STATUS_FAILED when memory is out; bands_close frees it, also then. */
enum status bands_open(struct bands *b, int64_t rows, int threads, struct error *e);
void bands_close(struct bands *b);

/* Gives thread number `thread` the rows *first .. *end - 1: b->at_once from a multiple of it, or
 * the last ones of all.  False when none is left.  Any thread may call it at any time. */
bool bands_take(struct bands *b, int thread, int64_t *first, int64_t *end);

/* How many times rows can be taken: the number of one is *first / b->at_once. */
int64_t bands_takes(const struct bands *b);

#endif
