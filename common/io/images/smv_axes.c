/* Reads the axes of an SMV header, which place its panel. */
#include "io/images/header_axes.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"

enum { AXES_MAX = 8, PREFIX_SIZE = 32, KEY_SIZE = 64 };

/* A header whose keys begin with the name of the detector. */
struct keys {
    const char *path, *text;
    char prefix[PREFIX_SIZE];
};

/* Returns the value of a key, up to the semicolon; NULL: the header does not have it. */
static const char *find_value(const char *text, const char *key)
{
    const size_t length = strlen(key);
    for (const char *at = text; (at = strstr(at, key)); at += length)
        if ((at == text || at[-1] == '\n' || at[-1] == ';' || at[-1] == '{') && at[length] == '=')
            return at + length + 1;
    return NULL;
}

static const char *find_own(const struct keys *k, const char *key)
{
    char name[KEY_SIZE];
    (void)snprintf(name, sizeof name, "%s%s", k->prefix, key);
    return find_value(k->text, name);
}

/* Reads `count` numbers.  STATUS_INPUT: the value is missing, or has fewer of them. */
static enum status take_numbers(const struct keys *k, const char *key, const char *value,
                                size_t count, double *numbers, struct error *e)
{
    const char *at = value, *end;
    for (size_t i = 0; i < count; i++, at = end) {
        numbers[i] = at ? number_real(at, &end) : NAN;
        if (!at || end == at || !(fabs(numbers[i]) < 1e9))
            return error_set(e, STATUS_INPUT, "%s: header: %s: expected %zu numbers", k->path, key,
                             count);
    }
    return STATUS_OK;
}

static enum status own_numbers(const struct keys *k, const char *key, size_t count, double *numbers,
                               struct error *e)
{
    return take_numbers(k, key, find_own(k, key), count, numbers, e);
}

/* Reads whether each axis turns (deg) or moves (mm). */
static enum status read_kinds(const struct keys *k, size_t count, bool turns[AXES_MAX],
                              struct error *e)
{
    const char *at = find_own(k, "GONIO_UNITS");
    for (size_t i = 0; i < count; i++) {
        at = at ? at + strspn(at, " \t") : "";
        turns[i] = strncmp(at, "deg", 3) == 0;
        if (!turns[i] && strncmp(at, "mm", 2) != 0)
            return error_set(e, STATUS_INPUT,
                             "%s: header: GONIO_UNITS: expected deg or mm for each of %zu axes",
                             k->path, count);
        at += strcspn(at, " \t;\n");
    }
    return STATUS_OK;
}

/* Moves the panel by all axes, the last one first. */
static enum status move_panel(const struct keys *k, double fast[3], double slow[3],
                              double corner_mm[3], struct error *e)
{
    double count = 0, values[AXES_MAX], vectors[3 * AXES_MAX];
    bool turns[AXES_MAX];
    enum status s = own_numbers(k, "GONIO_NUM_VALUES", 1, &count, e);
    if (!s && !(count >= 0 && count <= AXES_MAX))
        s = error_set(e, STATUS_INPUT, "%s: header: GONIO_NUM_VALUES: %g; expected 0 to %d",
                      k->path, count, AXES_MAX);
    const size_t n = s ? 0 : (size_t)count;
    s = s ? s : own_numbers(k, "GONIO_VALUES", n, values, e);
    s = s ? s : own_numbers(k, "GONIO_VECTORS", 3 * n, vectors, e);
    s = s ? s : read_kinds(k, n, turns, e);
    for (size_t i = n; i-- > 0 && !s;) {
        double *v = vectors + 3 * i, *const moved[] = {fast, slow, corner_mm};
        if (turns[i]) {
            vec_unit(v, v);
            for (int m = 0; m < 3; m++)
                vec_rotate_axis(moved[m], v, deg_to_rad(values[i]));
        }
        for (int m = 0; m < 3 && !turns[i]; m++)
            corner_mm[m] += values[i] * v[m];
    }
    return s;
}

/* Converts a vector to the coordinate system of struct place: z is along the beam. */
static void to_beam(const double v[3], double out[3])
{
    out[0] = v[0];
    out[1] = 0.0 - v[1];
    out[2] = 0.0 - v[2];
}

