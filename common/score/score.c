/* Compares answers with the ground truth, frame by frame: hits, spots, and the detector model.
 * score_close checks whether the results belong to this ground truth at all. */
#include "score/score.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "score/report_samples.h"

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
    enum status status = STATUS_OK;
    for (size_t i = 0; i < s->truth->rows.nframes && i < FRAMES_LOOKED && !status; i++) {
        struct truth_frame f;
        status = truth_frame(s->truth, i, 0, &f, e);
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
    const struct nxmx_rows *rows = &s->truth->rows;
    const size_t known = s->truth->facts.no_lattices ? 0 : rows->nlattices;
    for (size_t i = 0; i < known; i++)
        if (rows->lattices[i].crystal >= s->ncrystals)
            s->ncrystals = (size_t)rows->lattices[i].crystal + 1;
    if (s->ncrystals > 1000)
        return error_set(e, STATUS_INPUT,
                         "%s: has crystal number %zu; expected at most 1000 crystals",
                         s->truth->path, s->ncrystals - 1);
    s->rotations = mem_array(s->ncrystals, sizeof *s->rotations);
    s->ambiguities = mem_array(s->ncrystals, sizeof *s->ambiguities);
    s->centrings = mem_array(s->ncrystals, sizeof *s->centrings);
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

/* Marks the frames that are not scored, and counts the others. */
static enum status choose_frames(struct score *s, struct error *e)
{
    const struct id_set *only = s->settings->only;
    const struct nxmx_rows *rows = &s->truth->rows;
    for (size_t i = 0; i < rows->nframes; i++) {
        s->frames[i].skipped = only && !id_set_has(only, rows->frames[i].number);
        s->nscored += !s->frames[i].skipped;
    }
    for (size_t i = 0; only && i < only->count; i++)
        for (uint64_t id = only->ranges[i].first; id <= only->ranges[i].last; id++) {
            struct error several;  // more than one frame has this number, so there is one
            int64_t at = 0;
            if (!truth_number(s->truth, id, NULL, &at, &several) && at < 0)
                return error_set(e, STATUS_USAGE,
                                 "--only: frame %" PRIu64 " is not in %s, which has %zu frames "
                                 "from %" PRIu64 " to %" PRIu64,
                                 id, s->truth->path, rows->nframes, rows->frames[0].number,
                                 rows->frames[rows->nframes - 1].number);
        }
    return STATUS_OK;
}

enum status score_begin(struct score *s, const struct score_settings *settings, struct truth *truth,
                        struct error *e)
{
    *s = (struct score){.settings = settings, .truth = truth};
    s->frames = mem_array(truth->rows.nframes, sizeof *s->frames);
    for (int i = 0; i < SCORE_BINS; i++)
        s->by_photons[i].ratios.most = s->by_photons[i].chi2s.most = VALUES_KEPT_GROUP;
    for (int i = 0; i < SCORE_SHELLS; i++)
        s->by_shell[i].ratios.most = s->by_shell[i].chi2s.most = VALUES_KEPT_GROUP;
    const enum status status = choose_frames(s, e);
    return status ? status : find_rotations(s, e);
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
    const struct truth *truth = s->truth;
    const struct nxmx_rows *rows = &truth->rows;
    const struct truth_part *part = NULL;
    const char *slash = strrchr(a->file, '/'), *file = slash ? slash + 1 : a->file;
    struct error cause;
    int64_t at;
    if (a->has_event && truth_named(truth, a->file, &part, &cause) && !a->has_frame)
        return refuse(a, path, e, "%s", cause.text);
    if (!a->has_frame && !part && a->line)
        return refuse(a, path, e,
                      "a chunk has no frame number. Run indexamajig with --copy-header=frame_id on "
                      "what bragg-serve sends, on %s itself, or on files of one image with the "
                      "number of the frame in their names",
                      truth->path);
    if (!a->has_frame && !part)
        return refuse(a, path, e,
                      "the results are of images of %.80s, which is not the ground truth. Analyse "
                      "%s itself, or files of one image with the frame number in their names",
                      file, truth->path);
    if (!a->has_frame && a->event >= part->nframes)
        return refuse(a, path, e, "image %" PRIu64 " is not in %s, which has %zu images", a->event,
                      part->path, part->nframes);
    if (!a->has_frame)
        at = (int64_t)part->place[a->event];
    else if (truth_number(truth, a->frame, part, &at, &cause))
        return refuse(a, path, e, "%s", cause.text);
    if (at < 0)
        return refuse(a, path, e,
                      "frame %" PRIu64 " is not in %s, which has %zu frames from %" PRIu64
                      " to %" PRIu64 ". Is this the ground truth of these results?",
                      a->frame, truth->path, rows->nframes, rows->frames[0].number,
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
    for (size_t i = 0; i < a->nspots + a->npassing; i++) {
        const struct answer_spot *spot = i < a->nspots ? &a->spots[i] : &a->passing[i - a->nspots];
        if (spot->panel < 0 || (size_t)spot->panel >= d->nmodel)
            return refuse(a, path, e, "panel %d does not exist; the ground truth has %zu panels",
                          spot->panel, d->nmodel);
    }
    return STATUS_OK;
}

/* Checks that the images of the answer rotate by the same angle as the frame.  Signs are ignored,
 * because DIALS inverts the axis so that rotations are positive. */
static enum status check_width(const struct answer *a, const struct truth_frame *f,
                               const char *path, struct error *e)
{
    static const double ALIKE = 1e-3;
    const double width_deg = fabs(f->frame->rotation_width);
    return width_deg == 0.0 || a->width_deg == 0.0 ||
                   fabs(fabs(a->width_deg) - width_deg) <= ALIKE * width_deg
               ? STATUS_OK
               : refuse(a, path, e,
                        "the images rotate by %g deg each, but frame %" PRIu64
                        " of the ground truth rotates by %g deg",
                        a->width_deg, f->frame->number, width_deg);
}

/* --- hits and spots ----------------------------------------------------------------- */

/* Counts lattices by their number of strong reflections.  Returns true if the frame is a hit,
 * which means that one lattice has enough of them.  If the ground truth has no reflections, each
 * lattice makes a hit. */
static bool is_hit(struct score *s, const struct truth_frame *f)
{
    bool hit = s->truth->facts.no_rows && f->frame->lattices;
    for (size_t i = 0; i < f->frame->lattices && !s->truth->facts.no_rows; i++) {
        const size_t strong = score_strong(s, f, (int32_t)i);
        s->strong_lattices[score_bin((double)strong)]++;
        hit = hit || strong >= (size_t)s->settings->hit_spots;
    }
    return hit;
}

/* Counts the lattices, spots and hits that an analysis should find in a frame.  Returns true if the
 * frame is a hit according to the ground truth.
 *
 *   hit       the analysis classified the frame as a hit
 *   nspots    number of spots that it found
 *   score     its score; -INFINITY: none */
static bool score_truth(struct score *s, const struct truth_frame *f, bool hit, size_t nspots,
                        double score)
{
    const bool true_hit = is_hit(s, f);
    s->true_positive += true_hit && hit;
    s->false_positive += !true_hit && hit;
    s->false_negative += true_hit && !hit;
    s->true_negative += !true_hit && !hit;
    s->lattices_true += (size_t)f->frame->lattices;
    s->spots_true += f->nrows;
    for (size_t i = 0; i < f->nrows && !s->truth->facts.no_spots; i++) {
        const struct reflection_row *r = &f->rows[i];
        const bool strong = score_is_strong(s->settings, r);
        s->strong_true += strong;
        s->strong_faint += strong && score_sigmas(r) < SCORE_FAINT_SIGMA;
        s->visible_true += score_sigmas(r) > REFLECTION_VISIBLE_Z;
        s->with_background += r->background > 0.0F;
        s->bin_true[score_bin(r->photons)]++;
        s->sigma_true[score_bin(score_sigmas(r))]++;
    }
    roc_add(&s->hits_by_spots, true_hit, (double)nspots);
    roc_add(&s->hits_by_score, true_hit, score);
    return true_hit;
}

/* Counts a reflection of a frame as found. */
static void take_found(struct score *s, const struct reflection_row *r)
{
    s->strong_found += score_is_strong(s->settings, r);
    s->bin_found[score_bin(r->photons)]++;
    s->visible_found += score_sigmas(r) > REFLECTION_VISIBLE_Z;
    s->sigma_found[score_bin(score_sigmas(r))]++;
}

static void take_pair(struct score *s, const struct reflection_row *r,
                      const struct answer_spot *spot)
{
    const double fast = spot->fast - r->fast, slow = spot->slow - r->slow;
    if (s->shown)
        shown_add(&s->shown->offsets_px, fast, slow);
    s->spots_right++;
    take_found(s, r);
    values_add(&s->centroid_px, hypot(fast, slow));
    if (r->photons > PLACED_PHOTONS)
        offsets_add(&s->found, fast, slow, r->photons);
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

/* Counts the reflections of a frame over which spots of other frames extend. */
static void take_passing(struct score *s, const struct truth_frame *f, const struct answer *a,
                         const struct detectors *d)
{
    int64_t *partner = a->npassing ? mem_array(a->npassing, sizeof *partner) : NULL;
    spots_match_more(&s->spots, f->rows, f->nrows, a->passing, a->npassing, d->truth_of, partner);
    for (size_t i = 0; i < a->npassing; i++)
        if (partner[i] >= 0)
            take_found(s, &f->rows[partner[i]]);
    mem_free(partner);
}

static void take_spots(struct score *s, const struct truth_frame *f, const struct answer *a,
                       const struct detectors *d)
{
    s->spots_found += a->nspots;
    if (s->truth->facts.no_spots)
        return;
    s->partner = mem_grow(s->partner, 0, a->nspots, sizeof *s->partner, &s->partner_room);
    spots_match(&s->spots, f->rows, f->nrows, a->spots, a->nspots, d->truth_of, s->partner);
    if (!s->truth->facts.no_detector)
        s->by_chance += (double)f->nrows * (double)a->nspots * chance_of(s->truth->detector);
    for (size_t i = 0; i < a->nspots; i++) {
        const double photons = a->spots[i].intensity;
        if (photons > 0.0)
            roc_add(&s->spots_by_photons, s->partner[i] >= 0, photons);
        s->found_bin[score_bin(photons)] += photons > 0.0;
        s->found_right[score_bin(photons)] += photons > 0.0 && s->partner[i] >= 0;
        if (s->partner[i] >= 0)
            take_pair(s, &f->rows[s->partner[i]], &a->spots[i]);
    }
    take_passing(s, f, a, d);
}

/* Compares the geometry of the ground truth with that of the analysis.  Found spots are not used.
 */
static void take_geometry(struct score *s, const struct truth_frame *f, const struct answer *a,
                          const struct detectors *d)
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
        if (detectors_project(d, true_m, a->shift_m, r->panel, r->fast, r->slow, at))
            offsets_add(&s->geometry, r->fast - at[0], r->slow - at[1], 1.0);
    }
}

/* Passes a frame whose spots were matched to the report.  `right`: number of right lattices before
 * this frame. */
static void show_frame(struct score *s, const struct truth_frame *f, const struct answer *a,
                       const struct detectors *d, size_t right)
{
    const struct shown_judged judged = {
        .frame = f,
        .answer = a,
        .panel_of = d->truth_of,
        .partner = s->partner,
        .taken = s->spots.taken,
        .settings = s->settings,
        .lattices_missed = (size_t)f->frame->lattices - (s->lattices_right - right),
        .lattice_faults = (size_t)s->settings->hit_spots,
    };
    shown_judge(s->shown, &judged);
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
    struct truth_frame f;
    size_t place = 0;
    if (a->no_number && s->settings->again) {
        s->nnameless++;
        return STATUS_OK;
    }
    enum status status = find_frame(s, a, path, &place, e);
    if (!status && s->frames[place].skipped)
        return STATUS_OK;
    status = status ? status : check_panels(a, d, path, e);
    if (!status && s->frames[place].answered) {
        s->frames[place].again++;
        s->nagain++;
        return STATUS_OK;
    }
    status = status ? status : truth_frame(s->truth, place, reach_of(a), &f, e);
    status = status ? status : check_width(a, &f, path, e);
    if (status)
        return status;
    if (f.has_ones)
        answer_join(a);
    const struct truth *truth = s->truth;
    const size_t found = s->lattices_found, right = s->lattices_right;
    const bool hit =
        a->says_hit ? a->hit : a->nlattices || (int64_t)a->nspots >= s->settings->hit_spots;
    s->frames[place] =
        (struct score_frame){.answered = true, .reported = a->damaged, .result_s = a->time_s};
    s->nanswered++;
    note_sources(s, a, path);
    s->nscores += a->has_score;
    s->frames[place].wrong =
        score_truth(s, &f, hit, a->nspots, a->has_score ? a->score : -INFINITY) != hit;
    take_geometry(s, &f, a, d);
    take_spots(s, &f, a, d);
    if (truth->facts.no_lattices) {
        s->lattices_found += a->nlattices;
        return STATUS_OK;
    }
    status = score_lattices(s, &f, a, d, e);
    s->frames[place].wrong |= s->lattices_found - found > s->lattices_right - right;
    if (!status && s->shown && !truth->facts.no_spots && !truth->facts.no_detector)
        show_frame(s, &f, a, d, right);
    return status;
}

/* Counts frames without an answer as frames in which nothing was found. */
static enum status take_silence(struct score *s, struct error *e)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < s->truth->rows.nframes && !status; i++) {
        struct truth_frame f;
        if (s->frames[i].answered || s->frames[i].skipped)
            continue;
        status = truth_frame(s->truth, i, 0, &f, e);
        if (!status)
            (void)score_truth(s, &f, false, 0, -INFINITY);
    }
    return status;
}

