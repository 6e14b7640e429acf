/* Reads the axes of a full CBF (imgCIF), which place its panel: tables of CIF, chains of axes. */
#include "io/images/header_axes.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"

enum { CELLS_MAX = 4096, COLUMNS_MAX = 64, CHAIN_MAX = 50 };

/* --- tables of CIF ------------------------------------------------------------------ */

struct word {
    const char *at;
    size_t length;
    bool quoted;
};

struct cell {
    struct word tag, value;
    size_t row;
};

struct cif {
    const char *path;
    size_t ncells;
    struct cell cells[CELLS_MAX];
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Takes a text between two lines that begin with a semicolon, or the rest of the header. */
static const char *take_text(const char *at, struct word *w)
{
    const char *end = strstr(at, "\n;");
    w->at = at + 1;
    w->length = end ? (size_t)(end - w->at) : strlen(w->at);
    w->quoted = true;
    return end ? end + 2 : w->at + w->length;
}

/* Takes the next word, without its quotes.  Returns the place after it; NULL: there is none. */
static const char *take_word(const char *begin, const char *at, struct word *w)
{
    while (is_blank(*at) || *at == '#')
        at += *at == '#' ? strcspn(at, "\n") : 1;
    *w = (struct word){at, 0, false};
    if (!*at)
        return NULL;
    if (*at == ';' && (at == begin || at[-1] == '\n'))
        return take_text(at, w);
    if (*at == '\'' || *at == '"') {
        const char *end = at + 1;
        while (*end && *end != '\n' && (*end != *at || (end[1] && !is_blank(end[1]))))
            end++;
        *w = (struct word){at + 1, (size_t)(end - at - 1), true};
        return *end == *at ? end + 1 : end;
    }
    while (at[w->length] && !is_blank(at[w->length]))
        w->length++;
    return at + w->length;
}

static bool is_word(const struct word *w, const char *text)
{
    return w->length == strlen(text) && strncasecmp(w->at, text, w->length) == 0;
}

static bool same(const struct word *a, const struct word *b)
{
    return a->length == b->length && strncasecmp(a->at, b->at, a->length) == 0;
}

/* Returns true for the first word of something else than a value: a tag, a loop, a block. */
static bool is_key(const struct word *w)
{
    return !w->quoted && (*w->at == '_' || is_word(w, "loop_") ||
                          (w->length > 5 && strncasecmp(w->at, "data_", 5) == 0));
}

static bool add_cell(struct cif *c, struct word tag, struct word value, size_t row)
{
    if (c->ncells == CELLS_MAX)
        return false;
    c->cells[c->ncells++] = (struct cell){tag, value, row};
    return true;
}

/* Reads the columns and the rows of a loop.  Returns false if there are too many of them. */
static bool read_loop(struct cif *c, const char *text, const char **at)
{
    struct word tags[COLUMNS_MAX], w;
    size_t columns = 0, values = 0;
    const char *next;
    while ((next = take_word(text, *at, &w)) && !w.quoted && *w.at == '_') {
        if (columns == COLUMNS_MAX)
            return false;
        tags[columns++] = w;
        *at = next;
    }
    while (columns && (next = take_word(text, *at, &w)) && !is_key(&w)) {
        if (!add_cell(c, tags[values % columns], w, values / columns))
            return false;
        values++;
        *at = next;
    }
    return true;
}

static bool read_tables(struct cif *c, const char *text)
{
    struct word w, value;
    const char *at = text, *next;
    bool good = true;
    while (good && (next = take_word(text, at, &w))) {
        at = next;
        if (is_word(&w, "loop_") && !w.quoted) {
            good = read_loop(c, text, &at);
        } else if (!w.quoted && *w.at == '_' && (next = take_word(text, at, &value)) &&
                   !is_key(&value)) {
            good = add_cell(c, w, value, 0);
            at = next;
        }
    }
    return good;
}

/* Returns the value of a tag in a row; NULL: there is none. */
static const struct word *find(const struct cif *c, const char *tag, size_t row)
{
    for (size_t i = 0; i < c->ncells; i++)
        if (c->cells[i].row == row && is_word(&c->cells[i].tag, tag))
            return &c->cells[i].value;
    return NULL;
}

/* Finds a row in which a tag has a value, from row *row on. */
static bool find_row(const struct cif *c, const char *tag, const struct word *value, size_t *row)
{
    for (size_t i = 0; i < c->ncells; i++)
        if (c->cells[i].row >= *row && is_word(&c->cells[i].tag, tag) &&
            same(&c->cells[i].value, value)) {
            *row = c->cells[i].row;
            return true;
        }
    return false;
}

/* Reads the number of a tag in a row.  *number is unchanged if the table does not have it.
 * STATUS_INPUT: it is not a number. */
static enum status number_of(const struct cif *c, const char *tag, size_t row, double *number,
                             struct error *e)
{
    const struct word *w = find(c, tag, row);
    const char *end;
    if (!w || is_word(w, ".") || is_word(w, "?"))
        return STATUS_OK;
    const double x = number_real(w->at, &end);
    if (end == w->at || end > w->at + w->length || !isfinite(x) || !(fabs(x) < 1e9))
        return error_set(e, STATUS_INPUT, "%s: header: %s: '%.*s' is not a number", c->path, tag,
                         (int)(w->length < 40 ? w->length : 40), w->at);
    *number = x;
    return STATUS_OK;
}

static enum status vector_of(const struct cif *c, const char *name, size_t row, double v[3],
                             struct error *e)
{
    char tag[40];
    enum status s = STATUS_OK;
    for (int i = 0; i < 3 && !s; i++) {
        (void)snprintf(tag, sizeof tag, "%s[%d]", name, i + 1);
        v[i] = 0;
        s = number_of(c, tag, row, &v[i], e);
    }
    return s;
}

/* --- chains of axes --------------------------------------------------------------------- */

struct axis {
    struct word name, on;
    bool turns, is_general;
    double vector[3], offset_mm[3];
    double setting;    // deg or mm
    double increment;  // of the setting, during the frame
};

static enum status bad_axis(const struct cif *c, const struct word *name, const char *what,
                            struct error *e)
{
    return error_set(e, STATUS_INPUT, "%s: header: axis %.*s %s", c->path,
                     (int)(name->length < 40 ? name->length : 40), name->at, what);
}

/* Reads the setting of an axis in the frame, or at the start of the scan. */
static enum status read_setting(const struct cif *c, struct axis *a, struct error *e)
{
    const char *frame =
        a->turns ? "_diffrn_scan_frame_axis.angle" : "_diffrn_scan_frame_axis.displacement";
    const char *start =
        a->turns ? "_diffrn_scan_axis.angle_start" : "_diffrn_scan_axis.displacement_start";
    size_t row = 0;
    enum status s = STATUS_OK;
    if (find_row(c, "_diffrn_scan_axis.axis_id", &a->name, &row)) {
        s = number_of(c, start, row, &a->setting, e);
        if (!s && a->turns)
            s = number_of(c, "_diffrn_scan_axis.angle_increment", row, &a->increment, e);
    }
    row = 0;
    bool found = false;
    while (!s && find_row(c, "_diffrn_scan_frame_axis.axis_id", &a->name, &row)) {
        const double before = a->setting;
        s = number_of(c, frame, row++, &a->setting, e);
        if (!s && found && before != a->setting)
            s = bad_axis(c, &a->name, "has several settings; expected one frame", e);
        found = true;
    }
    return s;
}

static enum status read_axis(const struct cif *c, const struct word *name, struct axis *a,
                             struct error *e)
{
    size_t row = 0;
    *a = (struct axis){.name = *name};
    if (!find_row(c, "_axis.id", name, &row))
        return bad_axis(c, name, "is not in the table of axes", e);
    const struct word *type = find(c, "_axis.type", row), *on = find(c, "_axis.depends_on", row);
    a->turns = type && is_word(type, "rotation");
    a->is_general = !type || (!a->turns && !is_word(type, "translation"));
    if (on && !is_word(on, ".") && !is_word(on, "?"))
        a->on = *on;
    enum status s = vector_of(c, "_axis.vector", row, a->vector, e);
    s = s ? s : vector_of(c, "_axis.offset", row, a->offset_mm, e);
    if (!s && !a->is_general && !(vec_unit(a->vector, a->vector) > 1e-6))
        s = bad_axis(c, name, "has no direction", e);
    return s ? s : read_setting(c, a, e);
}

/* The axes from one end of a detector to the laboratory. */
struct chain {
    size_t count;
    struct axis axes[CHAIN_MAX];
};

static enum status read_chain(const struct cif *c, const struct word *first, struct chain *chain,
                              struct error *e)
{
    struct word name = *first;
    chain->count = 0;
    while (name.length) {
        if (chain->count == CHAIN_MAX)
            return bad_axis(c, first, "depends on itself, or on too many axes", e);
        struct axis *a = &chain->axes[chain->count++];
        const enum status s = read_axis(c, &name, a, e);
        if (s)
            return s;
        if (a->is_general)
            return bad_axis(c, &name, "neither turns nor moves", e);
        name = a->on;
    }
    return STATUS_OK;
}

/* Sets x to the place of the origin of a chain in the laboratory, in mm. */
static void place_origin(const struct chain *chain, double x[3])
{
    x[0] = x[1] = x[2] = 0;
    for (size_t i = 0; i < chain->count; i++) {
        const struct axis *a = &chain->axes[i];
        if (a->turns)
            vec_rotate_axis(x, a->vector, deg_to_rad(a->setting));
        for (int k = 0; k < 3; k++)
            x[k] += a->offset_mm[k] + (a->turns ? 0 : a->setting * a->vector[k]);
    }
}

/* --- the panel ---------------------------------------------------------------------------- */

/* An edge of the array of pixels: the axis along which it goes, and its pixels. */
struct edge {
    struct word axis;
    double first_mm, step_mm;
};

/* Reads the edge with a precedence: 1 is fast, 2 is slow.  Returns STATUS_OK and no axis if the
 * header does not have it. */
static enum status read_edge(const struct cif *c, const char *precedence, struct edge *edge,
                             struct error *e)
{
    const struct word wanted = {precedence, strlen(precedence), false};
    size_t row = 0, set = 0;
    *edge = (struct edge){0};
    if (!find_row(c, "_array_structure_list.precedence", &wanted, &row))
        return STATUS_OK;
    size_t other = row + 1;
    if (find_row(c, "_array_structure_list.precedence", &wanted, &other))
        return error_set(e, STATUS_INPUT,
                         "%s: header: the detector has several arrays of pixels; expected one",
                         c->path);
    const struct word *name = find(c, "_array_structure_list.axis_set_id", row);
    if (!name || !find_row(c, "_array_structure_list_axis.axis_set_id", name, &set))
        return STATUS_OK;
    const struct word *axis = find(c, "_array_structure_list_axis.axis_id", set);
    enum status s =
        number_of(c, "_array_structure_list_axis.displacement", set, &edge->first_mm, e);
    s = s ? s
          : number_of(c, "_array_structure_list_axis.displacement_increment", set, &edge->step_mm,
                      e);
    if (!s && edge->step_mm != 0)
        edge->axis = axis ? *axis : *name;
    return s;
}

static struct axis *find_axis(struct chain *chain, const struct word *name)
{
    for (size_t i = 0; i < chain->count; i++)
        if (same(&chain->axes[i].name, name))
            return &chain->axes[i];
    return NULL;
}

/* Reads the chain that has the axes of both edges. */
static enum status read_detector(const struct cif *c, const struct edge edges[2],
                                 struct chain *chain, struct error *e)
{
    enum status s = STATUS_OK;
    for (int i = 0; i < 2 && !s; i++) {
        s = read_chain(c, &edges[i].axis, chain, e);
        if (!s && find_axis(chain, &edges[1 - i].axis))
            return STATUS_OK;
    }
    return s ? s : bad_axis(c, &edges[0].axis, "does not depend on that of the slow pixels", e);
}

/* Sets x to the place of a point of the array, in mm.  The displacement of an edge is taken as the
 * place of the corner of the first pixel.  DIALS reads it so, and beamlines write it so.  In the
 * dictionary of imgCIF it is the place of the centre of this pixel. */
static void place_point(struct chain *chain, const struct edge edges[2], const double pixels[2],
                        double x[3])
{
    for (int i = 0; i < 2; i++)
        find_axis(chain, &edges[i].axis)->setting =
            edges[i].first_mm + pixels[i] * edges[i].step_mm;
    place_origin(chain, x);
}

/* Converts a place to m in the coordinate system of struct place. */
static void to_beam(const double mm[3], double out[3])
{
    out[0] = mm_to_m(mm[0]);
    out[1] = 0.0 - mm_to_m(mm[1]);
    out[2] = 0.0 - mm_to_m(mm[2]);
}

static enum status place_panel(const struct cif *c, const struct edge edges[2], struct chain *chain,
                               struct header_axes *a, struct error *e)
{
    static const double points[3][2] = {{0, 0}, {1, 0}, {0, 1}};
    double x[3], m[3][3], edge_m[2];
    enum status s = read_detector(c, edges, chain, e);
    if (s)
        return s;
    for (int i = 0; i < 3; i++) {
        place_point(chain, edges, points[i], x);
        to_beam(x, m[i]);
    }
    memcpy(a->corner_m, m[0], sizeof a->corner_m);
    for (int k = 0; k < 3; k++) {
        a->fast[k] = m[1][k] - m[0][k];
        a->slow[k] = m[2][k] - m[0][k];
    }
    edge_m[0] = vec_unit(a->fast, a->fast);
    edge_m[1] = vec_unit(a->slow, a->slow);
    a->pixel_m = mm_to_m(fabs(edges[0].step_mm));
    a->has_panel = true;
    if (edge_m[0] > 1e-7 && fabs(edge_m[1] / edge_m[0] - 1) < 1e-6 &&
        fabs(vec_dot(a->fast, a->slow)) < 1e-6)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "%s: header: pixels of %g x %g mm, or axes that are not at 90 deg; expected "
                     "square pixels",
                     c->path, m_to_mm(edge_m[0]), m_to_mm(edge_m[1]));
}

