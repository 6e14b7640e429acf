/* Compares merged intensities with the squares of the structure factors from which the frames of
 * the key were simulated. */
#ifndef BRAGG_SCORE_MERGED_H
#define BRAGG_SCORE_MERGED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "score/score.h"

enum { MERGED_SHELLS = SCORE_SHELLS };

/* Agreement of I = scale * exp(-2 B s^2) F^2 with s = 1 / (2 d), fitted by least squares. */
struct merged_shell {
    struct agreement all;       // F^2 against scaled I
    double differences, truth;  // sums of |scaled I - F^2| and of F^2
};

/* Differences I(h) - I(-h) of Friedel mates against those of F^2.  Mates that symmetry makes equal
 * have no difference and are left out. */
struct merged_mates {
    struct agreement all;  // differences of F^2 against differences of scaled I
    size_t true_pairs;     // pairs in the key
};

struct merged {
    const char *path;  // borrowed; NULL: no merged result was given
    double scale, B_A2;
    struct merged_shell all, shells[MERGED_SHELLS];  // shells of d, as in score_shells_A
    struct merged_mates mates;
    char note[FIGURE_NOTE];  // warning about symmetry, setting or hand; "": none
};

/* Returns true if a file name has an extension of merged results: .mtz or .hkl. */
bool merged_is(const char *path);

/* Reads a merged result, which is a reflection list of CrystFEL or an MTZ file, and compares it
 * with the key.  *m must be {0}; `path` must stay valid as long as *m.
 *
 * STATUS_INPUT: the file cannot be read or is of another cell, it is a second merged result, the
 * key has several crystals or no structure factors, or fewer than three reflections are in both. */
enum status merged_take(struct merged *m, const char *path, struct key *k, struct error *e);

/* Adds the metrics merged.* to *f.  They are absent if no merged result was given. */
void merged_figures(const struct merged *m, struct figures *f);

#endif
