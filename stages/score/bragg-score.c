/*
 * bragg-score: compares what an analysis found in frames with the ground truth of these frames.
 *
 * From top to bottom: what is written (table, JSON, page, --require), how results of programs are
 * read (also while they grow), operands and options.  The comparison itself is in common/score.
 */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/idset.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/program.h"
#include "io/output/output_file.h"
#include "score/report_samples.h"
#include "score/results.h"
#include "score/score.h"
#include "score/truth.h"

enum { SCORE_RESULTS_MAX = 1024 };

static enum status write_json(const struct figures *f, const char *path, struct error *e)
{
    const bool is_stdout = strcmp(path, "-") == 0;
    const int file =
        is_stdout ? -1 : steady_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    FILE *out = is_stdout ? stdout : file < 0 ? NULL : steady_stream(file, "w");
    if (!out)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    figures_json(f, out);
    const bool good = !fflush(out) && !ferror(out);
    if ((is_stdout || !fclose(out)) && good)
        return STATUS_OK;
    return error_errno(e, STATUS_FAILED, "%s: cannot write", path);
}

/* Writes the page of --report to the file `path`. */
static enum status score_report(struct score *s, const struct figures *f, const char *path,
                                const char *const results[], size_t nresults, struct error *e)
{
    struct replace file;
    enum status status = replace_open(&file, path, e);
    if (status)
        return status;
    status = report_write(file.stream, s, f, results, nresults, e);
    if (!status)
        return replace_commit(&file, e);
    replace_abort(&file);
    return status;
}

/* Prints the metrics as a table to stdout, and writes them as JSON to the file `json`.
 *
 *   NULL  no JSON
 *   "-"   JSON goes to stdout, and the table is not printed */
static enum status score_print(const struct figures *f, const char *json, struct error *e)
{
    if (!json || strcmp(json, "-") != 0)
        figures_print(f, stdout);
    if (fflush(stdout) || ferror(stdout))
        return error_errno(e, STATUS_FAILED, "stdout: cannot write the metrics");
    return json ? write_json(f, json, e) : STATUS_OK;
}

/* Checks all requirements of --require.  The error is that of the first requirement that is not
 * met.  Errors of further requirements are logged. */
static enum status score_require(const struct figures *f, const struct opt_texts *require,
                                 struct error *e)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < require->count; i++) {
        const char *text = require->text[i];
        double value;
        bool met;
        struct error cause;
        enum status s = figures_require(f, text, &met, &value, &cause);
        if (!s && !met && isfinite(value))
            s = error_set(&cause, STATUS_FAILED, "required %s; got %.6g", text, value);
        else if (!s && !met)
            s = error_set(&cause, STATUS_FAILED, "required %s, but the metric is missing", text);
        if (s && status)
            log_line(LOG_ERROR, "%s", cause.text);
        if (s && !status) {
            *e = cause;
            status = s;
        }
    }
    return status;
}

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static bool is_done(void *score)
{
    const struct score *s = score;
    return interrupted || s->nanswered == s->nscored;
}

enum { CAUGHT = 2 };
static const int caught[CAUGHT] = {SIGINT, SIGTERM};

/* Makes Ctrl-C and SIGTERM end the wait for results instead of the program.  Stores the previous
 * actions in `before`. */
static void catch_interrupts(struct sigaction before[CAUGHT])
{
    const struct sigaction action = {.sa_handler = interrupt};
    for (size_t i = 0; i < CAUGHT; i++)
        (void)sigaction(caught[i], &action, &before[i]);
}

/* Restores the previous actions of Ctrl-C and SIGTERM. */
static void let_interrupts(const struct sigaction before[CAUGHT])
{
    for (size_t i = 0; i < CAUGHT; i++)
        (void)sigaction(caught[i], &before[i], NULL);
}

/* Matches the panels of the results with those of the truth.  Spots on a panel that the results do
 * not have count as missed. */
static enum status match_panels(struct detectors *d, const struct nxmx_geometry *truth,
                                const struct geom_panel *panels, size_t count, const char *path,
                                struct error *e)
{
    const enum status s = detectors_match(d, truth->panels, truth->npanels, panels, count, path, e);
    if (!s && panels && count < truth->npanels)
        log_line(LOG_WARNING,
                 "%s: has %zu of the %zu panels of the ground truth; spots on the other panels "
                 "count as missed",
                 path, count, truth->npanels);
    return s;
}

