#include "io/nxmx/nexus.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"

static const double EV_J = 1.602176634e-19;
enum { CHAIN_MAX = 100, CHILDREN_MAX = 5000, NUMBERS_MAX = 1 << 22 };

enum status nexus_error(const struct nexus *n, const char *path, struct error *e,
                        const char *format, ...)
{
    char text[480];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return error_set(e, STATUS_INPUT, "%s: %.200s: %s", n->path, path, text);
}

/* --- texts ---------------------------------------------------------------------------- */

/* Reads one text of fixed or variable length with H5Dread or, if `attribute`, with H5Aread.
 * Removes trailing blanks.  Returns false if there are several texts, or if the text is too
 * long. */
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
    if (good) {
        (void)snprintf(text, NEXUS_TEXT, "%s", value);
        for (size_t n = strlen(text); n && text[n - 1] == ' '; n--)
            text[n - 1] = 0;
    }
    if (loose && bytes && value != bytes)
        (void)H5free_memory(value);
    free(bytes);
    return good;
}

/* Opens an attribute of the object at a path, and the object.  Returns the attribute.  The
 * caller closes both: the library finds texts in other files only while the object is open.
 * Returns a negative number if there is no such attribute; *object is closed then. */
static hid_t open_note(const struct nexus *n, const char *path, const char *name, hid_t *object)
{
    *object = H5Oopen(n->file, path, hdf5_links());
    if (*object < 0)
        return -1;
    const hid_t note = H5Aopen(*object, name, H5P_DEFAULT);
    if (note < 0)
        (void)H5Oclose(*object);
    return note;
}

bool nexus_text(const struct nexus *n, const char *path, const char *attribute,
                char text[NEXUS_TEXT])
{
    hid_t object = -1;
    const hid_t from =
        attribute ? open_note(n, path, attribute, &object) : hdf5_open_data(n->file, path);
    if (from < 0)
        return false;
    const hid_t type = attribute ? H5Aget_type(from) : H5Dget_type(from);
    const hid_t space = attribute ? H5Aget_space(from) : H5Dget_space(from);
    const bool good =
        type >= 0 && space >= 0 && take_text(from, attribute != NULL, type, space, text);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)(attribute ? H5Aclose(from) : H5Dclose(from));
    if (attribute)
        (void)H5Oclose(object);
    return good;
}

/* --- groups --------------------------------------------------------------------------- */

/* Sets `child` to the path of child number `at` of an open group, whose path is `of`.  Returns
 * false if the child has no name, or if the name or the path is too long. */
static bool name_child(hid_t group, const char *of, hsize_t at, char child[NEXUS_PATH])
{
    char name[NEXUS_TEXT];
    const ssize_t length = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, at, name,
                                              sizeof name, H5P_DEFAULT);
    return length >= 0 && length < (ssize_t)sizeof name &&
           snprintf(child, NEXUS_PATH, "%s/%s", strcmp(of, "/") ? of : "", name) < NEXUS_PATH;
}

/* Opens the group at a path.  *count gets the number of its children that are searched, at most
 * CHILDREN_MAX.  The caller closes the group.  Returns a negative number if there is no such
 * group. */
static hid_t open_group(const struct nexus *n, const char *path, hsize_t *count)
{
    H5G_info_t info;
    const hid_t group = H5Oopen(n->file, path, hdf5_links());
    const bool good = group >= 0 && H5Gget_info(group, &info) >= 0;
    *count = good ? info.nlinks : 0;
    if (*count > CHILDREN_MAX)
        *count = CHILDREN_MAX;
    if (good || group < 0)
        return group;
    (void)H5Oclose(group);
    return -1;
}

bool nexus_child(const struct nexus *n, const char *of, const char *nx_class, hsize_t *at,
                 char child[NEXUS_PATH])
{
    hsize_t count;
    bool found = false;
    const hid_t group = open_group(n, of, &count);
    while (*at < count && !found) {
        char class[NEXUS_TEXT];
        found = name_child(group, of, (*at)++, child) &&
                (!nx_class ||
                 (nexus_text(n, child, "NX_class", class) && strcmp(class, nx_class) == 0));
    }
    if (group >= 0)
        (void)H5Oclose(group);
    return found;
}

