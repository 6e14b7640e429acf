/*
 * Diffuse halos: a mesh of pixels between which photons are interpolated, the data that are kept
 * for an experiment, and the pixels of a frame.
 */
#include "engine/crystal/diffuse.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "base/units.h"
#include "base/vec.h"
#include "engine/reference/recipe_check.h"
#include "engine/reflections/photons.h"
#include "physics/background/background_pixel.h"
#include "physics/beam/polarization.h"
#include "physics/detector/pixel.h"
#include "physics/detector/sensor.h"

/* ---- a mesh of pixels ----------------------------------------------------------------------- */

/* Returns the number of the last node at or before a pixel of the plane. Pixel numbers of a
 * plane are not negative. */
static int64_t node_of(const struct mesh *m, int64_t pixel)
{
    return pixel / m->step;
}

/* Sets weight[] to the values of Lagrange's polynomials of four nodes, at the fraction t of the
 * way from the second to the third node. */
static void set_weights(double t, double weight[MESH_POINTS])
{
    weight[0] = -t * (t - 1.0) * (t - 2.0) / 6.0;
    weight[1] = (t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0;
    weight[2] = -(t + 1.0) * t * (t - 2.0) / 2.0;
    weight[3] = (t + 1.0) * t * (t - 1.0) / 6.0;
}

void mesh_open(struct mesh *m, const struct panel *p, int step, mesh_value *value,
               const void *context, int threads)
{
    *m = (struct mesh){.panel = p, .step = step};
    const int64_t from[2] = {p->roi.fast_min + p->grid_fast, p->roi.slow_min + p->grid_slow};
    const int64_t to[2] = {p->roi.fast_max + p->grid_fast, p->roi.slow_max + p->grid_slow};
    for (int i = 0; i < 2; i++) {
        m->first[i] = node_of(m, from[i]) - 1;
        m->count[i] = node_of(m, to[i]) + MESH_POINTS - 1 - m->first[i];
    }
    for (int i = 0; i < step; i++)
        set_weights((double)i / step, m->weight[i]);
    m->values = mem_array((size_t)(m->count[0] * m->count[1]), sizeof *m->values);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t row = 0; row < m->count[1]; row++)
        for (int64_t i = 0; i < m->count[0]; i++)
            m->values[row * m->count[0] + i] =
                value(context, p, (m->first[0] + i) * step - p->grid_fast,
                      (m->first[1] + row) * step - p->grid_slow);
}

void mesh_close(struct mesh *m)
{
    mem_free(m->values);
    *m = (struct mesh){0};
}

/* Sets line[m->count[0]] to the values of all columns of nodes, interpolated along slow to a row
 * of pixels. */
static void row_nodes(const struct mesh *m, int64_t slow, double *line)
{
    const int64_t pixel = slow + m->panel->grid_slow, node = node_of(m, pixel), n = m->count[0];
    const double *weight = m->weight[pixel - node * m->step];
    const double *values = m->values + (node - 1 - m->first[1]) * n;
    for (int64_t i = 0; i < n; i++)
        line[i] = weight[0] * values[i] + weight[1] * values[i + n] +
                  weight[2] * values[i + 2 * n] + weight[3] * values[i + 3 * n];
}

void mesh_row(const struct mesh *m, int64_t slow, double *room, double *pixels)
{
    const struct roi *roi = &m->panel->roi;
    const int64_t first = roi->fast_min + m->panel->grid_fast, node = node_of(m, first);
    const double *at = room + (node - 1 - m->first[0]);
    int part = (int)(first - node * m->step);
    row_nodes(m, slow, room);
    for (int64_t i = 0; i <= roi->fast_max - roi->fast_min; i++) {
        const double *weight = m->weight[part];
        const double sum =
            weight[0] * at[0] + weight[1] * at[1] + weight[2] * at[2] + weight[3] * at[3];
        pixels[i] = sum > 0.0 ? sum : 0.0;
        if (++part == m->step) {
            part = 0;
            at++;
        }
    }
}

