/*
 * The names of parameters, which of them an experiment has, and the direct vectors of a crystal as
 * functions of its cell.
 */
#include "engine/derivatives/parameter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "physics/crystal/shape.h"

/* ---- names ---------------------------------------------------------------------------------- */

#define DEG (M_PI / 180.0)

/* Parses one name. `panel`: the name follows "panel.P.", where P is the number of a panel. */
struct parameter_name {
    const char *name, *group;
    enum parameter_kind kind;
    int axis;
    const char *unit;
    double unit_SI;
};

static const struct parameter_name KNOWN[] = {
    {"rot_x", "rot", PARAMETER_ROTATION, 0, "deg", DEG},
    {"rot_y", "rot", PARAMETER_ROTATION, 1, "deg", DEG},
    {"rot_z", "rot", PARAMETER_ROTATION, 2, "deg", DEG},
    {"cell_a", NULL, PARAMETER_CELL, 0, "A", 1e-10},
    {"cell_b", NULL, PARAMETER_CELL, 1, "A", 1e-10},
    {"cell_c", NULL, PARAMETER_CELL, 2, "A", 1e-10},
    {"cell_alpha", NULL, PARAMETER_CELL, 3, "deg", DEG},
    {"cell_beta", NULL, PARAMETER_CELL, 4, "deg", DEG},
    {"cell_gamma", NULL, PARAMETER_CELL, 5, "deg", DEG},
    {"ncells_a", "ncells", PARAMETER_CELLS, 0, "", 1.0},
    {"ncells_b", "ncells", PARAMETER_CELLS, 1, "", 1.0},
    {"ncells_c", "ncells", PARAMETER_CELLS, 2, "", 1.0},
    {"fudge", NULL, PARAMETER_FUDGE, 0, "", 1.0},
    {"mosaic", NULL, PARAMETER_MOSAIC, 0, "", 1.0},
    {"scale", NULL, PARAMETER_SCALE, 0, "", 1.0},
    {"phi0", NULL, PARAMETER_PHI0, 0, "deg", DEG},
    {"osc", NULL, PARAMETER_OSC, 0, "deg", DEG},
    {"wavelength", NULL, PARAMETER_WAVELENGTH, 0, "A", 1e-10},
    {"dispersion", NULL, PARAMETER_DISPERSION, 0, "percent", 0.01},
    {"divergence_h", NULL, PARAMETER_DIVERGENCE, 0, "mrad", 1e-3},
    {"divergence_v", NULL, PARAMETER_DIVERGENCE, 1, "mrad", 1e-3},
    {"polarization", NULL, PARAMETER_POLARIZATION, 0, "", 1.0},
    {"distance", NULL, PARAMETER_DISTANCE, 0, "mm", 1e-3},
    {"beam_x", NULL, PARAMETER_CENTRE, 0, "mm", 1e-3},
    {"beam_y", NULL, PARAMETER_CENTRE, 1, "mm", 1e-3},
    {"thickness", NULL, PARAMETER_THICKNESS, 0, "um", 1e-6},
    {"absorption", NULL, PARAMETER_ABSORPTION, 0, "um", 1e-6},
};

/* Behind "panel.P." */
static const struct parameter_name OF_PANEL[] = {
    {"shift_f", NULL, PARAMETER_SHIFT, 0, "mm", 1e-3},
    {"shift_s", NULL, PARAMETER_SHIFT, 1, "mm", 1e-3},
    {"shift_o", NULL, PARAMETER_SHIFT, 2, "mm", 1e-3},
    {"tilt_f", NULL, PARAMETER_TILT, 0, "deg", DEG},
    {"tilt_s", NULL, PARAMETER_TILT, 1, "deg", DEG},
    {"tilt_o", NULL, PARAMETER_TILT, 2, "deg", DEG},
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static enum status add_parameter(struct parameters *set, const struct parameter *p, struct error *e)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].name, p->name) == 0)
            return error_set(e, STATUS_USAGE,
                             "parameter '%s' is given twice; expected each parameter once",
                             p->name);
    if (set->count == PARAMETERS_MAX)
        return error_set(e, STATUS_USAGE, "more than %d parameters", PARAMETERS_MAX);
    set->items[set->count++] = *p;
    return STATUS_OK;
}

