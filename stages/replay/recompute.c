/* bragg-replay --recompute: computes a frame again and compares it. */
#include "recompute.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/history.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/program.h"
#include "difference.h"
#include "provenance.h"
#include "recompute_files.h"
#include "rerun_stages.h"
#include "wire/codec.h"

/* A frame of a recording, with the message from which it was decoded. */
struct made {
    struct experiment experiment;
    struct message message;
    struct frame frame;
    struct message copy;  // copy of the message before the frame took its pixels
};

struct again {
    struct provenance origin;
    struct recording recording;  // recording of the recomputed frame
    struct made new;
    char folder[PROVENANCE_PATH_MAX];
    bool differs;
};

/* The path of a file in the temporary folder. */
struct path {
    char text[PROVENANCE_PATH_MAX + 16];
};

static struct path inside(const struct again *a, const char *name)
{
    struct path p;
    (void)snprintf(p.text, sizeof p.text, "%s/%s", a->folder, name);
    return p;
}

/* --- frames of recordings ------------------------------------------------ */

static void made_free(struct made *m)
{
    frame_free(&m->frame);
    message_free(&m->message);
    message_free(&m->copy);
    experiment_free(&m->experiment);
}

/* Reads frame `id` of a recording, with its experiment.  The caller frees *m, also after an error.
 */
static enum status read_frame(const struct recording *r, uint64_t id, struct made *m,
                              struct error *e)
{
    struct route route;
    struct message first = {0};
    enum status s = recording_experiment(r, &route, &first, e);
    if (s == STATUS_OK)
        s = codec_experiment_decode(&m->experiment, &first, e);
    message_free(&first);
    const struct recording_entry *entry = recording_list_find(&r->frames, id);
    if (s == STATUS_OK && !entry)
        s = error_set(e, STATUS_INPUT, "%s: frame %" PRIu64 " not found", r->path, id);
    const struct codec_expected expected = codec_expect(&m->experiment);
    if (s == STATUS_OK)
        s = recording_frame(r, entry, &route, &m->copy, e);
    if (s == STATUS_OK)
        s = recording_frame(r, entry, &route, &m->message, e);
    if (s == STATUS_OK)
        s = codec_frame_decode(&m->frame, &expected, &m->message, e);
    if (s == STATUS_OK && !planes_expand(&m->frame.planes, expected.pixels))
        s = error_memory(e, "the planes");  // complete images, as in files
    return s;
}

/* Checks that stages, options and input files are the same as when the frame was made. */
static enum status check_history(const struct again *a, struct error *e)
{
    const struct provenance *o = &a->origin;
    const struct experiment *x = &a->new.experiment;
    char what[HISTORY_DIFFERENCE_SIZE], brief[EXPERIMENT_HISTORY_SIZE] = "";
    const char *now = x->history;
    size_t used = 0;
    for (const char *line = now; o->brief && *line; line += strcspn(line, "\n"), line += *line != 0)
        if (history_brief(line, brief + used, sizeof brief - used - 2)) {
            used = strlen(brief);
            memcpy(brief + used++, "\n", 2);
        }
    if (history_difference(o->history, o->brief ? brief : now, what))
        return error_set(e, STATUS_INPUT, "%s", what);
    if (*o->lineage && strcmp(o->lineage, x->lineage) != 0)
        return error_set(e, STATUS_INPUT,
                         "the lineage was %.16s and is %.16s. Did an input file change?",
                         o->lineage, x->lineage);
    return STATUS_OK;
}

/* --- comparing ----------------------------------------------------------- */

static bool same_messages(const struct message *a, const struct message *b)
{
    bool same = a->nparts == b->nparts;
    for (size_t i = 1; same && i < a->nparts; i++)
        same = a->parts[i].size == b->parts[i].size &&
               memcmp(a->parts[i].data, b->parts[i].data, a->parts[i].size) == 0;
    return same;
}

