/* All that an analysis wrote, taken into a score. */
#ifndef BRAGG_STAGES_SCORE_RESULTS_H
#define BRAGG_STAGES_SCORE_RESULTS_H

#include "score/score.h"

enum { SCORE_RESULTS_MAX = 1024 };

/* Takes results paths[npaths], SCORE_RESULTS_MAX at most.  The last one is read while it grows when
 * `follow_s` is above 0: until all frames of the key have answers, nothing comes for so long, or a
 * signal asks to end. */
enum status score_results(struct score *s, const char *const paths[], size_t npaths,
                          double follow_s, struct error *e);

#endif
