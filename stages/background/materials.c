/*
 * The tables of F of the materials, and how many molecules of each material the beam meets.
 *
 * Tables of water, air and of --stol need the options alone.  Tables of ice and powder also need
 * the experiment: their rings are no narrower than a pixel.
 */
#include "materials.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/structure_factors/hkl.h"
#include "physics/background/amorphous.h"
#include "physics/background/electron_water.h"
#include "physics/beam/beam.h"

/* Adds a material with a table of F. The names of the arguments give their units. */
static enum status add_material(struct materials *m, const double *stol_1_m, const double *F,
                                size_t rows, double thickness_m, double density_g_cm3,
                                double molar_mass, struct error *e)
{
    const size_t i = m->nmaterials++;
    m->thickness_m[i] = thickness_m;
    m->density[i] = density_g_cm3;
    m->molar_mass[i] = molar_mass;
    return amorphous_make(&m->items[i].table, stol_1_m, F, rows, true, e);
}

/* Fills the table of water or air.  `value` is its F, from physics/background/amorphous.h. */
static void shipped_table(double (*value)(double), double stol_1_m[WATER_TABLE_ROWS],
                          double F[WATER_TABLE_ROWS])
{
    water_table(value, stol_1_m, F);
    for (int i = 0; i < WATER_TABLE_ROWS; i++)
        stol_1_m[i] *= 1e10;
}

/* Makes the table of water for the particles of the beam. */
static enum status make_water(const struct beam *beam, enum probe probe, struct amorphous *table,
                              struct error *e)
{
    double stol_1_m[WATER_TABLE_ROWS], F[WATER_TABLE_ROWS];
    _Static_assert((int)ELECTRON_WATER_ROWS <= (int)WATER_TABLE_ROWS, "both tables fit");
    int rows = WATER_TABLE_ROWS;
    if (probe == PROBE_ELECTRON) {
        rows = ELECTRON_WATER_ROWS;
        electron_water_table(beam->wavelength_m, stol_1_m, F);
        for (int i = 0; i < rows; i++)
            stol_1_m[i] *= 1e10;
    } else {
        shipped_table(water_F, stol_1_m, F);
    }
    return amorphous_make(table, stol_1_m, F, (size_t)rows, true, e);
}

/* Adds water or air. `value` is its table of F. */
static enum status add_shipped(struct materials *m, double (*value)(double), double thickness_m,
                               double density_g_cm3, double molar_mass, struct error *e)
{
    double stol[WATER_TABLE_ROWS], F[WATER_TABLE_ROWS];
    shipped_table(value, stol, F);
    m->nliquid++;
    return add_material(m, stol, F, WATER_TABLE_ROWS, thickness_m, density_g_cm3, molar_mass, e);
}

/* Adds the material of --stol. */
static enum status add_file(struct materials *m, struct error *e)
{
    struct stol_table table;
    enum status s = stol_read(m->o->stol, (enum stol_unit)m->o->stol_axis, false, &table, e);
    if (!s)
        s = add_material(m, table.stol_1_m, table.F, table.rows, m->o->material_m,
                         m->o->density_g_cm3, m->o->molar_mass_g_mol, e);
    if (!s) {
        /* the lineage depends on the content of the file, not on its name */
        uint64_t hash = hash_bytes(HASH_START, table.stol_1_m, table.rows * sizeof *table.stol_1_m);
        hash = hash_finish(hash_bytes(hash, table.F, table.rows * sizeof *table.F));
        (void)snprintf(m->digest, sizeof m->digest, "%016" PRIx64, hash);
        m->o->stol = m->digest;
        m->stol_1_A[0] = table.stol_1_m[0] * 1e-10;
        m->stol_1_A[1] = table.stol_1_m[table.rows - 1] * 1e-10;
    }
    stol_free(&table);
    return s;
}

/* Returns the larger of `width` and the width of a pixel, both in 1/A. A ring must not be narrower
 * than a pixel, because the background is computed in the middle of each pixel. The width does not
 * change the number of photons of a ring. */
static double ring_width_1_A(double width, const struct experiment *x)
{
    for (size_t i = 0; i < x->npanels; i++)
        width = fmax(width, x->panels[i].pixel_m / fmax(x->panels[i].close_distance_m, 1e-6) /
                                m_to_angstrom(x->beam.wavelength_m));
    return width;
}

