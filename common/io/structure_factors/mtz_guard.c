/* The layout of an MTZ file: 20 words, ncol * nref reals, then a header of 80-byte
 * records from VERS to END, history, and MTZENDOFHEADERS. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/filetype.h"
#include "base/opt.h"
#include "io/structure_factors/hkl.h"
#include "io/structure_factors/mtz.h"

enum {
    RECORD = 80,
    FIRST_WORD = 20,
    HEADER_MAX = 16 << 20,
    WORDS = 12,
    NAMED = 16,
    SETS = 64,
    SET_NAME = 15
};

/* A column whose label is one of those that the caller requests. */
struct named_column {
    int64_t column, set;
    char type;
    bool whole;  // the requested label equals that of the column, without a data set in front
};

/* A data set: its number, its name, and its cell, if there is one. */
struct set {
    int64_t number;
    char name[RECORD];
    double cell[6];
    bool has_cell, named;
};

enum { FIRST, SECOND };

/* The state of reading the header. */
struct guard {
    const char *path;
    const struct mtz_labels *labels;
    struct mtz_layout *m;
    int64_t columns, symm;  // number of COLUMN and SYMM records so far
    bool vers, ncol, cell, syminf, end;
    bool wrong_type;  // a requested label exists, but its column has another type
    struct named_column named[2][NAMED];  // columns with the labels FIRST and SECOND
    size_t nnamed[2], nsets;
    struct set sets[SETS];
    int64_t *set_of;                             // owned: data set of each column
    int64_t pair[2], mates[2];                   // the first two of types G and K; -1: none
    int64_t first_F, first_D, first_P, first_J;  // the first columns of types F, D, P and J; -1:
                                                 // none
    bool amplitudes, intensities;                // the file has columns of amplitudes or
                                                 // intensities
    char others[200];                            // " LABEL:TYPE" of all columns except the indices
    const char *record;                          // current record, of RECORD bytes
    char text[RECORD + 1];                       // the words of the record, each ended by a zero
                                                 // byte
    char *word[WORDS];
    int nwords;
};

static enum status damaged(const struct guard *g, struct error *e, const char *why)
{
    return error_set(e, STATUS_INPUT, "%s: corrupt MTZ (%s)", g->path, why);
}

static void split(struct guard *g, const char *record)
{
    g->record = record;
    for (int i = 0; i < RECORD; i++)
        g->text[i] = isprint((unsigned char)record[i]) || (record[i] & 0x80) ? record[i] : ' ';
    g->text[RECORD] = 0;
    char *rest = g->text;
    g->nwords = 0;
    for (char *w = strsep(&rest, " "); w && g->nwords < WORDS; w = strsep(&rest, " "))
        if (*w)
            g->word[g->nwords++] = w;
}

/* Copies the bytes `first` to `last` of the record to text[], without blanks at both ends. */
static void trim_record(const struct guard *g, int first, int last, char text[RECORD])
{
    while (first <= last && isspace((unsigned char)g->record[first]))
        first++;
    while (last >= first && (g->record[last] == '\0' || isspace((unsigned char)g->record[last])))
        last--;
    (void)snprintf(text, RECORD, "%.*s", last - first + 1, g->record + first);
}

static enum status take_int(const struct guard *g, int i, int64_t min, int64_t max, int64_t *value,
                            struct error *e)
{
    struct error cause;
    if (i >= g->nwords)
        return error_set(e, STATUS_INPUT, "%s: corrupt MTZ (%s is too short)", g->path, g->word[0]);
    if (parse_int(g->word[i], min, max, g->word[0], value, &cause))
        return damaged(g, e, cause.text);
    return STATUS_OK;
}

/* Parses six words of the record, from the word `first`, as edges (A) and angles (degrees) of a
 * cell. */
static enum status take_six(const struct guard *g, int first, double cell[6], struct error *e)
{
    struct error cause;
    if (g->nwords < first + 6)
        return error_set(e, STATUS_INPUT, "%s: corrupt MTZ (%s is too short)", g->path, g->word[0]);
    for (int i = 0; i < 6; i++)
        if (parse_real(g->word[first + i], 1.0, i < 3 ? 100000.0 : 179.0, g->word[0], &cell[i],
                       &cause))
            return damaged(g, e, cause.text);
    return STATUS_OK;
}