static enum status place_panel(const struct keys *k, struct header_axes *a, struct error *e)
{
    double vectors[6], turn[4] = {1, 0, 0, 1}, beam[4], fast[3], slow[3], corner_mm[3];
    enum status s = own_numbers(k, "DETECTOR_VECTORS", 6, vectors, e);
    s = s ? s : own_numbers(k, "SPATIAL_DISTORTION_INFO", 4, beam, e);
    if (!s && find_own(k, "SPATIAL_DISTORTION_VECTORS"))
        s = own_numbers(k, "SPATIAL_DISTORTION_VECTORS", 4, turn, e);
    if (s)
        return s;
    if (!(beam[2] > 1e-4 && beam[2] < 1e3) || fabs(beam[3] / beam[2] - 1) > 1e-6)
        return error_set(e, STATUS_INPUT,
                         "%s: header: pixels of %g x %g mm; expected square pixels", k->path,
                         beam[2], beam[3]);
    for (int i = 0; i < 3; i++) {
        fast[i] = turn[0] * vectors[i] + turn[1] * vectors[3 + i];
        slow[i] = turn[2] * vectors[i] + turn[3] * vectors[3 + i];
    }
    if (fabs(vec_unit(fast, fast) - 1) > 1e-3 || fabs(vec_unit(slow, slow) - 1) > 1e-3 ||
        fabs(vec_dot(fast, slow)) > 1e-6)
        return error_set(e, STATUS_INPUT,
                         "%s: header: DETECTOR_VECTORS are not two unit vectors at 90 deg",
                         k->path);
    for (int i = 0; i < 3; i++)
        corner_mm[i] = -beam[2] * (beam[0] * fast[i] + beam[1] * slow[i]);
    if ((s = move_panel(k, fast, slow, corner_mm, e)))
        return s;
    a->pixel_m = mm_to_m(beam[2]);
    to_beam(fast, a->fast);
    to_beam(slow, a->slow);
    vec_scale(corner_mm, 1e-3, corner_mm);
    to_beam(corner_mm, a->corner_m);
    a->has_panel = true;
    return STATUS_OK;
}

/* Checks that the beam is along z, against which the vectors count. */
static enum status check_source(const struct keys *k, struct error *e)
{
    double v[3];
    const char *value = find_value(k->text, "SOURCE_VECTORS");
    const enum status s = value ? take_numbers(k, "SOURCE_VECTORS", value, 3, v, e) : STATUS_OK;
    if (s || !value || (fabs(v[0]) < 1e-6 && fabs(v[1]) < 1e-6 && v[2] > 0))
        return s;
    return error_set(e, STATUS_INPUT,
                     "%s: header: SOURCE_VECTORS begins with %g, %g, %g; expected 0, 0, 1", k->path,
                     v[0], v[1], v[2]);
}

/* Reads the rotation (start, end and width of an image in deg) and the wavelength, if the header
 * has them. */
static enum status read_scan(const struct keys *k, struct header_axes *a, struct error *e)
{
    const char *rotation = find_value(k->text, "ROTATION");
    const char *waves = find_value(k->text, "SCAN_WAVELENGTH");
    double numbers[3];
    enum status s = STATUS_OK;
    if (!waves && (waves = find_value(k->text, "SOURCE_WAVELENGTH")))
        (void)number_real(waves, &waves);  // their number comes first
    if (waves && !(s = take_numbers(k, "WAVELENGTH", waves, 1, numbers, e)))
        a->wavelength_m = angstrom_to_m(numbers[0]);
    if (rotation && !s && !(s = take_numbers(k, "ROTATION", rotation, 3, numbers, e))) {
        a->has_rotation = true;
        a->phi_rad = deg_to_rad(numbers[0]);
        a->osc_rad = deg_to_rad(numbers[2]);
    }
    return s;
}

enum status smv_axes_read(const char *path, const char *text, struct header_axes *a,
                          struct error *e)
{
    struct keys k = {path, text, ""};
    const char *names = find_value(text, "DETECTOR_NAMES");
    *a = (struct header_axes){0};
    if (!names)
        return STATUS_OK;
    names += strspn(names, " \t");
    const size_t length = strcspn(names, " \t;\n");
    if (length >= sizeof k.prefix)
        return error_set(e, STATUS_INPUT, "%s: header: DETECTOR_NAMES is too long", path);
    memcpy(k.prefix, names, length);
    if (!find_own(&k, "GONIO_VECTORS") || !find_own(&k, "DETECTOR_VECTORS"))
        return STATUS_OK;
    enum status s = check_source(&k, e);
    s = s ? s : place_panel(&k, a, e);
    return s ? s : read_scan(&k, a, e);
}
