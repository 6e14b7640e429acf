#include "io/beam/frame_lists.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/median.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/nexus.h"
#include "io/nxmx/nxmx_geometry.h"
#include "io/text/textfile.h"

/* --- orientations ------------------------------------------------------------------ */

#define TOLERANCE 1e-6

/* Computes G = R R^T - 1, which is 0 for a rotation. */
static void find_deviation(const double R[9], double G[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            G[3 * i + j] = R[3 * i] * R[3 * j] + R[3 * i + 1] * R[3 * j + 1] +
                           R[3 * i + 2] * R[3 * j + 2] - (i == j);
}

/* Makes one step of Newton's iteration to the nearest rotation: replaces R by R - G R / 2.  The
 * step squares the deviation. */
static void improve_rotation(double R[9])
{
    double G[9], out[9];
    find_deviation(R, G);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = R[3 * i + j] - 0.5 * (G[3 * i] * R[j] + G[3 * i + 1] * R[3 + j] +
                                                   G[3 * i + 2] * R[6 + j]);
    memcpy(R, out, sizeof out);
}

static enum status take_matrix(const struct text_file *t, const double v[9], double R[9],
                               struct error *e)
{
    double G[9], worst = 0.0;
    find_deviation(v, G);
    for (int i = 0; i < 9; i++)
        worst = fmax(worst, fabs(G[i]));
    if (!(worst <= TOLERANCE))
        return text_error(
            t, e, "the matrix is not a rotation: R R^T differs from 1 by %.3g; expected at most %g",
            worst, TOLERANCE);
    if (mat_determinant(v) < 0.0)
        return text_error(t, e, "the matrix is not a rotation: its determinant is -1; expected +1");
    memcpy(R, v, 9 * sizeof *R);
    improve_rotation(R);
    improve_rotation(R);
    return STATUS_OK;
}

static enum status take_quaternion(const struct text_file *t, const double q[4], double R[9],
                                   struct error *e)
{
    const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(fabs(length - 1.0) <= TOLERANCE))
        return text_error(t, e, "the quaternion has length %.9g; expected 1", length);
    const double w = q[0] / length, x = q[1] / length, y = q[2] / length, z = q[3] / length;
    const double out[9] = {
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z),       2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),       1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),       2.0 * (y * z + w * x),       1.0 - 2.0 * (x * x + y * y),
    };
    memcpy(R, out, sizeof out);
    return STATUS_OK;
}

static enum status read_rotation(const struct text_file *t, int columns, double R[9],
                                 struct error *e)
{
    double v[9];
    if (t->nwords != 9 && t->nwords != 4)
        return text_error(t, e, "%d numbers; expected 9 (a matrix) or 4 (a quaternion w x y z)",
                          t->nwords);
    if (columns && t->nwords != columns)
        return text_error(t, e, "%d numbers, but earlier lines have %d", t->nwords, columns);
    for (int i = 0; i < t->nwords; i++) {
        const enum status s = text_real(t, i, "rotation", -2.0, 2.0, &v[i], e);
        if (s)
            return s;
    }
    return t->nwords == 9 ? take_matrix(t, v, R, e) : take_quaternion(t, v, R, e);
}

static enum status read_rotations(struct text_file *t, double (**rotations)[9], size_t *n,
                                  struct error *e)
{
    size_t room = 0;
    int columns = 0;
    enum status s = text_check_commas(t, '#', e);
    while (!s && !(s = text_line(t, TEXT_SPACE ",", '#', e)) && t->nwords) {
        double(*grown)[9] = mem_grow(*rotations, *n, 1, sizeof *grown, &room);
        *rotations = grown;
        if ((s = read_rotation(t, columns, (*rotations)[*n], e)))
            return s;
        columns = t->nwords;
        ++*n;
    }
    if (s == STATUS_OK && *n == 0)
        s = error_set(e, STATUS_INPUT,
                      "%s: no orientations found; expected lines of 9 numbers (a matrix) or 4 (a "
                      "quaternion w x y z)",
                      t->path);
    return s;
}

enum status orientations_read(const char *path, double (**rotations)[9], size_t *n, struct error *e)
{
    *rotations = NULL;
    *n = 0;
    struct text_file t;
    enum status s = text_open(&t, path, FILETYPE_ORIENTATIONS, (size_t)1 << 28, e);
    if (s == STATUS_OK)
        s = read_rotations(&t, rotations, n, e);
    text_close(&t);
    if (s) {
        mem_free(*rotations);
        *rotations = NULL;
        *n = 0;
    }
    return s;
}

