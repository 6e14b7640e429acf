/*
 * Warns of facts that a format does not store.
 *
 * Readers assume a value for each field that a header does not have, and then misread the image
 * without a message.  Each fact that changes the meaning of the pixels has a row in `facts`, with
 * the formats that do not store it.  bragg-formats(5) has the same table.
 */
#include "outputs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/images/cbf.h"
#include "io/images/tilted_header.h"
#include "model/recipe.h"

enum {
    SMV = 1 << FORMAT_SMV,
    CBF = 1 << FORMAT_CBF,
    RAW = 1 << FORMAT_RAW,
    NXMX = 1 << FORMAT_NXMX,
    STREAM = 1 << FORMAT_STREAM,
    EXPT = 1 << FORMAT_EXPT,
    HEADERS = SMV | CBF,
    ALL = HEADERS | NXMX | STREAM | EXPT
};

/* Directions that differ less count as equal: this is 2 um on a detector at 200 mm. */
static const double SAME_RAD = 1e-5;

enum { VALUE_SIZE = 160 };  // bytes of the text in parentheses: option and value

/* Each function below returns true if the fact holds for the frame, and writes the option and its
 * value to value[VALUE_SIZE]. */

/* --- geometry ------------------------------------------------------------ */

static bool is_backwards(const struct unsaid_frame *u, char *value)
{
    (void)snprintf(value, VALUE_SIZE, "--osc=%.9g", rad_to_deg(u->f->recipe.osc_rad));
    return u->f->recipe.osc_rad < 0.0;
}

static bool rotates(const struct unsaid_frame *u, char *value)
{
    (void)snprintf(value, VALUE_SIZE, "--osc=%.9g", rad_to_deg(u->f->recipe.osc_rad));
    return u->f->recipe.osc_rad != 0.0;
}

/* DIALS reads the tilt in SMV only from the header of a Saturn, which has no offset. */
static bool is_tilted(const struct unsaid_frame *u, char *value)
{
    const struct panel *p = u->image->panels;
    const double along = fabs(vec_dot(p->normal, u->image->beam.direction));
    (void)snprintf(value, VALUE_SIZE, "by %.4g degrees: --rotate, --twotheta or a geometry file",
                   rad_to_deg(acos(along < 1.0 ? along : 1.0)));
    return header_is_tilted(u->image);
}

/* Readers assume that the slow axis is the fast axis turned by 90 degrees, seen along the beam.
 * Headers of tilted panels have all axes. */
static bool is_mirrored(const struct unsaid_frame *u, char *value)
{
    const struct panel *p = u->image->panels;
    double across[3];
    vec_cross(p->fast, p->slow, across);
    (void)snprintf(value, VALUE_SIZE, "--convention or --slow-axis");
    return vec_dot(across, u->image->beam.direction) < 0.0 && !header_is_tilted(u->image);
}

/* Readers assume that the rotation axis is the component of the fast axis across the beam. */
static bool is_axis_elsewhere(const struct unsaid_frame *u, char *value)
{
    const struct experiment *x = u->image;
    const double *fast = x->panels->fast, *beam = x->beam.direction;
    const double along = vec_dot(fast, beam);
    const double flat[3] = {fast[0] - along * beam[0], fast[1] - along * beam[1],
                            fast[2] - along * beam[2]};
    double axis[3];
    double away[3];
    (void)vec_unit(flat, axis);
    for (int i = 0; i < 3; i++)
        away[i] = axis[i] - x->spindle[i];
    (void)snprintf(value, VALUE_SIZE, "--convention, --spindle or --rotate");
    return u->f->recipe.osc_rad != 0.0 && vec_length(away) > SAME_RAD && !header_is_tilted(x);
}

static bool is_curved(const struct unsaid_frame *u, char *value)
{
    (void)snprintf(value, VALUE_SIZE, "--curved");
    return u->x->panels->curved;
}

