/*
 * Reads streams of CrystFEL (format 2.x) chunk by chunk.  A chunk contains what was found in one
 * frame.  The laboratory frame of CrystFEL is the coordinate system of the beam.
 */
#ifndef BRAGG_SCORE_CRYSTFEL_STREAM_H
#define BRAGG_SCORE_CRYSTFEL_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "io/crystfel/geom.h"
#include "score/answer.h"
#include "score/lines.h"

struct crystfel_stream {
    struct lines lines;
    char *geometry;  // owned: text of the geometry file
    size_t geometry_length, geometry_room;
    long geometry_line;  // line of the file on which the geometry begins
    bool has_detector;   // `detector` is set; true after the head of the first chunk
    struct geom detector;
    /* The next four members describe the chunk that is being read.  0: not given. */
    double distance_m, energy_eV;
    char event[64];   // name of the event if it is not a number; "": none
    double gain;      // ADU per photon
    bool tells_fate;  // at least one chunk is from bragg-serve --key
};

/* Opens a stream.  A file that is followed may grow.  The caller must call crystfel_stream_close,
 * also after an error.  Messages begin with "FILE:LINE: ".
 *
 * STATUS_INPUT: the file is not a stream, or ends too early. */
enum status crystfel_stream_open(struct crystfel_stream *s, const char *path,
                                 const struct follow *follow, struct error *e);

/* Reads the next chunk into *a.  At the end of the stream sets *more to false and leaves *a empty.
 */
enum status crystfel_stream_next(struct crystfel_stream *s, struct answer *a, bool *more,
                                 struct error *e);

void crystfel_stream_close(struct crystfel_stream *s);

#endif
