/*
 * bragg-nonbragg: the command line and the files of nonBragg.  It computes the scattering of
 * amorphous matter into every pixel, from a radial table of F.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/opt.h"
#include "base/units.h"
#include "io/beam/nanobragg_text.h"
#include "io/images/smv.h"
#include "io/structure_factors/hkl.h"
#include "legacy.h"
#include "nanobragg_options.h"
#include "physics/background/amorphous.h"
#include "physics/beam/beam.h"
#include "physics/beam/polarization.h"
#include "physics/detector/detector.h"
#include "physics/detector/pixel.h"
#include "physics/request.h"

static const struct opt_program program = {
    .name = "bragg-nonbragg",
    .summary = "Simulate amorphous scattering with nonBragg's command line and files.",
    .examples = "bragg-nonbragg -stol water.stol -thickness 0.1 -flux 1e12 -detpixels 512\n"
                "bragg-nonbragg -stol air.stol -thickness 30 -density 1.2e-3 -MW 29 -flux 1e12",
    .details = "Flags are nonBragg's: -stol FILE -thickness MM -density G/CM3 -MW G/MOL "
               "-detpixels N -pixel MM -distance MM -lambda A -flux PH/S -exposure S -beamsize MM "
               "and others: see bragg-nonbragg(1).",
};

/* --- the command line -------------------------------------------------------- */

/* The values of all flags. */
struct nonbragg {
    struct nanobragg shared;  // flags shared with nanoBragg; crystal.size_m is the size of the
                              // sample along the beam, y, z
    const char *table_path;
    enum stol_unit table_unit;
    double density_g_cm3, mass_g_mol;
    double molecules;  // 0: computed from sample, density and mass
    bool F_map;        // the float image shows F, not photons
};

enum {
    FLAG_STOL = 1,
    FLAG_4STOL,
    FLAG_Q,
    FLAG_DENSITY,
    FLAG_MW,
    FLAG_MOLECULES,
    FLAG_FMAP,
    FLAG_SHARED,     // a flag shared with nanoBragg, whose parser handles it
    FLAG_THICKNESS,  // another name of nanoBragg's -sample_x
};

static const struct legacy_flag own[] = {
    {"-stol", FLAG_STOL, LEGACY_TEXT, 1, 1},
    {"-4stol", FLAG_4STOL, LEGACY_TEXT, 1, 1},
    {"-Q", FLAG_Q, LEGACY_TEXT, 1, 1},
    {"-thickness", FLAG_THICKNESS, LEGACY_REAL, 1, 1},
    {"-density", FLAG_DENSITY, LEGACY_REAL, 1, 1},
    {"-MW", FLAG_MW, LEGACY_REAL, 1, 1},
    {"-molecules", FLAG_MOLECULES, LEGACY_REAL, 1, 1},
    {"-Fmap", FLAG_FMAP, LEGACY_NONE, 0, 0},
    {"-gain", LEGACY_NO_EFFECT, LEGACY_REAL, 1, 1},
};
enum { OWN = sizeof own / sizeof *own, FLAGS_MAX = 128 };

/* The names of the flags of nanoBragg that nonBragg also has. */
static const char shared[] =
    " -sample_x -sample_y -sample_z -width -heigh* -samplesize -pixel -detpixels"
    " -detpixels_f -detpixels_s -detpixels_x -detpixels_y -detsize -detsize_f -detsize_s"
    " -distance -close_distance -Xbeam -Ybeam -Xclose -Yclose -ORGX -ORGY -pivot -twotheta"
    " -detector_rotx -detector_roty -detector_rotz -fdet_vector -sdet_vector -odet_vector"
    " -beam_vector -polar_vector -spindle_axis -twotheta_axis -pix0_vector -curved_det"
    " -point_pixel -roi -oversample -lambda -wave* -energy -dispersion -dispsteps"
    " -divergence -hdivrange -vdivrange -hdivstep -vdivstep -hdivsteps -vdivsteps -divsteps"
    " -round_div -square_div -sourcefile -fluence -flux -exposure -beamsize -polar -nopolar"
    " -scale -pgmscale -adc -seed -floatfile -floatimage -intfile -intimage -pgmfile"
    " -pgmimage -noisefile -noiseimage -nonoise -nopgm -printout -progress -noprogress ";

static bool is_shared(const char *name)
{
    const size_t length = strlen(name);
    const char *at = strstr(shared, name);
    while (at && (at[-1] != ' ' || at[length] != ' '))
        at = strstr(at + 1, name);
    return at;
}