/* ---- halos of a frame ----------------------------------------------------------------------- */

struct diffuse {
    const struct experiment *x;
    halo_sum *sum;
    struct halo *halos;  // one per crystal; without nodes: the crystal has no halos
    double reach_1_A;    // reach of halos for the detector position of the experiment
    int nearer;          // how many times HALO_NEARER multiplies reach_1_A in `halos`
};

/* If the detector moves towards the sample, it records larger scattering vectors. The halos are
 * then computed again with a reach that is larger by factors of HALO_NEARER. A reach is used
 * until the detector needs HALO_ENOUGH times as much: of the 5 % for other wavelengths (see
 * farthest), 2 % remain. */
#define HALO_NEARER 1.1
#define HALO_ENOUGH 1.03

/* Maximum number of groups of wavelengths. The wavelengths of a group have about the same
 * absorption in a sensor. */
enum { HALO_PARTS = 64 };

/* A lattice at one phi step. */
struct pose {
    const struct halo *halo;
    const double *cell_m;
    double weight;
};

/* The mean beam of a frame, with the axes of its polarization. */
struct halo_beam {
    double incident[3], e[3], b[3];
    double per_m;    // wave number
    double photons;  // r_e^2 times fluence
    int nparts;
    struct {
        double absorb, weight;  // as in struct cpu_source; part of the photons
    } parts[HALO_PARTS];        // groups of wavelengths that a sensor absorbs alike
};

/* Returns true if any crystal has halos. */
bool diffuse_wanted(const struct experiment *x)
{
    for (size_t i = 0; i < x->ncrystals; i++)
        if (x->crystals[i].has_diffuse)
            return true;
    return false;
}

enum status diffuse_refuse(const struct experiment *x, const char *name, struct error *e)
{
    return diffuse_wanted(x) ? error_set(e, STATUS_INPUT, "%s not support --diffuse-sigma", name)
                             : STATUS_OK;
}

/* Returns the length, in 1/A, of the largest scattering vector of all corners of panels, plus 5
 * % for other wavelengths. The result is limited to 1/dmin, if dmin is set. */
static double farthest(const struct experiment *x)
{
    double most = 0.0;
    for (size_t i = 0; i < 4 * x->npanels; i++) {
        const struct panel *p = &x->panels[i / 4];
        double position[3], d[3], q[3];
        background_point(p, x->physics, x->beam.direction, i & 1 ? p->fast_pixels - 1 : 0,
                         i & 2 ? p->slow_pixels - 1 : 0, position);
        vec_unit(position, d);
        for (int k = 0; k < 3; k++)
            q[k] = d[k] - x->beam.direction[k];
        most = fmax(most, vec_length(q));
    }
    most = 1.05 * fmin(most, 2.0) * 1e-10 / x->beam.wavelength_m;
    return x->dmin_m > 0.0 ? fmin(most, 1e-10 / x->dmin_m) : most;
}

static enum status open_halos(struct diffuse *d, int nearer, int threads, struct error *e)
{
    enum status s = STATUS_OK;
    double reach_1_A = d->reach_1_A;
    for (int i = 0; i < nearer; i++)
        reach_1_A *= HALO_NEARER;
    for (size_t i = 0; i < d->x->ncrystals && !s; i++) {
        halo_close(&d->halos[i]);
        if (d->x->crystals[i].has_diffuse)
            s = halo_open(&d->halos[i], &d->x->crystals[i], reach_1_A, threads, e);
    }
    d->nearer = s ? -1 : nearer;
    return s;
}

/* Computes the halos again, if the position of the detector in this frame needs another reach.
 * The halos depend only on this position, not on previous frames. */
