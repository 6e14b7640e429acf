/*
 * Reading: every line is a setting of the whole file, of a panel or of a bad region.  Settings
 * of a panel that stand without its name hold for the panels that are named later.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opt.h"
#include "base/units.h"
#include "io/geom.h"
#include "io/textfile.h"

enum { NAME_SIZE = 64, EDGE_MAX = 65536, ITEMS_MAX = 1000 };
static const double PIXELS_MAX = 1 << 28;

/* What the file says about a panel. */
struct entry {
    char name[NAME_SIZE];
    bool given[4];  // min_fs, max_fs, min_ss, max_ss
    int64_t span[4];
    bool has_x, has_y, has_res, has_clen;
    double corner_px[2], res_1_m, clen_m, coffset_m;
    double axes[2][3];  // fs, ss; all 0: not given
    int64_t edge;       // mask_edge_pixels
};

/* A bad region. */
struct bad {
    char name[NAME_SIZE], panel[NAME_SIZE];
    bool has_pixels, has_lab;
    double span[4];  // min and max along fs, then ss, as in the data; or x, then y, in pixels
};

struct reader {
    struct text_file text;
    struct geom *geom;
    struct entry defaults;
    struct entry *panels;  // owned
    struct bad *bad;       // owned
    size_t npanels, nbad, panels_room, bad_room;
    double clen_m;  // in place of what the file says; 0: none
    struct error *e;
};

