#include "score/score.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

const int score_shells_A[SCORE_SHELLS] = {0, 1, 2, 3, 4, 6, 10};

/* Photons of spots whose places are compared. */
static const double PLACED_PHOTONS = 100.0;

/* --- begin and end ------------------------------------------------------------ */

/* What the cell of each crystal allows, or the group; the first lattice stands for its crystal. */
static enum status find_rotations(struct score *s, struct error *e)
{
    const struct nxmx_rows *rows = &s->key->rows;
    for (size_t i = 0; i < rows->nlattices; i++)
        if (rows->lattices[i].crystal >= s->ncrystals)
            s->ncrystals = (size_t)rows->lattices[i].crystal + 1;
    if (s->ncrystals > 1000)
        return error_set(e, STATUS_INPUT, "%s: names crystal %zu, at most 1000 are allowed",
                         s->key->path, s->ncrystals - 1);
    s->rotations = mem_array(s->ncrystals, sizeof *s->rotations);
    s->ambiguities = mem_array(s->ncrystals, sizeof *s->ambiguities);
    if (!s->rotations || !s->ambiguities)
        return error_memory(e, "the symmetry of crystals");
    for (size_t i = 0; i < rows->nlattices; i++) {
        const struct nxmx_lattice *l = &rows->lattices[i];
        struct symmetry *y = &s->rotations[l->crystal];
        if (y->count)
            continue;
        lattices_rotations(l->a_matrix, &s->ambiguities[l->crystal]);
        *y = s->ambiguities[l->crystal];
        if (s->settings->group)
            lattices_group(s->settings->group, y);
    }
    return STATUS_OK;
}

enum status score_begin(struct score *s, const struct score_settings *settings, struct key *key,
                        struct error *e)
{
    *s = (struct score){.settings = settings, .key = key};
    s->frames = mem_array(key->rows.nframes, sizeof *s->frames);
    return s->frames ? find_rotations(s, e) : error_memory(e, "the score");
}

void score_end(struct score *s)
{
    mem_free(s->rotations);
    mem_free(s->ambiguities);
    mem_free(s->frames);
    mem_free(s->partner);
    values_free(&s->centroid_px);
    values_free(&s->predicted_away_px);
    values_free(&s->angle_deg);
    for (int i = 0; i < 3; i++)
        values_free(&s->turn_deg[i]);
    spots_free(&s->spots);
    *s = (struct score){0};
}

/* --- which frame ----------------------------------------------------------------- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* STATUS_INPUT with "PATH:LINE: ", or "PATH: " for answers that stand in no one place. */
__attribute__((format(printf, 4, 5))) static enum status
refuse(const struct answer *a, const char *path, struct error *e, const char *format, ...)
{
    char text[400], line[32] = "";
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (a->line)
        (void)snprintf(line, sizeof line, ":%ld", a->line);
    return error_set(e, STATUS_INPUT, "%s%s: %s", path, line, text);
}

static enum status find_frame(const struct score *s, const struct answer *a, const char *path,
                              size_t *found, struct error *e)
{
    const struct key *k = s->key;
    const struct nxmx_rows *rows = &k->rows;
    const bool in_key = a->has_event && strcmp(last_part(a->file), last_part(k->path)) == 0;
    if (!a->has_frame && !in_key && a->line)
        return refuse(a, path, e,
                      "a chunk has no number of a frame: run indexamajig with "
                      "--copy-header=frame_id on what bragg-serve sends, or on %s itself",
                      k->path);
    if (!a->has_frame && !in_key)
        return refuse(a, path, e,
                      "is of images of %.80s, which is not the key: analyse %s itself, or files of "
                      "one image with the number of the frame in their names",
                      last_part(a->file), k->path);
    if (!a->has_frame && a->event >= rows->nframes)
        return refuse(a, path, e, "image %" PRIu64 " is not in %s, which holds %zu", a->event,
                      k->path, rows->nframes);
    const int64_t at = a->has_frame ? nxmx_rows_find(rows, a->frame) : (int64_t)a->event;
    if (at < 0)
        return refuse(a, path, e,
                      "frame %" PRIu64 " is not in %s, which holds %zu frames from %" PRIu64
                      " to %" PRIu64 ": is this the key of these results?",
                      a->frame, k->path, rows->nframes, rows->frames[0].number,
                      rows->frames[rows->nframes - 1].number);
    *found = (size_t)at;
    if (s->frames[at].answered && !s->settings->again)
        return refuse(a, path, e, "frame %" PRIu64 " has a second answer, must have one",
                      rows->frames[at].number);
    return STATUS_OK;
}