bool nexus_broken(const struct nexus *n, const char *of, const char *word, char reason[HDF5_REASON])
{
    char child[NEXUS_PATH];
    hsize_t at = 0;
    while (nexus_child(n, of, NULL, &at, child))
        if (strstr(strrchr(child, '/'), word) && hdf5_explain(n->file, child, reason))
            return true;
    return false;
}

bool nexus_has(const struct nexus *n, const char *parent, const char *name, char path[NEXUS_PATH])
{
    if (snprintf(path, NEXUS_PATH, "%s/%s", parent, name) >= NEXUS_PATH)
        return false;
    const hid_t data = hdf5_open_data(n->file, path);
    if (data >= 0)
        (void)H5Dclose(data);
    return data >= 0;
}

enum status nexus_check(const struct nexus *n, const char *path, struct error *e)
{
    char reason[HDF5_REASON];
    const hid_t data = hdf5_open_data(n->file, path);
    const bool lost = data >= 0 && hdf5_missing_part(data, reason);
    if (data >= 0)
        (void)H5Dclose(data);
    if (lost)
        return nexus_error(n, path, e, "a part of it is in %s, which is missing", reason);
    if (data >= 0)
        return STATUS_OK;
    if (hdf5_explain(n->file, path, reason))
        return error_set(e, STATUS_INPUT, "%s: %s", n->path, reason);
    return hdf5_exists(n->file, path) ? nexus_error(n, path, e, "cannot be read as a data set")
                                      : STATUS_OK;
}

enum status nexus_lacks(const struct nexus *n, const char *group, const char *name, struct error *e)
{
    char path[NEXUS_PATH];
    (void)snprintf(path, sizeof path, "%.400s/%.100s", group, name);
    const enum status s = nexus_check(n, path, e);
    return s ? s : nexus_error(n, group, e, "has no %s", name);
}

/* --- numbers -------------------------------------------------------------------------- */

static bool is_number(hid_t type)
{
    const H5T_class_t class = H5Tget_class(type);
    return class == H5T_INTEGER || class == H5T_FLOAT;
}

/* Reads all numbers of an open data set.  *count gets their number.  The caller frees them with
 * mem_free.  Returns NULL if the data set has no numbers or more than NUMBERS_MAX, or if reading
 * fails. */
static double *read_numbers(hid_t data, size_t *count)
{
    const hid_t space = H5Dget_space(data), type = H5Dget_type(data);
    const hssize_t found = space >= 0 ? H5Sget_simple_extent_npoints(space) : 0;
    const bool good = type >= 0 && is_number(type) && found >= 1 && found <= NUMBERS_MAX;
    double *values = good ? mem_try_array((size_t)found, sizeof *values) : NULL;
    *count = (size_t)found;
    if (values && H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
        mem_free(values);
        values = NULL;
    }
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    return values;
}

