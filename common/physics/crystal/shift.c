#include "physics/crystal/shift.h"

#include "base/rng.h"
#include "base/units.h"
#include "base/vec.h"
#include "physics/detector/panels.h"

bool shift_moves(const struct shift *s)
{
    return s->coffset_m != 0.0 || s->coffset_jitter_m > 0.0 || s->jitter_m > 0.0 || s->nlisted;
}

/* Without jitter, in the frame of the beam. */
static void asked_for(const struct shift *s, uint64_t frame, double by_m[3])
{
    for (int i = 0; i < 3; i++)
        by_m[i] = s->nlisted ? s->listed_m[frame % s->nlisted][i] : 0.0;
    by_m[2] += s->coffset_m;
}

/* In the lab. */
static void to_lab(const struct experiment *x, const double by_m[3], double out[3])
{
    double frame[9];
    panels_frame(x, frame);
    for (int i = 0; i < 3; i++)
        out[i] = by_m[0] * frame[i] + by_m[1] * frame[3 + i] + by_m[2] * frame[6 + i];
}

enum status shift_check(const struct shift *s, const struct experiment *x, struct error *e)
{
    static const double NEAREST_M = 1e-6;
    const size_t count = s->nlisted ? s->nlisted : shift_moves(s);
    for (size_t k = 0; k < count * x->npanels; k++) {
        const struct panel *p = &x->panels[k % x->npanels];
        double by_m[3], lab[3];
        if (p->curved)
            return error_set(e, STATUS_INPUT, "a curved detector cannot move from frame to frame");
        asked_for(s, k / x->npanels, by_m);
        to_lab(x, by_m, lab);
        if (!(p->close_distance_m + vec_dot(p->normal, lab) > NEAREST_M))
            return error_set(e, STATUS_INPUT,
                             "a shift by %g mm along the beam: panel %zu is not behind the sample "
                             "then",
                             m_to_mm(by_m[2]), k % x->npanels);
    }
    return STATUS_OK;
}

void shift_make(const struct shift *s, const struct experiment *x, struct recipe *r)
{
    double by_m[3];
    r->has_shift = shift_moves(s);
    if (!r->has_shift)
        return;
    asked_for(s, r->id, by_m);
    if (s->coffset_jitter_m > 0.0 || s->jitter_m > 0.0) {
        struct rng random = rng_stream(r->seed, RNG_SHIFT, r->id, 0);
        by_m[2] += s->coffset_jitter_m * rng_normal(&random);
        by_m[0] += s->jitter_m * rng_normal(&random);
        by_m[1] += s->jitter_m * rng_normal(&random);
    }
    to_lab(x, by_m, r->shift_m);
}