/* --- shifts ------------------------------------------------------------------------ */

#define MOST_MM 1e4

static enum status read_shift(const struct text_file *t, int columns, double shift_m[3],
                              struct error *e)
{
    static const char *const names[] = {"x in mm", "y in mm", "offset along the beam in mm"};
    if (t->nwords != 1 && t->nwords != 3)
        return text_error(
            t, e, "%d numbers; expected 1 (along the beam) or 3 (x, y, along the beam)", t->nwords);
    if (columns && t->nwords != columns)
        return text_error(t, e, "%d numbers, but earlier lines have %d", t->nwords, columns);
    for (int i = 0; i < t->nwords; i++) {
        const int to = i + 3 - t->nwords;
        double mm;
        const enum status s = text_real(t, i, names[to], -MOST_MM, MOST_MM, &mm, e);
        if (s)
            return s;
        shift_m[to] = mm_to_m(mm);
    }
    return STATUS_OK;
}

enum status shifts_read(const char *path, double (**shifts_m)[3], size_t *n, struct error *e)
{
    struct text_file t;
    size_t room = 0;
    int columns = 0;
    *n = 0;
    *shifts_m = NULL;
    enum status s = text_open(&t, path, FILETYPE_SHIFTS, TEXT_BYTES_MAX, e);
    while (!s && !(s = text_line(&t, TEXT_SPACE, '#', e)) && t.nwords) {
        double(*grown)[3] = mem_grow(*shifts_m, *n, 1, sizeof *grown, &room);
        *shifts_m = grown;
        for (int i = 0; i < 3; i++)
            grown[*n][i] = 0.0;
        s = read_shift(&t, columns, grown[(*n)++], e);
        columns = t.nwords;
    }
    text_close(&t);
    return s || *n ? s
                   : error_set(e, STATUS_INPUT,
                               "%s: no shifts found; expected lines of 1 number (along the beam) "
                               "or 3 (x, y, along the beam)",
                               path);
}

/* --- spectra: of text and HDF5 ----------------------------------------------------- */

enum { POINTS_MAX = 1 << 24 };  // largest number of points, in all shots together
static const double ENERGY_MAX_EV = 1e7;
/* Largest allowed sum of the negative weights of a shot, as a fraction of its positive weights. */
static const double LOSS_MAX = 0.1;
/* Smallest such fraction that gives a warning if the median was subtracted.  Subtracting it
 * always leaves some negative noise. */
static const double LOSS_TOLD = 1e-3;

/* The negative weights that were set to 0: their number, and the shot in which they are the
 * largest fraction (`part`) of the positive weights. */
struct loss {
    size_t count, shot;
    double part;
};

void spectra_free(struct listed_spectra *l)
{
    mem_free(l->energy_eV);
    mem_free(l->photons);
    *l = (struct listed_spectra){0};
}

static enum status reserve_spectra(struct listed_spectra *l, size_t shots, size_t points,
                                   struct error *e)
{
    l->shots = shots;
    l->points = points;
    l->energy_eV = mem_try_array(shots * points, sizeof *l->energy_eV);
    l->photons = mem_try_array(shots * points, sizeof *l->photons);
    return l->energy_eV && l->photons ? STATUS_OK : error_memory(e, "the spectra");
}

static void reverse_values(double *values, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        const double kept = values[i];
        values[i] = values[n - 1 - i];
        values[n - 1 - i] = kept;
    }
}

/* Sets the negative weights of a shot to 0, and counts them in *loss.  `light` is the sum of the
 * positive weights.  STATUS_INPUT: the negative weights are more than noise; see LOSS_MAX. */
static enum status clip_noise(const char *path, size_t shot, double *photons, size_t points,
                              double light, struct loss *loss, struct error *e)
{
    double below = 0.0;
    for (size_t i = 0; i < points; i++)
        if (photons[i] < 0.0) {
            below -= photons[i];
            photons[i] = 0.0;
            loss->count++;
        }
    if (below > LOSS_MAX * light)
        return error_set(
            e, STATUS_INPUT,
            "%s: negative weights of spectrum %zu amount to %.3g %% of the positive ones; expected "
            "noise of at most %g %%. Subtract the background, or leave this spectrum out",
            path, shot, 100.0 * below / light, 100.0 * LOSS_MAX);
    if (below > loss->part * light) {
        loss->part = below / light;
        loss->shot = shot;
    }
    return STATUS_OK;
}