static enum status take_cell(struct guard *g, struct error *e)
{
    g->cell = true;
    return take_six(g, 1, g->m->cell, e);
}

/* Returns the data set with this number.  Adds it if it is new.  NULL: there is no room for
 * another one. */
static struct set *find_set(struct guard *g, int64_t number)
{
    for (size_t i = 0; i < g->nsets; i++)
        if (g->sets[i].number == number)
            return &g->sets[i];
    if (g->nsets == SETS)
        return NULL;
    g->sets[g->nsets] = (struct set){.number = number};
    return &g->sets[g->nsets++];
}

/* Parses a DATASET record (number, name) or, if `cell` is true, a DCELL record (number, cell).  A
 * cell of zeros means that the data set has no cell of its own. */
static enum status take_set(struct guard *g, bool cell, struct error *e)
{
    int64_t number;
    enum status s = take_int(g, 1, 0, INT32_MAX, &number, e);
    struct set *set = s ? NULL : find_set(g, number);
    if (s)
        return s;
    if (!set)
        return damaged(g, e, "too many data sets");
    if (!cell) {
        trim_record(g, SET_NAME, RECORD - 1, set->name);
        set->named = true;
        return STATUS_OK;
    }
    bool zero = g->nwords >= 8;
    for (int i = 2; i < 8 && zero; i++)
        zero = strspn(g->word[i], "0.") == strlen(g->word[i]);
    set->has_cell = !zero;
    return zero ? STATUS_OK : take_six(g, 2, set->cell, e);
}

/* Parses a SYMINF record: number of operators, number of operators without centring, lattice
 * type, space group number, its name in quotes, and point group. */
static enum status take_group(struct guard *g, struct error *e)
{
    int64_t number = 0;
    g->syminf = true;
    enum status s = take_int(g, 1, 1, SYMMETRY_OPERATORS_MAX, &g->m->nsym, e);
    if (!s && g->nwords > 4)
        s = take_int(g, 4, 0, 100000, &number, e);
    if (s)
        return s;
    g->m->group = (int)number;
    const char *end = g->record + RECORD, *quote = memchr(g->record, '\'', RECORD);
    const char *second = quote ? memchr(quote + 1, '\'', (size_t)(end - quote - 1)) : NULL;
    if (second)
        (void)snprintf(g->m->group_name, MTZ_GROUP_SIZE, "%.*s", (int)(second - quote - 1),
                       quote + 1);
    else
        (void)snprintf(g->m->group_name, MTZ_GROUP_SIZE, "%s", g->nwords > 5 ? g->word[5] : "");
    return STATUS_OK;
}

/* Parses an NCOL record: numbers of columns, of reflections and of batches (0 in a merged file). */
static enum status take_ncol(struct guard *g, struct error *e)
{
    int64_t batches;
    enum status s;
    if (g->ncol)
        return damaged(g, e, "NCOL occurs twice");
    g->ncol = true;
    if ((s = take_int(g, 1, 4, 10000, &g->m->ncol, e)) ||
        (s = take_int(g, 2, 1, INT32_MAX, &g->m->nref, e)) ||
        (s = take_int(g, 3, 0, INT32_MAX, &batches, e)))
        return s;
    if (batches)
        return error_set(e, STATUS_INPUT,
                         "%s: unmerged MTZ (%lld batches); expected merged reflections, such as "
                         "those of aimless",
                         g->path, (long long)batches);
    g->set_of = mem_try_array((size_t)g->m->ncol, sizeof *g->set_of);
    return g->set_of ? STATUS_OK : error_memory(e, g->path);
}

/* Stores a column in *first if *first is still -1. */
static void keep_first(int64_t *first, int64_t column)
{
    *first = *first < 0 ? column : *first;
}

/* Adds a column to g->named if its label is one of the requested labels.  A requested label may
 * have the name of the data set and a slash in front of the label of the column. */
static void take_labelled(struct guard *g, int64_t column, char type)
{
    const char *const labels[2] = {g->labels->F, g->labels->second};
    for (int which = FIRST; which <= SECOND; which++) {
        const char *label = labels[which], *slash = label ? strrchr(label, '/') : NULL;
        const bool whole = label && strcmp(g->word[1], label) == 0;
        if ((whole || (slash && strcmp(g->word[1], slash + 1) == 0)) && g->nnamed[which] < NAMED)
            g->named[which][g->nnamed[which]++] =
                (struct named_column){column, g->set_of[column], type, whole};
    }
}