static enum status check_panels(const struct answer *a, const struct detectors *d, const char *path,
                                struct error *e)
{
    for (size_t i = 0; i < a->nspots; i++)
        if (a->spots[i].panel < 0 || (size_t)a->spots[i].panel >= d->nmodel)
            return refuse(a, path, e, "panel %d is not there, the key has %zu", a->spots[i].panel,
                          d->nmodel);
    return STATUS_OK;
}

/* --- hits and spots ----------------------------------------------------------------- */

/* Counts lattices by their strong reflections; whether one has enough of them. */
static bool is_hit(struct score *s, const struct key_frame *f)
{
    bool hit = false;
    for (size_t i = 0; i < f->frame->lattices; i++) {
        const size_t strong = score_strong(s, f, (int32_t)i);
        s->strong_lattices[score_bin((double)strong)]++;
        hit = hit || strong >= (size_t)s->settings->hit_spots;
    }
    return hit;
}

/* What must be found in a frame; whether it is a hit. */
static bool count_truth(struct score *s, const struct key_frame *f, bool hit, size_t nspots)
{
    const bool truth = is_hit(s, f);
    s->frames_by_spots[truth][nspots < SCORE_SPOTS ? nspots : SCORE_SPOTS - 1]++;
    s->true_positive += truth && hit;
    s->false_positive += !truth && hit;
    s->false_negative += truth && !hit;
    s->true_negative += !truth && !hit;
    s->lattices_true += (size_t)f->frame->lattices;
    s->spots_true += f->nrows;
    for (size_t i = 0; i < f->nrows; i++) {
        s->strong_true += f->rows[i].photons > s->settings->strong_photons;
        s->bin_true[score_bin(f->rows[i].photons)]++;
    }
    return truth;
}

static enum status take_pair(struct score *s, const struct reflection_row *r,
                             const struct answer_spot *spot, struct error *e)
{
    const double fast = spot->fast - r->fast, slow = spot->slow - r->slow;
    if (s->shown)
        shown_add(&s->shown->offsets_px, fast, slow);
    s->spots_right++;
    s->strong_found += r->photons > s->settings->strong_photons;
    s->bin_found[score_bin(r->photons)]++;
    if (!values_add(&s->centroid_px, hypot(fast, slow)))
        return error_memory(e, "the places of spots");
    if (r->photons > PLACED_PHOTONS) {
        mean_add(&s->found.fast, fast, r->photons);
        mean_add(&s->found.slow, slow, r->photons);
    }
    return STATUS_OK;
}

static enum status take_spots(struct score *s, const struct key_frame *f, const struct answer *a,
                              const struct detectors *d, struct error *e)
{
    int64_t *partner = mem_grow(s->partner, 0, a->nspots, sizeof *partner, &s->partner_room);
    if (!partner && a->nspots)
        return error_memory(e, "the places of spots");
    s->partner = partner ? partner : s->partner;
    s->spots_found += a->nspots;
    enum status status =
        spots_match(&s->spots, f->rows, f->nrows, a->spots, a->nspots, d->truth_of, s->partner, e);
    for (size_t i = 0; i < a->nspots && !status; i++) {
        const double photons = a->spots[i].intensity;
        s->found_bin[score_bin(photons)] += photons > 0.0;
        s->found_right[score_bin(photons)] += photons > 0.0 && s->partner[i] >= 0;
        if (s->partner[i] >= 0)
            status = take_pair(s, &f->rows[s->partner[i]], &a->spots[i], e);
    }
    return status;
}

