#include "io/nexus.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAIN_MAX = 100, CHILDREN_MAX = 5000 };

enum status nexus_error(const struct nexus *n, const char *path, struct error *e,
                        const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return error_set(e, STATUS_INPUT, "%s: %.200s: %s", n->path, path, text);
}

/* --- texts ---------------------------------------------------------------------------- */

/* A text of fixed or variable length, or the first of several, by a call of H5Dread or H5Aread. */
static bool take_text(hid_t from, bool attribute, hid_t type, hid_t space, char text[NEXUS_TEXT])
{
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    const size_t size = H5Tget_size(type);
    if (H5Tget_class(type) != H5T_STRING || count != 1 || !size || size > 1 << 16)
        return false;
    const bool loose = H5Tis_variable_str(type) > 0;
    char *bytes = calloc(1, size + 1), *value = bytes;
    bool good =
        bytes && (attribute ? H5Aread(from, type, bytes)
                            : H5Dread(from, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes)) >= 0;
    if (good && loose)
        memcpy(&value, bytes, sizeof value);
    good = good && value && strlen(value) < NEXUS_TEXT;
    if (good)
        (void)snprintf(text, NEXUS_TEXT, "%s", value);
    if (loose && bytes && value != bytes)
        (void)H5free_memory(value);
    free(bytes);
    return good;
}

bool nexus_text(const struct nexus *n, const char *path, const char *attribute,
                char text[NEXUS_TEXT])
{
    const hid_t from = attribute
                           ? H5Aopen_by_name(n->file, path, attribute, H5P_DEFAULT, H5P_DEFAULT)
                           : H5Dopen2(n->file, path, H5P_DEFAULT);
    if (from < 0)
        return false;
    const hid_t type = attribute ? H5Aget_type(from) : H5Dget_type(from);
    const hid_t space = attribute ? H5Aget_space(from) : H5Dget_space(from);
    const bool good =
        type >= 0 && space >= 0 && take_text(from, attribute != NULL, type, space, text);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)(attribute ? H5Aclose(from) : H5Dclose(from));
    return good;
}

/* --- groups --------------------------------------------------------------------------- */

bool nexus_child(const struct nexus *n, const char *of, const char *nx_class, hsize_t *at,
                 char child[NEXUS_PATH])
{
    H5G_info_t group;
    if (H5Gget_info_by_name(n->file, of, &group, H5P_DEFAULT) < 0)
        return false;
    while (*at < group.nlinks && *at < CHILDREN_MAX) {
        char name[NEXUS_TEXT], found[NEXUS_TEXT];
        const ssize_t length = H5Lget_name_by_idx(n->file, of, H5_INDEX_NAME, H5_ITER_INC, (*at)++,
                                                  name, sizeof name, H5P_DEFAULT);
        if (length < 0 || length >= (ssize_t)sizeof name ||
            snprintf(child, NEXUS_PATH, "%s/%s", strcmp(of, "/") ? of : "", name) >= NEXUS_PATH)
            continue;
        if (nexus_text(n, child, "NX_class", found) && strcmp(found, nx_class) == 0)
            return true;
    }
    return false;
}

bool nexus_has(const struct nexus *n, const char *parent, const char *name, char path[NEXUS_PATH])
{
    if (snprintf(path, NEXUS_PATH, "%s/%s", parent, name) >= NEXUS_PATH)
        return false;
    const hid_t data = H5Dopen2(n->file, path, H5P_DEFAULT);
    if (data >= 0)
        (void)H5Dclose(data);
    return data >= 0;
}

/* --- numbers -------------------------------------------------------------------------- */

static bool is_number(hid_t type)
{
    const H5T_class_t class = H5Tget_class(type);
    return class == H5T_INTEGER || class == H5T_FLOAT;
}

/* The first number of an open data set. */
static bool first_of(hid_t data, double *value)
{
    const hsize_t first[H5S_MAX_RANK] = {0}, one = 1;
    const hid_t space = H5Dget_space(data), type = H5Dget_type(data);
    const hid_t memory = H5Screate_simple(1, &one, NULL);
    bool good =
        space >= 0 && type >= 0 && is_number(type) && H5Sget_simple_extent_npoints(space) >= 1;
    if (good && H5Sget_simple_extent_ndims(space) > 0)
        good = H5Sselect_elements(space, H5S_SELECT_SET, 1, first) >= 0;
    good = good && H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, value) >= 0;
    (void)H5Sclose(memory);
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    return good;
}

