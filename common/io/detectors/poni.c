#include "io/detectors/poni.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/opt.h"
#include "io/text/textfile.h"

enum { EDGE_MAX = 65536, BYTES_MAX = 1 << 20 };
/* VERSION_MAX: latest known version.  TURN: largest angle in rad.  A larger angle was probably
 * meant in degrees. */
static const double VERSION_MAX = 3.0;
#define TURN 6.2832

/* --- values ------------------------------------------------------------------------- */

/* A key of the file whose value is a number. */
struct key {
    const char *name;  // upper and lower case are equivalent
    size_t offset;     // in struct poni
    double min, max;
};

#define AT(member) offsetof(struct poni, member)
static const struct key keys[] = {
    {"Distance", AT(distance_m), 1e-6, 1e3},    {"Dist", AT(distance_m), 1e-6, 1e3},
    {"Poni1", AT(poni_m[0]), -1e3, 1e3},        {"Poni2", AT(poni_m[1]), -1e3, 1e3},
    {"Rot1", AT(rotation_rad[0]), -TURN, TURN}, {"Rot2", AT(rotation_rad[1]), -TURN, TURN},
    {"Rot3", AT(rotation_rad[2]), -TURN, TURN}, {"Wavelength", AT(wavelength_m), 1e-14, 1e-6},
    {"PixelSize1", AT(pixel_m[0]), 1e-7, 1},    {"PixelSize2", AT(pixel_m[1]), 1e-7, 1},
};

/* The values that the lines of one geometry have given so far, for each of `keys`; NAN: no line
 * has given it.  pyFAI appends geometries to a file.  Each geometry begins with comments or with
 * poni_version. */
struct stated_values {
    double value[sizeof keys / sizeof *keys];
};

static void forget_values(struct stated_values *said)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        said->value[i] = NAN;
}

/* Stores a number that a line gives.  STATUS_INPUT: an earlier line of the same geometry gives
 * another value, perhaps under another name. */
static enum status check_said(const struct text_file *t, size_t offset, const char *name,
                              double value, struct stated_values *said, struct error *e)
{
    size_t i = 0;
    while (keys[i].offset != offset)
        i++;
    const double before = said->value[i];
    said->value[i] = value;
    return isnan(before) || fabs(value - before) <= 1e-6 * fabs(before)
               ? STATUS_OK
               : text_error(t, e, "%s is %.9g, which contradicts the %.9g of an earlier line", name,
                            value, before);
}

static enum status take_number(const struct text_file *t, const struct key *key, const char *value,
                               struct poni *p, struct stated_values *said, struct error *e)
{
    struct error cause = {0};
    double *out = (double *)(void *)((char *)p + key->offset);
    if (strcasecmp(value, "None") == 0)
        return STATUS_OK;
    return parse_real(value, key->min, key->max, key->name, out, &cause)
               ? text_error(t, e, "%s", cause.text)
               : check_said(t, key->offset, key->name, *out, said, e);
}

/* Gets a member of Detector_config.  Returns false if the member is missing or null. */
static bool config_has(json_t *config, const char *name, json_t **value)
{
    *value = json_object_get(config, name);
    return *value && !json_is_null(*value);
}

static enum status config_pixel(const struct text_file *t, json_t *config, int along,
                                struct poni *p, struct stated_values *said, struct error *e)
{
    static const char *const names[] = {"pixel1", "pixel2"};
    const char *name = names[along];
    double *pixel_m = &p->pixel_m[along];
    json_t *value;
    if (!config_has(config, name, &value))
        return STATUS_OK;
    *pixel_m = json_number_value(value);
    return *pixel_m >= 1e-7 && *pixel_m <= 1
               ? check_said(t, along ? AT(pixel_m[1]) : AT(pixel_m[0]), name, *pixel_m, said, e)
               : text_error(
                     t, e, "Detector_config: %s is out of range; expected a value from 1e-7 to 1 m",
                     name);
}

/* Reads the sensor: {"material": "Si", "thickness": THICKNESS in m}.  Both members may be
 * missing. */
static enum status config_sensor(const struct text_file *t, json_t *config, struct poni *p,
                                 struct error *e)
{
    json_t *sensor, *value;
    p->thickness_m = 0;
    *p->material = 0;
    if (!config_has(config, "sensor", &sensor))
        return STATUS_OK;
    if (!json_is_object(sensor))
        return text_error(t, e, "Detector_config: sensor is not an object; expected '{...}'");
    if (config_has(sensor, "thickness", &value)) {
        p->thickness_m = json_number_value(value);
        if (!json_is_number(value) || !(p->thickness_m >= 0 && p->thickness_m <= 1))
            return text_error(t, e,
                              "Detector_config: the thickness of the sensor is out of range; "
                              "expected a value from 0 to 1 m");
    }
    if (config_has(sensor, "material", &value)) {
        const char *name = json_string_value(value);
        if (!name || !*name || strlen(name) >= sizeof p->material)
            return text_error(t, e,
                              "Detector_config: the material of the sensor is not a short name; "
                              "expected a name such as \"Si\"");
        (void)snprintf(p->material, sizeof p->material, "%s", name);
    }
    return STATUS_OK;
}

