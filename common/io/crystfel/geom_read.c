/*
 * Reads geometry files of CrystFEL.  Every line is a setting of the whole file, of a panel or of a
 * bad region.  A panel setting without the name of a panel is the default of all panels that are
 * named later.  After the last line, geom_make_panels checks the settings and makes panels and
 * masks.
 */
#include "io/crystfel/geom_settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/opt.h"
#include "base/text.h"
#include "base/units.h"

enum { PANELS_MAX = 1000 };

/* --- values -------------------------------------------------------------------- */

/* Sets the error "KEY = 'VALUE'; expected MUST" for the current line.  Returns STATUS_INPUT. */
static enum status bad_value(struct geom_reader *r, const char *key, const char *value,
                             const char *must)
{
    return text_error(&r->text, r->e, "%.40s = '%.60s'; expected %s", key, value, must);
}

/* Reads a number from min to max.  STATUS_INPUT: the value is anything else. */
static enum status read_real(struct geom_reader *r, const char *key, const char *value, double min,
                             double max, double *out)
{
    if (parse_real(value, min, max, key, out, NULL) == STATUS_OK)
        return STATUS_OK;
    return text_error(&r->text, r->e, "%.40s = '%.60s'; expected a number from %g to %g", key,
                      value, min, max);
}

/* Reads a whole number from 0 to max.  STATUS_INPUT: the value is anything else. */
static enum status read_whole(struct geom_reader *r, const char *key, const char *value,
                              int64_t max, int64_t *out)
{
    double number = 0;
    if (parse_real(value, 0, (double)max, key, &number, NULL) || number != floor(number))
        return text_error(&r->text, r->e,
                          "%.40s = '%.60s'; expected a whole number from 0 to %" PRId64, key, value,
                          max);
    *out = (int64_t)number;
    return STATUS_OK;
}

static bool is_axis(char c)
{
    return c >= 'x' && c <= 'z';
}

/* Reads a vector that is written as a sum of x, y and z with factors and signs.  Its length must
 * be 1 within 1%; `out` gets the unit vector.  STATUS_INPUT: the value is anything else. */
static enum status read_vector(struct geom_reader *r, const char *key, const char *value,
                               double out[3])
{
    static const char must[] = "a direction like '+0.999x -0.044y', of length 1";
    double v[3] = {0, 0, 0};
    const char *at = value;
    while (*(at += strspn(at, " \t"))) {
        const double sign = *at == '-' ? -1.0 : 1.0;
        at += *at == '-' || *at == '+';
        at += strspn(at, " \t");
        char *end = NULL;
        const double factor = is_axis(*at) ? 1.0 : strtod(at, &end);
        if (end == at || !isfinite(factor))
            return bad_value(r, key, value, must);
        at = end ? end + strspn(end, " \t") : at;
        if (!is_axis(*at))
            return bad_value(r, key, value, must);
        v[*at++ - 'x'] += sign * factor;
    }
    const double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    if (!(fabs(length - 1.0) < 0.01))
        return bad_value(r, key, value, must);
    for (int i = 0; i < 3; i++)
        out[i] = v[i] / length;
    return STATUS_OK;
}

/* Reads a number followed by one of the `units`, whose sizes are `sizes`.  Returns the number in
 * the unit of size 1.  Sets *known to false, and returns 0, if the value is anything else, for
 * example the location of the value in data files. */
