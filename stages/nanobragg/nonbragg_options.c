#include "nonbragg_options.h"

#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

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

/* Those of nanoBragg's flags that nonBragg knows, too. */
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

/* All flags; those that are shared take as many values as nanoBragg's. */
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

/* Takes nonBragg's own flags and leaves those shared with nanoBragg, in their
 * order, in `rest`; returns their number in *count. */
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