static bool is_wanted(const struct guard *g, int which, char type)
{
    const bool amplitude = type == 'F' || type == 'G';
    if (which == FIRST)
        return amplitude;
    return g->labels->wanted == MTZ_PHASES ? type == 'P' : amplitude || type == 'D';
}

/* Returns true if the requested label means this column.  `whole`: the label must equal that of
 * the column in full.  Otherwise the part before the last slash must be the name of the data set
 * of the column; without a slash, the label must be equal in full. */
static bool is_meant(const struct guard *g, const struct named_column *n, const char *label,
                     bool whole)
{
    const char *slash = strrchr(label, '/');
    if (whole || !slash)
        return n->whole;
    for (size_t i = 0; i < g->nsets; i++)
        if (g->sets[i].number == n->set && strlen(g->sets[i].name) == (size_t)(slash - label) &&
            strncmp(g->sets[i].name, label, (size_t)(slash - label)) == 0)
            return true;
    return false;
}

/* Finds the column of a requested label.  STATUS_INPUT: several data sets have a column with this
 * label.  No such column, or one of the wrong type, is not an error here; see refuse_columns. */
static enum status choose_labelled(struct guard *g, int which, const char *label, struct error *e)
{
    const struct named_column *found = NULL;
    size_t meant = 0;
    for (int whole = 1; whole >= 0 && !meant; whole--)
        for (const struct named_column *n = g->named[which]; n < g->named[which] + g->nnamed[which];
             n++)
            if (is_meant(g, n, label, whole)) {
                found = n;
                meant++;
            }
    if (meant > 1)
        return error_set(e, STATUS_INPUT,
                         "%s: %zu columns have the label '%.*s'; expected the name of a data set "
                         "before it, as DATASET/%.*s",
                         g->path, meant, MTZ_LABEL_MAX, label, MTZ_LABEL_MAX, label);
    if (!found)
        return STATUS_OK;
    if (!is_wanted(g, which, found->type)) {
        g->wrong_type = true;
        return STATUS_OK;
    }
    if (which == FIRST)
        g->m->F_column = found->column;
    else {
        g->m->second = found->column;
        g->m->difference = found->type == 'D';
    }
    return STATUS_OK;
}

/* Remembers the first columns of each type, from which columns are chosen if no label is
 * requested. */
static void take_typed(struct guard *g, int64_t column, char type)
{
    if (type == 'F')
        keep_first(&g->first_F, column);
    if (type == 'D')
        keep_first(&g->first_D, column);
    if (type == 'P')
        keep_first(&g->first_P, column);
    if (type == 'J')
        keep_first(&g->first_J, column);
    if (type == 'G')
        keep_first(&g->pair[g->pair[0] >= 0], column);
    if (type == 'K')
        keep_first(&g->mates[g->mates[0] >= 0], column);
}

/* Chooses the columns to read by their types, after all columns are known.  Does nothing if a
 * label is requested. */
static void choose_typed(const struct guard *g)
{
    const enum mtz_wanted wanted = g->labels->wanted;
    const bool pair = wanted == MTZ_HANDS && g->pair[1] >= 0;
    if (g->labels->F)
        return;
    g->m->F_column = pair ? g->pair[0] : g->first_F;
    if (wanted == MTZ_INTENSITIES) {
        const bool mates = g->mates[1] >= 0;
        if (mates)
            memcpy(g->m->mates, g->mates, sizeof g->mates);
        g->m->squared = g->first_J < 0 && !mates;
        g->m->F_column = g->m->squared ? g->first_F : g->first_J;
        g->m->F_max = g->m->squared ? HKL_F_MAX : HKL_F_MAX * HKL_F_MAX;
    }
    if (wanted == MTZ_PHASES)
        g->m->second = g->first_P;
    if (wanted == MTZ_HANDS)
        g->m->second = pair ? g->pair[1] : g->first_D;
    g->m->difference = wanted == MTZ_HANDS && g->m->second >= 0 && !pair;
}

/* Checks that the label in a COLUMN record is one word.  Some programs write labels with blanks,
 * because they use fixed positions in the record.  libccp4 would then mistake a word of the label
 * for the type.  Such a record has the type at its fixed position after the label. */