static enum status check_shot(const char *path, size_t shot, double *energy_eV, double *photons,
                              size_t points, struct loss *loss, struct error *e)
{
    if (points > 1 && energy_eV[0] > energy_eV[1]) {
        reverse_values(energy_eV, points);
        reverse_values(photons, points);
    }
    double sum = 0.0;
    for (size_t i = 0; i < points; i++) {
        if (!(energy_eV[i] > 0.0 && energy_eV[i] <= ENERGY_MAX_EV) || !(fabs(photons[i]) <= 1e30))
            return error_set(e, STATUS_INPUT,
                             "%s: point %zu of spectrum %zu is %g eV with %g photons; expected "
                             "finite numbers, and an energy above 0 and at most %g eV",
                             path, i, shot, energy_eV[i], photons[i], ENERGY_MAX_EV);
        if (i && !(energy_eV[i] > energy_eV[i - 1]))
            return error_set(e, STATUS_INPUT,
                             "%s: energy %.9g eV of spectrum %zu follows %.9g; expected energies "
                             "that only rise or only fall",
                             path, energy_eV[i], shot, energy_eV[i - 1]);
        sum += fmax(photons[i], 0.0);
    }
    if (!(sum > 0.0))
        return error_set(e, STATUS_INPUT,
                         "%s: spectrum %zu has no positive weight; expected at least one", path,
                         shot);
    const enum status s = clip_noise(path, shot, photons, points, sum, loss, e);
    for (size_t i = 0; i < points; i++)
        photons[i] /= sum;
    return s;
}

/* Checks and normalises all spectra, and warns about negative weights.  `least`: smallest sum of
 * the negative weights of a shot that gives a warning, as a fraction of its positive weights. */
static enum status check_all(const char *path, double least, struct listed_spectra *l,
                             struct error *e)
{
    struct loss loss = {0};
    enum status s = STATUS_OK;
    for (size_t i = 0; i < l->shots && !s; i++)
        s = check_shot(path, i, l->energy_eV + i * l->points, l->photons + i * l->points, l->points,
                       &loss, e);
    if (!s && loss.count && loss.part >= least)
        log_line(LOG_WARNING,
                 "%s: %zu of %zu weights are negative and are set to 0; in spectrum %zu they "
                 "amount to %.3g %% of the positive ones",
                 path, loss.count, l->shots * l->points, loss.shot, 100.0 * loss.part);
    return s;
}

/* --- spectra: text ------------------------------------------------------------------------ */

/* Returns the number of lines of the text, which is the largest possible number of points. */
static size_t count_lines(const struct text_file *t)
{
    size_t lines = 1;
    for (const char *at = t->bytes; *at; at++)
        lines += *at == '\n';
    return lines;
}

static enum status read_spectra_lines(struct text_file *t, double unit_eV, struct listed_spectra *l,
                                      struct error *e)
{
    const size_t room = count_lines(t);
    size_t shots = 0, points = 0;
    enum status s;
    while (!(s = text_line(t, TEXT_SPACE ",", '#', e)) && t->nwords) {
        if (!shots) {
            if (t->nwords < 2 || t->nwords > TEXT_WORDS_MAX)
                return text_error(t, e, "%d columns; expected an energy and 1 to %d weights",
                                  t->nwords, TEXT_WORDS_MAX - 1);
            shots = (size_t)t->nwords - 1;
            if ((s = reserve_spectra(l, shots, room, e)))
                return s;
        }
        if (t->nwords != (int)shots + 1)
            return text_error(t, e, "%d columns; expected %zu as in the first line", t->nwords,
                              shots + 1);
        double energy;
        s = text_real(t, 0, "energy", 0.0, ENERGY_MAX_EV, &energy, e);
        for (size_t i = 0; i < shots && !s; i++) {
            l->energy_eV[i * room + points] = energy * unit_eV;
            s = text_real(t, (int)i + 1, "weight", -1e30, 1e30, &l->photons[i * room + points], e);
        }
        if (s)
            return s;
        points++;
    }
    if (!s && !points)
        return error_set(e, STATUS_INPUT,
                         "%s: no spectra found; expected lines of an energy and 1 or more weights",
                         t->path);
    for (size_t i = 1; i < shots; i++) {
        memmove(l->energy_eV + i * points, l->energy_eV + i * room, points * sizeof(double));
        memmove(l->photons + i * points, l->photons + i * room, points * sizeof(double));
    }
    l->points = points;
    return s;
}

