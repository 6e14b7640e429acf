/* Reads a model of atoms: recognises the kind of file, reads small molecules, and checks the
 * atoms of all models. */
#include "io/structure_factors/molecule.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include <zlib.h>

#include "base/alloc.h"
#include "base/filetype.h"
#include "base/log.h"

/* --- small molecules: CIF files with coordinates of the cell's edges --------------------- */

#define B_OF_U (8.0 * M_PI * M_PI)

/* Returns whether the first `n` letters of a text, 1 or 2, are the symbol of an element that has
 * scattering factors, in upper or lower case.  D is deuterium. */
static bool is_element(const char *text, size_t n)
{
    static const char known[] =
        " H HE LI BE B C N O F NE NA MG AL SI P S CL AR K CA SC TI V CR MN FE CO NI CU ZN GA GE AS "
        "SE BR KR RB SR Y ZR NB MO TC RU RH PD AG CD IN SN SB TE I XE CS BA LA CE PR ND PM SM EU "
        "GD TB DY HO ER TM YB LU HF TA W RE OS IR PT AU HG TL PB BI PO AT RN FR RA AC TH PA U NP "
        "PU AM CM BK CF D ";
    char framed[8];
    (void)snprintf(framed, sizeof framed, " %.*s ", (int)n, text);
    return strcasestr(known, framed) != NULL;
}

static size_t count_letters(const char *text)
{
    size_t n = 0;
    while (isalpha((unsigned char)text[n]))
        n++;
    return n;
}

/* Returns the number of letters of the element in an atom type, such as Fe3+.  0: the type is not
 * an element with or without a charge. */
static size_t element_of_type(const char *type)
{
    const size_t n = count_letters(type);
    const bool charge = type[n + strspn(type + n, "0123456789+-.")] == '\0';
    return (n == 1 || n == 2) && charge && is_element(type, n) ? n : 0;
}

/* Returns whether the first `n` letters of a label can be the element of its atom.  The file may
 * list its elements in `types`.  In a file without such a list, a label has letters only for its
 * element. */
static bool can_be(const char *label, size_t n, const struct gemmi_table *types)
{
    const size_t letters = count_letters(label);
    if (n > letters || !is_element(label, n))
        return false;
    for (size_t row = 0; row < types->rows; row++) {
        const char *type = gemmi_table_text(types, row, 0);
        if (element_of_type(type) == n && strncasecmp(type, label, n) == 0)
            return true;
    }
    return !types->rows && n == letters;
}

/* Returns the number of letters of the element in a label, such as C12, of an atom without a type.
 * The rules are those of the CIF dictionary for component 0 of _atom_site_label.  0: the element
 * is not known, and *why says why.  In CA1 of a file without list, for example, C and CA are
 * possible.  Programs that guess make calcium of the alpha carbon. */
static size_t element_of_label(const char *label, const struct gemmi_table *types, const char **why)
{
    const bool one = can_be(label, 1, types), two = can_be(label, 2, types);
    const bool capitals = two && isupper((unsigned char)label[1]);
    const bool ambiguous = capitals && (types->rows ? one : is_element(label, 1));
    *why = ambiguous ? "the label fits two elements; expected the element in the column "
                       "_atom_site_type_symbol"
                     : "the element is not known; expected it in the column _atom_site_type_symbol";
    return ambiguous ? 0 : two ? 2 : one ? 1 : 0;
}

/* Stores the symbol of the element of the atom in row `row` of the table of atoms. */
static enum status take_symbol(const struct molecule_reader *r, const struct gemmi_table *atoms,
                               size_t row, const struct gemmi_table *types, struct molecule_atom *a,
                               struct error *e)
{
    enum { LABEL, TYPE };
    const char *label = gemmi_table_text(atoms, row, LABEL);
    const char *type = gemmi_table_text(atoms, row, TYPE), *why = NULL;
    const size_t n = *type ? element_of_type(type) : element_of_label(label, types, &why);
    if (!n && *type)
        return error_set(e, STATUS_INPUT,
                         "%s: atom %zu (%s): its type is not an element (got '%.20s'); expected a "
                         "symbol such as Fe or Fe3+",
                         r->path, row + 1, label, type);
    if (!n)
        return molecule_refuse_atom(r, row, label, why, e);
    (void)snprintf(a->symbol, MOLECULE_SYMBOL_SIZE, "%.*s", (int)n, *type ? type : label);
    return STATUS_OK;
}