static enum status check_label(const struct guard *g, struct error *e)
{
    enum { LABEL = 7, LABEL_END = 36, TYPE = 38 };
    const char *r = g->record;
    char label[RECORD];
    if (g->nwords > 2 && g->word[2] <= g->text + LABEL_END && r[TYPE - 1] == ' ' &&
        isalpha((unsigned char)r[TYPE]) && r[TYPE + 1] == ' ') {
        trim_record(g, LABEL, LABEL_END, label);
        return error_set(e, STATUS_INPUT,
                         "%s: the label '%s' of column %lld is not one word; expected one without "
                         "blanks. Rename the column",
                         g->path, label, (long long)g->columns);
    }
    if (g->nwords < 5 || strlen(g->word[1]) >= MTZ_LABEL_MAX || strlen(g->word[2]) != 1)
        return damaged(g, e, "a COLUMN record has no label, type or range");
    return STATUS_OK;
}

/* Parses a COLUMN record: label, type, range, and the number of the data set.  The records have
 * the order of the columns in the file. */
static enum status take_column(struct guard *g, struct error *e)
{
    const int64_t column = g->columns++;
    enum status s = check_label(g, e);
    if (s)
        return s;
    const char type = g->word[2][0];
    if (!g->set_of || column >= g->m->ncol)
        return damaged(g, e, "NCOL and COLUMN differ");
    g->set_of[column] = -1;
    if (g->nwords > 5 && (s = take_int(g, 5, 0, INT32_MAX, &g->set_of[column], e)))
        return s;
    if (column < 3 && type != 'H')
        return damaged(g, e, "the first three columns are not indices");
    g->amplitudes |= type == 'F' || type == 'G';
    g->intensities |= type == 'J' || type == 'K';
    const size_t length = strlen(g->others);
    if (type != 'H')
        (void)snprintf(g->others + length, sizeof g->others - length, " %s:%c", g->word[1], type);
    if (g->labels->F)
        take_labelled(g, column, type);
    else
        take_typed(g, column, type);
    return STATUS_OK;
}

static enum status take_record(struct guard *g, struct error *e)
{
    const char *key = g->nwords ? g->word[0] : "";
    if (strncmp(key, "VERS", 4) == 0)
        g->vers = g->nwords > 1 && strncmp(g->word[1], "MTZ:V1", 6) == 0;
    else if (strncmp(key, "NCOL", 4) == 0)
        return take_ncol(g, e);
    else if (strncmp(key, "CELL", 4) == 0)
        return take_cell(g, e);
    else if (strncmp(key, "DCEL", 4) == 0 || strncmp(key, "DATA", 4) == 0)
        return take_set(g, *key == 'D' && key[1] == 'C', e);
    else if (strncmp(key, "SYMI", 4) == 0) {
        if (g->syminf)
            return damaged(g, e, "SYMINF occurs twice");
        return take_group(g, e);
    } else if (strncmp(key, "SYMM", 4) == 0)
        g->symm++;
    else if (strncmp(key, "COLU", 4) == 0 && strncmp(key, "COLUMN", 6) == 0 && !key[6])
        return take_column(g, e);
    else if (strcmp(key, "END") == 0)
        g->end = true;
    return STATUS_OK;
}

/* Sets an error that says which columns are missing and which the file has.  If the file has no
 * amplitudes, the message names programs that compute them. */
static enum status refuse_columns(const struct guard *g, struct error *e)
{
    const struct mtz_labels *l = g->labels;
    const bool phase = l->wanted == MTZ_PHASES;
    const bool lacks_second = g->m->F_column >= 0;
    const char *label = l->second && lacks_second ? l->second : l->F;
    char why[MTZ_LABEL_MAX + 96] = "no column of type F";
    if (label)
        (void)snprintf(why, sizeof why, "%s '%.*s'%s", g->wrong_type ? "column" : "no column",
                       MTZ_LABEL_MAX, label,
                       !g->wrong_type          ? ""
                       : phase && lacks_second ? " is not a phase; expected type P"
                                               : " is not an amplitude; expected type F or G");
    else if (l->wanted == MTZ_INTENSITIES)
        (void)snprintf(
            why, sizeof why,
            "no column of type J or F (intensities or amplitudes), and no two of type K");
    else if (phase)
        (void)snprintf(why, sizeof why,
                       "no columns of types F and P (amplitudes and their phases)");
    else if (l->wanted == MTZ_HANDS)
        (void)snprintf(why, sizeof why,
                       "no two columns of type G (F(+) and F(-)), and no columns of types F and D");
    return error_set(
        e, STATUS_INPUT, "%s: %s; its columns are%s%s", g->path, why, g->others,
        g->amplitudes || l->wanted == MTZ_INTENSITIES ? ""
        : g->intensities
            ? ". ctruncate converts intensities (J) to amplitudes (F)"
            : ". gemmi sfcalc and bragg-geometry --model compute amplitudes from a model");
}

