/* The option table of bragg-orient, and values that follow from the options alone. */
#include "orient.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "stages/shared/probe_rules.h"

#define AT(member) .offset = offsetof(struct orient_options, member)
/* Flags of an option that a later version added. Frames without the option keep their lineage. */
#define LATER (OPT_BYTES | OPT_WHEN_SET)

/* Options that choose other crystals than those on a sample holder. */
#define NO_MESH "lattices mean-lattices hit-rate mixture share-beam orientations runs pumped"

/* --help lists the options in the order of the rows: first those with `.first`, then group by
 * group. The order of rows with OPT_BYTES is also that of the lineage, so these rows must not move
 * among each other.  A new option belongs to the group of its subject. */
const struct opt orient_table[] = {
    {.doc = "Frames and ground truth:", .type = OPT_GROUP},
    {"frames", "N",
     "Number of frames, 0 to 1e9 (1, or as many as --orientations, --scan or --vary-file has)",
     OPT_INT, AT(frames), .min = 0, .max = ORIENT_FRAMES_MAX, .usual = "1", .first = true},
    {"only", "LIST", "Compute only the listed frames of the run, such as 40-59,73 (all frames)",
     OPT_TEXT, AT(only)},
    {"seed", "N",
     "Seed of all random numbers of this program, and of later programs without a seed of their "
     "own",
     OPT_INT, AT(seed), .always = true, .min = 0, .max = 0x1p63, .flags = OPT_BYTES, .usual = "1",
     .first = true},
    {"truth", "FILE",
     "Write the lattices of all frames to a table; 'braggpipe columns' prints its units", OPT_TEXT,
     AT(truth), .first = true},
    {"overwrite", NULL, "Replace any other existing file of --truth", OPT_FLAG, AT(overwrite),
     .needs = "truth"},
    {.doc = "Orientation (default: as the cell or matrix):", .type = OPT_GROUP},
    {"misset", "X,Y,Z",
     "Rotate the crystals about the laboratory x, then y, then z axis, in degrees", OPT_REALS,
     AT(misset_rad), .si = SI_DEG, .min = -360, .max = 360, .count = 3, .flags = OPT_BYTES,
     .unit = "deg", .excludes = "orientations random", .first = true},
    {"orientations", "FILE",
     "Text file, one rotation per lattice: 9 numbers (matrix) or 4 (quaternion); or a CrystFEL "
     "stream",
     OPT_TEXT, AT(orientations), .flags = OPT_BYTES | OPT_INPUT,
     .excludes = "random mean-lattices"},
    {"random", NULL, "Draw a random orientation for every lattice, uniform on SO(3)", OPT_FLAG,
     AT(random), .flags = OPT_BYTES, .first = true},
    {"mount", "X,Y,Z",
     "Rotate the crystals once more, after their orientation, about the laboratory x, then y, then "
     "z axis, in degrees: axes of a goniometer that do not move",
     OPT_REALS, AT(mount_rad), .si = SI_DEG, .min = -360, .max = 360, .count = 3, .flags = LATER,
     .unit = "deg"},
    {.doc = "Rotation:", .type = OPT_GROUP},
    {"scan", "FILE", "DIALS experiment list: defaults of --frames, --phi0 and --osc", OPT_TEXT,
     AT(scan), .flags = OPT_CONTENT | OPT_INPUT},
    {"phi0", "DEG", "Start angle of frame 0 in degrees", OPT_REAL, AT(phi0_deg), .min = -360000,
     .max = 360000, .flags = OPT_BYTES, .usual = "0"},
    {"osc", "DEG", "Rotation of a frame, and step between frames, in degrees", OPT_REAL,
     AT(osc_deg), .min = -360, .max = 360, .flags = OPT_BYTES, .usual = "0", .first = true},
    {"phi-steps", "N",
     "Orientations that are summed in a frame, with --osc (as spots need, at least 2)", OPT_INT,
     AT(phi_steps), .min = 1, .max = 1e6, .flags = OPT_BYTES, .needs = "osc|scan",
     .chosen_without = "steps", .usual = "2"},
    {"exposed", "F",
     "Part of the rotation of a frame during which the crystal is exposed, from its start",
     OPT_REAL, AT(exposed), .min = 0, .max = 1, .always = true, .flags = LATER | OPT_OPEN_MIN,
     .needs = "osc|scan", .usual = "1"},
    {.doc = "Mosaic domains:", .type = OPT_GROUP},
    {"mosaic", "DEG", "Half-width of the mosaic spread in degrees", OPT_REAL, AT(mosaic_rad),
     .si = SI_DEG, .min = 0, .max = 360, .flags = OPT_BYTES, .usual = "0", .first = true},
    {"mosaic-domains", "N", "Number of mosaic domains, with --mosaic (as spots need, at least 10)",
     OPT_INT, AT(mosaic_domains), .min = 1, .max = 1e6, .flags = OPT_BYTES,
     .needs = "mosaic|vary|vary-file", .chosen_without = "steps", .usual = "10"},
    {"mosaic-seed", "N", "Seed of the domains, which are the same in all frames", OPT_INT,
     AT(mosaic_seed), .min = 1, .max = 2147483647, .flags = OPT_BYTES,
     .needs = "mosaic|vary|vary-file", .usual = "12345678"},
    {.doc = "Sampling:", .type = OPT_GROUP},
    {"steps", "given|auto",
     "given: use 2 phi steps and 10 domains, or the given numbers; auto: choose subpixels, too, "
     "without a limit of time (choose up to 1e10 terms a frame)",
     OPT_CHOICE, AT(steps), .choices = "given|auto", .always = true, .flags = LATER},
    {"ripple", "PERCENT", "Largest error of the sum over steps for gauss spots, 0.001 to 50 %",
     OPT_REAL, AT(ripple), .si = SI_PERCENT, .min = 0.001, .max = 50, .always = true,
     .flags = LATER, .usual = "1"},
    {.doc = "Lattices in a frame (default: one of each crystal):", .type = OPT_GROUP},
    {"lattices", "N",
     "Number of lattices in a frame, 1 to 200, of all crystals in turn (one of each)", OPT_INT,
     AT(population.asked), .min = 1, .max = LATTICES_MAX, .flags = OPT_BYTES,
     .excludes = "mean-lattices", .first = true},
    {"mean-lattices", "X",
     "Mean number of lattices in a frame, Poisson, instead of --lattices and --hit-rate; a "
     "fraction "
     "exp(-X) of the frames is blank",
     OPT_REAL, AT(population.mean_lattices), .min = 0, .max = 100, .flags = OPT_BYTES, .usual = ""},
    {"mixture", "W,...", "Weights with which the crystal of each lattice is drawn", OPT_TEXT,
     AT(population.mixture), .flags = OPT_BYTES},
    {"shares", "X,...",
     "Factors on the shares of lattice 0, 1, ...; the last factor is for all other lattices (1)",
     OPT_TEXT, AT(population.shares), .flags = OPT_BYTES},
    {"share-spread", "PERCENT", "Rms variation of the factor of a lattice (--shares), log-normal",
     OPT_REAL, AT(population.share_spread), .si = SI_PERCENT, .always = true, .min = 0, .max = 1000,
     .flags = OPT_BYTES, .usual = "0"},
    {"share-beam", "F",
     "Place crystals at random in a Gaussian beam, down to the fraction F of its peak (flat beam)",
     OPT_REAL, AT(population.share_beam), .min = 0, .max = 1, .always = true,
     .flags = LATER | OPT_OPEN_MIN},
    {"lattice-spread", "DEG",
     "Rms angle between the first lattice of a frame and the others, about random axes, normal "
     "(independent orientations)",
     OPT_REAL, AT(apart_rad), .si = SI_DEG, .min = 0, .max = 180, .flags = LATER, .usual = "",
     .excludes = "orientations mesh-crystals crystals-at"},
    {"cell-spread", "PERCENT[,PERCENT,PERCENT]",
     "Rms variation of a, b, c from lattice to lattice, normal, 0 to 5 %", OPT_REALS,
     AT(population.cell_spread), .si = SI_PERCENT, .min = 0, .max = 5, .count = 3, .always = true,
     .flags = LATER | OPT_ONE_FOR_ALL, .usual = "0"},
    {"cell-correlation", "F", "Correlation of the changes of two edges, 0 to 1", OPT_REAL,
     AT(population.cell_correlation), .min = 0, .max = 1, .flags = LATER, .needs = "cell-spread",
     .usual = "0.8"},
    {"vary", "NAME=KIND:VALUE,VALUE",
     "Draw a quantity of each lattice: size (crystal edge, nm), a, b or c (cell edge, A), mosaic "
     "or mosaic-rms (mosaic spread, deg), b-factor (A^2) or resolution (A), share; or of each "
     "frame: lattices, lattice-spread (deg), distance, shift-x, shift-y (mm), fluence (factor), "
     "energy (eV), water, ice (um), air (mm), ice-crystal (A), background (factor); kinds: "
     "uniform:MIN,MAX, log-uniform:MIN,MAX, normal:MEAN,RMS, log-normal:MEAN,PERCENT, "
     "choice:VALUE,VALUE,... Can be repeated",
     OPT_TEXTS, AT(population.vary), .flags = LATER},
    {"vary-file", "FILE",
     "Table of quantities of --vary: their names in the first line, then a line for each frame; -: "
     "as without the table",
     OPT_TEXT, AT(vary_file), .flags = LATER | OPT_INPUT, .excludes = "mesh-crystals crystals-at"},
    {"hit-rate", "F",
     "Probability that a frame has crystals, without --mean-lattices; other frames are blank (1)",
     OPT_REAL, AT(population.hit_rate), .min = 0, .max = 1, .flags = OPT_BYTES, .usual = "",
     .first = true},
    {.doc = "Runs:", .type = OPT_GROUP},
    {"runs", "FILE",
     "Table of groups of frames with their own hit rate, crystals, fluence or energy", OPT_TEXT,
     AT(runs), .flags = LATER | OPT_INPUT, .excludes = "orientations"},
    {"gate", "FILE",
     "Text file that another program appends to. A line per frame has a factor on the fluence, and "
     "the place and angle of moving motors. A frame waits for its line",
     OPT_TEXT, AT(gate), .flags = LATER | OPT_INPUT, .excludes = "truth"},
    {"gate-z", NULL,
     "A line of --gate can have a further number: how far the sample is moved towards the "
     "detector, in um",
     OPT_FLAG, AT(gate_z), .flags = LATER, .needs = "gate"},
    {.doc = "Mesh scan over crystals on a sample holder:", .type = OPT_GROUP},
    {"mesh", "COLUMNS,ROWS", "Scan a mesh, one frame per point, row by row", OPT_INTS,
     AT(mesh.points), .count = 2, .min = 1, .max = 1e6, .flags = LATER,
     .needs = "mesh-crystals|crystals-at"},
    {"mesh-step", "UM[,UM]", "Steps of the mesh along width and height of the beam (its size)",
     OPT_REALS, AT(mesh.step_m), .si = SI_UM, .count = 2, .min = 0, .max = 1e6,
     .flags = LATER | OPT_ONE_FOR_ALL | OPT_OPEN_MIN, .needs = "mesh"},
    {"snake", NULL, "Scan every other row backwards", OPT_FLAG, AT(mesh.snake), .flags = LATER,
     .needs = "mesh"},
    {"sample-at", "UM,UM",
     "Place on the sample holder that the beam meets, or the middle of the mesh, along width and "
     "height of the beam",
     OPT_REALS, AT(mesh.middle_m), .si = SI_UM, .count = 2, .min = -1e6, .max = 1e6, .always = true,
     .flags = LATER, .needs = "mesh-crystals|crystals-at", .usual = "0,0"},
    {"mesh-crystals", "N", "Number of crystals at random places in the mesh", OPT_INT,
     AT(mesh.crystals), .min = 1, .max = 1e5, .flags = LATER, .needs = "mesh",
     .excludes = "crystals-at " NO_MESH},
    {"crystals-at", "FILE",
     "Text file, one crystal on the sample holder per line: its place in um along width and height "
     "of the beam, and which crystal it is (0)",
     OPT_TEXT, AT(sites), .flags = LATER | OPT_INPUT, .excludes = NO_MESH},
    {.doc = "Jitter of the beam:", .type = OPT_GROUP},
    {"fluence-jitter", "PERCENT", "Rms variation of the fluence between frames, log-normal",
     OPT_REAL, AT(pulse.fluence_jitter), .si = SI_PERCENT, .always = true, .min = 0, .max = 1000,
     .flags = OPT_BYTES, .usual = "0", .first = true},
    {"wavelength-jitter", "PERCENT", "Rms variation of the wavelength between frames, normal",
     OPT_REAL, AT(pulse.wavelength_jitter), .si = SI_PERCENT, .always = true, .min = 0, .max = 10,
     .flags = OPT_BYTES, .usual = "0"},
    {"beam-jitter", "URAD",
     "Rms variation of the beam direction about each axis across the beam, normal, in microradians",
     OPT_REAL, AT(pulse.direction_jitter_rad), .si = SI_UM, .min = 0, .max = 1e4, .always = true,
     .flags = LATER, .usual = "0"},
    {.doc = "Spectrum of a pulse:", .type = OPT_GROUP},
    {"spectrum", "KIND",
     "Shape of the spectrum of a pulse: none, sase, seeded, gauss, tophat, pink, twocolour or "
     "wiggler (none)",
     OPT_CHOICE, AT(pulse.spectrum.kind), .choices = SPECTRUM_KINDS, .always = true, .flags = LATER,
     .excludes = "spectra", .first = true},
    {"spectra", "FILE", "Measured spectra, one per frame in turn, as text or HDF5", OPT_TEXT,
     AT(spectra), .flags = LATER | OPT_INPUT},
    {"channels", "N",
     "Largest number of wavelengths of a spectrum, up to 1000, or 10000 with bragg-geometry "
     "--mosaic-model=gauss (as many as spots need)",
     OPT_INT, AT(pulse.spectrum.channels), .min = 1, .max = SPECTRUM_CHANNELS_MAX, .always = true,
     .flags = LATER, .needs = "spectrum|spectra"},
    {"bandwidth", "PERCENT", "Full width at half maximum of the spectrum, in percent of the energy",
     OPT_REAL, AT(pulse.spectrum.bandwidth_percent), .min = 0, .max = 200, .always = true,
     .flags = LATER | OPT_OPEN_MIN, .needs = "spectrum", .excludes = "spectrum-range",
     .usual = "0.2"},
    {"spectrum-range", "EV,EV",
     "Lowest and highest energy of a wide band in eV, for --spectrum=tophat and wiggler", OPT_REALS,
     AT(pulse.spectrum.range_eV), .count = 2, .min = 100, .max = 1e6, .flags = LATER,
     .needs = "spectrum=tophat|spectrum=wiggler"},
    {"critical-energy", "EV", "Critical energy of the magnet, for --spectrum=wiggler", OPT_REAL,
     AT(pulse.spectrum.critical_eV), .min = 100, .max = 1e6, .flags = LATER,
     .needs = "spectrum=wiggler"},
    {"collected", "WHERE",
     "Photons of --spectrum=wiggler that reach the crystal: on the axis, or all vertical angles",
     OPT_CHOICE, AT(pulse.spectrum.collected), .choices = "axis|all", .always = true,
     .flags = LATER, .needs = "spectrum=wiggler"},
    {"filter", "MATERIAL:MM,...",
     "Filters of Al, Be, C or Si that a tophat or wiggler has passed, such as Al:1mm", OPT_TEXT,
     AT(filter), .flags = LATER, .needs = "spectrum=tophat|spectrum=wiggler"},
    {"pulse", "FS", "Full width at half maximum of the pulse in time, in fs", OPT_REAL,
     AT(pulse.spectrum.pulse_fs), .min = 0.01, .max = 10000, .always = true, .flags = LATER,
     .needs = "spectrum=sase|spectrum=seeded|spectrum=twocolour", .usual = "25"},
    {"pedestal", "F", "Fraction of SASE photons in a seeded pulse", OPT_REAL,
     AT(pulse.spectrum.pedestal), .min = 0, .max = 1, .always = true, .flags = LATER | OPT_OPEN_MIN,
     .needs = "spectrum=seeded", .usual = "0.2"},
    {"separation", "PERCENT",
     "Energy of the second colour above the first, for --spectrum=twocolour", OPT_REAL,
     AT(pulse.spectrum.separation_percent), .min = 0, .max = 20, .always = true,
     .flags = LATER | OPT_OPEN_MIN, .needs = "spectrum=twocolour", .usual = "1"},
    {"second", "F", "Fraction of photons in the second colour, for --spectrum=twocolour", OPT_REAL,
     AT(pulse.spectrum.second), .min = 0, .max = 1, .always = true, .flags = LATER | OPT_OPEN_MIN,
     .needs = "spectrum=twocolour", .usual = "0.5"},
    {.doc = "Pulse numbers:", .type = OPT_GROUP},
    {"facility", "NAME", "Number pulses as euxfel, lcls, swissfel or sacla (none)", OPT_CHOICE,
     AT(facility), .choices = "none|euxfel|lcls|swissfel|sacla", .always = true, .flags = LATER},
    {"first-pulse", "N",
     "Pulse number of frame 0: trainId, fiducial, pulse_id or tag (depends on the facility)",
     OPT_INT, AT(first_pulse), .min = 0, .max = 4e18, .flags = LATER, .needs = "facility"},
    {"pulse-step", "N",
     "Step of the pulse number from frame to frame, in ticks of 4.5 MHz, 360, 100 or 60 Hz (4, 3, "
     "1, 2)",
     OPT_INT, AT(pulse_step), .min = 1, .max = 1e6, .flags = LATER, .needs = "facility"},
    {"train-pulses", "N", "Pulses of a train, for --facility=euxfel", OPT_INT, AT(train_pulses),
     .min = 1, .max = PULSE_TRAIN_SLOTS, .flags = LATER, .needs = "facility=euxfel", .usual = "1"},
    {"run-start", "S", "Unix time of frame 0 in seconds, for --facility=lcls", OPT_INT,
     AT(run_start_s), .min = 0, .max = 4e9, .flags = LATER, .unit = "s", .needs = "facility=lcls",
     .usual = "1500000000"},
    {.doc = "Detector position:", .type = OPT_GROUP},
    {"coffset", "MM", "Displacement of the detector along the beam in mm, in all frames", OPT_REAL,
     AT(shift.coffset_m), .si = SI_MM, .min = -1e4, .max = 1e4, .always = true, .flags = LATER,
     .usual = "0"},
    {"coffset-jitter", "UM", "Rms displacement of the detector along the beam, normal, in um",
     OPT_REAL, AT(shift.coffset_jitter_m), .si = SI_UM, .min = 0, .max = 1e4, .always = true,
     .flags = LATER, .usual = "0"},
    {"shift-jitter", "UM",
     "Rms displacement of the detector along x and along y across the beam, normal, in um",
     OPT_REAL, AT(shift.jitter_m), .si = SI_UM, .min = 0, .max = 1e4, .always = true,
     .flags = LATER, .usual = "0"},
    {"shifts", "FILE",
     "List of displacements of the detector in mm, one line per frame: along the beam, or x, y and "
     "along the beam",
     OPT_TEXT, AT(shifts), .flags = LATER | OPT_INPUT},
    {.doc = "Pump and probe:", .type = OPT_GROUP},
    {"pump", "LIGHT:DARK",
     "Switch the pump laser on for LIGHT frames, then off for DARK, in turn (none)", OPT_TEXT,
     AT(pump.pattern), .flags = LATER},
    {"pumped", "F",
     "Fraction of molecules that the laser excites: weight of crystal 1, the excited state",
     OPT_REAL, AT(pump.share), .min = 0, .max = 1, .flags = LATER, .usual = "",
     .excludes = "mixture", .needs = "pump"},
    {"pumped-spread", "F", "Rms variation of the fraction of --pumped, normal", OPT_REAL,
     AT(pump.spread), .min = 0, .max = 1, .always = true, .flags = LATER, .needs = "pumped",
     .usual = "0"},
    OPT_END(struct orient_options, given),
};