/* Finds the unit of the energies from the comments before the first numbers.  The unit is keV if
 * the comments name keV and do not name eV before it; otherwise eV.  STATUS_INPUT: the comments
 * name another unit or quantity, and neither eV nor keV. */
static enum status find_unit(const struct text_file *t, double *unit_eV, struct error *e)
{
    static const char *const others[] = {"MeV",      "GeV", "wavelength", "wavelengths", "lambda",
                                         "angstrom", "nm",  "pm",         "Hz",          "THz"};
    const char *keV = text_find_in_head(t, '#', "keV"), *eV = text_find_in_head(t, '#', "eV");
    *unit_eV = keV && (!eV || keV < eV) ? 1000.0 : 1.0;
    for (size_t i = 0; i < sizeof others / sizeof *others && !keV && !eV; i++)
        if (text_find_in_head(t, '#', others[i]))
            return error_set(e, STATUS_INPUT,
                             "%s: a comment at the beginning names '%s'; expected energies in eV, "
                             "or in keV after a comment that names keV",
                             t->path, others[i]);
    return STATUS_OK;
}

static enum status read_spectra_text(const char *path, struct listed_spectra *l, struct error *e)
{
    struct text_file t;
    enum status s = text_open(&t, path, FILETYPE_SPECTRA, TEXT_BYTES_MAX, e);
    if (!s) {
        double unit_eV;
        s = find_unit(&t, &unit_eV, e);
        s = s ? s : text_check_commas(&t, '#', e);
        s = s ? s : read_spectra_lines(&t, unit_eV, l, e);
    }
    text_close(&t);
    return s;
}

/* --- spectra: HDF5 ------------------------------------------------------------------------ */

/* Opens a data set of numbers and gets its size, shots x points.  A data set of rank 1 has one
 * shot.  The caller closes the result with H5Dclose.  Returns a negative number if the data set
 * is missing or has another shape. */
static hid_t open_numbers(hid_t file, const char *path, hsize_t size[2])
{
    const hid_t data = hdf5_open_data(file, path);
    const int rank = hdf5_sizes(data, 1, 2, POINTS_MAX, size);
    if (rank == 1) {
        size[1] = size[0];
        size[0] = 1;
    }
    if (rank || data < 0)
        return data;
    (void)H5Dclose(data);
    return -1;
}

/* Subtracts the background of a spectrum: the median of the outermost twentieths of both ends. */
static void level(double *photons, size_t points)
{
    const size_t edge = points / 20;
    if (!edge)
        return;
    double *outer = mem_array(2 * edge, sizeof *outer);
    memcpy(outer, photons, edge * sizeof *outer);
    memcpy(outer + edge, photons + points - edge, edge * sizeof *outer);
    const double base = median(outer, 2 * edge);
    for (size_t i = 0; i < points; i++)
        photons[i] -= base;
    mem_free(outer);
}

/* Finds the factor that converts the energies to eV, from their attribute `units`.  Without this
 * attribute the unit is eV. */
static enum status read_unit(hid_t file, const char *path, double *unit_eV, struct error *e)
{
    const struct nexus n = {file, path};
    *unit_eV = 1.0;
    return H5Aexists_by_name(file, "/energies", "units", hdf5_links()) > 0
               ? nexus_unit(&n, "/energies", "units", NEXUS_ENERGY, unit_eV, e)
               : STATUS_OK;
}

/* Checks that the attribute `units` of the weights, if there is one, does not name a physical
 * unit.  Words such as "photons" and "counts" are accepted. */