/* Returns the size, in m, rad or eV, of a unit of that kind.  Returns 0 if the unit is unknown. */
static double unit_of(enum nexus_kind kind, const char *name)
{
    static const struct {
        enum nexus_kind kind;
        const char *name;
        double factor;
    } units[] = {{NEXUS_LENGTH, "m", 1},
                 {NEXUS_LENGTH, "mm", 1e-3},
                 {NEXUS_LENGTH, "cm", 1e-2},
                 {NEXUS_LENGTH, "um", 1e-6},
                 {NEXUS_LENGTH, "\xc2\xb5m", 1e-6},
                 {NEXUS_LENGTH, "\xce\xbcm", 1e-6},
                 {NEXUS_LENGTH, "nm", 1e-9},
                 {NEXUS_LENGTH, "pm", 1e-12},
                 {NEXUS_LENGTH, "A", 1e-10},
                 {NEXUS_LENGTH, "Ang", 1e-10},
                 {NEXUS_LENGTH, "\xc3\x85", 1e-10},
                 {NEXUS_LENGTH, "\xe2\x84\xab", 1e-10},
                 {NEXUS_ANGLE, "\xc2\xb0", M_PI / 180},
                 {NEXUS_ENERGY, "eV", 1},
                 {NEXUS_ENERGY, "keV", 1e3},
                 {NEXUS_ENERGY, "MeV", 1e6},
                 {NEXUS_ENERGY, "J", 1 / EV_J}};
    /* Words are compared without regard to case.  A final s is allowed. */
    static const struct {
        enum nexus_kind kind;
        const char *name;
        double factor;
    } words[] = {{NEXUS_LENGTH, "meter", 1},
                 {NEXUS_LENGTH, "metre", 1},
                 {NEXUS_LENGTH, "millimeter", 1e-3},
                 {NEXUS_LENGTH, "millimetre", 1e-3},
                 {NEXUS_LENGTH, "centimeter", 1e-2},
                 {NEXUS_LENGTH, "centimetre", 1e-2},
                 {NEXUS_LENGTH, "micron", 1e-6},
                 {NEXUS_LENGTH, "micrometer", 1e-6},
                 {NEXUS_LENGTH, "micrometre", 1e-6},
                 {NEXUS_LENGTH, "nanometer", 1e-9},
                 {NEXUS_LENGTH, "nanometre", 1e-9},
                 {NEXUS_LENGTH, "picometer", 1e-12},
                 {NEXUS_LENGTH, "picometre", 1e-12},
                 {NEXUS_LENGTH, "angstrom", 1e-10},
                 {NEXUS_ANGLE, "rad", 1},
                 {NEXUS_ANGLE, "radian", 1},
                 {NEXUS_ANGLE, "deg", M_PI / 180},
                 {NEXUS_ANGLE, "degree", M_PI / 180},
                 {NEXUS_ANGLE, "mrad", 1e-3},
                 {NEXUS_ANGLE, "milliradian", 1e-3},
                 {NEXUS_ENERGY, "ev", 1},
                 {NEXUS_ENERGY, "electronvolt", 1},
                 {NEXUS_ENERGY, "kev", 1e3},
                 {NEXUS_ENERGY, "joule", 1 / EV_J}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].kind == kind && strcmp(units[i].name, name) == 0)
            return units[i].factor;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i].name);
        if (words[i].kind == kind && strncasecmp(words[i].name, name, length) == 0 &&
            (!name[length] || strcasecmp(name + length, "s") == 0))
            return words[i].factor;
    }
    return 0;
}

enum status nexus_unit(const struct nexus *n, const char *path, const char *attribute,
                       enum nexus_kind kind, double *factor, struct error *e)
{
    static const char *const allowed[] = {"m, mm, um, nm or angstrom", "deg or rad",
                                          "eV, keV, MeV or J", ""};
    char units[NEXUS_TEXT] = "";
    if (!nexus_text(n, path, attribute, units) || !*units)
        return nexus_error(n, path, e, "has no %s; expected %s", attribute, allowed[kind]);
    *factor = unit_of(kind, units);
    return *factor > 0 ? STATUS_OK
                       : nexus_error(n, path, e, "unknown %s '%.40s'; expected %s", attribute,
                                     units, allowed[kind]);
}

/* Converts numbers to m, rad or eV with the unit that `attribute` of the object at `path` names.
 * NEXUS_COUNT is not converted.  If all numbers are 0, no unit is needed.  STATUS_INPUT: a
 * number is not finite, or the unit is missing or unknown. */
static enum status apply_units(const struct nexus *n, const char *path, const char *attribute,
                               enum nexus_kind kind, double *values, size_t count, struct error *e)
{
    double factor = 1;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!(fabs(values[i]) < 1e30))
            return nexus_error(n, path, e, "is not a finite number");
        any = any || values[i] != 0;
    }
    if (kind == NEXUS_COUNT || !any)
        return STATUS_OK;
    const enum status s = nexus_unit(n, path, attribute, kind, &factor, e);
    if (s)
        return s;
    for (size_t i = 0; i < count; i++)
        values[i] *= factor;
    return STATUS_OK;
}

