/* The end of all answers: whether they are of this key at all. */
#include <math.h>

#include "score/score.h"

/* Frames without an answer: nothing was found there. */
static enum status take_silence(struct score *s, struct error *e)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < s->key->rows.nframes && !status; i++) {
        struct key_frame f;
        bool truth;
        if (s->frames[i].answered)
            continue;
        status = key_frame(s->key, i, 0, &f, e);
        status = status ? status : score_truth(s, &f, false, 0, -INFINITY, &truth, e);
    }
    return status;
}

static enum status refuse_cell(const struct score *s, struct error *e)
{
    double truth[6];
    if (!lattices_cell(s->key->rows.lattices->a_matrix, truth))
        return error_set(e, STATUS_INPUT, "%s: holds a lattice that is flat", s->key->path);
    return error_set(e, STATUS_INPUT,
                     "the lattices that were found are of another crystal: the first has edges of "
                     "%.2f, %.2f, %.2f A, those of %s have %.2f, %.2f, %.2f A",
                     s->other[0], s->other[1], s->other[2], s->key->path, truth[0], truth[1],
                     truth[2]);
}

/* Something was found in frames with reflections, and none of it is true. */
static bool nothing_in_common(const struct score *s)
{
    const struct key *k = s->key;
    const size_t spots = k->tells.no_spots ? 0 : s->spots_found,
                 lattices = k->tells.no_lattices ? 0 : s->lattices_found;
    return (s->spots_true || k->tells.no_rows) && spots + lattices && !s->spots_right &&
           !s->lattices_right && !s->ambiguous;
}

enum status score_close(struct score *s, struct error *e)
{
    if (!s->nanswered)
        return error_set(e, STATUS_INPUT, "the results hold no frames: nothing to score");
    if (s->lattices_found && s->lattices_true && !s->has_known_cell && s->other[0] > 0.0)
        return refuse_cell(s, e);
    if (nothing_in_common(s) && s->key->tells.no_spots)
        return error_set(e, STATUS_INPUT,
                         "the results have nothing in common with %s: of %zu lattices none is "
                         "turned by less than %g deg: is this the key of these results?",
                         s->key->path, s->lattices_found, s->settings->angle_deg);
    if (nothing_in_common(s))
        return error_set(e, STATUS_INPUT,
                         "the results have nothing in common with %s: of %zu found spots none is "
                         "within %g px of a true one, of %zu lattices none is turned by less than "
                         "%g deg: is this the key of these results?",
                         s->key->path, s->spots_found, SPOTS_RADIUS_PX, s->lattices_found,
                         s->settings->angle_deg);
    return take_silence(s, e);
}