/* Takes blanks off both ends. */
static char *trim(char *text)
{
    text += strspn(text, TEXT_SPACE);
    size_t length = strlen(text);
    while (length && strchr(TEXT_SPACE, text[length - 1]))
        text[--length] = 0;
    return text;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* --- values -------------------------------------------------------------------- */

static enum status bad_value(struct reader *r, const char *key, const char *value, const char *must)
{
    return text_error(&r->text, r->e, "%.40s = '%.60s', must be %s", key, value, must);
}

static enum status real(struct reader *r, const char *key, const char *value, double min,
                        double max, double *out)
{
    if (parse_real(value, min, max, key, out, NULL) == STATUS_OK)
        return STATUS_OK;
    return text_error(&r->text, r->e, "%.40s = '%.60s', must be a number from %g to %g", key, value,
                      min, max);
}

static enum status whole(struct reader *r, const char *key, const char *value, int64_t max,
                         int64_t *out)
{
    double number = 0;
    if (parse_real(value, 0, (double)max, key, &number, NULL) || number != floor(number))
        return text_error(&r->text, r->e,
                          "%.40s = '%.60s', must be a whole number from 0 to %" PRId64, key, value,
                          max);
    *out = (int64_t)number;
    return STATUS_OK;
}

static bool is_axis(char c)
{
    return c >= 'x' && c <= 'z';
}

/* A signed sum of x, y and z, nearly of length 1; made so. */
static enum status vector(struct reader *r, const char *key, const char *value, double out[3])
{
    static const char must[] = "like '+0.999x -0.044y', of length 1";
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

/* A number and one of some units; *known becomes false for anything else, such as the
 * place of the value in data files. */
static double quantity(const char *value, const char *const units[], const double sizes[],
                       bool *known)
{
    char *end;
    const double number = strtod(value, &end);
    const char *unit = end + strspn(end, " \t");
    *known = false;
    for (size_t i = 0; end != value && isfinite(number) && units[i]; i++)
        if (strcmp(unit, units[i]) == 0) {
            *known = true;
            return number * sizes[i];
        }
    return 0;
}

/* --- settings ------------------------------------------------------------------ */

/* Remembers a setting without effect, once. */
static void unused(struct reader *r, const char *key)
{
    char *list = r->geom->unused;
    const size_t length = strlen(list), more = strlen(key);
    for (const char *at = list; (at = strstr(at, key)); at += more)
        if ((at == list || at[-1] == ' ') && (at[more] == ',' || !at[more]))
            return;
    if (length + more + 3 < sizeof r->geom->unused)
        (void)snprintf(list + length, sizeof r->geom->unused - length, "%s%s", length ? ", " : "",
                       key);
}

static enum status set_clen(struct reader *r, struct entry *p, const char *value)
{
    static const char *const units[] = {"", "m", "mm", NULL};
    static const double sizes[] = {1, 1, 1e-3};
    bool known;
    p->clen_m = quantity(value, units, sizes, &known);
    p->has_clen = known;
    if (known && !(p->clen_m >= 1e-6 && p->clen_m <= 1e4))
        return bad_value(r, "clen", value, "from 1e-6 to 10000 m");
    return STATUS_OK;
}

/* A setting that panels have; false in *mine for others. */
static enum status set_panel(struct reader *r, struct entry *p, const char *key, const char *value,
                             bool *mine)
{
    static const char *const spans[] = {"min_fs", "max_fs", "min_ss", "max_ss"};
    *mine = true;
    for (int i = 0; i < 4; i++)
        if (strcmp(key, spans[i]) == 0) {
            p->given[i] = true;
            return whole(r, key, value, INT32_MAX, &p->span[i]);
        }
    if (strcmp(key, "corner_x") == 0 || strcmp(key, "corner_y") == 0) {
        *(key[7] == 'x' ? &p->has_x : &p->has_y) = true;
        return real(r, key, value, -1e9, 1e9, &p->corner_px[key[7] - 'x']);
    }
    if (strcmp(key, "fs") == 0 || strcmp(key, "ss") == 0)
        return vector(r, key, value, p->axes[*key == 's']);
    if (strcmp(key, "res") == 0) {
        p->has_res = true;
        return real(r, key, value, 1, 1e7, &p->res_1_m);
    }
    if (strcmp(key, "clen") == 0)
        return set_clen(r, p, value);
    if (strcmp(key, "coffset") == 0)
        return real(r, key, value, -1e4, 1e4, &p->coffset_m);
    if (strcmp(key, "adu_per_photon") == 0)
        return real(r, key, value, 1e-9, 1e9, &r->geom->adu_per_photon);
    if (strcmp(key, "mask_edge_pixels") == 0)
        return whole(r, key, value, EDGE_MAX, &p->edge);
    *mine = begins(key, "dim") || strcmp(key, "data") == 0;
    return STATUS_OK;
}

static enum status set_beam(struct reader *r, const char *key, const char *value)
{
    static const char *const energies[] = {"", "eV", "keV", "MeV", NULL};
    static const double eV[] = {1, 1, 1e3, 1e6};
    static const char *const lengths[] = {"A", "m", NULL};
    static const double m[] = {1e-10, 1};
    const bool energy = *key == 'p';
    bool known;
    const double x =
        energy ? quantity(value, energies, eV, &known) : quantity(value, lengths, m, &known);
    if (!known)
        return STATUS_OK;
    if (energy ? !(x >= 1 && x <= 1e9) : !(x >= 1e-15 && x <= 1e-6))
        return bad_value(r, key, value, energy ? "from 1 to 1e9 eV" : "from 1e-5 to 1e4 A");
    r->geom->wavelength_m = energy ? ev_to_m(x) : x;
    return STATUS_OK;
}

/* A setting of the whole file. */
static enum status set_top(struct reader *r, const char *key, const char *value)
{
    bool mine;
    const enum status s = set_panel(r, &r->defaults, key, value, &mine);
    if (s || mine || begins(key, "rigid_group") || begins(key, "group") || begins(key, "peak_"))
        return s;
    if (strcmp(key, "photon_energy") == 0 || strcmp(key, "wavelength") == 0)
        return set_beam(r, key, value);
    unused(r, key);
    return STATUS_OK;
}

static enum status set_bad(struct reader *r, struct bad *b, const char *key, const char *value)
{
    static const char *const keys[2][4] = {{"min_fs", "max_fs", "min_ss", "max_ss"},
                                           {"min_x", "max_x", "min_y", "max_y"}};
    if (strcmp(key, "panel") == 0) {
        if (strlen(value) >= NAME_SIZE)
            return bad_value(r, key, value, "a name of at most 63 bytes");
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
                return real(r, key, value, -1e9, 1e9, &b->span[i]);
            }
    unused(r, key);
    return STATUS_OK;
}

static enum status find_panel(struct reader *r, const char *name, struct entry **panel)
{
    for (size_t i = 0; i < r->npanels; i++)
        if (strcmp(r->panels[i].name, name) == 0) {
            *panel = &r->panels[i];
            return STATUS_OK;
        }
    if (r->npanels == ITEMS_MAX)
        return text_error(&r->text, r->e, "there are more than %d panels", ITEMS_MAX);
    struct entry *more = mem_grow(r->panels, r->npanels, 1, sizeof *more, &r->panels_room);
    if (!more)
        return error_memory(r->e, "the panels");
    r->panels = more;
    *panel = &more[r->npanels++];
    **panel = r->defaults;
    (void)snprintf((*panel)->name, NAME_SIZE, "%s", name);
    return STATUS_OK;
}

static enum status find_bad(struct reader *r, const char *name, struct bad **region)
{
    for (size_t i = 0; i < r->nbad; i++)
        if (strcmp(r->bad[i].name, name) == 0) {
            *region = &r->bad[i];
            return STATUS_OK;
        }
    if (r->nbad == ITEMS_MAX)
        return text_error(&r->text, r->e, "there are more than %d bad regions", ITEMS_MAX);
    struct bad *more = mem_grow(r->bad, r->nbad, 1, sizeof *more, &r->bad_room);
    if (!more)
        return error_memory(r->e, "the bad regions");
    r->bad = more;
    *region = &more[r->nbad++];
    **region = (struct bad){.span = {-1e9, 1e9, -1e9, 1e9}};
    (void)snprintf((*region)->name, NAME_SIZE, "%s", name);
    return STATUS_OK;
}

/* "name/key": of a panel or a bad region. */
static enum status set_member(struct reader *r, const char *name, const char *key,
                              const char *value)
{
    if (!*name || strlen(name) >= NAME_SIZE)
        return text_error(&r->text, r->e, "'%.70s' is no name of a panel, must have 1 to 63 bytes",
                          name);
    if (begins(name, "bad")) {
        struct bad *region = NULL;
        const enum status s = find_bad(r, name, &region);
        return s ? s : set_bad(r, region, key, value);
    }
    struct entry *panel = NULL;
    bool mine;
    enum status s = find_panel(r, name, &panel);
    if (!s)
        s = set_panel(r, panel, key, value, &mine);
    if (!s && !mine)
        unused(r, key);
    return s;
}

static enum status read_line(struct reader *r, char *line)
{
    char *equals = strchr(line, '=');
    if (!equals)
        return text_error(&r->text, r->e, "'%.60s' has no '=', must be 'name = value'", line);
    *equals = 0;
    char *key = trim(line), *value = trim(equals + 1), *slash = strrchr(key, '/');
    char *member = slash ? trim(slash + 1) : key;
    if (!*member)
        return text_error(&r->text, r->e, "'%.40s = %.40s' has no name, must be 'name = value'",
                          key, value);
    if (!slash)
        return set_top(r, key, value);
    *slash = 0;
    return set_member(r, trim(key), member, value);
}

/* --- panels -------------------------------------------------------------------- */

static enum status refuse(const struct reader *r, const struct entry *p, const char *what)
{
    return error_set(r->e, STATUS_INPUT, "%s: panel %s %s", r->text.path, p->name, what);
}

static enum status check_panel(const struct reader *r, const struct entry *p)
{
    static const char *const names[] = {"has no min_fs", "has no max_fs", "has no min_ss",
                                        "has no max_ss"};
    for (int i = 0; i < 4; i++)
        if (!p->given[i])
            return refuse(r, p, names[i]);
    for (int i = 0; i < 4; i += 2)
        if (p->span[i] > p->span[i + 1] || p->span[i + 1] - p->span[i] >= EDGE_MAX)
            return refuse(r, p, "is empty or has more than 65536 pixels along an edge");
    if (!p->has_x || !p->has_y)
        return refuse(r, p, "has no corner_x or no corner_y");
    if (!p->has_res)
        return refuse(r, p, "has no res");
    const double *f = p->axes[0], *s = p->axes[1];
    if (fabs(f[0] * s[0] + f[1] * s[1] + f[2] * s[2]) > 0.5 ||
        (f[0] == 0 && f[1] == 0 && f[2] == 0) || (s[0] == 0 && s[1] == 0 && s[2] == 0))
        return refuse(r, p, "has no fs and ss, or they are not about at right angles");
    if (!p->has_clen && !(r->clen_m > 0))
        return refuse(r, p, "has no clen that is a number with a unit: give the distance");
    return STATUS_OK;
}

/* Clears the pixels of a row of n whose two coordinates, `at` for the first pixel and `step`
 * from one to the next, lie within the region. */
static void clear_region(const struct bad *b, const double at[2], const double step[2], int64_t n,
                         uint8_t *row)
{
    double first = 0, last = (double)(n - 1);
    for (int k = 0; k < 2; k++) {
        const double low = b->span[2 * k], high = b->span[2 * k + 1];
        if (step[k] == 0 && (at[k] < low || at[k] > high))
            return;
        if (step[k] == 0)
            continue;
        const double from = ((step[k] > 0 ? low : high) - at[k]) / step[k];
        const double to = ((step[k] > 0 ? high : low) - at[k]) / step[k];
        first = fmax(first, ceil(from));
        last = fmin(last, floor(to));
    }
    if (first <= last)
        memset(row + (int64_t)first, 0, (size_t)(last - first) + 1);
}

/* Row s of the mask of a panel with n pixels along fast: bad regions and edges. */
static void mask_row(const struct reader *r, const struct entry *p, int64_t s, int64_t n,
                     uint8_t *row)
{
    const int64_t edge = p->edge, rows = p->span[3] - p->span[2] + 1;
    const bool inside = s >= edge && s < rows - edge && n > 2 * edge;
    memset(row, 0, (size_t)n);
    if (inside)
        memset(row + edge, 1, (size_t)(n - 2 * edge));
    for (size_t i = 0; i < r->nbad && inside; i++) {
        const struct bad *b = &r->bad[i];
        const double data[2] = {(double)p->span[0], (double)(s + p->span[2])};
        double lab[2];
        for (int k = 0; k < 2; k++)
            lab[k] = p->corner_px[k] + 0.5 * p->axes[0][k] + ((double)s + 0.5) * p->axes[1][k];
        if (!*b->panel || strcmp(b->panel, p->name) == 0) {
            if (b->has_pixels)
                clear_region(b, data, (const double[]){1, 0}, n, row);
            if (b->has_lab)
                clear_region(b, lab, p->axes[0], n, row);
        }
    }
}

static enum status make_mask(const struct reader *r, const struct entry *p, struct geom_panel *out)
{
    bool any = p->edge > 0;
    for (size_t i = 0; i < r->nbad && !any; i++)
        any = !*r->bad[i].panel || strcmp(r->bad[i].panel, p->name) == 0;
    if (!any)
        return STATUS_OK;
    out->mask = mem_array((size_t)out->fast_pixels, (size_t)out->slow_pixels);
    if (!out->mask)
        return error_memory(r->e, "the mask of a panel");
    for (int64_t s = 0; s < out->slow_pixels; s++)
        mask_row(r, p, s, out->fast_pixels, out->mask + s * out->fast_pixels);
    return STATUS_OK;
}

static enum status make_panel(const struct reader *r, const struct entry *p, struct geom_panel *out,
                              double *pixels)
{
    const enum status s = check_panel(r, p);
    if (s)
        return s;
    out->fast_pixels = p->span[1] - p->span[0] + 1;
    out->slow_pixels = p->span[3] - p->span[2] + 1;
    *pixels += (double)out->fast_pixels * (double)out->slow_pixels;
    if (*pixels > PIXELS_MAX)
        return error_set(r->e, STATUS_INPUT, "%s: the panels have more than %.0f pixels",
                         r->text.path, PIXELS_MAX);
    out->pixel_m = 1.0 / p->res_1_m;
    memcpy(out->fast, p->axes[0], sizeof out->fast);
    memcpy(out->slow, p->axes[1], sizeof out->slow);
    out->corner_m[0] = p->corner_px[0] * out->pixel_m;
    out->corner_m[1] = p->corner_px[1] * out->pixel_m;
    out->corner_m[2] = (r->clen_m > 0 ? r->clen_m : p->clen_m) + p->coffset_m;
    return make_mask(r, p, out);
}

static enum status make_panels(struct reader *r)
{
    struct geom *g = r->geom;
    if (!r->npanels)
        return error_set(r->e, STATUS_INPUT, "%s: there is no panel in it", r->text.path);
    g->panels = mem_array(r->npanels, sizeof *g->panels);
    if (!g->panels)
        return error_memory(r->e, "the panels");
    g->npanels = r->npanels;
    enum status s = STATUS_OK;
    double pixels = 0;
    for (size_t i = 0; i < r->npanels && !s; i++)
        s = make_panel(r, &r->panels[i], &g->panels[i], &pixels);
    return s;
}

enum status geom_read(const char *path, double distance_m, struct geom *g, struct error *e)
{
    *g = (struct geom){0};
    struct reader r = {.geom = g, .clen_m = distance_m, .e = e};
    enum status s = text_open(&r.text, path, TEXT_BYTES_MAX, e);
    while (!s && !(s = text_line(&r.text, "\r", ';', e)) && r.text.nwords) {
        char *line = trim(r.text.word[0]);
        if (*line)
            s = read_line(&r, line);
    }
    if (!s)
        s = make_panels(&r);
    text_close(&r.text);
    mem_free(r.panels);
    mem_free(r.bad);
    return s;
}

void geom_free(struct geom *g)
{
    for (size_t i = 0; i < g->npanels; i++)
        mem_free(g->panels[i].mask);
    mem_free(g->panels);
    *g = (struct geom){0};
}