enum status nexus_reals(const struct nexus *n, const char *path, enum nexus_kind kind,
                        struct nexus_range *range, struct error *e)
{
    size_t count = 0;
    enum status s = nexus_check(n, path, e);
    if (s)
        return s;
    const hid_t data = hdf5_open_data(n->file, path);
    double *values = data >= 0 ? read_numbers(data, &count) : NULL;
    if (data >= 0)
        (void)H5Dclose(data);
    if (!values)
        return nexus_error(n, path, e, "has no number");
    s = apply_units(n, path, "units", kind, values, count, e);
    *range = (struct nexus_range){count, values[0], values[0], values[0]};
    for (size_t i = 1; i < count; i++) {
        range->least = fmin(range->least, values[i]);
        range->most = fmax(range->most, values[i]);
    }
    mem_free(values);
    return s;
}

/* Returns true if all numbers of a range are equal, apart from the noise of a motor or of
 * rounding. */
static bool is_one(const struct nexus_range *range)
{
    return range->most - range->least <= 1e-6 * fmax(fabs(range->most), fabs(range->least));
}

enum status nexus_real(const struct nexus *n, const char *path, enum nexus_kind kind, double *value,
                       struct error *e)
{
    struct nexus_range range = {0};
    const enum status s = nexus_reals(n, path, kind, &range, e);
    if (s)
        return s;
    if (!is_one(&range))
        return nexus_error(n, path, e, "%zu numbers from %g to %g (in m or rad); expected one",
                           range.count, range.least, range.most);
    *value = range.first;
    return STATUS_OK;
}

/* Reads `count` whole numbers of any type from an open data set.  Returns false if the data set
 * has another number of items, or an item is not a whole number. */
static bool take_wholes(hid_t data, size_t count, int64_t *values)
{
    size_t found;
    double *reals = read_numbers(data, &found);
    bool good = reals && found == count;
    for (size_t i = 0; i < count && good; i++) {
        good = reals[i] == rint(reals[i]) && fabs(reals[i]) < 9e15;
        values[i] = good ? (int64_t)reals[i] : 0;
    }
    mem_free(reals);
    return good;
}

enum status nexus_wholes(const struct nexus *n, const char *path, size_t most, int64_t *values,
                         size_t *count, struct error *e)
{
    const hid_t data = hdf5_open_data(n->file, path);
    const hid_t space = data >= 0 ? H5Dget_space(data) : -1;
    const hssize_t found = space >= 0 ? H5Sget_simple_extent_npoints(space) : 0;
    const bool good =
        found >= 1 && found <= (hssize_t)most && take_wholes(data, (size_t)found, values);
    *count = good ? (size_t)found : 0;
    if (space >= 0)
        (void)H5Sclose(space);
    if (data >= 0)
        (void)H5Dclose(data);
    return good ? STATUS_OK
                : nexus_error(n, path, e, "is not a list of at most %zu integers", most);
}

/* --- transformations -------------------------------------------------------------------- */

/* Reads the three numbers of an attribute into v.  Returns false if the attribute is missing, or
 * is anything else than three numbers. */
static bool three(const struct nexus *n, const char *path, const char *attribute, double v[3])
{
    hid_t object;
    const hid_t from = open_note(n, path, attribute, &object);
    if (from < 0)
        return false;
    const hid_t space = H5Aget_space(from), type = H5Aget_type(from);
    const bool good = H5Sget_simple_extent_npoints(space) == 3 && is_number(type) &&
                      H5Aread(from, H5T_NATIVE_DOUBLE, v) >= 0;
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    (void)H5Aclose(from);
    (void)H5Oclose(object);
    return good;
}

enum status nexus_vector(const struct nexus *n, const char *path, double v[3], double *length,
                         struct error *e)
{
    const bool there = three(n, path, "vector", v);
    *length = there ? sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) : 0;
    if (!(*length > 1e-12 && *length < 1e12))
        return nexus_error(n, path, e, "vector: expected three numbers that are not all 0");
    for (int i = 0; i < 3; i++)
        v[i] /= *length;
    return STATUS_OK;
}

/* Sets `path` to parent/name, or to `name` if `name` is absolute.  Resolves the parts . and ..
 * of the path.  Returns false if the path is empty, leaves the root or is too long. */