bool orient_given(const struct orient_options *o, const char *names)
{
    return opt_given(orient_table, o, names);
}

void orient_mark(struct orient_options *o, const char *name)
{
    opt_mark(opt_find(orient_table, name, strlen(name)), o, true);
}

struct pulse_ids orient_pulse_ids(const struct orient_options *o)
{
    static const struct {
        uint64_t first, step;
    } usual[] = {[FACILITY_EUXFEL] = {1000000000, 4},
                 [FACILITY_LCLS] = {0, 3},
                 [FACILITY_SWISSFEL] = {10000000000, 1},
                 [FACILITY_SACLA] = {100000000, 2}};
    const bool lcls = o->facility == FACILITY_LCLS, euxfel = o->facility == FACILITY_EUXFEL;
    return (struct pulse_ids){.facility = (enum facility)o->facility,
                              .first = orient_given(o, "first-pulse") ? (uint64_t)o->first_pulse
                                                                      : usual[o->facility].first,
                              .step = orient_given(o, "pulse-step") ? (uint64_t)o->pulse_step
                                                                    : usual[o->facility].step,
                              .train_pulses = euxfel ? (uint64_t)o->train_pulses : 0,
                              .start_s = lcls ? (uint64_t)o->run_start_s : 0,
                              .has_pump = o->pump.pattern != NULL,
                              .pump_light = o->pump.light,
                              .pump_dark = o->pump.dark};
}

