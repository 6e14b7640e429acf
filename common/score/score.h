/* Compares the answers of an analysis program with the ground truth and computes metrics.
 *
 * Call score_begin, score_take for each answer, score_close, score_figures and score_end.
 * bragg-score is the program that does this. */
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
    double angle_deg;              // a lattice is right if its misorientation is less than this
                                   // angle
    int64_t hit_spots;             // a frame is a hit if one of its lattices has at least this
                                   // number of strong reflections
    double strong_photons;         // a reflection is strong if it has more photons than this
    const struct symmetry *group;  // borrowed: space group; NULL: use the symmetry that the true
                                   // cell allows
    bases_centring centring;  // centring of `group`. 0: not known.  R also counts as not known,
                              // because it does not fix the axes
    bool again;  // accept repeated answers to a frame and answers without a frame number; they are
                 // only counted
};

enum { SCORE_BINS = 24 };  // photons: bin i is [2^i, 2^(i+1)), the last bin has no upper limit

/* Result for a frame of the key. */
struct score_frame {
    bool answered;
    bool wrong;       // hit or not differs from the key, or a found lattice is wrong
    bool reported;    // the analysis reports that the message that it received is corrupt
    size_t again;     // number of further answers to the same frame
    double result_s;  // Unix time at which the answer was received; 0: not known
};

enum { SCORE_SOURCES = 6 };

/* Names of the files that answered a question.  Only the first SCORE_SOURCES are kept. */
struct score_sources {
    size_t count;
    char names[SCORE_SOURCES][ANSWER_FILE_SIZE], latest[ANSWER_FILE_SIZE];
};

/* Adds the name of a file, without its folders, unless it was added before. */
void score_sources_add(struct score_sources *s, const char *path);

struct score {
    const struct score_settings *settings;  // borrowed
    struct key *key;                        // borrowed
    struct shown *shown;                    // borrowed; NULL: no report is written
    struct symmetry *rotations;             // owned: [ncrystals], allowed rotations of each crystal
    struct symmetry *ambiguities;           // owned: [ncrystals], also those that the cell allows
                                            // and `group` does not
    bases_centring *centrings;              // owned: [ncrystals], centring of each cell
    size_t ncrystals;
    struct score_sources all_from, spots_from, lattices_from, merged_from;
    size_t indexed_spots, integrated_spots;  // found spots of files that contain only these spots
    struct score_frame *frames;              // owned: [key->rows.nframes]
    size_t nanswered, nagain, nnameless;
    size_t true_positive, false_positive, false_negative, true_negative;
    size_t spots_true, spots_found, spots_right;
    size_t strong_true, strong_found, bin_true[SCORE_BINS], bin_found[SCORE_BINS];
    size_t found_bin[SCORE_BINS], found_right[SCORE_BINS];  // binned by the measured photons
    struct roc hits_by_spots, hits_by_score;  // frames of the key by found spots and by score; a
                                              // frame without a score ranks last
    struct roc spots_by_photons;              // found spots whose photons are given
    size_t nscores;                           // number of answers with a score
    double by_chance;                         // expected number of found spots within the radius of
                                              // a true spot if all found spots were at random
                                              // places
    struct values centroid_px, predicted_away_px;
    /* The weight of a spot is its photons, because the variance of a centroid is proportional to 1
     * / photons. */
    struct offsets found, geometry, predicted;
    struct alignment alignment;
    struct mean wavelength_error;  // relative error, over answers that give a wavelength
    double axes_turn_deg;          // angle by which the detector model was turned (detectors.h)
    size_t lattices_true, lattices_found, lattices_right, lattices_twice;
    size_t strong_lattices[SCORE_BINS], strong_right[SCORE_BINS];  // binned by number of strong
                                                                   // reflections
    size_t left_handed, ambiguous, other_basis;
    bool has_known_cell;  // at least one found lattice has a cell of the key
    struct values angle_deg, turn_deg[3];
    struct mean cell[7], cell_error[7];  // a, b, c, alpha, beta, gamma, volume
    struct values cell_values[7];
    size_t predictable, was_predicted;
    struct intensities intensities, by_photons[SCORE_BINS], by_shell[SCORE_SHELLS];
    double other[6];  // a found cell that does not match any cell of the key; zeros: none
    struct spots spots;
    int64_t *partner;  // owned
    size_t partner_room;
};

