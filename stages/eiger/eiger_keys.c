/*
 * The key tree.  eiger_table.c has the keys.  From top to bottom: words, reading, checks, what
 * follows from a value, lists of changed keys.
 */
#include "eiger.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "eiger_table.h"
#include "gateway/dectris.h"

static const double HC_EV_A = 12398.419843320026;
static const double READOUT_S = 1e-7, READABLE_S = 5e-3;

static const struct eiger_model models[] = {
    {"eiger2-500k", "Dectris EIGER2 Si 500K", 1028, 512, 1 / 500.0, NULL},
    {"eiger2-1m", "Dectris EIGER2 Si 1M", 1028, 1062, 1 / 500.0, NULL},
    {"eiger2-4m", "Dectris EIGER2 Si 4M", 2068, 2162, 1 / 500.0, NULL},
    {"eiger2-9m", "Dectris EIGER2 Si 9M", 3108, 3262, 1 / 230.0, &models[2]},
    {"eiger2-16m", "Dectris EIGER2 Si 16M", 4148, 4362, 1 / 133.0, &models[2]},
};

const struct eiger_model *eiger_model(int index)
{
    return &models[index];
}

static const double lines_eV[] = {0,        4510.84, 4952.2,  5414.72,  5898.75, 6403.84,
                                  6930.32,  7478.15, 8047.78, 8638.86,  9251.74, 9886.42,
                                  10543.72, 11222.4, 11924.2, 17479.34, 22162.92};

/* Finds a row; -1: there is none. */
static int find_row(const char *sub, const char *task, const char *name)
{
    for (int i = 0; i < eiger_row_count; i++)
        if (strcmp(eiger_rows[i].name, name) == 0 && strcmp(eiger_rows[i].sub, sub) == 0 &&
            strcmp(eiger_rows[i].task, task) == 0)
            return i;
    return -1;
}

/* Finds a row by "SUB:TASK:NAME", or by the name of a key of the detector's configuration. */
static int find_key(const char *name)
{
    char sub[16], task[16];
    const char *end = strrchr(name, ':');
    if (end && sscanf(name, "%15[^:]:%15[^:]", sub, task) == 2)
        return find_row(sub, task, end + 1);
    return find_row("detector", "config", name);
}

static bool is_writable(const struct eiger_row *row)
{
    return row->access == WRITE || row->access == HIDDEN_WRITE;
}

/* --- words --------------------------------------------------------------------- */

int find_word(const char *words, char separator, const char *word)
{
    const size_t size = strlen(word);
    for (int place = 0;; place++) {
        const char *end = strchrnul(words, separator);
        if ((size_t)(end - words) == size && memcmp(words, word, size) == 0)
            return place;
        if (!*end)
            return -1;
        words = end + 1;
    }
}

void list_append_words(json_t *list, const char *words, char separator)
{
    for (;; words++) {
        const char *end = strchrnul(words, separator);
        (void)json_array_append_new(list, json_stringn(words, (size_t)(end - words)));
        words = end;
        if (!*end)
            return;
    }
}

/* --- reading ------------------------------------------------------------------- */

double keys_real(const struct eiger_keys *keys, const char *name)
{
    return json_number_value(keys->values[find_key(name)]);
}

uint64_t keys_uint(const struct eiger_keys *keys, const char *name)
{
    return (uint64_t)json_integer_value(keys->values[find_key(name)]);
}

bool keys_bool(const struct eiger_keys *keys, const char *name)
{
    return json_is_true(keys->values[find_key(name)]);
}

const char *keys_text(const struct eiger_keys *keys, const char *name)
{
    return json_string_value(keys->values[find_key(name)]);
}

char *keys_json(const struct eiger_keys *keys, const char *name)
{
    const json_t *value = keys->values[find_key(name)];
    return json_is_string(value)
               ? strdup(json_string_value(value))
               : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
}

void keys_reals(const struct eiger_keys *keys, const char *name, double *values, size_t count)
{
    const json_t *list = keys->values[find_key(name)];
    for (size_t i = 0; i < count; i++)
        values[i] = json_number_value(json_array_get(list, i));
}

