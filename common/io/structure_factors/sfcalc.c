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
#include "io/output/output_file.h"
#include "io/structure_factors/gemmi.h"
#include "io/structure_factors/hkl.h"
#include "io/structure_factors/molecule.h"
#include "io/structure_factors/mtz.h"

/* --- the model, for gemmi sfcalc: with the nine digits that gemmi itself writes ------------- */

static const int axis_of[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

/* Computes O, which converts fractional coordinates x to coordinates `at` in A along the standard
 * axes: at = O x.  O is the inverse of M for these axes. */
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

/* Replaces U by A U A^T. */
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

/* Replaces the position and U of an atom by those of its image under an operator.  The new
 * position is in A along the standard axes, or fractional for a small molecule. */
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
    if (m->small) {  // U is in units along a*, b*, c*; beta = a*_i a*_j U transforms like
                     // coordinates
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

/* Writes all atoms.  If `tensors` is true, writes U of the anisotropic atoms instead.  `expand`:
 * writes the images under all operators. */
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

/* Writes the model to an empty file as input of gemmi sfcalc: as mmCIF, or as CIF of a small
 * molecule.  The model has its own space group or, if `expand` is true, all atoms of the cell in
 * P 1. */
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

#define BSOLV "--bsolv=46"
#define NO_WAVELENGTH "--wavelength=0"
enum { SAID = 200, FIRST_OF_SOLVENT = 6, SFCALC_ARGUMENTS = 12 };

/* Returns the scattering of the bulk solvent, which is water, in the unit of F per A^3.  0.35
 * electrons are those of water with some salt.  0.10 A is n (f_e(O) + 2 f_e(H)) at n = 0.0334
 * molecules per A^3, which is a potential of 4.85 V.  -0.056 fm is n (b(O) + 2 b(H)). */
static char *solvent_of(enum probe probe)
{
    static char xray[] = "--ksolv=0.35", electron[] = "--ksolv=0.10", neutron[] = "--ksolv=-0.056";
    return probe == PROBE_ELECTRON ? electron : probe == PROBE_NEUTRON ? neutron : xray;
}

/* Returns the option that makes gemmi use the scattering factors of the probe; NULL: those that it
 * uses without an option. */
static char *factors_of(enum probe probe)
{
    static char electron[] = "--for=electron", neutron[] = "--for=neutron";
    return probe == PROBE_ELECTRON ? electron : probe == PROBE_NEUTRON ? neutron : NULL;
}

/* gemmi generates indices up to 1 / (a* d), which are too few in oblique cells.  A resolution
 * that is finer by the factor BEYOND or FAR_BEYOND is therefore requested.  The grid stays that
 * which gemmi would use for the original resolution, with its default rate of 1.5. */
static const double BEYOND = 1.2, FAR_BEYOND = 1.5, OWN_RATE = 1.5;

/* A computation by gemmi sfcalc: its input, its parameters and its result. */
struct job {
    const char *path, *place;  // path of the model; path in the cache for the result, NULL: none
    bool small;
    enum probe probe;
    char dmin[40], rate[40];  // "--dmin=...", "--rate=..."
    struct mtz_rows *rows;
};

static enum status read_file(const char *path, const struct job *j, struct error *e)
{
    mtz_rows_free(j->rows);
    return mtz_read_phases(path, "FC,PHIC", j->rows, e);
}

/* --- the cache ------------------------------------------------------------ */

/* Adds the content of a file to *hash. */
static enum status hash_file(int file, const char *path, uint64_t *hash, struct error *e)
{
    char bytes[1 << 16];
    ssize_t n;
    for (off_t at = 0; (n = pread(file, bytes, sizeof bytes, at)) > 0; at += n)
        *hash = hash_bytes(*hash, bytes, (size_t)n);
    return n ? error_errno(e, STATUS_FAILED, "%s: cannot read", path) : STATUS_OK;
}

/* Writes the path of the cache file for a hash, and creates its folder.  Returns false if neither
 * XDG_CACHE_HOME nor HOME is an absolute path, or if the path is too long. */
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

/* Copies the output of gemmi to the cache.  If this fails, nothing is cached; this is not an
 * error. */
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

/* Gets the name and version of gemmi.  STATUS_FAILED: gemmi is not installed. */
static enum status find_gemmi(char version[SAID], struct error *e)
{
    char *argv[] = {"gemmi", "--version", NULL};
    const enum status s = tool_run(argv, -1, version, SAID, e);
    return s == STATUS_OK || s == STATUS_INTERRUPTED
               ? s
               : error_set(e, STATUS_FAILED,
                           "models of atoms need the program gemmi, which computes structure "
                           "factors. Install "
                           "it with `apt install gemmi`, or give structure factors with --mtz");
}

/* Returns a hint for the user about a message of gemmi.  Empty: no hint. */
static const char *advice(const char *said)
{
    return strstr(said, "bad_alloc") ? ": more than 8 GiB of memory; expected a larger --dmin" : "";
}

/* Runs gemmi sfcalc for the file `model`.  gemmi writes its result to `file`, which has the path
 * `name`.  Small molecules have no bulk solvent between them, so the options of the solvent are
 * omitted. */
static enum status run_sfcalc(const struct job *j, char *model, int file, const char *name,
                              struct error *e)
{
    char to[TOOL_NAME_SIZE + 16], said[SAID], dmin[sizeof j->dmin], rate[sizeof j->rate];
    struct error cause = {0};
    char *argv[SFCALC_ARGUMENTS] = {"gemmi", "sfcalc", dmin, NO_WAVELENGTH, to, model};
    int argc = FIRST_OF_SOLVENT;
    (void)strcpy(dmin, j->dmin);
    (void)strcpy(rate, j->rate);
    (void)snprintf(to, sizeof to, "--to-mtz=%s", name);
    if (!j->small) {
        argv[argc++] = rate;
        argv[argc++] = solvent_of(j->probe);
        argv[argc++] = BSOLV;
    }
    argv[argc] = factors_of(j->probe);
    const enum status s = tool_run(argv, file, said, sizeof said, &cause);
    char *options = strstr(said, ". Add --");  // advice on options of gemmi, which users of this
                                               // program cannot give
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

/* Runs gemmi on the model in the file `model`, through a link whose name ends in `.cif`.  The
 * link points into /proc/PID/fd of this process, because the file is not open in gemmi. */
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

/* --- structure factors of a model ------------------------------------------ */

/* Gets the structure factors of the model in the file `model` from the cache, or computes them
 * with gemmi. */
static enum status find_rows(struct job *j, int model, const char *version, double dmin_A,
                             struct error *e)
{
    uint64_t hash = HASH_START;
    char place[PATH_MAX];
    const enum status s = hash_file(model, j->path, &hash, e);
    if (s)
        return s;
    hash = hash_text(hash_text(hash_text(hash, version), j->dmin), j->rate);
    char *factors = factors_of(j->probe), said[SAID];
    (void)snprintf(said, sizeof said, "%s%s%s%s", j->small ? "" : solvent_of(j->probe),
                   j->small ? "" : BSOLV, NO_WAVELENGTH, factors ? factors : "");
    hash = hash_text(hash, said);
    if (find_place(hash_finish(hash), place, sizeof place))
        j->place = place;
    if (j->place && read_file(place, j, NULL) == STATUS_OK)
        return STATUS_OK;
    log_line(LOG_INFO, "%s: computing structure factors to %.15g A with %s", j->path, dmin_A,
             version);
    return compute_linked(j, model, e);
}

/* Sets the options --dmin and --rate of gemmi.  The requested resolution must be finer than
 * grid_A by a factor larger than a a*, b b* and c c*; see BEYOND. */
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

/* Checks that gemmi used the symmetry operators of the model as this program has read them. */
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

/* Computes the structure factors of a model to the resolution grid_A.  Trigonal crystals and
 * small molecules are computed in P 1, because gemmi omits some of their reflections in their own
 * space group.  gemmi 0.5 omits half of the reflections of trigonal crystals; later versions also
 * omit reflections of small molecules. */
static enum status compute_molecule(const struct molecule *m, const char *path, enum probe probe,
                                    const char *version, double grid_A, struct mtz_rows *rows,
                                    struct error *e)
{
    char name[TOOL_NAME_SIZE];
    struct job j = {.path = path, .small = m->small, .probe = probe, .rows = rows};
    const bool expand = m->small || operators_are_trigonal(&m->operators);
    int file;
    set_resolution(&j, m, grid_A);
    enum status s = tool_file(path, &file, name, e);
    if (s)
        return s;
    s = write_model(m, expand, file, path, e);
    s = s ? s : find_rows(&j, file, version, grid_A, e);
    (void)close(file);
    if (!s && expand)
        unique_reduce(rows, &m->operators);
    return s || expand ? s : check_operators(rows, m, path, e);
}

enum status sfcalc_rows(const char *path, enum probe probe, double grid_A, double dmin_A,
                        struct mtz_rows *rows, struct error *e)
{
    char version[SAID];
    struct molecule m = {0};
    *rows = (struct mtz_rows){0};
    enum status s = find_gemmi(version, e);
    s = s ? s : molecule_read(path, &m, e);
    s = s ? s : compute_molecule(&m, path, probe, version, grid_A, rows, e);
    molecule_free(&m);
    if (s)
        return s;
    unique_limit(rows, grid_A);
    return unique_check(rows, dmin_A, path, e);
}

enum status sfcalc_read(const char *path, enum probe probe, double grid_A, double dmin_A,
                        double default_F, struct hkl_table *t, double cell_A[3], double cell_rad[3],
                        struct error *e)
{
    struct mtz_rows rows;
    *t = (struct hkl_table){.default_F = default_F};
    enum status s = sfcalc_rows(path, probe, grid_A, dmin_A, &rows, e);
    memcpy(cell_A, rows.cell_A, sizeof rows.cell_A);
    memcpy(cell_rad, rows.cell_rad, sizeof rows.cell_rad);
    if (!s)
        s = mtz_expand(&rows, path, default_F, t, e);
    mtz_rows_free(&rows);
    return s;
}
