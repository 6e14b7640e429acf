#include "io/images/header_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/history.h"
#include "base/units.h"
#include "model/recipe.h"

void header_append(struct header_text *h, const char *format, ...)
{
    size_t room = sizeof h->text - h->length;
    va_list list;
    va_start(list, format);
    int n = vsnprintf(h->text + h->length, room, format, list);
    va_end(list);
    if (n > 0)
        h->length += (size_t)n < room ? (size_t)n : room - 1;
}

/* A header, with the style in which keys are written and the lattice that is written at the
 * moment. */
struct writer {
    struct header_text *h;
    const struct header_style *style;
    size_t lattice;  // number of the lattice; keys of all lattices except 0 end with it
};

static void append_key(const struct writer *w, const char *key)
{
    header_append(w->h, "%s%s", w->style->before, key);
    if (w->lattice)
        header_append(w->h, "_%zu", w->lattice);
    header_append(w->h, "%s", w->style->between);
}

static void append_whole(const struct writer *w, const char *key, uint64_t value)
{
    append_key(w, key);
    header_append(w->h, "%" PRIu64 "%s", value, w->style->behind);
}

static void append_list(const struct writer *w, const char *key, const double *values, int count)
{
    append_key(w, key);
    for (int i = 0; i < count; i++)
        header_append(w->h, i ? " %.9g" : "%.9g", values[i]);
    header_append(w->h, "%s", w->style->behind);
}

/* Appends a name.  Characters other than letters and digits become `_`, because they could end a
 * key or the header. */
static void append_name(const struct writer *w, const char *key, const char *name)
{
    char clean[64] = {0};
    for (size_t i = 0; i < sizeof clean - 1 && name[i]; i++)
        clean[i] = isalnum((unsigned char)name[i]) ? name[i] : '_';
    append_key(w, key);
    header_append(w->h, "%s%s", clean, w->style->behind);
}

static void append_lattice(const struct writer *w, const struct experiment *x,
                           const struct lattice *l)
{
    if (l->crystal < x->ncrystals) {
        const struct crystal *c = &x->crystals[l->crystal];
        double cell[6];
        lattice_cell(x, l, cell);
        append_name(w, "BRAGG_CRYSTAL", c->name);
        append_list(w, "BRAGG_CELL", cell, 6);
        if (l->has_cells)
            append_list(w, "BRAGG_CELLS_ALONG_AXES", l->cells, 3);
        const double spread_deg = rad_to_deg(l->spread_rad);
        if (l->has_spread)
            append_list(w, "BRAGG_MOSAIC_SPREAD", &spread_deg, 1);
        if (l->has_b_factor)
            append_list(w, "BRAGG_B_FACTOR", &l->b_factor_A2, 1);
        const double size_mm[3] = {m_to_mm(c->size_m[0]), m_to_mm(c->size_m[1]),
                                   m_to_mm(c->size_m[2])};
        if (c->has_size)
            append_list(w, "BRAGG_CRYSTAL_SIZE_MM", size_mm, 3);
    }
    if (l->weight != 1.0)
        append_list(w, "BRAGG_SHARE", &l->weight, 1);
    append_list(w, "BRAGG_ROTATION", l->rotation, 9);
    append_list(w, "BRAGG_RECIPROCAL", l->reciprocal_A, 9);
}

static void append_beam(const struct writer *w, const struct incident *b)
{
    append_list(w, "BRAGG_FLUENCE", &b->fluence_ph_m2, 1);
    append_key(w, "BRAGG_SPECTRUM");
    header_append(w->h, "%zu %.9g %.9g %.9g%s", b->sources, m_to_angstrom(b->shortest_m),
                  m_to_angstrom(b->mean_m), m_to_angstrom(b->longest_m), w->style->behind);
}

/* Appends Kahn's factor and the direction of the E field in the laboratory frame. */
static void append_polarization(const struct writer *w, const struct beam *b)
{
    const double values[] = {b->kahn, b->polarization[0], b->polarization[1], b->polarization[2]};
    if (!b->no_polarization)
        append_list(w, "BRAGG_POLARIZATION", values, 4);
}

/* Appends the sensor: material, thickness in mm, absorption coefficient in 1/mm and number of
 * layers, which is 0 for a smear. */
static void append_sensor(const struct writer *w, const struct experiment *x)
{
    const struct panel *p = x->panels;
    append_key(w, "BRAGG_SENSOR");
    header_append(w->h, "%s %.9g %.9g %d%s", panel_material(p), m_to_mm(p->thickness_m),
                  p->absorption_1_m / 1e3, x->sampling.smears ? 0 : p->layers, w->style->behind);
}