/* Checks that the beam goes along the axis against which the chains count. */
static enum status check_source(const struct cif *c, struct error *e)
{
    static const struct word source = {"source", 6, false};
    double v[3];
    size_t row = 0;
    if (!find_row(c, "_axis.equipment", &source, &row))
        return STATUS_OK;
    const enum status s = vector_of(c, "_axis.vector", row, v, e);
    if (s || (vec_unit(v, v) > 0 && v[2] > 1 - 1e-6))
        return s;
    return error_set(e, STATUS_INPUT,
                     "%s: header: the axis of the source is %.6g, %.6g, %.6g; expected 0, 0, 1",
                     c->path, v[0], v[1], v[2]);
}

/* Takes the first axis of the goniometer that turns during the frame. */
static enum status read_rotation(const struct cif *c, struct header_axes *a, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < c->ncells && !s && !a->has_rotation; i++) {
        struct axis axis;
        if (!is_word(&c->cells[i].tag, "_diffrn_measurement_axis.axis_id"))
            continue;
        s = read_axis(c, &c->cells[i].value, &axis, e);
        a->has_rotation = !s && axis.turns && axis.increment != 0;
        if (a->has_rotation) {
            a->phi_rad = deg_to_rad(axis.setting);
            a->osc_rad = deg_to_rad(axis.increment);
        }
    }
    return s;
}

