/*
 * Opens ground truth of any kind.  Recordings, CrystFEL streams, DIALS tables and tables of text
 * have two functions each: one says whether a file is of its kind, the other reads all frames of
 * the file into a truth_part, where their reflections stay in memory.  The reflections of an NXmx
 * file stay in the file until truth_part_reach reads them.
 */
#include "score/truth.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/filetype.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/nxmx/nexus.h"
#include "io/nxmx/nxmx.h"
#include "io/output/output_file.h"
#include "score/lines.h"
#include "score/results.h"
#include "wire/codec.h"
#include "wire/recording.h"

/* ==== recordings ============================================================== */

/* Properties that all frames of a recording share. */
struct recording_truth {
    struct recording recording;
    struct experiment x;
    struct codec_expected expected;
    double axes[9];  // rows: axes of the coordinate system of the beam, in the laboratory frame
};

bool truth_recording_is(const char *path)
{
    return filetype_begins(path, LAYOUT_HEADER_MAGIC, 8);
}

static enum status open_experiment(struct recording_truth *p, const char *path, struct error *e)
{
    struct route route;
    struct message m = {0};
    enum status s = recording_open(&p->recording, path, e);
    s = s ? s : recording_experiment(&p->recording, &route, &m, e);
    s = s ? s : codec_experiment_decode(&p->x, &m, e);
    message_free(&m);
    if (s)
        return s;
    p->expected = codec_expect(&p->x);
    experiment_nexus_axes(&p->x, p->axes);
    for (int i = 0; i < 6; i++)
        p->axes[i] = 0.0 - p->axes[i];  // (-x, -y, z) of NeXus
    return STATUS_OK;
}

static enum status open_played(struct recording_truth *p, const char *path, struct error *e)
{
    const enum status s = open_experiment(p, path, e);
    return s || p->recording.kind == RECORDING_IMAGES
               ? s
               : error_set(e, STATUS_INPUT,
                           "%s: no images found; expected a recording of the output of "
                           "bragg-intensity",
                           path);
}

static void close_played(struct recording_truth *p)
{
    recording_close(&p->recording);
    experiment_free(&p->x);
}

static void to_beam(const struct recording_truth *p, const double lab[3], double beam[3])
{
    for (int i = 0; i < 3; i++)
        beam[i] = vec_dot(p->axes + 3 * i, lab);
}

static void take_detector(struct truth_part *part, const struct recording_truth *p)
{
    const size_t n = p->x.npanels;
    struct geom_panel *panels = mem_array(n, sizeof *panels);
    for (size_t i = 0; i < n; i++) {
        const struct panel *from = p->x.is_misaligned ? &p->x.true_panels[i] : &p->x.panels[i];
        panels[i] = (struct geom_panel){.fast_pixels = from->fast_pixels,
                                        .slow_pixels = from->slow_pixels,
                                        .pixel_m = from->pixel_m};
        to_beam(p, from->fast, panels[i].fast);
        to_beam(p, from->slow, panels[i].slow);
        to_beam(p, from->origin_m, panels[i].corner_m);
    }
    part->detector.panels = panels;
    part->detector.npanels = n;
    part->detector.wavelength_m = p->x.beam.wavelength_m;
    to_beam(p, p->x.spindle, part->spindle);
}

static enum status add_recorded_frame(struct truth_part *part, const struct recording_truth *p,
                                      struct frame *f, struct error *e)
{
    struct reflection_table *t = &f->reflections;
    if (!t->present)
        return error_set(e, STATUS_INPUT,
                         "%s: frame %" PRIu64
                         " has no reflections. Run bragg-intensity with --reflections",
                         part->path, f->recipe.id);
    reflection_table_rate(t, &p->x);
    truth_add_noise(t->rows, t->count);
    nxmx_rows_add(&part->rows, &p->x, &f->recipe, 0);
    nxmx_rows_note(&part->rows, f->recipe.id, &(struct nxmx_reflection_counts){.rows = t->count});
    struct reflection_row *more =
        mem_grow(part->block, part->nblock, t->count + 1, sizeof *more, &part->block_room);
    part->block = more;
    if (t->count)
        memcpy(more + part->nblock, t->rows, t->count * sizeof *more);
    part->nblock += t->count;
    return STATUS_OK;
}