/* STATUS_INPUT: Detector_config has a distortion or a curved detector, which cannot be
 * simulated. */
static enum status config_distortion(const struct text_file *t, json_t *config, struct error *e)
{
    static const char *const names[] = {"splineFile", "splinefile", "x_offset_file",
                                        "y_offset_file", "filename"};
    json_t *value;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (config_has(config, names[i], &value))
            return text_error(
                t, e, "Detector_config: %s: pixels at positions from a file cannot be simulated",
                names[i]);
    return config_has(config, "radius", &value)
               ? text_error(t, e, "Detector_config: radius: a curved detector cannot be simulated")
               : STATUS_OK;
}

/* Adds a key without effect to the list p->unused, unless the list already contains it or is
 * full. */
static void ignore(struct poni *p, const char *name)
{
    const size_t length = strlen(p->unused);
    if (!strstr(p->unused, name) && length + strlen(name) + 3 < sizeof p->unused)
        (void)snprintf(p->unused + length, sizeof p->unused - length, "%s%s", length ? ", " : "",
                       name);
}

static void ignore_members(json_t *config, struct poni *p)
{
    static const char known[] = " pixel1 pixel2 max_shape shape orientation sensor splineFile "
                                "splinefile x_offset_file y_offset_file filename radius ";
    const char *name;
    json_t *value;
    json_object_foreach(config, name, value)
    {
        char padded[64];
        (void)snprintf(padded, sizeof padded, " %.60s ", name);
        if (!strstr(known, padded) && !json_is_null(value))
            ignore(p, name);
    }
}

static enum status config_shape(const struct text_file *t, json_t *config, int64_t pixels[2],
                                struct error *e)
{
    json_t *value;
    if (!config_has(config, "max_shape", &value) && !config_has(config, "shape", &value))
        return STATUS_OK;
    for (size_t i = 0; i < 2; i++) {
        pixels[i] = json_integer_value(json_array_get(value, i));
        if (json_array_size(value) != 2 || pixels[i] < 1 || pixels[i] > EDGE_MAX)
            return text_error(
                t, e,
                "Detector_config: max_shape is not valid; expected two whole numbers from 1 to %d",
                EDGE_MAX);
    }
    return STATUS_OK;
}

static enum status take_members(const struct text_file *t, json_t *config, struct poni *p,
                                struct stated_values *said, struct error *e)
{
    json_t *value;
    enum status s = config_pixel(t, config, 0, p, said, e);
    s = s ? s : config_pixel(t, config, 1, p, said, e);
    s = s ? s : config_shape(t, config, p->pixels, e);
    s = s ? s : config_distortion(t, config, e);
    s = s ? s : config_sensor(t, config, p, e);
    ignore_members(config, p);
    if (s || !config_has(config, "orientation", &value))
        return s;
    const json_int_t orientation = json_integer_value(value);
    if (!json_is_integer(value) || orientation < 0 || orientation > 4)
        return text_error(
            t, e, "Detector_config: orientation is not valid; expected a whole number from 1 to 4");
    p->orientation = orientation ? (int)orientation : 3;
    return STATUS_OK;
}

static enum status take_config(const struct text_file *t, const char *value, struct poni *p,
                               struct stated_values *said, struct error *e)
{
    json_error_t cause;
    json_t *config = json_loads(value, JSON_REJECT_DUPLICATES, &cause);
    const enum status s =
        json_is_object(config)
            ? take_members(t, config, p, said, e)
            : text_error(t, e, "Detector_config is not an object; expected '{...}'");
    json_decref(config);
    return s;
}

/* --- lines -------------------------------------------------------------------------- */

