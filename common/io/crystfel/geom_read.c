/*
 * Reads geometry files of CrystFEL.  Every line is a setting of the whole file, of a panel or of a
 * bad region.  A panel setting without the name of a panel is the default of all panels that are
 * named later.  After the last line, make_panels checks the settings and makes panels and masks.
 */
#include "io/crystfel/geom.h"

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
#include "base/vec.h"
#include "io/text/textfile.h"

enum { PANELS_MAX = 1000, EDGE_MAX = 65536, DIMS = 10 };

/* The settings of a panel in the file. */
struct geom_entry {
    char name[GEOM_NAME_SIZE];
    bool given[4];  // min_fs, max_fs, min_ss, max_ss
    int64_t span[4];
    bool has_x, has_y, has_res, has_clen;
    double corner_px[2], res_1_m, clen_m, coffset_m;
    double axes[2][3];                  // fs, ss; all 0: not given
    int64_t edge;                       // mask_edge_pixels
    double max_adu;                     // INFINITY: not given
    double adu_per_photon, adu_per_eV;  // 0: not given
    uint64_t data, dims[DIMS];          // hashes of `data` and `dimN`: which array of which file
    uint32_t own;  // bits of the settings that the file gives for this panel by name
};

/* A bad region. */
struct geom_bad {
    char name[GEOM_NAME_SIZE], panel[GEOM_NAME_SIZE];
    bool has_pixels, has_lab;
    unsigned given;  // limits, as bits in the order of `span`
    double span[4];  // min and max along fs, then ss, as in the data; or x, then y, in pixels
};

struct geom_reader {
    struct text_file text;
    struct geom *geom;
    struct geom_entry defaults;
    struct geom_entry *panels;  // owned
    struct geom_bad *bad;       // owned
    size_t npanels, nbad, panels_room, bad_room;
    double clen_m;      // used instead of the file's clen; 0: use the file's
    double shift_m[2];  // of all panels along x and y
    char late[32];      // first default of panels after the last panel, where it has no effect
    struct error *e;
};

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
                          DIMS - 1);
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
        return read_whole(r, key, value, EDGE_MAX, &p->edge);
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

/* --- panels and masks ---------------------------------------------------------- */

static const double PIXELS_MAX = 1 << 28;

static enum status refuse_panel(const struct geom_reader *r, const struct geom_entry *p,
                                const char *what)
{
    return error_set(r->e, STATUS_INPUT, "%s: panel %s %s", r->text.path, p->name, what);
}

static enum status check_panel(const struct geom_reader *r, const struct geom_entry *p)
{
    static const char *const names[] = {"has no min_fs", "has no max_fs", "has no min_ss",
                                        "has no max_ss"};
    for (int i = 0; i < 4; i++)
        if (!p->given[i])
            return refuse_panel(r, p, names[i]);
    for (int i = 0; i < 4; i += 2)
        if (p->span[i] > p->span[i + 1] || p->span[i + 1] - p->span[i] >= EDGE_MAX)
            return refuse_panel(r, p, "is empty or has more than 65536 pixels along an edge");
    if (!p->has_x || !p->has_y)
        return refuse_panel(r, p, "has no corner_x or no corner_y");
    if (!p->has_res)
        return refuse_panel(r, p, "has no res");
    const double *f = p->axes[0], *s = p->axes[1];
    if (fabs(f[0] * s[0] + f[1] * s[1] + f[2] * s[2]) > 0.5 ||
        (f[0] == 0 && f[1] == 0 && f[2] == 0) || (s[0] == 0 && s[1] == 0 && s[2] == 0))
        return refuse_panel(r, p, "has no fs and ss, or they are not about at right angles");
    if (!p->has_clen && !r->defaults.has_clen && !(r->clen_m > 0))
        return refuse_panel(r, p, "has no clen that is a number with a unit: give the distance");
    return STATUS_OK;
}

/* Returns the panel with a name.  NULL: there is none. */
static const struct geom_entry *find_named(const struct geom_reader *r, const char *name)
{
    for (size_t i = 0; i < r->npanels; i++)
        if (strcmp(r->panels[i].name, name) == 0)
            return &r->panels[i];
    return NULL;
}

static enum status check_bad(const struct geom_reader *r, const struct geom_bad *b)
{
    const char *what = NULL;
    if (!b->has_pixels && !b->has_lab)
        what =
            "has no limits; expected min_fs, max_fs, min_ss, max_ss or min_x, max_x, min_y, max_y";
    else if (b->span[0] > b->span[1] || b->span[2] > b->span[3])
        what = "ends before it begins";
    else if (*b->panel && !find_named(r, b->panel))
        return error_set(r->e, STATUS_INPUT, "%s: bad region %s: the file has no panel %s",
                         r->text.path, b->name, b->panel);
    else if (b->has_pixels && b->given != 15)
        what = "needs min_fs, max_fs, min_ss and max_ss";  // CrystFEL uses 0 for missing limits
    return what ? error_set(r->e, STATUS_INPUT, "%s: bad region %s %s", r->text.path, b->name, what)
                : STATUS_OK;
}