static enum status compare_recorded(struct again *a, struct error *e)
{
    struct made old = {0};
    char name[PROVENANCE_PATH_MAX + 40];
    const enum status s = read_frame(&a->origin.recording, a->origin.id, &old, e);
    (void)snprintf(name, sizeof name, "%s: frame %" PRIu64, a->origin.recording.path, a->origin.id);
    if (s == STATUS_OK && same_messages(&old.copy, &a->new.copy)) {
        report_line(name, "the same bytes");
    } else if (s == STATUS_OK) {
        a->differs = true;
        if (!report_pixels(&a->new.experiment, name, &old.frame.image, &a->new.frame.image))
            report_line(name, "the recipe differs");
    }
    made_free(&old);
    return s;
}

static enum status compare(struct again *a, struct error *e)
{
    if (a->origin.recorded)
        return compare_recorded(a, e);
    const struct recomputed r = {.experiment = &a->new.experiment,
                                 .frame = &a->new.frame,
                                 .folder = a->folder,
                                 .scale = a->origin.scale};
    enum status s = STATUS_OK;
    for (int i = 0; i < a->origin.nfiles && s == STATUS_OK; i++) {
        bool differs;
        s = recompute_compare_file(&r, a->origin.files[i], &differs, e);
        a->differs = a->differs || differs;
    }
    return s;
}

/* --- all ----------------------------------------------------------------- */

/* Computes the frame again from its history. */
static enum status make(struct again *a, const char *target, struct error *e)
{
    struct error cause = {0};
    const struct path record = inside(a, "frame.rec");
    enum status s =
        rerun_stages(a->origin.history, a->origin.id, record.text, inside(a, "said").text, &cause);
    if (s == STATUS_OK)
        s = recording_open(&a->recording, record.text, &cause);
    if (s == STATUS_OK)
        s = read_frame(&a->recording, a->origin.id, &a->new, &cause);
    if (s == STATUS_OK)
        s = check_history(a, &cause);
    return s ? error_set(e, s, "%.200s: cannot be recomputed: %s", target, cause.text) : STATUS_OK;
}

static enum status run(struct again *a, const char *target, struct error *e)
{
    const char *temporary = getenv("TMPDIR");
    enum status s = provenance_open(&a->origin, target, e);
    if (s)
        return s;
    (void)snprintf(a->folder, sizeof a->folder, "%s/bragg-replay-XXXXXX",
                   temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(a->folder))
        return error_errno(e, STATUS_FAILED, "%s: cannot create", a->folder);
    s = make(a, target, e);
    if (s == STATUS_OK)
        s = compare(a, e);
    folder_remove(a->folder);
    return s;
}

static int recompute(const char *target)
{
    static struct again a = {.recording.file = -1};
    struct error e = {0};
    enum status s = run(&a, target, &e);
    made_free(&a.new);
    recording_close(&a.recording);
    provenance_close(&a.origin);
    if (s == STATUS_OK && (fflush(stdout) || ferror(stdout)))
        s = error_errno(&e, STATUS_FAILED, "cannot write to stdout");
    if (s == STATUS_INTERRUPTED)
        return (int)s;
    return s ? log_fail(&e) : a.differs ? (int)STATUS_FAILED : (int)STATUS_OK;
}

bool recompute_asked(int argc, char **argv)
{
    bool asked = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "--") == 0)
            return asked && argv[i][2] == 0;
        asked = asked || strcmp(argv[i], "--recompute") == 0;
    }
    return asked;
}

int recompute_main(int argc, char **argv)
{
    static const struct opt table[] = {
        {"recompute", NULL, "Compute frame K of FILE:K again and compare all bytes", OPT_FLAG,
         .offset = 0},
        {0},
    };
    const struct opt_program program = {.name = "bragg-replay",
                                        .summary = "Compute a frame again.",
                                        .operands = "FILE[:K]",
                                        .min_operands = 1,
                                        .max_operands = 1};
    const char *operand[1];
    bool given;
    int count;
    struct error e = {0};
    program_open(program.name);
    const enum status s =
        opt_parse(&program, table, &given, NULL, NULL, argc, argv, operand, &count, &e);
    return s ? log_fail(&e) : recompute(operand[0]);
}
