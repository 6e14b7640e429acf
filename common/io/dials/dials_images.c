/* The images of experiments of DIALS: a sequence for each rotation, a set for each still. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/dials/dials.h"

struct sets {
    FILE *out;
    struct dials_images images;
    const char *path;  // of the list of experiments
    uint64_t count;
};

static size_t folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash + 1 - path) : 0;
}

static void write_text(FILE *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"' || text[i] == '\\')
            fputc('\\', out);
        fputc(text[i], out);
    }
}

/* Before the name in its folder: DIALS looks from that of the experiments on. */
static void write_folder(const struct sets *s)
{
    const char *text = s->images.files->text;
    const size_t own = folder_of(text);
    if (own == folder_of(s->path) && memcmp(text, s->path, own) == 0)
        return;
    char *folder = own ? strndup(text, own) : strdup(".");
    char *real = folder ? realpath(folder, NULL) : NULL;
    if (real) {
        write_text(s->out, real, strlen(real));
        fputc('/', s->out);
    } else {
        write_text(s->out, text, own);
    }
    free(real);
    free(folder);
}

/* With # for each digit of the number. */
static void write_template(const struct sets *s)
{
    const struct template *t = s->images.files;
    const size_t own = folder_of(t->text);
    write_folder(s);
    if (!template_is_numbered(t)) {  // start and end tell nothing then
        write_text(s->out, t->text + own, strlen(t->text + own));
        return;
    }
    write_text(s->out, t->text + own, t->start - own);
    for (int i = 0; i < (t->width ? t->width : 1); i++)
        fputc('#', s->out);
    write_text(s->out, t->text + t->end, strlen(t->text + t->end));
}

static void write_file(const struct sets *s, uint64_t id)
{
    char name[TEMPLATE_PATH_MAX];
    template_name(s->images.files, id, name);
    write_folder(s);
    write_text(s->out, name + folder_of(name), strlen(name + folder_of(name)));
}

static void write_set(void *state, const struct dials_sweep *sweep)
{
    struct sets *s = state;
    const bool still = sweep->start->osc_rad == 0.0;
    fprintf(s->out, "%s{\"__id__\": \"%s", s->count++ ? ",\n  " : "",
            still ? "ImageSet\", \"images\": [\"" : "ImageSequence\", \"template\": \"");
    if (still)
        write_file(s, sweep->start->id);
    else
        write_template(s);
    fputs(still ? "\"], " : "\", ", s->out);
    if (!template_is_numbered(s->images.files)) {
        fputs("\"single_file_indices\": [", s->out);
        for (uint64_t i = 0; i < sweep->count; i++)
            fprintf(s->out, "%s%" PRIu64, i ? ", " : "", sweep->place + i);
        fputs("], ", s->out);
    }
    fputs("\"mask\": null, \"gain\": null, \"pedestal\": null, \"dx\": null, \"dy\": null, "
          "\"params\": {\"dynamic_shadowing\": \"Auto\", \"multi_panel\": false}}",
          s->out);
}

static void note_backwards(void *backwards, const struct dials_sweep *sweep)
{
    *(bool *)backwards |= sweep->start->osc_rad < 0.0;
}

enum status dials_choose_images(struct dials_images *images, const struct records *all,
                                struct error *e)
{
    bool backwards = false;
    const struct dials_visitor visitor = {.state = &backwards, .sweep = note_backwards};
    if (!images->files || !template_is_numbered(images->files))
        return STATUS_OK;
    const enum status s = dials_walk(all, &visitor, e);
    if (backwards)
        images->files = images->instead;
    return s;
}

enum status dials_write_images(FILE *out, struct dials_images images, const struct records *all,
                               const char *path, struct error *e)
{
    struct sets sets = {.out = out, .images = images, .path = path};
    const struct dials_visitor visitor = {.state = &sets, .sweep = write_set};
    fputs("\"imageset\": [", out);
    const enum status s = images.files ? dials_walk(all, &visitor, e) : STATUS_OK;
    fputs("],\n", out);
    return s;
}