/* Clears those of the n pixels of a row that are inside a bad region.  Both coordinates of a pixel
 * must be in the region.  They are `at` for the first pixel and grow by `step` from pixel to pixel.
 * A pixel on the border is inside if the region is in data coordinates, and outside if it is in the
 * laboratory frame. */
static void clear_region(const struct geom_bad *b, const double at[2], const double step[2],
                         int64_t n, uint8_t *row)
{
    const bool open = b->has_lab;
    double first = 0, last = (double)(n - 1);
    for (int k = 0; k < 2; k++) {
        const double low = b->span[2 * k], high = b->span[2 * k + 1];
        if (step[k] == 0 && (open ? at[k] <= low || at[k] >= high : at[k] < low || at[k] > high))
            return;
        if (step[k] == 0)
            continue;
        const double from = ((step[k] > 0 ? low : high) - at[k]) / step[k];
        const double to = ((step[k] > 0 ? high : low) - at[k]) / step[k];
        first = fmax(first, open ? floor(from) + 1 : ceil(from));
        last = fmin(last, open ? ceil(to) - 1 : floor(to));
    }
    if (first <= last)
        memset(row + (int64_t)first, 0, (size_t)(last - first) + 1);
}

/* Fills row s of the mask of a panel with n pixels along fast: bad regions and edges.  In the
 * laboratory frame, the position of a pixel is that of its corner, as in CrystFEL. */
static void mask_row(const struct geom_reader *r, const struct geom_entry *p, int64_t s, int64_t n,
                     uint8_t *row)
{
    const int64_t edge = p->edge, rows = p->span[3] - p->span[2] + 1;
    const bool inside = s >= edge && s < rows - edge && n > 2 * edge;
    memset(row, 0, (size_t)n);
    if (inside)
        memset(row + edge, 1, (size_t)(n - 2 * edge));
    for (size_t i = 0; i < r->nbad && inside; i++) {
        const struct geom_bad *b = &r->bad[i];
        const double data[2] = {(double)p->span[0], (double)(s + p->span[2])};
        double lab[2];
        for (int k = 0; k < 2; k++)
            lab[k] = p->corner_px[k] + (double)s * p->axes[1][k];
        if (!*b->panel || strcmp(b->panel, p->name) == 0) {
            if (b->has_pixels)
                clear_region(b, data, (const double[]){1, 0}, n, row);
            if (b->has_lab)
                clear_region(b, lab, p->axes[0], n, row);
        }
    }
}

static enum status make_mask(const struct geom_reader *r, const struct geom_entry *p,
                             struct geom_panel *out)
{
    bool any = p->edge > 0;
    for (size_t i = 0; i < r->nbad && !any; i++)
        any = !*r->bad[i].panel || strcmp(r->bad[i].panel, p->name) == 0;
    if (!any)
        return STATUS_OK;
    out->mask = mem_try_array((size_t)out->fast_pixels, (size_t)out->slow_pixels);
    if (!out->mask)
        return error_memory(r->e, "the mask of a panel");
    for (int64_t s = 0; s < out->slow_pixels; s++)
        mask_row(r, p, s, out->fast_pixels, out->mask + s * out->fast_pixels);
    return STATUS_OK;
}

static enum status make_panel(const struct geom_reader *r, const struct geom_entry *p,
                              struct geom_panel *out, double *pixels)
{
    const enum status s = check_panel(r, p);
    if (s)
        return s;
    memcpy(out->name, p->name, sizeof out->name);
    out->first[0] = p->span[0];
    out->first[1] = p->span[2];
    out->fast_pixels = p->span[1] - p->span[0] + 1;
    out->slow_pixels = p->span[3] - p->span[2] + 1;
    *pixels += (double)out->fast_pixels * (double)out->slow_pixels;
    if (*pixels > PIXELS_MAX)
        return error_set(r->e, STATUS_INPUT, "%s: the panels have more than %.0f pixels",
                         r->text.path, PIXELS_MAX);
    out->pixel_m = 1.0 / p->res_1_m;
    memcpy(out->fast, p->axes[0], sizeof out->fast);
    memcpy(out->slow, p->axes[1], sizeof out->slow);
    for (int i = 0; i < 2; i++)
        out->corner_m[i] = p->corner_px[i] * out->pixel_m + r->shift_m[i];
    out->corner_m[2] = p->coffset_m + (r->clen_m > 0 ? r->clen_m
                                       : p->has_clen ? p->clen_m
                                                     : r->defaults.clen_m);
    return make_mask(r, p, out);
}

/* --- comparison of panels ------------------------------------------------------------- */

