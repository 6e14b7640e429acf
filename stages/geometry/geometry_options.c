/* The option table of bragg-geometry, and the parts of a request that follow from several options.
 */
#include <math.h>
#include <stddef.h>

#include "geometry.h"
#include "physics/beam/beam.h"

/*
 * --help lists the options in the order of the rows: first those with `.first`, then group by
 * group. The order of rows with OPT_BYTES is also that of the lineage, so these rows must not move
 * among each other.  A new option belongs to the group of its subject.
 */

#define DETECTOR(member) request.detector.member
#define BEAM(member) request.beam.member
#define ROW(kind, n, meta, text, member, bits, ...)                                          \
    {                                                                                        \
        n, meta, text, OPT_##kind, offsetof(struct geometry_options, member), .flags = bits, \
                                                                              __VA_ARGS__    \
    }
#define GROUP(text)                    \
    {                                  \
        .doc = text, .type = OPT_GROUP \
    }
/* The row of an input file. The content of the file is part of the lineage, its path is not. */
#define FILE_READ(n, text, member, ...) \
    ROW(TEXT, n, "FILE", text, member, OPT_CONTENT | OPT_INPUT, __VA_ARGS__)
#define TEXT(n, meta, text, member, bits, ...) ROW(TEXT, n, meta, text, member, bits, __VA_ARGS__)
#define FLAG(n, text, member, bits, ...) ROW(FLAG, n, NULL, text, member, bits, __VA_ARGS__)
#define CHOICE(n, list, text, member, ...) \
    ROW(CHOICE, n, list, text, member, OPT_BYTES, .choices = list, __VA_ARGS__)
#define INT(n, meta, text, member, low, high, ...) \
    ROW(INT, n, meta, text, member, OPT_BYTES, .min = low, .max = high, __VA_ARGS__)
#define REAL(n, meta, text, member, low, high, ...) \
    ROW(REAL, n, meta, text, member, OPT_BYTES, .min = low, .max = high, __VA_ARGS__)
#define POSITIVE(n, meta, text, member, high, ...) \
    ROW(REAL, n, meta, text, member, OPT_BYTES | OPT_OPEN_MIN, .max = high, __VA_ARGS__)
#define INTS(n, meta, text, member, items, low, high, bits, ...)                                  \
    ROW(INTS, n, meta, text, member, OPT_BYTES | (bits), .count = items, .min = low, .max = high, \
        __VA_ARGS__)
#define REALS(n, meta, text, member, items, low, high, bits, ...)                                  \
    ROW(REALS, n, meta, text, member, OPT_BYTES | (bits), .count = items, .min = low, .max = high, \
        __VA_ARGS__)
#define VECTOR(n, text, member) REALS(n, "X,Y,Z", text, member, 3, -1e6, 1e6, 0, .usual = "")
/* Flags of an option that a later version added. Frames without the option keep their lineage. */
#define LATER (OPT_BYTES | OPT_WHEN_SET)