/* Fills flags[] with all flags of nonBragg. Shared flags have the same number of values as in
 * nanoBragg. */
static void list_flags(struct legacy_flag flags[FLAGS_MAX])
{
    size_t n = OWN;
    memcpy(flags, own, sizeof own);
    for (const struct legacy_flag *f = nanobragg_flags; f->name && n < FLAGS_MAX - 1; f++)
        if (is_shared(f->name)) {
            flags[n] = *f;
            flags[n++].id = FLAG_SHARED;
        }
    flags[n] = (struct legacy_flag){0};
}

static void set_defaults(struct nonbragg *n)
{
    *n = (struct nonbragg){.density_g_cm3 = 1.0, .mass_g_mol = 18.0};
    nanobragg_defaults(&n->shared, PHYSICS_FAITHFUL);
    n->shared.request.detector.convention = CONVENTION_CUSTOM;
    n->shared.request.oversample = 1;
    for (int i = 0; i < 3; i++)
        n->shared.crystal.size_m[i] = mm_to_m(0.1);
}

static void take_table(struct nonbragg *n, const char *path, enum stol_unit unit)
{
    n->table_path = path;
    n->table_unit = unit;
}

static void take_own(struct nonbragg *n, const struct legacy_option *f)
{
    switch (f->id) {
    case FLAG_STOL:
        take_table(n, f->text[0], STOL_STOL);
        break;
    case FLAG_4STOL:
        take_table(n, f->text[0], STOL_4STOL);
        break;
    case FLAG_Q:
        take_table(n, f->text[0], STOL_Q);
        break;
    case FLAG_DENSITY:
        n->density_g_cm3 = f->real[0];
        break;
    case FLAG_MW:
        n->mass_g_mol = f->real[0];
        break;
    case FLAG_FMAP:
        n->F_map = true;
        break;
    default:
        n->molecules = f->real[0];
        break;
    }
}

/* Applies the flags that only nonBragg has. Stores the flags shared with nanoBragg, with their
 * values, in `rest` in the given order, and the number of items in *count. */
static enum status take_flags(struct nonbragg *n, int argc, char **argv, char **rest, int *count,
                              struct error *e)
{
    static char sample_x[] = "-sample_x";
    struct legacy_flag flags[FLAGS_MAX];
    list_flags(flags);
    struct legacy_args args = legacy_args(flags, argc, argv);
    struct legacy_option f;
    enum status status;
    rest[0] = argv[0];
    *count = 1;
    while (!(status = legacy_next(&args, &f, e)) && f.id) {
        if (f.id < FLAG_SHARED) {
            take_own(n, &f);
            continue;
        }
        int flag = args.next - f.count - 1;
        rest[(*count)++] = f.id == FLAG_THICKNESS ? sample_x : argv[flag];
        for (int i = flag + 1; i < args.next; i++)
            rest[(*count)++] = argv[i];
    }
    if (!status)
        legacy_warn(&args);
    return status;
}

/* Sets *n to the defaults of nonBragg (CUSTOM convention, oversample 1, a cube of 0.1 mm of water),
 * then parses the flags of argv into it. */
static enum status parse_flags(struct nonbragg *n, int argc, char **argv, struct error *e)
{
    set_defaults(n);
    char **rest = mem_array((size_t)argc + 1, sizeof *rest);
    int count;
    enum status s = take_flags(n, argc, argv, rest, &count, e);
    if (!s)
        s = nanobragg_parse(&n->shared, count, rest, e);
    mem_free(rest);
    if (!s && !n->table_path)
        return error_set(e, STATUS_USAGE, "the table is missing. Give -stol, -4stol or -Q FILE");
    return s;
}

/* --- the image --------------------------------------------------------------- */

/* Input of the pixel loop. */
struct scene {
    struct panel panel;
    struct beam beam;
    struct amorphous table;
    int oversample;
    double molecules;
    bool F_map;
};

/* The sums over the terms of a pixel. */
struct pixel_sums {
    double sum;  // electrons^2 sr
    double F;    // F of the last term, in electrons
};

/* Sets the numbers of pixels along fast and slow. nonBragg rounds these numbers up [4.3]: 10.03
 * mm of 0.1 mm pixels are 101 pixels. */