/* Starts a score.  *settings and *key must stay valid until score_end.  The caller must call
 * score_end, also after an error.
 *
 *   STATUS_INPUT   the key cannot be read, or has too many crystals
 *   STATUS_FAILED  out of memory */
enum status score_begin(struct score *s, const struct score_settings *settings, struct key *key,
                        struct error *e);

/* Compares one answer from file `path` with the key.  *d relates the detector model of the answer
 * to the detector of the key.  If lattices of the key are equal, the equal lattices of *a are
 * joined, too.
 *
 * STATUS_INPUT, with "PATH:LINE: ": the frame or a panel is not in the key, or the images rotate by
 * another angle.  Without settings->again also: the answer has no frame number, or the frame
 * already has an answer. */
enum status score_take(struct score *s, struct answer *a, const struct detectors *d,
                       const char *path, struct error *e);

/* Counts the lattices, spots and hits that an analysis should find in a frame.
 *
 *   hit     the analysis classified the frame as a hit
 *   nspots  number of spots that it found
 *   score   its score; -INFINITY: none
 *   truth   set: the frame is a hit according to the key */
enum status score_truth(struct score *s, const struct key_frame *f, bool hit, size_t nspots,
                        double score, bool *truth, struct error *e);

/* Ends the comparison after the last answer.  A frame without an answer counts as one in which
 * nothing was found.
 *
 * STATUS_INPUT: there is no answer, all found lattices are of other crystals, or nothing that was
 * found is in the key. */
enum status score_close(struct score *s, struct error *e);

/* Adds the metrics of a closed score to *f. */
void score_figures(struct score *s, struct figures *f);

void score_end(struct score *s);

/* Returns the bin of a number of photons, 0 to SCORE_BINS - 1. */
int score_bin(double photons);

/* Returns the number of strong reflections of lattice number `lattice` of a frame. */
size_t score_strong(const struct score *s, const struct key_frame *f, int32_t lattice);

/* --- score_sent.c ------------------------------------------------------------------ */

/* The messages that bragg-serve sent, according to its key (--key).  The key is a table with a line
 * for each lattice of a message, or a stream with a chunk for each message. */

enum { SENT_FAULT_SIZE = 16 };

/* What happened to a message.  SENT_SOME: at least one of several clients took it. */
enum sent_fate { SENT_TAKEN, SENT_SOME, SENT_DROPPED, SENT_WITHHELD, SENT_FATES };

struct sent_message {
    uint64_t frame;
    double time_s;  // Unix time at which a client took it
    enum sent_fate fate;
    char fault[SENT_FAULT_SIZE];  // kind of fault that bragg-serve put into it; "-": none
};

struct sent {
    size_t count, room;
    struct sent_message *messages;  // owned: in the order of sending
};

/* Appends the messages of a file to *s, which must be {0} before the first file.  The caller must
 * call sent_free, also after an error.
 *
 * STATUS_INPUT, with "FILE:LINE: ": the file is not a key of bragg-serve. */
enum status sent_read(const char *path, struct sent *s, struct error *e);
void sent_free(struct sent *s);

/* Adds metrics about messages to *f: the latency of the answers, the frames lost by sender and by
 * client, and the reaction of the analysis to each kind of fault. */
enum status score_sent_figures(const struct score *s, const struct sent *sent, struct figures *f,
                               struct error *e);

/* --- score_lattices.c -------------------------------------------------------------- */

/* Compares the lattices of an answer and their reflections with those of a frame of the key. */
enum status score_lattices(struct score *s, const struct key_frame *f, const struct answer *a,
                           const struct detectors *d, struct error *e);

/* --- report.c ------------------------------------------------------------------------- */

/* Writes a report as a single page of HTML without external parts.
 *
 *   s        closed score, with s->shown set
 *   f        its metrics
 *   results  names of the `nresults` files of results
 *
 * The caller checks `out` for write errors.  STATUS_FAILED: out of memory. */
enum status report_write(FILE *out, struct score *s, const struct figures *f,
                         const char *const results[], size_t nresults, struct error *e);

#endif