/* What a unit is in m, rad or, without one, itself; 0: unknown. */
static double unit_of(const char *name)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"", 1},
                 {"m", 1},
                 {"meter", 1},
                 {"metre", 1},
                 {"mm", 1e-3},
                 {"millimeter", 1e-3},
                 {"cm", 1e-2},
                 {"um", 1e-6},
                 {"micron", 1e-6},
                 {"microns", 1e-6},
                 {"micrometer", 1e-6},
                 {"nm", 1e-9},
                 {"angstrom", 1e-10},
                 {"Angstrom", 1e-10},
                 {"A", 1e-10},
                 {"rad", 1},
                 {"radian", 1},
                 {"radians", 1},
                 {"deg", M_PI / 180},
                 {"degree", M_PI / 180},
                 {"degrees", M_PI / 180},
                 {"count", 1},
                 {"counts", 1},
                 {"dimensionless", 1},
                 {"unitless", 1}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, name) == 0)
            return units[i].factor;
    return 0;
}

static enum status apply_units(const struct nexus *n, const char *path, const char *attribute,
                               double *values, int count, struct error *e)
{
    char units[NEXUS_TEXT] = "";
    (void)nexus_text(n, path, attribute, units);
    const double factor = unit_of(units);
    if (!(factor > 0))
        return nexus_error(n, path, e, "units '%.40s' are not known, must be m, mm, um, deg or rad",
                           units);
    for (int i = 0; i < count; i++) {
        values[i] *= factor;
        if (!(fabs(values[i]) < 1e30))
            return nexus_error(n, path, e, "is no finite number");
    }
    return STATUS_OK;
}

enum status nexus_number(const struct nexus *n, const char *path, double *value, struct error *e)
{
    const hid_t data = H5Dopen2(n->file, path, H5P_DEFAULT);
    const bool good = data >= 0 && first_of(data, value) && isfinite(*value);
    if (data >= 0)
        (void)H5Dclose(data);
    return good ? STATUS_OK : nexus_error(n, path, e, "holds no number");
}

enum status nexus_real(const struct nexus *n, const char *path, double *value, struct error *e)
{
    const hid_t data = H5Dopen2(n->file, path, H5P_DEFAULT);
    const bool good = data >= 0 && first_of(data, value);
    if (data >= 0)
        (void)H5Dclose(data);
    return good ? apply_units(n, path, "units", value, 1, e)
                : nexus_error(n, path, e, "holds no number");
}

enum status nexus_wholes(const struct nexus *n, const char *path, size_t most, int64_t *values,
                         size_t *count, struct error *e)
{
    const hid_t data = H5Dopen2(n->file, path, H5P_DEFAULT);
    const hid_t space = data >= 0 ? H5Dget_space(data) : -1;
    const hid_t type = data >= 0 ? H5Dget_type(data) : -1;
    const hssize_t found = space >= 0 ? H5Sget_simple_extent_npoints(space) : 0;
    const bool good = type >= 0 && H5Tget_class(type) == H5T_INTEGER && found >= 1 &&
                      found <= (hssize_t)most &&
                      H5Dread(data, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    *count = good ? (size_t)found : 0;
    if (type >= 0)
        (void)H5Tclose(type);
    if (space >= 0)
        (void)H5Sclose(space);
    if (data >= 0)
        (void)H5Dclose(data);
    return good ? STATUS_OK : nexus_error(n, path, e, "must hold whole numbers, %zu at most", most);
}

/* --- where things stand ----------------------------------------------------------------- */

/* Three numbers of an attribute; false where it is absent or something else. */
static bool three(const struct nexus *n, const char *path, const char *attribute, double v[3])
{
    const hid_t from = H5Aopen_by_name(n->file, path, attribute, H5P_DEFAULT, H5P_DEFAULT);
    if (from < 0)
        return false;
    const hid_t space = H5Aget_space(from), type = H5Aget_type(from);
    const bool good = H5Sget_simple_extent_npoints(space) == 3 && is_number(type) &&
                      H5Aread(from, H5T_NATIVE_DOUBLE, v) >= 0;
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    (void)H5Aclose(from);
    return good;
}

enum status nexus_vector(const struct nexus *n, const char *path, double v[3], double *length,
                         struct error *e)
{
    const bool there = three(n, path, "vector", v);
    *length = there ? sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) : 0;
    if (!(*length > 1e-12 && *length < 1e12))
        return nexus_error(n, path, e, "vector must be three numbers that are not all 0");
    for (int i = 0; i < 3; i++)
        v[i] /= *length;
    return STATUS_OK;
}