/* All results that are read.  Tables of several levels in the list belong together
 * (results_join). */
struct results_list {
    const struct results_files *files;
    size_t count;
};

static enum status take_answers(struct score *s, struct results *in, const struct results_list *all,
                                struct answer *a, struct detectors *d, struct error *e)
{
    const struct truth *truth = s->truth;
    const struct nxmx_geometry *detector = truth->detector;
    bool more = true, first = true;
    enum status status = STATUS_OK;
    while (!status && !(status = results_next(in, a, &more, e)) && more) {
        size_t count;
        const struct geom_panel *panels = results_panels(in, &count);
        if (first && truth->facts.summed && !results_of_rotation(in))
            return error_set(e, STATUS_INPUT,
                             "%s: has results of single frames, but the reflections of %s are sums "
                             "over a rotation; expected a ground truth that is an NXmx file, a "
                             "recording, or a table for each frame",
                             in->path, truth->path);
        if (first && truth->facts.no_detector)
            detectors_assume(d, detector->panels, detector->npanels, truth->facts.panel0, panels,
                             count);
        else if (first)
            status = match_panels(d, detector, panels, count, in->path, e);
        first = false;
        if (!status)
            status = results_take_found(all->files, all->count, in, a, e);
        if (!status) {
            detectors_turn(d, a);
            status = score_take(s, a, d, in->path, e);
        }
    }
    if (!status && first && in->level == DIALS_INTEGRATED)
        status = error_set(e, STATUS_INPUT, "%s: no frames found, so there is nothing to score",
                           in->path);
    return status;
}

static enum status take_result(struct score *s, const struct results_files *files,
                               const struct results_list *all, const struct follow *follow,
                               struct error *e)
{
    struct results in;
    struct answer a = {0};
    struct detectors d = {0};
    enum status status = results_open(&in, files, follow, e);
    if (!status)
        status = take_answers(s, &in, all, &a, &d, e);
    detectors_free(&d);
    answer_free(&a);
    results_close(&in);
    return status;
}

/* Reads the results in a folder.  If `follow` is given, also reads results that appear later. */
static enum status take_folder(struct score *s, const char *path, const struct follow *follow,
                               struct error *e)
{
    struct results_folder folder;
    struct results_files files;
    const struct results_list none = {0};
    bool more = true;
    enum status status = STATUS_OK;
    results_folder_open(&folder, path, follow);
    while (!status && !(status = results_folder_next(&folder, &files, &more, e)) && more)
        status = take_result(s, &files, &none, NULL, e);
    results_folder_close(&folder);
    return status;
}

/* Reads result number i of the list.  If `follow` is given, reads it while it grows.  NULL: the
 * result is complete. */
static enum status take_one(struct score *s, const struct results_list *all, size_t i,
                            const struct follow *follow, struct error *e)
{
    const struct results_files *files = &all->files[i];
    struct sigaction before[CAUGHT];
    enum status status;
    if (follow)
        catch_interrupts(before);
    if (follow && files->expt)
        status = error_set(e, STATUS_USAGE,
                           "--follow: %s is not a file that grows; expected a stream, a table of "
                           "peaks or a folder",
                           files->path);
    else if (results_folder_is(files->path))
        status = take_folder(s, files->path, follow, e);
    else
        status = take_result(s, files, all, follow, e);
    if (follow)
        let_interrupts(before);
    return status;
}

/* Reads the results paths[npaths], at most SCORE_RESULTS_MAX, into the score.
 *
 * If `follow_s` is greater than 0, the last result is read while it grows.  This ends when all
 * frames of the ground truth have results, when no bytes arrived for `follow_s`, or with SIGINT or
 * SIGTERM. */
static enum status score_results(struct score *s, const char *const paths[], size_t npaths,
                                 double follow_s, struct error *e)
{
    struct results_files files[SCORE_RESULTS_MAX + 1];
    const struct follow follow = {.seconds = follow_s, .done = is_done, .of = s};
    struct results_list all = {.files = files};
    enum status status = results_pair(paths, npaths, files, &all.count, e);
    status = status ? status : results_join(files, all.count, e);
    for (int level = DIALS_INTEGRATED; level >= DIALS_FOUND; level--)
        for (size_t i = 0; i < all.count && !status; i++)
            if ((int)files[i].level == level)
                status =
                    take_one(s, &all, i, follow_s > 0.0 && i + 1 == all.count ? &follow : NULL, e);
    results_unpair(files, all.count);
    return status;
}