static enum status check_weights_unit(hid_t file, const char *path, struct error *e)
{
    static const char *const none[] = {
        "",    "1",          "counts",    "count",           "photons",       "photon", "a.u.",
        "arb", "arb. units", "arbitrary", "arbitrary units", "dimensionless", "ADU"};
    const struct nexus n = {file, path};
    char units[NEXUS_TEXT];
    if (!nexus_text(&n, "/weights", "units", units))
        return STATUS_OK;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (strcasecmp(units, none[i]) == 0)
            return STATUS_OK;
    return nexus_error(&n, "/weights", e,
                       "units are '%.40s'; expected relative numbers of photons, without units, or "
                       "in photons or counts",
                       units);
}

static enum status read_sets(const char *path, double unit_eV, hid_t energies,
                             const hsize_t esize[2], hid_t weights, const hsize_t wsize[2],
                             struct listed_spectra *l, struct error *e)
{
    if (esize[1] != wsize[1] || (esize[0] != 1 && esize[0] != wsize[0]))
        return error_set(e, STATUS_INPUT,
                         "%s: %llu x %llu energies for %llu x %llu weights; expected energies of "
                         "the same shape as the weights, or one row of them",
                         path, (unsigned long long)esize[0], (unsigned long long)esize[1],
                         (unsigned long long)wsize[0], (unsigned long long)wsize[1]);
    enum status s = reserve_spectra(l, (size_t)wsize[0], (size_t)wsize[1], e);
    if (s)
        return s;
    s = hdf5_read_numbers(energies, path, "/energies", H5T_NATIVE_DOUBLE, l->energy_eV, e);
    s = s ? s : hdf5_read_numbers(weights, path, "/weights", H5T_NATIVE_DOUBLE, l->photons, e);
    if (s)
        return s;
    for (size_t i = 0; i < (size_t)(esize[0] * esize[1]); i++)
        l->energy_eV[i] *= unit_eV;
    for (size_t i = 1; i < l->shots && esize[0] == 1; i++)
        memcpy(l->energy_eV + i * l->points, l->energy_eV, l->points * sizeof *l->energy_eV);
    for (size_t i = 0; i < l->shots; i++)
        level(l->photons + i * l->points, l->points);
    return STATUS_OK;
}

static enum status take_spectra(struct hdf5_file *f, const char *path, void *what, struct error *e)
{
    hsize_t esize[2], wsize[2];
    double unit_eV = 1.0;
    const hid_t energies = open_numbers(f->id, "/energies", esize);
    const hid_t weights = open_numbers(f->id, "/weights", wsize);
    enum status s = STATUS_OK;
    if (energies < 0 || weights < 0)
        s = error_set(e, STATUS_INPUT,
                      "%s: /energies or /weights is missing or has a wrong shape; expected "
                      "numbers, shots x points, and at most %d points",
                      path, POINTS_MAX);
    else
        s = read_unit(f->id, path, &unit_eV, e);
    s = s ? s : check_weights_unit(f->id, path, e);
    s = s ? s : read_sets(path, unit_eV, energies, esize, weights, wsize, what, e);
    if (energies >= 0)
        (void)H5Dclose(energies);
    if (weights >= 0)
        (void)H5Dclose(weights);
    return s;
}

static void try_spectra(struct hdf5_file *f)
{
    struct listed_spectra l = {0};
    struct error e;
    (void)take_spectra(f, "", &l, &e);
    spectra_free(&l);
}

enum status spectra_read(const char *path, struct listed_spectra *l, struct error *e)
{
    *l = (struct listed_spectra){0};
    const bool hdf5 = nxmx_is_hdf5(path);
    const enum status s =
        hdf5 ? hdf5_take(path, try_spectra, take_spectra, l, e) : read_spectra_text(path, l, e);
    return s ? s : check_all(path, hdf5 ? LOSS_TOLD : 0.0, l, e);
}

#define AT(member) offsetof(struct run_line, member)

/* The columns of a list of runs, with their place in struct run_line and their limits.  A column
 * with max = 0 is a text. */
static const struct column {
    const char *name;
    size_t offset;
    double min, max;
} columns[] = {{"first", AT(first), 0, 1e9},
               {"hit_rate", AT(hit_rate), 0, 1},
               {"mean_lattices", AT(mean_lattices), 0, 100},
               {"fluence", AT(fluence), 1e-9, 1e9},
               {"energy_eV", AT(energy_eV), 1, 1e6},
               {"mixture", AT(mixture), 0, 0},
               {"label", AT(label), 0, 0}};
enum { FIRST, COLUMNS = sizeof columns / sizeof *columns };

