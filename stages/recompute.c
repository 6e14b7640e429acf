#include "recompute.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/history.h"
#include "base/log.h"
#include "base/opt.h"
#include "chain.h"
#include "io/image_file.h"
#include "origin.h"
#include "output.h"
#include "wire/codec.h"

/* A frame of a recording, and what it was decoded from. */
struct made {
    struct experiment experiment;
    struct message message;
    struct frame frame;
    struct message copy;  // of the message, before the frame took the pixels
};

struct again {
    struct origin origin;
    struct recording recording;  // of the new frame
    struct made new;
    char folder[ORIGIN_PATH_MAX];
    bool differs;
};

/* A file in the folder. */
struct path {
    char text[ORIGIN_PATH_MAX + 16];
};

static struct path inside(const struct again *a, const char *name)
{
    struct path p;
    (void)snprintf(p.text, sizeof p.text, "%s/%s", a->folder, name);
    return p;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    (void)remove(path);
    return 0;
}

/* --- frames of recordings ------------------------------------------------ */

static void made_free(struct made *m)
{
    frame_free(&m->frame);
    message_free(&m->message);
    message_free(&m->copy);
    experiment_free(&m->experiment);
}

/* Frame `id` of a recording, with its experiment; *m is freed by the caller in any case. */
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
        s = error_set(e, STATUS_INPUT, "%s: has no frame %" PRIu64, r->path, id);
    const struct codec_expected expected = codec_expect(&m->experiment);
    if (s == STATUS_OK)
        s = recording_frame(r, entry, &route, &m->copy, e);
    if (s == STATUS_OK)
        s = recording_frame(r, entry, &route, &m->message, e);
    return s ? s : codec_frame_decode(&m->frame, &expected, &m->message, e);
}

/* The stages, options and contents must be those of before. */
static enum status check_history(const struct again *a, struct error *e)
{
    const struct origin *o = &a->origin;
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
        return error_set(e, STATUS_INPUT, "its lineage was %.16s, is %.16s", o->lineage,
                         x->lineage);
    return STATUS_OK;
}

/* --- comparing ----------------------------------------------------------- */

static void say(const char *name, const char *what)
{
    printf("%s: %s\n", name, what);
}

/* Where a pixel is, for people. */
static void say_place(const struct experiment *x, size_t i, char text[64])
{
    const struct panel *p = x->panels;
    size_t number = 0;
    while (number + 1 < x->npanels && i >= (size_t)p[1].first_pixel) {
        number++;
        p++;
    }
    const size_t within = i - (size_t)p->first_pixel, width = (size_t)p->fast_pixels;
    const int used = snprintf(text, 64, "%zu,%zu", within % width, within / width);
    if (x->npanels > 1)
        (void)snprintf(text + used, 64 - (size_t)used, " of panel %zu", number);
}

/* Says which pixel differs first; false when none does. */
static bool say_pixels(const struct again *a, const char *name, const struct image *was,
                       const struct image *is)
{
    char place[64];
    size_t count = 0, first = 0;
    if (was->count != is->count || was->type != is->type) {
        printf("%s: had %zu pixels of %zu bytes, recomputed %zu of %zu\n", name, was->count,
               pixel_size(was->type), is->count, pixel_size(is->type));
        return true;
    }
    const size_t size = pixel_size(was->type);
    for (size_t i = was->count; i-- > 0;)
        if (memcmp((const char *)was->pixels + i * size, (const char *)is->pixels + i * size,
                   size) != 0) {
            first = i;
            count++;
        }
    if (!count)
        return false;
    say_place(&a->new.experiment, first, place);
    printf("%s: pixel %s is %.9g, recomputed %.9g; %zu of %zu pixels differ\n", name, place,
           image_value(was, first), image_value(is, first), count, was->count);
    return true;
}

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
    char name[ORIGIN_PATH_MAX + 40];
    const enum status s = read_frame(&a->origin.recording, a->origin.id, &old, e);
    (void)snprintf(name, sizeof name, "%s: frame %" PRIu64, a->origin.recording.path, a->origin.id);
    if (s == STATUS_OK && same_messages(&old.copy, &a->new.copy)) {
        say(name, "the same bytes");
    } else if (s == STATUS_OK) {
        a->differs = true;
        if (!say_pixels(a, name, &old.frame.image, &a->new.frame.image))
            say(name, "the recipe differs");
    }
    made_free(&old);
    return s;
}

/* --- files --------------------------------------------------------------- */

