/* Compares the answers of an analysis program with the ground truth and computes metrics.
 *
 * Call score_begin, score_take for each answer, score_close, score_figures and score_end.
 * bragg-score is the program that does this. */
#ifndef BRAGG_SCORE_SCORE_H
#define BRAGG_SCORE_SCORE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/idset.h"
#include "io/crystfel/geom.h"
#include "score/answer.h"
#include "score/figures.h"
#include "score/lattices.h"
#include "score/statistics.h"
#include "score/truth.h"

/* --- the detector model of an analysis and the true detector (detectors.c) --------------- */

/* The true detector and the model, with panels in the coordinate system of the beam.  Lengths are
 * in m. */
struct detectors {
    const struct geom_panel *truth, *model;  // borrowed
    size_t nmodel;
    struct geom_panel *turned;  // owned: the panels of the model, rotated about the beam, if the
                                // model has other axes across the beam; else NULL
    double turn_rad;            // angle of this rotation; 0: none
    int32_t *truth_of;          // owned: [nmodel], true panel of each panel of the model
    int32_t *model_of;          // owned: [panels of the truth], panel of the model for each true
                                // panel; -1: it is missing in the model
};

/* Pairs each panel of the model with the nearest true panel of the same size.  If `model` is NULL,
 * the panels are those of the truth, and d->model is d->truth.
 *
 * The axes of the model across the beam may differ from those of the ground truth, because the
 * ground truth uses the axes of the rotation axis and CrystFEL those of the detector.  Such a model
 * is rotated about the beam.  The criterion is that the model is far off and that a rotation by
 * more than a possible misalignment reduces the distance to less than a quarter.
 *
 * The caller must call detectors_free in any case.  STATUS_INPUT, with the name `path`: a panel has
 * no partner, two panels have the same partner, or pixels have another size. */
enum status detectors_match(struct detectors *d, const struct geom_panel *truth, size_t ntruth,
                            const struct geom_panel *model, size_t nmodel, const char *path,
                            struct error *e);

/* Sets up *d for ground truth without a detector.  The panels are those of the model, or `truth` if
 * `model` is NULL, with their numbers unchanged.
 *
 * `panel0` is the direction of the fast axis of the first panel of the ground truth across the
 * beam, in rad, from x to y; NaN: not known.  If the first panel of the model differs from it by
 * more than a possible misalignment, the axes of the model are different, and the model is rotated.
 */
void detectors_assume(struct detectors *d, const struct geom_panel *truth, size_t ntruth,
                      double panel0, const struct geom_panel *model, size_t nmodel);

/* Rotates the lattices of an answer in the same way as the model. */
void detectors_turn(const struct detectors *d, struct answer *a);

/* Sets out[3] to the position of a point of a panel, in m. */
void panel_point(const struct geom_panel *p, double fast, double slow, double out[3]);

/* Finds the point of a panel, whose corner is at corner[3], that the ray along direction[3] from
 * the sample hits, in px.  Returns false if it faces away. */
bool panel_project(const struct geom_panel *p, const double corner[3], const double direction[3],
                   double out[2]);

/* Finds the pixel (fast, slow) of the model that a ray hits.  The ray hits the true panel `panel`
 * at (fast, slow) px.  The true panel is shifted by true_m from the detector of the ground truth,
 * and the model by model_m from the detector of the results, in m.  Sets out[2] in px.  Returns
 * false if the panel is missing in the model, or faces away. */
bool detectors_project(const struct detectors *d, const double true_m[3], const double model_m[3],
                       int32_t panel, double fast, double slow, double out[2]);

/* Sets truth[3] to the position of a pixel of a true panel, and model[3] to the position of the
 * same pixel in the model, in m.  The shifts are those of detectors_project.  Returns false if the
 * panel is missing in the model. */
bool detectors_places(const struct detectors *d, const double true_m[3], const double model_m[3],
                      int32_t panel, double fast, double slow, double truth[3], double model[3]);

void detectors_free(struct detectors *d);

/*
 * Alignment of the detector model of an analysis with the true detector: camera length, rotation
 * about the beam, and tilt.  A mean of offsets hides these, because the offsets point away from the
 * beam centre or around it.
 */

enum { ALIGNMENT_TERMS = 6 };

/* Sums over places.  Must be {0} at the beginning. */
struct alignment {
    size_t n;
    double products[ALIGNMENT_TERMS][ALIGNMENT_TERMS], measured[ALIGNMENT_TERMS];
    double distance_m, radius2;  // sums of distances along the beam and of squared tangents
    double pixel_m;              // pixel size at the place that was added last
};

/* Adds a place: its true position, and the position of the same pixel in the model, in m, in the
 * coordinate system of the beam.  Places that are not in front of the sample are left out. */
void alignment_add(struct alignment *a, const double truth_m[3], const double model_m[3],
                   double pixel_m);

