#include "physics/crystal/illuminated_volume.h"

#include <string.h>

#include "base/vec.h"

void illuminated_axes(const struct beam *b, double frame[9])
{
    vec_cross(b->direction, b->polarization, frame + 3);
    vec_unit(frame + 3, frame + 3);
    vec_cross(frame + 3, b->direction, frame);
    vec_copy(frame + 6, b->direction);
}

/* A convex face of a box. At first it is a quadrilateral, then two planes cut it. */
struct face {
    int corners;
    double at[6][3];
};

/* Keeps the part of a polygon at or below `limit` along an axis (Sutherland and Hodgman, Comm. ACM
 * 17, 32, 1974). */
static void cut_face(struct face *f, int axis, double limit)
{
    const struct face from = *f;
    f->corners = 0;
    for (int i = 0; i < from.corners; i++) {
        const double *here = from.at[i], *next = from.at[(i + 1) % from.corners];
        const double below = limit - here[axis], after = limit - next[axis];
        if (below >= 0.0)
            vec_copy(f->at[f->corners++], here);
        if (below * after < 0.0) {
            double *at = f->at[f->corners++];
            for (int k = 0; k < 3; k++)
                at[k] = here[k] + below / (below - after) * (next[k] - here[k]);
        }
    }
}

/* Makes face number 0 to 5 of the box. Its corners are in the order in which they are seen from
 * outside a right-handed box. */
static void box_face(const double edges[9], int number, struct face *f)
{
    static const double around[4][2] = {{-0.5, -0.5}, {0.5, -0.5}, {0.5, 0.5}, {-0.5, 0.5}};
    const int out = number % 3;
    const double side = number < 3 ? 0.5 : -0.5;
    f->corners = 4;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++)
            f->at[i][k] = side * edges[3 * out + k] +
                          2.0 * side * around[i][0] * edges[3 * ((out + 1) % 3) + k] +
                          around[i][1] * edges[3 * ((out + 2) % 3) + k];
}

/* The signed volume of a body, and the integrals of coordinates and of the products of coordinates
 * over the body. */
struct body {
    double volume, first[3], square[9];
};

/* Adds `sign` times what *more is. */
static void add_body(const struct body *more, double sign, struct body *to)
{
    to->volume += sign * more->volume;
    for (int i = 0; i < 3; i++)
        to->first[i] += sign * more->first[i];
    for (int i = 0; i < 9; i++)
        to->square[i] += sign * more->square[i];
}

/* Adds a tetrahedron, negative where it is seen from inside: over it the mean of x y is a twentieth
 * of the sum over its corners of x y plus the product of the sums of x and y. */
static void add_tetrahedron(const double *const corner[4], struct body *to)
{
    double from_first[9], sum[3];
    for (int k = 0; k < 3; k++) {
        sum[k] = corner[0][k] + corner[1][k] + corner[2][k] + corner[3][k];
        for (int i = 0; i < 3; i++)
            from_first[3 * i + k] = corner[1 + i][k] - corner[0][k];
    }
    const double volume = mat_determinant(from_first) / 6.0;
    to->volume += volume;
    for (int k = 0; k < 3; k++)
        to->first[k] += volume * sum[k] / 4.0;
    for (int i = 0; i < 9; i++) {
        double products = sum[i / 3] * sum[i % 3];
        for (int c = 0; c < 4; c++)
            products += corner[c][i / 3] * corner[c][i % 3];
        to->square[i] += volume * products / 20.0;
    }
}

/* Returns the part of the box below x along axis 0 and below y along axis 1, with the sign of the
 * handedness of the box.  The part is the sum of pyramids from a point on both planes to the faces.
 * The faces on the two planes have no height over that point. */
static struct body wedge(const double edges[9], double x, double y)
{
    const double top[3] = {x, y, 0.0};
    struct body sum = {0};
    for (int i = 0; i < 6; i++) {
        struct face f;
        box_face(edges, i, &f);
        cut_face(&f, 0, x);
        cut_face(&f, 1, y);
        for (int k = 1; k + 1 < f.corners; k++)
            add_tetrahedron((const double *const[4]){top, f.at[0], f.at[k], f.at[k + 1]}, &sum);
    }
    return sum;
}

/* Sets `*lit` to the illuminated part of a box in the axes of `frame`, from the middle of the box,
 * with the sign of the handedness of the box, and box[] to the edges in these axes.  Returns false
 * if the whole box is illuminated. */