bool nexus_next(const struct nexus *n, const char *path, char next[NEXUS_PATH])
{
    char on[NEXUS_TEXT];
    if (!nexus_text(n, path, "depends_on", on) || !*on || strcmp(on, ".") == 0)
        return false;
    /* relative names count from the group in which the transformation is */
    const char *slash = strrchr(path, '/');
    const int folder = *on == '/' || !slash ? 0 : (int)(slash + 1 - path);
    return snprintf(next, NEXUS_PATH, "%.*s%s", folder, path, on) < NEXUS_PATH;
}

/* Right-handed about the unit vector v (Rodrigues). */
static void turn_about(const double v[3], double rad, double m[9])
{
    const double c = cos(rad), s = sin(rad);
    const double cross[9] = {0, -v[2], v[1], v[2], 0, -v[0], -v[1], v[0], 0};
    for (int i = 0; i < 9; i++)
        m[i] = (i % 4 == 0 ? c : 0) + s * cross[i] + (1 - c) * v[i / 3] * v[i % 3];
}

static void apply(const double m[9], const double v[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2];
}

/* *pose, then the transformation at `path`. */
static enum status add_link(const struct nexus *n, const char *path, struct nexus_pose *pose,
                            struct error *e)
{
    char kind[NEXUS_TEXT], units[NEXUS_TEXT];
    double value, v[3], length, offset_m[3] = {0, 0, 0}, turn[9];
    if (!nexus_text(n, path, "transformation_type", kind) ||
        (strcmp(kind, "translation") != 0 && strcmp(kind, "rotation") != 0))
        return nexus_error(n, path, e,
                           "is no transformation: transformation_type must be translation or "
                           "rotation");
    const bool rotates = *kind == 'r';
    enum status s = nexus_real(n, path, &value, e);
    s = s ? s : nexus_vector(n, path, v, &length, e);
    if (!s && three(n, path, "offset", offset_m))
        s = apply_units(n, path,
                        nexus_text(n, path, "offset_units", units) || rotates ? "offset_units"
                                                                              : "units",
                        offset_m, 3, e);
    if (s)
        return s;
    turn_about(v, rotates ? value : 0, turn);
    double turned[9], shifted[3];
    for (int i = 0; i < 9; i++)
        turned[i] = turn[i / 3 * 3] * pose->turn[i % 3] +
                    turn[i / 3 * 3 + 1] * pose->turn[3 + i % 3] +
                    turn[i / 3 * 3 + 2] * pose->turn[6 + i % 3];
    apply(turn, pose->shift_m, shifted);
    memcpy(pose->turn, turned, sizeof turned);
    for (int i = 0; i < 3; i++)
        pose->shift_m[i] = shifted[i] + offset_m[i] + (rotates ? 0 : value * length * v[i]);
    return STATUS_OK;
}

enum status nexus_pose(const struct nexus *n, const char *path, struct nexus_pose *pose,
                       struct error *e)
{
    char here[NEXUS_PATH], next[NEXUS_PATH];
    *pose = (struct nexus_pose){.turn = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    (void)snprintf(here, sizeof here, "%s", path);
    for (int links = 0; links < CHAIN_MAX; links++) {
        const enum status s = add_link(n, here, pose, e);
        if (s || !nexus_next(n, here, next))
            return s;
        memcpy(here, next, sizeof here);
    }
    return nexus_error(n, path, e, "depends_on leads back to itself, or over more than %d steps",
                       CHAIN_MAX);
}
