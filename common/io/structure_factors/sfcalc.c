#include "io/structure_factors/sfcalc.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/units.h"
#include "io/output/replace.h"
#include "io/structure_factors/gemmi.h"
#include "io/structure_factors/hkl.h"
#include "io/structure_factors/molecule.h"
#include "io/structure_factors/mtz.h"

/* --- the model, for gemmi sfcalc: with the nine digits that gemmi itself writes ------------- */

static const int axis_of[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

/* The inverse of the upper triangle of M, x = M at: at = O x, in A. */
static void orthogonal(const double cell_A[3], const double cell_rad[3], double O[9])
{
    double cosine[3];
    for (int i = 0; i < 3; i++)
        cosine[i] = cos(cell_rad[i]);
    const double sine = sin(cell_rad[2]);
    const double c_y = (cosine[0] - cosine[1] * cosine[2]) / sine;
    const double c_z = sqrt(1.0 - cosine[1] * cosine[1] - c_y * c_y);
    const double rows[9] = {cell_A[0],
                            cell_A[1] * cosine[2],
                            cell_A[2] * cosine[1],
                            0.0,
                            cell_A[1] * sine,
                            cell_A[2] * c_y,
                            0.0,
                            0.0,
                            cell_A[2] * c_z};
    memcpy(O, rows, sizeof rows);
}

static void multiply(const double A[9], const double B[9], double to[9])
{
    for (int k = 0; k < 9; k++)
        to[k] = A[3 * (k / 3)] * B[k % 3] + A[3 * (k / 3) + 1] * B[3 + k % 3] +
                A[3 * (k / 3) + 2] * B[6 + k % 3];
}

/* U becomes A U A^T. */
static void turn_tensor(const double A[9], double U[6])
{
    double whole[9], turned[9], back[9], transposed[9];
    for (int i = 0; i < 6; i++)
        whole[3 * axis_of[i][0] + axis_of[i][1]] = whole[3 * axis_of[i][1] + axis_of[i][0]] = U[i];
    for (int k = 0; k < 9; k++)
        transposed[k] = A[3 * (k % 3) + k / 3];
    multiply(A, whole, turned);
    multiply(turned, transposed, back);
    for (int i = 0; i < 6; i++)
        U[i] = back[3 * axis_of[i][0] + axis_of[i][1]];
}

/* The image of an atom, of A along the axes of the cell or, of a small molecule, of its edges. */
static void move_atom(const struct molecule *m, const struct symmetry_operator *op,
                      struct molecule_atom *a)
{
    double x[3], moved[3], O[9], R[9], A[9], M[9];
    molecule_position(m, a, x);
    for (int i = 0; i < 3; i++) {
        moved[i] = op->t[i];
        for (int k = 0; k < 3; k++)
            moved[i] += op->R[3 * i + k] * x[k];
    }
    for (int k = 0; k < 9; k++) {
        R[k] = op->R[k];
        M[k] = m->fraction[4 * (k / 3) + k % 3];
    }
    if (m->small) {  // U of a unit along a*, b*, c*: beta = a*_i a*_j U turns as coordinates do
        double star[3];
        for (int i = 0; i < 3; i++)
            star[i] = sqrt(M[3 * i] * M[3 * i] + M[3 * i + 1] * M[3 * i + 1] +
                           M[3 * i + 2] * M[3 * i + 2]);
        for (int k = 0; k < 9; k++)
            A[k] = R[k] * star[k % 3] / star[k / 3];
        memcpy(a->at, moved, sizeof moved);
    } else {
        double RM[9];
        orthogonal(m->cell_A, m->cell_rad, O);
        multiply(R, M, RM);
        multiply(O, RM, A);
        for (int i = 0; i < 3; i++)
            a->at[i] = O[3 * i] * moved[0] + O[3 * i + 1] * moved[1] + O[3 * i + 2] * moved[2];
    }
    turn_tensor(A, a->U_A2);
}

static void put_cell(FILE *out, const struct molecule *m, bool expand)
{
    static const char *const names[] = {"length_a",    "length_b",   "length_c",
                                        "angle_alpha", "angle_beta", "angle_gamma"};
    const char dot = m->small ? '_' : '.';
    (void)fprintf(out, "data_model\n");
    for (int i = 0; i < 6; i++)
        (void)fprintf(out, "_cell%c%s %.9g\n", dot, names[i],
                      i < 3 ? m->cell_A[i] : rad_to_deg(m->cell_rad[i - 3]));
    (void)fprintf(out, "_symmetry%cspace_group_name_H-M '%s'\n", dot,
                  expand ? "P 1" : m->operators.name);
}

static void put_head(FILE *out, bool small, bool tensors)
{
    static const char site[] = "loop_\n_atom_site_label\n_atom_site_type_symbol\n"
                               "_atom_site_fract_x\n_atom_site_fract_y\n_atom_site_fract_z\n"
                               "_atom_site_occupancy\n_atom_site_U_iso_or_equiv\n";
    static const char atom[] =
        "loop_\n_atom_site.id\n_atom_site.type_symbol\n_atom_site.label_atom_id\n"
        "_atom_site.label_alt_id\n_atom_site.label_comp_id\n_atom_site.label_asym_id\n"
        "_atom_site.label_seq_id\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n"
        "_atom_site.occupancy\n_atom_site.B_iso_or_equiv\n_atom_site.auth_seq_id\n"
        "_atom_site.auth_asym_id\n_atom_site.pdbx_PDB_model_num\n";
    if (!tensors) {
        (void)fputs(small ? site : atom, out);
        return;
    }
    (void)fprintf(out, "loop_\n%s\n", small ? "_atom_site_aniso_label" : "_atom_site_anisotrop.id");
    for (int i = 0; i < 6; i++)
        (void)fprintf(out, small ? "_atom_site_aniso_U_%d%d\n" : "_atom_site_anisotrop.U[%d][%d]\n",
                      axis_of[i][0] + 1, axis_of[i][1] + 1);
}

static void put_atom(FILE *out, bool small, bool tensor, size_t number,
                     const struct molecule_atom *a)
{
    if (tensor) {
        (void)fprintf(out, "%zu", number);
        for (int i = 0; i < 6; i++)
            (void)fprintf(out, " %.9g", a->U_A2[i]);
        (void)fputc('\n', out);
    } else if (small)
        (void)fprintf(out, "%zu %s %.12g %.12g %.12g %.12g %.12g\n", number, a->symbol, a->at[0],
                      a->at[1], a->at[2], a->occupancy, a->B_A2 / (8.0 * M_PI * M_PI));
    else
        (void)fprintf(out, "%zu %s %s . UNL A 1 %.9g %.9g %.9g %.9g %.9g 1 A 1\n", number,
                      a->symbol, a->symbol, a->at[0], a->at[1], a->at[2], a->occupancy, a->B_A2);
}

/* All atoms, or the tensors of those that have one. */
static void put_atoms(FILE *out, const struct molecule *m, bool expand, bool tensors)
{
    const size_t images = expand ? m->operators.count : 1;
    size_t number = 1;
    bool first = true;
    for (size_t o = 0; o < images; o++)
        for (size_t i = 0; i < m->count; i++, number++) {
            struct molecule_atom a = m->atoms[i];
            if (tensors && !a.anisotropic)
                continue;
            if (expand || (m->own_axes && !m->small))
                move_atom(m, &m->operators.list[o], &a);
            if (first)
                put_head(out, m->small, tensors);
            first = false;
            put_atom(out, m->small, tensors, number, &a);
        }
}

/* Writes what gemmi sfcalc takes, mmCIF or the CIF of a small molecule, to an empty file: in its
 * own space group or, with `expand`, all atoms of the cell in P 1. */
static enum status write_model(const struct molecule *m, bool expand, int file, const char *path,
                               struct error *e)
{
    const int own = dup(file);
    FILE *out = own < 0 ? NULL : fdopen(own, "w");
    if (!out) {
        if (own >= 0)
            (void)close(own);
        return error_errno(e, STATUS_FAILED, "%s: cannot create a file in memory", path);
    }
    put_cell(out, m, expand);
    put_atoms(out, m, expand, false);
    put_atoms(out, m, expand, true);
    const bool good = !ferror(out);
    return fclose(out) == 0 && good
               ? STATUS_OK
               : error_errno(e, STATUS_FAILED, "%s: cannot create a file in memory", path);
}

/* --- gemmi sfcalc -------------------------------------------------------------------------- */

#define KSOLV "--ksolv=0.35"
#define BSOLV "--bsolv=46"
#define NO_WAVELENGTH "--wavelength=0"
enum { SAID = 200, FIRST_OF_SOLVENT = 6 };

/* gemmi looks for indices up to 1 / (a* d), too few in oblique cells: it is asked for more, on the
 * grid that it would take for D by itself (a rate of 1.5). */
static const double BEYOND = 1.2, FAR_BEYOND = 1.5, OWN_RATE = 1.5;

/* What is asked for, and where it goes. */
struct job {
    const char *path, *place;  // the model, and where to keep what comes of it or NULL
    bool small;
    char dmin[40], rate[40];  // "--dmin=...", "--rate=..."
    struct mtz_rows *rows;
};

static enum status read_file(const char *path, const struct job *j, struct error *e)
{
    mtz_rows_free(j->rows);
    return mtz_read_phases(path, "FC,PHIC", j->rows, e);
}

/* --- what is kept --------------------------------------------------------- */

/* Continues *hash over a file. */
static enum status hash_file(int file, const char *path, uint64_t *hash, struct error *e)
{
    char bytes[1 << 16];
    ssize_t n;
    for (off_t at = 0; (n = pread(file, bytes, sizeof bytes, at)) > 0; at += n)
        *hash = hash_bytes(*hash, bytes, (size_t)n);
    return n ? error_errno(e, STATUS_FAILED, "%s: cannot read", path) : STATUS_OK;
}

/* The file for a hash, in a folder that is made; false when there is no place for it. */
static bool find_place(uint64_t hash, char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const bool named = cache && *cache == '/';
    if (!named && (!home || *home != '/'))
        return false;
    int n = snprintf(path, size, "%s%s", named ? cache : home, named ? "" : "/.cache");
    if (n < 0 || (size_t)n + 64 > size)
        return false;
    (void)mkdir(path, 0700);
    n += snprintf(path + n, size - (size_t)n, "/braggpipe");
    (void)mkdir(path, 0700);
    (void)snprintf(path + n, size - (size_t)n, "/sfcalc-%016" PRIx64 ".mtz", hash);
    return true;
}

/* Where that fails nothing is kept. */
static void keep_rows(const struct job *j, int file)
{
    struct replace r;
    char bytes[1 << 16];
    ssize_t n;
    off_t at = 0;
    if (!j->place || replace_open(&r, j->place, NULL))
        return;
    r.sync = true;
    while ((n = pread(file, bytes, sizeof bytes, at)) > 0 &&
           fwrite(bytes, 1, (size_t)n, r.stream) == (size_t)n)
        at += n;
    if (n == 0)
        (void)replace_commit(&r, NULL);
    else
        replace_abort(&r);
}

/* --- gemmi ---------------------------------------------------------------- */

/* Its name and version. */
static enum status find_gemmi(char version[SAID], struct error *e)
{
    char *argv[] = {"gemmi", "--version", NULL};
    const enum status s = tool_run(argv, -1, version, SAID, e);
    return s == STATUS_OK || s == STATUS_INTERRUPTED
               ? s
               : error_set(
                     e, STATUS_FAILED,
                     "--model needs the program gemmi, which computes structure factors. Install "
                     "it with `apt install gemmi`, or give structure factors with --mtz");
}

/* What to do about what gemmi says. */
static const char *advice(const char *said)
{
    return strstr(said, "bad_alloc") ? ": more than 8 GiB of memory; expected a larger --dmin" : "";
}

/* Between small molecules there is no solvent. */
static enum status run_sfcalc(const struct job *j, char *model, int file, const char *name,
                              struct error *e)
{
    char to[TOOL_NAME_SIZE + 16], said[SAID], dmin[sizeof j->dmin], rate[sizeof j->rate];
    struct error cause = {0};
    char *argv[] = {"gemmi", "sfcalc", dmin, NO_WAVELENGTH, to, model, rate, KSOLV, BSOLV, NULL};
    (void)strcpy(dmin, j->dmin);
    (void)strcpy(rate, j->rate);
    (void)snprintf(to, sizeof to, "--to-mtz=%s", name);
    if (j->small)
        argv[FIRST_OF_SOLVENT] = NULL;
    const enum status s = tool_run(argv, file, said, sizeof said, &cause);
    char *options = strstr(said, ". Add --");  // advice on options of gemmi, useless to our users
    if (options)
        *options = '\0';
    const char *why = strncmp(said, "ERROR: ", 7) == 0 ? said + 7 : said;
    if (s == STATUS_INPUT)
        return error_set(e, s, "%s: gemmi sfcalc: %s%s", j->path, *why ? why : cause.text,
                         advice(why));
    return s ? error_set(e, s, "%s: %s", j->path, cause.text) : STATUS_OK;
}

static enum status compute_and_keep(const struct job *j, char *model, struct error *e)
{
    char made[TOOL_NAME_SIZE];
    struct error cause = {0};
    int file;
    enum status s = tool_file(j->path, &file, made, e);
    if (s)
        return s;
    s = run_sfcalc(j, model, file, made, e);
    if (!s && (s = read_file(made, j, &cause)))
        s = error_set(e, STATUS_INPUT, "%s: what gemmi sfcalc wrote cannot be read: %s", j->path,
                      strncmp(cause.text, made, strlen(made)) == 0
                          ? cause.text + strlen(made) + sizeof ": " - 1
                          : cause.text);
    else if (!s)
        keep_rows(j, file);
    (void)close(file);
    return s;
}

/* The link that gives the model's file a name is this process's, as gemmi cannot see its files. */
static enum status compute_linked(const struct job *j, int model, struct error *e)
{
    char target[TOOL_NAME_SIZE];
    struct tool_link l;
    (void)snprintf(target, sizeof target, "/proc/%ld/fd/%d", (long)getpid(), model);
    enum status s = tool_link(j->path, target, ".cif", &l, e);
    if (s)
        return s;
    s = compute_and_keep(j, l.path, e);
    tool_unlink(&l);
    return s;
}

/* --- all ------------------------------------------------------------------- */

/* From the cache or from gemmi, of the model in a file. */
static enum status find_rows(struct job *j, int model, const char *version, double dmin_A,
                             struct error *e)
{
    uint64_t hash = HASH_START;
    char place[PATH_MAX];
    const enum status s = hash_file(model, j->path, &hash, e);
    if (s)
        return s;
    hash = hash_text(hash_text(hash_text(hash, version), j->dmin), j->rate);
    hash = hash_text(hash, j->small ? NO_WAVELENGTH : KSOLV BSOLV NO_WAVELENGTH);
    if (find_place(hash_finish(hash), place, sizeof place))
        j->place = place;
    if (j->place && read_file(place, j, NULL) == STATUS_OK)
        return STATUS_OK;
    log_line(LOG_INFO, "%s: computing structure factors to %.15g A with %s", j->path, dmin_A,
             version);
    return compute_linked(j, model, e);
}

/* How much finer than D gemmi is asked: beyond a a* and its sisters. */
static void set_resolution(struct job *j, const struct molecule *m, double grid_A)
{
    double most = 1.0;
    for (int i = 0; i < 3; i++) {
        const double *row = m->fraction + 4 * i;
        most = fmax(most, m->cell_A[i] * sqrt(row[0] * row[0] + row[1] * row[1] + row[2] * row[2]));
    }
    const double beyond = m->small               ? fmax(1.05, 1.001 * most)
                          : most < 0.99 * BEYOND ? BEYOND
                                                 : FAR_BEYOND;
    const double rate = OWN_RATE / beyond;
    double dmin_A = grid_A / beyond;
    for (int i = 0; i < 8 && dmin_A / (2.0 * rate) != grid_A / (2.0 * OWN_RATE); i++)
        dmin_A = nextafter(grid_A / beyond, i % 2 ? 0.0 : INFINITY);
    (void)snprintf(j->dmin, sizeof j->dmin, "--dmin=%.17g", dmin_A);
    (void)snprintf(j->rate, sizeof j->rate, "--rate=%.17g", rate);
}

/* The symmetry that gemmi used must be that of the model, as it is read here. */
static enum status check_operators(const struct mtz_rows *rows, const struct molecule *m,
                                   const char *path, struct error *e)
{
    struct operators used = {.count = rows->noperators};
    memcpy(used.list, rows->operators, rows->noperators * sizeof *used.list);
    return operators_are_same(&used, &m->operators)
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "%s: gemmi sfcalc used other symmetry operators than those of '%s'",
                           path, m->operators.name);
}

