/* How well a number tells right items from others: the receiver operating characteristic. */
#ifndef BRAGG_SCORE_ROC_H
#define BRAGG_SCORE_ROC_H

#include "score/statistics.h"

enum { ROC_STEPS = 100, ROC_POINTS = 2 * ROC_STEPS + 2 };

/* The numbers of the others [0] and of the right ones [1]: a fair sample where there are many. */
struct roc {
    struct values of[2];
};

/* False when memory is out. */
bool roc_add(struct roc *r, bool right, double value);

/* The chance that a right one has the greater number, half for equal ones; NaN unless there are
 * both. */
double roc_area(struct roc *r);

/* What is taken when all from `threshold` on are: shares of the others and of the right ones. */
struct roc_point {
    double threshold, other, right;
};

/* The curve, the highest threshold first; at the last one all are taken.  A point where a share
 * has grown by 1 / ROC_STEPS.  Returns how many; none unless there are both. */
size_t roc_points(struct roc *r, struct roc_point points[ROC_POINTS]);

void roc_free(struct roc *r);

#endif