static enum status follow_detector(struct diffuse *d, const struct recipe *r, int threads,
                                   struct error *e)
{
    double enough = HALO_ENOUGH * d->reach_1_A;
    int nearer = 0;
    for (const double needed = r->has_shift ? farthest(d->x) : 0.0; needed > enough; nearer++)
        enough *= HALO_NEARER;
    return nearer == d->nearer ? STATUS_OK : open_halos(d, nearer, threads, e);
}

enum status diffuse_create(struct diffuse **d, const struct experiment *x, const char *isa,
                           int threads, struct error *e)
{
    static const struct diffuse_kernels *const all[] = ISA_TABLE(diffuse_kernels_);
    enum isa at;
    *d = NULL;
    if (!diffuse_wanted(x))
        return STATUS_OK;
    enum status s = isa_choose(&at, isa, e);
    if (s)
        return s;
    if (x->physics == PHYSICS_FAITHFUL)
        return error_set(e, STATUS_INPUT,
                         "--diffuse-sigma needs bragg-geometry --physics=physical");
    struct diffuse *new = mem_array(1, sizeof *new);
    new->halos = mem_array(x->ncrystals, sizeof *new->halos);
    new->x = x;
    new->sum = all[at]->sum;
    new->reach_1_A = farthest(x);
    *d = new;
    s = open_halos(new, 0, threads, e);
    if (s)
        diffuse_destroy(d);
    return s;
}

void diffuse_destroy(struct diffuse **d)
{
    for (size_t i = 0; *d && i < (*d)->x->ncrystals; i++)
        halo_close(&(*d)->halos[i]);
    if (*d)
        mem_free((*d)->halos);
    mem_free(*d);
    *d = NULL;
}

static double halo_at(const struct diffuse *d, const struct halo *h, const double hkl[3])
{
    size_t first = 0;
    float at[3];
    for (int i = 0; i < 3; i++) {
        const double below = floor(hkl[i]), node = below - 1.0 - h->min[i];
        if (!(node >= 0.0) || node > h->count[i] - HALO_EDGE)
            return 0.0;
        at[i] = (float)(hkl[i] - below);
        first = first * (size_t)h->count[i] + (size_t)node;
    }
    return h->scale * (double)d->sum(&h->nodes, first, at);
}

double diffuse_at(const struct diffuse *d, size_t crystal, const double hkl[3])
{
    return halo_at(d, &d->halos[crystal], hkl);
}

/* Groups sources by the logarithm of their absorption ratios. Each group has the weighted mean
 * of the ratios of its sources. */
static void group_ratios(struct halo_beam *b, const struct beam *beam, const struct source *sources,
                         const double *ratios, size_t count)
{
    double low = INFINITY, high = 0.0, weights = 0.0;
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, ratios[i]);
        high = fmax(high, ratios[i]);
        weights += sources[i].weight * sensor_signal(beam, sources[i].wavelength_m);
    }
    const double wide = log(high / low) / HALO_PARTS * (1.0 + 1e-9);
    b->nparts = wide > 0.0 ? HALO_PARTS : 1;
    memset(b->parts, 0, sizeof b->parts);
    for (size_t i = 0; i < count; i++) {
        const int part = wide > 0.0 ? (int)(log(ratios[i] / low) / wide) : 0;
        const double weight = sources[i].weight * sensor_signal(beam, sources[i].wavelength_m);
        b->parts[part].weight += weight;
        b->parts[part].absorb += weight * ratios[i];
    }
    for (int i = 0; i < b->nparts; i++)
        if (b->parts[i].weight > 0.0) {
            b->parts[i].absorb /= b->parts[i].weight;
            b->parts[i].weight /= weights;
        }
}

/* Sets the groups of wavelengths and their absorption.  Fails as sensor_ratios does. */
static enum status open_parts(struct halo_beam *b, const struct experiment *x,
                              const struct recipe *r, struct error *e)
{
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    const size_t count = r->nsources ? r->nsources : x->beam.nsources;
    double *ratios = mem_array(count, sizeof *ratios);
    bool differ = false;
    const enum status s = sensor_ratios(x, sources, count, ratios, &differ, e);
    b->nparts = 1;
    b->parts[0].absorb = b->parts[0].weight = 1.0;
    if (!s && differ && b->photons > 0.0)
        group_ratios(b, &x->beam, sources, ratios, count);
    mem_free(ratios);
    return s;
}

