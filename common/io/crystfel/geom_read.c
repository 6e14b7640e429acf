/*
 * Reading: every line is a setting of the whole file, of a panel or of a bad region.  Settings
 * of a panel that stand without its name hold for the panels that are named later.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/units.h"
#include "io/crystfel/geom_reader.h"

enum { PANELS_MAX = 1000 };

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* --- settings ------------------------------------------------------------------ */

/* Remembers a setting without effect, once. */
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
    p->clen_m = geom_quantity(value, units, sizes, &known);
    p->has_clen = known;
    if (known && !(p->clen_m >= 1e-6 && p->clen_m <= 1e4))
        return geom_bad_value(r, "clen", value, "from 1e-6 to 10000 m");
    return STATUS_OK;
}

/* Which array holds the pixels of a panel: "data", or "dim" and the number of a dimension. */
static enum status set_place(struct geom_reader *r, struct geom_entry *p, const char *key,
                             const char *value)
{
    const uint64_t sum = hash_finish(hash_bytes(HASH_START, value, strlen(value)));
    if (*key != 'd' || key[1] == 'a') {
        p->data = sum;
        return STATUS_OK;
    }
    if (!(key[3] >= '0' && key[3] <= '9') || key[4])
        return text_error(&r->text, r->e, "'%.40s' is not a dimension, must be dim0 to dim%d", key,
                          GEOM_DIMS - 1);
    p->dims[key[3] - '0'] = sum;
    return STATUS_OK;
}

/* A setting that panels have; false in *mine for others. */
static enum status set_panel(struct geom_reader *r, struct geom_entry *p, const char *key,
                             const char *value, bool *mine)
{
    static const char *const spans[] = {"min_fs", "max_fs", "min_ss", "max_ss"};
    *mine = true;
    for (int i = 0; i < 4; i++)
        if (strcmp(key, spans[i]) == 0) {
            p->given[i] = true;
            return geom_whole(r, key, value, INT32_MAX, &p->span[i]);
        }
    if (strcmp(key, "corner_x") == 0 || strcmp(key, "corner_y") == 0) {
        *(key[7] == 'x' ? &p->has_x : &p->has_y) = true;
        return geom_real(r, key, value, -1e9, 1e9, &p->corner_px[key[7] - 'x']);
    }
    if (strcmp(key, "fs") == 0 || strcmp(key, "ss") == 0)
        return geom_vector(r, key, value, p->axes[*key == 's']);
    if (strcmp(key, "res") == 0) {
        p->has_res = true;
        return geom_real(r, key, value, 1, 1e7, &p->res_1_m);
    }
    if (strcmp(key, "clen") == 0)
        return set_clen(r, p, value);
    if (strcmp(key, "coffset") == 0)
        return geom_real(r, key, value, -1e4, 1e4, &p->coffset_m);
    if (strcmp(key, "adu_per_photon") == 0)
        return geom_real(r, key, value, 1e-9, 1e9, &p->adu_per_photon);
    if (strcmp(key, "adu_per_eV") == 0)
        return geom_real(r, key, value, 1e-15, 1e9, &p->adu_per_eV);
    if (strcmp(key, "max_adu") == 0)
        return geom_real(r, key, value, 0, 1e12, &p->max_adu);
    if (strcmp(key, "mask_edge_pixels") == 0)
        return geom_whole(r, key, value, GEOM_EDGE_MAX, &p->edge);
    *mine = begins(key, "dim") || strcmp(key, "data") == 0;
    return *mine ? set_place(r, p, key, value) : STATUS_OK;
}

/* The bit of a setting in geom_entry.own. */
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

/* A setting of one panel by its name: it must not say two things. */
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

/* Of two lines that say it, the second one must agree with the first. */
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
    static const char *const lengths[] = {"A", "m", NULL};
    static const double m[] = {1e-10, 1};
    const bool energy = *key == 'p';
    bool known;
    const double x = energy ? geom_quantity(value, energies, eV, &known)
                            : geom_quantity(value, lengths, m, &known);
    if (!known) {
        (void)snprintf(r->geom->wavelength_unread, sizeof r->geom->wavelength_unread,
                       "%.100s:%ld: %s = '%.60s' is not a number with a unit, as in '%s'",
                       r->text.path, r->text.line, key, value, energy ? "9500 eV" : "1.3 A");
        return STATUS_OK;
    }
    if (energy ? !(x >= 1 && x <= 1e9) : !(x >= 1e-15 && x <= 1e-6))
        return geom_bad_value(r, key, value, energy ? "from 1 to 1e9 eV" : "from 1e-5 to 1e4 A");
    return set_wavelength(r, key, value, energy ? ev_to_m(x) : x);
}

/* All panels are moved along x or y, where the file says by how much: a number without a unit is
 * in m. */
