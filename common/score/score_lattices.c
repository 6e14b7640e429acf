/* Compares the found lattices of a frame and their reflections with the true ones. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "score/report_samples.h"
#include "score/score.h"

int score_bin(double photons)
{
    const int bin = photons >= 1.0 ? ilogb(photons) : 0;
    return bin < SCORE_BINS ? bin : SCORE_BINS - 1;
}

size_t score_strong(const struct score *s, const struct truth_frame *f, int32_t lattice)
{
    size_t strong = 0;
    for (size_t i = 0; i < f->nrows; i++)
        strong += f->rows[i].lattice == lattice && score_is_strong(s->settings, &f->rows[i]);
    return strong;
}

/* Relative tolerances of edges.  Cells that differ by more than the first are of other crystals.  A
 * lattice is right only if it differs by less than the second. */
static const double EDGE_TOLERANCE = 0.1, RIGHT_EDGE_TOLERANCE = 0.04;
/* Reflections with more photons than this should be predicted. */
static const double PREDICTED_PHOTONS = 10.0;

/* A true lattice of a frame. */
struct target {
    double a_matrix[9], cell[6];
    const struct symmetry *rotations, *ambiguities;
    bases_centring centring;
    bool taken;
};

/* The true lattice that a found one belongs to. */
struct choice {
    struct target *target;  // NULL: none
    struct lattices_turn turn;
    bool ambiguous;    // found only with rotations that the cell allows and the group does not
    bool other_basis;  // found only with another choice of axes
    double index[9];   // only if other_basis: true h = turn.operator * index * found h
};

static bool same_cell(const double truth[6], const double found[6])
{
    bool same = true;
    for (int i = 0; i < 3; i++)
        same = same && fabs(found[i] / truth[i] - 1.0) <= RIGHT_EDGE_TOLERANCE;
    return same;
}

/* --- choice of the true lattice ------------------------------------------------ */

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

/* Compares a found lattice with a true one, like `consider`, but with another choice of axes: in
 * another order, of a reduced cell, or of a centred cell. */
static void consider_bases(struct choice *c, struct target *t, const double found[9],
                           bases_centring centring)
{
    struct bases_match m;
    struct choice its = {.other_basis = true};
    if (!bases_match(t->a_matrix, t->centring, found, centring, &m))
        return;
    consider(&its, t, m.found, t->rotations);
    if (!its.target || (c->target && its.turn.angle_deg >= c->turn.angle_deg))
        return;
    *c = its;
    memcpy(c->index, m.index, sizeof c->index);
}

/* Returns the centring of a found lattice.  For R, the reflections of the lattice decide between
 * the obverse (R) and the reverse setting (S). */
static bases_centring centring_of(const struct answer *a, const struct answer_lattice *l)
{
    struct bases_count count = {0};
    if (l->centring != 'R')
        return l->centring;
    for (size_t i = l->first; i < l->first + l->count; i++)
        bases_count(&count, a->reflections[i].hkl);
    return bases_counted(&count) == 'S' ? 'S' : 'R';
}

static struct choice choose_basis(const struct score *s, struct target *targets, size_t n,
                                  const double found[9], bases_centring centring)
{
    struct choice c = {0};
    for (size_t i = 0; i < n; i++)
        consider(&c, &targets[i], found, targets[i].rotations);
    if (c.target && c.turn.angle_deg < s->settings->angle_deg)
        return c;
    struct choice beyond = {.ambiguous = true};
    for (size_t i = 0; i < n && s->settings->group; i++)
        consider(&beyond, &targets[i], found, targets[i].ambiguities);
    if (beyond.target && beyond.turn.angle_deg < s->settings->angle_deg)
        return beyond;
    struct choice other = {0};
    for (size_t i = 0; i < n; i++)
        consider_bases(&other, &targets[i], found, centring);
    return other.target && (!c.target || other.turn.angle_deg < s->settings->angle_deg) ? other : c;
}