static enum status set_counts(struct detector_request *d, struct error *e)
{
    enum status s = check_range("pixel size", d->pixel_m, 1e-3, "mm", 1e-4, 1e3, e);
    for (int i = 0; i < 2 && !s; i++) {
        if (d->pixels[i])
            d->size_m[i] = d->pixel_m * (double)d->pixels[i];
        double count = ceil(d->size_m[i] / d->pixel_m);
        s = check_range("number of pixels", count, 1.0, "", 1.0, LIMIT_EDGE_PIXELS, e);
        d->pixels[i] = s ? 0 : (int64_t)count;
    }
    return s;
}

/* Sets the beam centre with the rules of nonBragg: if no beam centre is given, or if the pivot
 * is SAMPLE, the point nearest to the sample is used as the beam centre. */
static void set_centre(struct detector_request *d)
{
    const double close_m[] = {(d->size_m[0] - d->pixel_m) / 2.0, (d->size_m[1] + d->pixel_m) / 2.0};
    for (int i = 0; i < 2; i++) {
        const double near_m = !isnan(d->org_px[i])    ? d->org_px[i] * d->pixel_m
                              : !isnan(d->close_m[i]) ? d->close_m[i]
                                                      : close_m[i];
        if (d->pivot == PIVOT_SAMPLE || isnan(d->beam_m[i]))
            d->beam_m[i] = near_m;
        d->org_px[i] = d->close_m[i] = (double)NAN;
    }
}

/* Sets the normal of the detector, which is always perpendicular to the fast and slow axes. */
static void set_normal(struct detector_request *d)
{
    const struct frame_axes *axes = convention_axes(CONVENTION_CUSTOM);
    double fast[3], slow[3];
    vec_unit(isnan(d->fast[0]) ? axes->fast : d->fast, fast);
    vec_unit(isnan(d->slow[0]) ? axes->slow : d->slow, slow);
    vec_cross(fast, slow, d->normal);
    vec_unit(d->normal, d->normal);
}

static enum status set_beam(struct nonbragg *o, const struct frame_axes *axes, struct beam *beam,
                            struct error *e)
{
    struct beam_request *r = &o->shared.request.beam;
    struct source *listed = NULL;
    enum status s = STATUS_OK;
    if (o->shared.source_file)
        s = sources_read(o->shared.source_file, PHYSICS_FAITHFUL, axes->beam, r->wavelength_m,
                         &listed, &r->nlisted, e);
    r->listed = listed;
    if (!s)
        s = beam_setup(r, axes, beam, e);
    for (size_t i = 0; !s && i < r->nlisted; i++)
        beam->sources[i].weight = listed[i].weight;  // nonBragg uses weights as they are
    mem_free(listed);
    return s;
}

/* Computes the number of molecules in the beam. Across the beam, the sample is limited to the
 * size of the beam. */
static enum status set_molecules(struct nonbragg *o, double *molecules, struct error *e)
{
    static const char *const names[3] = {"sample thickness", "sample width", "sample height"};
    double *sample_m = o->shared.crystal.size_m;
    enum status s;
    for (int i = 0; i < 3; i++)
        if ((s = check_range(names[i], sample_m[i], 1e-3, "mm", 0.0, 1e6, e)))
            return s;
    if ((s = check_range("-density", o->density_g_cm3, 1.0, "g/cm^3", 0.0, 1e3, e)) ||
        (s = check_range("-MW", o->mass_g_mol, 1.0, "g/mol", 1e-6, 1e12, e)) ||
        (s = check_range("-molecules", o->molecules, 1.0, "", 0.0, 1e40, e)))
        return s;
    double beam_m = o->shared.request.beam.size_m;
    for (int i = 1; i < 3; i++)
        if (beam_m >= 0.0 && sample_m[i] > beam_m)
            sample_m[i] = beam_m;
    *molecules = o->molecules > 0.0
                     ? o->molecules
                     : amorphous_molecules(sample_m, o->density_g_cm3, o->mass_g_mol);
    return STATUS_OK;
}

static enum status set_table(const struct nonbragg *o, struct amorphous *table, struct error *e)
{
    struct stol_table rows;
    struct error why = {0};
    enum status s = stol_read(o->table_path, o->table_unit, true, &rows, e);
    if (!s && (s = amorphous_make(table, rows.stol_1_m, rows.F, rows.rows, false, &why)))
        error_set(e, s, "%s: %s", o->table_path, why.text);
    stol_free(&rows);
    return s;
}