/* Divides the occupancy of an atom on a special position by the number of operators that map the
 * atom to itself.  Its images at that position then count as one atom. */
static void share_special_position(const struct molecule *m, struct molecule_atom *a)
{
    static const double near_A = 0.4;  // the distance that gemmi uses
    size_t here = 0;
    for (size_t o = 0; o < m->operators.count; o++) {
        const struct symmetry_operator *op = &m->operators.list[o];
        double d[3];
        for (int i = 0; i < 3; i++) {
            d[i] = op->t[i] - a->at[i];
            for (int k = 0; k < 3; k++)
                d[i] += op->R[3 * i + k] * a->at[k];
            d[i] -= rint(d[i]);
        }
        here += molecule_square_A2(m, d) < near_A * near_A;
    }
    a->occupancy /= here ? (double)here : 1.0;
}

/* Adds the atoms of a small molecule.  The columns of the table `t` are: label, type, x, y, z,
 * occupancy, U, B and the flag of dummy atoms.  The columns of `tensors` are: label, six elements
 * of U and six elements of B.  `types` has the atom types that the file lists, and no rows if
 * the file has no such list. */
static enum status take_sites(struct molecule_reader *r, const struct gemmi_table *t,
                              const struct gemmi_table *tensors, const struct gemmi_table *types,
                              struct error *e)
{
    enum { X = 2, OCCUPANCY = 5, U = 6, B = 7, FLAG = 8 };
    enum status s = STATUS_OK;
    for (size_t row = 0; row < t->rows && !s; row++) {
        struct molecule_atom a = {0};
        const char *label = gemmi_table_text(t, row, 0);
        if (strcasecmp(gemmi_table_text(t, row, FLAG), "dum") == 0)
            continue;  // a dummy atom marks a position without an atom
        if ((s = take_symbol(r, t, row, types, &a, e)))
            return s;
        for (size_t u = 0; u < tensors->rows; u++) {
            if (strcmp(gemmi_table_text(tensors, u, 0), label) != 0)
                continue;
            a.anisotropic = true;
            for (size_t i = 0; i < 6; i++) {
                const double own = gemmi_table_number(tensors, u, 1 + i);
                a.U_A2[i] = isnan(own) ? gemmi_table_number(tensors, u, 7 + i) / B_OF_U : own;
                if (!isfinite(a.U_A2[i]))
                    return molecule_refuse_atom(r, row, label,
                                                "the anisotropic U is not six numbers", e);
            }
        }
        const double u_A2 = gemmi_table_number(t, row, U);
        if ((s = molecule_take_position(r, t, row, X, &a, e)) ||
            (s = molecule_take_weights(r, t, row, OCCUPANCY, B, &a, e)))
            return s;
        if (isinf(u_A2))
            return molecule_refuse_atom(r, row, label, "the U is not a number", e);
        if (!isnan(u_A2)) {
            r->no_B -= isnan(gemmi_table_number(t, row, B)) && !a.anisotropic;
            a.B_A2 = u_A2 * B_OF_U;
        }
        share_special_position(r->m, &a);
        molecule_add(r, &a);
    }
    return s;
}

/* Reads the cell, space group and atoms of a small molecule from a CIF file.  `sites` is the
 * table of its atoms; see take_sites. */
static enum status small_molecule_read(struct molecule_reader *r, const struct gemmi_table *sites,
                                       struct error *e)
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
    static const char *const types[] = {"_atom_type_symbol", NULL};
    struct gemmi_table t, listed;
    r->m->small = true;
    r->models = 1;
    enum status s = molecule_read_tags(r, cell, r->path, -1, &t, e);
    s = s ? s : molecule_take_cell(r, &t, e);
    gemmi_table_free(&t);
    if (s || (s = space_group_find(r, e)))
        return s;
    s = molecule_read_tags(r, types, r->path, -1, &listed, e);
    if (!s) {
        s = molecule_read_tags(r, tensors, r->path, -1, &t, e);
        s = s ? s : take_sites(r, sites, &t, &listed, e);
        gemmi_table_free(&t);
    }
    gemmi_table_free(&listed);
    return s;
}