enum status orient_read_only(struct orient_options *o, struct id_set *only, struct error *e)
{
    if (!orient_given(o, "only"))
        return STATUS_OK;
    const enum status s = id_set_parse(only, o->only, "--only", e);
    if (s)
        return s;
    const uint64_t last = only->ranges[only->count - 1].last;
    const bool counted = orient_given(o, "frames");
    const uint64_t frames = counted ? (uint64_t)o->frames : ORIENT_FRAMES_MAX;
    if (last >= frames)
        return error_set(e, STATUS_USAGE,
                         "--only: frame %" PRIu64 " is out of range; expected less than %s%" PRIu64
                         ", because frames are counted from 0",
                         last, counted ? "--frames=" : "", frames);
    if (!counted)
        o->frames = (int64_t)last + 1;
    return STATUS_OK;
}

double orient_mosaic_rad(const struct orient_options *o)
{
    double limits_rad[2];
    return vary_limits(o->population.varied, VARY_MOSAIC, limits_rad)
               ? fmax(limits_rad[1], o->mosaic_rad)
               : o->mosaic_rad;
}

/* Checks that the options of mosaic domains agree with --vary.  population_open must have read
 * --vary. */
static enum status check_mosaic(const struct orient_options *o, struct error *e)
{
    double limits_rad[2];
    const bool varies = vary_limits(o->population.varied, VARY_MOSAIC, limits_rad);
    const struct varied *v = &o->population.varied[VARY_MOSAIC];
    if (varies && !v->gaps && orient_given(o, "mosaic"))
        return error_set(e, STATUS_USAGE, "--mosaic and %s cannot be used together",
                         v->kind == VARY_LISTED ? "the column mosaic of --vary-file, which has a "
                                                  "value for each frame,"
                                                : "--vary=mosaic");
    if (!varies && !orient_given(o, "mosaic") && orient_given(o, "mosaic-domains|mosaic-seed"))
        return error_set(e, STATUS_USAGE, "--%s needs --mosaic or --vary=mosaic",
                         orient_given(o, "mosaic-domains") ? "mosaic-domains" : "mosaic-seed");
    return STATUS_OK;
}

