/*
 * bragg-score: what an analysis found in frames against the answer key of these frames.
 */
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/opt.h"
#include "base/program.h"
#include "io/replace.h"
#include "score/merged.h"
#include "score/report.h"
#include "score/results.h"
#include "score/results_folder.h"
#include "score/score.h"

struct options {
    const char *json, *report, *symmetry, *sent;
    struct opt_texts require;
    double angle_deg, hit[2], follow_s;
    bool follow;
};

enum { OPERANDS_MAX = 1025 };

#define AT(member) offsetof(struct options, member)

static const struct opt table[] = {
    {"json", "FILE",
     "Write the figures to FILE as one JSON object (-: to stdout, without the table)",
     .type = OPT_TEXT, .offset = AT(json)},
    {"report", "FILE",
     "Write figures, plots and the worst frames to FILE, a page of HTML without outside parts",
     .type = OPT_TEXT, .offset = AT(report)},
    {"require", "METRIC>=X", "Exit with status 1 unless it is so; also <=, >, <; may be repeated",
     .type = OPT_TEXTS, .offset = AT(require)},
    {"angle", "DEG", "A lattice that is turned by less from the true one is right", OPT_REAL,
     AT(angle_deg), .min = 0, .max = 90, .flags = OPT_OPEN_MIN, .usual = "1"},
    {"hit", "N,PHOTONS",
     "A hit holds a lattice with at least N reflections above PHOTONS, which are strong", OPT_REALS,
     AT(hit), .min = 1, .max = 1e6, .count = 2, .usual = "15,30"},
    {"symmetry", "GROUP",
     "Space group of the crystals; lattices that only their cell allows are counted apart (what "
     "the cell allows)",
     .type = OPT_TEXT, .offset = AT(symmetry)},
    {"sent", "FILE",
     "What bragg-serve --key=FILE says of the same frames: latency, losses, what was done with "
     "faults",
     .type = OPT_TEXT, .offset = AT(sent)},
    {"follow", "SECONDS",
     "Read the last RESULT, a text or a folder, while it grows, until all frames of the key have "
     "answers, nothing comes "
     "for so long, or Ctrl-C",
     OPT_REAL, AT(follow_s), .min = 0.1, .max = 1e6, .flags = OPT_BARE, .given = AT(follow),
     .usual = "10"},
    {0},
};

static const struct opt_program program = {
    .name = "bragg-score",
    .summary = "Score what an analysis found against the answer key of the frames.",
    .examples = "bragg-score key.nxs o.stream\n"
                "bragg-score --report=score.html --require='spots.recall>=0.9' "
                "--require='angle_deg.median<=0.05' key.nxs o.stream",
    .operands = "KEY RESULT...",
    .min_operands = 2,
    .max_operands = OPERANDS_MAX,
    .details =
        "KEY is an NXmx file that bragg-write made of frames with reflections "
        "(bragg-intensity --reflections), their recording, or a table of the truth: run.refl, "
        "key_%04d.refl, run.stream, run.tsv, those of bragg-orient --truth and bragg-serve --key; "
        "RESULT a stream of CrystFEL, files of DIALS (.refl with .expt), a "
        "table of "
        "peaks (.tsv, .txt), a merged set (.hkl, .mtz), or a folder of the former.\n"
        "Status 0: done, and all that is required holds; 1: it does not; 3: a file cannot be "
        "scored.",
};

/* --- results ------------------------------------------------------------------ */

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static bool is_done(void *score)
{
    const struct score *s = score;
    return interrupted || s->nanswered == s->key->rows.nframes;
}