/* Largest allowed sum over the models of an ensemble of their mean occupancies. */
static const double FULL = 1.02;

/* --- kinds of files ---------------------------------------------------------------- */

static bool ends_in(const char *path, const char *suffix)
{
    const size_t n = strlen(path), k = strlen(suffix);
    return n >= k && strcasecmp(path + n - k, suffix) == 0;
}

/* Finds out whether the file is CIF or PDB, compressed or not.  A file is CIF if its first word
 * begins with data_ or global_.  Sets r->cif. */
static enum status find_kind(struct molecule_reader *r, struct error *e)
{
    char line[256] = "";
    struct stat st;
    if (stat(r->path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(e, STATUS_FAILED, "%s: not an ordinary file; expected a model of atoms",
                         r->path);
    FILE *in = fopen(r->path, "rbe");
    if (!in)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", r->path);
    const enum filetype type = filetype_of_file(in);
    (void)fclose(in);
    if (type == FILETYPE_GZIP && !ends_in(r->path, ".gz"))
        return molecule_refuse(r, e, "the file is compressed; expected a name that ends in .gz");
    if (type != FILETYPE_GZIP && ends_in(r->path, ".gz"))
        return molecule_refuse(r, e, "the file is not compressed, but its name ends in .gz");
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

/* Checks the atoms as a whole: number, occupancies and positions.  Warns about missing values and
 * about a model that has only hydrogen. */
static enum status check_atoms(const struct molecule_reader *r, struct error *e)
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
        return molecule_refuse(r, e, "the file has no atoms");
    if (!(occupied > 0.0))
        return molecule_refuse(r, e,
                               "the occupancies of all atoms are 0, so that nothing scatters");
    if (m->count > 2 && !apart)
        return molecule_refuse(r, e, "all atoms are at one position; expected different positions");
    if (r->models > 1 && r->occupied > FULL)
        return error_set(
            e, STATUS_INPUT,
            "%s: the occupancies of its %zu models add up to %.3g; expected at most 1. "
            "Give each atom of an ensemble the occupancy %.3g, or keep one model",
            r->path, r->models, r->occupied, 1.0 / (double)r->models);
    if (hydrogens == m->count)
        log_line(LOG_WARNING, "%s: all atoms are hydrogen. Is it the whole model?", r->path);
    if (r->no_B)
        log_line(LOG_WARNING, "%s: %zu of %zu atoms have no B factor: B = 0 is used", r->path,
                 r->no_B, m->count);
    if (r->no_occupancy)
        log_line(LOG_WARNING, "%s: %zu of %zu atoms have no occupancy: 1 is used", r->path,
                 r->no_occupancy, m->count);
    return STATUS_OK;
}

/* --- a model of any kind -------------------------------------------------------------- */

enum status molecule_read(const char *path, struct molecule *m, struct error *e)
{
    static const char *const tags[] = {"_atom_site_label",          "_atom_site_type_symbol",
                                       "_atom_site_fract_x",        "_atom_site_fract_y",
                                       "_atom_site_fract_z",        "_atom_site_occupancy",
                                       "_atom_site_U_iso_or_equiv", "_atom_site_B_iso_or_equiv",
                                       "_atom_site_calc_flag",      NULL};
    struct molecule_reader r = {.path = path, .m = m};
    struct gemmi_table sites = {0};
    *m = (struct molecule){0};
    enum status s = find_kind(&r, e);
    if (!s && r.cif)
        s = molecule_read_tags(&r, tags, path, -1, &sites, e);
    if (!s)
        s = sites.rows ? small_molecule_read(&r, &sites, e) : macromolecule_read(&r, e);
    gemmi_table_free(&sites);
    return s ? s : check_atoms(&r, e);
}

void molecule_free(struct molecule *m)
{
    mem_free(m->atoms);
    m->atoms = NULL;
    m->count = m->room = 0;
}