/* Returns the mean signal of the photons of a frame, in photons of the beam. */
static double mean_signal(const struct beam *beam, const struct source *sources, size_t count)
{
    double weights = 0.0, signal = 0.0;
    for (size_t i = 0; i < count && beam->adds_energy; i++) {
        weights += sources[i].weight;
        signal += sources[i].weight * sensor_signal(beam, sources[i].wavelength_m);
    }
    return weights > 0.0 ? signal / weights : 1.0;
}

static enum status open_beam(struct halo_beam *b, const struct experiment *x,
                             const struct recipe *r, struct error *e)
{
    const struct mean_beam mean = mean_beam(x, r);
    memcpy(b->incident, mean.incident, sizeof b->incident);
    polarization_axes(b->incident, x->beam.polarization, b->e, b->b);
    b->per_m = mean.weight / mean.weighted_m;
    b->photons = ELECTRON_RADIUS_SQR_M2 * x->beam.fluence_ph_m2 *
                 mean_signal(&x->beam, r->nsources ? r->sources : x->beam.sources, mean.count) *
                 (mean.weight > 0.0 ? mean.weight / (double)mean.count : 0.0);
    return open_parts(b, x, r, e);
}

/* Returns the list of all lattices with halos, at all phi steps, and sets *count to their
 * number. */
static struct pose *list_poses(const struct diffuse *d, const struct recipe *r, size_t *count)
{
    size_t total = 0;
    for (size_t i = 0; i < r->nlattices; i++)
        total += r->lattices[i].nphi;
    struct pose *poses = mem_array(total, sizeof *poses);
    *count = 0;
    for (size_t i = 0; i < r->nlattices; i++) {
        const struct lattice *l = &r->lattices[i];
        for (size_t t = 0; t < l->nphi && d->x->crystals[l->crystal].has_diffuse; t++)
            poses[(*count)++] = (struct pose){&d->halos[l->crystal], l->cells_m + 9 * t,
                                              l->weight / (double)l->nphi};
    }
    return poses;
}

/* Largest distance of computed pixels, in units of 1/(2 pi gamma). The interpolated peak of a
 * halo, 1/(1 + v^2)^2, then has an error of at most 1.7 MESH_APART^4. */
#define MESH_APART 0.25

struct diffuse_frame {
    const struct diffuse *d;
    struct halo_beam beam;
    const struct pose *poses;
    size_t nposes;
};

/* Returns the number of pixels between nodes of the mesh. It is the same for all parts of a
 * plane. */
static int mesh_step(const struct diffuse_frame *f)
{
    const struct experiment *x = f->d->x;
    double gamma_A = 0.0, pixel_rad = 0.0;
    for (size_t i = 0; i < x->ncrystals; i++)
        for (int k = 0; k < 3 && x->crystals[i].has_diffuse; k++)
            gamma_A = fmax(gamma_A, x->crystals[i].diffuse_gamma_A[k]);
    for (size_t i = 0; i < x->npanels; i++)
        pixel_rad = fmax(pixel_rad, x->panels[i].pixel_m / x->panels[i].close_distance_m);
    const double apart = 2.0 * M_PI * gamma_A * 1e-10 * f->beam.per_m * pixel_rad;
    return (int)fmin(fmax(MESH_APART / apart, 1.0), MESH_MOST);
}