static enum status read_recorded_frame(struct truth_part *part, const struct recording_truth *p,
                                       const struct recording_entry *entry, struct error *e)
{
    struct route route;
    struct message m = {0};
    struct frame f = {0};
    enum status s = recording_frame(&p->recording, entry, &route, &m, e);
    s = s ? s : codec_frame_decode(&f, &p->expected, &m, e);
    s = s ? s : add_recorded_frame(part, p, &f, e);
    frame_free(&f);
    message_free(&m);
    return s;
}

/* Reads the frames of part->path into *part.  All reflections stay in memory.  STATUS_INPUT: a
 * frame is corrupt, or the recording contains recipes instead of images. */
static enum status truth_recording_read(struct truth_part *part, struct error *e)
{
    struct recording_truth p = {.recording.file = -1};
    enum status s = open_played(&p, part->path, e);
    if (!s)
        take_detector(part, &p);
    for (size_t i = 0; i < p.recording.frames.count && !s; i++)
        s = read_recorded_frame(part, &p, &p.recording.frames.entries[i], e);
    part->block_end = part->rows.nframes;
    close_played(&p);
    return s;
}

/* ==== streams ================================================================= */

static const char stream_begin[] = "CrystFEL stream";
static const char ours[] = "Generated by braggpipe ";

bool truth_stream_is(const char *path)
{
    return filetype_begins(path, stream_begin, sizeof stream_begin - 1);
}

static enum status read_chunks(struct truth_part *part, struct crystfel_stream *in,
                               struct answer *a, struct error *e)
{
    bool more = true;
    enum status s = STATUS_OK;
    while (!s && !(s = crystfel_stream_next(in, a, &more, e)) && more) {
        if (!a->has_frame)
            s = lines_fail(&in->lines, e, "a chunk has no frame number");
        if (!s) {
            truth_add_panels(part, in->detector.panels, in->detector.npanels);
            truth_add_frame(part, a->frame, a);
        }
    }
    part->facts.sent = in->has_fate;
    return s;
}

/* Reads all frames of a stream into *part, where they stay in memory.  STATUS_INPUT: the stream is
 * not from bragg-write or bragg-serve. */
static enum status truth_stream_read(struct truth_part *part, struct error *e)
{
    struct crystfel_stream in;
    struct answer a = {0};
    enum status s = crystfel_stream_open(&in, part->path, NULL, e);
    if (!s && (!lines_next(&in.lines) || strncmp(in.lines.line, ours, strlen(ours)) != 0))
        s = error_set(e, STATUS_INPUT,
                      "%s: not a ground-truth stream; expected one from bragg-write --reflections "
                      "or bragg-serve --sent",
                      part->path);
    s = s ? s : read_chunks(part, &in, &a, e);
    if (!s && !part->rows.nframes)
        s = error_set(e, STATUS_INPUT, "%s: no frames found", part->path);
    part->facts.no_F2 = true;
    part->facts.no_background = true;  // it is per pixel, of an unknown number of pixels
    s = s ? s : truth_add_end(part, e);
    answer_free(&a);
    crystfel_stream_close(&in);
    return s;
}

/* ==== reflection tables ======================================================= */

/* Maximum frame number in the table of a run.  Frames below the last one that the table does not
 * list are stored as blanks. */
enum { RUN_FRAMES_MAX = 1 << 24 };

struct number_list {
    uint64_t *items;  // owned
    size_t count, room;
};

/* Returns true if a name is that of reflection tables: NAME.refl, or a template such as
 * truth_%04d.refl. */
static bool truth_tables_named(const char *path)
{
    const size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".refl") == 0;
}

/* --- which files --------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Finds the numbers of all existing files of a template, in ascending order. */
static enum status find_files(const struct template *t, struct number_list *found, struct error *e)
{
    const char *path = input_path(t->text), *slash = path ? strrchr(path, '/') : NULL;
    char folder[TEMPLATE_PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
                   slash ? path : ".");
    DIR *in = opendir(folder);
    if (!in)
        return error_errno(e, STATUS_INPUT, "%s: cannot open %s", t->text, folder);
    const char *last = strrchr(t->text, '/');
    const int before = last ? (int)(last - t->text) + 1 : 0;
    enum status s = STATUS_OK;
    for (struct dirent *d = readdir(in); d && !s; d = readdir(in)) {
        char name[TEMPLATE_PATH_MAX];
        uint64_t number;
        if (snprintf(name, sizeof name, "%.*s%s", before, t->text, d->d_name) >= (int)sizeof name ||
            !template_number(t, name, &number))
            continue;
        found->items = mem_grow(found->items, found->count, 1, sizeof *found->items, &found->room);
        found->items[found->count++] = number;
    }
    (void)closedir(in);
    if (!s && !found->count)
        s = error_set(e, STATUS_INPUT, "%s: no files with such names found", t->text);
    if (!s)
        qsort(found->items, found->count, sizeof *found->items, ascending);
    return s;
}

