#include "score_results.h"

#include <signal.h>

#include "base/log.h"
#include "score/results.h"

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

enum { CAUGHT = 2 };
static const int caught[CAUGHT] = {SIGINT, SIGTERM};

/* Ctrl-C ends the waiting, not the program; `before` gets what it did. */
static void catch_interrupts(struct sigaction before[CAUGHT])
{
    const struct sigaction action = {.sa_handler = interrupt};
    for (size_t i = 0; i < CAUGHT; i++)
        (void)sigaction(caught[i], &action, &before[i]);
}

/* Nobody looks at the flag any more. */
static void let_interrupts(const struct sigaction before[CAUGHT])
{
    for (size_t i = 0; i < CAUGHT; i++)
        (void)sigaction(caught[i], &before[i], NULL);
}

/* Spots on a panel that the results do not have count as missed. */
static enum status match(struct detectors *d, const struct nxmx_geometry *truth,
                         const struct geom_panel *panels, size_t count, const char *path,
                         struct error *e)
{
    const enum status s = detectors_match(d, truth->panels, truth->npanels, panels, count, path, e);
    if (!s && panels && count < truth->npanels)
        log_line(LOG_WARNING,
                 "%s: has %zu of the %zu panels of the key: spots on the others count as missed",
                 path, count, truth->npanels);
    return s;
}

static enum status take_answers(struct score *s, struct results *in, struct answer *a,
                                struct detectors *d, struct error *e)
{
    const struct key *k = s->key;
    const struct nxmx_geometry *truth = k->detector;
    bool more = true, first = true;
    enum status status = STATUS_OK;
    while (!status && !(status = results_next(in, a, &more, e)) && more) {
        size_t count;
        const struct geom_panel *panels = results_panels(in, &count);
        if (first && k->tells.summed && !results_of_rotation(in))
            return error_set(e, STATUS_INPUT,
                             "%s: tells of frames one by one, where the reflections of %s are sums "
                             "over a rotation: the key of these results is an NXmx file, a "
                             "recording, or a table for each frame",
                             in->path, k->path);
        if (first && k->tells.no_detector)
            status = detectors_assume(d, truth->panels, truth->npanels, k->tells.panel0, panels,
                                      count, e);
        else if (first)
            status = match(d, truth, panels, count, in->path, e);
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

enum status score_results(struct score *s, const char *const paths[], size_t npaths,
                          double follow_s, struct error *e)
{
    struct results_files files[SCORE_RESULTS_MAX + 1];
    const struct follow follow = {.seconds = follow_s, .done = is_done, .of = s};
    size_t count;
    enum status status = results_pair(paths, npaths, files, &count, e);
    struct sigaction before[CAUGHT];
    for (size_t i = 0; i < count && !status; i++) {
        const bool last = follow_s > 0.0 && i + 1 == count;
        if (last)
            catch_interrupts(before);
        if (last && files[i].expt)
            status = error_set(e, STATUS_USAGE, "--follow: %s is written at once, must be a text",
                               files[i].path);
        else if (results_folder_is(files[i].path))
            status = take_folder(s, files[i].path, last ? &follow : NULL, e);
        else
            status = take_result(s, &files[i], last ? &follow : NULL, e);
        if (last)
            let_interrupts(before);
    }
    results_unpair(files, count);
    return status;
}