static enum status refuse_cell(const struct score *s, struct error *e)
{
    double truth[6];
    if (!lattices_cell(s->truth->rows.lattices->a_matrix, truth))
        return error_set(e, STATUS_INPUT, "%s: a lattice has a cell of volume 0", s->truth->path);
    return error_set(e, STATUS_INPUT,
                     "the found lattices are of another crystal: the first has cell edges %.2f, "
                     "%.2f, %.2f A; expected those of %s (%.2f, %.2f, %.2f A)",
                     s->other[0], s->other[1], s->other[2], s->truth->path, truth[0], truth[1],
                     truth[2]);
}

/* Returns true if the analysis found something in frames with reflections, but nothing of it is
 * true. */
static bool nothing_in_common(const struct score *s)
{
    const struct truth *truth = s->truth;
    const size_t spots = truth->facts.no_spots ? 0 : s->spots_found,
                 lattices = truth->facts.no_lattices ? 0 : s->lattices_found;
    return (s->spots_true || truth->facts.no_rows) && spots + lattices && !s->spots_right &&
           !s->lattices_right && !s->ambiguous;
}

enum status score_close(struct score *s, struct error *e)
{
    if (!s->nanswered)
        return error_set(e, STATUS_INPUT,
                         "the results have no frames, so there is nothing to score");
    if (s->lattices_found && s->lattices_true && !s->has_known_cell && s->other[0] > 0.0)
        return refuse_cell(s, e);
    if (nothing_in_common(s) && s->truth->facts.no_spots)
        return error_set(e, STATUS_INPUT,
                         "the results do not match %s: none of %zu lattices is within %g deg. Is "
                         "this the ground truth of these results?",
                         s->truth->path, s->lattices_found, s->settings->angle_deg);
    if (nothing_in_common(s))
        return error_set(
            e, STATUS_INPUT,
            "the results do not match %s: none of %zu found spots is within %g px of a true spot, "
            "and none of %zu lattices is within %g deg. Is this the ground truth of these results?",
            s->truth->path, s->spots_found, SPOTS_RADIUS_PX, s->lattices_found,
            s->settings->angle_deg);
    return take_silence(s, e);
}