static bool moves_across(const struct unsaid_frame *u, char *value)
{
    const struct recipe *r = &u->f->recipe;
    double across[3];
    vec_cross(r->shift_m, u->x->beam.direction, across);
    (void)snprintf(value, VALUE_SIZE, "%.4g mm in frame %" PRIu64, m_to_mm(vec_length(across)),
                   r->id);
    return r->has_shift && vec_length(across) > 1e-9;
}

/* --- beam ---------------------------------------------------------------- */

static bool is_spectrum(const struct unsaid_frame *u, char *value)
{
    const struct incident b = incident_beam(u->x, &u->f->recipe);
    (void)snprintf(value, VALUE_SIZE, "%.6g to %.6g A", m_to_angstrom(b.shortest_m),
                   m_to_angstrom(b.longest_m));
    return b.longest_m > b.shortest_m * (1.0 + 1e-9);
}

static bool is_divergent(const struct unsaid_frame *u, char *value)
{
    const struct recipe *r = &u->f->recipe;
    const struct beam *b = &u->x->beam;
    const struct source *all = r->nsources ? r->sources : b->sources;
    const size_t count = r->nsources ? r->nsources : b->nsources;
    bool differ = false;
    for (size_t i = 1; i < count && !differ; i++)
        differ = vec_dot(all[i].direction, all[0].direction) < 1.0 - 1e-13;
    for (size_t i = 0; i < u->x->ncrystals && !differ; i++)
        differ = u->x->crystals[i].has_ensemble && u->x->crystals[i].divergence_rms_rad > 0.0;
    (void)snprintf(value, VALUE_SIZE, "--divergence or --source-file");
    return differ;
}

/* Returns true if the mean direction in this frame differs from that of the experiment. */
static bool is_beam_elsewhere(const struct unsaid_frame *u, char *value)
{
    const struct recipe *r = &u->f->recipe;
    double sum[3] = {0}, mean[3], away[3];
    for (size_t i = 0; i < r->nsources; i++)
        for (int k = 0; k < 3; k++)
            sum[k] -= r->sources[i].weight * r->sources[i].direction[k];
    (void)vec_unit(sum, mean);
    for (int k = 0; k < 3; k++)
        away[k] = mean[k] - u->x->beam.direction[k];
    (void)snprintf(value, VALUE_SIZE, "--beam-jitter: %.4g mrad in frame %" PRIu64,
                   1e3 * vec_length(away), r->id);
    return vec_length(sum) > 0.0 && vec_length(away) > SAME_RAD;
}

static bool has_harmonic(const struct unsaid_frame *u, char *value)
{
    (void)snprintf(value, VALUE_SIZE, "--third-harmonic=%.4g", 100.0 * u->x->beam.harmonic_share);
    return u->x->beam.harmonic_share > 0.0;
}

/* The fraction along fast describes only an E field along fast or slow. */
static bool is_polarized_aslant(const struct unsaid_frame *u, char *value)
{
    const struct experiment *x = u->image;
    double stokes[4];
    beam_stokes(&x->beam, x->panels->fast, x->panels->slow, stokes);
    (void)snprintf(value, VALUE_SIZE, "--polarization-vector or --rotate");
    return !x->beam.no_polarization && fabs(stokes[2]) > 1e-3 && !header_is_tilted(x);
}

/* --- pixels -------------------------------------------------------------- */

static bool has_offset(const struct unsaid_frame *u, char *value)
{
    (void)snprintf(value, VALUE_SIZE, "%.9g ADU", u->x->adc_offset);
    return u->f->image.unit == UNIT_ADU && u->x->adc_offset != 0.0 && !u->x->gain_switches;
}

static bool has_gain(const struct unsaid_frame *u, char *value)
{
    const double gain = u->scale > 0.0 ? u->scale : u->x->gain;
    (void)snprintf(value, VALUE_SIZE, "%s=%.9g", u->scale > 0.0 ? "--scale" : "--gain", gain);
    return (u->scale > 0.0 || u->f->image.unit == UNIT_ADU) && gain > 0.0 && gain != 1.0 &&
           !u->x->gain_switches;
}

static bool has_mask(const struct unsaid_frame *u, char *value)
{
    (void)snprintf(value, VALUE_SIZE, "gaps, --mask, --roi");
    return !panel_is_whole(u->image->panels);
}