static enum status read_all(const struct cif *c, struct chain *chain, struct header_axes *a,
                            struct error *e)
{
    struct edge edges[2];
    double wavelength_A = 0;
    enum status s = read_edge(c, "1", &edges[0], e);
    s = s ? s : read_edge(c, "2", &edges[1], e);
    s = s ? s : number_of(c, "_diffrn_radiation_wavelength.wavelength", 0, &wavelength_A, e);
    a->wavelength_m = angstrom_to_m(wavelength_A);
    if (s || !edges[0].axis.length || !edges[1].axis.length)
        return s;
    s = check_source(c, e);
    s = s ? s : place_panel(c, edges, chain, a, e);
    return s ? s : read_rotation(c, a, e);
}

enum status cbf_axes_read(const char *path, const char *text, struct header_axes *a,
                          struct error *e)
{
    *a = (struct header_axes){0};
    if (!strcasestr(text, "_axis.id"))
        return STATUS_OK;
    struct cif *c = mem_array(1, sizeof *c);
    struct chain *chain = mem_array(1, sizeof *chain);
    c->path = path;
    enum status s = read_tables(c, text)
                        ? read_all(c, chain, a, e)
                        : error_set(e, STATUS_INPUT, "%s: header: the tables are too large", path);
    mem_free(chain);
    mem_free(c);
    return s;
}