/* Returns true if two panels share pixels of the same array. */
static bool shares_data(const struct geom_entry *a, const struct geom_entry *b)
{
    return a->data == b->data && memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           a->span[0] <= b->span[1] && b->span[0] <= a->span[1] && a->span[2] <= b->span[3] &&
           b->span[2] <= a->span[3];
}

/* Returns true if the line from the sample through `point_m` meets a panel. */
static bool meets(const struct geom_panel *p, const double point_m[3])
{
    double normal[3], to[3], fast[3], slow[3];
    vec_cross(p->fast, p->slow, normal);
    const double ahead = vec_dot(normal, point_m), away = vec_dot(normal, p->corner_m);
    if (ahead == 0 || !(away / ahead > 0))
        return false;
    for (int k = 0; k < 3; k++)
        to[k] = point_m[k] * away / ahead - p->corner_m[k];
    /* fs and ss need not be exactly at right angles. */
    vec_cross(p->slow, normal, fast);
    vec_cross(normal, p->fast, slow);
    const double f = vec_dot(to, fast) / vec_dot(p->fast, fast) / p->pixel_m;
    const double s = vec_dot(to, slow) / vec_dot(p->slow, slow) / p->pixel_m;
    return f > 0 && f < (double)p->fast_pixels && s > 0 && s < (double)p->slow_pixels;
}

/* Returns true if panel a and the middle of panel b are on one line from the sample.  Only 3 x 3
 * points in the middle half of b are tested, because panels of a refined geometry may overlap by
 * about a pixel at their edges. */
static bool hides(const struct geom_panel *a, const struct geom_panel *b)
{
    for (int i = 0; i < 9; i++) {
        const double f = 0.25 * (1 + i % 3) * (double)b->fast_pixels * b->pixel_m;
        const double s = 0.25 * (1 + i / 3) * (double)b->slow_pixels * b->pixel_m;
        double point_m[3];
        for (int k = 0; k < 3; k++)
            point_m[k] = b->corner_m[k] + f * b->fast[k] + s * b->slow[k];
        if (meets(a, point_m))
            return true;
    }
    return false;
}

static enum status compare_panels(struct geom_reader *r)
{
    struct geom *g = r->geom;
    for (size_t i = 1; i < r->npanels; i++)
        for (size_t k = 0; k < i; k++) {
            const struct geom_entry *a = &r->panels[k], *b = &r->panels[i];
            if (shares_data(a, b))
                return error_set(r->e, STATUS_INPUT,
                                 "%s: panels %s and %s use the same pixels of the data: their "
                                 "ranges min_fs to max_ss overlap",
                                 r->text.path, a->name, b->name);
            if (!*g->hidden &&
                (hides(&g->panels[k], &g->panels[i]) || hides(&g->panels[i], &g->panels[k])))
                (void)snprintf(g->hidden, sizeof g->hidden, "%s and %s", a->name, b->name);
        }
    return STATUS_OK;
}

/* Sets the gain, of which only one is used for all panels: that of panel 0 or, if panel 0 has
 * none, the default at the end of the file.  Also notes whether the gains of the panels differ. */
static void take_gain(struct geom_reader *r)
{
    const struct geom_entry *first = r->panels;
    struct geom *g = r->geom;
    const bool said = first->adu_per_photon > 0 || first->adu_per_eV > 0;
    g->adu_per_photon = said ? first->adu_per_photon : r->defaults.adu_per_photon;
    g->adu_per_eV = said ? first->adu_per_eV : r->defaults.adu_per_eV;
    for (size_t i = 1; i < r->npanels; i++)
        if (r->panels[i].adu_per_photon != first->adu_per_photon ||
            r->panels[i].adu_per_eV != first->adu_per_eV)
            g->gains_differ = true;
}

/* Makes the panels of r->geom, with masks, from the settings that were read.  STATUS_INPUT: a panel
 * does not have all settings. */
static enum status make_panels(struct geom_reader *r)
{
    struct geom *g = r->geom;
    if (!r->npanels)
        return error_set(r->e, STATUS_INPUT,
                         "%s: no panel found; expected lines such as p0/min_fs = 0", r->text.path);
    g->panels = mem_array(r->npanels, sizeof *g->panels);
    g->npanels = r->npanels;
    enum status s = STATUS_OK;
    double pixels = 0;
    for (size_t i = 0; i < r->nbad && !s; i++)
        s = check_bad(r, &r->bad[i]);
    for (size_t i = 0; i < r->npanels && !s; i++) {
        s = make_panel(r, &r->panels[i], &g->panels[i], &pixels);
        g->max_adu = fmin(g->max_adu, r->panels[i].max_adu);
    }
    if (!s && *r->late)
        s = error_set(r->e, STATUS_INPUT,
                      "%s: '%s' follows all panels and has no effect there. Move that line before "
                      "the first panel",
                      r->text.path, r->late);
    take_gain(r);
    return s ? s : compare_panels(r);
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
        s = make_panels(r);
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
