/* What an analysis says about one frame, whatever file it came from. */
#ifndef BRAGG_SCORE_ANSWER_H
#define BRAGG_SCORE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/frame.h"

enum { ANSWER_FILE_SIZE = 256 };

/* Panels are those of the analysis's own detector; pixel i covers [i, i+1). */
struct answer_spot {
    int32_t panel;
    double fast, slow;  // px
    double intensity;   // photons, as the analysis has them; 0: not said
};

/* A reflection of a lattice, where the analysis predicted it. */
struct answer_reflection {
    int32_t hkl[3];
    int32_t panel;
    double fast, slow;        // px
    bool measured;            // the next two are there, in one frame of a reflection
    double intensity, sigma;  // photons
    /* Of one that was measured over several frames: */
    bool elsewhere;  // it was predicted to be brightest in another one: the place is that there
    int32_t before, after;  // how many frames more it reaches over
};

struct answer_lattice {
    double a_matrix[9];   // row-major; columns a*, b*, c* in 1/A, in the frame of the beam
    size_t first, count;  // of the answer's reflections
    uint64_t crystal;     // in a key: the kind that it is of, from 0
    char centring;        // of its cell (bases.h), as the analysis says; 0: it does not
};

struct answer {
    long line;       // where it begins in the file, 0: not in one place of it
    bool has_frame;  // the analysis passed the number of the frame on
    bool no_number;  // what it passed on is none: its message was damaged
    bool damaged;    // the analysis says that what it got is damaged
    uint64_t frame;
    char file[ANSWER_FILE_SIZE];  // of the image, as the analysis names it; "": not said
    bool has_event;
    uint64_t event;      // number of the image in that file, from 0
    bool says_hit, hit;  // whether the analysis says it is one, and what it says
    bool has_score;
    double score;         // how sure the analysis is of a hit, in any unit; more is surer
    double time_s;        // when the result came, Unix time; 0: not known
    double wavelength_A;  // as the analysis has it; 0: it does not say
    double width_deg;     // by how much the crystal turns during the image, likewise
    double shift_m[3];  // how far its detector stands from that of the results, in the frame of the
                        // beam
    size_t nspots, nlattices, nreflections;
    struct answer_spot *spots;              // owned
    struct answer_lattice *lattices;        // owned
    struct answer_reflection *reflections;  // owned
    size_t spots_room, lattices_room, reflections_room;
};

/* Makes *a empty and keeps its memory for the next frame. */
void answer_clear(struct answer *a);

/* The number of the frame in the name of a file of one image: its last digits before the ending. */
bool answer_frame_of_name(const char *path, uint64_t *frame);

/* A new last item, zeroed; NULL when memory is out. */
struct answer_spot *answer_add_spot(struct answer *a);
struct answer_lattice *answer_add_lattice(struct answer *a);
struct answer_reflection *answer_add_reflection(struct answer *a);

/* Joins lattices that are one (lattices.h), with the sum of the intensities of their reflections,
 * and spots in the same place.  False when memory is out. */
bool answer_join(struct answer *a);

void answer_free(struct answer *a);

/* --- which found spot is which true one ------------------------------------------------- */

/* px: a found spot farther from a true one is another. */
#define SPOTS_RADIUS_PX 1.5

/* A found spot, and a true one that it may be. */
struct spots_pair {
    double distance2;  // px^2
    uint32_t found, row;
};

/* Memory that lasts from frame to frame. */
struct spots {
    uint32_t *order;           // rows by panel, then slow
    struct spots_pair *pairs;  // within the radius, nearest first
    uint8_t *taken;            // rows
    size_t order_room, pairs_room, taken_room;
};

/* partner[i]: the row that found spot i is, or -1.  One to one, the nearest pairs first.
 * `panel_of[p]`: the key's panel of the analysis's panel p.  STATUS_FAILED when memory is out. */
enum status spots_match(struct spots *s, const struct reflection_row *rows, size_t nrows,
                        const struct answer_spot *found, size_t nfound, const int32_t *panel_of,
                        int64_t *partner, struct error *e);

void spots_free(struct spots *s);

#endif