static struct parameter make(const struct parameter_name *k, const char *name, size_t index)
{
    struct parameter p = {.unit = k->unit, .unit_SI = k->unit_SI, .kind = k->kind, .axis = k->axis};
    (void)snprintf(p.name, sizeof p.name, "%s", name);
    p.index = index;
    if (k->kind == PARAMETER_CELL)
        p.members[k->axis] = 1.0;
    return p;
}

/* Adds cell edges (first = 0) or angles (3) that are equal as one. */
static enum status add_cell(struct parameters *set, const char *name, int first, unsigned members,
                            struct error *e)
{
    struct parameter p = make(&KNOWN[3 + first], name, 0);
    for (int i = 0; i < 3; i++)
        p.members[first + i] = members >> i & 1 ? 1.0 : 0.0;
    return add_parameter(set, &p, e);
}

static bool same(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* Adds the free parameters of a cell. Edges and angles that are equal, right or trigonal are
 * taken as constrained by symmetry. */
static enum status add_free_cell(struct parameters *set, const struct crystal *c, struct error *e)
{
    static const char *const angles[3] = {"cell_alpha", "cell_beta", "cell_gamma"};
    const double *edge = c->cell_A, *angle = c->cell_rad;
    bool right[3];
    for (int i = 0; i < 3; i++)
        right[i] = same(angle[i], M_PI / 2.0);
    const bool hexagonal = right[0] && right[1] && same(angle[2], 2.0 * M_PI / 3.0);
    const bool square = right[0] && right[1] && (right[2] || hexagonal) && same(edge[0], edge[1]);
    const bool equal = same(edge[0], edge[1]) && same(edge[1], edge[2]);
    const bool rhombohedral =
        equal && same(angle[0], angle[1]) && same(angle[1], angle[2]) && !right[0];
    enum status s;
    if ((square && equal && right[2]) || rhombohedral) {
        s = add_cell(set, "cell_abc", 0, 7, e);
        return s || !rhombohedral ? s : add_cell(set, "cell_angles", 3, 7, e);
    }
    if (square) {
        s = add_cell(set, "cell_ab", 0, 3, e);
        return s ? s : add_cell(set, "cell_c", 0, 4, e);
    }
    for (int i = 0; i < 3; i++)
        if ((s = add_cell(set, KNOWN[3 + i].name, 0, 1u << i, e)))
            return s;
    for (int i = 0; i < 3; i++)
        if (!right[i] && (s = add_cell(set, angles[i], 3, 1u << i, e)))
            return s;
    return STATUS_OK;
}

/* Returns the number after `prefix`, as in "share.L" or "panel.P."; -1: the name has another
 * form. */
static long number_behind(const char *name, const char *prefix, const char **rest)
{
    const size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0 || name[length] < '0' || name[length] > '9')
        return -1;
    char *end;
    const long number = strtol(name + length, &end, 10);
    *rest = end;
    return number;
}