/* --- a frame --------------------------------------------------------------------- */

static enum status read_table_frame(struct truth_part *part, const char *expt, const char *refl,
                                    uint64_t number, struct error *e)
{
    struct dials_files f;
    struct answer a = {0};
    bool more;
    enum status s = dials_open(&f, expt, refl, e);
    s = s ? s : dials_next(&f, &a, &more, e);
    if (!s && (!more || !a.has_frame || a.frame != number))
        s = error_set(e, STATUS_INPUT, "%s: not a table of frame %" PRIu64 " from bragg-write",
                      refl, number);
    if (!s) {
        truth_add_panels(part, f.panels, f.list.setup.npanels);
        truth_add_frame(part, number, &a);
    }
    answer_free(&a);
    dials_close(&f);
    return s;
}

/* Sets *blank if a table has neither rows nor experiments, which means that its frame is blank. */
static enum status is_blank_table(const char *refl, bool *blank, struct error *e)
{
    struct refl t;
    const enum status s = refl_open(&t, refl, e);
    *blank = !s && !t.nrows && !t.nidentifiers;
    refl_close(&t);
    return s;
}

static enum status read_file(struct truth_part *part, const struct template *t, uint64_t number,
                             struct error *e)
{
    const struct answer nothing = {0};
    char refl[TEMPLATE_PATH_MAX], expt[TEMPLATE_PATH_MAX];
    bool blank;
    template_name(t, number, refl);
    (void)snprintf(expt, sizeof expt, "%.*s.expt", (int)strlen(refl) - 5, refl);
    const enum status s = is_blank_table(refl, &blank, e);
    if (s || !blank)
        return s ? s : read_table_frame(part, expt, refl, number, e);
    truth_add_frame(part, number, &nothing);
    return STATUS_OK;
}

/* --- a run --------------------------------------------------------------------------- */

/* Finds the number of the frame that is read next. */
static enum status next_number(const struct dials_files *f, uint64_t *number, struct error *e)
{
    const struct dials_entry *next = &f->entries[f->next];
    const struct expt_experiment *x = &f->list.items[next->experiment];
    if (!dials_told_frame(x->identifier, number) || *number > RUN_FRAMES_MAX)
        return error_set(
            e, STATUS_INPUT,
            "%s: experiment '%.60s' is not from bragg-write: its identifier has no frame number",
            f->expt_path, x->identifier);
    *number += (uint64_t)next->place;
    return STATUS_OK;
}

static enum status read_run_frame(struct truth_part *part, struct dials_files *f, struct answer *a,
                                  struct error *e)
{
    uint64_t number = 0;
    bool more;
    enum status s = next_number(f, &number, e);
    if (!s && number < part->rows.nframes)
        s = error_set(e, STATUS_INPUT, "%s: frame %" PRIu64 " occurs twice, or is out of order",
                      f->expt_path, number);
    s = s ? s : dials_next(f, a, &more, e);
    if (s)
        return s;
    truth_add_blanks(part, number);
    truth_add_frame(part, number, a);
    return STATUS_OK;
}

/* Reads the table of a run.  A reflection of a rotation series has one row, which contains its
 * photons in all frames that it extends over. */
static enum status read_run(struct truth_part *part, struct error *e)
{
    char expt[TEMPLATE_PATH_MAX];
    struct dials_files f;
    struct answer a = {0};
    (void)snprintf(expt, sizeof expt, "%.*s.expt", (int)strlen(part->path) - 5, part->path);
    enum status s = dials_open(&f, expt, part->path, e);
    if (!s && !refl_find(&f.table, "intensity.scale.value", REFL_REAL))
        s = error_set(e, STATUS_INPUT,
                      "%s: not a table of a run. Name the tables of single frames with their "
                      "template, such as truth_%%04d.refl",
                      part->path);
    if (!s)
        truth_add_panels(part, f.panels, f.list.setup.npanels);
    f.all_measured = true;
    part->fills = true;
    for (size_t i = 0; i < f.list.count && !s; i++)
        part->facts.summed |= f.list.items[i].scan.images > 0;
    if (part->facts.summed)
        part->facts.no_spots =
            "reflections of the ground truth are sums over the frames of a rotation";
    while (!s && f.next < f.nentries)
        s = read_run_frame(part, &f, &a, e);
    answer_free(&a);
    dials_close(&f);
    return s;
}