void keys_set(struct eiger_keys *keys, const char *name, json_t *value)
{
    const int row = find_key(name);
    json_decref(keys->values[row]);
    keys->values[row] = value;
}

void keys_set_date(struct eiger_keys *keys, const char *name)
{
    char text[DECTRIS_DATE_SIZE];
    (void)dectris_date(clock_unix_ns(), text);
    keys_set(keys, name, json_string(text));
}

static void set_real(struct eiger_keys *keys, const char *name, double value)
{
    keys_set(keys, name, json_real(value));
}

static void set_uint(struct eiger_keys *keys, const char *name, uint64_t value)
{
    keys_set(keys, name, json_integer((json_int_t)value));
}

const struct eiger_model *keys_view(const struct eiger_keys *keys)
{
    const bool part = strcmp(keys_text(keys, "roi_mode"), "disabled") != 0;
    return part && keys->model->middle ? keys->model->middle : keys->model;
}

/* Returns the words that a key allows; NULL: any. */
static const char *allowed_of(const struct eiger_keys *keys, const struct eiger_row *row)
{
    return strcmp(row->name, "roi_mode") == 0 && !keys->model->middle ? "disabled" : row->allowed;
}

static double least_of(const struct eiger_keys *keys, const struct eiger_row *row)
{
    const bool frame =
        strcmp(row->name, "frame_time") == 0 || strcmp(row->name, "frame_period") == 0;
    return frame ? keys_view(keys)->fastest_s : row->least;
}

/* Returns why a number that clients may set has only one value; NULL: it has several. */
static const char *why_fixed(const struct eiger_row *row)
{
    if (strcmp(row->name, "nexpi") == 0)
        return "only the mode extg, which does not exist here, sums exposures";
    return row->unit && strcmp(row->unit, "deg") == 0 && !(row->least < row->most)
               ? "the detector does not move during a series"
               : NULL;
}

static json_t *limit(const struct eiger_row *row, double value)
{
    return strcmp(row->type, "uint") == 0 ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *describe(const struct eiger_keys *keys, int index)
{
    const struct eiger_row *row = &eiger_rows[index];
    json_t *object = json_object();
    (void)json_object_set_new(object, "access_mode", json_string(is_writable(row) ? "rw" : "r"));
    if (row->allowed) {
        json_t *list = json_array();
        list_append_words(list, allowed_of(keys, row), '|');
        (void)json_object_set_new(object, "allowed_values", list);
    }
    if (row->least < row->most || why_fixed(row)) {
        (void)json_object_set_new(object, "max", limit(row, row->most));
        (void)json_object_set_new(object, "min", limit(row, least_of(keys, row)));
    }
    if (row->unit)
        (void)json_object_set_new(object, "unit", json_string(row->unit));
    (void)json_object_set(object, "value", keys->values[index]);
    (void)json_object_set_new(object, "value_type", json_string(row->type));
    return object;
}

json_t *keys_get(const struct eiger_keys *keys, const char *sub, const char *task, const char *name)
{
    const int row = find_row(sub, task, name);
    return row < 0 ? NULL : describe(keys, row);
}

json_t *keys_list(const struct eiger_keys *keys, const char *sub, const char *task, bool values)
{
    json_t *list = values ? json_object() : json_array();
    for (int i = 0; i < eiger_row_count; i++) {
        const struct eiger_row *row = &eiger_rows[i];
        if (row->access >= HIDDEN_READ || strcmp(row->sub, sub) != 0 ||
            strcmp(row->task, task) != 0)
            continue;
        if (values)
            (void)json_object_set_new(list, row->name, describe(keys, i));
        else
            (void)json_array_append_new(list, json_string(row->name));
    }
    return list;
}

/* --- checks -------------------------------------------------------------------- */

/* Returns true if a value is the direction of an axis: three numbers, not all of them 0. */
static bool is_direction(const json_t *value)
{
    double v[3], length = 0;
    for (size_t i = 0; i < 3; i++) {
        const json_t *item = json_array_get(value, i);
        v[i] = json_number_value(item);
        if (!json_is_number(item))
            return false;
        length = hypot(length, v[i]);
    }
    return json_array_size(value) == 3 && length >= 1e-6 && length <= 1e6;
}

static bool has_type(const struct eiger_row *row, const json_t *value)
{
    const double number = json_number_value(value);
    if (strcmp(row->type, "float[]") == 0)
        return is_direction(value);
    if (strstr(row->name, "_appendix"))  // Stream V2 has any value of JSON
        return !json_is_null(value);
    if (strcmp(row->type, "float") == 0)
        return json_is_number(value) && isfinite(number);
    if (strcmp(row->type, "uint") == 0)
        return json_is_number(value) && number >= 0 && number < 9e15 && floor(number) == number;
    if (strcmp(row->type, "bool") == 0)
        return json_is_boolean(value);
    return json_is_string(value);
}

/* Returns true if a name of files is good: letters, digits and "_.-", and $id for the number of the
 * series. */
static bool is_pattern(const char *text)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    const size_t n = strlen(text), head = strspn(text, good);
    const char *rest = text + head;
    if (strncmp(rest, "$id", 3) == 0)
        rest += 3;
    return n > 0 && n <= 100 && *text != '.' && strspn(rest, good) == strlen(rest);
}