static enum status unknown(const char *name, struct error *e)
{
    char list[512] = "";
    size_t length = 0;
    for (size_t i = 0; i < COUNT(KNOWN); i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s ", KNOWN[i].name);
    return error_set(e, STATUS_USAGE,
                     "unknown parameter '%s'; expected rot cell ncells %sshare.L "
                     "panel.P.shift_f|s|o panel.P.tilt_f|s|o",
                     name, list);
}

static enum status add_name(struct parameters *set, const char *name, const struct experiment *x,
                            struct error *e)
{
    if (strcmp(name, "cell") == 0)
        return x->ncrystals ? add_free_cell(set, &x->crystals[0], e) : STATUS_OK;
    bool found = false;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < COUNT(KNOWN) && !s; i++) {
        const struct parameter_name *k = &KNOWN[i];
        if (strcmp(name, k->name) != 0 && (!k->group || strcmp(name, k->group) != 0))
            continue;
        const struct parameter p = make(k, k->name, 0);
        s = add_parameter(set, &p, e);
        found = true;
    }
    if (found || s)
        return s;
    const char *rest = "";
    long index = number_behind(name, "share.", &rest);
    if (index >= 0 && !*rest) {
        static const struct parameter_name share = {"share", NULL, PARAMETER_SHARE, 0, "", 1.0};
        const struct parameter p = make(&share, name, (size_t)index);
        return add_parameter(set, &p, e);
    }
    index = number_behind(name, "panel.", &rest);
    for (size_t i = 0; i < COUNT(OF_PANEL) && index >= 0 && *rest == '.'; i++)
        if (strcmp(rest + 1, OF_PANEL[i].name) == 0) {
            const struct parameter p = make(&OF_PANEL[i], name, (size_t)index);
            return add_parameter(set, &p, e);
        }
    return unknown(name, e);
}

/* Returns true if the parameter moves or changes panels. */
static bool is_of_panels(enum parameter_kind kind)
{
    return kind >= PARAMETER_DISTANCE;
}

static enum status check_panels(const struct parameter *p, const struct experiment *x,
                                struct error *e)
{
    const bool one = p->kind == PARAMETER_SHIFT || p->kind == PARAMETER_TILT;
    const bool sensor = p->kind == PARAMETER_THICKNESS || p->kind == PARAMETER_ABSORPTION;
    if (one && p->index >= x->npanels)
        return error_set(e, STATUS_INPUT,
                         "'%s': the detector has no panel %zu; expected a number less than %zu",
                         p->name, p->index, x->npanels);
    for (size_t i = 0; i < x->npanels; i++) {
        if (x->panels[i].curved)
            return error_set(e, STATUS_INPUT,
                             "'%s': this derivative is not supported for a curved detector",
                             p->name);
        if (sensor && !(x->panels[i].thickness_m > 0.0 && x->panels[i].absorption_1_m > 0.0))
            return error_set(e, STATUS_INPUT,
                             "'%s': the detector has no sensor. Give bragg-geometry --thickness",
                             p->name);
    }
    return STATUS_OK;
}

static enum status check_parameter(const struct parameter *p, const struct experiment *x,
                                   struct error *e)
{
    if (is_of_panels(p->kind))
        return check_panels(p, x, e);
    const bool cell = p->kind == PARAMETER_CELL || p->kind == PARAMETER_CELLS;
    if ((cell || p->kind == PARAMETER_FUDGE) && x->ncrystals != 1)
        return error_set(e, STATUS_INPUT, "'%s': the experiment has %zu crystals; expected 1",
                         p->name, x->ncrystals);
    if (p->kind == PARAMETER_CELLS && x->sizes_vary)
        return error_set(e, STATUS_INPUT,
                         "'%s': the number of cells differs from lattice to lattice "
                         "(bragg-orient --vary=size); expected one number for all",
                         p->name);
    if (p->kind == PARAMETER_MOSAIC && x->spreads_vary)
        return error_set(e, STATUS_INPUT,
                         "'%s': the mosaic spread differs from lattice to lattice (bragg-orient "
                         "--vary); expected one spread for all",
                         p->name);
    if (p->kind == PARAMETER_FUDGE && shape_is_grating(x->crystals[0].shape))
        return error_set(
            e, STATUS_INPUT,
            "parameter '%s' has no effect with --shape=square. Remove it, or use gauss or round",
            p->name);
    if (p->kind == PARAMETER_POLARIZATION && x->beam.no_polarization)
        return error_set(e, STATUS_INPUT, "parameter '%s' has no effect with --no-polarization",
                         p->name);
    return STATUS_OK;
}