static bool cut_to_beam(const struct beam *b, const double frame[9], const double edges[9],
                        const double *aside_m, double box[9], struct body *lit)
{
    double reach[2] = {0.0, 0.0}, at[3] = {0.0, 0.0, 0.0};
    if (aside_m)
        mat_apply(frame, aside_m, at);
    for (int i = 0; i < 3; i++) {
        mat_apply(frame, edges + 3 * i, box + 3 * i);
        for (int k = 0; k < 2; k++)
            reach[k] += fabs(box[3 * i + k]);
    }
    const double width = b->size_m, height = beam_height_m(b);
    if (!(width > 0.0) ||
        (width >= reach[0] + 2.0 * fabs(at[0]) && height >= reach[1] + 2.0 * fabs(at[1])))
        return false;
    *lit = (struct body){0};
    for (int i = 0; i < 4; i++) {
        const struct body part =
            wedge(box, (i & 1 ? -0.5 : 0.5) * width - at[0], (i & 2 ? -0.5 : 0.5) * height - at[1]);
        add_body(&part, i == 0 || i == 3 ? 1.0 : -1.0, lit);
    }
    return true;
}

double illuminated_share(const struct beam *b, const double edges[9], const double *aside_m)
{
    double frame[9], box[9];
    struct body lit;
    illuminated_axes(b, frame);
    if (!cut_to_beam(b, frame, edges, aside_m, box, &lit))
        return 1.0;
    return fmin(1.0, fmax(0.0, lit.volume / mat_determinant(box)));
}

bool illuminated_moments(const struct beam *b, const double edges[9], const double *aside_m,
                         double moments[9])
{
    double frame[9], back[9], box[9], turned[9];
    struct body lit;
    illuminated_axes(b, frame);
    if (!cut_to_beam(b, frame, edges, aside_m, box, &lit) || !(fabs(lit.volume) > 0.0))
        return false;
    for (int i = 0; i < 9; i++) {
        lit.square[i] /= lit.volume;
        if (aside_m)  // otherwise the middles of part and box are the same by symmetry
            lit.square[i] -= lit.first[i / 3] / lit.volume * (lit.first[i % 3] / lit.volume);
        back[i] = frame[3 * (i % 3) + i / 3];
    }
    mat_multiply(back, lit.square, turned);
    mat_multiply(turned, frame, moments);
    return true;
}

double illuminated_blocks(const struct crystal *c, const struct beam *b, const double cell[9],
                          const double *aside_m)
{
    double edges[9];
    if (!c->has_blocks)
        return 1.0;
    for (int i = 0; i < 3; i++) {
        vec_unit(cell + 3 * i, edges + 3 * i);
        vec_scale(edges + 3 * i, c->size_m[i], edges + 3 * i);
    }
    return c->blocks * illuminated_share(b, edges, aside_m);
}

/* --- of all crystals of a recipe -------------------------------------------------- */

#define BOX_VARIANCE (1.0 / 12.0)  // of a uniform box of edge 1

bool footprint_is_wanted(const struct experiment *x)
{
    for (size_t i = 0; i < x->ncrystals; i++)
        if (x->crystals[i].has_size)
            return true;
    return false;
}

/* Adds factor v v^T. */
static void add_square(const double v[3], double factor, double m[9])
{
    for (int i = 0; i < 9; i++)
        m[i] += factor * v[i / 3] * v[i % 3];
}

/* Adds the covariance of the illuminated part of a crystal, averaged over its phi steps. */
static void add_crystal(const struct experiment *x, const struct crystal *c,
                        const struct lattice *l, double whole[9])
{
    for (size_t t = 0; t < l->nphi; t++) {
        double along[9], edges[9], cut[9], aside_m[3];
        for (int i = 0; i < 3; i++) {
            vec_unit(l->cells_m + 9 * t + 3 * i, along + 3 * i);
            vec_scale(along + 3 * i, c->size_m[i], edges + 3 * i);
        }
        const bool is_cut =
            illuminated_moments(&x->beam, edges, lattice_aside(x, l, t, aside_m), cut);
        for (int i = 0; i < 9 && is_cut; i++)
            whole[i] += cut[i] / (double)l->nphi;
        for (int i = 0; i < 3 && !is_cut; i++)
            add_square(along + 3 * i, BOX_VARIANCE * c->size_m[i] * c->size_m[i] / (double)l->nphi,
                       whole);
    }
}

bool illuminated_covariance(const struct experiment *x, const struct recipe *r, double lit[9])
{
    double shares = 0.0;
    bool any = false;
    for (size_t i = 0; i < r->nlattices; i++)
        shares += r->lattices[i].weight;
    if (!footprint_is_wanted(x) || !(shares > 0.0))
        return false;
    memset(lit, 0, 9 * sizeof *lit);
    for (size_t i = 0; i < r->nlattices; i++) {
        const struct crystal *c = &x->crystals[r->lattices[i].crystal];
        double whole[9] = {0};
        if (!c->has_size)
            continue;
        any = true;
        add_crystal(x, c, &r->lattices[i], whole);
        for (int k = 0; k < 9; k++)
            lit[k] += r->lattices[i].weight / shares * whole[k];
    }
    return any;
}