static enum status check_value(const struct eiger_keys *keys, const struct eiger_row *row,
                               const json_t *value, struct error *e)
{
    const double number = json_number_value(value), least = least_of(keys, row);
    char *given = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    enum status s = STATUS_OK;
    if (!is_writable(row))
        s = error_set(e, STATUS_INPUT, "%s: the key is read-only", row->name);
    else if (!has_type(row, value))
        s = error_set(e, STATUS_INPUT, "%s: the value has the wrong type (got %.100s); expected %s",
                      row->name, given ? given : "",
                      strcmp(row->type, "float[]") == 0 ? "three numbers, not all of them 0"
                                                        : row->type);
    else if (why_fixed(row) && number != least)
        s = error_set(e, STATUS_INPUT, "%s: %s (got %.100s); expected %g%s%s", row->name,
                      why_fixed(row), given ? given : "", least, *row->unit ? " " : "", row->unit);
    else if (row->least < row->most && !(number >= least && number <= row->most))
        s = error_set(e, STATUS_INPUT,
                      "%s: the value is out of range (got %.100s); expected %.9g to %.9g%s%s",
                      row->name, given ? given : "", least, row->most,
                      row->unit && *row->unit ? " " : "", row->unit ? row->unit : "");
    else if (row->allowed && find_word(allowed_of(keys, row), '|', json_string_value(value)) < 0)
        s = error_set(e, STATUS_INPUT, "%s: the value is not allowed (got %.100s); expected %s",
                      row->name, given ? given : "", allowed_of(keys, row));
    else if (strcmp(row->name, "name_pattern") == 0 && !is_pattern(json_string_value(value)))
        s = error_set(e, STATUS_INPUT,
                      "%s: the value is not a name of files (got %.100s); expected letters, digits "
                      "and _.-, with $id for the number of the series",
                      row->name, given ? given : "");
    free(given);
    return s;
}

/* --- what follows from a value ------------------------------------------------- */

static void derive(struct eiger_keys *keys)
{
    const double frame_s = keys_real(keys, "frame_time"), count_s = keys_real(keys, "count_time");
    const bool sums = keys_bool(keys, "auto_summation") && frame_s > READABLE_S;
    const unsigned bits = sums ? 32 : 16;
    const double most = ldexp(1, (int)bits) - 2, rate = floor(COUNTER_MOST_HZ * count_s);
    const double pixel_m = keys_real(keys, "x_pixel_size");
    set_uint(keys, "bit_depth_image", bits);
    set_uint(keys, "countrate_correction_count_cutoff", (uint64_t)fmax(1, fmin(most, rate)));
    set_real(keys, "frame_count_time", frame_s / (sums ? ceil(frame_s / READABLE_S) : 1));
    set_real(keys, "frame_period", frame_s);
    keys_set(keys, "detector_translation",
             json_pack("[fff]", keys_real(keys, "beam_center_x") * pixel_m,
                       keys_real(keys, "beam_center_y") * pixel_m,
                       keys_real(keys, "detector_distance")));
}

