/* What an analysis wrote, in any of the formats that are read, frame by frame. */
#ifndef BRAGG_SCORE_RESULTS_H
#define BRAGG_SCORE_RESULTS_H

#include "score/answer.h"
#include "score/crystfel_stream.h"
#include "score/dials_files.h"
#include "score/peak_table.h"

enum results_kind { RESULTS_STREAM, RESULTS_DIALS, RESULTS_PEAKS };

/* A result: `path`, and for a table of DIALS its experiments.  Both are borrowed, but for the one
 * that `made` is. */
struct results_files {
    const char *path, *expt;
    char *made;
};

/* The files of each result among `npaths` names.  A table (.refl) goes with the list (.expt) of the
 * same name, or else with the last one named before it; a list alone with the table of the same
 * name.  Fills files[npaths + 1], of which *count are used and freed by results_unpair, also after
 * an error.  STATUS_INPUT for tables and lists that are alone. */
enum status results_pair(const char *const paths[], size_t npaths, struct results_files files[],
                         size_t *count, struct error *e);
void results_unpair(struct results_files files[], size_t count);

struct results {
    const char *path;
    enum results_kind kind;
    struct crystfel_stream stream;
    struct dials_files dials;
    struct peak_table peaks;
};

/* STATUS_INPUT for files that are none; results_close frees *r, also after an error.  `follow`: see
 * crystfel_stream_open. */
enum status results_open(struct results *r, const struct results_files *files,
                         const struct follow *follow, struct error *e);

/* Reads what is said about the next frame; *more is false at the end. */
enum status results_next(struct results *r, struct answer *a, bool *more, struct error *e);

/* Panels of the analysis's detector in the frame of the beam, once there was an answer; NULL where
 * it says nothing about it. */
const struct geom_panel *results_panels(const struct results *r, size_t *count);

/* Whether it is of a rotation series as a whole. */
bool results_of_rotation(const struct results *r);

void results_close(struct results *r);

#endif