/* Returns a table of ice with crystals of this size: sin(theta)/lambda in 1/m of all rows, then F.
 * The caller frees it with mem_free. */
static double *ice_rings(double crystal_A, const struct experiment *x, size_t *rows)
{
    const double width = ring_width_1_A(ice_width_1_A(crystal_A), x);
    *rows = ice_rows(width);
    double *stol_1_m = mem_array(2 * *rows, sizeof *stol_1_m);
    ice_table(width, stol_1_m, stol_1_m + *rows);
    return stol_1_m;
}

/* Adds ice as the last material. */
static enum status add_ice(struct materials *m, const struct experiment *x, struct error *e)
{
    size_t rows;
    double *stol_1_m = ice_rings(m->o->ice_crystal_A, x, &rows);
    const enum status s = add_material(m, stol_1_m, stol_1_m + rows, rows, m->o->ice_m,
                                       ICE_DENSITY_G_CM3, ICE_MOLAR_MASS_G_MOL, e);
    mem_free(stol_1_m);
    return s;
}

/* Sets range_1_m[] to the smallest and the largest sin(theta)/lambda, in 1/m, that the detector
 * records at this wavelength. Tests a grid of points on each panel, and the point where the beam
 * hits. */
static void see_range(const struct experiment *x, double wavelength_m, double range_1_m[2])
{
    enum { STEPS = 16 };
    range_1_m[0] = INFINITY;
    range_1_m[1] = 0.0;
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++) {
        if (p->beam_fast_m > 0 && p->beam_fast_m < p->pixel_m * (double)p->fast_pixels &&
            p->beam_slow_m > 0 && p->beam_slow_m < p->pixel_m * (double)p->slow_pixels)
            range_1_m[0] = 0.0;
        for (int i = 0; i < (STEPS + 1) * (STEPS + 1); i++) {
            double at[3];
            background_point(p, x->physics, x->beam.direction,
                             (p->fast_pixels - 1) * (i % (STEPS + 1)) / STEPS,
                             (p->slow_pixels - 1) * (i / (STEPS + 1)) / STEPS, at);
            vec_unit(at, at);
            const double stol = amorphous_stol(x->beam.direction, at, wavelength_m);
            range_1_m[0] = fmin(range_1_m[0], stol);
            range_1_m[1] = fmax(range_1_m[1], stol);
        }
    }
}

/* Adds the powder of --powder, with the rings that the detector sees. */
static enum status add_powder(struct materials *m, const struct experiment *x, struct error *e)
{
    /* a cell as heavy as its density says: there are thickness/V cells in a square metre */
    static const double MOLAR_MASS = 100.0;
    struct powder *p = &m->powder;
    *p = (struct powder){.crystal_A = m->o->powder_crystal_A,
                         .strain = m->o->powder_strain,
                         .least_1_A = ring_width_1_A(0.0, x),
                         .probe = x->probe,
                         .unit = probe_unit_electrons(x->probe, x->beam.wavelength_m)};
    double range_1_m[2];
    see_range(x, x->beam.wavelength_m / (x->beam.harmonic_share > 0 ? HARMONIC_ORDER : 1.0),
              range_1_m);
    enum status s = powder_read(m->o->powder, 2.1e-10 * range_1_m[1], p, m->powder_digest, e);
    for (size_t i = 0; i < p->nrings && !s && m->o->powder_grains > 0; i++)
        if (!(p->rings[i].F4 > 0.0))
            s = error_set(
                e, STATUS_INPUT,
                "--powder-grains needs the number of reflections of each ring; expected a "
                "third column in %.400s",
                m->o->powder);
    if (!s) {
        size_t rows;
        double *stol_1_m = powder_table(p, &rows);
        s = add_material(m, stol_1_m, stol_1_m + rows, rows, m->o->powder_m,
                         MOLAR_MASS / (p->cell_A3 * 1e-24 * AVOGADRO_1_MOL), MOLAR_MASS, e);
        mem_free(stol_1_m);
        m->o->powder = *m->powder_digest ? m->powder_digest : m->o->powder;
    }
    return s;
}

/* --- the materials of bragg-background ----------------------------------------------- */