struct options {
    const char *json, *report, *symmetry, *only, *geometry;
    struct opt_texts truths, require, sent;
    double angle_deg, hit[2], strong, follow_s;
    struct opt_marks given;
};

enum { OPERANDS_MAX = SCORE_RESULTS_MAX + 1, TRUTHS_MAX = OPERANDS_MAX + OPT_TEXTS_MAX };

#define AT(member) offsetof(struct options, member)

static const struct opt table[] = {
    {.doc = "Input:", .type = OPT_GROUP},
    {"truth", "FILE",
     "Ground truth of the frames; all operands are then results; may be repeated (the first "
     "operand)",
     .type = OPT_TEXTS, .offset = AT(truths)},
    {"sent", "FILE",
     "Read which messages were sent, from the file of bragg-serve --sent=FILE, for the metrics of "
     "latency, losses and faults; may be repeated",
     .type = OPT_TEXTS, .offset = AT(sent)},
    {"geometry", "FILE",
     "Compare the detector in FILE (.geom, .expt or NXmx), as an analysis refined it, with the "
     "true "
     "places of the panels; no RESULT is then needed",
     .type = OPT_TEXT, .offset = AT(geometry), .flags = OPT_INPUT},
    {"follow", "SECONDS",
     "Read the last RESULT (a stream, a table of peaks, or a folder) while it grows: until all "
     "frames of the ground truth have results, nothing new comes for SECONDS, or Ctrl-C",
     OPT_REAL, AT(follow_s), .min = 0.1, .max = 1e6, .flags = OPT_BARE, .usual = "10"},
    {"only", "LIST",
     "Score only the listed frames, such as 90-99,190, and skip the results of all other frames "
     "(all frames)",
     .type = OPT_TEXT, .offset = AT(only)},
    {.doc = "Criteria:", .type = OPT_GROUP},
    {"angle", "DEG", "Largest angle between a right lattice and the true one", OPT_REAL,
     AT(angle_deg), .min = 0, .max = 90, .flags = OPT_OPEN_MIN, .usual = "1"},
    {"hit", "N,PHOTONS",
     "A frame is a hit if a lattice has at least N strong reflections; a strong reflection has "
     "more than PHOTONS",
     OPT_REALS, AT(hit), .min = 1, .max = 1e6, .count = 2, .usual = "15,30"},
    {"strong", "SIGMA",
     "A reflection is strong if its I/sigma, with the background and the readout noise of the "
     "ground truth, is above SIGMA (it has more than PHOTONS of --hit)",
     OPT_REAL, AT(strong), .min = 0, .max = 1e6, .flags = OPT_OPEN_MIN},
    {"symmetry", "GROUP",
     "Space group of the crystals; lattices in a setting that only the cell allows count as "
     "ambiguous (all rotations of the true cell)",
     .type = OPT_TEXT, .offset = AT(symmetry)},
    {"require", "METRIC>=X",
     "Exit with status 1 unless METRIC meets the limit; also <=, >, <; may be repeated",
     .type = OPT_TEXTS, .offset = AT(require)},
    {.doc = "Output:", .type = OPT_GROUP},
    {"report", "FILE",
     "Write an HTML page with metrics, plots and the worst frames, which needs no other files",
     .type = OPT_TEXT, .offset = AT(report)},
    {"json", "FILE", "Also write the metrics as one JSON object (-: to stdout, without the table)",
     .type = OPT_TEXT, .offset = AT(json)},
    OPT_END(struct options, given),
};

