/* Computes the metrics of a score, each with the number of items that it is made from. */
#include "score/score.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "score/figures.h"
#include "score/statistics.h"

/* Offsets larger than this, in px, are reported in a note. */
static const double OFFSET_TOLD_PX = 0.2;

/* Found spots are better than random if they exceed the random number by this number of standard
 * deviations. */
static const double CHANCE_SIGMAS = 3.0;

/* A note says that strong reflections are below the noise if this fraction of them is. */
static const double FAINT_TOLD = 0.1;

enum { GROUP_NAME = 48 };

static double ratio(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static void add_figure(struct figures *f, const char *group, const char *name, double value,
                       const char *why)
{
    char full[FIGURE_NAME];
    (void)snprintf(full, sizeof full, "%s.%s", group, name);
    figures_add(f, full, value, why);
}

static void add_count(struct figures *f, const char *group, const char *name, size_t count)
{
    add_figure(f, group, name, (double)count, NULL);
}

/* Returns the reason why a metric is absent: `missing` if the ground truth has no such data;
 * otherwise `why`. */
static const char *because(const char *missing, const char *why)
{
    return missing ? missing : why;
}

/* Adds a count.  If `unknown` is not NULL, the count is absent because the ground truth has no data
 * for it, and `unknown` is the reason. */
static void add_known(struct figures *f, const char *group, const char *name, size_t count,
                      const char *unknown)
{
    add_figure(f, group, name, unknown ? NAN : (double)count, unknown);
}

static void add_hits(struct score *s, struct figures *f)
{
    static const char *const one_kind = "the ground truth does not have both hits and blanks";
    figures_add(f, "frames", (double)s->nanswered, NULL);
    figures_add(f, "frames_without_answer", (double)(s->nscored - s->nanswered), NULL);
    add_count(f, "hits", "true_positive", s->true_positive);
    add_count(f, "hits", "false_positive", s->false_positive);
    add_count(f, "hits", "false_negative", s->false_negative);
    add_count(f, "hits", "true_negative", s->true_negative);
    add_figure(f, "hits", "roc_area", roc_area(&s->hits_by_spots), one_kind);
    add_figure(f, "hits", "score_roc_area", s->nscores ? roc_area(&s->hits_by_score) : NAN,
               s->nscores ? one_kind : "the results have no scores");
    figures_curve(f, "hits_by_spots", &s->hits_by_spots);
    if (s->nscores)
        figures_curve(f, "hits_by_score", &s->hits_by_score);
}

/* Returns true if the ground truth has photons of background.  Without background, only reflections
 * that overlap have other photons in their pixels. */
static bool has_background(const struct score *s)
{
    return 2 * s->with_background > s->spots_true;
}

/* Adds the recall by I/sigma, if the background is known and not 0.  Adds a note if --strong has no
 * background to use, or if many strong reflections are below the noise. */
static void add_sigmas(const struct score *s, struct figures *f)
{
    const bool by_sigma = s->settings->strong_sigma > 0.0;
    if (by_sigma && !has_background(s))
        figures_note(f, "--strong: the ground truth has no photons of background, so that I/sigma "
                        "is the square root of the photons. Make the ground truth after "
                        "bragg-background");
    if (s->truth->facts.no_background || !has_background(s))
        return;
    for (int i = 0; i < SCORE_BINS; i++) {
        char group[GROUP_NAME];
        (void)snprintf(group, sizeof group, "spots.by_i_over_sigma.from_%d", i ? 1 << i : 0);
        if (!s->sigma_true[i])
            continue;
        add_figure(f, group, "recall", ratio(s->sigma_found[i], s->sigma_true[i]), NULL);
        add_count(f, group, "n", s->sigma_true[i]);
    }
    add_figure(f, "spots.visible", "recall", ratio(s->visible_found, s->visible_true),
               "no reflection of the ground truth is visible");
    add_count(f, "spots.visible", "n", s->visible_true);
    if (ratio(s->strong_faint, s->strong_true) >= FAINT_TOLD && !by_sigma)
        figures_note(f,
                     "%zu of %zu strong reflections (more than %g photons) have I/sigma below %g "
                     "because of the background; --strong=%g excludes them from recall and hits",
                     s->strong_faint, s->strong_true, s->settings->strong_photons,
                     SCORE_FAINT_SIGMA, SCORE_FAINT_SIGMA);
}

static void add_spots(struct score *s, struct figures *f)
{
    const char *no = s->truth->facts.no_spots, *none = because(no, "no found spot is a true one");
    add_known(f, "spots", "true", s->spots_true, no);
    add_count(f, "spots", "found", s->spots_found);
    add_figure(f, "spots", "precision", no ? NAN : ratio(s->spots_right, s->spots_found),
               because(no, "no spots were found"));
    add_figure(f, "spots", "recall", ratio(s->strong_found, s->strong_true),
               because(no, "the ground truth has no strong spots"));
    add_known(f, "spots", "strong", s->strong_true, no);
    add_figure(f, "spots", "distance_px_median", values_percentile(&s->centroid_px, 50.0), none);
    add_figure(f, "spots", "distance_px_mad", values_mad(&s->centroid_px), none);
    add_figure(
        f, "spots", "roc_area", roc_area(&s->spots_by_photons),
        because(no, "the found spots have no intensities, or are all true, or are all false"));
    figures_curve(f, "spots_by_photons", &s->spots_by_photons);
    for (int i = 0; i < SCORE_BINS; i++) {
        char group[GROUP_NAME];
        (void)snprintf(group, sizeof group, "spots.by_photons.from_%d", 1 << i);
        if (!s->bin_true[i])
            continue;
        add_figure(f, group, "recall", ratio(s->bin_found[i], s->bin_true[i]), NULL);
        add_count(f, group, "n", s->bin_true[i]);
    }
    for (int i = 0; i < SCORE_BINS; i++) {
        char group[GROUP_NAME];
        (void)snprintf(group, sizeof group, "spots.by_found_photons.from_%d", 1 << i);
        if (!s->found_bin[i])
            continue;
        add_figure(f, group, "precision", ratio(s->found_right[i], s->found_bin[i]), NULL);
        add_count(f, group, "n", s->found_bin[i]);
    }
    add_sigmas(s, f);
}

/* Adds a note about an offset, such as "half a pixel off". */
static void tell_offset(struct figures *f, const char *what, const char *axis, double px)
{
    if (!(fabs(px) > OFFSET_TOLD_PX))
        return;
    const bool half = fabs(fabs(px) - 0.5) < 0.1;
    figures_note(f, "%s: %s %+.2f px along %s%s", what, half ? "half a pixel off," : "off by", px,
                 axis, half ? ": the centre of pixel i is at i + 0.5" : "");
}

static void add_offset(struct offsets *o, struct figures *f, const char *name, const char *what,
                       const char *why)
{
    add_figure(f, name, "fast", mean_value(&o->fast), why);
    add_figure(f, name, "slow", mean_value(&o->slow), why);
    add_figure(f, name, "fast_error", mean_error(&o->fast), why);
    add_figure(f, name, "slow_error", mean_error(&o->slow), why);
    add_figure(f, name, "fast_median", values_percentile(&o->all_fast, 50.0), why);
    add_figure(f, name, "slow_median", values_percentile(&o->all_slow, 50.0), why);
    add_figure(f, name, "fast_mad", values_mad(&o->all_fast), why);
    add_figure(f, name, "slow_mad", values_mad(&o->all_slow), why);
    add_count(f, name, "n", o->fast.n);
    tell_offset(f, what, "fast", mean_value(&o->fast));
    tell_offset(f, what, "slow", mean_value(&o->slow));
}

/* --- radial and tangential offsets ---------------------------------------------- */

/* Relative tolerance: edges of found cells whose errors agree to this value have a common factor.
 */
static const double SAME_FACTOR = 1e-3;

/* Returns true if a factor on all distances from the beam centre moves spots far enough to be
 * reported in a note. */
static bool is_told(double factor, const struct alignment_off *off)
{
    return fabs(factor) * off->radius_px > OFFSET_TOLD_PX;
}

/* Returns the relative error that all edges of found cells share; NaN if they differ. */
static double common_factor(const struct score *s)
{
    const double a = mean_value(&s->cell_error[0]);
    for (int i = 1; i < 3; i++)
        if (!(fabs(mean_value(&s->cell_error[i]) - a) < SAME_FACTOR))
            return NAN;
    return a;
}

/* Adds a note about the cell.  Positions determine only the product of wavelength, distance and 1 /
 * edge.  Two of them must be known to find the third. */
static void tell_cell(const struct score *s, struct figures *f, const struct alignment_off *off)
{
    const double cell = common_factor(s), wavelength = mean_value(&s->wavelength_error),
                 known = off->camera_length + wavelength;
    if (!(fabs(cell) > 2.0 * SAME_FACTOR))
        return;
    if (!isfinite(known))
        figures_note(f,
                     "all edges of found cells are off by %+.2f %%: positions alone cannot "
                     "distinguish a wrong cell from a wrong camera length or wavelength",
                     100.0 * cell);
    else if (fabs(cell - known) < fmax(SAME_FACTOR, 0.3 * fabs(cell)))
        figures_note(f,
                     "all edges of found cells are off by %+.2f %%, as the camera length and the "
                     "wavelength of the analysis make them",
                     100.0 * cell);
    else
        figures_note(f,
                     "all edges of found cells are off by %+.2f %%: %+.2f %% are from the camera "
                     "length and the wavelength, the rest is from the cell that was given",
                     100.0 * cell, 100.0 * known);
}

static void tell_alignment(const struct score *s, struct figures *f,
                           const struct alignment_off *off)
{
    static const char *const geometry = "the geometry of the analysis";
    const double wavelength = mean_value(&s->wavelength_error);
    if (is_told(off->camera_length, off))
        figures_note(f, "%s: the camera length is off by %+.3f mm (%+.3f %%)", geometry,
                     1e3 * off->distance_m * off->camera_length, 100.0 * off->camera_length);
    if (is_told(deg_to_rad(off->turn_deg), off))
        figures_note(f, "%s: the detector is turned about the beam by %+.3f deg", geometry,
                     off->turn_deg);
    for (int i = 0; i < 2; i++) {
        const double moves =
            deg_to_rad(off->tilt_deg[i]) * off->radius_px * s->alignment.pixel_m / off->distance_m;
        if (is_told(moves, off))
            figures_note(f, "%s: the detector is tilted about %s by %+.3f deg", geometry,
                         i ? "y" : "x", off->tilt_deg[i]);
    }
    if (isfinite(off->radius_px) ? is_told(wavelength, off) : fabs(wavelength) > SAME_FACTOR)
        figures_note(f, "the wavelength of the analysis is off by %+.3f %%", 100.0 * wavelength);
    const double quarter = remainder(s->axes_turn_deg, 90.0);
    if (fabs(quarter) > 0.01)
        figures_note(f,
                     "the axes of the analysis are turned about the beam by %+.2f deg against "
                     "those of the ground truth; lattices are compared after this rotation",
                     s->axes_turn_deg);
}

static void add_alignment(const struct score *s, struct figures *f)
{
    const struct alignment_off off = alignment_solve(&s->alignment);
    const char *why =
        because(s->truth->facts.no_detector,
                s->alignment.n ? "too few places on the detector have reflections"
                               : "the results have no geometry, or no frame has a reflection");
    add_figure(f, "geometry", "distance_mm", 1e3 * off.distance_m * off.camera_length, why);
    add_figure(f, "geometry", "distance_relative", off.camera_length, why);
    add_figure(f, "geometry", "turn_deg", off.turn_deg, why);
    add_figure(f, "geometry", "tilt_x_deg", off.tilt_deg[0], why);
    add_figure(f, "geometry", "tilt_y_deg", off.tilt_deg[1], why);
    add_count(f, "geometry", "n", s->alignment.n);
    add_figure(f, "wavelength", "relative_error", mean_value(&s->wavelength_error),
               "the ground truth or the results do not contain wavelengths");
    add_count(f, "wavelength", "n", s->wavelength_error.n);
    tell_alignment(s, f, &off);
    tell_cell(s, f, &off);
}

static void add_offsets(struct score *s, struct figures *f)
{
    const struct truth *truth = s->truth;
    const char *rows = because(truth->facts.no_lattices,
                               truth->facts.no_rows ? truth->facts.no_spots : NULL),
               *none =
                   because(rows, "no right lattice has a predicted reflection above 10 photons");
    add_offset(&s->found, f, "found_px", "places of found spots",
               because(truth->facts.no_spots, "no found spot is a true one above 100 photons"));
    add_offset(&s->geometry, f, "geometry_px", "the geometry of the analysis",
               because(truth->facts.no_detector,
                       "the results have no geometry, or no frame has a reflection"));
    add_alignment(s, f);
    add_offset(&s->predicted, f, "predicted_px", "predicted places",
               because(rows, "no right lattice has a predicted reflection of the ground truth"));
    add_figure(f, "predicted", "share", ratio(s->was_predicted, s->predictable),
               because(rows, "no right lattice has a reflection above 10 photons"));
    add_count(f, "predicted", "n", s->predictable);
    add_figure(f, "predicted", "distance_px_median", values_percentile(&s->predicted_away_px, 50.0),
               none);
    add_figure(f, "predicted", "distance_px_p95", values_percentile(&s->predicted_away_px, 95.0),
               none);
}

static void add_lattices(struct score *s, struct figures *f)
{
    static const char *const axes[] = {"x_median", "y_median", "z_median"};
    const char *no = s->truth->facts.no_lattices,
               *no_lattice = because(no, "no right lattice was found");
    add_known(f, "lattices", "true", s->lattices_true, no);
    add_count(f, "lattices", "found", s->lattices_found);
    add_known(f, "lattices", "right", s->lattices_right, no);
    add_known(f, "lattices", "wrong",
              s->lattices_found - s->lattices_right - s->lattices_twice - s->ambiguous, no);
    add_known(f, "lattices", "twice", s->lattices_twice, no);
    add_known(f, "lattices", "ambiguous", s->ambiguous, no);
    add_known(f, "lattices", "left_handed", s->left_handed, no);
    add_known(f, "lattices", "other_basis", s->other_basis, no);
    add_known(f, "lattices", "missed", s->lattices_true - s->lattices_right, no);
    add_figure(f, "lattices", "share", no ? NAN : ratio(s->lattices_right, s->lattices_true),
               because(no, "the ground truth has no lattices"));
    for (int i = 0; i < SCORE_BINS; i++) {
        char group[GROUP_NAME];
        (void)snprintf(group, sizeof group, "lattices.by_strong_spots.from_%d", i ? 1 << i : 0);
        if (!s->strong_lattices[i] || no)
            continue;
        add_figure(f, group, "share", ratio(s->strong_right[i], s->strong_lattices[i]), NULL);
        add_count(f, group, "n", s->strong_lattices[i]);
    }
    add_figure(f, "angle_deg", "median", values_percentile(&s->angle_deg, 50.0), no_lattice);
    add_figure(f, "angle_deg", "p95", values_percentile(&s->angle_deg, 95.0), no_lattice);
    add_figure(f, "angle_deg", "max", values_percentile(&s->angle_deg, 100.0), no_lattice);
    add_figure(f, "angle_deg", "mad", values_mad(&s->angle_deg), no_lattice);
    for (int i = 0; i < 3; i++)
        add_figure(f, "angle_deg", axes[i], values_percentile(&s->turn_deg[i], 50.0), no_lattice);
    add_count(f, "angle_deg", "n", s->angle_deg.n);
    if (s->left_handed)
        figures_note(f, "%zu lattices are left-handed: the hand is inverted", s->left_handed);
    if (s->other_basis)
        figures_note(
            f,
            "%zu right lattices have another basis than the ground truth (other axes, or another "
            "cell of the same lattice); metrics are for the axes of the ground truth",
            s->other_basis);
    if (s->ambiguous)
        figures_note(f, "%zu lattices are indexed in the other way that the cell allows",
                     s->ambiguous);
}

static void add_cell(struct score *s, struct figures *f)
{
    static const char *const names[] = {"cell.a",    "cell.b",     "cell.c",     "cell.alpha",
                                        "cell.beta", "cell.gamma", "cell.volume"};
    const char *no_lattice = because(s->truth->facts.no_lattices, "no right lattice was found"),
               *several =
                   because(s->truth->facts.no_lattices, "the ground truth has several crystals");
    const bool one = s->ncrystals == 1;
    for (int i = 0; i < 7; i++) {
        const bool angle = i >= 3 && i < 6;
        add_figure(f, names[i], "mean", one ? mean_value(&s->cell[i]) : NAN,
                   one ? no_lattice : several);
        add_figure(f, names[i], "median", one ? values_percentile(&s->cell_values[i], 50.0) : NAN,
                   one ? no_lattice : several);
        add_figure(f, names[i], "mad", one ? values_mad(&s->cell_values[i]) : NAN,
                   one ? no_lattice : several);
        add_figure(f, names[i], angle ? "error_deg" : "relative_error",
                   mean_value(&s->cell_error[i]), no_lattice);
    }
    add_count(f, "cell", "n", s->cell_error[0].n);
}

static void add_group(struct intensities *i, struct figures *f, const char *group, const char *why)
{
    static const char *const no_sigma = "no measured reflection of the ground truth has a sigma",
                             *const weak = "no measured reflection has 10 photons";
    const struct agreement *a = &i->all;
    const char *sigma = a->n ? no_sigma : why;
    add_figure(f, group, "cc", agreement_cc(a), a->n ? "all values are equal" : why);
    add_figure(f, group, "slope", agreement_slope(a), sigma);
    add_figure(f, group, "slope_median", values_percentile(&i->ratios, 50.0), a->n ? weak : why);
    add_figure(f, group, "slope_mad", values_mad(&i->ratios), a->n ? weak : why);
    add_figure(f, group, "chi2", agreement_chi2(a), sigma);
    add_figure(f, group, "chi2_robust", intensities_chi2_robust(i), sigma);
    add_count(f, group, "n", a->n);
}

static void add_intensities(struct score *s, struct figures *f)
{
    const struct truth *truth = s->truth;
    add_group(&s->intensities, f, "intensities",
              because(because(truth->facts.no_lattices,
                              truth->facts.no_rows ? truth->facts.no_spots : NULL),
                      "no right lattice has a measured reflection of the ground truth"));
    for (int i = 0; i < SCORE_BINS; i++) {
        char group[GROUP_NAME];
        (void)snprintf(group, sizeof group, "intensities.by_photons.from_%d", 1 << i);
        if (s->by_photons[i].all.n)
            add_group(&s->by_photons[i], f, group, "");
    }
    for (int i = 0; i < SCORE_SHELLS; i++) {
        char group[GROUP_NAME];
        (void)snprintf(group, sizeof group, "intensities.by_d_A.from_%d", score_shells_A[i]);
        if (s->by_shell[i].all.n)
            add_group(&s->by_shell[i], f, group, "");
    }
}

void score_figures(struct score *s, struct figures *f)
{
    add_hits(s, f);
    add_spots(s, f);
    add_offsets(s, f);
    add_lattices(s, f);
    add_cell(s, f);
    add_intensities(s, f);
    if (s->spots_right && !s->lattices_right && !s->ambiguous &&
        (double)s->spots_right <= s->by_chance + CHANCE_SIGMAS * sqrt(s->by_chance))
        figures_note(f, "the found spots agree with true spots no more often than by chance. Is "
                        "this the ground truth of these results?");
    if (s->indexed_spots + s->integrated_spots)
        figures_note(f,
                     "the found spots are only those that were %s. To score all found spots, add "
                     "their table, such as strong.refl",
                     s->indexed_spots ? "indexed" : "integrated");
    if (s->nagain)
        figures_note(f, "%zu results are of frames that had a result already; the first one counts",
                     s->nagain);
    if (s->nanswered < s->nscored)
        figures_note(f, "%zu frames of the ground truth have no result and count as not found",
                     s->nscored - s->nanswered);
}
