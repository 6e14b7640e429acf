/*
 * A fit of all frames together.  The parameters of single frames are eliminated (Schur
 * complement), and the parameters that the frames share are found from the sums of all frames.
 */
#include "refine/fit.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

enum { TRIALS_MAX = 100 };
/* The fit ends if a step adds less than this to the logarithm of the likelihood of all frames. */
static const double GAIN_LEAST = 1e-4;
static const char UNTOLD[] = "the frames together cannot determine the shared parameters";
static const double DAMPING_FIRST = 1e-3, DAMPING_MOST = 1e7, DAMPING_FACTOR = 5.0;

/* Working memory.
 *
 * For one frame: its local block and the inverse of this block, the gain (the inverse times the
 * mixed block), and the Schur complement of the block.  For all frames: the inverse `common` of
 * the sum of the Schur complements, and right-hand side and step of the shared parameters. */
struct room {
    double *block, *inverse, *gain, *schur, *common, *right, *step, *weakest, *work, *memory;
    double *steps;  // [frames x count]: steps of all parameters
    struct fit_sums *there;
    double *there_memory;
};

void joint_free(struct joint_result *result)
{
    mem_free(result->sums);
    mem_free(result->memory);
    mem_free(result->total);
    *result = (struct joint_result){0};
}

static struct fit_sums *open_sums(const struct joint *j, double **memory)
{
    const size_t n = j->count, each = n + n * n;
    struct fit_sums *sums = mem_array(j->frames + 1, sizeof *sums);
    *memory = mem_array(j->frames * each + 1, sizeof **memory);
    for (size_t i = 0; i < j->frames; i++) {
        sums[i].gradient = *memory + i * each;
        sums[i].fisher = sums[i].gradient + n;
    }
    return sums;
}

static void open_room(const struct joint *j, struct room *r)
{
    const size_t n = j->count, square = n * n;
    double *at = r->memory = mem_array(5 * square + 3 * n + symmetric_work(n) + 1, sizeof *at);
    r->steps = mem_array(j->frames * n + 1, sizeof *r->steps);
    r->there = open_sums(j, &r->there_memory);
    double **matrices[] = {&r->block, &r->inverse, &r->gain, &r->schur, &r->common};
    double **vectors[] = {&r->right, &r->step, &r->weakest};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++, at += square)
        *matrices[i] = at;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++, at += n)
        *vectors[i] = at;
    r->work = at;
}

static void close_room(struct room *r)
{
    mem_free(r->memory);
    mem_free(r->steps);
    mem_free(r->there);
    mem_free(r->there_memory);
}

/* Inverts the damped local block of a frame, and computes the gain.  Returns false if the frame
 * does not determine its local parameters. */
static bool eliminate(const struct joint *j, const struct fit_sums *s, double damping,
                      struct room *r)
{
    const size_t n = j->count, local = j->local, common = n - local;
    for (size_t i = 0; i < local; i++)
        for (size_t k = 0; k < local; k++)
            r->block[i * local + k] = s->fisher[i * n + k] * (i == k ? 1.0 + damping : 1.0);
    if (!symmetric_invert(local, r->block, r->inverse, r->work, r->weakest))
        return false;
    for (size_t i = 0; i < local; i++)
        for (size_t k = 0; k < common; k++) {
            r->gain[i * common + k] = 0.0;
            for (size_t m = 0; m < local; m++)
                r->gain[i * common + k] += r->inverse[i * local + m] * s->fisher[m * n + local + k];
        }
    return true;
}

static void add_frame(const struct joint *j, const struct fit_sums *s, double damping,
                      struct room *r)
{
    const size_t n = j->count, local = j->local, common = n - local;
    for (size_t i = 0; i < common; i++) {
        for (size_t k = 0; k < common; k++) {
            double sum = s->fisher[(local + i) * n + local + k] * (i == k ? 1.0 + damping : 1.0);
            for (size_t m = 0; m < local; m++)
                sum -= s->fisher[(local + i) * n + m] * r->gain[m * common + k];
            r->schur[i * common + k] += sum;
        }
        r->right[i] += s->gradient[local + i];
        for (size_t m = 0; m < local; m++)
            r->right[i] -= r->gain[m * common + i] * s->gradient[m];
    }
}

/* Computes the damped step of the shared parameters, r->step.  Returns false if the frames do
 * not determine it. */
static bool choose_common(const struct joint *j, const struct joint_result *here, double damping,
                          struct room *r)
{
    const size_t local = j->local, common = j->count - local;
    memset(r->schur, 0, common * common * sizeof *r->schur);
    memset(r->right, 0, common * sizeof *r->right);
    for (size_t f = 0; f < j->frames; f++) {
        if (!eliminate(j, &here->sums[f], damping, r))
            return false;
        add_frame(j, &here->sums[f], damping, r);
    }
    for (size_t i = 0; i < common; i++) {
        r->schur[i * common + i] += j->prior[i];
        r->right[i] -= j->prior[i] * (j->away[i] + here->total[local + i]);
    }
    if (!symmetric_invert(common, r->schur, r->common, r->work, r->weakest))
        return false;
    for (size_t i = 0; i < common; i++) {
        r->step[i] = 0.0;
        for (size_t k = 0; k < common; k++)
            r->step[i] += r->common[i * common + k] * r->right[k];
    }
    return true;
}

/* Sets `steps` to the steps of a frame: those of the shared parameters, and those of the local
 * parameters that belong to them. */
