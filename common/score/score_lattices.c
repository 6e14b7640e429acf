/* Found lattices and their reflections. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "score/score.h"

int score_bin(double photons)
{
    const int bin = photons >= 1.0 ? ilogb(photons) : 0;
    return bin < SCORE_BINS ? bin : SCORE_BINS - 1;
}

size_t score_strong(const struct score *s, const struct key_frame *f, int32_t lattice)
{
    size_t strong = 0;
    for (size_t i = 0; i < f->nrows; i++)
        strong += f->rows[i].lattice == lattice && f->rows[i].photons > s->settings->strong_photons;
    return strong;
}

/* Cells whose edges differ by more are of other crystals. */
static const double EDGE_TOLERANCE = 0.1;
/* Photons of reflections that should be predicted. */
static const double PREDICTED_PHOTONS = 10.0;

/* A true lattice of a frame. */
struct target {
    double a_matrix[9], cell[6];
    const struct symmetry *rotations, *ambiguities;
    bool taken;
};

/* The true lattice that a found one belongs to. */
struct choice {
    struct target *target;  // NULL: none
    struct lattices_turn turn;
    bool ambiguous;  // only beyond the group
};

static bool same_cell(const double truth[6], const double found[6])
{
    bool same = true;
    for (int i = 0; i < 3; i++)
        same = same && fabs(found[i] / truth[i] - 1.0) <= EDGE_TOLERANCE;
    return same;
}

/* --- which is which ---------------------------------------------------------- */

static void consider(struct choice *c, struct target *t, const double found[9],
                     const struct symmetry *y)
{
    struct lattices_turn turn;
    if (!lattices_compare(t->a_matrix, found, y, &turn) || !same_cell(t->cell, turn.cell))
        return;
    if (!c->target || turn.angle_deg < c->turn.angle_deg) {
        c->target = t;
        c->turn = turn;
    }
}

static struct choice choose(const struct score *s, struct target *targets, size_t n,
                            const double found[9])
{
    struct choice c = {0};
    for (size_t i = 0; i < n; i++)
        consider(&c, &targets[i], found, targets[i].rotations);
    if (!s->settings->group || (c.target && c.turn.angle_deg < s->settings->angle_deg))
        return c;
    struct choice beyond = {.ambiguous = true};
    for (size_t i = 0; i < n; i++)
        consider(&beyond, &targets[i], found, targets[i].ambiguities);
    return beyond.target && beyond.turn.angle_deg < s->settings->angle_deg ? beyond : c;
}

/* Whether a found lattice may be one of the key's crystals at all. */
static void note_cell(struct score *s, const struct target *targets, size_t n,
                      const double found[9])
{
    double cell[6];
    if (!lattices_cell(found, cell))
        return;
    for (size_t i = 0; i < n; i++)
        s->has_known_cell |= lattices_same_edges(cell, targets[i].cell, EDGE_TOLERANCE);
    if (n && !s->has_known_cell)
        memcpy(s->other, cell, sizeof cell);
}

/* --- reflections ---------------------------------------------------------------- */

/* Photons of a reflection in the frames that it was measured in. */
static double photons_of(const struct score *s, const struct key_frame *f, int32_t lattice,
                         const int32_t hkl[3], const struct answer_reflection *r)
{
    const size_t place = (size_t)(f->frame - s->key->rows.frames),
                 before = (size_t)r->before < place ? (size_t)r->before : place,
                 left = s->key->rows.nframes - 1 - place,
                 after = (size_t)r->after < left ? (size_t)r->after : left;
    double photons = 0.0;
    for (size_t i = place - before; i <= place + after; i++) {
        const struct reflection_row *row = key_find(s->key, i, lattice, hkl);
        photons += row ? row->photons : 0.0;
    }
    return photons;
}

/* The true reflection of an answer: in its frame, and where the key has each reflection in one
 * frame alone, in those beside it, which its middle may be in. */
static const struct reflection_row *row_of(const struct score *s, size_t place, int32_t lattice,
                                           const int32_t hkl[3], bool elsewhere)
{
    const struct key *k = s->key;
    const struct reflection_row *row = NULL;
    if (!k->tells.summed)
        return key_find(k, place, lattice, hkl);
    for (int i = 0; i < 3 && !row && !elsewhere; i++) {
        const size_t near = i == 0 ? place : i == 1 ? place - 1 : place + 1;
        row = near < k->rows.nframes ? key_find(k, near, lattice, hkl) : NULL;
    }
    return row;
}

static enum status take_reflection(struct score *s, const struct key_frame *f,
                                   const double a_matrix[9], const struct reflection_row *row,
                                   const struct answer_reflection *r, const struct detectors *d,
                                   struct error *e)
{
    s->was_predicted += row->photons > PREDICTED_PHOTONS;
    if (r->measured) {
        const double photons =
            s->key->tells.summed ? row->photons : photons_of(s, f, row->lattice, row->hkl, r);
        struct intensities *const groups[] = {
            &s->intensities, &s->by_photons[score_bin(photons)],
            &s->by_shell[score_shell(score_inverse_d2(a_matrix, row->hkl))]};
        for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
            if (!intensities_add(groups[i], photons, r->intensity, r->sigma))
                return error_memory(e, "intensities");
        if (s->shown)
            shown_add(&s->shown->intensities, photons, r->intensity);
    }
    if (r->elsewhere || d->truth_of[r->panel] != row->panel)
        return STATUS_OK;
    const double fast = r->fast - row->fast, slow = r->slow - row->slow;
    if (!offsets_add(&s->predicted, fast, slow, row->photons) ||
        (row->photons > PREDICTED_PHOTONS && !values_add(&s->predicted_away_px, hypot(fast, slow))))
        return error_memory(e, "predicted places");
    return STATUS_OK;
}

