/*
 * The kernel of a smeared sensor, compiled once per instruction set.  Nothing is fused, so all give
 * the same bytes.  First all parts of the sensor are computed, then their weights are summed.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/portable_math.h"
#include "physics/detector/smear_kernel.h"

/* ---- parts of the sensor -------------------------------------------------------------------- */

/* More than this many attenuation depths are as good as this many: no photon is left. */
#define FARTHEST 600.0

/* The parts of the sensor of a ray, and what stops in each: its weight, where it belongs to four
 * subpixels along fast and slow, and the part of the way from the second one to the third one. */
struct parts {
    int count;
    double weight[SMEAR_PARTS_MOST];
    double between[2][SMEAR_PARTS_MOST];
    int at[2][SMEAR_PARTS_MOST];  // the first of the four subpixels
};

/* Sets, for each part, the thickness of a part along the ray in attenuation depths. */
static void set_depths(const struct smear *s, const double from_foot[2], int parts,
                       double *restrict depths)
{
    const double edge_m = s->panel->pixel_m / s->oversample, part_m = s->thickness_m / parts;
    const double fast = from_foot[0] * edge_m, slow = from_foot[1] * edge_m;
    const double leaning = fast * s->lean[0] + slow * s->lean[1];
    const double skew = s->skew, distance_m = s->distance_m;
    const double absorption = s->panel->absorption_1_m;
    for (int i = 0; i < parts; i++) {  // vectorised
        /* the cosine of the angle between the normal and the ray, at the middle of the part */
        const double away = distance_m + (i + 0.5) * part_m;
        const double square =
            fast * fast + slow * slow + away * away + 2.0 * (fast * slow * skew + leaning * away);
        const double cosine = (leaning + away) / sqrt(square);
        const double depth = part_m * absorption / cosine;
        depths[i] = depth < FARTHEST ? depth : FARTHEST;
    }
}

/* Sets weights from depths, which become the depths in m where photons stop.  The weights are the
 * fractions of photons that stop in the parts, times the ratio of the solid angles of a pixel where
 * they stop and at the front, times `factor`. */
static void set_weights(const struct smear *s, double factor, int parts, double *restrict depths,
                        double *restrict weight)
{
    const double part_m = s->thickness_m / parts, distance_m = s->distance_m;
    const double point = s->panel->point_pixel ? 1.0 : 0.0, extended = 1.0 - point;
    double left[SMEAR_PARTS_MOST];
    for (int i = 0; i < parts; i++)  // vectorised
        left[i] = portable_exp(-depths[i]);
    for (int i = 0; i < parts; i++)  // vectorised
        weight[i] = portable_exp(-depths[i] * i);
    for (int i = 0; i < parts; i++) {  // vectorised
        const double x = depths[i], stopped = weight[i] * (1.0 - left[i]);
        const double near = 0.5 - x / 12.0, far = 1.0 / x - left[i] / (1.0 - left[i]);
        const double depth_m = (i + (x < 1e-3 ? near : far)) * part_m;
        const double nearer = distance_m / (distance_m + depth_m);
        weight[i] = factor * stopped * (nearer * nearer * (point + extended * nearer));
        depths[i] = depth_m;
    }
}

/* Sets the places of the parts along an axis. */
static void set_places(const struct smear *s, double from_foot, const double *restrict depth_m,
                       int parts, double *restrict between, int *restrict at)
{
    const double distance_m = s->distance_m;
    for (int i = 0; i < parts; i++) {  // vectorised
        const double moved = depth_m[i] / (distance_m + depth_m[i]);
        const double to = -(moved * from_foot), whole = floor(to);
        between[i] = to - whole;
        at[i] = (int)whole - 1;
    }
}

/* Divides the sensor of a ray to a place. */
static void divide(const struct smear_kernel_ray *ray, const double place[2], int parts,
                   struct parts *p)
{
    const struct smear *s = ray->view;
    const double from_foot[2] = {place[0] - s->foot[0], place[1] - s->foot[1]};
    const double area = s->panel->point_pixel ? 1.0 / ((double)s->oversample * s->oversample) : 1.0;
    double depths[SMEAR_PARTS_MOST];
    depths[0] = 0.0;
    p->count = s->thickness_m > 0.0 ? parts : 1;
    p->weight[0] = ray->factor * area;
    if (s->thickness_m > 0.0) {
        set_depths(s, from_foot, parts, depths);
        while (depths[p->count - 1] * (p->count - 1) > FARTHEST)
            p->count--;
        set_weights(s, ray->factor * area, parts, depths, p->weight);
    }
    for (int axis = 0; axis < 2; axis++)
        set_places(s, from_foot[axis], depths, p->count, p->between[axis], p->at[axis]);
}

