#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "base/vec.h"
#include "io/dials.h"
#include "io/nxmx_rows.h"
#include "io/reflections_text.h"
#include "model/incident.h"

void dials_turn(const struct experiment *x, const double v[3], double out[3])
{
    double axes[9];
    nxmx_axes(x, axes);
    mat_apply(axes, v, out);
    out[0] = -out[0];
    out[2] = -out[2];
}

void dials_identifier(const struct experiment *x, const struct frame *f, size_t lattice,
                      char name[DIALS_NAME_SIZE])
{
    (void)snprintf(name, DIALS_NAME_SIZE, "%s-%" PRIu64 "-%zu", x->lineage, f->recipe.id, lattice);
}

double dials_image(const struct frame *f)
{
    return f->recipe.osc_rad != 0.0 ? (double)f->recipe.id : 0.0;
}

/* "name": [x, y, z] of our lab, times `scale`; without a comma behind it. */
static void write_vector(FILE *out, const struct experiment *x, const char *name, const double v[3],
                         double scale)
{
    double turned[3];
    dials_turn(x, v, turned);
    fprintf(out, "\"%s\": [%.17g, %.17g, %.17g]", name, scale * turned[0], scale * turned[1],
            scale * turned[2]);
}

static void write_beam(FILE *out, const struct experiment *x, const struct frame *f)
{
    const struct incident beam = incident_beam(x, &f->recipe);
    const struct beam *b = &x->beam;
    const double *d = b->direction, *e = b->polarization;
    const double normal[3] = {d[1] * e[2] - d[2] * e[1], d[2] * e[0] - d[0] * e[2],
                              d[0] * e[1] - d[1] * e[0]};
    fputs("\"beam\": [{\"__id__\": \"monochromatic\", ", out);
    write_vector(out, x, "direction", d, -1.0);
    fprintf(out, ", \"wavelength\": %.17g, \"divergence\": 0.0, \"sigma_divergence\": 0.0, ",
            m_to_angstrom(beam.mean_m));
    write_vector(out, x, "polarization_normal", normal, 1.0);
    fprintf(out, ", \"polarization_fraction\": %.17g, \"flux\": 0.0, \"transmission\": 1.0}],\n",
            b->no_polarization ? 0.5 : 0.5 * (1.0 + b->kahn));
}

static void write_panel(FILE *out, const struct experiment *x, size_t i)
{
    const struct panel *p = &x->panels[i];
    const double depth_m = panel_depth_m(p), pixel_mm = m_to_mm(p->pixel_m);
    fprintf(out, "%s{\"name\": \"p%zu\", \"type\": \"SENSOR_PAD\", ", i ? ",\n  " : "", i);
    write_vector(out, x, "fast_axis", p->fast, 1.0);
    fputs(", ", out);
    write_vector(out, x, "slow_axis", p->slow, 1.0);
    fputs(", ", out);
    write_vector(out, x, "origin", p->origin_m, 1e3);
    fprintf(out,
            ", \"raw_image_offset\": [0, 0], \"image_size\": [%" PRId64 ", %" PRId64
            "], \"pixel_size\": [%.17g, %.17g], \"trusted_range\": [0, %.17g], ",
            p->fast_pixels, p->slow_pixels, pixel_mm, pixel_mm,
            x->saturation > 0.0 ? x->saturation : 2147483647.0);
    fprintf(out,
            "\"thickness\": %.17g, \"material\": \"%s\", \"mu\": %.17g, \"identifier\": \"\", "
            "\"mask\": [], \"gain\": %.17g, \"pedestal\": %.17g, \"px_mm_strategy\": {\"type\": "
            "\"%s\"}}",
            m_to_mm(depth_m), panel_material(p), p->absorption_1_m * 1e-3,
            x->gain > 0.0 ? x->gain : 1.0, x->adc_offset,
            depth_m > 0.0 ? "ParallaxCorrectedPxMmStrategy" : "SimplePxMmStrategy");
}

