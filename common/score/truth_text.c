/*
 * Ground truth from tables of text.  A table of reflections (bragg-write --reflections) has a line
 * for each reflection.  A table of lattices (bragg-orient --truth, bragg-serve --sent) has a line
 * for each lattice.
 */
#include "score/truth_kinds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/filetype.h"
#include "base/text.h"
#include "base/units.h"
#include "score/lines.h"
#include "score/results.h"

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

bool truth_text_is(const char *path)
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

enum status truth_text_read(struct truth_part *part, struct error *e)
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
