/* What an analysis answered, against the answer key, as figures. */
#ifndef BRAGG_SCORE_SCORE_H
#define BRAGG_SCORE_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "score/answer.h"
#include "score/detectors.h"
#include "score/figures.h"
#include "score/key.h"
#include "score/lattices.h"
#include "score/report_samples.h"
#include "score/statistics.h"

struct score_settings {
    double angle_deg;              // a lattice that is turned by less is right
    int64_t hit_spots;             // a hit holds a lattice with at least so many reflections ...
    double strong_photons;         // ... above these photons
    const struct symmetry *group;  // borrowed; NULL: what the true cell allows
    bases_centring centring;  // of the group; 0 or R, which says nothing of the axes: not known
    bool again;  // a frame may have further answers, and an answer no number: these only count
};

enum { SCORE_BINS = 24 };  // of photons: bin i holds [2^i, 2^(i+1)), the last one all above

/* What became of a frame of the key. */
struct score_frame {
    bool answered;
    bool wrong;       // not a hit as the key says, or a wrong lattice
    bool reported;    // the analysis says that what it got is damaged
    size_t again;     // further answers
    double result_s;  // when its answer came, Unix time; 0: not known
};

struct score {
    const struct score_settings *settings;  // borrowed
    struct key *key;                        // borrowed
    struct shown *shown;                    // borrowed; NULL: no report is made
    struct symmetry *rotations;             // owned: of each crystal, by its number
    struct symmetry *ambiguities;           // owned: with what the cell allows beyond the group
    bases_centring *centrings;              // owned: of their cells
    size_t ncrystals;
    struct score_frame *frames;  // owned: of the key
    size_t nanswered, nagain, nnameless;
    size_t true_positive, false_positive, false_negative, true_negative;
    size_t spots_true, spots_found, spots_right;
    size_t strong_true, strong_found, bin_true[SCORE_BINS], bin_found[SCORE_BINS];
    size_t found_bin[SCORE_BINS], found_right[SCORE_BINS];  // by the photons that were found
    struct roc hits_by_spots, hits_by_score;  // frames of the key; without a score: the least
    struct roc spots_by_photons;              // that were found, those with photons
    size_t nscores;                           // answers with a score
    double by_chance;                         // found spots that would be true if they lay anywhere
    struct values centroid_px, predicted_away_px;
    /* Those of spots weigh as their photons, which is 1 / variance of a centroid. */
    struct offsets found, geometry, predicted;
    struct alignment alignment;
    struct mean wavelength_error;  // of answers that say one: relative
    double axes_turn_deg;          // by which the model was turned (detectors.h)
    size_t lattices_true, lattices_found, lattices_right, lattices_twice;
    size_t strong_lattices[SCORE_BINS], strong_right[SCORE_BINS];  // by their strong reflections
    size_t left_handed, ambiguous, other_basis;
    bool has_known_cell;  // some found lattice has a cell of the key
    struct values angle_deg, turn_deg[3];
    struct mean cell[7], cell_error[7];  // a, b, c, alpha, beta, gamma, volume
    struct values cell_values[7];
    size_t predictable, was_predicted;
    struct intensities intensities, by_photons[SCORE_BINS], by_shell[SCORE_SHELLS];
    double other[6];  // a cell that was found and is none of the key's
    struct spots spots;
    int64_t *partner;  // owned
    size_t partner_room;
};

/* score_end frees *s, also after an error. */
enum status score_begin(struct score *s, const struct score_settings *settings, struct key *key,
                        struct error *e);

/* Takes what file `path` says about a frame, on the detectors *d; where lattices of the key are
 * one, those of the answer are joined as well.  STATUS_INPUT, with "PATH:LINE: ", for an answer
 * without a number of a frame and for a second one unless these are allowed, for a frame that is
 * not the key's, and for a panel that is not. */
enum status score_take(struct score *s, struct answer *a, const struct detectors *d,
                       const char *path, struct error *e);

/* Counts what must be found in a frame where `nspots` were found, with a score, -INFINITY without
 * one, and which was taken for a hit or not; *truth: whether it is one. */
enum status score_truth(struct score *s, const struct key_frame *f, bool hit, size_t nspots,
                        double score, bool *truth, struct error *e);

/* Once all answers were taken: frames without one count as such where nothing was found.
 * STATUS_INPUT when there is no answer, all lattices that were found are of other crystals, or
 * nothing that was found is in the key. */
enum status score_close(struct score *s, struct error *e);

/* Puts in the figures of a closed score. */
void score_figures(struct score *s, struct figures *f);

void score_end(struct score *s);

/* The bin of so many photons. */
int score_bin(double photons);

/* Strong reflections of a lattice of a frame. */
size_t score_strong(const struct score *s, const struct key_frame *f, int32_t lattice);

/* --- score_sent.c ------------------------------------------------------------------ */

/* What bragg-serve sent, as its key (--key) has it: a line for each lattice of a message, or a
 * chunk of a stream for each message. */

enum { SENT_FAULT_SIZE = 16 };

/* SENT_SOME: one client took it, and perhaps not all. */
enum sent_fate { SENT_TAKEN, SENT_SOME, SENT_DROPPED, SENT_WITHHELD, SENT_FATES };

struct sent_message {
    uint64_t frame;
    double time_s;  // when a client took it, Unix time
    enum sent_fate fate;
    char fault[SENT_FAULT_SIZE];  // its kind; "-": none
};

struct sent {
    size_t count, room;
    struct sent_message *messages;  // owned: in the order in which they left
};

/* Puts what a file says behind what is in *s, which begins as {0}.  STATUS_INPUT with "FILE:LINE: "
 * for what is no such table.  sent_free frees *s, also after an error. */
enum status sent_read(const char *path, struct sent *s, struct error *e);
void sent_free(struct sent *s);

/* How long the answers took, what was lost by whom, and what was done with faults. */
enum status score_sent_figures(const struct score *s, const struct sent *sent, struct figures *f,
                               struct error *e);

/* --- score_lattices.c -------------------------------------------------------------- */

/* The lattices of an answer, and their reflections, against those of a frame. */
enum status score_lattices(struct score *s, const struct key_frame *f, const struct answer *a,
                           const struct detectors *d, struct error *e);

/* --- report.c ------------------------------------------------------------------------- */

/* Writes the score as one page of HTML without outside parts: *s, which is closed and has s->shown,
 * and its figures: what was found in the `nresults` files of these names.  Errors of `out` are for
 * the caller to see; STATUS_FAILED when memory is out. */
enum status report_write(FILE *out, struct score *s, const struct figures *f,
                         const char *const results[], size_t nresults, struct error *e);

#endif