static const struct opt_program program = {
    .name = "bragg-score",
    .summary = "Compare the results of an analysis with the ground truth of the frames.",
    .examples = "bragg-score truth.nxs o.stream\n"
                "bragg-score --report=score.html --require='spots.recall>=0.9' "
                "--require='angle_deg.median<=0.05' truth.nxs o.stream",
    .operands = "TRUTH... RESULT...",
    .min_operands = 1,
    .max_operands = OPERANDS_MAX,
    .details =
        "TRUTH is an NXmx file that bragg-write made from frames with reflections "
        "(bragg-intensity --reflections), or a recording of such frames. It may also be a file of "
        "bragg-write --reflections (run.refl, truth_%04d.refl, run.stream, run.tsv), of "
        "bragg-orient --truth or of bragg-serve --sent. NXmx files and recordings after the first "
        "TRUTH are ground truth, too. --truth names several files of any kind.\n"
        "RESULT is a stream of CrystFEL, files of DIALS (.refl with .expt), a table of "
        "peaks (.tsv, .txt), a merged set (.hkl, .mtz), or a folder of streams and tables.\n"
        "Exit status 0: done, and all requirements are met; 1: a requirement is not met, or a "
        "file cannot be written; 3: a file cannot be scored.",
};

/* --- operands ------------------------------------------------------------------- */

struct files {
    const char *truths[TRUTHS_MAX], *results[OPERANDS_MAX];
    size_t ntruths, nresults;
};

/* Returns true if the file is an NXmx file or a recording.  Such a file is ground truth, because
 * no analysis writes it. */
static bool is_truth(const char *path)
{
    return nxmx_is_hdf5(path) || truth_recording_is(path);
}

static enum status sort_operands(struct files *f, const struct options *o,
                                 const char *const paths[], int npaths, struct error *e)
{
    for (size_t i = 0; i < o->truths.count; i++)
        f->truths[f->ntruths++] = o->truths.text[i];
    for (int i = 0; i < npaths; i++)
        if (!f->ntruths || (!f->nresults && i + 1 < npaths && is_truth(paths[i])))
            f->truths[f->ntruths++] = paths[i];
        else
            f->results[f->nresults++] = paths[i];
    return f->nresults || (o->geometry && f->ntruths)
               ? STATUS_OK
               : error_set(e, STATUS_USAGE, "missing argument: RESULT, the files to score");
}

/* --- program ------------------------------------------------------------------ */

/* Reads which messages bragg-serve sent, from the files of --sent or, without --sent, from the
 * ground truth.  Adds the metrics of the messages to *f. */
static enum status take_sent(struct score *s, const struct opt_texts *files, struct figures *f,
                             struct error *e)
{
    struct sent_messages sent = {0};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < files->count && !status; i++)
        status = sent_read(files->text[i], &sent, e);
    for (size_t i = 0; i < s->truth->nparts && !files->count && !status; i++)
        if (s->truth->parts[i].facts.sent)
            status = sent_read(s->truth->parts[i].path, &sent, e);
    status = status ? status : score_sent_figures(s, &sent, f, e);
    sent_free(&sent);
    return status;
}

static enum status score_all(struct score *s, struct figures *f, const struct options *o,
                             const struct files *files, struct error *e)
{
    static struct merged merged;
    const char *frames[OPERANDS_MAX];
    size_t nframes = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < files->nresults && !status; i++)
        if (merged_is(files->results[i])) {
            status = merged_take(&merged, files->results[i], s->truth, e);
            score_sources_add(&s->merged_from, files->results[i]);
        } else
            frames[nframes++] = files->results[i];
    if (!status && nframes) {
        status =
            score_results(s, frames, nframes, opt_given(table, o, "follow") ? o->follow_s : 0.0, e);
        status = status ? status : score_close(s, e);
    }
    if (status)
        return status;
    f->count = f->nnotes = f->ncurves = 0;
    if (nframes)
        score_figures(s, f);
    merged_figures(&merged, f);
    if (s->settings->again)
        status = take_sent(s, &o->sent, f, e);
    if (!status && o->geometry)
        status = geometry_score(files->truths[0], o->geometry, f, e);
    status = status ? status : score_print(f, o->json, e);
    if (!status && o->report)
        status = score_report(s, f, o->report, files->results, files->nresults, e);
    return status ? status : score_require(f, &o->require, e);
}

/* Refuses --strong if the background of the reflections is not known. */
static enum status check_strong(const struct options *o, const struct truth *truth, struct error *e)
{
    return !(o->strong > 0.0) || !truth->facts.no_background
               ? STATUS_OK
               : error_set(e, STATUS_USAGE,
                           "--strong: %s does not contain the background of its reflections; "
                           "expected an NXmx file, a recording, or tables .refl or .tsv of "
                           "bragg-write --reflections",
                           truth->path);
}