enum status orient_use_table(struct orient_options *o, const struct vary_table *t, struct error *e)
{
    enum status s = STATUS_OK;
    for (int i = 0; i < VARY_NAMES && !s; i++)
        if (t->values[i])
            s = population_list(&o->population, (enum vary_name)i, t->values[i], t->frames, e);
    if (!s && t->frames && !orient_given(o, "frames|only|scan|orientations"))
        o->frames = (int64_t)t->frames;
    return s ? s : check_mosaic(o, e);
}

/* Checks the options of a mesh scan, and sets the number of frames to that of its points if it is
 * not given.  STATUS_USAGE: there are more frames than points. */
static enum status check_mesh(struct orient_options *o, struct error *e)
{
    if (!orient_given(o, "mesh"))
        return STATUS_OK;
    const int64_t points = o->mesh.points[0] * o->mesh.points[1];
    if (!orient_given(o, "frames"))
        o->frames = points;
    if (o->frames > points)
        return error_set(e, STATUS_USAGE,
                         "--frames=%" PRId64 " is more than the %" PRId64
                         " points of --mesh. Leave --frames out to scan them all",
                         o->frames, points);
    return STATUS_OK;
}

/* Checks that a wiggler has what its spectrum needs. */
static enum status check_spectrum(const struct orient_options *o, struct error *e)
{
    if (o->pulse.spectrum.kind != SPECTRUM_WIGGLER ||
        (orient_given(o, "spectrum-range") && orient_given(o, "critical-energy")))
        return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "--spectrum=wiggler needs --spectrum-range=EV,EV and --critical-energy=EV. "
                     "The critical energy is 665 eV x (GeV of the ring)^2 x (T of the magnet)");
}

