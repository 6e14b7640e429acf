/*
 * Streams of CrystFEL (format 2.x), chunk by chunk: a chunk is what was found in one frame.
 * CrystFEL's lab is the frame of the beam.
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
    long geometry_line;  // on which it begins
    bool has_detector;   // behind the head of the first chunk
    struct geom detector;
    /* Of the chunk that is read; 0: not said. */
    double distance_m, energy_eV;
    char event[64];   // a name of the event that is no number; "": none
    double gain;      // ADU of a photon
    bool tells_fate;  // some chunk is of bragg-serve --key
};

/* Errors carry "FILE:LINE: "; STATUS_INPUT for what is no stream, or ends too early.
 * A file that is
 * followed may grow.  crystfel_stream_close frees *s, also after an error. */
enum status crystfel_stream_open(struct crystfel_stream *s, const char *path,
                                 const struct follow *follow, struct error *e);

/* Reads the next chunk into *a; *more is false, and *a empty, at the end of the stream. */
enum status crystfel_stream_next(struct crystfel_stream *s, struct answer *a, bool *more,
                                 struct error *e);

void crystfel_stream_close(struct crystfel_stream *s);

#endif
