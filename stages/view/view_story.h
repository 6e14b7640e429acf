/*
 * What the pages of bragg-view show besides images, as JSON: a description of the stream when it
 * begins, and its history when it ends.
 */
#ifndef BRAGG_STAGES_VIEW_STORY_H
#define BRAGG_STAGES_VIEW_STORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/experiment.h"
#include "stages/shared/frame_facts.h"
#include "stages/shared/preview.h"

/* --- the beginning of the stream -------------------------------------------- */

/* Names that the page shows for the run and for its frames. */
struct view_names {
    const char *title;         // title from the user; NULL: made from the files or the crystal
    const char *const *paths;  // files that are shown
    int count;                 // number of files; 0: the frames come from a stream
    bool one_each;             // file i holds only frame i
};

/* Returns a description of the stream as JSON: the detector, the panel that shows it, the
 * crystals, the beam, the files, and the rings that the user chose.  The caller frees the text
 * with free.  NULL: out of memory. */
char *view_story(const struct experiment *x, const struct preview *p,
                 const struct view_names *names, const struct rings *rings);

/* --- the history and the end of the stream ---------------------------------- */

/* State of the stream at the time when a frame was kept for the pages. */
struct view_point {
    double time_s;  // time since the start of the program
    uint64_t came, hits;
    double brightness;  // mean pixel value of that frame
};

enum { VIEW_POINTS_MAX = 300 };

/* States of the stream, in the order of time.  The times of two points differ by at least
 * `gap_s`, except for the last point. */
struct view_history {
    struct view_point points[VIEW_POINTS_MAX];
    size_t count;
    double gap_s;
};

/* Adds a point to the history.  If the point before the last one is less than `gap_s` older than
 * the new point, the new point replaces the last one.  The last point therefore always counts
 * all frames.  If the list is full, every second point is dropped, and `gap_s` is doubled. */
void view_history_add(struct view_history *h, struct view_point p);

/* Returns a description of the end of the stream as JSON.  `words` says how the stream ended,
 * and `frames` is its number of frames.  The caller frees the text with free.  NULL: out of
 * memory. */
char *view_epilogue(const char *words, uint64_t frames, const struct view_history *h);

#endif