enum status parameters_parse(const char *names, const struct experiment *x, struct parameters *set,
                             struct error *e)
{
    *set = (struct parameters){0};
    if (x->physics == PHYSICS_FAITHFUL)
        return error_set(e, STATUS_INPUT, "derivatives need bragg-geometry --physics=physical");
    CRYSTAL_SHAPES_ARE(4);  // for the name in the message
    for (size_t i = 0; i < x->ncrystals; i++)
        if (!shape_has_slopes(x->crystals[i].shape))
            return error_set(e, STATUS_INPUT,
                             "derivatives do not support --shape=tophat. Use --shape=gauss");
    if (x->b_factors_vary)
        return error_set(e, STATUS_INPUT,
                         "derivatives do not support lattices with B factors of their own. Remove "
                         "bragg-orient --vary of b-factor or resolution, or --derivatives");
    enum status s = STATUS_OK;
    for (const char *at = names; !s; at++) {
        char name[PARAMETER_NAME_SIZE];
        const size_t length = strcspn(at, ",");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, at);
        s = length < sizeof name ? add_name(set, name, x, e) : unknown(name, e);
        at += length;
        if (!*at)
            break;
    }
    for (size_t i = 0; i < set->count && !s; i++)
        s = check_parameter(&set->items[i], x, e);
    return s;
}

/* ---- direct vectors ------------------------------------------------------------------------- */

void direct_rows(const double cell[6], double rows[9], double by[6][9])
{
    const double a = cell[0], b = cell[1];
    double co[3], si[3], dw[3];
    for (int i = 0; i < 3; i++) {
        co[i] = cos(cell[3 + i]);
        si[i] = sin(cell[3 + i]);
    }
    const double w =
        sqrt(1.0 - co[0] * co[0] - co[1] * co[1] - co[2] * co[2] + 2.0 * co[0] * co[1] * co[2]);
    for (int i = 0; i < 3; i++)
        dw[i] = si[i] * (co[i] - co[(i + 1) % 3] * co[(i + 2) % 3]) / w;
    const double along[9] = {
        w / si[0], (co[2] - co[0] * co[1]) / si[0], co[1], 0.0, si[0], co[0], 0.0, 0.0, 1.0};
    memset(by, 0, 6 * sizeof *by);
    for (int i = 0; i < 9; i++) {
        rows[i] = along[i] * cell[i / 3];
        by[i / 3][i] = along[i];
    }
    vec_set(by[3], a * (dw[0] - along[0] * co[0]) / si[0], a * (co[1] - along[1] * co[0] / si[0]),
            0.0);
    vec_set(by[3] + 3, 0.0, b * co[0], -b * si[0]);
    vec_set(by[4], a * dw[1] / si[0], a * co[0] * si[1] / si[0], -a * si[1]);
    vec_set(by[5], a * dw[2] / si[0], -a * si[2] / si[0], 0.0);
}

/* Computes the edges and angles of direct vectors. */
static void cell_of(const double direct[9], double cell[6])
{
    for (int i = 0; i < 3; i++)
        cell[i] = vec_length(direct + 3 * i);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        cell[3 + i] = acos(vec_dot(direct + 3 * j, direct + 3 * k) / (cell[j] * cell[k]));
    }
}

void direct_split(const double direct[9], double cell[6], double turn[9])
{
    double rows[9], by[6][9], back[9];
    cell_of(direct, cell);
    direct_rows(cell, rows, by);
    mat_invert(rows, back);
    mat_multiply(back, direct, turn);
}

void rotation_vector(const double m[9], double out[3])
{
    vec_set(out, 0.5 * (m[7] - m[5]), 0.5 * (m[2] - m[6]), 0.5 * (m[3] - m[1]));
    const double sine = vec_length(out), cosine = 0.5 * (m[0] + m[4] + m[8] - 1.0);
    if (sine > 0.0)
        vec_scale(out, atan2(sine, cosine) / sine, out);
}

void rotation_matrix(const double vector[3], double m[9])
{
    double axis[3];
    const double angle = vec_unit(vector, axis);
    for (int j = 0; j < 3; j++) {
        double v[3] = {j == 0, j == 1, j == 2};
        vec_rotate_axis(v, axis, angle);
        for (int i = 0; i < 3; i++)
            m[3 * i + j] = v[i];
    }
}
