/* Compares answers with the ground truth, frame by frame: hits, spots, and the detector model.
 * score_close checks whether the results belong to this key at all. */
#include "score/score.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

/* Spots with more photons than this are used for the mean offset. */
static const double PLACED_PHOTONS = 100.0;

/* --- begin and end ------------------------------------------------------------ */

/* Maximum number of frames whose reflections are used to find the centring. */
enum { FRAMES_LOOKED = 50 };

/* Finds the centring of each crystal from its reflections.  If it cannot be found, it is that of
 * the group. */
static enum status find_centrings(struct score *s, struct error *e)
{
    struct bases_count *counts = mem_array(s->ncrystals, sizeof *counts);
    enum status status = counts ? STATUS_OK : error_memory(e, "the symmetry of crystals");
    for (size_t i = 0; i < s->key->rows.nframes && i < FRAMES_LOOKED && !status; i++) {
        struct key_frame f;
        status = key_frame(s->key, i, 0, &f, e);
        for (size_t r = 0; !status && r < f.nrows; r++)
            bases_count(&counts[f.lattices[f.rows[r].lattice].crystal], f.rows[r].hkl);
    }
    for (size_t i = 0; i < s->ncrystals && !status; i++) {
        s->centrings[i] = bases_counted(&counts[i]);
        if (!s->centrings[i] && s->settings->centring != 'R')
            s->centrings[i] = s->settings->centring;
    }
    mem_free(counts);
    return status;
}

/* Keeps only the rotations that are compatible with the centring. */
static void keep_centring(bases_centring centring, struct symmetry *y)
{
    size_t kept = 0;
    for (size_t i = 0; i < y->count; i++)
        if (bases_keep(centring, y->operators[i]))
            memmove(y->operators[kept++], y->operators[i], sizeof *y->operators);
    y->count = kept;
}

/* Finds the rotations that the cell of each crystal allows, or those of the group.  The cell of a
 * crystal is that of its first lattice. */
