#include "score/key_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/units.h"
#include "io/filetype.h"
#include "score/items.h"
#include "score/key_add.h"
#include "score/lines.h"

/* What is read of either table, by the names of columns. */
enum { FRAME, LATTICE, COMMON };
enum { H = COMMON, K, L, PANEL, FAST, SLOW, PHOTONS, ROW_COLUMNS };
enum { CRYSTAL = COMMON, ASTAR_X, PANEL_DEG = ASTAR_X + 9, TRUTH_COLUMNS };
static const char *const row_names[ROW_COLUMNS] = {"frame", "lattice", "h",    "k",      "l",
                                                   "panel", "fast",    "slow", "photons"};
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
    int titles;  // columns that the first line names
    int nwords;
    char *words[ITEMS_MAX];
    double panels;  // most so far
};

bool key_text_is(const char *path)
{
    return filetype_begins(path, "frame	", 6) || filetype_begins(path, "frame ", 6);
}

/* --- lines ------------------------------------------------------------------------- */

static enum status read_title(struct table *t, bool *sent, struct error *e)
{
    t->nwords = lines_next(&t->lines) ? items_split(t->lines.line, t->words) : 0;
    t->titles = t->nwords;
    t->of_rows = items_find(t->words, t->nwords, "photons") >= 0;
    t->names = t->of_rows ? row_names : truth_names;
    t->ncolumns = t->of_rows ? (int)ROW_COLUMNS : (int)TRUTH_COLUMNS;
    *sent = items_find(t->words, t->nwords, "fate") >= 0;
    for (int c = 0; c < t->ncolumns; c++) {
        t->at[c] = items_find(t->words, t->nwords, t->names[c]);
        if (t->at[c] < 0)
            return lines_fail(&t->lines, e,
                              "is no answer key: it names no column %s, which tables of "
                              "bragg-orient --truth, bragg-serve --key and bragg-write "
                              "--reflections do",
                              t->of_rows || c < COMMON ? t->names[c] : "photons, nor");
    }
    return STATUS_OK;
}

/* The items of the next line; false at the end. */
static bool next(struct table *t)
{
    do {
        if (!lines_next(&t->lines))
            return false;
        t->nwords = items_split(t->lines.line, t->words);
    } while (!t->nwords);
    return true;
}

static enum status check_items(const struct table *t, struct error *e)
{
    for (int c = 0; c < t->ncolumns; c++)
        if (t->at[c] >= t->nwords)
            return lines_fail(&t->lines, e, "has %d items, lacks %s", t->nwords, t->names[c]);
    if (t->nwords > t->titles)
        return lines_fail(&t->lines, e,
                          "has %d items; expected %d, as the first line names columns", t->nwords,
                          t->titles);
    return STATUS_OK;
}

static bool is_blank(const struct table *t)
{
    return strcmp(t->words[t->at[LATTICE]], "-") == 0;
}

static enum status take(const struct table *t, int column, bool whole, double min, double max,
                        double *value, struct error *e)
{
    const char *text = t->words[t->at[column]], *end;
    *value = number_real(text, &end);
    if (end != text && !*end && *value >= min && *value <= max &&
        (!whole || *value == floor(*value)))
        return STATUS_OK;
    return lines_fail(&t->lines, e, "%s is '%.40s', must be a %snumber from %g to %g",
                      t->names[column], text, whole ? "whole " : "", min, max);
}

/* --- what they say --------------------------------------------------------------------- */

/* A lattice of the truth. */
static enum status take_lattice(const struct table *t, struct answer *a, struct error *e)
{
    struct answer_lattice *l = answer_add_lattice(a);
    double crystal = 0.0;
    enum status s = l ? take(t, CRYSTAL, true, 0, 999, &crystal, e) : error_memory(e, "lattices");
    for (int i = 0; i < 9 && !s; i++)
        s = take(t, ASTAR_X + i, false, -1e6, 1e6, &l->a_matrix[3 * (i % 3) + i / 3], e);
    if (!s)
        l->crystal = (uint64_t)crystal;
    return s;
}