/* Misalignment of the model.  Values are NaN if there are too few places to determine them. */
struct alignment_off {
    double distance_m;     // mean true distance along the beam
    double camera_length;  // model / truth - 1
    double turn_deg;       // about the beam, from x to y
    double tilt_deg[2];    // about x and y
    double radius_px;      // rms distance of the places from the beam centre
};
struct alignment_off alignment_solve(const struct alignment *a);

/* --- the comparison (score.c) ----------------------------------------------------------- */

struct shown_samples;

struct score_settings {
    double angle_deg;              // a lattice is right if its misorientation is less than this
                                   // angle
    int64_t hit_spots;             // a frame is a hit if one of its lattices has at least this
                                   // number of strong reflections
    double strong_photons;         // a reflection is strong if it has more photons than this
    double strong_sigma;           // if not 0: it is strong if its I/sigma is above this, whatever
                                   // its photons.  The truth must contain the background
    const struct symmetry *group;  // borrowed: space group; NULL: use the symmetry that the true
                                   // cell allows
    bases_centring centring;    // centring of `group`. 0: not known.  R also counts as not known,
                                // because it does not fix the axes
    const struct id_set *only;  // borrowed: numbers of the frames that are scored; answers to other
                                // frames are skipped.  NULL: all frames
    bool again;  // accept repeated answers to a frame and answers without a frame number; they are
                 // only counted
};

enum { SCORE_BINS = 24 };  // photons: bin i is [2^i, 2^(i+1)), the last bin has no upper limit

/* Result for a frame of the ground truth. */
struct score_frame {
    bool skipped;  // settings->only excludes the frame
    bool answered;
    bool wrong;       // hit or not differs from the ground truth, or a found lattice is wrong
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
    struct truth *truth;                    // borrowed
    struct shown_samples *shown;            // borrowed; NULL: no report is written
    struct symmetry *rotations;             // owned: [ncrystals], allowed rotations of each crystal
    struct symmetry *ambiguities;           // owned: [ncrystals], also those that the cell allows
                                            // and `group` does not
    bases_centring *centrings;              // owned: [ncrystals], centring of each cell
    size_t ncrystals;
    struct score_sources all_from, spots_from, lattices_from, merged_from;
    size_t indexed_spots, integrated_spots;  // found spots of files that contain only these spots
    struct score_frame *frames;              // owned: [truth->rows.nframes]
    size_t nscored;                          // number of frames that are scored
    size_t nanswered, nagain, nnameless;
    size_t true_positive, false_positive, false_negative, true_negative;
    size_t spots_true, spots_found, spots_right;
    size_t strong_true, strong_found, bin_true[SCORE_BINS], bin_found[SCORE_BINS];
    size_t with_background;  // of spots_true, those with photons of background, or that overlap
    size_t sigma_true[SCORE_BINS], sigma_found[SCORE_BINS];  // binned by I/sigma
    size_t visible_true, visible_found;  // reflections with I/sigma above REFLECTION_VISIBLE_Z
    size_t strong_faint;                 // strong reflections with I/sigma below SCORE_FAINT_SIGMA
    size_t found_bin[SCORE_BINS], found_right[SCORE_BINS];  // binned by the measured photons
    struct roc hits_by_spots, hits_by_score;  // frames of the ground truth by found spots and by
                                              // score; a frame without a score ranks last
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
    double axes_turn_deg;          // angle by which the detector model was turned
    size_t lattices_true, lattices_found, lattices_right, lattices_twice;
    size_t strong_lattices[SCORE_BINS], strong_right[SCORE_BINS];  // binned by number of strong
                                                                   // reflections
    size_t left_handed, ambiguous, other_basis;
    bool has_known_cell;  // at least one found lattice has a cell of the ground truth
    struct values angle_deg, turn_deg[3];
    struct mean cell[7], cell_error[7];  // a, b, c, alpha, beta, gamma, volume
    struct values cell_values[7];
    size_t predictable, was_predicted;
    struct intensities intensities, by_photons[SCORE_BINS], by_shell[SCORE_SHELLS];
    double other[6];  // a found cell that does not match any cell of the ground truth; zeros: none
    struct spots spots;
    int64_t *partner;  // owned
    size_t partner_room;
};

/* Starts a score.  *settings and *truth must stay valid until score_end.  The caller must call
 * score_end, also after an error.
 *
 *   STATUS_USAGE   a frame of settings->only is not in the ground truth
 *   STATUS_INPUT   the ground truth cannot be read, or has too many crystals
 *   STATUS_FAILED  out of memory */
enum status score_begin(struct score *s, const struct score_settings *settings, struct truth *truth,
                        struct error *e);