static enum status set_shift(struct geom_reader *r, const char *key, const char *value)
{
    static const char *const units[] = {"", "m", "mm", NULL};
    static const double sizes[] = {1, 1, 1e-3};
    bool known;
    double *to_m = &r->shift_m[key[strlen("detector_shift_")] == 'y'];
    *to_m = geom_quantity(value, units, sizes, &known);
    if (!known)
        unused(r, key);
    return known && !(fabs(*to_m) <= 1e3) ? geom_bad_value(r, key, value, "from -1000 to 1000 m")
                                          : STATUS_OK;
}

/* Remembers a setting of panels, unless it is one that holds for all of them. */
static void note_late(struct geom_reader *r, const char *key)
{
    if (!*r->late && r->npanels && strcmp(key, "clen") != 0 && !begins(key, "adu_per_"))
        (void)snprintf(r->late, sizeof r->late, "%s", key);
}

/* A setting of the whole file. */
static enum status set_top(struct geom_reader *r, const char *key, const char *value)
{
    bool mine;
    if (strcmp(key, "detector_shift_x") == 0 || strcmp(key, "detector_shift_y") == 0)
        return set_shift(r, key, value);
    const enum status s = set_panel(r, &r->defaults, key, value, &mine);
    if (mine)
        note_late(r, key);
    if (s || mine || begins(key, "rigid_group") || begins(key, "group") || begins(key, "peak_"))
        return s;
    if (strcmp(key, "photon_energy") == 0 || strcmp(key, "wavelength") == 0)
        return set_beam(r, key, value);
    unused(r, key);
    return STATUS_OK;
}

/* Limit i of a bad region, once. */
static enum status set_limit(struct geom_reader *r, struct geom_bad *b, int i, const char *key,
                             const char *value)
{
    const double before = b->span[i];
    const enum status s = geom_real(r, key, value, -1e9, 1e9, &b->span[i]);
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
            return geom_bad_value(r, key, value, "a name of at most 63 bytes");
        (void)snprintf(b->panel, sizeof b->panel, "%s", value);
        return STATUS_OK;
    }
    for (int lab = 0; lab < 2; lab++)
        for (int i = 0; i < 4; i++)
            if (strcmp(key, keys[lab][i]) == 0) {
                *(lab ? &b->has_lab : &b->has_pixels) = true;
                if (b->has_lab && b->has_pixels)
                    return text_error(&r->text, r->e,
                                      "bad region %s has both fs, ss and x, y, must have one pair",
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
        return text_error(&r->text, r->e, "there are more than %d panels", PANELS_MAX);
    struct geom_entry *more = mem_grow(r->panels, r->npanels, 1, sizeof *more, &r->panels_room);
    if (!more)
        return error_memory(r->e, "the panels");
    r->panels = more;
    *panel = &more[r->npanels++];
    *r->late = 0;
    memcpy(*panel, &r->defaults, sizeof **panel);
    (void)snprintf((*panel)->name, GEOM_NAME_SIZE, "%s", name);
    return STATUS_OK;
}

static enum status find_bad(struct geom_reader *r, const char *name, struct geom_bad **region)
{
    for (size_t i = r->nbad; i-- > 0;)  // most often the last one
        if (strcmp(r->bad[i].name, name) == 0) {
            *region = &r->bad[i];
            return STATUS_OK;
        }
    if (r->nbad == GEOM_BAD_MAX)
        return text_error(&r->text, r->e, "there are more than %d bad regions", GEOM_BAD_MAX);
    struct geom_bad *more = mem_grow(r->bad, r->nbad, 1, sizeof *more, &r->bad_room);
    if (!more)
        return error_memory(r->e, "the bad regions");
    r->bad = more;
    *region = &more[r->nbad++];
    **region = (struct geom_bad){.span = {-1e9, 1e9, -1e9, 1e9}};
    (void)snprintf((*region)->name, GEOM_NAME_SIZE, "%s", name);
    return STATUS_OK;
}

/* "name/key": of a panel or a bad region. */
static enum status set_member(struct geom_reader *r, const char *name, const char *key,
                              const char *value)
{
    if (!*name || strlen(name) >= GEOM_NAME_SIZE)
        return text_error(&r->text, r->e, "'%.70s' is no name of a panel, must have 1 to 63 bytes",
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
        return text_error(&r->text, r->e, "'%.60s' has no '=', must be 'name = value'", line);
    *equals = 0;
    char *key = text_trim(line), *value = text_trim(equals + 1), *slash = strrchr(key, '/');
    char *member = slash ? text_trim(slash + 1) : key;
    if (!*member)
        return text_error(&r->text, r->e, "'%.40s = %.40s' has no name, must be 'name = value'",
                          key, value);
    if (!slash)
        return set_top(r, key, value);
    *slash = 0;
    return set_member(r, text_trim(key), member, value);
}

/* Takes all of the text, which is open unless *s says otherwise. */
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
    *g = (struct geom){0};
}