static enum status find_rotations(struct score *s, struct error *e)
{
    const struct nxmx_rows *rows = &s->key->rows;
    const size_t known = s->key->tells.no_lattices ? 0 : rows->nlattices;
    for (size_t i = 0; i < known; i++)
        if (rows->lattices[i].crystal >= s->ncrystals)
            s->ncrystals = (size_t)rows->lattices[i].crystal + 1;
    if (s->ncrystals > 1000)
        return error_set(e, STATUS_INPUT,
                         "%s: has crystal number %zu; expected at most 1000 crystals", s->key->path,
                         s->ncrystals - 1);
    s->rotations = mem_array(s->ncrystals, sizeof *s->rotations);
    s->ambiguities = mem_array(s->ncrystals, sizeof *s->ambiguities);
    s->centrings = mem_array(s->ncrystals, sizeof *s->centrings);
    if (!s->rotations || !s->ambiguities || !s->centrings)
        return error_memory(e, "the symmetry of crystals");
    const enum status status = known ? find_centrings(s, e) : STATUS_OK;
    if (status)
        return status;
    for (size_t i = 0; i < known; i++) {
        const struct nxmx_lattice *l = &rows->lattices[i];
        struct symmetry *y = &s->rotations[l->crystal];
        if (y->count)
            continue;
        lattices_rotations(l->a_matrix, &s->ambiguities[l->crystal]);
        keep_centring(s->centrings[l->crystal], &s->ambiguities[l->crystal]);
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
    for (int i = 0; i < SCORE_BINS; i++)
        s->by_photons[i].ratios.most = s->by_photons[i].chi2s.most = VALUES_KEPT_GROUP;
    for (int i = 0; i < SCORE_SHELLS; i++)
        s->by_shell[i].ratios.most = s->by_shell[i].chi2s.most = VALUES_KEPT_GROUP;
    return s->frames ? find_rotations(s, e) : error_memory(e, "the score");
}

void score_end(struct score *s)
{
    mem_free(s->rotations);
    mem_free(s->ambiguities);
    mem_free(s->centrings);
    mem_free(s->frames);
    mem_free(s->partner);
    values_free(&s->centroid_px);
    values_free(&s->predicted_away_px);
    values_free(&s->angle_deg);
    for (int i = 0; i < 3; i++)
        values_free(&s->turn_deg[i]);
    for (int i = 0; i < 7; i++)
        values_free(&s->cell_values[i]);
    roc_free(&s->hits_by_spots);
    roc_free(&s->hits_by_score);
    roc_free(&s->spots_by_photons);
    offsets_free(&s->found);
    offsets_free(&s->geometry);
    offsets_free(&s->predicted);
    intensities_free(&s->intensities);
    for (int i = 0; i < SCORE_BINS; i++)
        intensities_free(&s->by_photons[i]);
    for (int i = 0; i < SCORE_SHELLS; i++)
        intensities_free(&s->by_shell[i]);
    spots_free(&s->spots);
    *s = (struct score){0};
}

void score_sources_add(struct score_sources *s, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool known = s->count && strcmp(s->latest, name) == 0;
    for (size_t i = 0; i < s->count && i < SCORE_SOURCES && !known; i++)
        known = strcmp(s->names[i], name) == 0;
    if (known)
        return;
    if (s->count < SCORE_SOURCES)
        (void)snprintf(s->names[s->count], sizeof s->names[0], "%s", name);
    (void)snprintf(s->latest, sizeof s->latest, "%s", name);
    s->count++;
}

/* Notes which files an answer is from. */
static void note_sources(struct score *s, const struct answer *a, const char *path)
{
    const char *spots = a->spots_path ? a->spots_path : path;
    score_sources_add(&s->all_from, spots);
    score_sources_add(&s->all_from, path);
    score_sources_add(&s->spots_from, spots);
    if (a->nlattices)
        score_sources_add(&s->lattices_from, path);
    s->indexed_spots += a->which_spots == ANSWER_SPOTS_INDEXED ? a->nspots : 0;
    s->integrated_spots += a->which_spots == ANSWER_SPOTS_INTEGRATED ? a->nspots : 0;
}

/* --- which frame ----------------------------------------------------------------- */

/* Returns STATUS_INPUT.  The message begins with "PATH:LINE: ", or with "PATH: " for an answer that
 * is not in one place of its file. */
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
    const struct key_part *part = NULL;
    const char *slash = strrchr(a->file, '/'), *file = slash ? slash + 1 : a->file;
    struct error cause;
    int64_t at;
    if (a->has_event && key_named(k, a->file, &part, &cause) && !a->has_frame)
        return refuse(a, path, e, "%s", cause.text);
    if (!a->has_frame && !part && a->line)
        return refuse(a, path, e,
                      "a chunk has no frame number. Run indexamajig with --copy-header=frame_id on "
                      "what bragg-serve sends, on %s itself, or on files of one image with the "
                      "number of the frame in their names",
                      k->path);
    if (!a->has_frame && !part)
        return refuse(a, path, e,
                      "the results are of images of %.80s, which is not the ground truth. Analyse "
                      "%s itself, or files of one image with the frame number in their names",
                      file, k->path);
    if (!a->has_frame && a->event >= part->nframes)
        return refuse(a, path, e, "image %" PRIu64 " is not in %s, which has %zu images", a->event,
                      part->path, part->nframes);
    if (!a->has_frame)
        at = (int64_t)part->place[a->event];
    else if (key_number(k, a->frame, part, &at, &cause))
        return refuse(a, path, e, "%s", cause.text);
    if (at < 0)
        return refuse(a, path, e,
                      "frame %" PRIu64 " is not in %s, which has %zu frames from %" PRIu64
                      " to %" PRIu64 ". Is this the ground truth of these results?",
                      a->frame, k->path, rows->nframes, rows->frames[0].number,
                      rows->frames[rows->nframes - 1].number);
    *found = (size_t)at;
    if (s->frames[at].answered && !s->settings->again)
        return refuse(a, path, e, "frame %" PRIu64 " has two results; expected one",
                      rows->frames[at].number);
    return STATUS_OK;
}

static enum status check_panels(const struct answer *a, const struct detectors *d, const char *path,
                                struct error *e)
{
    for (size_t i = 0; i < a->nspots; i++)
        if (a->spots[i].panel < 0 || (size_t)a->spots[i].panel >= d->nmodel)
            return refuse(a, path, e, "panel %d does not exist; the ground truth has %zu panels",
                          a->spots[i].panel, d->nmodel);
    return STATUS_OK;
}

/* Checks that the images of the answer rotate by the same angle as the frame.  Signs are ignored,
 * because DIALS inverts the axis so that rotations are positive. */
