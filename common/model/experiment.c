#include "model/experiment.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"

void crystal_cell(const struct crystal *c, double cell[6])
{
    for (int i = 0; i < 3; i++) {
        cell[i] = c->cell_A[i];
        cell[3 + i] = rad_to_deg(c->cell_rad[i]);
    }
}

double beam_exposure_s(const struct beam *b)
{
    return b->has_exposure ? b->exposure_s : 1.0;
}

double beam_height_m(const struct beam *b)
{
    return b->has_height ? b->height_m : b->size_m;
}

double panel_depth_m(const struct panel *p)
{
    return !p->curved && (p->layers > 1 || p->layer_depth_m > 0.0) ? p->thickness_m : 0.0;
}

const char *panel_material(const struct panel *p)
{
    return *p->material ? p->material : "Si";
}

bool panel_computes(const struct panel *p, int64_t fast, int64_t slow)
{
    const struct roi *r = &p->roi;
    return fast >= r->fast_min && fast <= r->fast_max && slow >= r->slow_min &&
           slow <= r->slow_max && (!p->mask || p->mask[slow * p->fast_pixels + fast]);
}

bool panel_is_whole(const struct panel *p)
{
    return !p->mask && p->roi.fast_min <= 0 && p->roi.slow_min <= 0 &&
           p->roi.fast_max >= p->fast_pixels - 1 && p->roi.slow_max >= p->slow_pixels - 1;
}

bool panel_holds(const struct panel *p, int64_t pixel)
{
    return pixel >= p->first_pixel && pixel < p->first_pixel + p->fast_pixels * p->slow_pixels;
}

int64_t experiment_pixels(const struct experiment *x)
{
    int64_t pixels = 0;
    for (size_t i = 0; i < x->npanels; i++)
        pixels += x->panels[i].fast_pixels * x->panels[i].slow_pixels;
    return pixels;
}

void experiment_drop_tables(struct experiment *x)
{
    for (size_t i = 0; i < x->ncrystals; i++) {
        struct hkl_table *table = &x->crystals[i].table;
        mem_free(table->F);
        table->F = NULL;
        memset(table->count, 0, sizeof table->count);
    }
}

int64_t experiment_rows(const struct experiment *x)
{
    int64_t rows = 0;
    for (size_t i = 0; i < x->npanels; i++)
        rows += x->panels[i].slow_pixels;
    return rows;
}

uint32_t experiment_mask_word(const struct experiment *x, int64_t pixel)
{
    const int why = x->reasons ? x->reasons[pixel] : 0;
    return why ? (why & REASON_DEAD ? 1u << 1 : 0u) | (why & REASON_NOISY ? 1u << 4 : 0u) |
                     (why & REASON_SHADOW ? 1u << 8 : 0u)
               : 1u;
}

void panel_complete_true(struct panel *p, const struct panel *of)
{
    const struct panel place = *p;
    *p = *of;
    p->mask = NULL;
    p->grid_fast = p->grid_slow = 0;
    vec_copy(p->fast, place.fast);
    vec_copy(p->slow, place.slow);
    vec_copy(p->normal, place.normal);
    vec_copy(p->origin_m, place.origin_m);
    p->distance_m = place.distance_m;
    p->close_distance_m = place.close_distance_m;
    p->beam_fast_m = place.beam_fast_m;
    p->beam_slow_m = place.beam_slow_m;
    p->close_fast_m = place.close_fast_m;
    p->close_slow_m = place.close_slow_m;
    p->beam_x_mm = m_to_mm(place.beam_fast_m);
    p->beam_y_mm = m_to_mm(place.beam_slow_m);
    p->layers = place.layers;
    p->layer_m = place.layer_m;
    p->layer_depth_m = place.layer_depth_m;
}

/* Moves the panels of `to` to the true places of *x.  They keep their masks. */
static void move_to_true(struct panel *to, const struct experiment *x)
{
    for (size_t i = 0; i < x->ntrue_panels; i++) {
        struct panel moved = x->true_panels[i];
        panel_complete_true(&moved, &to[i]);
        moved.mask = to[i].mask;
        to[i] = moved;
    }
}

/* Sets `out` to the unit vector along that part of -v that is perpendicular to the unit vector
 * z.  Returns false if v is parallel to z; `out` is then undefined. */
static bool turn_against(const double v[3], const double z[3], double out[3])
{
    const double along = v[0] * z[0] + v[1] * z[1] + v[2] * z[2];
    for (int i = 0; i < 3; i++)
        out[i] = along * z[i] - v[i];
    const double length = sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
    for (int i = 0; i < 3; i++)
        out[i] /= length;
    return length > 1e-6;
}

void experiment_nexus_axes(const struct experiment *x, double axes[9])
{
    double *X = axes, *Y = axes + 3, *Z = axes + 6;
    memcpy(Z, x->beam.direction, 3 * sizeof *Z);
    if (!turn_against(x->spindle, Z, X) && !turn_against(x->panels->fast, Z, X))
        (void)turn_against(x->panels->slow, Z, X);
    for (int i = 0; i < 3; i++)
        Y[i] = Z[(i + 1) % 3] * X[(i + 2) % 3] - Z[(i + 2) % 3] * X[(i + 1) % 3];
}

