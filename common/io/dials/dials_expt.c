/* Writes experiment lists of DIALS. */
#include "io/dials/dials.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/nxmx/nxmx_rows.h"

/* --- sets of images ------------------------------------------------------------------ */

struct sets {
    FILE *out;
    struct dials_images images;
    const char *path;  // path of the experiment list
    uint64_t count;
};

static size_t folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash + 1 - path) : 0;
}

static void write_text(FILE *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"' || text[i] == '\\')
            fputc('\\', out);
        fputc(text[i], out);
    }
}

/* Writes the folder of the image files.  If it is the folder of the experiment list, writes
 * nothing, because DIALS searches from that folder on.  Otherwise writes the absolute path, or
 * the path as the user gave it if the folder does not exist. */
static void write_folder(const struct sets *s)
{
    const char *text = s->images.files->text;
    const size_t own = folder_of(text);
    if (own == folder_of(s->path) && memcmp(text, s->path, own) == 0)
        return;
    char *folder = mem_text("%.*s", own ? (int)own : 1, own ? text : ".");
    char *real = realpath(folder, NULL);
    if (real) {
        write_text(s->out, real, strlen(real));
        fputc('/', s->out);
    } else {
        write_text(s->out, text, own);
    }
    free(real);
    free(folder);
}

/* Writes the template of the image files, with a # for each digit of the number. */
static void write_template(const struct sets *s)
{
    const struct template *t = s->images.files;
    const size_t own = folder_of(t->text);
    write_folder(s);
    if (!template_is_numbered(t)) {  // t->start and t->end are undefined
        write_text(s->out, t->text + own, strlen(t->text + own));
        return;
    }
    write_text(s->out, t->text + own, t->start - own);
    for (int i = 0; i < (t->width ? t->width : 1); i++)
        fputc('#', s->out);
    write_text(s->out, t->text + t->end, strlen(t->text + t->end));
}

static void write_file(const struct sets *s, uint64_t id)
{
    char name[TEMPLATE_PATH_MAX];
    template_name(s->images.files, id, name);
    write_folder(s);
    write_text(s->out, name + folder_of(name), strlen(name + folder_of(name)));
}

static void write_set(void *state, const struct dials_sweep *sweep)
{
    struct sets *s = state;
    const bool still = sweep->start->osc_rad == 0.0;
    fprintf(s->out, "%s{\"__id__\": \"%s", s->count++ ? ",\n  " : "",
            still ? "ImageSet\", \"images\": [\"" : "ImageSequence\", \"template\": \"");
    if (still)
        write_file(s, sweep->start->id);
    else
        write_template(s);
    fputs(still ? "\"], " : "\", ", s->out);
    if (!template_is_numbered(s->images.files)) {
        fputs("\"single_file_indices\": [", s->out);
        for (uint64_t i = 0; i < sweep->count; i++)
            fprintf(s->out, "%s%" PRIu64, i ? ", " : "", sweep->place + i);
        fputs("], ", s->out);
    }
    fputs("\"mask\": null, \"gain\": null, \"pedestal\": null, \"dx\": null, \"dy\": null, "
          "\"params\": {\"dynamic_shadowing\": \"Auto\", \"multi_panel\": false}}",
          s->out);
}

/* Writes `"imageset": [...]`, a list with an item for each sweep.  `path` is the path of the
 * experiment list. */
static enum status write_imagesets(FILE *out, struct dials_images images, const struct records *all,
                                   const char *path, struct error *e)
{
    struct sets sets = {.out = out, .images = images, .path = path};
    const struct dials_visitor visitor = {.state = &sets, .sweep = write_set};
    fputs("\"imageset\": [", out);
    const enum status s = images.files ? dials_walk(all, &visitor, e) : STATUS_OK;
    fputs("],\n", out);
    return s;
}

/* --- models and experiments ---------------------------------------------------------- */

struct list {
    FILE *out;
    const struct experiment *x;
    struct dials_images images;
    uint64_t sweeps;  // number of sweeps so far
    bool turned[2];   // directions of rotation so far: forwards, backwards
};

/* Writes `"name": [x, y, z]` without a comma after it: the vector v, which is in our laboratory
 * frame, times `scale`. */
static void write_vector(FILE *out, const struct experiment *x, const char *name, const double v[3],
                         double scale)
{
    double turned[3];
    dials_turn(x, v, turned);
    fprintf(out, "\"%s\": [%.17g, %.17g, %.17g]", name, scale * turned[0], scale * turned[1],
            scale * turned[2]);
}