static void choose_own(const struct joint *j, const struct fit_sums *s, double damping,
                       struct room *r, double *steps)
{
    const size_t local = j->local, common = j->count - local;
    (void)eliminate(j, s, damping, r);
    for (size_t i = 0; i < local; i++) {
        steps[i] = 0.0;
        for (size_t k = 0; k < local; k++)
            steps[i] += r->inverse[i * local + k] * s->gradient[k];
        for (size_t k = 0; k < common; k++)
            steps[i] -= r->gain[i * common + k] * r->step[k];
    }
    memcpy(steps + local, r->step, common * sizeof *steps);
}

/* Sets r->steps to the steps of all frames.  If a step exceeds its limit, all steps are
 * shortened by the same factor, and *limited is true.  Returns false if the frames do not
 * determine the steps. */
static bool choose_steps(const struct joint *j, const struct joint_result *here, double damping,
                         struct room *r, bool *limited)
{
    const size_t n = j->count;
    double share = 1.0;
    if (!choose_common(j, here, damping, r))
        return false;
    for (size_t f = 0; f < j->frames; f++) {
        double *steps = r->steps + f * n;
        choose_own(j, &here->sums[f], damping, r, steps);
        for (size_t i = 0; i < n; i++)
            share = fmin(share, j->limit[i] / fmax(fabs(steps[i]), 1e-300));
    }
    *limited = share < 1.0;
    for (size_t i = 0; i < j->frames * n; i++)
        r->steps[i] *= share;
    return true;
}

static double likelihood_of(const struct joint *j, const struct fit_sums *sums, const double *total,
                            const double *steps)
{
    double sum = 0.0;
    for (size_t f = 0; f < j->frames; f++)
        sum += sums[f].likelihood;
    for (size_t i = 0; i < j->count - j->local; i++) {
        const double away = j->away[i] + total[j->local + i] + (steps ? steps[j->local + i] : 0.0);
        sum += 0.5 * j->prior[i] * away * away;
    }
    return sum;
}

static void take_steps(const struct joint *j, struct joint_result *here, struct room *r)
{
    struct fit_sums *const sums = here->sums;
    double *const memory = here->memory;
    here->sums = r->there;
    here->memory = r->there_memory;
    r->there = sums;
    r->there_memory = memory;
    for (size_t i = 0; i < j->frames * j->count; i++)
        here->total[i] += r->steps[i];
    here->steps++;
    j->accept(j->model);
}

static enum status descend(const struct joint *j, struct joint_result *here, struct room *r,
                           struct error *e)
{
    double damping = DAMPING_FIRST;
    for (int trial = 0; trial < TRIALS_MAX && damping < DAMPING_MOST; trial++) {
        bool limited;
        if (!choose_steps(j, here, damping, r, &limited)) {
            damping *= DAMPING_FACTOR;
            continue;
        }
        const enum status s = j->evaluate(j->model, r->steps, r->there, e);
        if (s)
            return s;
        const double gain = likelihood_of(j, here->sums, here->total, NULL) -
                            likelihood_of(j, r->there, here->total, r->steps);
        if (gain >= 0.0)
            take_steps(j, here, r);
        if (fabs(gain) < GAIN_LEAST && !limited) {
            here->converged = true;
            return STATUS_OK;
        }
        damping = gain >= 0.0 ? damping / DAMPING_FACTOR : damping * DAMPING_FACTOR;
    }
    return damping < DAMPING_MOST ? STATUS_OK : error_set(e, STATUS_INPUT, "%s", UNTOLD);
}

enum status joint_run(const struct joint *j, struct joint_result *result, struct error *e)
{
    struct room room = {0};
    *result = (struct joint_result){0};
    result->sums = open_sums(j, &result->memory);
    result->total = mem_array(j->frames * j->count + 1, sizeof *result->total);
    open_room(j, &room);
    enum status s = j->evaluate(j->model, j->first, result->sums, e);
    if (!s) {
        memcpy(result->total, j->first, j->frames * j->count * sizeof *result->total);
        j->accept(j->model);
    }
    s = s ? s : descend(j, result, &room, e);
    close_room(&room);
    return s;
}

/* Converts the gradient at the place of a frame to the start of the shared parameters, with the
 * curvature at the place of the frame. */
static void begin_in_common(const struct joint *j, struct fit_sums *s, const double *total)
{
    const size_t n = j->count;
    for (size_t i = 0; i < n; i++)
        for (size_t k = j->local; k < n; k++)
            s->gradient[i] += s->fisher[i * n + k] * total[k];
}

enum status joint_meet(const struct joint *j, struct fit_sums *sums, const double *totals,
                       double *steps, struct error *e)
{
    const size_t n = j->count;
    struct room room = {0};
    struct joint_result here = {.sums = sums, .total = mem_array(n + 1, sizeof *here.total)};
    enum status s = STATUS_OK;
    open_room(j, &room);
    for (size_t f = 0; f < j->frames; f++)
        begin_in_common(j, &sums[f], totals + f * n);
    if (!choose_common(j, &here, 0.0, &room))
        s = error_set(e, STATUS_INPUT, "%s", UNTOLD);
    for (size_t f = 0; f < j->frames && !s; f++)
        choose_own(j, &sums[f], 0.0, &room, steps + f * n);
    mem_free(here.total);
    close_room(&room);
    return s;
}