/* Returns the cell of the data set of a column, or the cell of the file if the data set has none.
 */
static const double *cell_of(const struct guard *g, int64_t column)
{
    for (size_t i = 0; i < g->nsets && column >= 0; i++)
        if (g->sets[i].number == g->set_of[column] && g->sets[i].has_cell)
            return g->sets[i].cell;
    return g->m->cell;
}

/* Returns the name of the data set of a column.  Empty: the column has no data set. */
static const char *name_set(const struct guard *g, int64_t column)
{
    for (size_t i = 0; i < g->nsets; i++)
        if (g->sets[i].number == g->set_of[column])
            return g->sets[i].name;
    return "";
}

/* Checks the data sets of n columns.  If the file defines data sets, each column must belong to
 * one of them.  Columns that were chosen by type must belong to the same data set.  Only labels
 * can combine F of one crystal with phases of another. */
static enum status check_sets(const struct guard *g, const int64_t *columns, size_t n,
                              struct error *e)
{
    for (size_t i = 0; i < n && g->nsets; i++) {
        bool known = columns[i] < 0 || g->set_of[columns[i]] < 0;
        for (size_t k = 0; k < g->nsets && !known; k++)
            known = g->sets[k].number == g->set_of[columns[i]];
        if (!known)
            return error_set(e, STATUS_INPUT,
                             "%s: column %lld belongs to the data set %lld, which the file does "
                             "not define",
                             g->path, (long long)columns[i] + 1, (long long)g->set_of[columns[i]]);
        if (columns[i] >= 0 && !g->labels->F && g->set_of[columns[i]] != g->set_of[columns[0]])
            return error_set(e, STATUS_INPUT,
                             "%s: the first columns of the wanted types, %lld and %lld, belong to "
                             "the data sets '%s' and '%s'; expected one data set, or their labels",
                             g->path, (long long)columns[0] + 1, (long long)columns[i] + 1,
                             name_set(g, columns[0]), name_set(g, columns[i]));
    }
    return STATUS_OK;
}

/* Stores the cell of the columns that are read.  STATUS_INPUT: their cells differ.  Other data
 * sets may have other cells. */
static enum status choose_cell(struct guard *g, struct error *e)
{
    struct mtz_layout *m = g->m;
    const int64_t columns[] = {m->F_column >= 0 ? m->F_column : m->mates[0], m->second, m->mates[0],
                               m->mates[1]};
    const size_t n = columns[0] >= 0 ? sizeof columns / sizeof *columns : 0;
    const enum status s = check_sets(g, columns, n, e);
    if (s || !n)
        return s;
    const double *cell = cell_of(g, columns[0]);
    for (size_t i = 1; i < n; i++) {
        const double *other = columns[i] >= 0 ? cell_of(g, columns[i]) : cell;
        for (int k = 0; k < 6; k++)
            if (fabs(other[k] - cell[k]) > 1e-3 * cell[k])
                return error_set(e, STATUS_INPUT,
                                 "%s: the columns belong to data sets with different cells (got %g "
                                 "and %g); expected one cell",
                                 g->path, cell[k], other[k]);
    }
    memmove(m->cell, cell, sizeof m->cell);
    return STATUS_OK;
}