static void write_beam(void *state, const struct dials_sweep *s)
{
    struct list *l = state;
    double normal[3];
    const double fraction = dials_polarization(l->x, normal);
    fprintf(l->out, "%s{\"__id__\": \"monochromatic\", ", l->sweeps++ ? ",\n  " : "");
    write_vector(l->out, l->x, "direction", l->x->beam.direction, -1.0);
    fprintf(l->out, ", \"wavelength\": %.17g, \"divergence\": 0.0, \"sigma_divergence\": 0.0, ",
            s->start->wavelength_A);
    write_vector(l->out, l->x, "polarization_normal", normal, 1.0);
    fprintf(l->out, ", \"polarization_fraction\": %.17g, \"flux\": 0.0, \"transmission\": 1.0",
            fraction);
    if (l->x->has_probe)
        fprintf(l->out, ", \"probe\": \"%s\"", probe_nexus(l->x->probe));
    fputs("}", l->out);
}

static void write_panel(FILE *out, const struct experiment *x, const double shift_m[3], size_t i)
{
    const struct panel *p = &x->panels[i];
    double origin_m[3];
    for (int k = 0; k < 3; k++)
        origin_m[k] = p->origin_m[k] + shift_m[k];
    const double depth_m = panel_depth_m(p), pixel_mm = m_to_mm(p->pixel_m);
    fprintf(out, "%s{\"name\": \"p%zu\", \"type\": \"SENSOR_PAD\", ", i ? ",\n  " : "", i);
    write_vector(out, x, "fast_axis", p->fast, 1.0);
    fputs(", ", out);
    write_vector(out, x, "slow_axis", p->slow, 1.0);
    fputs(", ", out);
    write_vector(out, x, "origin", origin_m, 1e3);
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

/* Writes the detector.  There is one detector for all sweeps or, if the detector moves, one for
 * each sweep. */
static void write_detector(void *state, const struct dials_sweep *s)
{
    struct list *l = state;
    const struct experiment *x = l->x;
    FILE *out = l->out;
    if (l->sweeps++ && !x->detector_moves)
        return;
    fputs(l->sweeps > 1 ? ",\n  {\"panels\": [" : "{\"panels\": [", out);
    for (size_t i = 0; i < x->npanels; i++)
        write_panel(out, x, s->start->shift_m, i);
    fputs("],\n  \"hierarchy\": {\"name\": \"\", \"type\": \"\", \"fast_axis\": [1, 0, 0], "
          "\"slow_axis\": [0, 1, 0], \"origin\": [0, 0, 0], "
          "\"raw_image_offset\": [0, 0], \"image_size\": [0, 0], \"pixel_size\": [0, 0], "
          "\"trusted_range\": [0, 0], \"thickness\": 0.0, \"material\": \"\", \"mu\": 0.0, "
          "\"identifier\": \"\", \"mask\": [], \"gain\": 1.0, \"pedestal\": 0.0, "
          "\"px_mm_strategy\": {\"type\": \"SimplePxMmStrategy\"}, \"children\": [",
          out);
    for (size_t i = 0; i < x->npanels; i++)
        fprintf(out, "%s{\"panel\": %zu}", i ? ", " : "", i);
    fputs("]}}", out);
}

static bool rotates(const struct dials_sweep *s)
{
    return s->start->osc_rad != 0.0;
}

/* Returns true if the sweep rotates backwards.  DIALS does not accept a negative width.  Such a
 * sweep is therefore written as a forward rotation about the inverted axis. */
static bool is_backwards(const struct dials_sweep *s)
{
    return s->start->osc_rad < 0.0;
}

/* Returns the number of the goniometer of a sweep.  There is one goniometer for each direction
 * of rotation.  Number 0 is that of the first sweep that rotates. */
static int goniometer_of(struct list *l, const struct dials_sweep *s)
{
    if (!l->turned[0] && !l->turned[1])
        l->turned[is_backwards(s)] = true;
    return !l->turned[is_backwards(s)];
}

static void write_goniometer(void *state, const struct dials_sweep *s)
{
    struct list *l = state;
    if (!rotates(s) || l->turned[is_backwards(s)])
        return;
    l->turned[is_backwards(s)] = true;
    fputs(l->turned[!is_backwards(s)] ? ",\n  {" : "{", l->out);
    write_vector(l->out, l->x, "rotation_axis", l->x->spindle, is_backwards(s) ? -1.0 : 1.0);
    fputs(", \"fixed_rotation\": [1, 0, 0, 0, 1, 0, 0, 0, 1], "
          "\"setting_rotation\": [1, 0, 0, 0, 1, 0, 0, 0, 1]}",
          l->out);
}

/* Writes `"name": [...]`, a list with a number for each image: `first` and then `step` more for
 * each image. */
static void write_numbers(FILE *out, const char *name, const struct dials_sweep *s, double first,
                          double step)
{
    fprintf(out, "\"%s\": [", name);
    for (uint64_t i = 0; i < s->count; i++)
        fprintf(out, "%s%.17g", i ? ", " : "", first + (double)i * step);
    fputs("], ", out);
}

static void write_scan(void *state, const struct dials_sweep *s)
{
    struct list *l = state;
    const struct dials_frame *f = s->start;
    const uint64_t first = f->id + (uint64_t)dials_first_image(l->images);
    if (!rotates(s))
        return;
    fprintf(l->out,
            "%s{\"image_range\": [%" PRIu64 ", %" PRIu64
            "], \"batch_offset\": 0, \"oscillation\": [%.17g, %.17g], ",
            l->sweeps++ ? ",\n  " : "", first, first + s->count - 1,
            dials_forwards(f->osc_rad, rad_to_deg(f->phi_rad)), fabs(rad_to_deg(f->osc_rad)));
    const double exposure_s = beam_exposure_s(&l->x->beam);
    write_numbers(l->out, "exposure_time", s, exposure_s, 0);
    write_numbers(l->out, "epochs", s, (double)s->start->id * exposure_s, exposure_s);
    fputs("\"valid_image_ranges\": {}}", l->out);
}

/* Writes a crystal with its real-space axes at rotation angle 0.  r has the rows a*, b*, c* in
 * 1/A.  `mosaic` NULL: the crystal has no mosaic parameters. */
static void write_crystal(FILE *out, const struct experiment *x, const double r[9],
                          const struct dials_mosaic *mosaic)
{
    double axes[9], volume = 0.0;
    for (int i = 0; i < 3; i++)
        vec_cross(r + 3 * ((i + 1) % 3), r + 3 * ((i + 2) % 3), axes + 3 * i);
    for (int j = 0; j < 3; j++)
        volume += axes[j] * r[j];
    fputs("{\"__id__\": \"crystal\", ", out);
    for (int i = 0; i < 3; i++) {
        static const char *const name[] = {"real_space_a", "real_space_b", "real_space_c"};
        write_vector(out, x, name[i], axes + 3 * i, 1.0 / volume);
        fputs(", ", out);
    }
    fputs("\"space_group_hall_symbol\": \" P 1\"", out);
    if (mosaic)
        fprintf(out, ", \"ML_half_mosaicity_deg\": %.17g, \"ML_domain_size_ang\": %.17g",
                mosaic->half_mosaicity_deg, mosaic->domain_A);
    fputc('}', out);
}

static void write_crystals(void *state, const struct dials_sweep *s)
{
    struct list *l = state;
    for (uint64_t i = 0; i < s->start->nlattices; i++) {
        fputs(s->experiment + i ? ",\n  " : "", l->out);
        write_crystal(l->out, l->x, dials_lattice(s->start, i), dials_mosaic(s->start, i));
    }
}

static void write_experiments(void *state, const struct dials_sweep *s)
{
    struct list *l = state;
    for (uint64_t i = 0; i < s->start->nlattices; i++) {
        char name[DIALS_NAME_SIZE];
        dials_identifier(l->x, s, i, name);
        fprintf(l->out,
                "%s{\"__id__\": \"Experiment\", \"identifier\": \"%s\", \"beam\": %" PRIu64
                ", \"detector\": %" PRIu64 ", ",
                s->experiment + i ? ",\n  " : "", name, l->sweeps,
                l->x->detector_moves ? l->sweeps : 0);
        if (l->images.files)
            fprintf(l->out, "\"imageset\": %" PRIu64 ", ", l->sweeps);
        if (rotates(s))
            fprintf(l->out, "\"goniometer\": %d, \"scan\": %" PRIu64 ", ", goniometer_of(l, s),
                    l->sweeps);
        fprintf(l->out, "\"crystal\": %" PRIu64 "}", s->experiment + i);
    }
    l->sweeps++;
}

/* Writes `"name": [...]`, a list to which `item` adds an item for each sweep. */
static enum status write_list(struct list l, const char *name,
                              void (*item)(void *state, const struct dials_sweep *s),
                              const struct records *all, struct error *e)
{
    FILE *out = l.out;
    const struct dials_visitor items = {.state = &l, .sweep = item};
    fprintf(out, "\"%s\": [", name);
    const enum status s = dials_walk(all, &items, e);
    fputs("],\n", out);
    return s;
}

enum status dials_write_expt(FILE *out, const struct experiment *x, struct dials_images images,
                             const struct records *all, const char *path, struct error *e)
{
    enum status s = dials_choose_images(&images, all, e);
    const struct list l = {.out = out, .x = x, .images = images};
    fputs("{\"__id__\": \"ExperimentList\",\n", out);
    s = s ? s : write_list(l, "experiment", write_experiments, all, e);
    s = s ? s : write_imagesets(out, images, all, path, e);
    s = s ? s : write_list(l, "beam", write_beam, all, e);
    s = s ? s : write_list(l, "detector", write_detector, all, e);
    s = s ? s : write_list(l, "goniometer", write_goniometer, all, e);
    s = s ? s : write_list(l, "scan", write_scan, all, e);
    s = s ? s : write_list(l, "crystal", write_crystals, all, e);
    fputs("\"profile\": [],\n\"scaling_model\": []}\n", out);
    if (s == STATUS_OK && ferror(out))
        s = error_errno(e, STATUS_FAILED, "%s: cannot write", path);
    return s;
}