/* A reflection; all lattices up to its own are there. */
static enum status take_row(struct table *t, double lattice, struct answer *a, struct error *e)
{
    double v[ROW_COLUMNS] = {0};
    enum status s = STATUS_OK;
    for (int c = H; c <= L && !s; c++)
        s = take(t, c, true, -INDEX_MAX, INDEX_MAX, &v[c], e);
    s = s ? s : take(t, PANEL, true, 0, PANELS_MAX, &v[PANEL], e);
    s = s ? s : take(t, FAST, false, -1e6, 1e6, &v[FAST], e);
    s = s ? s : take(t, SLOW, false, -1e6, 1e6, &v[SLOW], e);
    s = s ? s : take(t, PHOTONS, false, 0, 1e300, &v[PHOTONS], e);
    while (!s && (double)a->nlattices <= lattice)
        s = answer_add_lattice(a) ? STATUS_OK : error_memory(e, "lattices");
    struct answer_reflection *r = s ? NULL : answer_add_reflection(a);
    if (!r)
        return s ? s : error_memory(e, "reflections");
    *r = (struct answer_reflection){.hkl = {(int32_t)v[H], (int32_t)v[K], (int32_t)v[L]},
                                    .panel = (int32_t)v[PANEL],
                                    .fast = v[FAST],
                                    .slow = v[SLOW],
                                    .measured = true,
                                    .intensity = v[PHOTONS]};
    a->lattices[a->nlattices - 1].count++;
    t->panels = fmax(t->panels, v[PANEL] + 1.0);
    return STATUS_OK;
}

/* The lines of a frame follow one another, their lattices in order. */
static enum status take_line(struct key_part *k, struct table *t, struct answer *a, struct error *e)
{
    double frame = 0.0, lattice = 0.0, degrees = 0.0;
    enum status s = check_items(t, e);
    s = s ? s : take(t, FRAME, true, 0, t->of_rows ? FRAMES_MAX : 9e15, &frame, e);
    if (!s && !is_blank(t))
        s = take(t, LATTICE, true, 0, LATTICES_MAX, &lattice, e);
    if (!s && !t->of_rows)
        s = take(t, PANEL_DEG, false, -360, 360, &degrees, e);
    if (s)
        return s;
    if (!t->of_rows)
        k->tells.panel0 = deg_to_rad(degrees);
    const bool begins = !a->has_frame || (double)a->frame != frame || (!t->of_rows && lattice == 0);
    if (begins && a->has_frame) {
        s = t->of_rows ? key_add_blanks(k, a->frame, e) : STATUS_OK;
        s = s ? s : key_add_frame(k, a->frame, a, e);
    }
    if (begins)
        answer_clear(a);
    a->has_frame = true;
    a->frame = (uint64_t)frame;
    if (!s && lattice != (double)a->nlattices &&
        (!t->of_rows || lattice < (double)a->nlattices - 1))
        return lines_fail(&t->lines, e, "lattice %g is out of order", lattice);
    if (s || is_blank(t))
        return s;
    return t->of_rows ? take_row(t, lattice, a, e) : take_lattice(t, a, e);
}

static enum status read_lines(struct key_part *k, struct table *t, struct answer *a,
                              struct error *e)
{
    enum status s = read_title(t, &k->tells.sent, e);
    while (!s && next(t))
        s = take_line(k, t, a, e);
    if (!s && (t->lines.half_line || ferror(t->lines.in)))
        s = lines_end_early(&t->lines, "a line", e);
    if (!s && !a->has_frame)
        s = error_set(e, STATUS_INPUT, "%s: holds no frames", k->path);
    s = s || !t->of_rows ? s : key_add_blanks(k, a->frame, e);
    return s ? s : key_add_frame(k, a->frame, a, e);
}

enum status key_text_read(struct key_part *k, struct error *e)
{
    struct table t = {.panels = 1.0};
    struct answer a = {0};
    k->tells.panel0 = NAN;
    enum status s = lines_open(&t.lines, k->path, FILETYPE_OTHER, NULL, e);
    s = s ? s : read_lines(k, &t, &a, e);
    s = s ? s : key_add_unknown_panels(k, (size_t)t.panels, e);
    k->tells.no_F2 = true;
    k->tells.no_rows = !t.of_rows;
    k->fills = t.of_rows;
    if (t.of_rows)
        k->tells.no_lattices = "the key tells of reflections alone, not how lattices lie";
    else
        k->tells.no_spots = "the key tells of lattices alone, not where reflections are";
    s = s ? s : key_add_end(k, e);
    answer_free(&a);
    lines_close(&t.lines);
    return s;
}
