/* Reads, from a file of any format, how a frame was made. */
#include "replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/filetype.h"
#include "base/history.h"
#include "base/opt.h"
#include "io/nxmx/nxmx.h"
#include "stage/stage.h"
#include "wire/codec.h"

#define UNTOLD "%s: does not contain its options. Use its index, as in NAME.index:K"

enum { HEADER_MAX = 1 << 18 };  // bytes at the start of an image that are searched for a header

/* The argument of --recompute: a file and a frame number. */
struct target {
    char path[PROVENANCE_PATH_MAX];
    bool has_id;
    uint64_t id;
};

static enum status parse_target(const char *text, struct target *t, struct error *e)
{
    const char *colon = strrchr(text, ':');
    int length = (int)strlen(text);
    *t = (struct target){0};
    if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
        int64_t id;
        const enum status s = parse_int(colon + 1, 0, INT64_MAX, "the number of the frame", &id, e);
        if (s)
            return s;
        t->has_id = true;
        t->id = (uint64_t)id;
        length = (int)(colon - text);
    }
    if (snprintf(t->path, sizeof t->path, "%.*s", length, text) >= (int)sizeof t->path)
        return error_set(e, STATUS_USAGE, "the file name is too long");
    return STATUS_OK;
}

/* --- history ------------------------------------------------------------- */

/* Reads --scale from the line of bragg-write, in the complete or the brief form. */
static void take_scale(struct provenance *o, const char *line)
{
    char text[64];
    const char *number = text;
    if (!history_value(line, "scale", text, sizeof text)) {
        if (!history_value(line, HISTORY_GIVEN, text, sizeof text) ||
            strncmp(text, "--scale=", 8) != 0)
            return;
        number = text + 8;
    }
    (void)parse_real(number, 1e-300, 1e12, "--scale", &o->scale, NULL);
}

/* Adds one line of `length` bytes, without its newline, to the history.  A line of bragg-write
 * is not added; only its --scale is stored.  STATUS_INPUT: the image is a sum of frames. */
static enum status add_line(struct provenance *o, const char *line, size_t length, const char *path,
                            struct error *e)
{
    const size_t used = strlen(o->history);
    char frames[24];
    if (strncmp(line, "bragg-write\t", 12) == 0) {
        if (history_value(line, HISTORY_SUMMED, frames, sizeof frames))
            return error_set(e, STATUS_INPUT,
                             "%s: is the sum of %s frames; expected a single frame. Use a file of "
                             "the frames",
                             path, frames);
        take_scale(o, line);
        return STATUS_OK;
    }
    if (length + 2 > sizeof o->history - used)
        return error_set(e, STATUS_INPUT, "%s: the stored history is too long", path);
    (void)snprintf(o->history + used, sizeof o->history - used, "%.*s\n", (int)length, line);
    return STATUS_OK;
}

/* --- the header of an image ---------------------------------------------- */

/* Returns the value of a header line that begins with `key`, and terminates the value with NUL.
 * NULL: the line has another key. */
static char *header_value(char *line, const char *key)
{
    if (strncmp(line, "# ", 2) == 0)
        line += 2;
    if (strncmp(line, key, strlen(key)) != 0)
        return NULL;
    char *value = line + strlen(key);
    if (key[strlen(key) - 1] == '_')
        value += strspn(value, "0123456789");
    if (*value != '=' && *value != ' ')
        return NULL;
    value++;
    char *end = value + strlen(value);
    while (end > value && (end[-1] == ';' || end[-1] == '\r'))
        *--end = 0;
    return value;
}

static enum status take_header_line(struct provenance *o, char *line, const char *path,
                                    bool *has_id, struct error *e)
{
    char *value;
    if ((value = header_value(line, "BRAGG_FRAME"))) {
        o->id = strtoull(value, NULL, 10);
        *has_id = true;
    } else if ((value = header_value(line, "BRAGG_LINEAGE"))) {
        (void)snprintf(o->lineage, sizeof o->lineage, "%s", value);
    } else if ((value = header_value(line, "BRAGG_STAGE_"))) {
        for (char *at = value; (at = strchr(at, '~')); at++)
            *at = '=';
        return add_line(o, value, strlen(value), path, e);
    }
    return STATUS_OK;
}

static enum status read_image(struct provenance *o, const struct target *t, FILE *in,
                              struct error *e)
{
    char *header = mem_array(HEADER_MAX + 1, 1), *rest = header;
    header[fread(header, 1, HEADER_MAX, in)] = 0;
    header[strcspn(header, "\f")] = 0;  // end of the header in SMV and CBF
    enum status s = STATUS_OK;
    bool has_id = false;
    for (char *line = strsep(&rest, "\n"); line && s == STATUS_OK; line = strsep(&rest, "\n"))
        s = take_header_line(o, line, t->path, &has_id, e);
    mem_free(header);
    if (s)
        return s;
    if (!has_id || !o->history[0])
        return error_set(e, STATUS_INPUT, UNTOLD, t->path);
    if (t->has_id && t->id != o->id)
        return error_set(e, STATUS_INPUT, "%s: contains frame %" PRIu64 "; expected frame %" PRIu64,
                         t->path, o->id, t->id);
    o->brief = true;
    o->nfiles = 1;
    memcpy(o->files[0], t->path, sizeof t->path);
    return STATUS_OK;
}

/* --- NXmx ---------------------------------------------------------------- */

/* Sets o->id to the requested frame of an NXmx file, or to its only frame.  STATUS_USAGE: no
 * frame was requested and there are several.  STATUS_INPUT: the frame was not found. */