/* Returns the photons of halos in a pixel of a frame, without the resolution limit. */
static double photons_of(const void *frame, const struct panel *p, int64_t fast, int64_t slow)
{
    const struct diffuse_frame *f = frame;
    const struct experiment *x = f->d->x;
    const struct halo_beam *b = &f->beam;
    double position[3], d[3], q[3], sum = 0.0, factor = 0.0;
    background_point(p, x->physics, x->beam.direction, fast, slow, position);
    const double distance = vec_unit(position, d);
    for (int k = 0; k < 3; k++)
        q[k] = b->per_m * (d[k] - b->incident[k]);
    for (size_t i = 0; i < f->nposes; i++) {
        const double *cell = f->poses[i].cell_m;
        const double hkl[3] = {vec_dot(cell, q), vec_dot(cell + 3, q), vec_dot(cell + 6, q)};
        sum += f->poses[i].weight * halo_at(f->d, f->poses[i].halo, hkl);
    }
    for (int i = 0; i < b->nparts; i++)
        for (int layer = 0; layer < p->layers && b->parts[i].weight > 0.0; layer++)
            factor += b->parts[i].weight * pixel_capture_of(p, d, layer, b->parts[i].absorb);
    factor *= b->photons * pixel_solid_angle(p, distance);
    return x->beam.no_polarization
               ? sum * factor
               : sum * factor * polarization_factor(x->beam.kahn, b->incident, d, b->e, b->b);
}

/* Returns true if a pixel is beyond the resolution limit dmin. */
static bool is_cut(const struct diffuse_frame *f, const struct panel *p, int64_t fast, int64_t slow)
{
    const struct experiment *x = f->d->x;
    double d[3];
    if (!(x->dmin_m > 0.0))
        return false;
    background_point(p, x->physics, x->beam.direction, fast, slow, d);
    vec_unit(d, d);
    for (int k = 0; k < 3; k++)
        d[k] -= f->beam.incident[k];
    return vec_length(d) * f->beam.per_m * x->dmin_m > 1.0;
}

/* Adds the halos to a row of pixels. room[] is memory for a row of nodes, followed by a row of
 * pixels. */
static void add_row(const struct diffuse_frame *f, const struct mesh *m, int64_t slow, double *room,
                    float *photons)
{
    const struct panel *p = m->panel;
    float *row = photons + p->first_pixel + slow * p->fast_pixels;
    double *pixels = room + m->count[0];
    mesh_row(m, slow, room, pixels);
    for (int64_t fast = p->roi.fast_min; fast <= p->roi.fast_max; fast++)
        if (pixel_is_computed(p, fast, slow) && !is_cut(f, p, fast, slow))
            row[fast] = (float)((double)row[fast] + pixels[fast - p->roi.fast_min]);
}

/* Adds the halos to the pixels of a panel. */
static void add_panel(const struct diffuse_frame *f, const struct panel *p, int threads,
                      float *photons)
{
    struct mesh m;
    mesh_open(&m, p, mesh_step(f), photons_of, f, threads);
#pragma omp parallel num_threads(threads)
    {
        const size_t room = (size_t)m.count[0] + (size_t)p->fast_pixels;
        double *line = mem_array(room, sizeof *line);
#pragma omp for schedule(static)
        for (int64_t slow = p->roi.slow_min; slow <= p->roi.slow_max; slow++)
            add_row(f, &m, slow, line, photons);
        mem_free(line);
    }
    mesh_close(&m);
}

enum status diffuse_add(struct diffuse *d, const struct recipe *r, int threads, float *photons,
                        struct error *e)
{
    if (!d || !r->nlattices)
        return STATUS_OK;
    enum status s = follow_detector(d, r, threads, e);
    if (s)
        return s;
    struct diffuse_frame f = {.d = d};
    if ((s = open_beam(&f.beam, d->x, r, e)))
        return s;
    struct pose *poses = list_poses(d, r, &f.nposes);
    f.poses = poses;
    for (size_t i = 0; i < d->x->npanels && f.nposes && f.beam.photons > 0.0; i++)
        add_panel(&f, &d->x->panels[i], threads, photons);
    mem_free(poses);
    return photons_check(d->x, r->id, photons, e);
}
