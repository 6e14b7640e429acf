/* What an analysis program reports about one frame.  The readers of all file formats of results
 * fill in a `struct answer`.
 *
 * The second half of this file pairs found spots with spots of the ground truth. */
#ifndef BRAGG_SCORE_ANSWER_H
#define BRAGG_SCORE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/frame.h"

enum { ANSWER_FILE_SIZE = 256 };

/* A found spot.  `panel` is a panel of the detector model of the analysis.  Pixel i covers [i,
 * i+1). */
struct answer_spot {
    int32_t panel;
    double fast, slow;  // px
    double intensity;   // photons according to the analysis; 0: not given
};

/* A reflection of a lattice, at the place that the analysis predicted. */
struct answer_reflection {
    int32_t hkl[3];
    int32_t panel;
    double fast, slow;        // px
    bool measured;            // `intensity` and `sigma` are given.  If a reflection extends over
                              // several frames, it is measured in only one of them
    double intensity, sigma;  // photons
    /* The next three members are for a reflection that extends over several frames. */
    bool elsewhere;  // it is predicted to be brightest in another frame, where its place is valid
    int32_t before, after;  // number of frames over which it extends before and after this frame
};

struct answer_lattice {
    double a_matrix[9];   // row-major; columns a*, b*, c* in 1/A, in the coordinate system of the
                          // beam (truth_a_matrix)
    size_t first, count;  // its reflections in `reflections` of the answer
    uint64_t crystal;     // only in ground truth: number of its crystal, from 0
    char centring;        // centring of its cell (bases_centring) according to the analysis; 0: not
                          // given
};

/* Which of the spots that an analysis found its file contains. */
enum answer_spots { ANSWER_SPOTS_ALL, ANSWER_SPOTS_INDEXED, ANSWER_SPOTS_INTEGRATED };

struct answer {
    long line;       // line of the file on which it begins; 0: it is not in one place of the file
    bool has_frame;  // `frame` is given
    bool no_number;  // the analysis gives text instead of a number, because its message was corrupt
    bool damaged;    // the analysis reports that the message that it received is corrupt
    uint64_t frame;
    char file[ANSWER_FILE_SIZE];  // file of the image, as the analysis names it; "": not given
    bool has_event;
    uint64_t event;      // number of the image in `file`, from 0
    bool says_hit, hit;  // the analysis says whether the frame is a hit, and `hit` is what it says
    bool has_score;
    double score;         // confidence of the analysis that the frame is a hit, in any unit; more
                          // is surer
    double time_s;        // Unix time at which the result was received; 0: not known
    double wavelength_A;  // wavelength according to the analysis; 0: not given
    double width_deg;     // rotation of the crystal during the image according to the analysis; 0:
                          // not given
    enum answer_spots which_spots;
    const char *spots_path;  // borrowed: file of the spots, if another file has the lattices; else
                             // NULL
    double shift_m[3];  // offset of the detector in this frame from the detector of the results as
                        // a whole, in the coordinate system of the beam
    size_t nspots, nlattices, nreflections;
    struct answer_spot *spots;  // owned
    size_t npassing, passing_room;
    struct answer_spot *passing;      // owned: spots of other frames of a rotation that extend
                                      // over this frame
    struct answer_lattice *lattices;  // owned
    struct answer_reflection *reflections;  // owned
    size_t spots_room, lattices_room, reflections_room;
};

/* Makes *a empty, and keeps its memory for the next frame. */
void answer_clear(struct answer *a);

/* Finds the number of a frame in the name of a file with one image: its last digits before the
 * extension.  Returns false if the name has no digits. */
bool answer_frame_of_name(const char *path, uint64_t *frame);

/* Appends an item of zeros and returns it.  A lattice begins at the next reflection that is added.
 * The pointer is valid until the next item of the same type is added. */
struct answer_spot *answer_add_spot(struct answer *a);
struct answer_spot *answer_add_passing(struct answer *a);
struct answer_lattice *answer_add_lattice(struct answer *a);
struct answer_reflection *answer_add_reflection(struct answer *a);

/* Joins lattices that are equal (lattices_are_one) and adds up the intensities of their
 * reflections.  Also joins spots at the same place. */
void answer_join(struct answer *a);

void answer_free(struct answer *a);

/* --- pairs of found and true spots ------------------------------------------------------- */

/* px: maximum distance between a found spot and its true spot */
#define SPOTS_RADIUS_PX 1.5

/* A found spot and a true spot that are close enough to be a pair. */
struct spots_pair {
    double distance2;  // px^2
    uint32_t found, row;
};

/* Working memory of spots_match, which is reused from frame to frame. */
struct spots {
    uint32_t *order;           // rows, sorted by panel and then by slow
    struct spots_pair *pairs;  // pairs within SPOTS_RADIUS_PX, nearest first
    uint8_t *taken;            // [nrows]: 1 if a found spot is paired with the row
    size_t order_room, pairs_room, taken_room;
};

/* Pairs found spots with rows of the ground truth, one to one.  The nearest pairs are made first.
 *
 *   panel_of  panel of the ground truth for each panel of the analysis
 *   partner   [nfound], set to the row that is paired with found spot i, or -1 */
void spots_match(struct spots *s, const struct reflection_row *rows, size_t nrows,
                 const struct answer_spot *found, size_t nfound, const int32_t *panel_of,
                 int64_t *partner);

/* Pairs more spots with the rows that no spot is paired with.  The rows must be those of the last
 * call of spots_match. */
void spots_match_more(struct spots *s, const struct reflection_row *rows, size_t nrows,
                      const struct answer_spot *found, size_t nfound, const int32_t *panel_of,
                      int64_t *partner);

void spots_free(struct spots *s);

#endif