static enum status check_width(const struct answer *a, const struct key_frame *f, const char *path,
                               struct error *e)
{
    static const double ALIKE = 1e-3;
    const double width_deg = fabs(f->frame->rotation_width);
    return width_deg == 0.0 || a->width_deg == 0.0 ||
                   fabs(fabs(a->width_deg) - width_deg) <= ALIKE * width_deg
               ? STATUS_OK
               : refuse(a, path, e,
                        "its images rotate by %g deg each, but frame %" PRIu64
                        " of the ground truth rotates by %g deg",
                        a->width_deg, f->frame->number, width_deg);
}

/* --- hits and spots ----------------------------------------------------------------- */

/* Counts lattices by their number of strong reflections.  Returns true if the frame is a hit,
 * which means that one lattice has enough of them.  If the key has no reflections, each lattice
 * makes a hit. */
static bool is_hit(struct score *s, const struct key_frame *f)
{
    bool hit = s->key->tells.no_rows && f->frame->lattices;
    for (size_t i = 0; i < f->frame->lattices && !s->key->tells.no_rows; i++) {
        const size_t strong = score_strong(s, f, (int32_t)i);
        s->strong_lattices[score_bin((double)strong)]++;
        hit = hit || strong >= (size_t)s->settings->hit_spots;
    }
    return hit;
}

enum status score_truth(struct score *s, const struct key_frame *f, bool hit, size_t nspots,
                        double score, bool *truth, struct error *e)
{
    *truth = is_hit(s, f);
    s->true_positive += *truth && hit;
    s->false_positive += !*truth && hit;
    s->false_negative += *truth && !hit;
    s->true_negative += !*truth && !hit;
    s->lattices_true += (size_t)f->frame->lattices;
    s->spots_true += f->nrows;
    for (size_t i = 0; i < f->nrows && !s->key->tells.no_spots; i++) {
        s->strong_true += f->rows[i].photons > s->settings->strong_photons;
        s->bin_true[score_bin(f->rows[i].photons)]++;
    }
    return roc_add(&s->hits_by_spots, *truth, (double)nspots) &&
                   roc_add(&s->hits_by_score, *truth, score)
               ? STATUS_OK
               : error_memory(e, "the hits");
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
    return r->photons <= PLACED_PHOTONS || offsets_add(&s->found, fast, slow, r->photons)
               ? STATUS_OK
               : error_memory(e, "the places of spots");
}

/* Returns the probability that a random place on the detector is within the radius of a given spot.
 */
static double chance_of(const struct nxmx_geometry *detector)
{
    double pixels = 0.0;
    for (size_t i = 0; i < detector->npanels; i++)
        pixels += (double)detector->panels[i].fast_pixels * (double)detector->panels[i].slow_pixels;
    return M_PI * SPOTS_RADIUS_PX * SPOTS_RADIUS_PX / pixels;
}

static enum status take_spots(struct score *s, const struct key_frame *f, const struct answer *a,
                              const struct detectors *d, struct error *e)
{
    s->spots_found += a->nspots;
    if (s->key->tells.no_spots)
        return STATUS_OK;
    int64_t *partner = mem_grow(s->partner, 0, a->nspots, sizeof *partner, &s->partner_room);
    if (!partner && a->nspots)
        return error_memory(e, "the places of spots");
    s->partner = partner ? partner : s->partner;
    enum status status =
        spots_match(&s->spots, f->rows, f->nrows, a->spots, a->nspots, d->truth_of, s->partner, e);
    if (!s->key->tells.no_detector)
        s->by_chance += (double)f->nrows * (double)a->nspots * chance_of(s->key->detector);
    for (size_t i = 0; i < a->nspots && !status; i++) {
        const double photons = a->spots[i].intensity;
        if (photons > 0.0 && !roc_add(&s->spots_by_photons, s->partner[i] >= 0, photons))
            return error_memory(e, "the photons of spots");
        s->found_bin[score_bin(photons)] += photons > 0.0;
        s->found_right[score_bin(photons)] += photons > 0.0 && s->partner[i] >= 0;
        if (s->partner[i] >= 0)
            status = take_pair(s, &f->rows[s->partner[i]], &a->spots[i], e);
    }
    return status;
}

