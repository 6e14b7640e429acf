/* The option table of bragg-geometry. */
#include <math.h>
#include <stddef.h>

#include "geometry_options.h"

/* Paths do not enter the lineage: what the files hold does, with the experiment. */
#define AT(member) .offset = offsetof(struct geometry_options, member)
#define GIVEN(member) .given = offsetof(struct geometry_options, has_##member)
#define GIVEN_IN(member, u) GIVEN(member), .unit = u
#define GROUP(text)                    \
    {                                  \
        .doc = text, .type = OPT_GROUP \
    }
#define TEXT(n, meta, text, member, bits, ...)                                                \
    {                                                                                         \
        .name = n, .metavar = meta, .doc = text, .type = OPT_TEXT, AT(member), .flags = bits, \
        __VA_ARGS__                                                                           \
    }
#define FILE_READ(n, text, member, ...) \
    TEXT(n, "FILE", text, member, OPT_CONTENT | OPT_INPUT, __VA_ARGS__)
#define FLAG(n, text, member)                                                    \
    {                                                                            \
        .name = n, .doc = text, .type = OPT_FLAG, AT(member), .flags = OPT_BYTES \
    }
#define CHOICE(n, list, text, member, ...)                                                        \
    {                                                                                             \
        .name = n, .metavar = list, .doc = text, .type = OPT_CHOICE, AT(member), .choices = list, \
        .flags = OPT_BYTES, __VA_ARGS__                                                           \
    }
#define REAL(n, meta, text, member, low, high, ...)                                        \
    {                                                                                      \
        .name = n, .metavar = meta, .doc = text, .type = OPT_REAL, AT(member), .min = low, \
        .max = high, .flags = OPT_BYTES, __VA_ARGS__                                       \
    }
#define POSITIVE(n, meta, text, member, high, ...)                                       \
    {                                                                                    \
        .name = n, .metavar = meta, .doc = text, .type = OPT_REAL, AT(member), .min = 0, \
        .max = high, .flags = OPT_BYTES | OPT_OPEN_MIN, __VA_ARGS__                      \
    }
#define INT(n, meta, text, member, low, high, ...)                                        \
    {                                                                                     \
        .name = n, .metavar = meta, .doc = text, .type = OPT_INT, AT(member), .min = low, \
        .max = high, .flags = OPT_BYTES, __VA_ARGS__                                      \
    }
#define WHOLES(n, meta, text, member, items, low, high, ...)                                \
    {                                                                                       \
        .name = n, .metavar = meta, .doc = text, .type = OPT_REALS, AT(member), .min = low, \
        .max = high, .count = items, .flags = OPT_BYTES | OPT_WHOLE, __VA_ARGS__            \
    }
#define REALS(n, meta, text, member, items, low, high, ...)                                 \
    {                                                                                       \
        .name = n, .metavar = meta, .doc = text, .type = OPT_REALS, AT(member), .min = low, \
        .max = high, .count = items, .flags = OPT_BYTES, __VA_ARGS__                        \
    }
#define ONE_FOR_ALL(n, meta, text, member, items, low, high, bits, ...)                         \
    {                                                                                           \
        .name = n, .metavar = meta, .doc = text, .type = OPT_REALS, AT(member), .min = low,     \
        .max = high, .count = items, .flags = OPT_BYTES | OPT_ONE_FOR_ALL | (bits), __VA_ARGS__ \
    }
/* Of --mosaic-model=gauss and of halos: nothing of them stands in the lineage of other frames. */
#define SPREAD(n, meta, text, member, items, low, high, bits, with, ...)                      \
    {                                                                                         \
        .name = n, .metavar = meta, .doc = text, .type = OPT_REALS, AT(member), .min = low,   \
        .max = high, .count = items, .flags = OPT_BYTES | OPT_WHEN_SET | (bits), __VA_ARGS__, \
        .needs = with                                                                         \
    }
#define CHOICE_WHEN_SET(n, list, text, member, ...)                                               \
    {                                                                                             \
        .name = n, .metavar = list, .doc = text, .type = OPT_CHOICE, AT(member), .choices = list, \
        .flags = OPT_BYTES | OPT_WHEN_SET, __VA_ARGS__                                            \
    }