/* --- files or run --------------------------------------------------------------------- */

static enum status read_files(struct truth_part *part, const struct template *t, struct error *e)
{
    struct number_list found = {0};
    enum status s = find_files(t, &found, e);
    for (size_t i = 0; i < found.count && !s; i++)
        s = read_file(part, t, found.items[i], e);
    mem_free(found.items);
    return s;
}

/* Reads all files of the template, or the single file, into *part.  All reflections stay in memory.
 * Frames below the last one that the table of a run does not list become blanks.  STATUS_INPUT: a
 * file is not valid, there are no files, or all frames are empty. */
static enum status truth_tables_read(struct truth_part *part, struct error *e)
{
    struct template t;
    if (template_parse(&t, part->path, e))
        return e->status;
    enum status s = template_is_numbered(&t) ? read_files(part, &t, e) : read_run(part, e);
    part->facts.no_F2 = true;
    s = s ? s : truth_add_end(part, e);
    if (!s && !part->detector.npanels)
        s = error_set(e, STATUS_INPUT, "%s: all frames are empty", part->path);
    return s;
}

/* ==== tables of text ========================================================== */

/* Columns of the two kinds of tables: of reflections ("row") and of lattices ("truth"). */
enum { FRAME, LATTICE, COMMON };
enum { H = COMMON, K, L, PANEL, FAST, SLOW, PHOTONS, ROW_COLUMNS };
enum { BACKGROUND = ROW_COLUMNS, Z, OPTIONAL = Z + 1 - ROW_COLUMNS };  // optional columns
enum { CRYSTAL = COMMON, ASTAR_X, PANEL_DEG = ASTAR_X + 9, TRUTH_COLUMNS };
static const char *const row_names[] = {"frame", "lattice", "h",       "k",          "l", "panel",
                                        "fast",  "slow",    "photons", "background", "z"};
static const char *const truth_names[TRUTH_COLUMNS] = {
    "frame",   "lattice", "crystal", "astar_x", "astar_y", "astar_z",  "bstar_x",
    "bstar_y", "bstar_z", "cstar_x", "cstar_y", "cstar_z", "panel_deg"};

static const double FRAMES_MAX = 1 << 24, LATTICES_MAX = 10000, PANELS_MAX = 10000,
                    INDEX_MAX = 30000;

struct table {
    struct lines lines;
    bool of_rows;
    const char *const *names;
    int ncolumns, at[TRUTH_COLUMNS];
    int titles;  // number of columns that the first line names
    int nwords;
    char *words[ITEMS_MAX];
    double panels;  // largest number of panels so far
};

/* Returns true if a file begins with the comments of a user and the title of a table. */
static bool has_title_after_comments(const char *path)
{
    FILE *in = filetype_begins(path, "#", 1) ? input_open(path) : NULL;
    const bool is = in && filetype_of_file(in) == FILETYPE_TRUTH;
    if (in)
        (void)fclose(in);
    return is;
}

/* Returns true if a file begins as both kinds of tables do.  Returns false if it cannot be read. */
static bool truth_text_is(const char *path)
{
    return filetype_begins(path, "frame	", 6) || filetype_begins(path, "frame ", 6) ||
           has_title_after_comments(path);
}

/* --- lines ------------------------------------------------------------------------- */

/* Reads the items of the next line that is neither empty nor a comment.  Returns false at the
 * end. */
static bool next_row(struct table *t)
{
    do {
        if (!lines_next(&t->lines))
            return false;
        t->nwords = items_split(t->lines.line, t->words);
    } while (!t->nwords);
    return true;
}

