#include "nonbragg_options.h"

#include "base/alloc.h"
#include "base/units.h"
#include "legacy_options.h"

enum {
    FLAG_STOL = 1,
    FLAG_4STOL,
    FLAG_Q,
    FLAG_DENSITY,
    FLAG_MW,
    FLAG_MOLECULES,
    FLAG_FMAP,
    FLAG_SHARED,     // with nanoBragg, whose parser takes it
    FLAG_THICKNESS,  // nanoBragg's -sample_x by another name
};

#define SHARED(name, type, count)                      \
    {                                                  \
        name, FLAG_SHARED, LEGACY_##type, count, count \
    }

static const struct legacy_flag flags[] = {
    {"-stol", FLAG_STOL, LEGACY_TEXT, 1, 1},
    {"-4stol", FLAG_4STOL, LEGACY_TEXT, 1, 1},
    {"-Q", FLAG_Q, LEGACY_TEXT, 1, 1},
    {"-thickness", FLAG_THICKNESS, LEGACY_REAL, 1, 1},
    {"-density", FLAG_DENSITY, LEGACY_REAL, 1, 1},
    {"-MW", FLAG_MW, LEGACY_REAL, 1, 1},
    {"-molecules", FLAG_MOLECULES, LEGACY_REAL, 1, 1},
    {"-Fmap", FLAG_FMAP, LEGACY_NONE, 0, 0},
    {"-gain", LEGACY_NO_EFFECT, LEGACY_REAL, 1, 1},
    /* sample */
    SHARED("-sample_x", REAL, 1),
    SHARED("-sample_y", REAL, 1),
    SHARED("-sample_z", REAL, 1),
    SHARED("-width", REAL, 1),
    SHARED("-heigh*", REAL, 1),
    SHARED("-samplesize", REAL, 1),
    /* detector */
    SHARED("-pixel", REAL, 1),
    SHARED("-detpixels", INT, 1),
    SHARED("-detpixels_f", INT, 1),
    SHARED("-detpixels_s", INT, 1),
    SHARED("-detpixels_x", INT, 1),
    SHARED("-detpixels_y", INT, 1),
    SHARED("-detsize", REAL, 1),
    SHARED("-detsize_f", REAL, 1),
    SHARED("-detsize_s", REAL, 1),
    SHARED("-distance", REAL, 1),
    SHARED("-close_distance", REAL, 1),
    SHARED("-Xbeam", REAL, 1),
    SHARED("-Ybeam", REAL, 1),
    SHARED("-Xclose", REAL, 1),
    SHARED("-Yclose", REAL, 1),
    SHARED("-ORGX", REAL, 1),
    SHARED("-ORGY", REAL, 1),
    SHARED("-pivot", TEXT, 1),
    SHARED("-twotheta", REAL, 1),
    SHARED("-detector_rotx", REAL, 1),
    SHARED("-detector_roty", REAL, 1),
    SHARED("-detector_rotz", REAL, 1),
    SHARED("-fdet_vector", REAL, 3),
    SHARED("-sdet_vector", REAL, 3),
    SHARED("-odet_vector", REAL, 3),
    SHARED("-beam_vector", REAL, 3),
    SHARED("-polar_vector", REAL, 3),
    SHARED("-spindle_axis", REAL, 3),
    SHARED("-twotheta_axis", REAL, 3),
    SHARED("-pix0_vector", REAL, 3),
    SHARED("-curved_det", NONE, 0),
    SHARED("-point_pixel", NONE, 0),
    SHARED("-roi", INT, 4),
    SHARED("-oversample", INT, 1),
    /* beam */
    SHARED("-lambda", REAL, 1),
    SHARED("-wave*", REAL, 1),
    SHARED("-energy", REAL, 1),
    SHARED("-dispersion", REAL, 1),
    SHARED("-dispsteps", INT, 1),
    SHARED("-divergence", REAL, 1),
    SHARED("-hdivrange", REAL, 1),
    SHARED("-vdivrange", REAL, 1),
    SHARED("-hdivstep", REAL, 1),
    SHARED("-vdivstep", REAL, 1),
    SHARED("-hdivsteps", INT, 1),
    SHARED("-vdivsteps", INT, 1),
    SHARED("-divsteps", INT, 1),
    SHARED("-round_div", NONE, 0),
    SHARED("-square_div", NONE, 0),
    SHARED("-sourcefile", TEXT, 1),
    SHARED("-fluence", REAL, 1),
    SHARED("-flux", REAL, 1),
    SHARED("-exposure", REAL, 1),
    SHARED("-beamsize", REAL, 1),
    SHARED("-polar", REAL, 1),
    SHARED("-nopolar", NONE, 0),
    /* output */
    SHARED("-scale", REAL, 1),
    SHARED("-pgmscale", REAL, 1),
    SHARED("-adc", REAL, 1),
    SHARED("-seed", INT, 1),
    SHARED("-floatfile", TEXT, 1),
    SHARED("-floatimage", TEXT, 1),
    SHARED("-intfile", TEXT, 1),
    SHARED("-intimage", TEXT, 1),
    SHARED("-pgmfile", TEXT, 1),
    SHARED("-pgmimage", TEXT, 1),
    SHARED("-noisefile", TEXT, 1),
    SHARED("-noiseimage", TEXT, 1),
    SHARED("-nonoise", NONE, 0),
    SHARED("-nopgm", NONE, 0),
    SHARED("-printout", NONE, 0),
    SHARED("-progress", NONE, 0),
    SHARED("-noprogress", NONE, 0),
    {0},
};

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

/* Takes nonBragg's own flags and leaves those shared with nanoBragg, in their
 * order, in `rest`; returns their number in *count. */
static enum status take_flags(struct nonbragg *n, int argc, char **argv, char **rest, int *count,
                              struct error *e)
{
    static char sample_x[] = "-sample_x";
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

enum status nonbragg_parse(struct nonbragg *n, int argc, char **argv, struct error *e)
{
    set_defaults(n);
    char **rest = mem_array((size_t)argc + 1, sizeof *rest);
    if (!rest)
        return error_memory(e, "arguments");
    int count;
    enum status s = take_flags(n, argc, argv, rest, &count, e);
    if (!s)
        s = nanobragg_parse(&n->shared, count, rest, e);
    mem_free(rest);
    if (!s && !n->table_path)
        return error_set(e, STATUS_USAGE, "a table is needed: -stol, -4stol or -Q FILE");
    return s;
}