enum status materials_open(struct materials *m, struct background_options *o, struct error *e)
{
    enum status s = STATUS_OK;
    m->o = o;
    if (o->water_m > 0)
        s = add_shipped(m, water_F, o->water_m, WATER_DENSITY_G_CM3, WATER_MOLAR_MASS_G_MOL, e);
    if (!s && o->air_m > 0)
        s = add_shipped(m, air_F, o->air_m, AIR_DENSITY_G_CM3, AIR_MOLAR_MASS_G_MOL, e);
    if (!s && o->stol)
        s = add_file(m, e);
    return s;
}

enum status materials_begin(struct materials *m, const struct experiment *x, struct error *e)
{
    const struct background_options *o = m->o;
    enum status s = STATUS_OK;
    m->x = x;
    if (x->probe == PROBE_ELECTRON && o->water_m > 0) {  // `open` did not know the particles
        amorphous_free(&m->items[0].table);
        s = make_water(&x->beam, x->probe, &m->items[0].table, e);
    }
    s = s ? s : materials_check_range(m, x->beam.sources, x->beam.nsources, e);
    if (s || (o->powder && (s = add_powder(m, x, e))) || (o->ice_m > 0 && (s = add_ice(m, x, e))))
        return s;
    for (size_t i = 0; i < m->nmaterials; i++) {
        const double box_m[3] = {m->thickness_m[i], x->beam.size_m, beam_height_m(&x->beam)};
        m->items[i].molecules = amorphous_molecules(box_m, m->density[i], m->molar_mass[i]);
    }
    return STATUS_OK;
}

enum status materials_check_range(struct materials *m, const struct source *sources,
                                  size_t nsources, struct error *e)
{
    const struct experiment *x = m->x;
    double shortest_m = INFINITY, range_1_m[2];
    const double share = x->beam.harmonic_share > 0 ? HARMONIC_ORDER : 1.0;
    for (size_t i = 0; i < nsources; i++)
        shortest_m = fmin(shortest_m, sources[i].wavelength_m / share);
    see_range(x, shortest_m, range_1_m);
    const double low_1_A = range_1_m[0] * 1e-10, high_1_A = range_1_m[1] * 1e-10;
    const double last_1_A = WATER_TABLE_STEP_1_A * (WATER_TABLE_ROWS - 1);
    const bool liquid = m->o->water_m > 0 || m->o->air_m > 0;
    if ((liquid || x->matter_varies) && high_1_A > last_1_A)
        return error_set(e, STATUS_INPUT,
                         "%s: the detector sees more than the table contains (got "
                         "sin(theta)/lambda up to %.3g 1/A); expected at most %g 1/A",
                         m->o->water_m > 0 ? "--water"
                         : liquid          ? "--air"
                                           : "water or air of bragg-orient --vary",
                         high_1_A, last_1_A);
    if (m->range_told)
        return STATUS_OK;
    if (m->o->ice_m > 0 && high_1_A > 0.5 / ICE_LEAST_A)
        log_line(LOG_WARNING,
                 "--ice: rings below %g A are left out, but the detector sees down to %.3g A",
                 ICE_LEAST_A, 0.5 / high_1_A);
    if (m->o->stol && (low_1_A < m->stol_1_A[0] || high_1_A > m->stol_1_A[1]))
        log_line(LOG_WARNING,
                 "--stol: the table has sin(theta)/lambda from %.4g to %.4g 1/A, but the detector "
                 "sees %.3g to %.3g. Outside the table F is that of the nearer end",
                 m->stol_1_A[0], m->stol_1_A[1], low_1_A, high_1_A);
    m->range_told = true;
    return STATUS_OK;
}

/* Returns true if the material of the options with this index is ice. */
static bool is_ice(const struct materials *m, size_t i)
{
    return m->o->ice_m > 0 && i + 1 == m->nmaterials;
}

static bool is_powder(const struct materials *m, size_t i)
{
    return m->o->powder && i + 1 + (m->o->ice_m > 0) == m->nmaterials;
}

struct blend materials_usual(const struct materials *m, struct chance with)
{
    struct blend b = {0};
    for (size_t i = 0; i < m->nmaterials; i++)
        if (!(is_ice(m, i) && !with.ice) && !(is_powder(m, i) && !with.powder))
            b.items[b.count++] = m->items[i];
    return b;
}