/* Notes whether a found lattice has the cell of one of the crystals of the ground truth.  If not,
 * keeps its cell for the message. */
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

/* Returns the photons of a reflection, summed over the frames in which it was measured. */
static double photons_of(const struct score *s, const struct truth_frame *f, int32_t lattice,
                         const int32_t hkl[3], const struct answer_reflection *r)
{
    const size_t place = f->place, left = s->truth->rows.nframes - 1 - place;
    size_t before = (size_t)r->before, after = (size_t)r->after;
    before = before < place ? before : place;
    after = after < left ? after : left;
    double photons = 0.0;
    for (size_t i = place - before; i <= place + after; i++) {
        struct reflection_row row;
        photons += truth_find(s->truth, i, lattice, hkl, &row) ? row.photons : 0.0;
    }
    return photons;
}

/* Finds the true reflection for a reflection of an answer.  It is in the same frame.  If the ground
 * truth lists each reflection in only one frame, it may also be in the previous or the next frame,
 * because its centre may be there. */
static bool find_row(const struct score *s, size_t place, int32_t lattice, const int32_t hkl[3],
                     bool elsewhere, struct reflection_row *row)
{
    const struct truth *truth = s->truth;
    bool found = false;
    if (!truth->facts.summed)
        return truth_find(truth, place, lattice, hkl, row);
    for (int i = 0; i < 3 && !found && !elsewhere; i++) {
        const size_t near = i == 0 ? place : i == 1 ? place - 1 : place + 1;
        found = near < truth->rows.nframes && truth_find(truth, near, lattice, hkl, row);
    }
    return found;
}

/* Computes the true index of a found reflection.  Returns false if the true lattice cannot have
 * such a reflection. */
static bool true_index(const struct choice *c, const int32_t found[3], int32_t hkl[3])
{
    static const double WHOLE = 1e-6;
    double own[3] = {found[0], found[1], found[2]};
    for (int i = 0; i < 3 && c->other_basis; i++)
        own[i] = c->index[3 * i] * found[0] + c->index[3 * i + 1] * found[1] +
                 c->index[3 * i + 2] * found[2];
    for (int i = 0; i < 3; i++) {
        const int *o = c->turn.operator+ 3 * i;
        const double value = o[0] * own[0] + o[1] * own[1] + o[2] * own[2];
        if (!(fabs(value - rint(value)) < WHOLE))
            return false;
        hkl[i] = (int32_t)rint(value);
    }
    return true;
}

static void take_reflection(struct score *s, const struct truth_frame *f, const double a_matrix[9],
                            const struct reflection_row *row, const struct answer_reflection *r,
                            const struct detectors *d)
{
    s->was_predicted += row->photons > PREDICTED_PHOTONS;
    if (r->measured) {
        const double photons =
            s->truth->facts.summed ? row->photons : photons_of(s, f, row->lattice, row->hkl, r);
        struct intensities *const groups[] = {
            &s->intensities, &s->by_photons[score_bin(photons)],
            &s->by_shell[score_shell(score_inverse_d2(a_matrix, row->hkl))]};
        for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
            intensities_add(groups[i], photons, r->intensity, r->sigma);
        if (s->shown)
            shown_add(&s->shown->intensities, photons, r->intensity);
    }
    if (r->elsewhere || d->truth_of[r->panel] != row->panel)
        return;
    const double fast = r->fast - row->fast, slow = r->slow - row->slow;
    offsets_add(&s->predicted, fast, slow, row->photons);
    if (row->photons > PREDICTED_PHOTONS)
        values_add(&s->predicted_away_px, hypot(fast, slow));
}