static void write_detector(FILE *out, const struct experiment *x)
{
    fputs("\"detector\": [{\"panels\": [", out);
    for (size_t i = 0; i < x->npanels; i++)
        write_panel(out, x, i);
    fputs("],\n  \"hierarchy\": {\"name\": \"\", \"type\": \"\", \"fast_axis\": [1, 0, 0], "
          "\"slow_axis\": [0, 1, 0], \"origin\": [0, 0, 0], "
          "\"raw_image_offset\": [0, 0], \"image_size\": [0, 0], \"pixel_size\": [0, 0], "
          "\"trusted_range\": [0, 0], \"thickness\": 0.0, \"material\": \"\", \"mu\": 0.0, "
          "\"identifier\": \"\", \"mask\": [], \"gain\": 1.0, \"pedestal\": 0.0, "
          "\"px_mm_strategy\": {\"type\": \"SimplePxMmStrategy\"}, \"children\": [",
          out);
    for (size_t i = 0; i < x->npanels; i++)
        fprintf(out, "%s{\"panel\": %zu}", i ? ", " : "", i);
    fputs("]}}],\n", out);
}

/* One image, of a rotation. */
static void write_scan(FILE *out, const struct experiment *x, const struct frame *f)
{
    const struct recipe *r = &f->recipe;
    fputs("\"goniometer\": [{", out);
    write_vector(out, x, "rotation_axis", x->spindle, 1.0);
    fputs(", \"fixed_rotation\": [1, 0, 0, 0, 1, 0, 0, 0, 1], "
          "\"setting_rotation\": [1, 0, 0, 0, 1, 0, 0, 0, 1]}],\n",
          out);
    fprintf(out,
            "\"scan\": [{\"image_range\": [%" PRIu64 ", %" PRIu64
            "], \"batch_offset\": 0, \"oscillation\": [%.17g, %.17g], \"exposure_time\": [1], "
            "\"epochs\": [%" PRIu64 ".0], \"valid_image_ranges\": {}}],\n",
            r->id + 1, r->id + 1, rad_to_deg(r->phi_rad), rad_to_deg(r->osc_rad), r->id);
}

/* Real axes before the spindle turns. */
static void write_crystal(FILE *out, const struct experiment *x, const struct lattice *l)
{
    const double *r = l->reciprocal_A;
    double axes[9], volume = 0.0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const double *u = r + 3 * ((i + 1) % 3), *v = r + 3 * ((i + 2) % 3);
            axes[3 * i + j] = u[(j + 1) % 3] * v[(j + 2) % 3] - u[(j + 2) % 3] * v[(j + 1) % 3];
        }
    for (int j = 0; j < 3; j++)
        volume += axes[j] * r[j];
    fputs("{\"__id__\": \"crystal\", ", out);
    for (int i = 0; i < 3; i++) {
        static const char *const name[] = {"real_space_a", "real_space_b", "real_space_c"};
        write_vector(out, x, name[i], axes + 3 * i, 1.0 / volume);
        fputs(", ", out);
    }
    fputs("\"space_group_hall_symbol\": \" P 1\"}", out);
}

enum status dials_write_expt(FILE *out, const struct experiment *x, const struct frame *f,
                             const char *path, struct error *e)
{
    const bool rotates = f->recipe.osc_rad != 0.0;
    const enum status s = reflections_check(f, path, e);
    if (s)
        return s;
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].curved)
            return error_set(e, STATUS_INPUT, "%s: DIALS has no curved detectors", path);
    fputs("{\"__id__\": \"ExperimentList\",\n\"experiment\": [", out);
    for (size_t i = 0; i < f->recipe.nlattices; i++) {
        char name[DIALS_NAME_SIZE];
        dials_identifier(x, f, i, name);
        fprintf(out,
                "%s{\"__id__\": \"Experiment\", \"identifier\": \"%s\", \"beam\": 0, "
                "\"detector\": 0, %s\"crystal\": %zu}",
                i ? ",\n  " : "", name, rotates ? "\"goniometer\": 0, \"scan\": 0, " : "", i);
    }
    fputs("],\n\"imageset\": [],\n", out);
    write_beam(out, x, f);
    write_detector(out, x);
    if (rotates)
        write_scan(out, x, f);
    else
        fputs("\"goniometer\": [],\n\"scan\": [],\n", out);
    fputs("\"crystal\": [", out);
    for (size_t i = 0; i < f->recipe.nlattices; i++) {
        fputs(i ? ",\n  " : "", out);
        write_crystal(out, x, &f->recipe.lattices[i]);
    }
    fputs("],\n\"profile\": [],\n\"scaling_model\": []}\n", out);
    return ferror(out) ? error_errno(e, STATUS_FAILED, "%s: cannot write", path) : STATUS_OK;
}