static enum status read_title(struct table *t, bool *sent, struct error *e)
{
    t->nwords = next_row(t) ? t->nwords : 0;
    t->titles = t->nwords;
    t->of_rows = items_find(t->words, t->nwords, "photons") >= 0;
    t->names = t->of_rows ? row_names : truth_names;
    t->ncolumns = t->of_rows ? (int)ROW_COLUMNS : (int)TRUTH_COLUMNS;
    *sent = items_find(t->words, t->nwords, "fate") >= 0;
    for (int c = 0; c < t->ncolumns; c++) {
        t->at[c] = items_find(t->words, t->nwords, t->names[c]);
        if (t->at[c] < 0)
            return lines_fail(
                &t->lines, e,
                "not a ground-truth table: column %s is missing; expected a table of bragg-orient "
                "--truth, bragg-serve --sent or bragg-write --reflections",
                t->of_rows || c < COMMON ? t->names[c] : "photons, nor");
    }
    if (t->of_rows)
        for (int c = BACKGROUND; c <= Z; c++)
            t->at[c] = items_find(t->words, t->nwords, row_names[c]);
    return STATUS_OK;
}

static enum status check_items(const struct table *t, struct error *e)
{
    for (int c = 0; c < t->ncolumns + (t->of_rows ? OPTIONAL : 0); c++)
        if (t->at[c] >= t->nwords)
            return lines_fail(&t->lines, e, "has %d items; %s is missing", t->nwords, t->names[c]);
    if (t->nwords > t->titles)
        return lines_fail(&t->lines, e,
                          "has %d items; expected %d, the number of columns in the first line",
                          t->nwords, t->titles);
    return STATUS_OK;
}

static bool is_blank_line(const struct table *t)
{
    return strcmp(t->words[t->at[LATTICE]], "-") == 0;
}

static enum status take_number(const struct table *t, int column, bool whole, double min,
                               double max, double *value, struct error *e)
{
    const char *text = t->words[t->at[column]], *end;
    *value = number_real(text, &end);
    if (end != text && !*end && *value >= min && *value <= max &&
        (!whole || *value == floor(*value)))
        return STATUS_OK;
    return lines_fail(&t->lines, e, "%s is '%.40s'; expected a %snumber from %g to %g",
                      t->names[column], text, whole ? "whole " : "", min, max);
}

/* --- contents ----------------------------------------------------------------------------- */

/* Reads a lattice of a table of lattices. */
static enum status take_lattice(const struct table *t, struct answer *a, struct error *e)
{
    struct answer_lattice *l = answer_add_lattice(a);
    double crystal = 0.0;
    enum status s = take_number(t, CRYSTAL, true, 0, 999, &crystal, e);
    for (int i = 0; i < 9 && !s; i++)
        s = take_number(t, ASTAR_X + i, false, -1e6, 1e6, &l->a_matrix[3 * (i % 3) + i / 3], e);
    if (!s)
        l->crystal = (uint64_t)crystal;
    return s;
}

/* Reads a reflection.  Adds lattices up to that of the reflection. */
static enum status take_row(struct table *t, double lattice, struct answer *a, struct error *e)
{
    static const double ROUNDED_Z = 1e-5;  // of 6 digits
    double v[ROW_COLUMNS] = {0}, background = 0.0, z = 0.0;
    enum status s = STATUS_OK;
    for (int c = H; c <= L && !s; c++)
        s = take_number(t, c, true, -INDEX_MAX, INDEX_MAX, &v[c], e);
    s = s ? s : take_number(t, PANEL, true, 0, PANELS_MAX, &v[PANEL], e);
    s = s ? s : take_number(t, FAST, false, -1e6, 1e6, &v[FAST], e);
    s = s ? s : take_number(t, SLOW, false, -1e6, 1e6, &v[SLOW], e);
    s = s ? s : take_number(t, PHOTONS, false, 0, 1e300, &v[PHOTONS], e);
    if (!s && t->at[BACKGROUND] >= 0)
        s = take_number(t, BACKGROUND, false, 0, 1e30, &background, e);
    if (!s && t->at[Z] >= 0)
        s = take_number(t, Z, false, 0, 1e30, &z, e);
    if (s)
        return s;
    const double counted = sqrt(v[PHOTONS] + background),
                 all = z > 0.0 ? v[PHOTONS] / z : counted;  // also the readout noise
    while ((double)a->nlattices <= lattice)
        (void)answer_add_lattice(a);
    *answer_add_reflection(a) =
        (struct answer_reflection){.hkl = {(int32_t)v[H], (int32_t)v[K], (int32_t)v[L]},
                                   .panel = (int32_t)v[PANEL],
                                   .fast = v[FAST],
                                   .slow = v[SLOW],
                                   .measured = true,
                                   .intensity = v[PHOTONS],
                                   .sigma = all > counted * (1.0 + ROUNDED_Z) ? all : counted};
    a->lattices[a->nlattices - 1].count++;
    t->panels = fmax(t->panels, v[PANEL] + 1.0);
    return STATUS_OK;
}