/* Ctrl-C ends the waiting, not the program. */
static void catch_interrupts(void)
{
    const struct sigaction action = {.sa_handler = interrupt};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static enum status take_answers(struct score *s, struct results *in, struct answer *a,
                                struct detectors *d, struct error *e)
{
    const struct key *k = s->key;
    const struct nxmx_geometry *truth = &k->detector;
    bool more = true, first = true;
    enum status status = STATUS_OK;
    while (!status && !(status = results_next(in, a, &more, e)) && more) {
        size_t count;
        const struct geom_panel *panels = results_panels(in, &count);
        if (first && k->summed && !results_of_rotation(in))
            return error_set(e, STATUS_INPUT,
                             "%s: tells of frames one by one, where the reflections of %s are sums "
                             "over a rotation: the key of these results is an NXmx file, a "
                             "recording, or a table for each frame",
                             in->path, k->path);
        if (first && k->no_detector)
            status =
                detectors_assume(d, truth->panels, truth->npanels, k->panel0, panels, count, e);
        else if (first)
            status = detectors_match(d, truth->panels, truth->npanels, panels, count, in->path, e);
        first = false;
        if (!status) {
            detectors_turn(d, a);
            status = score_take(s, a, d, in->path, e);
        }
    }
    if (!status && first)
        status = error_set(e, STATUS_INPUT, "%s: holds no frames: nothing to score", in->path);
    return status;
}

static enum status take_result(struct score *s, const struct results_files *files,
                               const struct follow *follow, struct error *e)
{
    struct results in;
    struct answer a = {0};
    struct detectors d = {0};
    enum status status = results_open(&in, files, follow, e);
    if (!status)
        status = take_answers(s, &in, &a, &d, e);
    detectors_free(&d);
    answer_free(&a);
    results_close(&in);
    return status;
}

/* The results of a folder, as they come where it is followed. */
static enum status take_folder(struct score *s, const char *path, const struct follow *follow,
                               struct error *e)
{
    struct results_folder folder;
    struct results_files files;
    bool more = true;
    enum status status = STATUS_OK;
    results_folder_open(&folder, path, follow);
    while (!status && !(status = results_folder_next(&folder, &files, &more, e)) && more)
        status = take_result(s, &files, NULL, e);
    results_folder_close(&folder);
    return status;
}

/* All that is named, the last one while it grows. */
static enum status take_results(struct score *s, const struct options *o, const char *const paths[],
                                size_t npaths, struct error *e)
{
    struct results_files files[OPERANDS_MAX + 1];
    const struct follow follow = {.seconds = o->follow_s, .done = is_done, .of = s};
    size_t count;
    enum status status = results_pair(paths, npaths, files, &count, e);
    if (o->follow)
        catch_interrupts();
    for (size_t i = 0; i < count && !status; i++) {
        const bool last = o->follow && i + 1 == count;
        if (last && files[i].expt)
            status = error_set(e, STATUS_USAGE, "--follow: %s is written at once, must be a text",
                               files[i].path);
        else if (results_folder_is(files[i].path))
            status = take_folder(s, files[i].path, last ? &follow : NULL, e);
        else
            status = take_result(s, &files[i], last ? &follow : NULL, e);
    }
    results_unpair(files, count);
    return status;
}

static enum status take_sent(struct score *s, const char *path, struct figures *f, struct error *e)
{
    struct sent sent;
    enum status status = sent_read(path, &sent, e);
    if (!status)
        status = score_sent_figures(s, &sent, f, e);
    sent_free(&sent);
    return status;
}

/* --- report ------------------------------------------------------------------- */

static enum status write_json(const struct figures *f, const char *path, struct error *e)
{
    const bool is_stdout = strcmp(path, "-") == 0;
    FILE *out = is_stdout ? stdout : fopen(path, "w");
    if (!out)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    figures_json(f, out);
    const bool good = !fflush(out) && !ferror(out);
    if ((is_stdout || !fclose(out)) && good)
        return STATUS_OK;
    return error_errno(e, STATUS_FAILED, "%s: cannot write", path);
}

static enum status write_report(struct score *s, const struct figures *f, const char *path,
                                const char *const results[], int nresults, struct error *e)
{
    struct replace file;
    enum status status = replace_open(&file, path, e);
    if (status)
        return status;
    status = report_write(file.stream, s, f, results, (size_t)nresults, e);
    if (!status)
        return replace_commit(&file, e);
    replace_abort(&file);
    return status;
}

static enum status print(const struct figures *f, const struct options *o, struct error *e)
{
    if (!o->json || strcmp(o->json, "-") != 0)
        figures_print(f, stdout);
    if (fflush(stdout) || ferror(stdout))
        return error_errno(e, STATUS_FAILED, "cannot write the figures");
    return o->json ? write_json(f, o->json, e) : STATUS_OK;
}

/* All that is required is checked; the first that does not hold is the error. */
static enum status check(const struct figures *f, const struct options *o, struct error *e)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < o->require.count; i++) {
        const char *text = o->require.text[i];
        double value;
        bool met;
        struct error cause;
        enum status s = figures_require(f, text, &met, &value, &cause);
        if (!s && !met && isfinite(value))
            s = error_set(&cause, STATUS_FAILED, "required %s: it is %.6g", text, value);
        else if (!s && !met)
            s = error_set(&cause, STATUS_FAILED, "required %s: it is absent", text);
        if (s && status)
            log_line(LOG_ERROR, "%s", cause.text);
        if (s && !status) {
            *e = cause;
            status = s;
        }
    }
    return status;
}