static double read_quantity(const char *value, const char *const units[], const double sizes[],
                            bool *known)
{
    const char *end;
    const double number = number_real(value, &end);
    const char *unit = end + strspn(end, " \t");
    *known = false;
    if (memchr(value, 'x', (size_t)(end - value)) || memchr(value, 'X', (size_t)(end - value)))
        return 0;  // hexadecimal
    for (size_t i = 0; end != value && isfinite(number) && units[i]; i++)
        if (strcmp(unit, units[i]) == 0) {
            *known = true;
            return number * sizes[i];
        }
    return 0;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* --- settings ------------------------------------------------------------------ */

/* Adds a setting without effect to the list geom->unused, unless it is there already.  If the
 * list is full, it ends in "...". */
static void unused(struct geom_reader *r, const char *key)
{
    char *list = r->geom->unused;
    const size_t length = strlen(list), more = strlen(key);
    for (const char *at = list; (at = strstr(at, key)); at += more)
        if ((at == list || at[-1] == ' ') && (at[more] == ',' || !at[more]))
            return;
    if (length + more + 8 < sizeof r->geom->unused)
        (void)snprintf(list + length, sizeof r->geom->unused - length, "%s%s", length ? ", " : "",
                       key);
    else if (length < 4 || strcmp(list + length - 3, "...") != 0)
        (void)snprintf(list + length, sizeof r->geom->unused - length, ", ...");
}

static enum status set_clen(struct geom_reader *r, struct geom_entry *p, const char *value)
{
    static const char *const units[] = {"", "m", "mm", NULL};
    static const double sizes[] = {1, 1, 1e-3};
    bool known;
    p->clen_m = read_quantity(value, units, sizes, &known);
    p->has_clen = known;
    if (known && !(p->clen_m >= 1e-6 && p->clen_m <= 1e4))
        return bad_value(r, "clen", value, "a value from 1e-6 to 10000 m");
    return STATUS_OK;
}

/* Stores which array has the pixels of a panel: the setting "data", or "dim" with the number of
 * a dimension.  Only a hash of the value is stored. */
static enum status set_place(struct geom_reader *r, struct geom_entry *p, const char *key,
                             const char *value)
{
    const uint64_t sum = hash_finish(hash_bytes(HASH_START, value, strlen(value)));
    if (*key != 'd' || key[1] == 'a') {
        p->data = sum;
        return STATUS_OK;
    }
    if (!(key[3] >= '0' && key[3] <= '9') || key[4])
        return text_error(&r->text, r->e, "'%.40s' is not a dimension; expected dim0 to dim%d", key,
                          GEOM_DIMS - 1);
    p->dims[key[3] - '0'] = sum;
    return STATUS_OK;
}

/* Stores a setting of a panel.  Sets *mine to false if panels have no such setting. */
static enum status set_panel(struct geom_reader *r, struct geom_entry *p, const char *key,
                             const char *value, bool *mine)
{
    static const char *const spans[] = {"min_fs", "max_fs", "min_ss", "max_ss"};
    *mine = true;
    for (int i = 0; i < 4; i++)
        if (strcmp(key, spans[i]) == 0) {
            p->given[i] = true;
            return read_whole(r, key, value, INT32_MAX, &p->span[i]);
        }
    if (strcmp(key, "corner_x") == 0 || strcmp(key, "corner_y") == 0) {
        *(key[7] == 'x' ? &p->has_x : &p->has_y) = true;
        return read_real(r, key, value, -1e9, 1e9, &p->corner_px[key[7] - 'x']);
    }
    if (strcmp(key, "fs") == 0 || strcmp(key, "ss") == 0)
        return read_vector(r, key, value, p->axes[*key == 's']);
    if (strcmp(key, "res") == 0) {
        p->has_res = true;
        return read_real(r, key, value, 1, 1e7, &p->res_1_m);
    }
    if (strcmp(key, "clen") == 0)
        return set_clen(r, p, value);
    if (strcmp(key, "coffset") == 0)
        return read_real(r, key, value, -1e4, 1e4, &p->coffset_m);
    if (strcmp(key, "adu_per_photon") == 0)
        return read_real(r, key, value, 1e-9, 1e9, &p->adu_per_photon);
    if (strcmp(key, "adu_per_eV") == 0)
        return read_real(r, key, value, 1e-15, 1e9, &p->adu_per_eV);
    if (strcmp(key, "max_adu") == 0)
        return read_real(r, key, value, 0, 1e12, &p->max_adu);
    if (strcmp(key, "mask_edge_pixels") == 0)
        return read_whole(r, key, value, GEOM_EDGE_MAX, &p->edge);
    *mine = begins(key, "dim") || strcmp(key, "data") == 0;
    return *mine ? set_place(r, p, key, value) : STATUS_OK;
}

/* Returns the bit of a setting in geom_entry.own.  Returns 0 if the setting has none. */
static uint32_t bit_of(const char *key)
{
    static const char *const keys[] = {"min_fs",   "max_fs",
                                       "min_ss",   "max_ss",
                                       "corner_x", "corner_y",
                                       "fs",       "ss",
                                       "res",      "clen",
                                       "coffset",  "adu_per_eV",
                                       "data",     "mask_edge_pixels",
                                       "dim0",     "dim1",
                                       "max_adu",  "adu_per_photon",
                                       "dim2",     "dim3"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return UINT32_C(1) << i;
    return 0;
}

/* Stores a setting of a panel that the line names.  STATUS_INPUT: an earlier line gives the
 * panel another value. */
static enum status set_own(struct geom_reader *r, struct geom_entry *p, const char *key,
                           const char *value, bool *mine)
{
    struct geom_entry before;
    memcpy(&before, p, sizeof before);
    const enum status s = set_panel(r, p, key, value, mine);
    const uint32_t bit = bit_of(key);
    if (!s && (before.own & bit) && memcmp(&before, p, sizeof before) != 0)
        return text_error(&r->text, r->e, "%s/%.40s = '%.40s' contradicts an earlier line", p->name,
                          key, value);
    p->own |= bit;
    return s;
}

/* Stores the wavelength.  If two lines give it, the second must agree with the first. */
static enum status set_wavelength(struct geom_reader *r, const char *key, const char *value,
                                  double wavelength_m)
{
    double *known_m = &r->geom->wavelength_m;
    if (*known_m > 0 && !(fabs(wavelength_m / *known_m - 1) < 1e-4))
        return text_error(&r->text, r->e,
                          "%.40s = '%.40s' is %.6g A, which contradicts the %.6g A of an earlier "
                          "line",
                          key, value, m_to_angstrom(wavelength_m), m_to_angstrom(*known_m));
    *known_m = wavelength_m;
    return STATUS_OK;
}

static enum status set_beam(struct geom_reader *r, const char *key, const char *value)
{
    static const char *const energies[] = {"", "eV", "keV", "MeV", NULL};
    static const double eV[] = {1, 1, 1e3, 1e6};
    static const char *const voltages[] = {"V", "kV", NULL};
    static const char *const lengths[] = {"A", "m", NULL};
    static const double m[] = {1e-10, 1};
    const bool energy = *key == 'p', voltage = *key == 'e';
    bool known;
    const double x = energy    ? read_quantity(value, energies, eV, &known)
                     : voltage ? read_quantity(value, voltages, eV + 1, &known)
                               : read_quantity(value, lengths, m, &known);
    r->geom->has_electrons |= voltage;
    if (!known) {
        (void)snprintf(r->geom->wavelength_unread, sizeof r->geom->wavelength_unread,
                       "%.100s:%ld: %s = '%.60s' is not a number with a unit, as in '%s'",
                       r->text.path, r->text.line, key, value,
                       energy    ? "9500 eV"
                       : voltage ? "200 kV"
                                 : "1.3 A");
        return STATUS_OK;
    }
    if (voltage)
        return x >= 1 && x <= 1e9 ? set_wavelength(r, key, value, volt_to_m(x))
                                  : bad_value(r, key, value, "a value from 1 to 1e9 V");
    if (energy ? !(x >= 1 && x <= 1e9) : !(x >= 1e-15 && x <= 1e-6))
        return bad_value(r, key, value,
                         energy ? "a value from 1 to 1e9 eV" : "a value from 1e-5 to 1e4 A");
    return set_wavelength(r, key, value, energy ? ev_to_m(x) : x);
}

/* Stores the shift of all panels along x or y.  A number without a unit is in m.  If the value
 * is not a quantity, the setting is listed as unused. */
static enum status set_shift(struct geom_reader *r, const char *key, const char *value)
{
    static const char *const units[] = {"", "m", "mm", NULL};
    static const double sizes[] = {1, 1, 1e-3};
    bool known;
    double *to_m = &r->shift_m[key[strlen("detector_shift_")] == 'y'];
    *to_m = read_quantity(value, units, sizes, &known);
    if (!known)
        unused(r, key);
    return known && !(fabs(*to_m) <= 1e3) ? bad_value(r, key, value, "a value from -1000 to 1000 m")
                                          : STATUS_OK;
}

/* Notes a default of panels that follows a panel, where it has no effect unless another panel
 * follows.  Does nothing for clen and adu_per_..., which are also used for the panels before
 * them. */
static void note_late(struct geom_reader *r, const char *key)
{
    if (!*r->late && r->npanels && strcmp(key, "clen") != 0 && !begins(key, "adu_per_"))
        (void)snprintf(r->late, sizeof r->late, "%s", key);
}

/* Stores a setting without the name of a panel: one of the whole file, or a default of panels. */
static enum status set_top(struct geom_reader *r, const char *key, const char *value)
{
    bool mine;
    if (strcmp(key, "detector_shift_x") == 0 || strcmp(key, "detector_shift_y") == 0)
        return set_shift(r, key, value);
    const enum status s = set_panel(r, &r->defaults, key, value, &mine);
    if (mine)
        note_late(r, key);
    if (!s && !mine && (begins(key, "rigid_group_") || begins(key, "group_")))
        geom_group_add(r->geom, key, value);
    if (s || mine || begins(key, "rigid_group") || begins(key, "group") || begins(key, "peak_"))
        return s;
    if (strcmp(key, "photon_energy") == 0 || strcmp(key, "electron_voltage") == 0 ||
        strcmp(key, "wavelength") == 0)
        return set_beam(r, key, value);
    unused(r, key);
    return STATUS_OK;
}

/* Stores limit number i of a bad region.  STATUS_INPUT: an earlier line gives another value. */
static enum status set_limit(struct geom_reader *r, struct geom_bad *b, int i, const char *key,
                             const char *value)
{
    const double before = b->span[i];
    const enum status s = read_real(r, key, value, -1e9, 1e9, &b->span[i]);
    if (!s && (b->given & 1U << i) && b->span[i] != before)
        return text_error(&r->text, r->e, "%s/%.40s = '%.40s' contradicts an earlier line", b->name,
                          key, value);
    b->given |= 1U << i;
    return s;
}

static enum status set_bad(struct geom_reader *r, struct geom_bad *b, const char *key,
                           const char *value)
{
    static const char *const keys[2][4] = {{"min_fs", "max_fs", "min_ss", "max_ss"},
                                           {"min_x", "max_x", "min_y", "max_y"}};
    if (strcmp(key, "panel") == 0) {
        if (strlen(value) >= GEOM_NAME_SIZE)
            return bad_value(r, key, value, "a name of at most 63 bytes");
        (void)snprintf(b->panel, sizeof b->panel, "%s", value);
        return STATUS_OK;
    }
    for (int lab = 0; lab < 2; lab++)
        for (int i = 0; i < 4; i++)
            if (strcmp(key, keys[lab][i]) == 0) {
                *(lab ? &b->has_lab : &b->has_pixels) = true;
                if (b->has_lab && b->has_pixels)
                    return text_error(
                        &r->text, r->e,
                        "bad region %s has limits in both fs, ss and x, y; expected one pair",
                        b->name);
                return set_limit(r, b, i, key, value);
            }
    unused(r, key);
    return STATUS_OK;
}

static enum status find_panel(struct geom_reader *r, const char *name, struct geom_entry **panel)
{
    for (size_t i = 0; i < r->npanels; i++)
        if (strcmp(r->panels[i].name, name) == 0) {
            *panel = &r->panels[i];
            return STATUS_OK;
        }
    if (r->npanels == PANELS_MAX)
        return text_error(&r->text, r->e, "too many panels; expected at most %d", PANELS_MAX);
    r->panels = mem_grow(r->panels, r->npanels, 1, sizeof *r->panels, &r->panels_room);
    *panel = &r->panels[r->npanels++];
    *r->late = 0;
    memcpy(*panel, &r->defaults, sizeof **panel);
    (void)snprintf((*panel)->name, GEOM_NAME_SIZE, "%s", name);
    return STATUS_OK;
}

static enum status find_bad(struct geom_reader *r, const char *name, struct geom_bad **region)
{
    for (size_t i = r->nbad; i-- > 0;)  // most often it is the last one
        if (strcmp(r->bad[i].name, name) == 0) {
            *region = &r->bad[i];
            return STATUS_OK;
        }
    if (r->nbad == GEOM_BAD_MAX)
        return text_error(&r->text, r->e, "too many bad regions; expected at most %d",
                          GEOM_BAD_MAX);
    r->bad = mem_grow(r->bad, r->nbad, 1, sizeof *r->bad, &r->bad_room);
    *region = &r->bad[r->nbad++];
    **region = (struct geom_bad){.span = {-1e9, 1e9, -1e9, 1e9}};
    (void)snprintf((*region)->name, GEOM_NAME_SIZE, "%s", name);
    return STATUS_OK;
}

/* Stores the setting "name/key" of a panel or a bad region.  Names of bad regions begin with
 * "bad". */
static enum status set_member(struct geom_reader *r, const char *name, const char *key,
                              const char *value)
{
    if (!*name || strlen(name) >= GEOM_NAME_SIZE)
        return text_error(&r->text, r->e, "'%.70s' is not a panel name; expected 1 to 63 bytes",
                          name);
    if (begins(name, "bad")) {
        struct geom_bad *region = NULL;
        const enum status s = find_bad(r, name, &region);
        return s ? s : set_bad(r, region, key, value);
    }
    struct geom_entry *panel = NULL;
    bool mine;
    enum status s = find_panel(r, name, &panel);
    if (!s)
        s = set_own(r, panel, key, value, &mine);
    if (!s && !mine)
        unused(r, key);
    return s;
}

static enum status read_line(struct geom_reader *r, char *line)
{
    char *equals = strchr(line, '=');
    if (!equals)
        return text_error(&r->text, r->e, "'%.60s' has no '='; expected 'name = value'", line);
    *equals = 0;
    char *key = text_trim(line), *value = text_trim(equals + 1), *slash = strrchr(key, '/');
    char *member = slash ? text_trim(slash + 1) : key;
    if (!*member)
        return text_error(&r->text, r->e, "'%.40s = %.40s' has no name; expected 'name = value'",
                          key, value);
    if (!slash)
        return set_top(r, key, value);
    *slash = 0;
    return set_member(r, text_trim(key), member, value);
}

/* --- the file ------------------------------------------------------------------- */

/* Reads the whole text, makes the panels, and frees the members of *r.  `s` is the status of
 * opening the text: after an error, only frees.  Returns the status. */
static enum status read_text(struct geom_reader *r, enum status s)
{
    while (!s && !(s = text_line(&r->text, "\r", ';', r->e)) && r->text.nwords) {
        char *line = text_trim(r->text.word[0]);
        if (*line)
            s = read_line(r, line);
    }
    if (!s)
        s = geom_make_panels(r);
    text_close(&r->text);
    mem_free(r->panels);
    mem_free(r->bad);
    return s;
}

enum status geom_read(const char *path, double distance_m, struct geom *g, struct error *e)
{
    *g = (struct geom){.max_adu = INFINITY};
    struct geom_reader r = {.geom = g, .defaults.max_adu = INFINITY, .clen_m = distance_m, .e = e};
    return read_text(&r, text_open(&r.text, path, FILETYPE_GEOM, TEXT_BYTES_MAX, e));
}

enum status geom_parse(const char *path, long line, const char *bytes, size_t length,
                       double distance_m, struct geom *g, struct error *e)
{
    *g = (struct geom){.max_adu = INFINITY};
    struct geom_reader r = {.geom = g, .defaults.max_adu = INFINITY, .clen_m = distance_m, .e = e};
    const enum status s = text_copy(&r.text, path, bytes, length, e);
    r.text.line = line - 1;
    return read_text(&r, s);
}

double geom_gain(const struct geom *g, double wavelength_m)
{
    if (g->adu_per_photon > 0)
        return g->adu_per_photon;
    return g->adu_per_eV > 0 ? g->adu_per_eV * m_to_ev(wavelength_m) : 1.0;
}

void geom_free(struct geom *g)
{
    for (size_t i = 0; i < g->npanels; i++)
        mem_free(g->panels[i].mask);
    mem_free(g->panels);
    for (size_t i = 0; i < g->ngroups; i++)
        mem_free(g->groups[i].names);
    mem_free(g->groups);
    *g = (struct geom){0};
}