void experiment_take_true(struct experiment *x)
{
    move_to_true(x->panels, x);
    experiment_drop_true(x);
}

void experiment_view_true(struct experiment *view, const struct experiment *x)
{
    *view = *x;
    view->panels = mem_copy(x->panels, x->npanels, sizeof *x->panels);
    move_to_true(view->panels, x);
    view->true_panels = NULL;
    view->ntrue_panels = 0;
    view->is_misaligned = false;
}

void experiment_view_close(struct experiment *view)
{
    mem_free(view->panels);
    memset(view, 0, sizeof *view);
}

void experiment_drop_true(struct experiment *x)
{
    mem_free(x->true_panels);
    x->true_panels = NULL;
    x->ntrue_panels = 0;
    x->is_misaligned = false;
}

void experiment_free(struct experiment *x)
{
    experiment_drop_true(x);
    mem_free(x->reasons);
    experiment_drop_tables(x);
    for (size_t i = 0; i < x->npanels; i++)
        mem_free(x->panels[i].mask);
    mem_free(x->panels);
    mem_free(x->crystals);
    mem_free(x->beam.sources);
    memset(x, 0, sizeof *x);
}

static void copy_panels(struct experiment *to, const struct experiment *from)
{
    to->panels = mem_copy(from->panels, from->npanels, sizeof *from->panels);
    for (size_t i = 0; i < to->npanels; i++) {
        const struct panel *panel = &from->panels[i];
        if (panel->mask)
            to->panels[i].mask =
                mem_copy(panel->mask, (size_t)panel->fast_pixels, (size_t)panel->slow_pixels);
    }
}

static void copy_crystals(struct experiment *to, const struct experiment *from)
{
    to->crystals = mem_copy(from->crystals, from->ncrystals, sizeof *from->crystals);
    for (size_t i = 0; i < to->ncrystals; i++) {
        const struct hkl_table *table = &from->crystals[i].table;
        const size_t rows = (size_t)table->count[0] * (size_t)table->count[1];
        if (table->F)
            to->crystals[i].table.F =
                mem_copy(table->F, rows, (size_t)table->count[2] * sizeof *table->F);
    }
}

void experiment_copy(struct experiment *to, const struct experiment *from)
{
    *to = *from;
    to->reasons = mem_copy(from->reasons, from->reasons ? (size_t)experiment_pixels(from) : 0, 1);
    to->beam.sources =
        mem_copy(from->beam.sources, from->beam.nsources, sizeof *from->beam.sources);
    copy_panels(to, from);
    to->true_panels = mem_copy(from->true_panels, from->ntrue_panels, sizeof *from->true_panels);
    copy_crystals(to, from);
}

enum { FIDUCIAL_HZ = 360 };
#define SECOND_NS UINT64_C(1000000000)

uint64_t pulse_place(const struct pulse_ids *p, uint64_t frame)
{
    return p->train_pulses ? frame % p->train_pulses : 0;
}

bool pulse_lit(const struct pulse_ids *p, uint64_t frame)
{
    const uint64_t period = p->pump_light + p->pump_dark;
    return p->has_pump && period && frame % period < p->pump_light;
}

static size_t facility_numbers(const struct pulse_ids *p, uint64_t frame, struct pulse_number *list)
{
    const uint64_t train = p->train_pulses ? p->train_pulses : 1, ticks = frame * p->step;
    switch (p->facility) {
    case FACILITY_EUXFEL:
        list[0] = (struct pulse_number){"trainId", p->first + frame / train};
        list[1] = (struct pulse_number){"pulseId", pulse_place(p, frame) * p->step};
        return 2;
    case FACILITY_LCLS:
        list[0] = (struct pulse_number){"seconds", p->start_s + ticks / FIDUCIAL_HZ};
        list[1] =
            (struct pulse_number){"nanoseconds", ticks % FIDUCIAL_HZ * SECOND_NS / FIDUCIAL_HZ};
        list[2] = (struct pulse_number){"fiducial", (p->first + ticks) % PULSE_FIDUCIALS};
        return 3;
    case FACILITY_SWISSFEL:
        list[0] = (struct pulse_number){"pulse_id", p->first + ticks};
        return 1;
    case FACILITY_SACLA:
        list[0] = (struct pulse_number){"tag", p->first + ticks};
        return 1;
    case FACILITY_NONE:
        break;
    }
    return 0;
}

size_t pulse_numbers(const struct pulse_ids *p, uint64_t frame,
                     struct pulse_number list[PULSE_NUMBERS_MAX])
{
    size_t n = facility_numbers(p, frame, list);
    if (p->has_cells)
        list[n++] = (struct pulse_number){"cellId", pulse_place(p, frame)};
    if (p->has_pump)
        list[n++] = (struct pulse_number){"laser", pulse_lit(p, frame)};
    return n;
}