static void take_reflections(struct score *s, const struct truth_frame *f, const struct choice *c,
                             int32_t lattice, const struct answer *a,
                             const struct answer_lattice *l, const struct detectors *d)
{
    for (size_t i = 0; i < f->nrows; i++)
        s->predictable += f->rows[i].lattice == lattice && f->rows[i].photons > PREDICTED_PHOTONS;
    for (size_t i = l->first; i < l->first + l->count; i++) {
        const struct answer_reflection *r = &a->reflections[i];
        int32_t hkl[3];
        struct reflection_row row;
        if (true_index(c, r->hkl, hkl) && find_row(s, f->place, lattice, hkl, r->elsewhere, &row))
            take_reflection(s, f, c->target->a_matrix, &row, r, d);
    }
}

/* --- a lattice ------------------------------------------------------------------- */

static double volume(const double c[6])
{
    const double x = cos(c[3] * M_PI / 180), y = cos(c[4] * M_PI / 180), z = cos(c[5] * M_PI / 180);
    return c[0] * c[1] * c[2] * sqrt(1 - x * x - y * y - z * z + 2 * x * y * z);
}

/* Adds the cell of a lattice.  Errors of edges and volume are relative, errors of angles are in
 * deg. */
static void take_cell(struct score *s, const double truth[6], const double found[6])
{
    values_add(&s->cell_values[6], volume(found));
    for (int i = 0; i < 6; i++) {
        values_add(&s->cell_values[i], found[i]);
        mean_add(&s->cell[i], found[i], 1.0);
        mean_add(&s->cell_error[i], i < 3 ? found[i] / truth[i] - 1.0 : found[i] - truth[i], 1.0);
    }
    mean_add(&s->cell[6], volume(found), 1.0);
    mean_add(&s->cell_error[6], volume(found) / volume(truth) - 1.0, 1.0);
}

static void take_turn(struct score *s, const struct lattices_turn *t)
{
    values_add(&s->angle_deg, t->angle_deg);
    for (int i = 0; i < 3; i++)
        values_add(&s->turn_deg[i], t->vector_deg[i]);
}

static void take_lattice(struct score *s, const struct truth_frame *f, struct target *targets,
                         const struct answer *a, const struct answer_lattice *l,
                         const struct detectors *d)
{
    struct choice c =
        choose_basis(s, targets, (size_t)f->frame->lattices, l->a_matrix, centring_of(a, l));
    s->lattices_found++;
    s->left_handed += mat_determinant(l->a_matrix) < 0.0;
    s->has_known_cell |= c.target != NULL;
    note_cell(s, targets, (size_t)f->frame->lattices, l->a_matrix);
    if (!c.target || !(c.turn.angle_deg < s->settings->angle_deg))
        return;
    if (c.target->taken || c.ambiguous) {
        *(c.ambiguous ? &s->ambiguous : &s->lattices_twice) += 1;
        return;
    }
    c.target->taken = true;
    s->lattices_right++;
    s->other_basis += c.other_basis;
    const int32_t number = (int32_t)(c.target - targets);
    s->strong_right[score_bin((double)score_strong(s, f, number))]++;
    take_cell(s, c.target->cell, c.turn.cell);
    take_reflections(s, f, &c, number, a, l, d);
    take_turn(s, &c.turn);
}

enum status score_lattices(struct score *s, const struct truth_frame *f, const struct answer *a,
                           const struct detectors *d, struct error *e)
{
    const size_t n = (size_t)f->frame->lattices;
    struct target *targets = mem_array(n, sizeof *targets);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < n && !status; i++) {
        const size_t crystal = (size_t)f->lattices[i].crystal;
        truth_a_matrix(s->truth, f->frame, &f->lattices[i], targets[i].a_matrix);
        targets[i].rotations = &s->rotations[crystal];
        targets[i].ambiguities = &s->ambiguities[crystal];
        targets[i].centring = s->centrings[crystal];
        if (!lattices_cell(targets[i].a_matrix, targets[i].cell))
            status =
                error_set(e, STATUS_INPUT, "%s: a lattice has a cell of volume 0", s->truth->path);
    }
    for (size_t i = 0; i < a->nlattices && !status; i++)
        take_lattice(s, f, targets, a, &a->lattices[i], d);
    mem_free(targets);
    return status;
}