/* Reads a line.  The lines of a frame follow each other, with their lattices in order. */
static enum status take_line(struct truth_part *part, struct table *t, struct answer *a,
                             struct error *e)
{
    double frame = 0.0, lattice = 0.0, degrees = 0.0;
    enum status s = check_items(t, e);
    s = s ? s : take_number(t, FRAME, true, 0, t->of_rows ? FRAMES_MAX : 9e15, &frame, e);
    if (!s && !is_blank_line(t))
        s = take_number(t, LATTICE, true, 0, LATTICES_MAX, &lattice, e);
    if (!s && !t->of_rows)
        s = take_number(t, PANEL_DEG, false, -360, 360, &degrees, e);
    if (s)
        return s;
    if (!t->of_rows)
        part->facts.panel0 = deg_to_rad(degrees);
    const bool begins = !a->has_frame || (double)a->frame != frame || (!t->of_rows && lattice == 0);
    if (begins && a->has_frame) {
        if (t->of_rows)
            truth_add_blanks(part, a->frame);
        truth_add_frame(part, a->frame, a);
    }
    if (begins)
        answer_clear(a);
    a->has_frame = true;
    a->frame = (uint64_t)frame;
    if (!s && lattice != (double)a->nlattices &&
        (!t->of_rows || lattice < (double)a->nlattices - 1))
        return lines_fail(&t->lines, e, "lattice %g is out of order; expected lattices from 0 on",
                          lattice);
    if (s || is_blank_line(t))
        return s;
    return t->of_rows ? take_row(t, lattice, a, e) : take_lattice(t, a, e);
}

static enum status read_lines(struct truth_part *part, struct table *t, struct answer *a,
                              struct error *e)
{
    enum status s = read_title(t, &part->facts.sent, e);
    while (!s && next_row(t))
        s = take_line(part, t, a, e);
    if (!s && (t->lines.half_line || ferror(t->lines.in)))
        s = lines_end_early(&t->lines, "a line", e);
    if (!s && !a->has_frame)
        s = error_set(e, STATUS_INPUT, "%s: no frames found", part->path);
    if (s)
        return s;
    if (t->of_rows)
        truth_add_blanks(part, a->frame);
    truth_add_frame(part, a->frame, a);
    return STATUS_OK;
}

/* Reads all frames of a table into *part, where they stay in memory.  STATUS_INPUT, with
 * "FILE:LINE:
 * ": the file is not such a table. */
static enum status truth_text_read(struct truth_part *part, struct error *e)
{
    struct table t = {.panels = 1.0};
    struct answer a = {0};
    part->facts.panel0 = NAN;
    enum status s = lines_open(&t.lines, part->path, FILETYPE_TRUTH, NULL, e);
    s = s ? s : read_lines(part, &t, &a, e);
    if (!s)
        truth_add_unknown_panels(part, (size_t)t.panels);
    part->facts.no_F2 = true;
    part->facts.no_background = !t.of_rows || t.at[BACKGROUND] < 0;
    part->facts.no_rows = !t.of_rows;
    part->fills = t.of_rows;
    if (t.of_rows)
        part->facts.no_lattices =
            "the ground truth has reflections, but no orientations of lattices";
    else
        part->facts.no_spots = "the ground truth has lattices, but no positions of reflections";
    s = s ? s : truth_add_end(part, e);
    answer_free(&a);
    lines_close(&t.lines);
    return s;
}

/* ==== any kind of ground truth ================================================== */

/* Reads the rotation axis of an NXmx file.  Only files of a rotation series have one. */
static enum status read_spindle(struct truth_part *part, struct error *e)
{
    struct hdf5_file file;
    char path[NEXUS_PATH];
    double length, step = 0.0;
    vec_set(part->spindle, -1.0, 0.0, 0.0);
    enum status s = hdf5_open(&file, part->path, nxmx_try_series, e);
    if (s)
        return s;
    const struct nexus n = {file.id, part->path};
    if (nexus_has(&n, "/entry/sample/transformations", "omega", path))
        s = nexus_vector(&n, path, part->spindle, &length, e);
    if (!s && nexus_has(&n, "/entry/sample/transformations", "omega_increment_set", path))
        s = nexus_real(&n, path, NEXUS_ANGLE, &step, e);
    hdf5_abort(&file);
    for (int i = 0; i < 2; i++)  // from NeXus to the coordinate system of the beam: x and y change
                                 // their signs
        part->spindle[i] = 0.0 - part->spindle[i];
    if (step * part->rows.frames->rotation_width <
        0.0)  // bragg-write inverted the axis in the file
        for (int i = 0; i < 3; i++)
            part->spindle[i] = 0.0 - part->spindle[i];
    return s;
}

