/* Merged intensities against the squares of the structure factors that the key was made of. */
#ifndef BRAGG_SCORE_MERGED_H
#define BRAGG_SCORE_MERGED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "score/score.h"

enum { MERGED_SHELLS = SCORE_SHELLS };

/* I = scale * exp(-2 B s^2) F^2 with s = 1 / (2 d), fitted by least squares. */
struct merged_shell {
    struct agreement all;       // F^2 against scaled I
    double differences, truth;  // sums of |scaled I - F^2| and of F^2
};

/* Differences I(h) - I(-h) of Friedel mates against those of F^2; those that symmetry makes one,
 * and so have none, are left out. */
struct merged_mates {
    struct agreement all;  // F^2 against scaled I
    size_t true_pairs;     // that the key has
};

struct merged {
    const char *path;  // borrowed; NULL: none was given
    double scale, B_A2;
    struct merged_shell all, shells[MERGED_SHELLS];  // by d, as score_shells_A
    struct merged_mates mates;
    char note[FIGURE_NOTE];  // about the symmetry; "": nothing is wrong
};

/* Whether a name ends as those of merged results do: .mtz and .hkl. */
bool merged_is(const char *path);

/* Reads a result, a list of CrystFEL or an MTZ file, and compares it.  STATUS_INPUT
 * for a file that cannot be read or is of another cell, a key of several crystals, and for fewer
 * than three reflections in common. */
enum status merged_take(struct merged *m, const char *path, struct key *k, struct error *e);

/* Puts in the figures merged.*, absent ones where none was given. */
void merged_figures(const struct merged *m, struct figures *f);

#endif
