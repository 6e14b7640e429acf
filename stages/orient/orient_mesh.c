/*
 * Mesh scans: a sample holder carries crystals at fixed places, and the beam meets the holder at
 * another point in each frame.  A crystal that several points reach is the same in all their
 * frames.
 *
 * Places are in two coordinates across the beam: x along its width, which is the direction of the
 * electric field, and y along its height.  The holder lies in this plane at the start angle of
 * frame 0, and rotates with the spindle.  Each point of a mesh begins its rotation at this angle.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/vec.h"
#include "io/text/textfile.h"
#include "orient.h"
#include "physics/crystal/illuminated_volume.h"

static const double FARTHEST_UM = 1e6;  // of a crystal from the middle of the holder

enum { CRYSTALS_MAX = 100000 };

/* Number of angles of a rotation at which mesh_reaches looks. */
enum { LOOKS = 9 };

static enum status read_site(const struct text_file *t, struct site *site, struct error *e)
{
    static const char *const names[] = {"x in um", "y in um"};
    double crystal = 0.0;
    enum status s = STATUS_OK;
    if (t->nwords != 2 && t->nwords != 3)
        return text_error(t, e,
                          "%d numbers; expected 2 (x and y in um), or 3 with the number of the "
                          "crystal",
                          t->nwords);
    for (int i = 0; i < 2 && !s; i++) {
        double um;
        s = text_real(t, i, names[i], -FARTHEST_UM, FARTHEST_UM, &um, e);
        site->at_m[i] = s ? 0.0 : um * 1e-6;
    }
    if (!s && t->nwords == 3)
        s = text_real(t, 2, "number of the crystal", 0.0, CRYSTALS_MAX, &crystal, e);
    if (!s && crystal != floor(crystal))
        s = text_error(t, e, "the crystal is %g; expected a whole number", crystal);
    site->crystal = s ? 0 : (uint32_t)crystal;
    return s;
}

static enum status read_sites(struct text_file *t, struct mesh *m, struct error *e)
{
    size_t room = 0;
    enum status s = text_check_commas(t, '#', e);
    while (!s && !(s = text_line(t, TEXT_SPACE ",", '#', e)) && t->nwords) {
        if (m->nsites == CRYSTALS_MAX)
            return text_error(t, e, "more than %d crystals", CRYSTALS_MAX);
        m->sites = mem_grow(m->sites, m->nsites, 1, sizeof *m->sites, &room);
        s = read_site(t, &m->sites[m->nsites++], e);
    }
    if (!s && !m->nsites)
        s = error_set(e, STATUS_INPUT, "%s: no crystals found; expected lines with x and y in um",
                      t->path);
    return s;
}

enum status mesh_read(struct mesh *m, const char *path, struct error *e)
{
    if (!path)
        return STATUS_OK;
    struct text_file t;
    enum status s = text_open(&t, path, FILETYPE_HOLDER, (size_t)1 << 24, e);
    s = s ? s : read_sites(&t, m, e);
    text_close(&t);
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < m->nsites; i++) {
        const double facts[3] = {m->sites[i].at_m[0], m->sites[i].at_m[1], m->sites[i].crystal};
        hash = hash_bytes(hash, facts, sizeof facts);
    }
    (void)snprintf(m->digest, sizeof m->digest, "%016" PRIx64, hash_finish(hash));
    return s;
}

/* Places crystals evenly at random in the area of the mesh, half a step beyond its outer points. */
static void place_crystals(struct mesh *m, const struct experiment *x, uint64_t seed)
{
    m->nsites = (size_t)m->crystals;
    m->sites = mem_array(m->nsites, sizeof *m->sites);
    for (uint32_t i = 0; i < m->nsites; i++) {
        struct rng rng = rng_stream(seed, RNG_PLACE, 0, i);
        for (int k = 0; k < 2; k++)
            m->sites[i].at_m[k] =
                m->middle_m[k] + (rng_uniform(&rng) - 0.5) * (double)m->points[k] * m->step_m[k];
        m->sites[i].crystal = i % (uint32_t)x->ncrystals;
    }
}

enum status mesh_begin(struct mesh *m, const struct experiment *x, uint64_t seed, struct error *e)
{
    for (size_t i = 0; i < x->ncrystals; i++)
        if (!x->crystals[i].has_blocks || !(x->beam.size_m > 0.0))
            return error_set(e, STATUS_USAGE,
                             "--mesh and --crystals-at need sizes of crystal and beam. Give "
                             "bragg-geometry --crystal-size and --beam-size");
    illuminated_axes(&x->beam, m->axes);
    for (int k = 0; k < 2; k++)
        if (!(m->step_m[k] > 0.0))
            m->step_m[k] = k ? beam_height_m(&x->beam) : x->beam.size_m;
    if (m->crystals)
        place_crystals(m, x, seed);
    for (size_t i = 0; i < m->nsites; i++)
        if (m->sites[i].crystal >= x->ncrystals)
            return error_set(e, STATUS_INPUT,
                             "--crystals-at: crystal %" PRIu32
                             " does not exist; expected a number less than %zu",
                             m->sites[i].crystal, x->ncrystals);
    return STATUS_OK;
}

void mesh_point(const struct mesh *m, uint64_t id, const double middle_m[2], double at_m[2])
{
    at_m[0] = middle_m[0];
    at_m[1] = middle_m[1];
    if (!m->points[0])
        return;
    const uint64_t columns = (uint64_t)m->points[0], row = id / columns;
    uint64_t column = id % columns;
    if (m->snake && row % 2)
        column = columns - 1 - column;
    at_m[0] += ((double)column - 0.5 * (double)(m->points[0] - 1)) * m->step_m[0];
    at_m[1] += ((double)row - 0.5 * (double)(m->points[1] - 1)) * m->step_m[1];
}

/* Returns half the diagonal of a crystal and of the beam: beyond it they cannot meet. */
static double reach_m(const struct crystal *c, const struct beam *b)
{
    /* the diagonal of a box with oblique edges is at most the sum of its edges */
    const double sum = c->size_m[0] + c->size_m[1] + c->size_m[2];
    return 0.5 * (sum + hypot(b->size_m, beam_height_m(b)));
}

bool mesh_reaches(const struct mesh *m, const struct experiment *x, const struct recipe *r,
                  size_t site, double aside_m[3])
{
    const int looks = r->osc_rad != 0.0 ? LOOKS : 1;
    const double dx = m->sites[site].at_m[0] - r->sample_m[0],
                 dy = m->sites[site].at_m[1] - r->sample_m[1];
    for (int k = 0; k < 3; k++)
        aside_m[k] = dx * m->axes[k] + dy * m->axes[3 + k];
    vec_rotate_axis(aside_m, x->spindle, -m->facing_rad);
    /* between two looks a crystal moves by at most this distance to the nearer one */
    const double between = 0.5 * fabs(r->osc_rad) / (LOOKS - 1) * hypot(dx, dy);
    double nearest = HUGE_VAL;
    for (int i = 0; i < looks; i++) {
        double at[3], across[3];
        vec_copy(at, aside_m);
        vec_rotate_axis(at, x->spindle, r->phi_rad + r->osc_rad * i / (LOOKS - 1));
        mat_apply(m->axes, at, across);
        nearest = fmin(nearest, hypot(across[0], across[1]));
    }
    return nearest <= reach_m(&x->crystals[m->sites[site].crystal], &x->beam) + between;
}

void mesh_free(struct mesh *m)
{
    mem_free(m->sites);
    m->sites = NULL;
    m->nsites = 0;
}