/* Prepares everything that the pixel loop needs.  *scene must be {0}; close_scene frees it. */
static enum status set_scene(struct nonbragg *o, struct scene *scene, struct error *e)
{
    struct request *r = &o->shared.request;
    struct frame_axes axes;
    enum status s;
    if ((s = set_table(o, &scene->table, e)) || (s = set_counts(&r->detector, e)))
        return s;
    set_centre(&r->detector);
    set_normal(&r->detector);
    if ((s = detector_axes(r, &axes, e)) || (s = detector_panel(r, &axes, &scene->panel, e)) ||
        (s = set_beam(o, &axes, &scene->beam, e)) || (s = set_molecules(o, &scene->molecules, e)) ||
        (s = check_range("-oversample", (double)r->oversample, 1.0, "", 1.0, LIMIT_OVERSAMPLE, e)))
        return s;
    scene->oversample = (int)r->oversample;
    scene->F_map = o->F_map;
    return STATUS_OK;
}

static void close_scene(struct scene *scene)
{
    amorphous_free(&scene->table);
    mem_free(scene->beam.sources);
}

/* Adds the scattering of all sources into the subpixel at `position` to *out. The sources are
 * added in their order. */
static void scatter(const struct scene *scene, const double position[3], struct pixel_sums *out)
{
    const struct beam *beam = &scene->beam;
    double diffracted[3];
    double airpath = vec_unit(position, diffracted);
    double omega = pixel_solid_angle(&scene->panel, airpath);
    for (size_t i = 0; i < beam->nsources; i++) {
        const struct source *source = &beam->sources[i];
        double incident[3];
        vec_scale(source->direction, -1.0, incident);
        double stol = amorphous_stol(incident, diffracted, source->wavelength_m);
        double polar = 1.0;
        if (!beam->no_polarization)
            polar = polarization_faithful(beam->kahn, incident, diffracted, beam->polarization);
        out->sum += amorphous_intensity(&scene->table, stol) * polar * omega * source->weight;
        if (scene->F_map)
            out->F = amorphous_F(&scene->table, stol);
    }
}

static float pixel(const struct scene *scene, int64_t fast, int64_t slow)
{
    const struct beam *beam = &scene->beam;
    int n = scene->oversample;
    struct pixel_sums total = {0};
    for (int sub_slow = 0; sub_slow < n; sub_slow++)
        for (int sub_fast = 0; sub_fast < n; sub_fast++) {
            double position[3];
            pixel_position(&scene->panel, PHYSICS_FAITHFUL, beam->direction, fast, slow, 0,
                           sub_fast, sub_slow, n, position);
            scatter(scene, position, &total);
        }
    if (scene->F_map)
        return (float)total.F;
    double steps = (double)beam->nsources * (double)n * (double)n;
    return (float)(total.sum * ELECTRON_RADIUS_SQR_M2 * beam->fluence_ph_m2 * scene->molecules /
                   steps);
}

static void fill_image(const struct scene *scene, float *pixels)
{
    const struct panel *p = &scene->panel;
    for (int64_t s = p->roi.slow_min; s <= p->roi.slow_max; s++)
        for (int64_t f = p->roi.fast_min; f <= p->roi.fast_max; f++)
            pixels[s * p->fast_pixels + f] = pixel(scene, f, s);
}

static enum status write_files(const struct nonbragg *o, const struct scene *scene,
                               const float *pixels, struct error *e)
{
    const struct nanobragg *n = &o->shared;
    const struct legacy_files files = nanobragg_files(n);
    static struct header_text header;  // too large for a stack
    struct ran1 random = {0};
    smv_header_nonbragg(&header, &scene->panel, n->request.detector.size_m[1],
                        scene->beam.wavelength_m, 0.0, 0.0);
    return legacy_files_write(&files, &scene->panel, pixels, &header, &random, e);
}

static enum status run_nonbragg(int argc, char **argv, struct error *e)
{
    struct nonbragg o;
    struct scene scene = {0};
    float *pixels = NULL;
    enum status s = parse_flags(&o, argc, argv, e);
    if (!s && !(s = set_scene(&o, &scene, e))) {
        const struct panel *p = &scene.panel;
        pixels = mem_array((size_t)(p->fast_pixels * p->slow_pixels), sizeof *pixels);
    }
    if (!s) {
        fill_image(&scene, pixels);
        s = write_files(&o, &scene, pixels, e);
    }
    mem_free(pixels);
    close_scene(&scene);
    return s;
}

int main(int argc, char **argv)
{
    return legacy_main(&program, run_nonbragg, argc, argv);
}
