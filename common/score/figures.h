/*
 * Metrics: a list of names and values that can be printed as a table or as JSON, and that --require
 * compares with limits.
 */
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
    char name[FIGURE_NAME];  // words separated by dots; in JSON each word except the last is an
                             // object
    double value;            // NaN: absent
    const char *why;         // borrowed: reason why the value is absent
};

struct figures_curve {
    const char *name;  // borrowed
    size_t n;
    struct roc_point points[ROC_POINTS];
};

struct figures {
    size_t count, nnotes;
    struct figure list[FIGURES_MAX];  // metrics whose names begin with the same words are next to
                                      // each other
    char notes[FIGURES_NOTES][FIGURE_NOTE];
    size_t ncurves;
    struct figures_curve curves[FIGURES_CURVES];
};

/* Appends a metric.  If the value is not finite, it is stored as absent, and `why` is the reason.
 * `why` must stay valid as long as *f.  Does nothing if the list is full. */
void figures_add(struct figures *f, const char *name, double value, const char *why);

/* Adds the points of a curve if it has any.  `name` must stay valid as long as *f. */
void figures_curve(struct figures *f, const char *name, struct roc *r);

/* Adds a note, a sentence for the user. */
void figures_note(struct figures *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints a table with a line for each group of metrics.  Groups by bins come first, so that the
 * last lines are the most important ones.  Notes follow the table. */
void figures_print(const struct figures *f, FILE *out);

/* Prints one JSON object.  Absent metrics are null, and "absent" contains their reasons. */
void figures_json(const struct figures *f, FILE *out);

/* Checks a requirement "NAME>=X", "NAME<=X", "NAME>X" or "NAME<X".  Sets *met if the metric is
 * present and meets the limit, and *value to the metric.  If f is NULL, only the syntax is checked.
 *
 * STATUS_USAGE: the text does not have one of these forms, or no metric has this name. */
enum status figures_require(const struct figures *f, const char *text, bool *met, double *value,
                            struct error *e);

#endif