static void set_energy(struct eiger_keys *keys, double energy_eV)
{
    set_real(keys, "photon_energy", energy_eV);
    set_real(keys, "incident_energy", energy_eV);
    set_real(keys, "wavelength", HC_EV_A / energy_eV);
    set_real(keys, "threshold_energy", fmax(2700, energy_eV / 2));
    set_real(keys, "threshold/1/energy", fmax(2700, energy_eV / 2));
    set_real(keys, "threshold/2/energy", fmin(40000, 1.4 * energy_eV));
}

/* Returns the energy of the K alpha 1 line of an element. */
static double element_energy(const char *element)
{
    const int place = find_word(ELEMENTS, '|', element);
    return place < 0 ? 0 : lines_eV[place];
}

static void follow_energy(struct eiger_keys *keys, const char *name, const json_t *value)
{
    if (strcmp(name, "element") == 0) {
        const double energy_eV = element_energy(json_string_value(value));
        if (energy_eV > 0)
            set_energy(keys, energy_eV);
        return;
    }
    const double number = json_number_value(value);
    keys_set(keys, "element", json_string(""));
    set_energy(keys, strcmp(name, "wavelength") == 0 ? HC_EV_A / number : number);
}

static bool is_one_of(const char *name, const char *names)
{
    return find_word(names, ' ', name) >= 0;
}

#define ENERGY_KEYS "photon_energy incident_energy wavelength element"
#define THRESHOLD_KEYS "threshold_energy threshold/1/energy"

static void reset_row(struct eiger_keys *keys, int row)
{
    json_decref(keys->values[row]);
    keys->values[row] = json_loads(eiger_rows[row].usual, JSON_DECODE_ANY, NULL);
}

/* Sets the number of pixels of images.  The beam stays at its place on the detector, so its centre
 * moves in images that begin at another pixel. */
static void follow_view(struct eiger_keys *keys)
{
    const struct eiger_model *view = keys_view(keys);
    const double fast = keys_real(keys, "x_pixels_in_detector"),
                 slow = keys_real(keys, "y_pixels_in_detector");
    const double x = keys_real(keys, "beam_center_x") + ((double)view->fast - fast) / 2,
                 y = keys_real(keys, "beam_center_y") + ((double)view->slow - slow) / 2;
    set_uint(keys, "x_pixels_in_detector", (uint64_t)view->fast);
    set_uint(keys, "y_pixels_in_detector", (uint64_t)view->slow);
    set_real(keys, "beam_center_x", x);
    set_real(keys, "beam_center_y", y);
    reset_row(keys, find_key("count_time"));
    reset_row(keys, find_key("frame_time"));
}

/* Sets the keys of the detector that follow from a key that was just set. */
static void set_dependent_keys(struct eiger_keys *keys, const char *name, const json_t *value)
{
    const double number = json_number_value(value);
    if (is_one_of(name, ENERGY_KEYS))
        follow_energy(keys, name, value);
    if (is_one_of(name, THRESHOLD_KEYS)) {
        set_real(keys, "threshold_energy", number);
        set_real(keys, "threshold/1/energy", number);
    }
    if (is_one_of(name, "frame_time frame_period")) {
        set_real(keys, "frame_time", number);
        if (keys_real(keys, "count_time") > number - READOUT_S)
            set_real(keys, "count_time", number - READOUT_S);
    }
    if (strcmp(name, "roi_mode") == 0)
        follow_view(keys);
    if (strcmp(name, "count_time") == 0 && keys_real(keys, "frame_time") < number + READOUT_S)
        set_real(keys, "frame_time", fmax(number + READOUT_S, keys_view(keys)->fastest_s));
    derive(keys);
}

void keys_reset_part(struct eiger_keys *keys, const char *sub)
{
    for (int i = 0; i < eiger_row_count; i++)
        if (strcmp(eiger_rows[i].sub, sub) == 0)
            reset_row(keys, i);
}

void keys_reset(struct eiger_keys *keys)
{
    for (int i = 0; i < eiger_row_count; i++)
        reset_row(keys, i);
    keys_set(keys, "description", json_string(keys->model->description));
    set_uint(keys, "x_pixels_in_detector", (uint64_t)keys->model->fast);
    set_uint(keys, "y_pixels_in_detector", (uint64_t)keys->model->slow);
    set_real(keys, "beam_center_x", (double)keys->model->fast / 2);
    set_real(keys, "beam_center_y", (double)keys->model->slow / 2);
    derive(keys);
}