static enum status choose_frame(struct provenance *o, const struct target *t,
                                const struct nxmx_rows *rows, struct error *e)
{
    if (!t->has_id && rows->nframes != 1)
        return error_set(e, STATUS_USAGE, "%s contains %zu frames. Name one, as in %s:%" PRIu64,
                         t->path, rows->nframes, t->path,
                         rows->nframes ? rows->frames[0].number : 0);
    o->id = t->has_id ? t->id : rows->frames[0].number;
    if (nxmx_rows_find(rows, o->id) < 0)
        return error_set(e, STATUS_INPUT, "%s: frame %" PRIu64 " not found", t->path, o->id);
    return STATUS_OK;
}

static enum status read_nxmx(struct provenance *o, const struct target *t, struct error *e)
{
    char history[EXPERIMENT_HISTORY_SIZE];
    struct nxmx_rows rows;
    enum status s = nxmx_read_truth(t->path, history, &rows, e);
    if (s == STATUS_OK)
        s = choose_frame(o, t, &rows, e);
    nxmx_rows_free(&rows);
    for (const char *line = history; *line && s == STATUS_OK;
         line += strcspn(line, "\n"), line += *line != 0)
        s = add_line(o, line, strcspn(line, "\n"), t->path, e);
    if (s)
        return s;
    if (!o->history[0])
        return error_set(e, STATUS_INPUT, UNTOLD, t->path);
    o->nfiles = 1;
    memcpy(o->files[0], t->path, sizeof t->path);
    return STATUS_OK;
}

/* --- the line of a frame in an index ------------------------------------- */

/* Reads the file names of an index line, from column `first` on.  Relative names are relative to
 * the folder of the index. */
static void take_names(struct provenance *o, const struct target *t, int first, char *line)
{
    const char *slash = strrchr(t->path, '/');
    int column = 0;
    o->nfiles = 0;
    for (char *word = strsep(&line, "\t\n"); word; word = strsep(&line, "\t\n"))
        if (column++ >= first && *word && o->nfiles < PROVENANCE_FILES_MAX)
            (void)snprintf(o->files[o->nfiles++], PROVENANCE_PATH_MAX, "%.*s%s",
                           slash && *word != '/' ? (int)(slash + 1 - t->path) : 0, t->path, word);
}

static enum status read_index(struct provenance *o, const struct target *t, FILE *in,
                              struct error *e)
{
    char *line = NULL;
    size_t room = 0;
    int names = 4;  // column of the first file name
    enum status s = STATUS_OK;
    while (s == STATUS_OK && getline(&line, &room, in) > 0) {
        if (strncmp(line, "# ", 2) == 0)
            s = add_line(o, line + 2, strcspn(line + 2, "\n"), t->path, e);
        else if (line[0] >= '0' && line[0] <= '9' && strtoull(line, NULL, 10) == t->id)
            take_names(o, t, names, line);
        else if (strncmp(line, "bragg-index 2 ", 14) == 0)
            names = 3;
    }
    free(line);
    if (s)
        return s;
    if (!t->has_id)
        return error_set(e, STATUS_USAGE, "no frame given. Name one, as in %s:0", t->path);
    if (!o->nfiles)
        return error_set(e, STATUS_INPUT, "%s: frame %" PRIu64 " not found", t->path, t->id);
    o->id = t->id;
    return STATUS_OK;
}

/* --- a recording --------------------------------------------------------- */

static enum status read_recording(struct provenance *o, const struct target *t, struct error *e)
{
    struct experiment x = {0};
    struct route route;
    struct message m = {0};
    enum status s = filetype_check_file(t->path, FILETYPE_FRAMES, e);
    s = s ? s : recording_open(&o->recording, t->path, e);
    o->recorded = true;
    if (s)
        return s;
    const struct recording_list *all = &o->recording.frames;
    if (o->recording.kind == KIND_EXPERIMENT)
        return error_set(e, STATUS_INPUT, "%s: contains an experiment and no frames", t->path);
    if (!t->has_id && all->count != 1)
        return error_set(e, STATUS_USAGE, "%s contains %zu frames. Name one, as in %s:0", t->path,
                         all->count, t->path);
    o->id = t->has_id ? t->id : all->entries[0].id;
    if (!recording_list_find(all, o->id))
        return error_set(e, STATUS_INPUT, "%s: frame %" PRIu64 " not found", t->path, o->id);
    s = recording_experiment(&o->recording, &route, &m, e);
    if (s == STATUS_OK)
        s = codec_experiment_decode(&x, &m, e);
    memcpy(o->history, x.history, sizeof x.history);
    memcpy(o->lineage, x.lineage, sizeof x.lineage);
    message_free(&m);
    experiment_free(&x);
    return s;
}

enum status provenance_open(struct provenance *o, const char *target, struct error *e)
{
    struct target t;
    *o = (struct provenance){.recording.file = -1};
    enum status s = parse_target(target, &t, e);
    if (s)
        return s;
    struct stat st;
    if (stat(t.path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(e, STATUS_INPUT,
                         "%s: not an ordinary file; expected an image, an index or a recording",
                         t.path);
    FILE *in = fopen(t.path, "rbe");
    if (!in)
        return error_errno(e, STATUS_INPUT, "%s: cannot open", t.path);
    char first[12] = {0};
    const size_t got = fread(first, 1, sizeof first, in);
    rewind(in);
    if (got && (first[0] == '{' || strncmp(first, "###CBF", 6) == 0))
        s = read_image(o, &t, in, e);
    else if (memcmp(first, "\x89HDF\r\n", 6) == 0)
        s = read_nxmx(o, &t, e);
    else if (strncmp(first, "bragg-index ", 12) == 0)
        s = read_index(o, &t, in, e);
    else
        s = read_recording(o, &t, e);
    (void)fclose(in);
    return s;
}

void provenance_close(struct provenance *o)
{
    if (o->recorded)
        recording_close(&o->recording);
}