/* Compares the geometry of the key with that of the analysis.  Found spots are not used. */
static enum status take_geometry(struct score *s, const struct key_frame *f, const struct answer *a,
                                 const struct detectors *d, struct error *e)
{
    /* from NeXus to the coordinate system of the beam */
    const double *nexus_m = f->frame->shift_m;
    const double true_m[3] = {-nexus_m[0], -nexus_m[1], nexus_m[2]};
    const double wavelength_A = f->frame->wavelength;
    if (wavelength_A > 0.0 && a->wavelength_A > 0.0)
        mean_add(&s->wavelength_error, a->wavelength_A / wavelength_A - 1.0, 1.0);
    s->axes_turn_deg = rad_to_deg(d->turn_rad);
    for (size_t i = 0; i < f->nrows && d->model != d->truth; i++) {
        const struct reflection_row *r = &f->rows[i];
        double at[2], truth[3], model[3];
        if (detectors_places(d, true_m, a->shift_m, r->panel, r->fast, r->slow, truth, model))
            alignment_add(&s->alignment, truth, model, d->truth[r->panel].pixel_m);
        if (detectors_project(d, true_m, a->shift_m, r->panel, r->fast, r->slow, at) &&
            !offsets_add(&s->geometry, r->fast - at[0], r->slow - at[1], 1.0))
            return error_memory(e, "the places of reflections");
    }
    return STATUS_OK;
}

/* Passes a frame whose spots were matched to the report.  `right`: number of right lattices before
 * this frame. */
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

/* Returns the number of frames before or after this one that the reflections of an answer extend
 * over. */
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

enum status score_take(struct score *s, struct answer *a, const struct detectors *d,
                       const char *path, struct error *e)
{
    struct key_frame f;
    size_t place = 0;
    bool truth;
    if (a->no_number && s->settings->again) {
        s->nnameless++;
        return STATUS_OK;
    }
    enum status status = find_frame(s, a, path, &place, e);
    status = status ? status : check_panels(a, d, path, e);
    if (!status && s->frames[place].answered) {
        s->frames[place].again++;
        s->nagain++;
        return STATUS_OK;
    }
    status = status ? status : key_frame(s->key, place, reach_of(a), &f, e);
    status = status ? status : check_width(a, &f, path, e);
    if (status)
        return status;
    if (f.has_ones && !answer_join(a))
        return error_memory(e, "an answer");
    const struct key *k = s->key;
    const size_t found = s->lattices_found, right = s->lattices_right;
    const bool hit =
        a->says_hit ? a->hit : a->nlattices || (int64_t)a->nspots >= s->settings->hit_spots;
    s->frames[place] =
        (struct score_frame){.answered = true, .reported = a->damaged, .result_s = a->time_s};
    s->nanswered++;
    note_sources(s, a, path);
    s->nscores += a->has_score;
    status = score_truth(s, &f, hit, a->nspots, a->has_score ? a->score : -INFINITY, &truth, e);
    s->frames[place].wrong = truth != hit;
    status = status ? status : take_geometry(s, &f, a, d, e);
    status = status ? status : take_spots(s, &f, a, d, e);
    if (k->tells.no_lattices) {
        s->lattices_found += a->nlattices;
        return status;
    }
    status = status ? status : score_lattices(s, &f, a, d, e);
    s->frames[place].wrong |= s->lattices_found - found > s->lattices_right - right;
    return status || !s->shown || k->tells.no_spots || k->tells.no_detector
               ? status
               : show(s, &f, a, d, right, e);
}

/* Counts frames without an answer as frames in which nothing was found. */
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
        return error_set(e, STATUS_INPUT, "%s: a lattice has a cell of volume 0", s->key->path);
    return error_set(e, STATUS_INPUT,
                     "the found lattices are of another crystal: the first has cell edges %.2f, "
                     "%.2f, %.2f A; expected those of %s (%.2f, %.2f, %.2f A)",
                     s->other[0], s->other[1], s->other[2], s->key->path, truth[0], truth[1],
                     truth[2]);
}

/* Returns true if the analysis found something in frames with reflections, but nothing of it is
 * true. */
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
        return error_set(e, STATUS_INPUT,
                         "the results have no frames, so there is nothing to score");
    if (s->lattices_found && s->lattices_true && !s->has_known_cell && s->other[0] > 0.0)
        return refuse_cell(s, e);
    if (nothing_in_common(s) && s->key->tells.no_spots)
        return error_set(e, STATUS_INPUT,
                         "the results do not match %s: none of %zu lattices is within %g deg. Is "
                         "this the ground truth of these results?",
                         s->key->path, s->lattices_found, s->settings->angle_deg);
    if (nothing_in_common(s))
        return error_set(
            e, STATUS_INPUT,
            "the results do not match %s: none of %zu found spots is within %g px of a true spot, "
            "and none of %zu lattices is within %g deg. Is this the ground truth of these results?",
            s->key->path, s->spots_found, SPOTS_RADIUS_PX, s->lattices_found,
            s->settings->angle_deg);
    return take_silence(s, e);
}