/* Adds a material of a frame, if its thickness is above 0. */
static void blend_add(struct blend *b, const struct experiment *x,
                      const struct background_material *material, double thickness_m,
                      double density_g_cm3, double molar_mass)
{
    const double box_m[3] = {thickness_m, x->beam.size_m, beam_height_m(&x->beam)};
    if (!(thickness_m > 0.0))
        return;
    b->items[b->count] = *material;
    b->items[b->count++].molecules = amorphous_molecules(box_m, density_g_cm3, molar_mass);
}

/* Makes the tables of water and air for frames whose recipes say the amounts. */
static enum status open_liquids(struct materials *m, struct error *e)
{
    double stol_1_m[WATER_TABLE_ROWS], F[WATER_TABLE_ROWS];
    const struct experiment *x = m->x;
    const enum status s = make_water(&x->beam, x->probe, &m->own_water.table, e);
    shipped_table(air_F, stol_1_m, F);
    return s ? s : amorphous_make(&m->own_air.table, stol_1_m, F, WATER_TABLE_ROWS, true, e);
}

/* Makes the table of ice whose crystals have this size, unless it exists. */
static enum status open_ice(struct materials *m, double crystal_A, struct error *e)
{
    if (m->own_crystal_A == crystal_A)
        return STATUS_OK;
    size_t rows;
    double *stol_1_m = ice_rings(crystal_A, m->x, &rows);
    amorphous_free(&m->own_ice.table);
    const enum status s =
        amorphous_make(&m->own_ice.table, stol_1_m, stol_1_m + rows, rows, true, e);
    m->own_crystal_A = s ? 0.0 : crystal_A;
    mem_free(stol_1_m);
    return s;
}

enum status materials_amounts(const struct materials *m, const struct recipe *r, struct chance with,
                              struct amounts *a, struct error *e)
{
    const struct matter *own = &r->matter;
    const enum probe probe = m->x->probe;
    const double ice_m = with.ice ? m->o->ice_m : 0.0;
    if (own->has_ice && opt_given(background_options, m->o, "ice-frames"))
        return error_set(e, STATUS_USAGE,
                         "--ice-frames cannot be used, because each frame has ice of its own "
                         "(bragg-orient --vary=ice)");
    if (probe != PROBE_XRAY &&
        (own->has_air || own->has_ice || (own->has_water && probe == PROBE_NEUTRON)))
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64
                         " has matter without a table for a beam of %s; expected water in a beam "
                         "of electrons, or X-rays",
                         r->id, probe_particles(probe));
    *a = (struct amounts){.water_m = own->has_water ? own->water_m : m->o->water_m,
                          .air_m = own->has_air ? own->air_m : m->o->air_m,
                          .ice_m = own->has_ice ? own->ice_m : ice_m,
                          .ice_crystal_A =
                              own->has_ice_crystal ? own->ice_crystal_A : m->o->ice_crystal_A,
                          .powder = m->o->powder && with.powder,
                          .other = m->o->stol};
    return STATUS_OK;
}

enum status materials_blend(struct materials *m, const struct amounts *a, struct blend *b,
                            struct error *e)
{
    const struct experiment *x = m->x;
    enum status s = a->ice_m > 0.0 ? open_ice(m, a->ice_crystal_A, e) : STATUS_OK;
    *b = (struct blend){0};
    if (!s && !m->own_water.table.count)
        s = open_liquids(m, e);
    blend_add(b, x, &m->own_water, a->water_m, WATER_DENSITY_G_CM3, WATER_MOLAR_MASS_G_MOL);
    blend_add(b, x, &m->own_air, a->air_m, AIR_DENSITY_G_CM3, AIR_MOLAR_MASS_G_MOL);
    for (size_t i = m->nliquid; i < m->nmaterials; i++)
        if (!is_ice(m, i) && (is_powder(m, i) ? a->powder : a->other))
            b->items[b->count++] = m->items[i];
    blend_add(b, x, &m->own_ice, a->ice_m, ICE_DENSITY_G_CM3, ICE_MOLAR_MASS_G_MOL);
    return s;
}

void materials_close(struct materials *m)
{
    for (size_t i = 0; i < m->nmaterials; i++)
        amorphous_free(&m->items[i].table);
    amorphous_free(&m->own_water.table);
    amorphous_free(&m->own_air.table);
    amorphous_free(&m->own_ice.table);
    powder_free(&m->powder);
}