static enum status take_reflections(struct score *s, const struct key_frame *f,
                                    const struct target *target, int32_t lattice,
                                    const int operator[9], const struct answer *a,
                                    const struct answer_lattice *l, const struct detectors *d,
                                    struct error *e)
{
    enum status status = STATUS_OK;
    const size_t place = (size_t)(f->frame - s->key->rows.frames);
    for (size_t i = 0; i < f->nrows; i++)
        s->predictable += f->rows[i].lattice == lattice && f->rows[i].photons > PREDICTED_PHOTONS;
    for (size_t i = l->first; i < l->first + l->count && !status; i++) {
        const struct answer_reflection *r = &a->reflections[i];
        int32_t hkl[3];
        for (int k = 0; k < 3; k++)
            hkl[k] = operator[3 * k] * r->hkl[0] + operator[3 * k + 1] *
                     r->hkl[1] +
                     operator[3 * k + 2] * r->hkl[2];
        const struct reflection_row *row = row_of(s, place, lattice, hkl, r->elsewhere);
        if (row)
            status = take_reflection(s, f, target->a_matrix, row, r, d, e);
    }
    return status;
}

/* --- a lattice ------------------------------------------------------------------- */

static double volume(const double c[6])
{
    const double x = cos(c[3] * M_PI / 180), y = cos(c[4] * M_PI / 180), z = cos(c[5] * M_PI / 180);
    return c[0] * c[1] * c[2] * sqrt(1 - x * x - y * y - z * z + 2 * x * y * z);
}

/* Edges and the volume as fractions, angles in deg. */
static enum status take_cell(struct score *s, const double truth[6], const double found[6],
                             struct error *e)
{
    bool good = values_add(&s->cell_values[6], volume(found));
    for (int i = 0; i < 6; i++) {
        good = good && values_add(&s->cell_values[i], found[i]);
        mean_add(&s->cell[i], found[i], 1.0);
        mean_add(&s->cell_error[i], i < 3 ? found[i] / truth[i] - 1.0 : found[i] - truth[i], 1.0);
    }
    mean_add(&s->cell[6], volume(found), 1.0);
    mean_add(&s->cell_error[6], volume(found) / volume(truth) - 1.0, 1.0);
    return good ? STATUS_OK : error_memory(e, "the cells of lattices");
}

static enum status take_turn(struct score *s, const struct lattices_turn *t, struct error *e)
{
    bool good = values_add(&s->angle_deg, t->angle_deg);
    for (int i = 0; i < 3; i++)
        good = good && values_add(&s->turn_deg[i], t->vector_deg[i]);
    return good ? STATUS_OK : error_memory(e, "the angles of lattices");
}

static enum status take_lattice(struct score *s, const struct key_frame *f, struct target *targets,
                                const struct answer *a, const struct answer_lattice *l,
                                const struct detectors *d, struct error *e)
{
    struct choice c = choose(s, targets, (size_t)f->frame->lattices, l->a_matrix);
    s->lattices_found++;
    s->left_handed += mat_determinant(l->a_matrix) < 0.0;
    note_cell(s, targets, (size_t)f->frame->lattices, l->a_matrix);
    if (!c.target || !(c.turn.angle_deg < s->settings->angle_deg))
        return STATUS_OK;
    if (c.target->taken || c.ambiguous) {
        *(c.ambiguous ? &s->ambiguous : &s->lattices_twice) += 1;
        return STATUS_OK;
    }
    c.target->taken = true;
    s->lattices_right++;
    const int32_t number = (int32_t)(c.target - targets);
    s->strong_right[score_bin((double)score_strong(s, f, number))]++;
    enum status status = take_cell(s, c.target->cell, c.turn.cell, e);
    status =
        status ? status : take_reflections(s, f, c.target, number, c.turn.operator, a, l, d, e);
    return status ? status : take_turn(s, &c.turn, e);
}

enum status score_lattices(struct score *s, const struct key_frame *f, const struct answer *a,
                           const struct detectors *d, struct error *e)
{
    const size_t n = (size_t)f->frame->lattices;
    struct target *targets = mem_array(n, sizeof *targets);
    enum status status = targets ? STATUS_OK : error_memory(e, "the lattices of a frame");
    for (size_t i = 0; i < n && !status; i++) {
        const size_t crystal = (size_t)f->lattices[i].crystal;
        key_a_matrix(s->key, f->frame, &f->lattices[i], targets[i].a_matrix);
        targets[i].rotations = &s->rotations[crystal];
        targets[i].ambiguities = &s->ambiguities[crystal];
        if (!lattices_cell(targets[i].a_matrix, targets[i].cell))
            status = error_set(e, STATUS_INPUT, "%s: holds a lattice that is flat", s->key->path);
    }
    for (size_t i = 0; i < a->nlattices && !status; i++)
        status = take_lattice(s, f, targets, a, &a->lattices[i], d, e);
    mem_free(targets);
    return status;
}