#define WHEN_SET(n, meta, text, member, high, ...)                                       \
    {                                                                                    \
        .name = n, .metavar = meta, .doc = text, .type = OPT_REAL, AT(member), .min = 0, \
        .max = high, .flags = OPT_BYTES | OPT_WHEN_SET | OPT_OPEN_MIN, __VA_ARGS__       \
    }
#define VECTOR(n, text, member) REALS(n, "X,Y,Z", text, member, 3, -1e6, 1e6, GIVEN(member))
#define NOTHING .given = 0

const struct opt geometry_table[] = {
    CHOICE("physics", "physical|faithful", "faithful repeats every quirk of nanoBragg", physics,
           NOTHING),
    GROUP("Detector:"),
    CHOICE("convention", "mosflm|denzo|adxv|xds|dials|custom",
           "Axes and meaning of the beam centre", convention, GIVEN(convention)),
    TEXT(
        "detector", "NAME|FILE|list",
        "A real detector by its name, or where one stands by a file of pyFAI (.poni) or NXmx; list "
        "shows the names",
        detector, OPT_CONTENT, GIVEN(detector), .excludes = "geom expt cut detsize pixel mask",
        .needs = "physics=physical"),
    CHOICE("panels", "image|modules",
           "One image with masked gaps, or a panel for each module (by the detector)", panels,
           GIVEN(panels), .needs = "detector"),
    FILE_READ("geom", "Panels of a CrystFEL geometry file: their pixels, places and axes", geom,
              .excludes = "expt cut " GEOMETRY_PLACED, .needs = "physics=physical"),
    FILE_READ(
        "expt", "Detector, beam and spindle of a DIALS experiment list, in place of these options",
        expt,
        .excludes = "cut " GEOMETRY_PLACED
                    " convention distance beam-vector polarization-vector spindle twotheta-axis",
        .needs = "physics=physical"),
    WHOLES("cut", "FAST,SLOW", "Cut the detector into so many panels", cut, 2, 1, 1000, GIVEN(cut),
           .needs = "physics=physical", .usual = "1,1"),
    TEXT("write-geom", "FILE", "Write a CrystFEL geometry file of the detector", write_geom, 0,
         NOTHING),
    {.name = "overwrite",
     .doc = "Replace another file in the place of --write-geom",
     .type = OPT_FLAG,
     AT(overwrite),
     .needs = "write-geom"},
    ONE_FOR_ALL("detpixels", "N|FAST,SLOW", "Pixels along the edges", detpixels, 2, 1, 65536,
                OPT_WHOLE, GIVEN(detpixels), .excludes = "detsize", .usual = "1024"),
    ONE_FOR_ALL("detsize", "MM|FAST,SLOW", "Edges of the detector, in place of --detpixels",
                detsize_mm, 2, 1e-6, 1e6, 0, GIVEN(detsize)),
    REAL("pixel", "MM", "Edge of a pixel", pixel_mm, 1e-4, 1000, GIVEN(pixel), .usual = "0.1"),
    POSITIVE("distance", "MM", "From sample to detector along the beam", distance_mm, 1e6,
             GIVEN(distance), .excludes = "close-distance", .usual = "100"),
    POSITIVE("close-distance", "MM", "Shortest distance, in place of --distance", close_distance_mm,
             1e6, GIVEN(close_distance)),
    REALS("beam-center", "X,Y", "Where the beam hits, mm, by the convention (centre)",
          beam_center_mm, 2, -1e6, 1e6, GIVEN_IN(beam_center, "mm")),
    REALS("close-center", "FAST,SLOW", "Point nearest to the sample, mm (centre)", close_center_mm,
          2, -1e6, 1e6, GIVEN_IN(close_center, "mm"), .excludes = "orgx|orgy"),
    REAL("orgx", "PIXELS", "Nearest point along fast, as XDS counts", orgx_px, -1e6, 1e6,
         GIVEN(orgx)),
    REAL("orgy", "PIXELS", "Nearest point along slow, as XDS counts", orgy_px, -1e6, 1e6,
         GIVEN(orgy)),
    VECTOR("fast-axis", "Fast axis (custom convention)", fast),
    VECTOR("slow-axis", "Slow axis (custom convention)", slow),
    VECTOR("normal", "Detector normal away from the sample (custom convention)", normal),
    VECTOR("twotheta-axis", "Axis of --twotheta (custom convention)", twotheta_axis),
    CHOICE("pivot", "beam|sample", "What tilts leave in place (by the convention)", pivot,
           GIVEN(pivot)),
    REALS("rotate", "X,Y,Z", "Tilt about lab x, then y, then z, deg", rotate_deg, 3, -360, 360,
          .unit = "deg", .usual = "0,0,0"),
    REAL("twotheta", "DEG", "Swing of the detector arm", twotheta_deg, -180, 180, .usual = "0"),
    FLAG("curved", "Pixels lie on a sphere about the sample", curved),
    FLAG("point-pixel", "Solid angle 1/r^2, without pixel area and obliquity", point_pixel),
    POSITIVE("thickness", "UM", "Thickness of the sensor (not modelled)", thickness_um, 1e6,
             GIVEN(thickness)),
    POSITIVE("absorption", "UM", "Attenuation depth of the sensor (that of silicon)", absorption_um,
             1e9, GIVEN(absorption), .needs = "thickness"),
    INT("layers", "N", "Layers of the sensor (by the slant of the rays)", layers, 1, 10000,
        GIVEN(layers), .needs = "thickness|detector|expt"),
    WHOLES("roi", "F0,F1,S0,S1", "Pixels to compute, inclusive (all)", roi, 4, 0, 65535,
           GIVEN(roi)),
    FILE_READ("mask", "SMV image, pixels of value 0 are not computed", mask, NOTHING),
    INT("oversample", "N", "Subpixels along an edge, 0 chooses by the width of a spot", oversample,
        0, 1000, .usual = "0"),
    FLAG("oversample-each-thickness", "Absorption for every subpixel", each_thickness),
    FLAG("oversample-each-polarization", "Polarization for every subpixel", each_polarization),
    FLAG("oversample-each-solid-angle", "Solid angle for every subpixel", each_solid_angle),
    REAL("dmin", "A", "Leave out what scatters beyond this resolution (0: nothing)", dmin_A, 0, 1e6,
         NOTHING),
    GROUP("Beam:"),
    REAL("wavelength", "A", "Wavelength", wavelength_A, 1e-4, 1e4, GIVEN(wavelength),
         .excludes = "energy", .usual = "1"),
    REAL("energy", "EV", "Photon energy, in place of --wavelength", energy_eV, 1.24, 1.239e8,
         GIVEN(energy)),
    VECTOR("beam-vector", "Direction of propagation (custom convention)", beam),
    VECTOR("polarization-vector", "Direction of the E field (custom convention)", e_vector),
    VECTOR("spindle", "Rotation axis (custom convention)", spindle),
    REAL("dispersion", "PERCENT", "Full spread of the wavelength", dispersion_percent, 0, 100,
         GIVEN(dispersion), .usual = "0"),
    INT("dispersion-steps", "N", "Steps of --dispersion", dispersion_steps, 1, 1000000,
        GIVEN(dispersion_steps), .needs = "dispersion", .usual = "2"),
    REAL("divergence", "MRAD", "Full divergence both ways", divergence_mrad, 0, 1000,
         GIVEN(divergence), .excludes = "divergence-h divergence-v", .usual = "0"),
    INT("divergence-steps", "N", "Steps of --divergence each way", divergence_steps, 1, 1000,
        GIVEN(divergence_steps), .needs = "divergence",
        .excludes = "divergence-h-steps divergence-v-steps", .usual = "2"),
    REAL("divergence-h", "MRAD", "Horizontal divergence", divergence_h_mrad, 0, 1000,
         GIVEN(divergence_h)),
    REAL("divergence-v", "MRAD", "Vertical divergence", divergence_v_mrad, 0, 1000,
         GIVEN(divergence_v)),
    INT("divergence-h-steps", "N", "Directions across --divergence-h", divergence_h_steps, 1, 1000,
        GIVEN(divergence_h_steps), .needs = "divergence-h"),
    INT("divergence-v-steps", "N", "Directions across --divergence-v", divergence_v_steps, 1, 1000,
        GIVEN(divergence_v_steps), .needs = "divergence-v"),
    FLAG("square-divergence", "Keep the corners of the divergence", square_divergence),
    FILE_READ("source-file",
              "Sources: X Y Z weight wavelength(m), in place of divergence and dispersion",
              source_file, .excludes = "dispersion divergence divergence-h|divergence-v"),
    CHOICE("weights", "ignore|apply|override",
           "In --source-file: not used, used, or not used and one wavelength for all (apply; "
           "faithful: ignore)",
           weights, GIVEN(weights), .needs = "source-file"),
    REAL("polarization", "K",
         "Kahn factor: 0 unpolarized, 1 along the E vector, where 0.98 has 99 % of the photons; "
         "faithful: 0",
         polarization, -1, 1, GIVEN(polarization), .excludes = "no-polarization", .usual = "0.98"),
    FLAG("no-polarization", "Polarization factor 1 everywhere", no_polarization),
    POSITIVE("fluence", "PH/M2", "Photons per square metre and frame", fluence, 1e60,
             GIVEN(fluence), .excludes = "flux", .usual = "1e25"),
    POSITIVE("flux", "PH/S", "Photons per second, in place of --fluence", flux, 1e60, GIVEN(flux)),
    POSITIVE("exposure", "S", "Exposure of a frame, with --flux", exposure_s, 1e9, GIVEN(exposure),
             .needs = "flux|expt", .usual = "1"),
    WHEN_SET("third-harmonic", "PERCENT",
             "Photons of a third of the wavelength besides, of those of the beam", harmonic_percent,
             10, GIVEN(harmonic), .needs = "physics=physical"),
    WHEN_SET(
        "harmonic-signal", "X",
        "What one of them adds to a pixel, in photons of the beam (3; a --detector that counts: "
        "1)",
        harmonic_signal, 3, GIVEN(harmonic_signal), .needs = "third-harmonic"),
    WHEN_SET("harmonic-absorption", "UM",
             "Attenuation depth of the sensor for them (that of silicon; of other sensors 27 times "
             "--absorption)",
             harmonic_absorption_um, 1e9, GIVEN(harmonic_absorption), .needs = "third-harmonic"),
    POSITIVE("beam-size", "MM", "Edge of the square beam", beam_size_mm, 1e6, GIVEN(beam_size),
             .usual = "0.0003"),
    POSITIVE("beam-height", "MM", "Of a beam that is --beam-size wide along E (a square)",
             beam_height_mm, 1e6, GIVEN(beam_height), .needs = "physics=physical beam-size"),
    GROUP("Crystal (lysozyme where nothing else is given):"),
    {.name = "crystal",
     .metavar = "KEY=VALUE...",
     .type = OPT_TEXTS,
     AT(crystals),
     .flags = OPT_CONTENT | OPT_KEYS,
     .doc = "One of several crystals; keys are the other options here, which hold for all crystals "
            "that "
            "say nothing else; may be repeated"},
    /* all that follows is a key of --crystal too */
    TEXT("name", "TEXT", "Name of the crystal in headers and lists", name, OPT_CONTENT, NOTHING),
    REALS("cell", "A,B,C,AL,BE,GA", "Unit cell, A and deg", cell, 6, 0, 1e6, GIVEN(cell),
          .excludes = "matrix"),
    FILE_READ("matrix", "MOSFLM orientation matrix, or FILE.expt", matrix, GIVEN(matrix)),
    FILE_READ("hkl", "Structure factors, text: h k l F", hkl, GIVEN(hkl), .excludes = "mtz",
              .needs = "cell|matrix"),
    TEXT("spacegroup", "NAME",
         "Space group of --hkl, as P212121: the list holds the unique part (P1, without Friedel)",
         spacegroup, OPT_CONTENT, GIVEN(spacegroup), .needs = "hkl"),
    FILE_READ("mtz", "Structure factors, MTZ", mtz, GIVEN(mtz)),
    FILE_READ("model",
              "Model of atoms, PDB or mmCIF: gemmi computes structure factors to --dmin, or as far "
              "as the detector sees",
              model, GIVEN(model), .excludes = "hkl|mtz"),
    TEXT("column", "LABEL[,LABEL]",
         "Column of the MTZ file (the first of type F), both of --anomalous, or amplitude and "
         "phase with --sites",
         column, OPT_BYTES, GIVEN(column), .needs = "mtz"),
    FILE_READ("light",
              "Model of the excited state, as --model of the ground state, in the same cell", light,
              GIVEN(light), .needs = "model"),
    {.name = "light-occupancy",
     .metavar = "X",
     .doc = "What part of the molecules is excited, at random, 0 to 1",
     .type = OPT_REAL,
     AT(light_occupancy),
     .min = 0,
     .max = 1,
     .flags = OPT_CONTENT,
     GIVEN(light_occupancy),
     .needs = "light"},
    {.name = "anomalous",
     .doc = "F(+) and F(-) apart: two columns of the MTZ file, a list with both, or the model's "
            "atoms from sodium on with f' and f'' at the beam's energy",
     .type = OPT_FLAG,
     AT(anomalous),
     .flags = OPT_BYTES | OPT_WHEN_SET,
     .needs = "mtz|spacegroup|model"},
    FILE_READ("sites",
              "Atoms with f' and f'', lines of element x y z [occupancy [B]], in the model, or "
              "added to amplitudes and phases of the MTZ file",
              sites, GIVEN(sites), .needs = "mtz|model", .excludes = "hkl"),
    FILE_READ("fprime", "Measured f' and f'', lines of element, energy in eV, f', f''", fprime,
              GIVEN(fprime), .needs = "anomalous|sites"),
    REAL("default-F", "E", "Structure factor of reflections that are not listed, electrons",
         default_F, 0, 1e9, GIVEN(default_F), .usual = "0"),
    ONE_FOR_ALL("ncells", "N|A,B,C", "Unit cells along each edge", ncells, 3, 1, 1000000, OPT_WHOLE,
                GIVEN(ncells), .usual = "20"),
    ONE_FOR_ALL(
        "crystal-size", "MM|A,B,C",
        "Edges along a, b, c: they widen spots; without --ncells one block of cells fills them",
        crystal_size_mm, 3, 1e-9, 1000, 0, GIVEN(crystal_size)),
    CHOICE("shape", "square|round|gauss|tophat", "Shape of the spots", shape, NOTHING),
    POSITIVE("fudge", "X", "Makes the spots of other shapes narrower, by its root", fudge, 1e9,
             NOTHING, .usual = "1"),
    CHOICE("interpolate", "auto|on|off",
           "Structure factors between the indices (auto: for 2 cells or fewer)", interpolate,
           NOTHING),
    CHOICE_WHEN_SET("mosaic-model", "domains|gauss",
                    "Spots of the domains of bragg-orient, or in closed form the mean over very "
                    "many, for --shape=gauss (domains)",
                    mosaic_model, GIVEN(mosaic_model)),
    SPREAD("mosaic-rms", "DEG|A,B,C", "Of it: rms rotation of domains about a, c* x a and c*",
           mosaic_rms_deg, 3, 0, 10, OPT_ONE_FOR_ALL, "mosaic-model", GIVEN(mosaic_rms)),
    SPREAD("strain-rms", "PERCENT|A,B,C", "Of it: rms change of the edges a, b, c of domains",
           strain_rms_percent, 3, 0, 5, OPT_ONE_FOR_ALL, "mosaic-model", GIVEN(strain_rms)),
    {.name = "divergence-rms",
     .metavar = "MRAD",
     .doc = "Of it: rms angle of the beam in each direction across",
     .type = OPT_REAL,
     AT(divergence_rms_mrad),
     .min = 0,
     .max = 20,
     .flags = OPT_BYTES | OPT_WHEN_SET,
     GIVEN(divergence_rms),
     .needs = "mosaic-model"},
    SPREAD("ncells-across", "D,E,F",
           "Of it: cells off the diagonal of the block's matrix, [Na D F; D Nb E; F E Nc]",
           ncells_across, 3, -1e6, 1e6, 0, "mosaic-model", GIVEN(ncells_across)),
    SPREAD("diffuse-sigma", "A|X,Y,Z",
           "Diffuse halos: rms motion of the molecules along a, c* x a and c*, angstrom",
           diffuse_sigma_A, 3, 0.01, 5, OPT_ONE_FOR_ALL, "diffuse-gamma", GIVEN(diffuse_sigma)),
    SPREAD("diffuse-gamma", "A|X,Y,Z", "Of them: over which distance the motion is alike, angstrom",
           diffuse_gamma_A, 3, 1, 2000, OPT_ONE_FOR_ALL, "diffuse-sigma", GIVEN(diffuse_gamma)),
    {.name = "diffuse-damp",
     .doc = "Of them: the structure factors are without this motion, which weakens them",
     .type = OPT_FLAG,
     AT(diffuse_damp),
     .flags = OPT_BYTES | OPT_WHEN_SET,
     .needs = "diffuse-sigma"},
    {0},
};