static bool is_wide(const struct unsaid_frame *u, char *value)
{
    (void)snprintf(value, VALUE_SIZE, "--bits=32");
    return u->f->image.type == PIXEL_U32 || u->f->image.type == PIXEL_I32;
}

static bool is_beyond_float(const struct unsaid_frame *u, char *value)
{
    enum { EXACT = 1 << 24 };
    const struct image *image = &u->f->image;
    size_t at = 0;
    if (image->type == PIXEL_U32)
        while (at < image->count && ((const uint32_t *)image->pixels)[at] <= EXACT)
            at++;
    else if (image->type == PIXEL_I32)
        while (at < image->count && ((const int32_t *)image->pixels)[at] <= EXACT)
            at++;
    else
        return false;
    (void)snprintf(value, VALUE_SIZE, "pixel %zu of frame %" PRIu64, at, u->f->recipe.id);
    return at < image->count;
}

static bool has_sensor(const struct unsaid_frame *u, char *value)
{
    const double depth_m = panel_depth_m(u->image->panels);
    (void)snprintf(value, VALUE_SIZE, "%.4g um", 1e6 * depth_m);
    return depth_m > 0.0;
}

/* DIALS reads the thickness only from mini-CBF and from the full header of a Pilatus. */
static bool has_tilted_sensor(const struct unsaid_frame *u, char *value)
{
    return has_sensor(u, value) && header_is_tilted(u->image) && u->kind != CBF_PILATUS;
}

/* --- the ground truth ---------------------------------------------------- */

/* The header of a CBF file has a maximum size, and may have no room for all lattices. */
static bool is_truth_cut(const struct unsaid_frame *u, char *value)
{
    static struct header_text h;  // too large for a stack
    char key[64];
    const size_t count = u->f->recipe.nlattices;
    size_t held = 0;
    if (count < 2)
        return false;
    cbf_header_make(&h, u->kind, u->image, u->f, 0);
    h.text[h.length < sizeof h.text ? h.length : sizeof h.text - 1] = 0;
    while (held < count) {
        (void)snprintf(key, sizeof key, held ? "BRAGG_RECIPROCAL_%zu " : "BRAGG_RECIPROCAL ", held);
        if (!strstr(h.text, key))
            break;
        held++;
    }
    (void)snprintf(value, VALUE_SIZE, "%zu of %zu in frame %" PRIu64, held, count, u->f->recipe.id);
    return held < count;
}

/* --- all facts ----------------------------------------------------------- */