/* Makes the checks that need the whole header: required records, counts, columns and cell. */
static enum status check_counts(struct guard *g, int64_t data_words, struct error *e)
{
    const struct mtz_layout *m = g->m;
    if (!g->vers || !g->ncol || !g->cell || !g->syminf || !g->end)
        return damaged(g, e,
                       !g->vers     ? "no VERS MTZ:V1"
                       : !g->ncol   ? "no NCOL"
                       : !g->cell   ? "no CELL"
                       : !g->syminf ? "no SYMINF"
                                    : "no END");
    if (g->columns != m->ncol)
        return damaged(g, e, "NCOL and COLUMN differ");
    if (g->symm != m->nsym)
        return damaged(g, e, "SYMINF and SYMM differ");
    if (m->ncol * m->nref != data_words)
        return damaged(g, e, "NCOL contradicts the place of the header");
    choose_typed(g);
    enum status s = g->labels->F ? choose_labelled(g, FIRST, g->labels->F, e) : STATUS_OK;
    if (!s && g->labels->second)
        s = choose_labelled(g, SECOND, g->labels->second, e);
    if (!s)
        s = choose_cell(g, e);
    if (s)
        return s;
    const enum mtz_wanted wanted = g->labels->wanted;
    const bool whole = m->second >= 0 || wanted == MTZ_AMPLITUDES || wanted == MTZ_INTENSITIES;
    return (m->F_column >= 0 || m->mates[0] >= 0) && whole ? STATUS_OK : refuse_columns(g, e);
}

static enum status check_header(struct guard *g, const char *header, int64_t records,
                                int64_t data_words, struct error *e)
{
    bool closed = false;
    for (int64_t i = 0; i < records && !closed; i++) {
        const char *record = header + i * RECORD;
        if (g->end) {
            closed = strncmp(record, "MTZENDOFHEADERS", 15) == 0;
            continue;
        }
        split(g, record);
        const enum status s = take_record(g, e);
        if (s)
            return s;
    }
    if (!closed)
        return damaged(g, e, "no MTZENDOFHEADERS");
    return check_counts(g, data_words, e);
}

/* Finds and reads the header.  Word 2 of the file is the position of the header in words, counted
 * from 1. */
static enum status check_stream(struct guard *g, FILE *in, struct error *e)
{
    unsigned char start[12];
    int32_t place;
    if (fread(start, 1, sizeof start, in) != sizeof start || memcmp(start, "MTZ ", 4) != 0) {
        const enum status s = filetype_check(g->path, filetype_of_file(in), FILETYPE_MTZ, e);
        return s ? s
                 : error_set(e, STATUS_INPUT, "%s: not an MTZ file%s", g->path,
                             g->labels->wanted == MTZ_INTENSITIES
                                 ? ""
                                 : ". Use --hkl for lines of h k l F");
    }
    if (start[8] != 0x44 || (start[9] & 0xf0) != 0x40)
        return damaged(g, e, "unknown machine stamp; expected little-endian IEEE");
    memcpy(&place, start + 4, sizeof place);
    const int64_t offset = ((int64_t)place - 1) * 4, length = g->m->size - offset;
    if (place <= FIRST_WORD || length < 10 * RECORD)
        return damaged(g, e, "the header is not within the file");
    if (length > HEADER_MAX)
        return damaged(g, e, "the header is too long");
    char *header = malloc((size_t)length);
    if (!header)
        return error_memory(e, g->path);
    enum status s;
    if (fseek(in, (long)offset, SEEK_SET) || fread(header, 1, (size_t)length, in) != (size_t)length)
        s = error_errno(e, STATUS_FAILED, "%s: cannot read", g->path);
    else
        s = check_header(g, header, length / RECORD, place - 1 - FIRST_WORD, e);
    free(header);
    return s;
}

enum status mtz_check(const char *path, const struct mtz_labels *labels, struct mtz_layout *m,
                      struct error *e)
{
    *m = (struct mtz_layout){.F_column = -1, .second = -1, .mates = {-1, -1}, .F_max = HKL_F_MAX};
    struct stat st;
    if (stat(path, &st))
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    if (!S_ISREG(st.st_mode))
        return error_set(e, STATUS_FAILED, "%s: not an ordinary file; expected an MTZ file", path);
    FILE *in = fopen(path, "rbe");
    if (!in)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    m->size = st.st_size;
    struct guard g = {.path = path,
                      .labels = labels,
                      .m = m,
                      .pair = {-1, -1},
                      .mates = {-1, -1},
                      .first_F = -1,
                      .first_D = -1,
                      .first_P = -1,
                      .first_J = -1};
    const enum status s = check_stream(&g, in, e);
    (void)fclose(in);
    mem_free(g.set_of);
    return s;
}
