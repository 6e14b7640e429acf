/*
 * The experiment of the tests of derivatives: two lattices and every factor of a pixel, made from
 * the options of a user, on EDGE x EDGE pixels.  Define EDGE before you include this file.
 */
#ifndef BRAGG_TESTS_DERIVE_SCENE_H
#define BRAGG_TESTS_DERIVE_SCENE_H

#include "base/alloc.h"
#include "base/vec.h"
#include "engine/derivatives/derive.h"
#include "physics/crystal/cell.h"
#include "physics/detector/detector.h"
#include "physics/setup.h"
#include "physics_request.h"

/* What a test begins with. */
struct variant {
    const char *name;
    enum crystal_shape shape;
    double cells[3], fudge;
    bool each, point_pixel, water;
    enum convention convention;
    bool tetragonal, table;
    bool extended;  // the crystal has a size
    bool perfect;   // one domain
    bool nearest;   // F of the table without interpolation
    bool still;     // one phi step, at 0 if the crystal is perfect
};

/* The usual one. */
static const struct variant SQUARE = {.name = "square",
                                      .shape = SHAPE_SQUARE,
                                      .cells = {7, 6, 8},
                                      .fudge = 1,
                                      .convention = CONVENTION_MOSFLM};

/* A change of one parameter by `change` of its units. */
struct change {
    const char *name;
    double by;
};

struct scene {
    struct experiment x;
    struct recipe recipe;
};

static struct hkl_table smooth_table(void)
{
    struct hkl_table t = {.default_F = 100.0};
    for (int i = 0; i < 3; i++) {
        t.min[i] = -40;
        t.count[i] = 81;
    }
    t.F = mem_array(81 * 81 * 81, sizeof *t.F);
    for (int i = 0; i < 81 * 81 * 81; i++)
        t.F[i] = 100.0 + 20.0 * sin(0.9 * i / 6561) * cos(1.1 * (i / 81 % 81)) + i % 81;
    return t;
}

static void make_request(const struct variant *v, struct request *r, struct crystal_request *c,
                         struct orientation_request *o)
{
    plain_request(r, c, PHYSICS_PHYSICAL);
    r->detector.convention = v->convention;
    r->detector.pixels[0] = EDGE;
    r->detector.pixels[1] = EDGE;
    r->detector.pixel_m = 8.4e-3 / EDGE;
    r->detector.distance_m = 0.07;
    set3(r->detector.rotation_rad, 2 * M_PI / 180, -3 * M_PI / 180, 1 * M_PI / 180);
    r->detector.twotheta_rad = 5 * M_PI / 180;
    r->detector.beam_m[0] = 7e-3;
    r->detector.beam_m[1] = 4e-3;
    r->detector.point_pixel = v->point_pixel;
    r->detector.absorption_1_m = 1 / 235e-6;
    r->detector.thickness = (struct steps_request){.count = 2, .range = 320e-6};
    r->beam.kahn = 0.8;
    r->beam.fluence_ph_m2 = 1e26;
    r->beam.size_m = 1e-4;
    r->beam.horizontal = r->beam.vertical = (struct steps_request){2, 0.002, 0.0};
    r->beam.dispersion = (struct steps_request){2, 0.01, 0.0};
    r->oversample = 2;
    r->each_thickness = r->each_polarization = r->each_solid_angle = v->each;
    r->water_m = v->water ? 1e-7 : 0.0;
    set_cell(c, 70, 80, 90, 75, 85, 95);
    if (v->tetragonal)
        set_cell(c, 70, 70, 90, 90, 90, 90);
    c->blocks = true;
    set3(c->cells, v->cells[0], v->cells[1], v->cells[2]);
    for (int i = 0; i < 3 && v->extended; i++)
        c->size_m[i] = 6e-4;
    c->shape = v->shape;
    c->fudge = v->fudge;
    c->interpolate = v->table && !v->nearest ? INTERPOLATE_ON : INTERPOLATE_OFF;
    if (v->table)
        c->table = smooth_table();
    *o = (struct orientation_request){.misset_rad = {0.17, 0.35, 0.52}};
    o->mosaic_rad = v->perfect ? 0.0 : 0.6 * M_PI / 180;
    o->mosaic_domains = 3;
    o->mosaic_seed = -12345;
    o->phi_rad = v->still && v->perfect ? 0.0 : 0.1;
    o->phi = (struct steps_request){v->still ? 1 : 2, v->still ? 0.0 : 0.01, 0.0};
}