static bool join_path(const char *parent, const char *name, char path[NEXUS_PATH])
{
    char both[2 * NEXUS_PATH];
    size_t used = 0;
    (void)snprintf(both, sizeof both, "%.*s/%s", *name == '/' ? 0 : NEXUS_PATH, parent, name);
    path[0] = 0;
    for (char *rest = both, *word; (word = strsep(&rest, "/"));) {
        if (!*word || strcmp(word, ".") == 0)
            continue;
        if (strcmp(word, "..") == 0) {
            char *slash = strrchr(path, '/');
            if (!slash)
                return false;
            *slash = 0;
            used = (size_t)(slash - path);
            continue;
        }
        used += (size_t)snprintf(path + used, NEXUS_PATH - used, "/%s", word);
        if (used >= NEXUS_PATH)
            return false;
    }
    return used;
}

/* Resolves an absolute name that is stored in another file.  If a link on the way to `folder`
 * leads to another file, an absolute name in that file means an object of the same file.  `path`
 * gets the path of this object through the link.  Returns false if no link leads to `folder`, or
 * if there is no such object. */
static bool through_link(const struct nexus *n, const char *folder, const char *name,
                         char path[NEXUS_PATH])
{
    char there[NEXUS_PATH];
    const hid_t object = H5Oopen(n->file, folder, hdf5_links());
    const ssize_t length = object >= 0 ? H5Iget_name(object, there, sizeof there) : 0;
    if (object >= 0)
        (void)H5Oclose(object);
    if (length <= 0 || length >= NEXUS_PATH || strcmp(there, folder) == 0)
        return false;
    /* Remove the common end of both paths, in whole words: a and b get the lengths of the rest. */
    size_t a = strlen(folder), b = strcmp(there, "/") == 0 ? 0 : (size_t)length;
    for (size_t i = a, k = b; i && k && folder[i - 1] == there[k - 1];) {
        i--;
        k--;
        if (folder[i] == '/') {
            a = i;
            b = k;
        }
    }
    return strncmp(name, there, b) == 0 && (name[b] == '/' || !b) &&
           snprintf(path, NEXUS_PATH, "%.*s%s", (int)a, folder, name + b) < NEXUS_PATH &&
           hdf5_exists(n->file, path);
}

void nexus_resolve(const struct nexus *n, const char *folder, const char *name,
                   char path[NEXUS_PATH])
{
    char parent[NEXUS_PATH];
    if (*name == '/' && through_link(n, folder, name, path))
        return;
    (void)snprintf(parent, sizeof parent, "%s", folder);
    for (;;) {
        if (join_path(parent, name, path) && hdf5_exists(n->file, path))
            return;
        char *slash = strrchr(parent, '/');
        path[0] = 0;
        if (*name == '/' || !slash)
            return;
        *slash = 0;  // some programs write names relative to a group further up
    }
}

enum status nexus_next(const struct nexus *n, const char *path, char next[NEXUS_PATH],
                       struct error *e)
{
    char on[NEXUS_TEXT], folder[NEXUS_PATH], reason[HDF5_REASON];
    const char *slash = strrchr(path, '/');
    next[0] = 0;
    if (!nexus_text(n, path, "depends_on", on))
        return H5Aexists_by_name(n->file, path, "depends_on", hdf5_links()) > 0
                   ? nexus_error(n, path, e, "depends_on is not a text of at most %d bytes",
                                 NEXUS_TEXT - 1)
                   : STATUS_OK;
    if (!*on || strcmp(on, ".") == 0)
        return STATUS_OK;
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 0, path);
    nexus_resolve(n, folder, on, next);
    if (*next)
        return STATUS_OK;
    if (*on == '/' && hdf5_explain(n->file, on, reason))
        return nexus_error(n, path, e, "depends_on cannot be followed: %s", reason);
    return nexus_error(n, path, e, "depends_on is %.200s, which is missing", on);
}

/* Sets m to the matrix of a right-handed rotation by an angle about the unit vector v, with
 * Rodrigues' formula. */