const struct opt geometry_table[] = {
    GROUP("Simulation mode:"),
    CHOICE("physics", "physical|faithful",
           "Rules of the simulation; faithful repeats the images of nanoBragg, mistakes included",
           request.physics, .always = true),
    GROUP("Detector type:"),
    CHOICE("convention", "mosflm|denzo|adxv|xds|dials|custom",
           "Axes and meaning of the beam centre, as in the program of that name",
           DETECTOR(convention)),
    TEXT("detector", "NAME|FILE|list",
         "Built-in detector, or a file with detector and position (pyFAI .poni, NXmx, or a CBF or "
         "SMV image); list prints the names",
         detector, OPT_CONTENT, .excludes = "geom expt cut detsize pixel mask",
         .needs = "physics=physical", .first = true),
    CHOICE("panels", "image|modules",
           "One image with masked gaps, or one panel per module (depends on the detector)", panels,
           .needs = "detector"),
    FILE_READ("geom", "CrystFEL geometry file: pixels, position and axes of the panels", geom,
              .excludes = "expt cut " GEOMETRY_PLACED, .needs = "physics=physical"),
    FILE_READ("expt", "DIALS experiment list: detector, beam and rotation axis", expt,
              .excludes =
                  "cut " GEOMETRY_PLACED
                  " convention distance beam-vector polarization-vector spindle twotheta-axis",
              .needs = "physics=physical"),
    INTS("cut", "FAST,SLOW", "Number of panels into which the detector is cut", cut, 2, 1, 1000, 0,
         .needs = "physics=physical", .usual = "1,1"),
    TEXT("write-geom", "FILE", "Write the detector as a CrystFEL geometry file", write_geom, 0),
    FLAG("overwrite",
         "Replace existing files of --write-geom, --write-true-geom and --misalign-truth",
         overwrite, 0, .needs = "write-geom|write-true-geom|misalign-truth"),
    GROUP("Detector size:"),
    INTS("detpixels", "N|FAST,SLOW", "Number of pixels along each edge, 1 to 65536",
         DETECTOR(pixels), 2, 1, 65536, OPT_ONE_FOR_ALL, .excludes = "detsize", .usual = "1024"),
    REALS("detsize", "MM|FAST,SLOW", "Length of the edges in mm, instead of --detpixels",
          DETECTOR(size_m), 2, 1e-6, 1e6, OPT_ONE_FOR_ALL, .si = SI_MM),
    REAL("pixel", "MM", "Edge of a pixel, 0.0001 to 1000 mm", DETECTOR(pixel_m), 1e-4, 1000,
         .si = SI_MM, .usual = "0.1"),
    GROUP("Detector position:"),
    POSITIVE("distance", "MM", "Distance from sample to detector along the beam, up to 1e6 mm",
             DETECTOR(distance_m), 1e6, .si = SI_MM, .excludes = "close-distance", .usual = "100",
             .first = true),
    POSITIVE("close-distance", "MM",
             "Shortest distance from sample to detector plane in mm, instead of --distance",
             DETECTOR(close_distance_m), 1e6, .si = SI_MM, .usual = ""),
    REALS("beam-center", "X,Y",
          "Point where the beam hits the detector in mm, along the axes of --convention (centre)",
          DETECTOR(beam_m), 2, -1e6, 1e6, 0, .unit = "mm", .si = SI_MM, .usual = "", .first = true),
    REALS("close-center", "FAST,SLOW",
          "Point of the detector nearest to the sample in mm (beam at the centre)",
          DETECTOR(close_m), 2, -1e6, 1e6, 0, .unit = "mm", .si = SI_MM, .excludes = "orgx|orgy",
          .usual = ""),
    REAL("orgx", "PIXELS",
         "ORGX of XDS: point of the detector nearest to the sample, along fast, in pixels",
         DETECTOR(org_px[0]), -1e6, 1e6, .usual = ""),
    REAL("orgy", "PIXELS",
         "ORGY of XDS: point of the detector nearest to the sample, along slow, in pixels",
         DETECTOR(org_px[1]), -1e6, 1e6, .usual = ""),
    GROUP("Detector axes (for --convention=custom) and tilts:"),
    VECTOR("fast-axis", "Direction of the fast axis", DETECTOR(fast)),
    VECTOR("slow-axis", "Direction of the slow axis", DETECTOR(slow)),
    VECTOR("normal", "Normal of the detector, away from the sample", DETECTOR(normal)),
    VECTOR("twotheta-axis", "Axis of --twotheta", DETECTOR(twotheta_axis)),
    CHOICE("pivot", "beam|sample",
           "Point that tilts leave in place (sample for xds and dials, otherwise beam)",
           DETECTOR(pivot), .usual = ""),
    REALS("rotate", "X,Y,Z", "Tilt about the laboratory x, then y, then z axis, in degrees",
          DETECTOR(rotation_rad), 3, -360, 360, 0, .unit = "deg", .usual = "0,0,0", .si = SI_DEG,
          .always = true),
    REAL("twotheta", "DEG", "Rotation of the detector arm, -180 to 180 degrees",
         DETECTOR(twotheta_rad), -180, 180, .usual = "0", .si = SI_DEG, .always = true),
    GROUP("Misaligned panels:"),
    ROW(TEXTS, "misalign", "LEVEL...",
        "Let photons meet each panel at a random place, while all files describe the nominal "
        "detector. LEVEL is panel, group:NAME or detector. The words shift=F,S,N (um) and "
        "tilt=F,S,N (mrad) after LEVEL are rms values along and about its fast axis, slow axis "
        "and normal. Can be repeated",
        misalign, LATER, .needs = "physics=physical", .excludes = "curved"),
    ROW(INT, "misalign-seed", "N", "Seed of the random places of --misalign", misalign_seed, LATER,
        .max = 0x1p63, .needs = "misalign", .usual = "1"),
    TEXT("write-true-geom", "FILE",
         "Write the detector with the places of --misalign as a CrystFEL geometry file", true_geom,
         0, .needs = "misalign"),
    TEXT("misalign-truth", "FILE",
         "Write a table of the shift, the tilt and the true place of each panel", misalign_truth, 0,
         .needs = "misalign"),
    GROUP("Sensor:"),
    FLAG("curved", "Put the pixels on a sphere around the sample", DETECTOR(curved), OPT_BYTES),
    FLAG("point-pixel", "Use the solid angle 1/r^2, without area and obliquity of the pixel",
         DETECTOR(point_pixel), OPT_BYTES),
    REAL("thickness", "UM",
         "Thickness of the sensor in um; 0 removes the sensor (sensor of the detector)",
         DETECTOR(thickness.range), 0, 1e6, .si = SI_UM, .usual = ""),
    POSITIVE("absorption", "UM", "Attenuation depth of the sensor in um (that of silicon)",
             DETECTOR(absorption_1_m), 1e9, .si = SI_PER_UM, .needs = "thickness", .usual = ""),
    INT("layers", "N", "Number of layers of the sensor (as slanted rays need, up to 16)",
        DETECTOR(thickness.count), 1, 10000, .needs = "thickness|detector|expt"),
    ROW(CHOICE, "sensor", "auto|layers|smear",
        "Way to compute a thick sensor; smear computes one layer and smears its image along the "
        "rays; auto smears where several layers are needed and the detector is flat",
        sensor, LATER, .choices = "auto|layers|smear", .always = true),
    ROW(CHOICE, "signal", "count|energy",
        "Signal of a photon: one photon, or its energy relative to that of the beam; of use for "
        "beams of several energies",
        BEAM(signal), LATER, .choices = "count|energy", .needs = "physics=physical",
        .usual = "count"),
    GROUP("Computed pixels and sampling:"),
    INTS("roi", "F0,F1,S0,S1", "First and last pixel to compute along fast and slow (all pixels)",
         DETECTOR(roi), 4, 0, 65535, 0, .usual = "0,65535,0,65535"),
    FILE_READ("mask", "SMV image; pixels of value 0 are not computed", mask),
    INT("oversample", "N", "Subpixels along the edge of a pixel; 0: three across the sharpest spot",
        request.oversample, 0, 1000, .usual = "0", .always = true),
    FLAG("oversample-each-thickness", "Compute the absorption for every subpixel",
         request.each_thickness, OPT_BYTES),
    FLAG("oversample-each-polarization", "Compute the polarization for every subpixel",
         request.each_polarization, OPT_BYTES),
    FLAG("oversample-each-solid-angle", "Compute the solid angle for every subpixel",
         request.each_solid_angle, OPT_BYTES),
    REAL("dmin", "A", "Smallest d spacing that is computed, in angstrom (0: all)", request.dmin_m,
         0, 1e6, .si = SI_TENTH_NM, .always = true),
    GROUP("Wavelength and axes of the beam:"),
    ROW(CHOICE, "probe", "xray|electron|neutron",
        "Particles of the beam, which all options and files call photons. Structure factors are in "
        "electrons for X-rays, in angstrom for electrons and in fm for neutrons",
        request.probe, LATER, .choices = "xray|electron|neutron", .always = true,
        .needs = "physics=physical"),
    REAL("wavelength", "A", "Wavelength, 0.0001 to 10000 angstrom", BEAM(wavelength_m), 1e-4, 1e4,
         .si = SI_ANGSTROM, .excludes = "energy", .usual = "1", .first = true),
    REAL("energy", "EV", "Photon energy in eV, instead of --wavelength", BEAM(wavelength_m), 1.24,
         1.239e8, .si = SI_EV, .first = true),
    ROW(REAL, "voltage", "V",
        "Voltage of electrons, 1e4 to 5e6 V, instead of --wavelength (200000 for --probe=electron)",
        BEAM(wavelength_m), LATER, .min = GEOMETRY_LEAST_V, .max = GEOMETRY_MOST_V, .si = SI_VOLT,
        .needs = "probe=electron", .excludes = "wavelength energy"),
    VECTOR("beam-vector", "Direction of propagation, for --convention=custom", BEAM(direction)),
    VECTOR("polarization-vector", "Direction of the E field, for --convention=custom",
           BEAM(polarization)),
    VECTOR("spindle", "Rotation axis, for --convention=custom", BEAM(spindle)),
    GROUP("Bandwidth and divergence:"),
    REAL("dispersion", "PERCENT", "Full spread of the wavelength, 0 to 100 %",
         BEAM(dispersion.range), 0, 100, .si = SI_PERCENT, .usual = "0"),
    INT("dispersion-steps", "N", "Number of wavelengths across --dispersion",
        BEAM(dispersion.count), 1, 1000000, .needs = "dispersion", .usual = "2"),
    REAL("divergence", "MRAD", "Full horizontal and vertical divergence, 0 to 1000 mrad",
         divergence.range, 0, 1000, .si = SI_MRAD, .excludes = "divergence-h divergence-v",
         .usual = "0"),
    INT("divergence-steps", "N", "Number of directions across --divergence, both ways",
        divergence.count, 1, 1000, .needs = "divergence",
        .excludes = "divergence-h-steps divergence-v-steps", .usual = "2"),
    REAL("divergence-h", "MRAD", "Full horizontal divergence, 0 to 1000 mrad",
         BEAM(horizontal.range), 0, 1000, .si = SI_MRAD, .usual = ""),
    REAL("divergence-v", "MRAD", "Full vertical divergence, 0 to 1000 mrad", BEAM(vertical.range),
         0, 1000, .si = SI_MRAD, .usual = ""),
    INT("divergence-h-steps", "N", "Number of directions across --divergence-h",
        BEAM(horizontal.count), 1, 1000, .needs = "divergence-h"),
    INT("divergence-v-steps", "N", "Number of directions across --divergence-v",
        BEAM(vertical.count), 1, 1000, .needs = "divergence-v"),
    FLAG("square-divergence", "Keep the directions in the corners of the divergence",
         BEAM(square_divergence), OPT_BYTES),
    FILE_READ("source-file",
              "Sources, one per line: X Y Z weight wavelength(m), instead of divergence and "
              "dispersion",
              source_file, .excludes = "dispersion divergence divergence-h|divergence-v"),
    CHOICE("weights", "ignore|apply|override",
           "Ignore or apply the weights in --source-file; override ignores the weights and "
           "the wavelengths (apply; faithful: ignore)",
           BEAM(weights), .needs = "source-file"),
    GROUP("Polarization and photons:"),
    REAL("polarization", "K",
         "Kahn factor, -1 to 1: 0 unpolarized, 1 along the E vector; 0 if faithful", BEAM(kahn), -1,
         1, .excludes = "no-polarization", .usual = "0.98"),
    ROW(REAL, "polarization-fraction", "F",
        "Fraction of photons along the E vector, 0 to 1, as in XDS and DIALS; sets K = 2F - 1",
        polarization_fraction, LATER, .max = 1, .excludes = "polarization no-polarization",
        .usual = ""),
    FLAG("no-polarization", "Set the polarization factor to 1 everywhere", BEAM(no_polarization),
         OPT_BYTES),
    POSITIVE("fluence", "PH/M2",
             "Photons per square metre and frame; electrons have 1e18, neutrons 1e16",
             BEAM(fluence_ph_m2), 1e60, .excludes = "flux", .usual = "1e25"),
    POSITIVE("flux", "PH/S", "Photons per second, instead of --fluence", BEAM(flux_ph_s), 1e60,
             .first = true),
    POSITIVE("exposure", "S", "Exposure time of a frame in seconds, which files report",
             BEAM(exposure_s), 1e9, .needs = "flux|fluence|expt", .usual = "1", .first = true),
    GROUP("Third harmonic:"),
    ROW(REAL, "third-harmonic", "PERCENT",
        "Photons of a third of the wavelength, in percent of the photons of the beam, up to 10 "
        "(none)",
        BEAM(harmonic_share), LATER | OPT_OPEN_MIN, .max = 10, .si = SI_PERCENT,
        .needs = "physics=physical"),
    ROW(REAL, "harmonic-signal", "X",
        "Signal of one photon of the third harmonic, in photons of the beam, up to 3 (3; a "
        "--detector that counts, or --signal=count: 1)",
        BEAM(harmonic_signal), LATER | OPT_OPEN_MIN, .max = 3, .needs = "third-harmonic"),
    ROW(REAL, "harmonic-absorption", "UM",
        "Attenuation depth of the sensor for photons of the third harmonic, in um (that of "
        "silicon, or 27 times "
        "--absorption)",
        DETECTOR(harmonic_absorption_1_m), LATER | OPT_OPEN_MIN, .max = 1e9, .si = SI_PER_UM,
        .needs = "third-harmonic"),
    GROUP("Beam size:"),
    POSITIVE("beam-size", "MM", "Edge of the square beam, up to 1e6 mm", BEAM(size_m), 1e6,
             .si = SI_MM, .usual = "0.0003", .first = true),
    POSITIVE("beam-height", "MM",
             "Height of a beam whose width, along E, is --beam-size (a square)", BEAM(height_m),
             1e6, .si = SI_MM, .needs = "physics=physical beam-size"),
    GROUP("Crystals (lysozyme if no cell, matrix or structure factors are given):"),
    ROW(TEXTS, "crystal", "KEY=VALUE...",
        "One of several crystals. KEY is an option of a crystal: of this group, of a group below, "
        "or "
        "mtz, model, ncells or crystal-size. Can be repeated",
        crystals, OPT_CONTENT | OPT_KEYS),
    /* each row below is also a key of --crystal */
    TEXT("name", "TEXT", "Name of the crystal in headers and lists", name, OPT_CONTENT),
    REALS("cell", "A,B,C[,AL,BE,GA]", "Unit cell in angstrom and degrees; without angles: 90,90,90",
          cell, 6, 0, 1e6, OPT_RIGHT_ANGLES, .excludes = "matrix"),
    FILE_READ("matrix", "Orientation matrix of MOSFLM, or FILE.expt of DIALS", matrix),
    GROUP("Structure factors:"),
    FILE_READ("hkl", "Text file with lines h k l F, in electrons", hkl, .excludes = "mtz",
              .needs = "cell|matrix"),
    TEXT("spacegroup", "NAME",
         "Space group of the list of --hkl or of --wilson, such as P212121 (no symmetry)",
         spacegroup, OPT_CONTENT, .needs = "physics=physical"),
    FILE_READ("mtz", "MTZ file of structure factors", mtz, .first = true),
    FILE_READ("model",
              "Atomic model, PDB or CIF; gemmi computes structure factors to --dmin, or as far "
              "as the detector needs",
              model, .excludes = "hkl|mtz", .first = true),
    TEXT("column", "LABEL[,LABEL]",
         "Column of --mtz; two columns with --anomalous, or amplitude and phase with --sites "
         "(first of type F)",
         column, OPT_BYTES, .needs = "mtz"),
    FILE_READ("light", "Atomic model of the excited state, with the cell of --model", light,
              .needs = "model"),
    ROW(REAL, "light-occupancy", "X",
        "Fraction of molecules that are excited, at random, 0 to 1; required with --light",
        light_occupancy, OPT_CONTENT, .max = 1, .needs = "light"),
    FLAG("anomalous",
         "Keep F(+) and F(-) apart: two columns of the MTZ file, a list with both, or f' and f'' "
         "of the model's atoms from sodium on",
         anomalous, LATER, .needs = "mtz|spacegroup|model"),
    FILE_READ("sites",
              "Anomalous scatterers, lines of element x y z [occupancy [B]], for the model or "
              "added to amplitudes and phases of the MTZ file",
              sites, .needs = "mtz|model", .excludes = "hkl"),
    FILE_READ("fprime", "Measured f' and f'', lines of element, energy in eV, f', f''", fprime,
              .needs = "anomalous|sites"),
    ROW(REAL, "wilson", "B",
        "Random structure factors with Wilson statistics for a protein with this B in A^2, up to "
        "1000",
        wilson_B_A2, LATER | OPT_OPEN_MIN, .max = 1000, .needs = "cell|matrix physics=physical",
        .excludes = "hkl mtz model anomalous", .usual = ""),
    ROW(REAL, "wilson-atoms", "N",
        "Non-hydrogen atoms in the cell, for --wilson (one per 35 A^3 of the cell)", wilson_atoms,
        LATER | OPT_OPEN_MIN, .max = 1e12, .needs = "wilson", .usual = ""),
    ROW(INT, "wilson-seed", "N", "Seed of the structure factors of --wilson", wilson_seed, LATER,
        .max = 0x1p63, .needs = "wilson", .usual = "1"),
    REAL("default-F", "E", "Structure factor of reflections that are not listed, in electrons",
         crystal.table.default_F, 0, 1e9, .usual = "0"),
    GROUP("Crystal size and spot shape:"),
    REALS("ncells", "N|A,B,C",
          "Unit cells of a mosaic block along a, b and c; whole numbers, but for "
          "--mosaic-model=gauss",
          crystal.cells, 3, 1, 1000000, OPT_ONE_FOR_ALL, .usual = "20", .first = true),
    REALS("crystal-size", "MM|A,B,C",
          "Edges of the crystal along a, b and c in mm; without --ncells the crystal is one block "
          "(a point)",
          crystal.size_m, 3, 1e-9, 1000, OPT_ONE_FOR_ALL, .si = SI_MM, .first = true),
    CHOICE("shape", "square|round|gauss|tophat|star",
           "Shape of the spots; star is a gauss that is round in reciprocal space, for "
           "--mosaic-model=gauss",
           shape, .always = true),
    POSITIVE("fudge", "X",
             "Narrow the spots of shapes other than square: 4 makes spots half as wide",
             crystal.fudge, 1e9, .usual = "1", .always = true),
    CHOICE("interpolate", "auto|on|off",
           "Interpolate structure factors between indices (auto: for 2 cells or fewer)",
           crystal.interpolate, .always = true),
    GROUP("Mosaic spread in closed form (for --shape=gauss):"),
    ROW(CHOICE, "mosaic-model", "domains|gauss",
        "Spots of the domains of bragg-orient --mosaic, or the mean over infinitely many domains "
        "(domains)",
        crystal.gauss, LATER, .choices = "domains|gauss", .needs = "physics=physical"),
    REALS("mosaic-rms", "DEG|A,B,C",
          "Rms rotation of domains about a, c* x a and c* in degrees, for --mosaic-model=gauss (0)",
          crystal.mosaic_rms_rad, 3, 0, 10, LATER | OPT_ONE_FOR_ALL, .needs = "mosaic-model=gauss",
          .si = SI_DEG),
    REALS("strain-rms", "PERCENT|A,B,C",
          "Rms change of the edges a, b, c of domains, for --mosaic-model=gauss (0)",
          crystal.strain_rms, 3, 0, 5, LATER | OPT_ONE_FOR_ALL, .needs = "mosaic-model=gauss",
          .si = SI_PERCENT),
    ROW(REAL, "divergence-rms", "MRAD",
        "Rms angle of the beam in both directions across it, up to 20 mrad, for "
        "--mosaic-model=gauss "
        "(0)",
        crystal.divergence_rms_rad, LATER, .max = 20, .si = SI_MRAD, .needs = "mosaic-model=gauss"),
    REALS("ncells-across", "D,E,F",
          "Off-diagonal cells of a block's matrix [Na D F; D Nb E; F E Nc], for "
          "--mosaic-model=gauss (0,0,0)",
          crystal.cells_across, 3, -1e6, 1e6, LATER, .needs = "mosaic-model=gauss"),
    GROUP("Diffuse scattering:"),
    REALS("diffuse-sigma", "A|X,Y,Z",
          "Rms motion of the molecules along a, c* x a and c*, 0.01 to 5 angstrom (none)",
          crystal.diffuse_sigma_A, 3, 0.01, 5, LATER | OPT_ONE_FOR_ALL,
          .needs = "diffuse-gamma physics=physical"),
    REALS("diffuse-gamma", "A|X,Y,Z",
          "Correlation length of the motion of --diffuse-sigma, 1 to 2000 angstrom (none)",
          crystal.diffuse_gamma_A, 3, 1, 2000, LATER | OPT_ONE_FOR_ALL, .needs = "diffuse-sigma"),
    FLAG("diffuse-damp",
         "Weaken the reflections by the motion of --diffuse-sigma, for structure factors of "
         "molecules at rest",
         diffuse_damp, LATER, .needs = "diffuse-sigma"),
    OPT_END(struct geometry_options, given),
};

