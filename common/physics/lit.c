#include "physics/lit.h"

#include "base/vec.h"

void lit_frame(const struct beam *b, double frame[9])
{
    vec_cross(b->direction, b->polarization, frame + 3);
    vec_unit(frame + 3, frame + 3);
    vec_cross(frame + 3, b->direction, frame);
    vec_copy(frame + 6, b->direction);
}

/* A convex face of a box, at first a quadrilateral, that two planes have cut. */
struct face {
    int corners;
    double at[6][3];
};

/* Keeps what lies at or below `limit` along an axis (Sutherland and Hodgman, Comm. ACM 17, 32,
 * 1974). */
static void cut(struct face *f, int axis, double limit)
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

/* Face number 0 to 5 of the box, in the order in which it is seen from outside for a right-handed
 * box. */
static void take_face(const double edges[9], int number, struct face *f)
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

/* Six volumes of the pyramid from the point `top` to the face; negative where seen from inside. */
static double pyramid(const struct face *f, const double top[3])
{
    double sum = 0.0;
    for (int i = 1; i + 1 < f->corners; i++) {
        double to[9];
        for (int k = 0; k < 3; k++) {
            to[k] = f->at[0][k] - top[k];
            to[3 + k] = f->at[i][k] - top[k];
            to[6 + k] = f->at[i + 1][k] - top[k];
        }
        sum += mat_determinant(to);
    }
    return sum;
}

/* Volume, with the sign of the box's hand, of what lies below x along axis 0 and y along axis 1:
 * the faces that the two planes cut have no height over a point on both. */
static double wedge(const double edges[9], double x, double y)
{
    const double top[3] = {x, y, 0.0};
    double sum = 0.0;
    for (int i = 0; i < 6; i++) {
        struct face f;
        take_face(edges, i, &f);
        cut(&f, 0, x);
        cut(&f, 1, y);
        sum += pyramid(&f, top);
    }
    return sum / 6.0;
}

double lit_share(const struct beam *b, const double edges[9])
{
    double frame[9], box[9], reach[2] = {0.0, 0.0};
    lit_frame(b, frame);
    for (int i = 0; i < 3; i++) {
        mat_apply(frame, edges + 3 * i, box + 3 * i);
        for (int k = 0; k < 2; k++)
            reach[k] += fabs(box[3 * i + k]);
    }
    const double width = b->size_m, height = beam_height_m(b);
    if (!(width > 0.0) || (width >= reach[0] && height >= reach[1]))
        return 1.0;
    const double x = 0.5 * width, y = 0.5 * height;
    const double lit =
        wedge(box, x, y) - wedge(box, -x, y) - wedge(box, x, -y) + wedge(box, -x, -y);
    return fmin(1.0, fmax(0.0, lit / mat_determinant(box)));
}

double lit_blocks(const struct crystal *c, const struct beam *b, const double cell[9])
{
    double edges[9];
    if (!c->has_blocks)
        return 1.0;
    for (int i = 0; i < 3; i++) {
        vec_unit(cell + 3 * i, edges + 3 * i);
        vec_scale(edges + 3 * i, c->size_m[i], edges + 3 * i);
    }
    return c->blocks * lit_share(b, edges);
}
