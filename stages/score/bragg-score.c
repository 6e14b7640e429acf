/*
 * bragg-score: what an analysis found in frames against the answer key of these frames.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/opt.h"
#include "base/program.h"
#include "score/key.h"
#include "score/merged.h"
#include "score_output.h"
#include "score_results.h"

struct options {
    const char *json, *report, *symmetry;
    struct opt_texts keys, require, sent;
    double angle_deg, hit[2], follow_s;
    struct opt_marks given;
};

enum { OPERANDS_MAX = SCORE_RESULTS_MAX + 1, KEYS_MAX = OPERANDS_MAX + OPT_TEXTS_MAX };

#define AT(member) offsetof(struct options, member)

static const struct opt table[] = {
    {"key", "FILE",
     "One of several keys of the same detector and crystals; may be repeated; all operands are "
     "results then (the first operand)",
     .type = OPT_TEXTS, .offset = AT(keys)},
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
     "faults; may be repeated",
     .type = OPT_TEXTS, .offset = AT(sent)},
    {"follow", "SECONDS",
     "Read the last RESULT, a text or a folder, while it grows, until all frames of the key have "
     "answers, nothing comes for so long, or Ctrl-C",
     OPT_REAL, AT(follow_s), .min = 0.1, .max = 1e6, .flags = OPT_BARE, .usual = "10"},
    OPT_END(struct options, given),
};

static const struct opt_program program = {
    .name = "bragg-score",
    .summary = "Score what an analysis found against the answer key of the frames.",
    .examples = "bragg-score key.nxs o.stream\n"
                "bragg-score --report=score.html --require='spots.recall>=0.9' "
                "--require='angle_deg.median<=0.05' key.nxs o.stream",
    .operands = "KEY... RESULT...",
    .min_operands = 1,
    .max_operands = OPERANDS_MAX,
    .details =
        "KEY is an NXmx file that bragg-write made of frames with reflections "
        "(bragg-intensity --reflections), their recording, or a table of the truth: run.refl, "
        "key_%04d.refl, run.stream, run.tsv, those of bragg-orient --truth and bragg-serve --key. "
        "NXmx files and recordings behind it are keys, too; --key names several of any form.\n"
        "RESULT is a stream of CrystFEL, files of DIALS (.refl with .expt), a table of "
        "peaks (.tsv, .txt), a merged set (.hkl, .mtz), or a folder of the former.\n"
        "Status 0: done, and all that is required holds; 1: it does not; 3: a file cannot be "
        "scored.",
};

/* --- operands ------------------------------------------------------------------- */

struct files {
    const char *keys[KEYS_MAX], *results[OPERANDS_MAX];
    size_t nkeys, nresults;
};

/* What can be no result, before others, is a key. */
static bool is_key(const char *path)
{
    return nxmx_is_hdf5(path) || key_recording_is(path);
}

static enum status sort_operands(struct files *f, const struct opt_texts *keys,
                                 const char *const paths[], int npaths, struct error *e)
{
    for (size_t i = 0; i < keys->count; i++)
        f->keys[f->nkeys++] = keys->text[i];
    for (int i = 0; i < npaths; i++)
        if (!f->nkeys || (!f->nresults && i + 1 < npaths && is_key(paths[i])))
            f->keys[f->nkeys++] = paths[i];
        else
            f->results[f->nresults++] = paths[i];
    return f->nresults ? STATUS_OK
                       : error_set(e, STATUS_USAGE, "RESULT is missing: what is to be scored?");
}

/* --- program ------------------------------------------------------------------ */

/* What the files of --sent, or else those keys that can, say of messages. */
static enum status take_sent(struct score *s, const struct opt_texts *files, struct figures *f,
                             struct error *e)
{
    struct sent sent = {0};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < files->count && !status; i++)
        status = sent_read(files->text[i], &sent, e);
    for (size_t i = 0; i < s->key->nparts && !files->count && !status; i++)
        if (s->key->parts[i].tells.sent)
            status = sent_read(s->key->parts[i].path, &sent, e);
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
        if (merged_is(files->results[i]))
            status = merged_take(&merged, files->results[i], s->key, e);
        else
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
    status = status ? status : score_print(f, o->json, e);
    if (!status && o->report)
        status = score_report(s, f, o->report, files->results, files->nresults, e);
    return status ? status : score_require(f, &o->require, e);
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

/* The letter of a symbol; none for the number of a group. */
static char centring_of(const char *symmetry)
{
    return (char)(symmetry && *symmetry && strchr("PABCIRF", *symmetry) ? *symmetry : 0);
}

static enum status run(const struct options *o, const char *const paths[], int npaths,
                       struct error *e)
{
    static struct figures figures;
    static struct symmetry group;
    static struct shown shown;
    static struct files files;
    enum status status = check_options(o, &group, e);
    status = status ? status : sort_operands(&files, &o->keys, paths, npaths, e);
    if (status)
        return status;
    static struct key key;
    static struct score score;
    status = key_open(&key, files.keys, files.nkeys, e);
    const struct score_settings settings = {.angle_deg = o->angle_deg,
                                            .hit_spots = (int64_t)o->hit[0],
                                            .strong_photons = o->hit[1],
                                            .group = o->symmetry ? &group : NULL,
                                            .centring = centring_of(o->symmetry),
                                            .again = o->sent.count || key.tells.sent};
    if (!status)
        status = score_begin(&score, &settings, &key, e);
    score.shown = o->report ? &shown : NULL;
    if (!status)
        status = score_all(&score, &figures, o, &files, e);
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