/* Appends the pulse numbers of the frame, each after its name.  Appends nothing if the experiment
 * has none. */
static void append_pulse(const struct writer *w, const struct experiment *x, uint64_t frame)
{
    struct pulse_number list[PULSE_NUMBERS_MAX];
    const size_t n = pulse_numbers(&x->pulse_ids, frame, list);
    if (!n)
        return;
    append_key(w, "BRAGG_PULSE");
    for (size_t i = 0; i < n; i++)
        header_append(w->h, "%s%s %" PRIu64, i ? " " : "", list[i].name, list[i].value);
    header_append(w->h, "%s", w->style->behind);
}

/* Appends the shift of the detector, in the laboratory frame. */
static void append_shift(const struct writer *w, const struct recipe *r)
{
    const double mm[] = {m_to_mm(r->shift_m[0]), m_to_mm(r->shift_m[1]), m_to_mm(r->shift_m[2])};
    if (r->has_shift)
        append_list(w, "BRAGG_SHIFT_MM", mm, 3);
}

/* Appends where the beam meets the sample holder. */
static void append_sample(const struct writer *w, const struct recipe *r)
{
    const double um[] = {1e6 * r->sample_m[0], 1e6 * r->sample_m[1]};
    if (r->has_sample)
        append_list(w, "BRAGG_SAMPLE_UM", um, 2);
}

/* Appends the amounts of matter that the recipe says, each after its name. */
static void append_matter(const struct writer *w, const struct recipe *r)
{
    const struct matter *m = &r->matter;
    const struct {
        const char *name;
        bool has;
        double amount;
    } all[] = {{"water_um", m->has_water, 1e6 * m->water_m},
               {"air_mm", m->has_air, m_to_mm(m->air_m)},
               {"ice_um", m->has_ice, 1e6 * m->ice_m},
               {"ice_crystal_A", m->has_ice_crystal, m->ice_crystal_A},
               {"scale", m->has_scale, m->scale}};
    if (!r->has_matter)
        return;
    append_key(w, "BRAGG_MATTER");
    const char *between = "";
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].has) {
            header_append(w->h, "%s%s %.9g", between, all[i].name, all[i].amount);
            between = " ";
        }
    header_append(w->h, "%s", w->style->behind);
}

/* Appends a line for each stage in the history.  If the header would become longer than `most`
 * bytes, or if a line cannot be shortened, appends no lines of stages at all. */
static void append_stages(const struct writer *w, const char *history, size_t most)
{
    const size_t before = w->h->length;
    size_t number = 0;
    for (const char *line = history; *line; line += strcspn(line, "\n"), line += *line != 0) {
        char text[EXPERIMENT_HISTORY_SIZE];
        const bool good = history_brief(line, text, sizeof text);
        for (char *at = text; good && (at = strchr(at, '=')); at++)
            *at = '~';  // dxtbx refuses a line of an SMV header that has two =
        header_append(w->h, "%sBRAGG_STAGE_%zu%s%s%s", w->style->before, ++number,
                      w->style->between, good ? text : "", w->style->behind);
        if (!good || w->h->length > most) {
            w->h->length = before;
            return;
        }
    }
}

void header_append_truth(struct header_text *h, const struct experiment *x, const struct recipe *r,
                         size_t most, const struct header_style *style)
{
    struct writer w = {h, style, 0};
    const struct incident beam = incident_beam(x, r);
    append_whole(&w, "BRAGG_FRAME", r->id);
    append_whole(&w, "BRAGG_SEED", r->seed);
    append_pulse(&w, x, r->id);
    append_key(&w, "BRAGG_LINEAGE");
    header_append(h, "%.16s%s", x->lineage, style->behind);
    append_list(&w, "BRAGG_GAIN", &x->gain, 1);
    append_beam(&w, &beam);
    append_polarization(&w, &x->beam);
    if (x->npanels && x->panels->thickness_m > 0.0)
        append_sensor(&w, x);
    append_shift(&w, r);
    append_sample(&w, r);
    append_matter(&w, r);
    append_whole(&w, "BRAGG_LATTICES", r->nlattices);
    append_stages(&w, x->history, most);
    size_t whole = h->length;
    for (; w.lattice < r->nlattices && h->length <= most; w.lattice++) {
        whole = h->length;
        append_lattice(&w, x, &r->lattices[w.lattice]);
    }
    if (h->length > most)
        h->length = whole;
}
