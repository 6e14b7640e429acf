/* The figures of a score by their names, as a table, as JSON, and against what is required. */
#ifndef BRAGG_SCORE_FIGURES_H
#define BRAGG_SCORE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "score/statistics.h"

enum {
    FIGURES_MAX = 800,
    FIGURES_NOTES = 16,
    FIGURES_CURVES = 3,
    FIGURE_NAME = 64,
    FIGURE_NOTE = 200
};

struct figure {
    char name[FIGURE_NAME];  // words parted by dots: an object of JSON for each but the last
    double value;            // NaN: absent
    const char *why;         // it is absent; borrowed
};

struct figures_curve {
    const char *name;  // borrowed
    size_t n;
    struct roc_point points[ROC_POINTS];
};

struct figures {
    size_t count, nnotes;
    struct figure list[FIGURES_MAX];  // those with a beginning in common follow one another
    char notes[FIGURES_NOTES][FIGURE_NOTE];
    size_t ncurves;
    struct figures_curve curves[FIGURES_CURVES];
};

/* Puts a figure at the end; `why` says why it is absent where the value is not finite. */
void figures_add(struct figures *f, const char *name, double value, const char *why);

/* Puts in the points of a curve, where it has some. */
void figures_curve(struct figures *f, const char *name, struct roc *r);

/* Puts in a sentence. */
void figures_note(struct figures *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line for each group of figures, those by bins first: the last lines say most.  Notes below. */
void figures_print(const struct figures *f, FILE *out);

/* One JSON object; absent figures are null and have their reasons in "absent". */
void figures_json(const struct figures *f, FILE *out);

/* "NAME>=X": also <=, >, <.  STATUS_USAGE for what is none; f may be NULL, then names are not
 * looked up.  *met: the figure is there and is as required. */
enum status figures_require(const struct figures *f, const char *text, bool *met, double *value,
                            struct error *e);

#endif