void keys_free(struct eiger_keys *keys)
{
    for (int i = 0; i < eiger_row_count; i++)
        json_decref(keys->values[i]);
}

/* --- lists of changed keys ------------------------------------------------------ */

/* The lists that a real EIGER2 answers.  A list is for the keys in the first text. */
static const char *const changes[][2] = {
    {"count_time frame_time frame_period",
     "bit_depth_image bit_depth_readout count_time countrate_correction_count_cutoff "
     "frame_count_time frame_time"},
    {ENERGY_KEYS,
     "element flatfield incident_energy photon_energy threshold/1/energy threshold/1/flatfield "
     "threshold/2/energy threshold/2/flatfield threshold_energy wavelength"},
    {THRESHOLD_KEYS,
     "flatfield threshold/1/energy threshold/1/flatfield threshold/2/flatfield threshold_energy"},
    {"threshold/2/energy",
     "flatfield threshold/1/flatfield threshold/2/energy threshold/2/flatfield"},
    {"auto_summation",
     "auto_summation bit_depth_image countrate_correction_count_cutoff frame_count_time"},
    {"threshold/1/mode", "threshold/1/mode threshold/difference/mode"},
    {"threshold/2/mode", "threshold/2/mode threshold/difference/mode"},
    {"threshold/difference/mode", "difference_mode"},
    {"roi_mode", "beam_center_x beam_center_y count_time frame_time roi_mode x_pixels_in_detector "
                 "y_pixels_in_detector"},
};

static void list_changed(json_t *changed, const char *sub, const char *name)
{
    for (size_t i = 0; strcmp(sub, "detector") == 0 && i < sizeof changes / sizeof *changes; i++)
        if (is_one_of(name, changes[i][0])) {
            list_append_words(changed, changes[i][1], ' ');
            return;
        }
    list_append_words(changed, name, ' ');
}

enum status keys_put(struct eiger_keys *keys, const char *sub, const char *name,
                     const json_t *value, json_t *changed, struct error *e)
{
    const int row = find_row(sub, "config", name);
    if (row < 0)
        return error_set(e, STATUS_USAGE, "error during request: path error: unknown path: \"%s\"",
                         name);
    const enum status s = check_value(keys, &eiger_rows[row], value, e);
    if (s)
        return s;
    json_t *stored = strcmp(eiger_rows[row].type, "float") == 0
                         ? json_real(json_number_value(value))
                     : strcmp(eiger_rows[row].type, "uint") == 0
                         ? json_integer((json_int_t)json_number_value(value))
                         : json_deep_copy(value);
    json_decref(keys->values[row]);
    keys->values[row] = stored;
    if (strcmp(sub, "detector") == 0)
        set_dependent_keys(keys, name, stored);
    list_changed(changed, sub, name);
    return s;
}

char *keys_settings(const struct eiger_keys *keys)
{
    static const char *const skipped =
        "counting_mode extg_mode fast_arm incident_energy incident_particle_type instrument_name "
        "mask_to_zero nexpi ntriggers_skipped sample_name source_name total_flux "
        "trigger_start_delay "
        "auto_sum_strict chi_axis detector_orientation detector_orientation_angle "
        "detector_orientation_axis kappa_axis omega_axis phi_axis test_image_mode "
        "test_image_value transformation_order two_theta_axis";
    json_t *object = json_object();
    for (int i = 0; i < eiger_row_count; i++) {
        if (strcmp(eiger_rows[i].sub, "detector") != 0 ||
            strcmp(eiger_rows[i].task, "config") != 0 || strchr(eiger_rows[i].name, '/') ||
            is_one_of(eiger_rows[i].name, skipped))
            continue;
        if (strcmp(eiger_rows[i].name, "roi_mode") == 0 && keys_view(keys) == keys->model)
            (void)json_object_set_new(object, "roi_mode", json_string(""));
        else
            (void)json_object_set(object, eiger_rows[i].name, keys->values[i]);
    }
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(object);
    return text;
}