static enum status read_title(struct text_file *t, const struct column *order[COLUMNS], int *count,
                              struct error *e)
{
    const enum status s = text_line(t, TEXT_SPACE, '#', e);
    if (s)
        return s;
    if (!t->nwords)
        return error_set(e, STATUS_INPUT,
                         "%s: no run found; expected the names of columns in the first line",
                         t->path);
    bool seen[COLUMNS] = {false};
    if (t->nwords > COLUMNS)
        return text_error(t, e, "%d columns; expected at most %d", t->nwords, COLUMNS);
    for (*count = 0; *count < t->nwords; (*count)++) {
        int k = 0;
        while (k < COLUMNS && strcmp(t->word[*count], columns[k].name) != 0)
            k++;
        if (k == COLUMNS)
            return text_error(t, e,
                              "'%.40s' is not a column of runs; expected first, hit_rate, "
                              "mean_lattices, fluence, energy_eV, mixture, label",
                              t->word[*count]);
        if (seen[k])
            return text_error(t, e, "column %s is named twice; expected each column once",
                              columns[k].name);
        seen[k] = true;
        order[*count] = &columns[k];
    }
    return seen[FIRST] ? STATUS_OK
                       : text_error(t, e,
                                    "no column 'first'; expected the names of columns in the first "
                                    "line, and 'first' among them");
}

static enum status read_word(const struct text_file *t, int i, const struct column *c,
                             struct run_line *run, struct error *e)
{
    char *to = (char *)run + c->offset;
    if (c == &columns[FIRST]) {
        int64_t first = 0;
        const enum status s = text_int(t, i, c->name, (int64_t)c->min, (int64_t)c->max, &first, e);
        run->first = (uint64_t)first;
        return s;
    }
    if (strcmp(t->word[i], "-") == 0)
        return STATUS_OK;
    if (c->max > 0)
        return text_real(t, i, c->name, c->min, c->max, (double *)(void *)to, e);
    if (strlen(t->word[i]) >= RUN_TEXT_SIZE)
        return text_error(t, e, "%s: too long; expected at most %d bytes", c->name,
                          RUN_TEXT_SIZE - 1);
    (void)snprintf(to, RUN_TEXT_SIZE, "%s", t->word[i]);
    return STATUS_OK;
}

static enum status read_run(const struct text_file *t, const struct column *const order[COLUMNS],
                            int count, const struct run_line *before, struct run_line *run,
                            struct error *e)
{
    *run = (struct run_line){t->line, 0, -1, -1, -1, -1, "", ""};
    if (t->nwords != count)
        return text_error(t, e, "%d columns, but the first line names %d", t->nwords, count);
    for (int i = 0; i < count; i++) {
        const enum status s = read_word(t, i, order[i], run, e);
        if (s)
            return s;
    }
    if (!before && run->first)
        return text_error(t, e, "the first run begins with frame %" PRIu64 "; expected 0",
                          run->first);
    if (before && run->first <= before->first)
        return text_error(t, e,
                          "the run begins with frame %" PRIu64 "; expected a number above %" PRIu64
                          ", where the previous run begins",
                          run->first, before->first);
    return STATUS_OK;
}

static enum status read_lines(struct text_file *t, struct run_line *runs, size_t *n,
                              struct error *e)
{
    const struct column *order[COLUMNS];
    int count = 0;
    enum status s = read_title(t, order, &count, e);
    while (!s && !(s = text_line(t, TEXT_SPACE, '#', e)) && t->nwords) {
        if (*n == RUNS_MAX)
            return text_error(t, e, "more than %d runs", RUNS_MAX);
        s = read_run(t, order, count, *n ? &runs[*n - 1] : NULL, &runs[*n], e);
        *n += !s;
    }
    return s || *n
               ? s
               : error_set(
                     e, STATUS_INPUT,
                     "%s: no run found; expected a line for each run after the names of columns",
                     t->path);
}

enum status runs_read(const char *path, struct run_line **runs, size_t *count, struct error *e)
{
    struct text_file t;
    *count = 0;
    *runs = mem_array(RUNS_MAX, sizeof **runs);
    enum status s = text_open(&t, path, FILETYPE_RUNS, TEXT_BYTES_MAX, e);
    s = s ? s : read_lines(&t, *runs, count, e);
    text_close(&t);
    return s;
}