/* Returns the part after those that belong to the same subpixels as part `i`. */
static int end_of_group(const struct parts *p, int i)
{
    const int fast = p->at[0][i], slow = p->at[1][i];
    while (i < p->count && p->at[0][i] == fast && p->at[1][i] == slow)
        i++;
    return i;
}

/* ---- rows of weights ------------------------------------------------------------------------ */

/* Sets k->slow and k->rows. */
static void set_rows(const struct parts *p, int count, struct smear_kernel *k)
{
    int first = INT_MAX, last = INT_MIN;
    for (int n = 0; n < count; n++)
        for (int i = 0; i < p[n].count; i++) {  // vectorised
            const int slow = p[n].at[1][i];
            first = slow < first ? slow : first;
            last = slow > last ? slow : last;
        }
    k->slow = first;
    k->rows = last + 4 - first;
}

/* Sets the spans of the rows, so that they hold the subpixels of all parts. */
static void set_spans(const struct parts *p, int count, struct smear_kernel *k)
{
    struct smear_span *row = k->row;
    int begin = 0;
    for (int j = 0; j <= k->rows; j++)
        row[j] = (struct smear_span){.fast = INT_MAX, .begin = INT_MIN};
    for (int n = 0; n < count; n++)
        for (int i = 0; i < p[n].count; i = end_of_group(&p[n], i)) {
            struct smear_span *to = row + p[n].at[1][i] - k->slow;
            const int fast = p[n].at[0][i];
            for (int j = 0; j < 4; j++) {  // for now, `begin` is the end
                to[j].fast = fast < to[j].fast ? fast : to[j].fast;
                to[j].begin = fast + 4 > to[j].begin ? fast + 4 : to[j].begin;
            }
        }
    for (int j = 0; j < k->rows; j++) {
        const int width = row[j].fast < INT_MAX ? row[j].begin - row[j].fast : 0;
        row[j].begin = begin;
        begin += width;
    }
    row[k->rows].begin = begin;
    memset(k->weight, 0, (size_t)begin * sizeof *k->weight);
}

typedef double quad __attribute__((vector_size(4 * sizeof(double))));

/* Sets the weights of four subpixels, from one before the subpixel to two after it, for a point at
 * `part` of the way to the next one: Lagrange's of the third order.  Weights that are not negative
 * would widen the spots. */
static inline void set_cubic(double part, quad *weight)
{
    const quad at = {part, part, part, part};
    *weight = (at + (quad){0.0, 1.0, 1.0, 1.0}) * (at - (quad){1.0, 1.0, 0.0, 0.0}) *
              (at - (quad){2.0, 2.0, 2.0, 1.0}) * (quad){-1.0 / 6.0, 0.5, -0.5, 1.0 / 6.0};
}

/* Adds parts `i` to end - 1, which belong to the same subpixels. */
static void add_group(const struct parts *p, int i, int end, struct smear_kernel *k)
{
    const struct smear_span *row = k->row + p->at[1][i] - k->slow;
    double *to[4];
    quad sum[4];
    for (int j = 0; j < 4; j++) {
        to[j] = k->weight + row[j].begin + p->at[0][i] - row[j].fast;
        memcpy(&sum[j], to[j], sizeof sum[j]);
    }
    for (; i < end; i++) {
        quad fast, slow;
        set_cubic(p->between[0][i], &fast);
        set_cubic(p->between[1][i], &slow);
        for (int j = 0; j < 4; j++) {
            const double weight = p->weight[i] * slow[j];
            sum[j] += (quad){weight, weight, weight, weight} * fast;
        }
    }
    for (int j = 0; j < 4; j++)
        memcpy(to[j], &sum[j], sizeof sum[j]);
}

void NAME(smear_kernel_loop_, ISA)(const struct smear_kernel_ray *rays, int count,
                                   const double at[2], int parts, struct smear_kernel *k)
{
    struct parts p[2];
    for (int n = 0; n < count; n++)
        divide(&rays[n], at, parts, &p[n]);
    set_rows(p, count, k);
    set_spans(p, count, k);
    for (int n = 0; n < count; n++)
        for (int i = 0, end; i < p[n].count; i = end) {
            end = end_of_group(&p[n], i);
            add_group(&p[n], i, end, k);
        }
}