/* Refuses files with --only whose content is not separated by frame. */
static enum status check_only(const struct options *o, const struct truth *truth,
                              const struct files *files, struct error *e)
{
    for (size_t i = 0; o->only && i < truth->nparts; i++)
        if (o->sent.count || truth->parts[i].facts.sent)
            return error_set(e, STATUS_USAGE,
                             "--only: %s is the table of bragg-serve --sent, whose messages cannot "
                             "be scored in part",
                             o->sent.count ? o->sent.text[0] : truth->parts[i].path);
    for (size_t i = 0; o->only && i < files->nresults; i++)
        if (merged_is(files->results[i]))
            return error_set(e, STATUS_USAGE,
                             "--only: %s is a merged set of all frames; expected results of frames",
                             files->results[i]);
    return STATUS_OK;
}

/* Checks the options before any file is read, and parses --only and --symmetry. */
static enum status check_options(const struct options *o, struct symmetry *group,
                                 struct id_set *only, struct error *e)
{
    enum status status = o->only ? id_set_parse(only, o->only, "--only", e) : STATUS_OK;
    for (size_t i = 0; i < o->require.count && !status; i++) {
        double value;
        bool met;
        status = figures_require(NULL, o->require.text[i], &met, &value, e);
    }
    if (!status && o->hit[0] != rint(o->hit[0]))
        status =
            error_set(e, STATUS_USAGE, "--hit: %g is not a whole number of reflections", o->hit[0]);
    return status || !o->symmetry ? status : symmetry_find(o->symmetry, group, e);
}

/* Returns the letter of the centring in a space group symbol.  Returns 0 if `symmetry` is NULL
 * or does not begin with such a letter, as the number of a group. */
static char centring_of(const char *symmetry)
{
    return (char)(symmetry && *symmetry && strchr("PABCIRF", *symmetry) ? *symmetry : 0);
}

/* Scores the geometry of --geometry without results of frames. */
static enum status score_geometry(const struct options *o, const char *truth, struct figures *f,
                                  struct error *e)
{
    static const char *const others[] = {"report", "only",     "sent", "follow",
                                         "strong", "symmetry", "hit",  "angle"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (opt_given(table, o, others[i]))
            return error_set(e, STATUS_USAGE, "--%s needs a RESULT; expected files to score",
                             others[i]);
    enum status s = geometry_score(truth, o->geometry, f, e);
    s = s ? s : score_print(f, o->json, e);
    return s ? s : score_require(f, &o->require, e);
}

static enum status score_and_print(const struct options *o, const char *const paths[], int npaths,
                                   struct error *e)
{
    static struct figures figures;
    static struct symmetry group;
    static struct shown_samples shown;
    static struct files files;
    static struct id_set only;
    enum status status = check_options(o, &group, &only, e);
    status = status ? status : sort_operands(&files, o, paths, npaths, e);
    if (status)
        return status;
    if (!files.nresults)
        return score_geometry(o, files.truths[0], &figures, e);
    static struct truth truth;
    static struct score score;
    status = truth_open(&truth, files.truths, files.ntruths, e);
    status = status ? status : check_only(o, &truth, &files, e);
    status = status ? status : check_strong(o, &truth, e);
    const struct score_settings settings = {.angle_deg = o->angle_deg,
                                            .hit_spots = (int64_t)o->hit[0],
                                            .strong_photons = o->hit[1],
                                            .strong_sigma = o->strong,
                                            .group = o->symmetry ? &group : NULL,
                                            .centring = centring_of(o->symmetry),
                                            .only = o->only ? &only : NULL,
                                            .again = o->sent.count || truth.facts.sent};
    if (!status)
        status = score_begin(&score, &settings, &truth, e);
    score.shown = o->report ? &shown : NULL;
    if (!status)
        status = score_all(&score, &figures, o, &files, e);
    score_end(&score);
    shown_free(&shown);
    truth_close(&truth);
    id_set_clear(&only);
    return status;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    static const char *paths[OPERANDS_MAX];
    int npaths;
    struct error e = {0};
    program_open(program.name);
    if (opt_parse(&program, table, &o, NULL, NULL, argc, argv, paths, &npaths, &e) ||
        score_and_print(&o, paths, npaths, &e))
        return log_fail(&e);
    return STATUS_OK;
}