bool geometry_given(const struct geometry_options *o, const char *names)
{
    return opt_given(geometry_table, o, names);
}

/* Sets the convention to "custom" if an option sets an axis. STATUS_USAGE: --convention gives
 * another convention together with such an option. */
static enum status choose_convention(const struct geometry_options *o, struct detector_request *d,
                                     struct error *e)
{
    if (!geometry_given(o, "fast-axis|slow-axis|normal|twotheta-axis|beam-vector|"
                           "polarization-vector|spindle"))
        return STATUS_OK;
    if (!geometry_given(o, "convention"))
        d->convention = CONVENTION_CUSTOM;
    if (d->convention != CONVENTION_CUSTOM)
        return error_set(e, STATUS_USAGE,
                         "options that set an axis need --convention=custom. Remove --convention "
                         "or these options");
    return STATUS_OK;
}

/* Sets the defaults of the beam that depend on other options. */
static void set_beam(const struct geometry_options *o, enum physics physics, struct beam_request *b)
{
    if (geometry_given(o, "divergence"))
        b->horizontal = b->vertical = o->divergence;
    if (!geometry_given(o, "weights"))
        b->weights = physics == PHYSICS_FAITHFUL ? WEIGHTS_IGNORE : WEIGHTS_APPLY;
    if (geometry_given(o, "polarization-fraction"))
        b->kahn = 2.0 * o->polarization_fraction - 1.0;
    else if (!geometry_given(o, "polarization") && physics == PHYSICS_FAITHFUL)
        b->kahn = 0.0;
    if (!geometry_given(o, "harmonic-signal") && geometry_given(o, "third-harmonic"))
        b->harmonic_signal = HARMONIC_ORDER;
}

enum status geometry_request(const struct geometry_options *o, struct request *r, struct error *e)
{
    *r = o->request;
    struct detector_request *d = &r->detector;
    const enum status s = choose_convention(o, d, e);
    if (s)
        return s;
    if (d->roi.fast_min > d->roi.fast_max || d->roi.slow_min > d->roi.slow_max)
        return error_set(e, STATUS_USAGE,
                         "--roi: the region is empty; expected FIRST,LAST along fast, then "
                         "FIRST,LAST along slow");
    if (geometry_given(o, "detsize"))
        d->pixels[0] = d->pixels[1] = 0;
    set_beam(o, r->physics, &r->beam);
    return STATUS_OK;
}