static const struct key *find_key(const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcasecmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

static enum status take_detector(const struct text_file *t, const char *value, struct poni *p,
                                 struct error *e)
{
    static const char *const curved[] = {"Aarhus", "Rapid", "Cirpad", "CylindricalDetector"};
    for (size_t i = 0; i < sizeof curved / sizeof *curved; i++)
        if (strcasecmp(value, curved[i]) == 0)
            return text_error(t, e, "Detector: %s is curved; expected flat", value);
    if (strlen(value) >= sizeof p->detector)
        return text_error(t, e,
                          "Detector: the name '%.40s...' is too long; expected at most %zu bytes",
                          value, sizeof p->detector - 1);
    (void)snprintf(p->detector, sizeof p->detector, "%s",
                   strcasecmp(value, "None") == 0 ? "" : value);
    return STATUS_OK;
}

/* Reads a line whose value is not a number of the geometry.  Adds unknown keys to p->unused. */
static enum status take_other(const struct text_file *t, const char *name, const char *value,
                              struct poni *p, struct stated_values *said, struct error *e)
{
    struct error cause = {0};
    double version;
    if (strcasecmp(name, "Detector_config") == 0)
        return take_config(t, value, p, said, e);
    if (strcasecmp(name, "Detector") == 0)
        return take_detector(t, value, p, e);
    if (strcasecmp(name, "SplineFile") == 0)
        return *value && strcasecmp(value, "None") != 0
                   ? text_error(t, e, "SplineFile: a distortion cannot be simulated; expected None")
                   : STATUS_OK;
    if (strcasecmp(name, "poni_version") == 0) {
        forget_values(said);
        return parse_real(value, 1, VERSION_MAX, "poni_version", &version, &cause)
                   ? text_error(t, e, "%s", cause.text)
                   : STATUS_OK;
    }
    /* With Parallax, pyFAI corrects for the depth of the sensor.  The depth is always simulated
     * if the sensor has one, so that the key needs no action. */
    if (strcasecmp(name, "Parallax") != 0)
        ignore(p, name);
    return STATUS_OK;
}

static enum status take_line(const struct text_file *t, char *line, struct poni *p,
                             struct stated_values *said, struct error *e)
{
    char *colon = strchr(line, ':');
    if (*line == '#')
        forget_values(said);
    if (*line == '#' || !*text_trim(line))
        return STATUS_OK;
    if (!colon)
        return text_error(t, e, "'%.60s' has no ':'; expected 'Key: value'", text_trim(line));
    *colon = 0;
    const char *name = text_trim(line), *value = text_trim(colon + 1);
    const struct key *key = find_key(name);
    return key ? take_number(t, key, value, p, said, e) : take_other(t, name, value, p, said, e);
}

enum status poni_read(const char *path, struct poni *p, struct error *e)
{
    struct text_file t;
    struct stated_values said;
    forget_values(&said);
    *p = (struct poni){.orientation = 3, .poni_m = {NAN, NAN}};
    enum status s = text_open(&t, path, FILETYPE_DETECTOR, BYTES_MAX, e);
    for (char *line = s ? NULL : t.bytes; line && *line && !s; line = t.next) {
        t.line++;
        t.next = line + strcspn(line, "\n");
        if (*t.next)
            *t.next++ = 0;
        s = take_line(&t, line, p, &said, e);
    }
    if (!s && (!(p->distance_m > 0) || isnan(p->poni_m[0]) || isnan(p->poni_m[1])))
        s = error_set(e, STATUS_INPUT,
                      "%s: not an NXmx file, and not a poni file of pyFAI: a line 'Distance: ', "
                      "'Poni1: ' or 'Poni2: ' is missing",
                      path);
    text_close(&t);
    return s;
}

/* --- the panel ---------------------------------------------------------------------- */

/* Sets m to the rows of pyFAI's rotation matrix: left-handed about axis 1, then left-handed
 * about axis 2, then right-handed about axis 3. */
static void rotation(const double rad[3], double m[3][3])
{
    const double c1 = cos(rad[0]), s1 = sin(rad[0]), c2 = cos(rad[1]), s2 = sin(rad[1]);
    const double c3 = cos(rad[2]), s3 = sin(rad[2]);
    const double all[3][3] = {{c2 * c3, s1 * s2 * c3 - c1 * s3, -(c1 * s2 * c3 + s1 * s3)},
                              {c2 * s3, s1 * s2 * s3 + c1 * c3, s1 * c3 - c1 * s2 * s3},
                              {s2, -s1 * c2, c1 * c2}};
    memcpy(m, all, sizeof all);
}

/* Converts a vector from the axes of the detector before its rotation to the coordinate system
 * of the beam (struct place). */
static void to_beam(const struct poni *p, const double own[3], double out[3])
{
    double m[3][3], lab[3];
    rotation(p->rotation_rad, m);
    for (int i = 0; i < 3; i++)
        lab[i] = m[i][0] * own[0] + m[i][1] * own[1] + m[i][2] * own[2];
    out[0] = lab[1];
    out[1] = -lab[0];
    out[2] = lab[2];
}

/* An orientation is the order in which the pixels of a detector are stored: rows or columns may
 * count backwards, but the detector stays in its place.  pyFAI 2023.12 to 2026.5 also moved the
 * axes of the laboratory frame (silx-kit/pyFAI#2090); later releases do not. */
void poni_panel(const struct poni *p, struct geom_panel *panel)
{
    const bool flip[2] = {p->orientation <= 2, p->orientation == 1 || p->orientation == 4};
    double corner[3] = {0, 0, p->distance_m}, along[2];
    for (int i = 0; i < 2; i++) {
        along[i] = flip[i] ? -1 : 1;
        corner[i] = (flip[i] ? p->pixel_m[i] * (double)p->pixels[i] : 0) - p->poni_m[i];
    }
    *panel = (struct geom_panel){
        .fast_pixels = p->pixels[1], .slow_pixels = p->pixels[0], .pixel_m = p->pixel_m[0]};
    to_beam(p, (const double[]){0, along[1], 0}, panel->fast);
    to_beam(p, (const double[]){along[0], 0, 0}, panel->slow);
    to_beam(p, corner, panel->corner_m);
}