/* Compares one answer from file `path` with the ground truth.  *d relates the detector model of the
 * answer to the detector of the ground truth.  If lattices of the ground truth are equal, the equal
 * lattices of *a are joined, too.
 *
 * STATUS_INPUT, with "PATH:LINE: ": the frame or a panel is not in the ground truth, or the images
 * rotate by another angle.  Without settings->again also: the answer has no frame number, or the
 * frame already has an answer. */
enum status score_take(struct score *s, struct answer *a, const struct detectors *d,
                       const char *path, struct error *e);

/* Ends the comparison after the last answer.  A frame without an answer counts as one in which
 * nothing was found.
 *
 * STATUS_INPUT: there is no answer, all found lattices are of other crystals, or nothing that was
 * found is in the ground truth. */
enum status score_close(struct score *s, struct error *e);

/* Adds the metrics of a closed score to *f. */
void score_figures(struct score *s, struct figures *f);

void score_end(struct score *s);

/* Returns the bin of a number of photons, 0 to SCORE_BINS - 1. */
int score_bin(double photons);

/* A spot finder that uses the usual threshold does not find a reflection below this I/sigma. */
#define SCORE_FAINT_SIGMA 3.0

/* Returns I/sigma of a reflection, the z of model/frame.h: sigma^2 is the sum of its photons, of
 * the photons of background in its pixels, and of their readout noise (truth_add_noise). */
static inline double score_sigmas(const struct reflection_row *r)
{
    return r->photons / sqrt(r->photons + (double)r->background);
}

/* Returns true if a reflection is strong, so that an analysis should find it. */
static inline bool score_is_strong(const struct score_settings *settings,
                                   const struct reflection_row *r)
{
    return settings->strong_sigma > 0.0 ? score_sigmas(r) > settings->strong_sigma
                                        : r->photons > settings->strong_photons;
}

/* Returns the number of strong reflections of lattice number `lattice` of a frame. */
size_t score_strong(const struct score *s, const struct truth_frame *f, int32_t lattice);

/* --- score_sent.c ------------------------------------------------------------------ */

/* The messages that bragg-serve sent, according to the file of --sent.  The file is a table with a
 * line for each lattice of a message, or a stream with a chunk for each message. */

enum { SENT_FAULT_SIZE = 16 };

/* What happened to a message.  SENT_SOME: at least one of several clients took it. */
enum sent_fate { SENT_TAKEN, SENT_SOME, SENT_DROPPED, SENT_WITHHELD, SENT_FATES };

struct sent_message {
    uint64_t frame;
    double time_s;  // Unix time at which a client took it
    enum sent_fate fate;
    char fault[SENT_FAULT_SIZE];  // kind of fault that bragg-serve put into it; "-": none
};

struct sent_messages {
    size_t count, room;
    struct sent_message *messages;  // owned: in the order of sending
};

/* Appends the messages of a file to *s, which must be {0} before the first file.  The caller must
 * call sent_free, also after an error.
 *
 * STATUS_INPUT, with "FILE:LINE: ": the file is not one of bragg-serve --sent. */
enum status sent_read(const char *path, struct sent_messages *s, struct error *e);
void sent_free(struct sent_messages *s);

/* Adds metrics about messages to *f: the latency of the answers, the frames lost by sender and by
 * client, and the reaction of the analysis to each kind of fault. */
enum status score_sent_figures(const struct score *s, const struct sent_messages *sent,
                               struct figures *f, struct error *e);

/* --- score_lattices.c -------------------------------------------------------------- */

/* Compares the lattices of an answer and their reflections with those of a frame of the ground
 * truth. */
enum status score_lattices(struct score *s, const struct truth_frame *f, const struct answer *a,
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

/* --- a returned geometry (geometry_score.c) --------------------------------------------- */

/* Compares the detector of the file `path` (CrystFEL .geom, DIALS .expt, NXmx) with the true one of
 * the file `truth` (NXmx file of bragg-write, recording, or any of the former), and adds the
 * metrics panels_px, panels and panel_px to *f.
 *
 * The error of a true point is the distance, in px of the model, between the place where the model
 * has the direction of the point, and the point.  Motions of the whole detector that no analysis
 * sees are removed one after the other.  STATUS_INPUT: a file cannot be read, or the detectors
 * differ. */
enum status geometry_score(const char *truth, const char *path, struct figures *f, struct error *e);

/* --- merged intensities (merged.c) ------------------------------------------------------- */

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
    size_t true_pairs;     // pairs in the ground truth
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
 * with the ground truth.  *m must be {0}; `path` must stay valid as long as *m.
 *
 * STATUS_INPUT: the file cannot be read or is of another cell, it is a second merged result, the
 * ground truth has several crystals or no structure factors, or fewer than three reflections are in
 * both. */
enum status merged_take(struct merged *m, const char *path, struct truth *truth, struct error *e);

/* Adds the metrics merged.* to *f.  They are absent if no merged result was given. */
void merged_figures(const struct merged *m, struct figures *f);

#endif
