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

/* Starts *threads threads, including the calling one, for all later parallel loops of this thread,
 * also those of program_threads.
 * If *threads is 0, sets it to the number of CPUs.  The new threads receive no signals.  If the
 * system allows fewer threads, the program ends here (see base/program.h) and not later, when other
 * processes wait for it.  STATUS_FAILED: the stacks of the threads are too small. */
enum status threads_start(int64_t *threads, struct error *e);

/* Does what threads_start does, for a sink: 0 stands for at most PROGRAM_THREADS_OF_SINK. */
enum status threads_start_of_sink(int64_t *threads, struct error *e);

/* Returns the number of threads for a loop that takes `work_ns` in one thread.  It is `threads`, or
 * 1 if waking the other threads would take more CPU time than the loop.  It is never a number in
 * between: OpenMP ends the threads that a loop leaves out, and starts threads again for the next
 * loop. */
int threads_for(int threads, double work_ns);

/* Sets the CPU time of waking one thread, which threads_for assumes.  Tests set it to 0, so that
 * short loops have all threads, too. */
void threads_set_wake_ns(double ns);

enum {
    BAND_TAKES = 16,  // smallest number of portions of a band, if it has as many rows
    BAND_ROWS = 16,   // largest number of rows in a portion, unless they must be a multiple of more
};

/* The band of one thread.  It is as long as a cache line, so that bands of two threads never share
 * one. */
struct band {
    atomic_int_fast64_t next;  // first row that no thread has taken; may be past the end
    int64_t end;
    int64_t turns;  // number of portions that the thread has asked for, if b->fixed is set
    char rest[64 - 3 * sizeof(int64_t)];
};

struct bands {
    int64_t rows, at_once;
    int count;
    bool fixed;         // every thread gets every count-th portion, and no bands are used
    struct band *band;  // owned
};

/* Distributes rows 0 .. rows - 1 to `threads` >= 1 bands, which begin at multiples of b->at_once, a
 * multiple of `of` >= 1.  If the schedule of OpenMP is static (OMP_SCHEDULE), every thread gets
 * every count-th portion instead.  Its CPU time is then that on a machine with a core for each
 * thread, for the benchmarks.  bands_close frees *b. */
void bands_open(struct bands *b, int64_t rows, int threads, int64_t of);
void bands_close(struct bands *b);

/* Assigns the rows *first .. *end - 1 to thread number `thread`: b->at_once rows from a multiple of
 * b->at_once on, or fewer at the end of the frame.  Returns false if no row is left.  Any thread
 * may call it at any time. */
bool bands_take(struct bands *b, int thread, int64_t *first, int64_t *end);

/* Returns the number of portions of the frame.  The portion that begins at *first has the number
 * *first / b->at_once. */
int64_t bands_takes(const struct bands *b);

#endif