/* From the two models alone. */
static void take_geometry(struct score *s, const struct key_frame *f, const struct detectors *d)
{
    if (d->model == d->truth)
        return;
    for (size_t i = 0; i < f->nrows; i++) {
        const struct reflection_row *r = &f->rows[i];
        double at[2];
        if (!detectors_project(d, r->panel, r->fast, r->slow, at))
            continue;
        mean_add(&s->geometry.fast, r->fast - at[0], 1.0);
        mean_add(&s->geometry.slow, r->slow - at[1], 1.0);
    }
}

/* Of a frame whose spots were matched; `right`: lattices that were right before it. */
static enum status show(struct score *s, const struct key_frame *f, const struct answer *a,
                        const struct detectors *d, size_t right, struct error *e)
{
    const struct shown_judged judged = {
        .frame = f,
        .answer = a,
        .panel_of = d->truth_of,
        .partner = s->partner,
        .taken = s->spots.taken,
        .strong_photons = s->settings->strong_photons,
        .lattices_missed = (size_t)f->frame->lattices - (s->lattices_right - right),
        .lattice_faults = (size_t)s->settings->hit_spots,
    };
    return shown_judge(s->shown, &judged) ? STATUS_OK : error_memory(e, "the worst frames");
}

/* How far the reflections of an answer reach over other frames. */
static size_t reach_of(const struct answer *a)
{
    int32_t reach = 0;
    for (size_t i = 0; i < a->nreflections; i++) {
        const struct answer_reflection *r = &a->reflections[i];
        reach = r->before > reach ? r->before : reach;
        reach = r->after > reach ? r->after : reach;
    }
    return (size_t)reach;
}

enum status score_take(struct score *s, const struct answer *a, const struct detectors *d,
                       const char *path, struct error *e)
{
    struct key_frame f;
    size_t place = 0;
    enum status status = find_frame(s, a, path, &place, e);
    status = status ? status : check_panels(a, d, path, e);
    if (!status && s->frames[place].answered) {
        s->frames[place].again++;
        s->nagain++;
        return STATUS_OK;
    }
    status = status ? status : key_frame(s->key, place, reach_of(a), &f, e);
    if (status)
        return status;
    const size_t found = s->lattices_found, right = s->lattices_right;
    const bool hit =
        a->says_hit ? a->hit : a->nlattices || (int64_t)a->nspots >= s->settings->hit_spots;
    s->frames[place] = (struct score_frame){.answered = true, .result_s = a->time_s};
    s->nanswered++;
    s->frames[place].wrong = count_truth(s, &f, hit, a->nspots) != hit;
    take_geometry(s, &f, d);
    status = take_spots(s, &f, a, d, e);
    status = status ? status : score_lattices(s, &f, a, d, e);
    s->frames[place].wrong |= s->lattices_found - found > s->lattices_right - right;
    return status || !s->shown ? status : show(s, &f, a, d, right, e);
}

/* --- end of all answers ---------------------------------------------------------------- */

/* Frames without an answer: nothing was found there. */
static enum status take_silence(struct score *s, struct error *e)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < s->key->rows.nframes && !status; i++) {
        struct key_frame f;
        if (s->frames[i].answered)
            continue;
        status = key_frame(s->key, i, 0, &f, e);
        if (!status)
            (void)count_truth(s, &f, false, 0);
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

enum status score_close(struct score *s, struct error *e)
{
    if (!s->nanswered)
        return error_set(e, STATUS_INPUT, "the results hold no frames: nothing to score");
    if (s->lattices_found && s->lattices_true && !s->has_known_cell && s->other[0] > 0.0)
        return refuse_cell(s, e);
    return take_silence(s, e);
}