/* Options that users type. */
static void change_request(const struct change *d, struct request *r, struct crystal_request *c,
                           struct orientation_request *o)
{
    const double deg = d->by * M_PI / 180;
    const struct {
        const char *name;
        double *value, change;
    } options[] = {
        {"cell_a", &c->cell_A[0], d->by},
        {"cell_b", &c->cell_A[1], d->by},
        {"cell_c", &c->cell_A[2], d->by},
        {"cell_ab", &c->cell_A[0], d->by},
        {"cell_ab", &c->cell_A[1], d->by},
        {"cell_alpha", &c->cell_rad[0], deg},
        {"cell_beta", &c->cell_rad[1], deg},
        {"cell_gamma", &c->cell_rad[2], deg},
        {"ncells_a", &c->cells[0], d->by},
        {"ncells_b", &c->cells[1], d->by},
        {"ncells_c", &c->cells[2], d->by},
        {"fudge", &c->fudge, d->by},
        {"mosaic", &o->mosaic_rad, d->by * o->mosaic_rad},
        {"scale", &r->beam.fluence_ph_m2, d->by * r->beam.fluence_ph_m2},
        {"phi0", &o->phi_rad, deg},
        {"osc", &o->phi.range, deg},
        {"wavelength", &r->beam.wavelength_m, d->by * 1e-10},
        {"dispersion", &r->beam.dispersion.range, d->by * 0.01},
        {"divergence_h", &r->beam.horizontal.range, d->by * 1e-3},
        {"divergence_v", &r->beam.vertical.range, d->by * 1e-3},
        {"polarization", &r->beam.kahn, d->by},
        {"distance", &r->detector.distance_m, d->by * 1e-3},
        {"beam_x", &r->detector.beam_m[0], d->by * 1e-3},
        {"beam_y", &r->detector.beam_m[1], d->by * 1e-3},
        {"thickness", &r->detector.thickness.range, d->by * 1e-6},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(d->name, options[i].name) == 0)
            *options[i].value += options[i].change;
    if (strcmp(d->name, "absorption") == 0)
        r->detector.absorption_1_m = 1 / (1 / r->detector.absorption_1_m + d->by * 1e-6);
}

/* Parameters that no option has: moves of a panel. */
static void change_panel(const struct change *d, struct experiment *x)
{
    if (strncmp(d->name, "panel.", 6) != 0)
        return;
    struct panel *p = &x->panels[0];
    const char axis = d->name[strlen(d->name) - 1];
    double along[3], centre[3], *turned[] = {p->fast, p->slow, p->normal, p->origin_m};
    vec_copy(along, axis == 'f' ? p->fast : axis == 's' ? p->slow : p->normal);
    if (strncmp(d->name, "panel.0.shift", 13) == 0)
        for (int i = 0; i < 3; i++)
            p->origin_m[i] += d->by * 1e-3 * along[i];
    if (strncmp(d->name, "panel.0.tilt", 12) == 0) {
        for (int i = 0; i < 3; i++) {
            centre[i] = p->origin_m[i] + 0.5 * EDGE * p->pixel_m * (p->fast[i] + p->slow[i]);
            p->origin_m[i] -= centre[i];
        }
        for (int k = 0; k < 4; k++)
            vec_rotate_axis(turned[k], along, d->by * M_PI / 180);
        for (int i = 0; i < 3; i++)
            p->origin_m[i] += centre[i];
    }
    detector_derive(p, x->beam.direction, detector_ratio(p, x->beam.direction));
}

static void open_scene(struct scene *s, const struct variant *v, const struct change *d)
{
    struct request r;
    struct crystal_request c;
    struct orientation_request o;
    struct error e = {0};
    double rotation[9], turned[9], lab[3] = {0};
    make_request(v, &r, &c, &o);
    change_request(d, &r, &c, &o);
    misset_to_rotation(o.misset_rad, rotation);
    if (strncmp(d->name, "rot_", 4) == 0)
        lab[d->name[4] - 'x'] = d->by * M_PI / 180;
    for (int j = 0; j < 3; j++) {
        double column[3] = {rotation[j], rotation[3 + j], rotation[6 + j]};
        vec_rotate(column, lab);
        for (int i = 0; i < 3; i++)
            turned[3 * i + j] = column[i];
    }
    s->recipe = (struct recipe){.nlattices = 2, .lattices = mem_array(2, sizeof(struct lattice))};
    if (setup_experiment(&r, &s->x, &e) ||
        setup_lattice_rotated(&s->x, 0, turned, &o, &s->recipe.lattices[0], &e))
        fail_msg("%s", e.text);
    /* a second one, with more domains and its own turn */
    misset_to_rotation((double[3]){0.4, -0.2, 0.3}, rotation);
    for (int j = 0; j < 3; j++) {
        double column[3] = {rotation[j], rotation[3 + j], rotation[6 + j]};
        vec_rotate(column, lab);
        for (int i = 0; i < 3; i++)
            turned[3 * i + j] = column[i];
    }
    o.mosaic_domains = 4;
    if (setup_lattice_rotated(&s->x, 0, turned, &o, &s->recipe.lattices[1], &e))
        fail_msg("%s", e.text);
    s->recipe.lattices[0].weight = 0.7;
    s->recipe.lattices[1].weight = 0.3 + (strcmp(d->name, "share.1") == 0 ? d->by : 0.0);
    change_panel(d, &s->x);
}

static void close_scene(struct scene *s)
{
    recipe_free(&s->recipe);
    experiment_free(&s->x);
}

#endif