/* gemmi 0.5 leaves out half of the reflections of trigonal crystals, and later ones those of small
 * molecules, too: these are computed in P 1. */
static enum status compute_molecule(const struct molecule *m, const char *path, const char *version,
                                    double grid_A, struct mtz_rows *rows, struct error *e)
{
    char name[TOOL_NAME_SIZE];
    struct job j = {.path = path, .small = m->small, .rows = rows};
    const bool expand = m->small || operators_are_trigonal(&m->operators);
    int file;
    set_resolution(&j, m, grid_A);
    enum status s = tool_file(path, &file, name, e);
    if (s)
        return s;
    s = write_model(m, expand, file, path, e);
    s = s ? s : find_rows(&j, file, version, grid_A, e);
    (void)close(file);
    if (!s)
        s = expand ? unique_reduce(rows, &m->operators, e) : check_operators(rows, m, path, e);
    return s;
}

enum status sfcalc_rows(const char *path, double grid_A, double dmin_A, struct mtz_rows *rows,
                        struct error *e)
{
    char version[SAID];
    struct molecule m = {0};
    *rows = (struct mtz_rows){0};
    enum status s = find_gemmi(version, e);
    s = s ? s : molecule_read(path, &m, e);
    s = s ? s : compute_molecule(&m, path, version, grid_A, rows, e);
    molecule_free(&m);
    if (s)
        return s;
    unique_limit(rows, grid_A);
    return unique_check(rows, dmin_A, path, e);
}

enum status sfcalc_read(const char *path, double grid_A, double dmin_A, double default_F,
                        struct hkl_table *t, double cell_A[3], double cell_rad[3], struct error *e)
{
    struct mtz_rows rows;
    *t = (struct hkl_table){.default_F = default_F};
    enum status s = sfcalc_rows(path, grid_A, dmin_A, &rows, e);
    memcpy(cell_A, rows.cell_A, sizeof rows.cell_A);
    memcpy(cell_rad, rows.cell_rad, sizeof rows.cell_rad);
    if (!s)
        s = mtz_expand(&rows, path, default_F, t, e);
    mtz_rows_free(&rows);
    return s;
}