static void turn_about(const double v[3], double rad, double m[9])
{
    const double c = cos(rad), s = sin(rad);
    const double cross[9] = {0, -v[2], v[1], v[2], 0, -v[0], -v[1], v[0], 0};
    for (int i = 0; i < 9; i++)
        m[i] = (i % 4 == 0 ? c : 0) + s * cross[i] + (1 - c) * v[i / 3] * v[i % 3];
}

static void rotate_vector(const double m[9], const double v[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2];
}

/* Reads the value, in rad or m, and the direction v of a transformation.  If the value is 0, the
 * file need not have a direction: v is then (0, 0, 1).  The length of the vector of a
 * translation is a factor on the value. */
static enum status read_motion(const struct nexus *n, const char *path, bool first, bool rotates,
                               double *value, double v[3], struct error *e)
{
    struct nexus_range range = {0};
    double length = 1;
    const enum nexus_kind kind = rotates ? NEXUS_ANGLE : NEXUS_LENGTH;
    enum status s =
        first ? nexus_reals(n, path, kind, &range, e) : nexus_real(n, path, kind, &range.first, e);
    if (s)
        return s;
    *value = range.first;
    if (*value == 0) {
        for (int i = 0; i < 3; i++)
            v[i] = i == 2;
        return STATUS_OK;
    }
    s = nexus_vector(n, path, v, &length, e);
    if (!rotates)
        *value *= length;
    return s;
}

/* Applies the transformation at `path` after *pose: a step along a chain of depends_on. */
static enum status add_link(const struct nexus *n, const char *path, bool first,
                            struct nexus_pose *pose, struct error *e)
{
    char type[NEXUS_TEXT], units[NEXUS_TEXT];
    double value = 0, v[3], offset_m[3] = {0, 0, 0}, turn[9];
    enum status s = nexus_check(n, path, e);
    if (s)
        return s;
    if (!nexus_text(n, path, "transformation_type", type) ||
        (strcmp(type, "translation") != 0 && strcmp(type, "rotation") != 0))
        return nexus_error(
            n, path, e,
            "is not a transformation; expected the transformation_type translation or rotation");
    const bool rotates = *type == 'r';
    s = read_motion(n, path, first, rotates, &value, v, e);
    if (!s && three(n, path, "offset", offset_m))
        s = apply_units(n, path,
                        nexus_text(n, path, "offset_units", units) || rotates ? "offset_units"
                                                                              : "units",
                        NEXUS_LENGTH, offset_m, 3, e);
    else if (!s && H5Aexists_by_name(n->file, path, "offset", hdf5_links()) > 0)
        s = nexus_error(n, path, e, "offset: expected three numbers");
    if (s)
        return s;
    turn_about(v, rotates ? value : 0, turn);
    double turned[9], shifted[3];
    for (int i = 0; i < 9; i++)
        turned[i] = turn[i / 3 * 3] * pose->turn[i % 3] +
                    turn[i / 3 * 3 + 1] * pose->turn[3 + i % 3] +
                    turn[i / 3 * 3 + 2] * pose->turn[6 + i % 3];
    rotate_vector(turn, pose->shift_m, shifted);
    memcpy(pose->turn, turned, sizeof turned);
    for (int i = 0; i < 3; i++)
        pose->shift_m[i] = shifted[i] + offset_m[i] + (rotates ? 0 : value * v[i]);
    return STATUS_OK;
}

enum status nexus_pose(const struct nexus *n, const char *path, bool first, struct nexus_pose *pose,
                       struct error *e)
{
    char here[NEXUS_PATH], next[NEXUS_PATH];
    *pose = (struct nexus_pose){.turn = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    (void)snprintf(here, sizeof here, "%s", path);
    for (int links = 0; links < CHAIN_MAX; links++) {
        enum status s = add_link(n, here, first, pose, e);
        s = s ? s : nexus_next(n, here, next, e);
        if (s || !*next)
            return s;
        memcpy(here, next, sizeof here);
    }
    return nexus_error(n, path, e,
                       "depends_on leads back to itself, or over more than %d transformations",
                       CHAIN_MAX);
}