/* The first byte that differs; false when none does. */
static enum status compare_bytes(const char *was, const char *is, bool *differs, uint64_t *where,
                                 struct error *e)
{
    FILE *a = fopen(was, "rbe"), *b = fopen(is, "rbe");
    enum status s = STATUS_OK;
    if (!a || !b)
        s = error_errno(e, STATUS_INPUT, "%s: cannot open", a ? is : was);
    *differs = false;
    for (*where = 0; s == STATUS_OK; ++*where) {
        const int x = getc(a), y = getc(b);
        *differs = x != y;
        if (x != y || x == EOF)
            break;
    }
    if (a)
        (void)fclose(a);
    if (b)
        (void)fclose(b);
    return s;
}

static enum format format_of(const char *path)
{
    FILE *in = fopen(path, "rbe");
    char first[6] = "";
    const size_t got = in ? fread(first, 1, sizeof first, in) : 0;
    if (in)
        (void)fclose(in);
    if (got && first[0] == '{')
        return FORMAT_SMV;
    if (got == 6 && memcmp(first, "###CBF", 6) == 0)
        return FORMAT_CBF;
    if (got == 6 && memcmp(first, "\x89PNG", 4) == 0)
        return FORMAT_PNG;
    return got >= 2 && memcmp(first, "P5", 2) == 0 ? FORMAT_PGM : FORMAT_RAW;
}

static enum status say_difference(const struct again *a, const char *path, const char *again,
                                  uint64_t where, struct error *e)
{
    struct image_file was, is;
    enum status s = image_file_read(path, &was, e);
    if (s)
        return s;
    s = image_file_read(again, &is, e);
    if (s == STATUS_OK && !say_pixels(a, path, &was.image, &is.image))
        printf("%s: the same pixels, but byte %" PRIu64 " differs\n", path, where);
    image_free(&was.image);
    if (s == STATUS_OK)
        image_free(&is.image);
    return s;
}

/* One file of the frame; pictures are not compared: how they were drawn is not known. */
static enum status compare_file(struct again *a, const char *path, struct error *e)
{
    const struct path again = inside(a, "frame.img");
    struct output output = {.format = format_of(path)};
    const struct output_settings settings = {.has_scale = a->origin.has_scale,
                                             .scale = a->origin.scale};
    if (output.format == FORMAT_PNG || output.format == FORMAT_PGM) {
        log_line(LOG_INFO, "%s: a picture, passed over", path);
        return STATUS_OK;
    }
    bool differs = false;
    uint64_t where;
    enum status s =
        output_write(&output, &settings, &a->new.experiment, &a->new.frame, again.text, e);
    output_close(&output);
    if (s == STATUS_OK)
        s = compare_bytes(path, again.text, &differs, &where, e);
    if (s == STATUS_OK && !differs)
        say(path, "the same bytes");
    if (s == STATUS_OK && differs)
        s = say_difference(a, path, again.text, where, e);
    a->differs = a->differs || differs;
    return s;
}

static enum status compare(struct again *a, struct error *e)
{
    if (a->origin.recorded)
        return compare_recorded(a, e);
    enum status s = STATUS_OK;
    for (int i = 0; i < a->origin.nfiles && s == STATUS_OK; i++)
        s = compare_file(a, a->origin.files[i], e);
    return s;
}

/* --- all ----------------------------------------------------------------- */

/* The new frame, of the same history. */
static enum status make(struct again *a, const char *target, struct error *e)
{
    struct error cause = {0};
    const struct path record = inside(a, "frame.rec");
    enum status s =
        chain_run(a->origin.history, a->origin.id, record.text, inside(a, "said").text, &cause);
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
    enum status s = origin_open(&a->origin, target, e);
    if (s)
        return s;
    (void)snprintf(a->folder, sizeof a->folder, "%s/bragg-replay-XXXXXX",
                   temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(a->folder))
        return error_errno(e, STATUS_FAILED, "%s: cannot create", a->folder);
    s = make(a, target, e);
    if (s == STATUS_OK)
        s = compare(a, e);
    (void)nftw(a->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return s;
}

static int recompute(const char *target)
{
    static struct again a = {.recording.file = -1};
    struct error e = {0};
    enum status s = run(&a, target, &e);
    made_free(&a.new);
    recording_close(&a.recording);
    origin_close(&a.origin);
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
    log_open(program.name);
    const enum status s =
        opt_parse(&program, table, &given, NULL, NULL, argc, argv, operand, &count, &e);
    return s ? log_fail(&e) : recompute(operand[0]);
}
