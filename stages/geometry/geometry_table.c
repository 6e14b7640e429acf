/* The option table of bragg-geometry. */
#include <math.h>
#include <stddef.h>

#include "geometry_options.h"

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
/* Paths do not enter the lineage: what the files hold does, with the experiment. */
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
/* Of what later versions know: nothing of them stands in the lineage of other frames. */
#define LATER (OPT_BYTES | OPT_WHEN_SET)

const struct opt geometry_table[] = {
    CHOICE("physics", "physical|faithful", "faithful repeats every quirk of nanoBragg",
           request.physics, .always = true),
    GROUP("Detector:"),
    CHOICE("convention", "mosflm|denzo|adxv|xds|dials|custom",
           "Axes and meaning of the beam centre", DETECTOR(convention)),
    TEXT(
        "detector", "NAME|FILE|list",
        "A real detector by its name, or where one stands by a file of pyFAI (.poni) or NXmx; list "
        "shows the names",
        detector, OPT_CONTENT, .excludes = "geom expt cut detsize pixel mask",
        .needs = "physics=physical"),
    CHOICE("panels", "image|modules",
           "One image with masked gaps, or a panel for each module (by the detector)", panels,
           .needs = "detector"),
    FILE_READ("geom", "Panels of a CrystFEL geometry file: their pixels, places and axes", geom,
              .excludes = "expt cut " GEOMETRY_PLACED, .needs = "physics=physical"),
    FILE_READ(
        "expt", "Detector, beam and spindle of a DIALS experiment list, in place of these options",
        expt,
        .excludes = "cut " GEOMETRY_PLACED
                    " convention distance beam-vector polarization-vector spindle twotheta-axis",
        .needs = "physics=physical"),
    INTS("cut", "FAST,SLOW", "Cut the detector into so many panels", cut, 2, 1, 1000, 0,
         .needs = "physics=physical", .usual = "1,1"),
    TEXT("write-geom", "FILE", "Write a CrystFEL geometry file of the detector", write_geom, 0),
    FLAG("overwrite", "Replace another file in the place of --write-geom", overwrite, 0,
         .needs = "write-geom"),
    INTS("detpixels", "N|FAST,SLOW", "Pixels along the edges", DETECTOR(pixels), 2, 1, 65536,
         OPT_ONE_FOR_ALL, .excludes = "detsize", .usual = "1024"),
    REALS("detsize", "MM|FAST,SLOW", "Edges of the detector, in place of --detpixels",
          DETECTOR(size_m), 2, 1e-6, 1e6, OPT_ONE_FOR_ALL, .si = SI_MM),
    REAL("pixel", "MM", "Edge of a pixel", DETECTOR(pixel_m), 1e-4, 1000, .si = SI_MM,
         .usual = "0.1"),
    POSITIVE("distance", "MM", "From sample to detector along the beam", DETECTOR(distance_m), 1e6,
             .si = SI_MM, .excludes = "close-distance", .usual = "100"),
    POSITIVE("close-distance", "MM", "Shortest distance, in place of --distance",
             DETECTOR(close_distance_m), 1e6, .si = SI_MM, .usual = ""),
    REALS("beam-center", "X,Y", "Where the beam hits, mm, by the convention (centre)",
          DETECTOR(beam_m), 2, -1e6, 1e6, 0, .unit = "mm", .si = SI_MM, .usual = ""),
    REALS("close-center", "FAST,SLOW", "Point nearest to the sample, mm (centre)",
          DETECTOR(close_m), 2, -1e6, 1e6, 0, .unit = "mm", .si = SI_MM, .excludes = "orgx|orgy",
          .usual = ""),
    REAL("orgx", "PIXELS", "Nearest point along fast, as XDS counts", DETECTOR(org_px[0]), -1e6,
         1e6, .usual = ""),
    REAL("orgy", "PIXELS", "Nearest point along slow, as XDS counts", DETECTOR(org_px[1]), -1e6,
         1e6, .usual = ""),
    VECTOR("fast-axis", "Fast axis (custom convention)", DETECTOR(fast)),
    VECTOR("slow-axis", "Slow axis (custom convention)", DETECTOR(slow)),
    VECTOR("normal", "Detector normal away from the sample (custom convention)", DETECTOR(normal)),
    VECTOR("twotheta-axis", "Axis of --twotheta (custom convention)", DETECTOR(twotheta_axis)),
    CHOICE("pivot", "beam|sample", "What tilts leave in place (by the convention)", DETECTOR(pivot),
           .usual = ""),
    REALS("rotate", "X,Y,Z", "Tilt about lab x, then y, then z, deg", DETECTOR(rotation_rad), 3,
          -360, 360, 0, .unit = "deg", .usual = "0,0,0", .si = SI_DEG, .always = true),
    REAL("twotheta", "DEG", "Swing of the detector arm", DETECTOR(twotheta_rad), -180, 180,
         .usual = "0", .si = SI_DEG, .always = true),
    FLAG("curved", "Pixels lie on a sphere about the sample", DETECTOR(curved), OPT_BYTES),
    FLAG("point-pixel", "Solid angle 1/r^2, without pixel area and obliquity",
         DETECTOR(point_pixel), OPT_BYTES),
    REAL("thickness", "UM", "Thickness of the sensor, 0: no sensor (not modelled)",
         DETECTOR(thickness.range), 0, 1e6, .si = SI_UM, .usual = ""),
    POSITIVE("absorption", "UM", "Attenuation depth of the sensor (that of silicon)",
             DETECTOR(absorption_1_m), 1e9, .si = SI_PER_UM, .needs = "thickness", .usual = ""),
    INT("layers", "N", "Layers of the sensor (by the slant of the rays)", DETECTOR(thickness.count),
        1, 10000, .needs = "thickness|detector|expt"),
    INTS("roi", "F0,F1,S0,S1", "Pixels to compute, inclusive (all)", DETECTOR(roi), 4, 0, 65535, 0,
         .usual = "0,65535,0,65535"),
    FILE_READ("mask", "SMV image, pixels of value 0 are not computed", mask),
    INT("oversample", "N", "Subpixels along an edge, 0 chooses by the width of a spot",
        request.oversample, 0, 1000, .usual = "0", .always = true),
    FLAG("oversample-each-thickness", "Absorption for every subpixel", request.each_thickness,
         OPT_BYTES),
    FLAG("oversample-each-polarization", "Polarization for every subpixel",
         request.each_polarization, OPT_BYTES),
    FLAG("oversample-each-solid-angle", "Solid angle for every subpixel", request.each_solid_angle,
         OPT_BYTES),
    REAL("dmin", "A", "Leave out what scatters beyond this resolution (0: nothing)", request.dmin_m,
         0, 1e6, .si = SI_TENTH_NM, .always = true),
    GROUP("Beam:"),
    REAL("wavelength", "A", "Wavelength", BEAM(wavelength_m), 1e-4, 1e4, .si = SI_ANGSTROM,
         .excludes = "energy", .usual = "1"),
    REAL("energy", "EV", "Photon energy, in place of --wavelength", BEAM(wavelength_m), 1.24,
         1.239e8, .si = SI_EV),
    VECTOR("beam-vector", "Direction of propagation (custom convention)", BEAM(direction)),
    VECTOR("polarization-vector", "Direction of the E field (custom convention)",
           BEAM(polarization)),
    VECTOR("spindle", "Rotation axis (custom convention)", BEAM(spindle)),
    REAL("dispersion", "PERCENT", "Full spread of the wavelength", BEAM(dispersion.range), 0, 100,
         .si = SI_PERCENT, .usual = "0"),
    INT("dispersion-steps", "N", "Steps of --dispersion", BEAM(dispersion.count), 1, 1000000,
        .needs = "dispersion", .usual = "2"),
    REAL("divergence", "MRAD", "Full divergence both ways", divergence.range, 0, 1000,
         .si = SI_MRAD, .excludes = "divergence-h divergence-v", .usual = "0"),
    INT("divergence-steps", "N", "Steps of --divergence each way", divergence.count, 1, 1000,
        .needs = "divergence", .excludes = "divergence-h-steps divergence-v-steps", .usual = "2"),
    REAL("divergence-h", "MRAD", "Horizontal divergence", BEAM(horizontal.range), 0, 1000,
         .si = SI_MRAD, .usual = ""),
    REAL("divergence-v", "MRAD", "Vertical divergence", BEAM(vertical.range), 0, 1000,
         .si = SI_MRAD, .usual = ""),
    INT("divergence-h-steps", "N", "Directions across --divergence-h", BEAM(horizontal.count), 1,
        1000, .needs = "divergence-h"),
    INT("divergence-v-steps", "N", "Directions across --divergence-v", BEAM(vertical.count), 1,
        1000, .needs = "divergence-v"),
    FLAG("square-divergence", "Keep the corners of the divergence", BEAM(square_divergence),
         OPT_BYTES),
    FILE_READ("source-file",
              "Sources: X Y Z weight wavelength(m), in place of divergence and dispersion",
              source_file, .excludes = "dispersion divergence divergence-h|divergence-v"),
    CHOICE("weights", "ignore|apply|override",
           "In --source-file: not used, used, or not used and one wavelength for all (apply; "
           "faithful: ignore)",
           BEAM(weights), .needs = "source-file"),
    REAL("polarization", "K",
         "Kahn factor: 0 unpolarized, 1 along the E vector, where 0.98 has 99 % of the photons; "
         "faithful: 0",
         BEAM(kahn), -1, 1, .excludes = "no-polarization", .usual = "0.98"),
    FLAG("no-polarization", "Polarization factor 1 everywhere", BEAM(no_polarization), OPT_BYTES),
    POSITIVE("fluence", "PH/M2", "Photons per square metre and frame", BEAM(fluence_ph_m2), 1e60,
             .excludes = "flux", .usual = "1e25"),
    POSITIVE("flux", "PH/S", "Photons per second, in place of --fluence", BEAM(flux_ph_s), 1e60),
    POSITIVE("exposure", "S", "Exposure of a frame, with --flux", BEAM(exposure_s), 1e9,
             .needs = "flux|expt", .usual = "1"),
    ROW(REAL, "third-harmonic", "PERCENT",
        "Photons of a third of the wavelength besides, of those of the beam", BEAM(harmonic_share),
        LATER | OPT_OPEN_MIN, .max = 10, .si = SI_PERCENT, .needs = "physics=physical"),
    ROW(REAL, "harmonic-signal", "X",
        "What one of them adds to a pixel, in photons of the beam (3; a --detector that counts: "
        "1)",
        BEAM(harmonic_signal), LATER | OPT_OPEN_MIN, .max = 3, .needs = "third-harmonic"),
    ROW(REAL, "harmonic-absorption", "UM",
        "Attenuation depth of the sensor for them (that of silicon; of other sensors 27 times "
        "--absorption)",
        DETECTOR(harmonic_absorption_1_m), LATER | OPT_OPEN_MIN, .max = 1e9, .si = SI_PER_UM,
        .needs = "third-harmonic"),
    POSITIVE("beam-size", "MM", "Edge of the square beam", BEAM(size_m), 1e6, .si = SI_MM,
             .usual = "0.0003"),
    POSITIVE("beam-height", "MM", "Of a beam that is --beam-size wide along E (a square)",
             BEAM(height_m), 1e6, .si = SI_MM, .needs = "physics=physical beam-size"),
    GROUP("Crystal (lysozyme where nothing else is given):"),
    ROW(TEXTS, "crystal", "KEY=VALUE...",
        "One of several crystals; keys are the other options here, which hold for all crystals "
        "that say nothing else; may be repeated",
        crystals, OPT_CONTENT | OPT_KEYS),
    /* all that follows is a key of --crystal too */
    TEXT("name", "TEXT", "Name of the crystal in headers and lists", name, OPT_CONTENT),
    REALS("cell", "A,B,C,AL,BE,GA", "Unit cell, A and deg", cell, 6, 0, 1e6, 0,
          .excludes = "matrix"),
    FILE_READ("matrix", "MOSFLM orientation matrix, or FILE.expt", matrix),
    FILE_READ("hkl", "Structure factors, text: h k l F", hkl, .excludes = "mtz",
              .needs = "cell|matrix"),
    TEXT("spacegroup", "NAME",
         "Space group of --hkl, as P212121: the list holds the unique part (P1, without Friedel)",
         spacegroup, OPT_CONTENT, .needs = "hkl physics=physical"),
    FILE_READ("mtz", "Structure factors, MTZ", mtz),
    FILE_READ("model",
              "Model of atoms, PDB or mmCIF: gemmi computes structure factors to --dmin, or as far "
              "as the detector sees",
              model, .excludes = "hkl|mtz"),
    TEXT("column", "LABEL[,LABEL]",
         "Column of the MTZ file (the first of type F), both of --anomalous, or amplitude and "
         "phase with --sites",
         column, OPT_BYTES, .needs = "mtz"),
    FILE_READ("light",
              "Model of the excited state, as --model of the ground state, in the same cell", light,
              .needs = "model"),
    ROW(REAL, "light-occupancy", "X", "What part of the molecules is excited, at random, 0 to 1",
        light_occupancy, OPT_CONTENT, .max = 1, .needs = "light"),
    FLAG("anomalous",
         "F(+) and F(-) apart: two columns of the MTZ file, a list with both, or the model's atoms "
         "from sodium on with f' and f'' at the beam's energy",
         anomalous, LATER, .needs = "mtz|spacegroup|model"),
    FILE_READ("sites",
              "Atoms with f' and f'', lines of element x y z [occupancy [B]], in the model, or "
              "added to amplitudes and phases of the MTZ file",
              sites, .needs = "mtz|model", .excludes = "hkl"),
    FILE_READ("fprime", "Measured f' and f'', lines of element, energy in eV, f', f''", fprime,
              .needs = "anomalous|sites"),
    REAL("default-F", "E", "Structure factor of reflections that are not listed, electrons",
         crystal.table.default_F, 0, 1e9, .usual = "0"),
    REALS("ncells", "N|A,B,C", "Unit cells along each edge", crystal.cells, 3, 1, 1000000,
          OPT_ONE_FOR_ALL | OPT_WHOLE, .usual = "20"),
    REALS("crystal-size", "MM|A,B,C",
          "Edges along a, b, c: they widen spots; without --ncells one block of cells fills them",
          crystal.size_m, 3, 1e-9, 1000, OPT_ONE_FOR_ALL, .si = SI_MM),
    CHOICE("shape", "square|round|gauss|tophat", "Shape of the spots", crystal.shape,
           .always = true),
    POSITIVE("fudge", "X", "Makes the spots of other shapes narrower, by its root", crystal.fudge,
             1e9, .usual = "1", .always = true),
    CHOICE("interpolate", "auto|on|off",
           "Structure factors between the indices (auto: for 2 cells or fewer)",
           crystal.interpolate, .always = true),
    ROW(CHOICE, "mosaic-model", "domains|gauss",
        "Spots of the domains of bragg-orient, or in closed form the mean over very "
        "many, for --shape=gauss (domains)",
        crystal.gauss, LATER, .choices = "domains|gauss", .needs = "physics=physical"),
    REALS("mosaic-rms", "DEG|A,B,C", "Of it: rms rotation of domains about a, c* x a and c*",
          crystal.mosaic_rms_rad, 3, 0, 10, LATER | OPT_ONE_FOR_ALL, .needs = "mosaic-model=gauss",
          .si = SI_DEG),
    REALS("strain-rms", "PERCENT|A,B,C", "Of it: rms change of the edges a, b, c of domains",
          crystal.strain_rms, 3, 0, 5, LATER | OPT_ONE_FOR_ALL, .needs = "mosaic-model=gauss",
          .si = SI_PERCENT),
    ROW(REAL, "divergence-rms", "MRAD", "Of it: rms angle of the beam in each direction across",
        crystal.divergence_rms_rad, LATER, .max = 20, .si = SI_MRAD, .needs = "mosaic-model=gauss"),
    REALS("ncells-across", "D,E,F",
          "Of it: cells off the diagonal of the block's matrix, [Na D F; D Nb E; F E Nc]",
          crystal.cells_across, 3, -1e6, 1e6, LATER, .needs = "mosaic-model=gauss"),
    REALS("diffuse-sigma", "A|X,Y,Z",
          "Diffuse halos: rms motion of the molecules along a, c* x a and c*, angstrom",
          crystal.diffuse_sigma_A, 3, 0.01, 5, LATER | OPT_ONE_FOR_ALL,
          .needs = "diffuse-gamma physics=physical"),
    REALS("diffuse-gamma", "A|X,Y,Z", "Of them: over which distance the motion is alike, angstrom",
          crystal.diffuse_gamma_A, 3, 1, 2000, LATER | OPT_ONE_FOR_ALL, .needs = "diffuse-sigma"),
    FLAG("diffuse-damp",
         "Of them: the structure factors are without this motion, which weakens them", diffuse_damp,
         LATER, .needs = "diffuse-sigma"),
    OPT_END(struct geometry_options, given),
};
