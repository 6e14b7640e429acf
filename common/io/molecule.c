#include "io/molecule.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "io/filetype.h"
#include "io/gemmi_table.h"
#include "io/tool.h"

#define B_OF_U (8.0 * M_PI * M_PI)

/* Cells that an atom may be away from the origin, and the least edge of a crystal in A. */
static const double FARTHEST = 100.0, EDGE_MIN_A = 2.0;

/* Of occupancies of one place, in all models of an ensemble; and of the edges, by which SCALEn may
 * differ from the cell. */
static const double FULL = 1.02, ALIKE = 0.01;

/* A file while it is read. */
struct reader {
    const char *path;
    struct molecule *m;
    bool cif;
    size_t models, no_B, no_occupancy;  // models; atoms without a value
    double occupied;                    // the sum over models of the mean occupancy
};

static enum status refuse(const struct reader *r, struct error *e, const char *why)
{
    return error_set(e, STATUS_INPUT, "%s: %s", r->path, why);
}

/* --- kinds of files ---------------------------------------------------------------- */

static bool ends_in(const char *path, const char *suffix)
{
    const size_t n = strlen(path), k = strlen(suffix);
    return n >= k && strcasecmp(path + n - k, suffix) == 0;
}

/* Whether a text, perhaps compressed, is CIF: its first word is data_. */
static enum status find_kind(struct reader *r, struct error *e)
{
    char line[256] = "";
    struct stat st;
    if (stat(r->path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(e, STATUS_FAILED, "%s: must be an ordinary file", r->path);
    FILE *in = fopen(r->path, "rbe");
    if (!in)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", r->path);
    const enum filetype type = filetype_of_file(in);
    (void)fclose(in);
    if (type == FILETYPE_GZIP && !ends_in(r->path, ".gz"))
        return refuse(r, e, "the file is compressed; expected a name that ends in .gz");
    if (type != FILETYPE_GZIP && ends_in(r->path, ".gz"))
        return refuse(r, e, "the file is not compressed, but its name ends in .gz");
    const enum status s =
        type == FILETYPE_GZIP ? STATUS_OK : filetype_check(r->path, type, FILETYPE_MODEL, e);
    gzFile z = s ? NULL : gzopen(r->path, "rbe");
    if (!s && !z)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", r->path);
    bool first = false;
    while (z && !first && gzgets(z, line, sizeof line)) {
        const char *at = line + (memcmp(line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
        at += strspn(at, " \t\r\n");
        first = *at && *at != '#';
        r->cif = first && (strncasecmp(at, "data_", 5) == 0 || strncasecmp(at, "global_", 7) == 0);
    }
    if (z)
        (void)gzclose(z);
    return s;
}

/* --- cell and symmetry ------------------------------------------------------------- */

/* M of a along x and b in the plane of x and y; false for angles that make no cell. */
static bool set_fraction(struct molecule *m)
{
    double cosine[3], *M = m->fraction;
    for (int i = 0; i < 3; i++)
        cosine[i] = cos(m->cell_rad[i]);
    const double sine = sin(m->cell_rad[2]);
    const double c_y = (cosine[0] - cosine[1] * cosine[2]) / sine;
    const double c_z_sqr = 1.0 - cosine[1] * cosine[1] - c_y * c_y;
    memset(M, 0, sizeof m->fraction);
    if (!(c_z_sqr > 1e-6))
        return false;
    for (int i = 0; i < 3; i++) {  // of 1 A along each axis
        const double z = (i == 2) / (m->cell_A[2] * sqrt(c_z_sqr));
        const double y = ((i == 1) - z * m->cell_A[2] * c_y) / (m->cell_A[1] * sine);
        M[8 + i] = z;
        M[4 + i] = y;
        M[i] =
            ((i == 0) - y * m->cell_A[1] * cosine[2] - z * m->cell_A[2] * cosine[1]) / m->cell_A[0];
    }
    return true;
}

/* Six columns of the first row. */
static enum status take_cell(struct reader *r, const struct gemmi_table *t, struct error *e)
{
    double value[6] = {0.0};
    bool good = t->rows > 0;
    if (t->rows > 1)
        return error_set(e, STATUS_INPUT,
                         "%s: the file holds %zu structures (got %zu cells); expected one", r->path,
                         t->rows, t->rows);
    for (size_t i = 0; i < 6 && good; i++) {
        value[i] = gemmi_table_number(t, 0, i);
        good = value[i] > 0.0 && isfinite(value[i]) && (i < 3 || value[i] < 180.0);
    }
    for (int i = 0; i < 3; i++) {
        r->m->cell_A[i] = value[i];
        r->m->cell_rad[i] = deg_to_rad(value[3 + i]);
        good = good && value[i] >= EDGE_MIN_A;
    }
    if (good && set_fraction(r->m))
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "%s: no unit cell of a crystal (got %g %g %g A, %g %g %g deg); expected it in "
                     "CRYST1 of a PDB file, or in _cell of a CIF file. Structures by NMR or "
                     "electron microscopy have none",
                     r->path, value[0], value[1], value[2], value[3], value[4], value[5]);
}

static enum status read_tags(const struct reader *r, const char *const *tags, const char *from,
                             int keep, struct gemmi_table *t, struct error *e)
{
    return gemmi_table_read(from, keep, tags, r->path, t, e);
}

/* The first of the tags that says something, in text[]; empty where none does. */
static enum status read_first(const struct reader *r, const char *const *names, const char *from,
                              int keep, char *text, size_t size, struct error *e)
{
    enum status s = STATUS_OK;
    *text = '\0';
    for (size_t i = 0; names[i] && !*text && !s; i++) {
        const char *const tags[] = {names[i], NULL};
        struct gemmi_table t;
        s = read_tags(r, tags, from, keep, &t, e);
        if (!s && t.rows)
            (void)snprintf(text, size, "%s", gemmi_table_text(&t, 0, 0));
        gemmi_table_free(&t);
    }
    return s;
}

/* Number of the International Tables, 0 where the file gives none. */
static enum status check_number(const struct reader *r, const char *from, struct error *e)
{
    static const char *const names[] = {"_space_group_IT_number", "_symmetry_Int_Tables_number",
                                        "_space_group.IT_number", "_symmetry.Int_Tables_number",
                                        NULL};
    const struct operators *o = &r->m->operators;
    char text[32];
    const enum status s = read_first(r, names, from, -1, text, sizeof text, e);
    const int number = atoi(text);
    if (s || !number || !o->number || number == o->number)
        return s;
    return error_set(e, STATUS_INPUT,
                     "%s: space group '%s' has the number %d, but the file gives the number %d; "
                     "remove the wrong one",
                     r->path, o->name, o->number, number);
}

/* Operators that the file lists, if any. */
static enum status read_operators(const struct reader *r, struct operators *o, struct error *e)
{
    static const char *const names[] = {"_space_group_symop_operation_xyz",
                                        "_symmetry_equiv_pos_as_xyz",
                                        "_space_group_symop.operation_xyz", NULL};
    enum status s = STATUS_OK;
    o->count = 0;
    for (size_t i = 0; names[i] && !o->count && !s; i++) {
        const char *const tags[] = {names[i], NULL};
        struct gemmi_table t;
        s = read_tags(r, tags, r->path, -1, &t, e);
        for (size_t row = 0; row < t.rows && !s; row++)
            if (!operators_add(o, gemmi_table_text(&t, row, 0)))
                s = error_set(e, STATUS_INPUT,
                              "%s: symmetry operator %zu is not one (got '%.40s'); expected it as "
                              "'-x,y+1/2,-z', and at most %d operators",
                              r->path, row + 1, gemmi_table_text(&t, row, 0), OPERATORS_MAX);
        gemmi_table_free(&t);
    }
    if (!s && o->count && !operators_are_group(o))
        s = error_set(e, STATUS_INPUT,
                      "%s: its %zu symmetry operators are not a group; expected all operators of "
                      "the space group, each once",
                      r->path, o->count);
    return s;
}

/* Whether the listed operators are those of the symbol, at either origin. */
static enum status compare(const struct reader *r, const char *symbol,
                           const struct operators *listed, const struct operators *named,
                           bool ambiguous, struct error *e)
{
    struct operators other;
    char second[OPERATORS_NAME_SIZE + 2];
    bool ignored;
    if (operators_are_same(listed, named))
        return STATUS_OK;
    (void)snprintf(second, sizeof second, "%s", named->name);
    char *origin = strchr(second, ':');
    if (ambiguous && origin) {
        (void)strcpy(origin, ":2");
        const enum status s =
            operators_find(r->path, second, r->m->cell_A, r->m->cell_rad, &other, &ignored, e);
        if (s || operators_are_same(listed, &other))
            return s;
    }
    return error_set(e, STATUS_INPUT,
                     "%s: its symmetry operators are not those of its space group '%s'; remove the "
                     "wrong ones",
                     r->path, symbol);
}

/* Of a CIF file of a small molecule: operators hold, which a name must not contradict; a name alone
 * must leave nothing open. */
static enum status find_symmetry(struct reader *r, struct error *e)
{
    static const char *const symbols[] = {
        "_space_group_name_H-M_alt", "_symmetry_space_group_name_H-M", "_space_group.name_H-M_alt",
        "_symmetry.space_group_name_H-M", NULL};
    struct molecule *m = r->m;
    struct operators listed = {0};
    struct error cause = {0};
    char symbol[128];
    bool ambiguous = false;
    enum status s = read_first(r, symbols, r->path, -1, symbol, sizeof symbol, e);
    if (s || (s = read_operators(r, &listed, e)))
        return s;
    if (!*symbol && !listed.count)
        return refuse(r, e,
                      "no space group; expected _space_group_name_H-M_alt, or the operators in "
                      "_space_group_symop_operation_xyz");
    s = *symbol ? operators_find(r->path, symbol, m->cell_A, m->cell_rad, &m->operators, &ambiguous,
                                 &cause)
                : STATUS_OK;
    if (s == STATUS_INPUT && listed.count && !m->operators.count)
        s = STATUS_OK;  // gemmi does not know the name, and nobody needs it
    if (s)
        return error_set(e, s, "%s", cause.text);
    if (listed.count && m->operators.count &&
        (s = compare(r, symbol, &listed, &m->operators, ambiguous, e)))
        return s;
    if (!listed.count && ambiguous)
        return error_set(e, STATUS_INPUT,
                         "%s: space group '%s' has two origins; expected '%.*s:1' or '%.*s:2', or "
                         "the operators in _space_group_symop_operation_xyz",
                         r->path, symbol, (int)strcspn(m->operators.name, ":"), m->operators.name,
                         (int)strcspn(m->operators.name, ":"), m->operators.name);
    if (listed.count) {
        const int number = m->operators.number;
        m->operators = listed;
        m->operators.number = number;
        (void)snprintf(m->operators.name, sizeof m->operators.name, "%.60s",
                       *symbol ? symbol : "of the listed operators");
        if (!operators_fit(&listed, m->cell_A, m->cell_rad))
            return refuse(r, e, "its symmetry operators do not fit the cell");
    }
    return check_number(r, r->path, e);
}

/* --- atoms ------------------------------------------------------------------------- */

static enum status add(struct reader *r, const struct molecule_atom *atom, struct error *e)
{
    struct molecule *m = r->m;
    struct molecule_atom *list = mem_grow(m->atoms, m->count, 1, sizeof *list, &m->room);
    if (!list)
        return error_memory(e, r->path);
    m->atoms = list;
    list[m->count++] = *atom;
    return STATUS_OK;
}

void molecule_position(const struct molecule *m, const struct molecule_atom *a, double x[3])
{
    for (int i = 0; i < 3; i++) {
        const double *row = m->fraction + 4 * i;
        x[i] = m->small ? a->at[i]
                        : row[0] * a->at[0] + row[1] * a->at[1] + row[2] * a->at[2] + row[3];
    }
}

static enum status refuse_atom(const struct reader *r, size_t row, const char *label,
                               const char *why, struct error *e)
{
    return error_set(e, STATUS_INPUT, "%s: atom %zu (%s): %s", r->path, row + 1, label, why);
}

/* Occupancy and B, which may be missing. */
static enum status take_weights(struct reader *r, const struct gemmi_table *t, size_t row,
                                size_t occupancy, size_t B, struct molecule_atom *a,
                                struct error *e)
{
    const char *label = gemmi_table_text(t, row, 0);
    a->occupancy = gemmi_table_number(t, row, occupancy);
    a->B_A2 = gemmi_table_number(t, row, B);
    if (isinf(a->occupancy) || a->occupancy < 0.0 || a->occupancy > 100.0)
        return refuse_atom(r, row, label, "its occupancy must be a number from 0 to 100", e);
    if (isinf(a->B_A2) || fabs(a->B_A2) > 10000.0)
        return refuse_atom(r, row, label, "its B factor must be a number within 10000 A^2", e);
    r->no_occupancy += isnan(a->occupancy) ? 1 : 0;
    r->no_B += isnan(a->B_A2) && !a->anisotropic;
    a->occupancy = isnan(a->occupancy) ? 1.0 : a->occupancy;
    a->B_A2 = isnan(a->B_A2) ? 0.0 : a->B_A2;
    return STATUS_OK;
}

/* Three coordinates from a column on. */
static enum status take_position(const struct reader *r, const struct gemmi_table *t, size_t row,
                                 size_t column, struct molecule_atom *a, struct error *e)
{
    double x[3];
    for (size_t i = 0; i < 3; i++) {
        a->at[i] = gemmi_table_number(t, row, column + i);
        if (!isfinite(a->at[i]))
            return refuse_atom(r, row, gemmi_table_text(t, row, 0),
                               "its coordinates must be numbers", e);
    }
    molecule_position(r->m, a, x);
    for (int i = 0; i < 3; i++)
        if (fabs(x[i]) > FARTHEST)
            return refuse_atom(r, row, gemmi_table_text(t, row, 0),
                               "its coordinates are more than 100 cells away from the origin", e);
    return STATUS_OK;
}

/* What is wrong with all atoms together. */
static enum status check_atoms(const struct reader *r, struct error *e)
{
    const struct molecule *m = r->m;
    size_t hydrogens = 0, apart = 0;
    double occupied = 0.0;
    for (const struct molecule_atom *a = m->atoms; a < m->atoms + m->count; a++) {
        hydrogens += strcasecmp(a->symbol, "H") == 0 || strcasecmp(a->symbol, "D") == 0;
        occupied += a->occupancy;
        apart += memcmp(a->at, m->atoms[0].at, sizeof a->at) != 0;
    }
    if (!m->count)
        return refuse(r, e, "the file holds no atoms");
    if (!(occupied > 0.0))
        return refuse(r, e, "the occupancies of all atoms are 0, so that nothing scatters");
    if (m->count > 2 && !apart)
        return refuse(r, e, "all atoms are at one place");
    if (r->models > 1 && r->occupied > FULL)
        return error_set(
            e, STATUS_INPUT,
            "%s: the occupancies of its %zu models add up to %.3g; expected at most 1. "
            "Give each atom of an ensemble the occupancy %.3g, or keep one model",
            r->path, r->models, r->occupied, 1.0 / (double)r->models);
    if (hydrogens == m->count)
        log_line(LOG_WARNING, "%s: all its atoms are hydrogen: is it the whole model?", r->path);
    if (r->no_B)
        log_line(LOG_WARNING, "%s: %zu of %zu atoms have no B factor: B = 0 is used", r->path,
                 r->no_B, m->count);
    if (r->no_occupancy)
        log_line(LOG_WARNING, "%s: %zu of %zu atoms have no occupancy: 1 is used", r->path,
                 r->no_occupancy, m->count);
    return STATUS_OK;
}

/* --- macromolecules ----------------------------------------------------------------- */

static double number_at(const char *line, int first, int last)
{
    char text[32] = "", *end;
    const int length = (int)strlen(line);
    for (int i = first; i <= last && i <= length; i++)
        text[i - first] = line[i - 1];
    const size_t blank = strspn(text, " \t\r\n");
    if (!text[blank])
        return (double)NAN;
    const double value = strtod(text + blank, &end);
    return end != text + blank && !end[strspn(end, " \t\r\n")] ? value : (double)INFINITY;
}

/* What gemmi reads as 0: coordinates that are not numbers, occupancies and B that are missing. */
static enum status check_line(struct reader *r, const char *line, long number, struct error *e)
{
    static const struct {
        const char *what;
        int first, last;
        bool needed;
    } columns[] = {{"x", 31, 38, true},
                   {"y", 39, 46, true},
                   {"z", 47, 54, true},
                   {"occupancy", 55, 60, false},
                   {"B factor", 61, 66, false}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const double value = number_at(line, columns[i].first, columns[i].last);
        const int room = columns[i].last - columns[i].first + 1;
        if (isinf(value) || (columns[i].needed && isnan(value)))
            return error_set(e, STATUS_INPUT,
                             "%s:%ld: %s is not a number (got '%.*s'); expected one in the columns "
                             "%d to %d",
                             r->path, number, columns[i].what, room,
                             (int)strlen(line) >= columns[i].first ? line + columns[i].first - 1
                                                                   : "",
                             columns[i].first, columns[i].last);
        r->no_occupancy += i == 3 && isnan(value);
        r->no_B += i == 4 && isnan(value);
    }
    return STATUS_OK;
}

/* REMARK 290 lists the operators by which the depositors made symmetry mates. */
struct remark {
    size_t count;                      // rows
    double row[3 * OPERATORS_MAX][4];  // of operators, of A
};

static void take_remark(struct remark *m, const char *line)
{
    const size_t n = sizeof m->row / sizeof *m->row;
    int row, operator;
    double *v = m->row[m->count < n ? m->count : 0];
    if (m->count < n && sscanf(line, "REMARK 290   SMTRY%1d %d %lf %lf %lf %lf", &row, &operator, v,
                               v + 1, v + 2, v + 3) == 6)
        m->count++;
}

/* Reads the lines of a PDB file. */
static enum status check_lines(struct reader *r, struct remark *remark, struct error *e)
{
    char line[256];
    enum status s = STATUS_OK;
    gzFile z = gzopen(r->path, "rbe");
    if (!z)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", r->path);
    for (long number = 1; !s && gzgets(z, line, sizeof line); number++) {
        if (strncmp(line, "ATOM  ", 6) == 0 || strncmp(line, "HETATM", 6) == 0)
            s = check_line(r, line, number, e);
        if (strncmp(line, "REMARK 290", 10) == 0)
            take_remark(remark, line);
    }
    (void)gzclose(z);
    return s;
}

/* R_A = O R M of every operator is there, of A. */
static enum status check_remark(const struct reader *r, const struct remark *remark,
                                struct error *e)
{
    const struct molecule *m = r->m;
    const struct operators *o = &m->operators;
    if (!remark->count || r->m->own_axes)
        return STATUS_OK;
    bool good = remark->count == 3 * o->count;
    for (size_t i = 0; i < remark->count / 3 && good; i++) {
        bool known = false;
        double MR[9] = {0};  // M R_A = R M
        for (int k = 0; k < 27; k++)
            MR[3 * (k / 9) + k % 3] += m->fraction[4 * (k / 9) + k / 3 % 3] *
                                       remark->row[3 * i + (size_t)(k / 3 % 3)][k % 3];
        for (size_t j = 0; j < o->count && !known; j++) {
            known = true;
            for (int k = 0; k < 9 && known; k++) {
                double RM = 0.0;
                for (int n = 0; n < 3; n++)
                    RM += o->list[j].R[3 * (k / 3) + n] * m->fraction[4 * n + k % 3];
                known = fabs(RM - MR[k]) < 0.02 * m->fraction[5 * (k / 3)];
            }
        }
        good = known;
    }
    return good ? STATUS_OK
                : error_set(e, STATUS_INPUT,
                            "%s: REMARK 290 lists %zu symmetry operators that are not those of "
                            "'%s' in CRYST1; correct or remove the wrong one",
                            r->path, remark->count / 3, o->name);
}

/* SCALEn, where it is not that of the cell: its edges must be the cell's all the same. */
static enum status take_axes(struct reader *r, const struct gemmi_table *t, struct error *e)
{
    struct molecule *m = r->m;
    double M[12], G[9] = {0}, own[9] = {0};
    if (!t->rows)
        return STATUS_OK;
    for (size_t i = 0; i < 12; i++)
        if (!isfinite(M[i] = gemmi_table_number(t, 0, i)))
            return refuse(r, e, "SCALEn or _atom_sites.fract_transf_matrix must be numbers");
    for (int k = 0; k < 27; k++) {  // scalar products of a*, b*, c*
        const int i = k / 9, j = k / 3 % 3, n = k % 3;
        G[3 * i + j] += M[4 * i + n] * M[4 * j + n];
        own[3 * i + j] += m->fraction[4 * i + n] * m->fraction[4 * j + n];
    }
    for (int k = 0; k < 9; k++)
        if (fabs(G[k] - own[k]) > ALIKE * sqrt(own[4 * (k / 3)] * own[4 * (k % 3)]))
            return refuse(r, e,
                          "SCALEn or _atom_sites.fract_transf_matrix contradicts the unit cell; "
                          "remove it or correct the cell");
    memcpy(m->fraction, M, sizeof M);
    m->own_axes = true;
    return STATUS_OK;
}

/* Rows of what gemmi wrote: type, x, y, z, occupancy, B, model and id. */
static enum status take_atoms(struct reader *r, const struct gemmi_table *t, struct error *e)
{
    enum { X = 1, OCCUPANCY = 4, B = 5, MODEL = 6 };
    const char *model = "";
    double sum = 0.0;
    size_t n = 0;
    enum status s = STATUS_OK;
    for (size_t row = 0; row < t->rows && !s; row++) {
        struct molecule_atom a = {0};
        (void)snprintf(a.symbol, sizeof a.symbol, "%s", gemmi_table_text(t, row, 0));
        if (row == 0 || strcmp(model, gemmi_table_text(t, row, MODEL)) != 0) {
            model = gemmi_table_text(t, row, MODEL);
            r->occupied += n ? sum / (double)n : 0.0;
            r->models++;
            sum = 0.0;
            n = 0;
        }
        if (!(s = take_position(r, t, row, X, &a, e)) &&
            !(s = take_weights(r, t, row, OCCUPANCY, B, &a, e)))
            s = add(r, &a, e);
        sum += a.occupancy;
        n++;
    }
    r->occupied += n ? sum / (double)n : 0.0;
    return s;
}

/* Rows of id and U, in the order of the atoms. */
static void take_tensors(struct reader *r, const struct gemmi_table *atoms,
                         const struct gemmi_table *t)
{
    enum { ID = 7 };
    size_t at = 0;
    for (size_t row = 0; row < t->rows; row++) {
        while (at < r->m->count &&
               strcmp(gemmi_table_text(atoms, at, ID), gemmi_table_text(t, row, 0)) != 0)
            at++;
        if (at == r->m->count)
            return;
        r->m->atoms[at].anisotropic = true;
        for (size_t i = 0; i < 6; i++)
            r->m->atoms[at].U_A2[i] = gemmi_table_number(t, row, 1 + i);
    }
}

/* Of what gemmi convert wrote to `from`. */
static enum status read_converted(struct reader *r, const char *from, int keep, struct error *e)
{
    static const char *const cell[] = {"_cell.length_a",
                                       "_cell.length_b",
                                       "_cell.length_c",
                                       "_cell.angle_alpha",
                                       "_cell.angle_beta",
                                       "_cell.angle_gamma",
                                       NULL};
    static const char *const names[] = {"_symmetry.space_group_name_H-M", NULL};
    static const char *const axes[] = {"_atom_sites.fract_transf_matrix[1][1]",
                                       "_atom_sites.fract_transf_matrix[1][2]",
                                       "_atom_sites.fract_transf_matrix[1][3]",
                                       "_atom_sites.fract_transf_vector[1]",
                                       "_atom_sites.fract_transf_matrix[2][1]",
                                       "_atom_sites.fract_transf_matrix[2][2]",
                                       "_atom_sites.fract_transf_matrix[2][3]",
                                       "_atom_sites.fract_transf_vector[2]",
                                       "_atom_sites.fract_transf_matrix[3][1]",
                                       "_atom_sites.fract_transf_matrix[3][2]",
                                       "_atom_sites.fract_transf_matrix[3][3]",
                                       "_atom_sites.fract_transf_vector[3]",
                                       NULL};
    static const char *const atoms[] = {"_atom_site.type_symbol",
                                        "_atom_site.Cartn_x",
                                        "_atom_site.Cartn_y",
                                        "_atom_site.Cartn_z",
                                        "_atom_site.occupancy",
                                        "_atom_site.B_iso_or_equiv",
                                        "_atom_site.pdbx_PDB_model_num",
                                        "_atom_site.id",
                                        NULL};
    static const char *const tensors[] = {
        "_atom_site_anisotrop.id",      "_atom_site_anisotrop.U[1][1]",
        "_atom_site_anisotrop.U[2][2]", "_atom_site_anisotrop.U[3][3]",
        "_atom_site_anisotrop.U[1][2]", "_atom_site_anisotrop.U[1][3]",
        "_atom_site_anisotrop.U[2][3]", NULL};
    struct gemmi_table t, u = {0};
    char symbol[128];
    bool ignored;
    enum status s = read_tags(r, cell, from, keep, &t, e);
    s = s ? s : take_cell(r, &t, e);
    gemmi_table_free(&t);
    s = s ? s : read_first(r, names, from, keep, symbol, sizeof symbol, e);
    if (!s && !*symbol)
        s = refuse(r, e,
                   "no space group; expected it in CRYST1 of a PDB file, or in _symmetry of an "
                   "mmCIF file");
    s = s ? s
          : operators_find(r->path, symbol, r->m->cell_A, r->m->cell_rad, &r->m->operators,
                           &ignored, e);
    if (s)
        return s;
    s = read_tags(r, axes, from, keep, &t, e);
    s = s ? s : take_axes(r, &t, e);
    gemmi_table_free(&t);
    if (s)
        return s;
    s = read_tags(r, atoms, from, keep, &t, e);
    s = s ? s : take_atoms(r, &t, e);
    s = s ? s : read_tags(r, tensors, from, keep, &u, e);
    if (!s)
        take_tensors(r, &t, &u);
    gemmi_table_free(&u);
    gemmi_table_free(&t);
    return s;
}

/* gemmi writes one block, where the file may hold several. */
static enum status check_blocks(const struct reader *r, struct error *e)
{
    static const char *const cell[] = {"_cell.length_a", NULL};
    struct gemmi_table t;
    enum status s = read_tags(r, cell, r->path, -1, &t, e);
    if (!s && t.rows > 1)
        s = error_set(e, STATUS_INPUT, "%s: the file holds %zu structures; expected one", r->path,
                      t.rows);
    gemmi_table_free(&t);
    return s;
}

/* The values that gemmi makes 0 or 1 when they are missing. */
static enum status count_missing(struct reader *r, struct error *e)
{
    static const char *const tags[] = {"_atom_site.id",
                                       "_atom_site.Cartn_x",
                                       "_atom_site.Cartn_y",
                                       "_atom_site.Cartn_z",
                                       "_atom_site.occupancy",
                                       "_atom_site.B_iso_or_equiv",
                                       NULL};
    struct gemmi_table t;
    enum status s = read_tags(r, tags, r->path, -1, &t, e);
    for (size_t row = 0; row < t.rows && !s; row++) {
        for (size_t c = 1; c < 4 && !s; c++)
            if (!isfinite(gemmi_table_number(&t, row, c)))
                s = refuse_atom(r, row, gemmi_table_text(&t, row, 0),
                                "its coordinates must be numbers", e);
        for (size_t c = 4; c < 6 && !s; c++)
            if (isinf(gemmi_table_number(&t, row, c)))
                s = refuse_atom(r, row, gemmi_table_text(&t, row, 0),
                                "its occupancy and B factor must be numbers", e);
        r->no_occupancy += isnan(gemmi_table_number(&t, row, 4)) ? 1 : 0;
        r->no_B += isnan(gemmi_table_number(&t, row, 5)) ? 1 : 0;
    }
    gemmi_table_free(&t);
    return s;
}

/* With non-crystallographic symmetry written out. */
static enum status convert(const struct reader *r, int file, char *name, struct error *e)
{
    char command[] = "gemmi", verb[] = "convert", to[] = "--to=mmcif", ncs[] = "--expand-ncs=dup";
    char from[32], model[TOOL_PATH_SIZE], *bytes;
    char *argv[] = {command, verb, from, to, ncs, model, name, NULL};
    (void)snprintf(from, sizeof from, "--from=%s", r->cif ? "mmcif" : "pdb");
    tool_path(r->path, model);
    const enum status s = gemmi_read(argv, file, r->path, &bytes, e);
    mem_free(bytes);
    return s;
}

static enum status read_macromolecule(struct reader *r, struct error *e)
{
    char name[TOOL_NAME_SIZE];
    int file;
    struct remark *remark = mem_array(1, sizeof *remark);
    if (!remark)
        return error_memory(e, r->path);
    remark->count = 0;
    enum status s = r->cif ? check_blocks(r, e) : check_lines(r, remark, e);
    if (!s && r->cif)
        s = count_missing(r, e);
    s = s ? s : tool_file(r->path, &file, name, e);
    if (!s) {
        s = convert(r, file, name, e);
        s = s ? s : read_converted(r, name, file, e);
        (void)close(file);
    }
    if (!s)
        s = r->cif ? check_number(r, r->path, e) : check_remark(r, remark, e);
    mem_free(remark);
    return s;
}

/* --- small molecules ----------------------------------------------------------------- */

/* An element out of a type such as Fe3+ or a label such as C12. */
static void take_symbol(const char *type, char symbol[MOLECULE_SYMBOL_SIZE])
{
    size_t n = isalpha((unsigned char)type[0]) ? 1 : 0;
    n += n && islower((unsigned char)type[1]);
    if (n == 1 && isupper((unsigned char)type[1])) {  // FE and CL, but not CA1 of a label
        char two[3] = {type[0], type[1], '\0'};
        static const char *const known =
            " AC AG AL AM AR AS AT AU BA BE BI BR CD CE CL CR CS CU DY "
            "ER EU FE FR GA GD GE HE HF HG IN IR KR LA LI LU MG MN MO "
            "NA NB ND NE NI NP OS PA PB PD PM PO PR PT PU RA RB RE RH "
            "RN RU SB SC SE SI SM SN SR TA TB TC TE TH TI TL TM XE YB "
            "ZN ZR CA CO ";
        char framed[5];
        (void)snprintf(framed, sizeof framed, " %s ", two);
        n += strstr(known, framed) != NULL && !isalpha((unsigned char)type[2]);
    }
    (void)snprintf(symbol, MOLECULE_SYMBOL_SIZE, "%.*s", (int)n, type);
}

/* Images of an atom at its own place count as one. */
static void share_special_position(const struct molecule *m, struct molecule_atom *a)
{
    static const double near_A = 0.4;  // as gemmi
    size_t here = 0;
    for (size_t o = 0; o < m->operators.count; o++) {
        const struct symmetry_operator *op = &m->operators.list[o];
        double d[3], sqr = 0.0;
        for (int i = 0; i < 3; i++) {
            d[i] = op->t[i] - a->at[i];
            for (int k = 0; k < 3; k++)
                d[i] += op->R[3 * i + k] * a->at[k];
            d[i] -= rint(d[i]);
        }
        for (int k = 0; k < 9; k++) {
            const int i = k / 3, j = k % 3;
            sqr += d[i] * d[j] * m->cell_A[i] * m->cell_A[j] *
                   (i == j ? 1.0 : cos(m->cell_rad[3 - i - j]));
        }
        here += sqr < near_A * near_A;
    }
    a->occupancy /= here ? (double)here : 1.0;
}

/* Rows: label, type, x, y, z, occupancy, U, B, flag of dummies. */
static enum status take_sites(struct reader *r, const struct gemmi_table *t,
                              const struct gemmi_table *tensors, struct error *e)
{
    enum { TYPE = 1, X = 2, OCCUPANCY = 5, U = 6, B = 7, FLAG = 8 };
    enum status s = STATUS_OK;
    for (size_t row = 0; row < t->rows && !s; row++) {
        struct molecule_atom a = {0};
        const char *label = gemmi_table_text(t, row, 0), *type = gemmi_table_text(t, row, TYPE);
        if (strcasecmp(gemmi_table_text(t, row, FLAG), "dum") == 0)
            continue;  // a place without an atom
        take_symbol(*type ? type : label, a.symbol);
        if (!*a.symbol)
            return refuse_atom(r, row, label, "its element is not known", e);
        for (size_t u = 0; u < tensors->rows; u++) {
            if (strcmp(gemmi_table_text(tensors, u, 0), label) != 0)
                continue;
            a.anisotropic = true;
            for (size_t i = 0; i < 6; i++) {
                const double own = gemmi_table_number(tensors, u, 1 + i);
                a.U_A2[i] = isnan(own) ? gemmi_table_number(tensors, u, 7 + i) / B_OF_U : own;
                if (!isfinite(a.U_A2[i]))
                    return refuse_atom(r, row, label, "its anisotropic U must be six numbers", e);
            }
        }
        const double u_A2 = gemmi_table_number(t, row, U);
        if ((s = take_position(r, t, row, X, &a, e)) ||
            (s = take_weights(r, t, row, OCCUPANCY, B, &a, e)))
            return s;
        if (isinf(u_A2))
            return refuse_atom(r, row, label, "its U must be a number", e);
        if (!isnan(u_A2)) {
            r->no_B -= isnan(gemmi_table_number(t, row, B)) && !a.anisotropic;
            a.B_A2 = u_A2 * B_OF_U;
        }
        share_special_position(r->m, &a);
        s = add(r, &a, e);
    }
    return s;
}

static enum status read_small(struct reader *r, const struct gemmi_table *sites, struct error *e)
{
    static const char *const cell[] = {"_cell_length_a",
                                       "_cell_length_b",
                                       "_cell_length_c",
                                       "_cell_angle_alpha",
                                       "_cell_angle_beta",
                                       "_cell_angle_gamma",
                                       NULL};
    static const char *const tensors[] = {"_atom_site_aniso_label", "_atom_site_aniso_U_11",
                                          "_atom_site_aniso_U_22",  "_atom_site_aniso_U_33",
                                          "_atom_site_aniso_U_12",  "_atom_site_aniso_U_13",
                                          "_atom_site_aniso_U_23",  "_atom_site_aniso_B_11",
                                          "_atom_site_aniso_B_22",  "_atom_site_aniso_B_33",
                                          "_atom_site_aniso_B_12",  "_atom_site_aniso_B_13",
                                          "_atom_site_aniso_B_23",  NULL};
    struct gemmi_table t;
    r->m->small = true;
    r->models = 1;
    enum status s = read_tags(r, cell, r->path, -1, &t, e);
    s = s ? s : take_cell(r, &t, e);
    gemmi_table_free(&t);
    if (s || (s = find_symmetry(r, e)))
        return s;
    s = read_tags(r, tensors, r->path, -1, &t, e);
    s = s ? s : take_sites(r, sites, &t, e);
    gemmi_table_free(&t);
    return s;
}

/* --- all ------------------------------------------------------------------------------ */

enum status molecule_read(const char *path, struct molecule *m, struct error *e)
{
    static const char *const tags[] = {"_atom_site_label",          "_atom_site_type_symbol",
                                       "_atom_site_fract_x",        "_atom_site_fract_y",
                                       "_atom_site_fract_z",        "_atom_site_occupancy",
                                       "_atom_site_U_iso_or_equiv", "_atom_site_B_iso_or_equiv",
                                       "_atom_site_calc_flag",      NULL};
    struct reader r = {.path = path, .m = m};
    struct gemmi_table sites = {0};
    *m = (struct molecule){0};
    enum status s = find_kind(&r, e);
    if (!s && r.cif)
        s = read_tags(&r, tags, path, -1, &sites, e);
    if (!s)
        s = sites.rows ? read_small(&r, &sites, e) : read_macromolecule(&r, e);
    gemmi_table_free(&sites);
    return s ? s : check_atoms(&r, e);
}

void molecule_free(struct molecule *m)
{
    mem_free(m->atoms);
    m->atoms = NULL;
    m->count = m->room = 0;
}