static enum status count_rows(struct truth_part *part, struct error *e)
{
    const struct nxmx_rows *rows = &part->rows;
    if (!rows->nframes)
        return error_set(e, STATUS_INPUT, "%s: no frames found", part->path);
    if (!rows->has_reflections)
        return error_set(e, STATUS_INPUT,
                         "%s: no reflections found. Run bragg-intensity with --reflections",
                         part->path);
    part->nframes = rows->nframes;
    part->first = mem_array(rows->nframes + 1, sizeof *part->first);
    part->place = mem_array(rows->nframes, sizeof *part->place);
    for (size_t i = 0; i < rows->nframes; i++)
        if (__builtin_add_overflow(part->first[i], rows->reflections[i].rows, &part->first[i + 1]))
            return error_set(e, STATUS_INPUT, "%s: corrupt", part->path);
    return STATUS_OK;
}

/* Notes the checksums of all frames, if the file has them. */
static void note_sums(struct truth_part *part)
{
    const struct nxmx_rows *rows = &part->rows;
    const struct reflection_table none = {0};
    uint64_t pixel = 0;
    if (!rows->frames->summed)
        return;
    part->sums = mem_array(rows->nframes, sizeof *part->sums);
    for (size_t i = 0; i < rows->nframes; i++) {
        part->sums[i] = (struct truth_sum){.number = rows->frames[i].number,
                                           .front = nxmx_rows_sum(rows, i, &none),
                                           .whole = rows->frames[i].truth_sum,
                                           .first_pixel = pixel,
                                           .npixels = rows->reflections[i].pixels};
        pixel += rows->reflections[i].pixels;
    }
}

static enum status read_detector(struct truth_part *part, const char *path, struct error *e)
{
    bool moved;
    const enum status s = nxmx_geometry_read(path, &part->detector, e);
    return s ? s
             : nxmx_read_true_panels(path, part->detector.panels, part->detector.npanels, &moved,
                                     e);
}

enum status truth_part_detector(struct truth_part *part, const char *path, struct error *e)
{
    struct recording_truth p = {.recording.file = -1};
    *part = (struct truth_part){.path = path, .file.id = -1};
    if (!truth_recording_is(path))
        return read_detector(part, path, e);
    const enum status s = open_experiment(&p, path, e);
    if (!s)
        take_detector(part, &p);
    close_played(&p);
    return s;
}

enum status truth_part_open(struct truth_part *part, const char *path, struct error *e)
{
    *part = (struct truth_part){.path = path, .file.id = -1};
    if (truth_tables_named(path)) {
        const enum status status = truth_tables_read(part, e);
        return status ? status : count_rows(part, e);
    }
    if (access(path, R_OK))
        return error_errno(e, STATUS_INPUT, "%s: cannot open", path);
    enum status (*const read)(struct truth_part *, struct error *) =
        truth_recording_is(path) ? truth_recording_read
        : truth_stream_is(path)  ? truth_stream_read
        : truth_text_is(path)    ? truth_text_read
                                 : NULL;
    if (read) {
        const enum status status = read(part, e);
        return status ? status : count_rows(part, e);
    }
    const enum status type = filetype_check_file(path, FILETYPE_GROUND_TRUTH, e);
    if (type)
        return type;
    if (!nxmx_is_hdf5(path))
        return error_set(e, STATUS_INPUT,
                         "%s: not a ground-truth file; expected an NXmx file of bragg-write, a "
                         "recording, or a table or stream of reflections or lattices",
                         path);
    enum status s = nxmx_read_series_truth(path, &part->rows, e);
    s = s ? s : count_rows(part, e);
    s = s ? s : read_detector(part, path, e);
    part->on_disk = true;
    if (!s)
        note_sums(part);
    return s ? s : read_spindle(part, e);
}