enum status orient_check(struct orient_options *o, struct error *e)
{
    const struct pulse_ids p = orient_pulse_ids(o);
    if (orient_given(o, "ripple") && orient_given(o, "steps") && o->steps == STEPS_GIVEN)
        return error_set(e, STATUS_USAGE, "--ripple has no effect with --steps=given");
    if (p.facility == FACILITY_LCLS && p.first >= PULSE_FIDUCIALS)
        return error_set(e, STATUS_USAGE,
                         "--first-pulse=%" PRIu64
                         " is out of range; expected a fiducial of at most %d",
                         p.first, PULSE_FIDUCIALS - 1);
    if (p.facility == FACILITY_EUXFEL && (p.train_pulses - 1) * p.step >= PULSE_TRAIN_SLOTS)
        return error_set(
            e, STATUS_USAGE,
            "--train-pulses=%" PRIu64 " in steps of %" PRIu64
            " do not fit into the %d slots of a train. Give fewer pulses or a smaller --pulse-step",
            p.train_pulses, p.step, PULSE_TRAIN_SLOTS);
    enum status s = check_spectrum(o, e);
    s = s ? s : pump_open(&o->pump, e);
    s = s ? s : check_mesh(o, e);
    return s ? s : population_open(&o->population, e);
}

enum status orient_check_stream(const struct orient_options *o, struct error *e)
{
    static const struct {
        const char *option, *reason;
    } all[] = {
        {"scan", "each crystal has the orientation of the middle of its image"},
        {"phi0", "each crystal has the orientation of the middle of its image"},
        {"osc", "each crystal has the orientation of the middle of its image"},
        {"mount", "each crystal has the orientation of the middle of its image"},
        {"gate", "the stream decides about the crystals of each frame"},
        {"lattices", "the stream decides about the crystals of each frame"},
        {"hit-rate", "the stream decides about the crystals of each frame"},
        {"mixture", "all crystals of a stream have one cell"},
        {"pumped", "all crystals of a stream have one cell"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (orient_given(o, all[i].option))
            return error_set(e, STATUS_USAGE,
                             "--%s cannot be used with the stream of --orientations, because %s. "
                             "Remove --%s",
                             all[i].option, all[i].reason, all[i].option);
    return STATUS_OK;
}

enum status orient_check_probe(const struct orient_options *o, enum probe probe, struct error *e)
{
    static const struct probe_rule rules[] = {
        {"spectrum", "is that of an X-ray source"},
        {"spectra", "has photon energies"},
        {"facility", "is an X-ray laser"},
        {NULL, NULL},
    };
    return probe_refuse(probe, rules, orient_table, o, e);
}

/* Largest relative difference between the energy of a frame and the energy of the beam. It is
 * limited because absorption and sampling are computed for the energy of the beam. */
#define ENERGY_APART 0.1

enum status orient_check_energy(const struct experiment *x, double energy_eV, const char *what,
                                struct error *e)
{
    const double beam_eV = m_to_ev(x->beam.wavelength_m);
    if (x->probe != PROBE_XRAY)
        return error_set(e, STATUS_INPUT,
                         "%s: is the energy of a photon, but the beam has %s (bragg-geometry "
                         "--probe)",
                         what, probe_particles(x->probe));
    return fmax(energy_eV / beam_eV, beam_eV / energy_eV) <= 1.0 + ENERGY_APART
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "%s: %.8g eV is out of range; expected a value within 10 %% of the "
                           "beam's %.8g eV",
                           what, energy_eV, beam_eV);
}

void orient_warn_units(const struct orient_options *o)
{
    static const double MOSAIC_RMS_MOST_DEG = 0.3;
    double limits_rad[2];
    /* frames never rotate by less than 0.01 degrees; 0.0087 rad are 0.5 degrees */
    static const struct usual osc = {"osc", "deg", 0.01, 360, "rad", 180 / M_PI, "", 0};
    if (o->random && o->osc_deg != 0 && o->frames > 1 && !o->mesh.points[0] && !o->sites)
        log_line(
            LOG_WARNING,
            "--random draws a new orientation for every frame, so --osc gives no rotation series "
            "of one crystal. Use --misset=X,Y,Z to keep one orientation for all frames");
    warn_radians("misset", o->misset_rad, 3);
    warn_radians("mount", o->mount_rad, 3);
    const double phi0_rad = deg_to_rad(o->phi0_deg);
    warn_radians("phi0", &phi0_rad, 1);
    warn_small_radians("mosaic", o->mosaic_rad);
    if (vary_limits(o->population.varied, VARY_MOSAIC_RMS, limits_rad) &&
        limits_rad[1] > deg_to_rad(MOSAIC_RMS_MOST_DEG))
        log_line(LOG_WARNING,
                 "--vary=mosaic-rms: up to %.6g deg, but the tails of spots are wrong above %g "
                 "deg. Use --vary=mosaic and bragg-geometry without --mosaic-model=gauss instead",
                 rad_to_deg(limits_rad[1]), MOSAIC_RMS_MOST_DEG);
    if (o->osc_deg != 0 && fabs(o->osc_deg) < osc.min)
        warn_unusual(&osc, o->osc_deg);
    else
        warn_small_radians("osc", deg_to_rad(o->osc_deg));
}

struct orientation_request orient_request(const struct orient_options *o, uint64_t id)
{
    struct orientation_request r = {
        .phi_rad = deg_to_rad(o->phi0_deg + (o->mesh.points[0] ? 0.0 : o->osc_deg * (double)id)),
        .phi = NO_STEPS,
        .mosaic_rad = orient_mosaic_rad(o),
        .mosaic_domains = o->mosaic_domains,
        .mosaic_seed = -o->mosaic_seed,
    };
    if (o->osc_deg != 0)
        r.phi = (struct steps_request){.count = o->phi_steps,
                                       .range = deg_to_rad(o->osc_deg * o->exposed)};
    memcpy(r.misset_rad, o->misset_rad, sizeof r.misset_rad);
    return r;
}