static const struct fact {
    uint32_t formats;  // bits of the formats that do not store the fact
    bool (*holds)(const struct unsaid_frame *u, char *value);
    const char *what;  // follows the names of the formats
    const char *then;  // what readers assume, and what the user can do
} facts[] = {
    {HEADERS, is_backwards, "cannot store a negative rotation",
     "DIALS cannot import these files. NXmx (run.nxs) stores it"},
    {SMV, is_tilted, "stores the tilt of the detector as a Saturn does",
     "DIALS then masks pixels of 0, and counts an offset as photons. Use CBF or NXmx (run.nxs)"},
    {HEADERS, is_mirrored, "cannot store that the image is mirrored",
     "readers assume that fast x slow points along the beam. NXmx (run.nxs) stores it"},
    {HEADERS, is_axis_elsewhere, "cannot store a rotation axis other than the fast axis",
     "readers assume that the crystal turns about the fast axis. NXmx (run.nxs) stores it"},
    {HEADERS | NXMX, is_curved, "cannot store that the detector is curved",
     "readers assume flat panels. Only a recording (bragg-tap --record) stores it"},
    {STREAM, moves_across, "cannot store that the detector moves across the beam",
     "CrystFEL assumes one position for all frames. NXmx (run.nxs) stores it"},
    {HEADERS | STREAM | EXPT, is_spectrum, "can store only the mean of several wavelengths",
     "readers assume a monochromatic beam. NXmx (run.nxs) stores the spectrum"},
    {ALL, is_divergent, "cannot store the divergence of the beam",
     "readers assume a parallel beam. Only the options in the index contain it"},
    {ALL, is_beam_elsewhere, "cannot store a varying direction of the beam",
     "readers assume one direction for all frames. Only a recording (bragg-tap --record) stores "
     "it"},
    {ALL, has_harmonic, "cannot store the third harmonic",
     "readers assume one wavelength. Only the options in the index contain it"},
    {CBF, is_polarized_aslant, "cannot store an E field oblique to the pixels",
     "readers assume that it is along the fast axis. NXmx (run.nxs) stores it"},
    {CBF | NXMX, has_offset, "cannot store the offset of the pixels",
     "readers count the offset as photons. Use bragg-noise --adc-offset=0"},
    {HEADERS | NXMX, has_gain, "cannot store the gain",
     "readers assume 1 ADU per photon. Give them the gain by hand, as in gain=X of DIALS"},
    {SMV, has_mask, "cannot store which pixels are masked",
     "readers use their 0 as measured. CBF and NXmx store the mask"},
    {SMV, is_wide, "has 32-bit pixels, which DIALS reads as 16 bits",
     "use bragg-noise --bits=16, or write CBF or NXmx"},
    {RAW, is_beyond_float, "cannot store integers above 16777216 exactly",
     "they are rounded to float32. CBF and NXmx store them exactly"},
    {SMV, has_sensor, "cannot store the thickness of the sensor",
     "readers do not correct for its parallax. CBF and NXmx store it"},
    {CBF, has_tilted_sensor, "cannot store the thickness of the sensor of a tilted detector",
     "readers do not correct for its parallax. NXmx (run.nxs) stores it"},
    {STREAM, rotates, "cannot store the rotation of the crystal",
     "CrystFEL assumes stills, here in the middle of each frame. NXmx (run.nxs) stores it"},
    {CBF, is_truth_cut, "cannot store the ground truth of all lattices",
     "the last lattices are left out. NXmx (run.nxs) stores them"},
};

enum { NFACTS = sizeof facts / sizeof *facts };
_Static_assert(1U << (NFACTS - 1) < OUTPUTS_SAID_NUMBERS, "each fact has a bit");

/* --- outputs ------------------------------------------------------------- */

static bool is_device(const char *name)
{
    struct stat st;
    return stat(name, &st) == 0 && !S_ISREG(st.st_mode);
}

static uint32_t formats_of(const struct outputs *o)
{
    uint32_t formats = 0;
    for (int i = 0; i < o->count; i++)
        if (!is_device(o->all[i].name.text))
            formats |= 1U << o->all[i].format;
    return formats;
}

/* Writes the names of the formats whose bits are set to `text`, such as "SMV, CBF and NXmx". */
static void name_formats(uint32_t formats, char *text, size_t size)
{
    static const struct {
        uint32_t format;
        const char *name;
    } names[] = {{SMV, "SMV"},   {CBF, "CBF"},          {RAW, "raw"},
                 {NXMX, "NXmx"}, {STREAM, "a .stream"}, {EXPT, "an .expt"}};
    const int count = __builtin_popcount(formats);
    int named = 0;
    *text = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t used = strlen(text);
        if (formats & names[i].format) {
            (void)snprintf(text + used, size - used, "%s%s",
                           !named               ? ""
                           : named + 1 == count ? " and "
                                                : ", ",
                           names[i].name);
            named++;
        }
    }
}

void outputs_warn_of_unsaid(const struct outputs *o, const struct unsaid_frame *u, uint32_t *said)
{
    const uint32_t formats = formats_of(o);
    for (size_t i = 0; i < NFACTS; i++) {
        char names[80], value[VALUE_SIZE];
        if (*said >> i & 1 || !(facts[i].formats & formats) || !facts[i].holds(u, value))
            continue;
        *said |= 1U << i;
        name_formats(facts[i].formats & formats, names, sizeof names);
        log_line(LOG_WARNING, "%s %s (%s): %s", names, facts[i].what, value, facts[i].then);
    }
}