/* --- program ------------------------------------------------------------------ */

static enum status score_all(struct score *s, struct figures *f, const struct options *o,
                             const char *const paths[], int npaths, struct error *e)
{
    static struct merged merged;
    const char *frames[OPERANDS_MAX];
    size_t nframes = 0;
    enum status status = STATUS_OK;
    for (int i = 1; i < npaths && !status; i++)
        if (merged_is(paths[i]))
            status = merged_take(&merged, paths[i], s->key, e);
        else
            frames[nframes++] = paths[i];
    if (!status && nframes) {
        status = take_results(s, o, frames, nframes, e);
        status = status ? status : score_close(s, e);
    }
    if (status)
        return status;
    f->count = f->nnotes = f->ncurves = 0;
    if (nframes)
        score_figures(s, f);
    merged_figures(&merged, f);
    if (s->settings->again)
        status = take_sent(s, o->sent ? o->sent : s->key->path, f, e);
    status = status ? status : print(f, o, e);
    if (!status && o->report)
        status = write_report(s, f, o->report, paths + 1, npaths - 1, e);
    return status ? status : check(f, o, e);
}

/* What is wrong with the options is said before anything is read. */
static enum status check_options(const struct options *o, struct symmetry *group, struct error *e)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < o->require.count && !status; i++) {
        double value;
        bool met;
        status = figures_require(NULL, o->require.text[i], &met, &value, e);
    }
    if (!status && o->hit[0] != rint(o->hit[0]))
        status =
            error_set(e, STATUS_USAGE, "--hit: %g is no whole number of reflections", o->hit[0]);
    return status || !o->symmetry ? status : symmetry_find(o->symmetry, group, e);
}

static enum status run(const struct options *o, const char *const paths[], int npaths,
                       struct error *e)
{
    static struct figures figures;
    static struct symmetry group;
    static struct shown shown;
    enum status status = check_options(o, &group, e);
    if (status)
        return status;
    static struct key key;
    static struct score score;
    status = key_open(&key, paths[0], e);
    const struct score_settings settings = {.angle_deg = o->angle_deg,
                                            .hit_spots = (int64_t)o->hit[0],
                                            .strong_photons = o->hit[1],
                                            .group = o->symmetry ? &group : NULL,
                                            .again = o->sent || key.sent};
    if (!status)
        status = score_begin(&score, &settings, &key, e);
    score.shown = o->report ? &shown : NULL;
    if (!status)
        status = score_all(&score, &figures, o, paths, npaths, e);
    score_end(&score);
    shown_free(&shown);
    key_close(&key);
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
        run(&o, paths, npaths, &e))
        return log_fail(&e);
    return STATUS_OK;
}
