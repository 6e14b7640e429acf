/*
 * The request of a user in SI units, before any rule is applied.  It is the only input of the
 * set-up functions (setup.h), and the option tables of bragg-geometry and bragg-nanobragg fill it
 * in.  A number that was not given is NaN, and so is the first number of a vector that was not
 * given, unless the comment of a member says otherwise.
 *
 * After the structs are two rules for all set-up functions.  Numbers that could make a NaN, an
 * infinity or an overflow later are refused with one line of text.  A number of steps is derived
 * from those of count, range and step that were given.
 */
#ifndef BRAGG_PHYSICS_REQUEST_H
#define BRAGG_PHYSICS_REQUEST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/experiment.h"

/* A number of steps over a range, given by any of the three (physics 2.3, 3.5). */
struct steps_request {
    int64_t count;  // 0: not given
    double range;   // in rad (phi, divergence), as a fraction (dispersion) or in m (thickness)
    double step;    // 0: not given
};

/* A request in which nothing is given. */
#define NO_STEPS             \
    {                        \
        .range = (double)NAN \
    }

/* The whole of any detector. */
#define ROI_ALL                                      \
    {                                                \
        .fast_max = INT64_MAX, .slow_max = INT64_MAX \
    }

/* How a flat detector is cut into panels: `count` modules along fast and slow, each of `pixels`
 * pixels, with `gap` pixels between neighbours.  pixels 0: equal parts without gaps.  count[0] 0:
 * the detector is not cut. */
struct layout {
    int64_t count[2], pixels[2], gap[2];
};

/* One of several flat panels, given by its place in the coordinate system of the beam: z along the
 * beam, x the component across the beam of the fast axis of the convention, and y = z x x. */
struct place {
    int64_t pixels[2];  // fast, slow
    double pixel_m;
    double fast[3], slow[3];  // unit vectors
    double corner_m[3];       // outer corner of pixel (0,0), from the sample
    uint8_t *mask;            // as panel.mask; owned by the array of places
};

struct detector_request {
    enum convention convention;
    double pixel_m;
    double size_m[2];         // fast, slow; used where pixels[] is 0
    int64_t pixels[2];        // fast, slow
    double distance_m;        // always given
    double close_distance_m;  // replaces distance_m
    double beam_m[2];         // Xbeam, Ybeam: where the beam hits, by the convention
    double close_m[2];        // Xclose, Yclose: nearest point
    double org_px[2];         // ORGX, ORGY: nearest point, in pixels, XDS style
    /* CONVENTION_CUSTOM: vectors not given keep that row of the table. */
    double fast[3], slow[3], normal[3], twotheta_axis[3];
    int pivot;  // enum pivot, -1: that of the convention; faithful: only CUSTOM listens
    double rotation_rad[3];  // about lab x, y, z
    double twotheta_rad;
    bool curved, point_pixel;
    double absorption_1_m;           // 1/depth; 0 = transparent
    double harmonic_absorption_1_m;  // of the third harmonic, likewise; 0: by the sensor's material
    char material[MATERIAL_SIZE];    // of the sensor, as panel.material
    struct steps_request thickness;  // range in m
    bool smears;                     // as sampling.smears
    bool may_smear;                  // smear_choose decides; its layers remain
    struct roi roi;                  // ROI_ALL: all
    uint8_t *mask;                   // as panel.mask; the panel becomes its owner
    size_t nplaces;
    struct place *places;  // borrowed but for their masks, which move; NULL: one panel by the above
    bool lab_places;       // they are in the laboratory frame, not in the coordinate system of the
                           // beam
};

/* How the weight and wavelength columns of a source list are used. */
enum source_weights {
    WEIGHTS_IGNORE,    // nanoBragg: the file's wavelengths, equal weights
    WEIGHTS_APPLY,     // weights used, normalised to a mean of 1
    WEIGHTS_OVERRIDE,  // equal weights, and the central wavelength for all
};

/* The signal of a photon in a pixel. */
enum source_signal {
    SIGNAL_COUNT,   // one
    SIGNAL_ENERGY,  // its energy, relative to that of the beam
};

struct beam_request {
    double wavelength_m;
    struct steps_request horizontal, vertical;  // divergence, rad
    bool square_divergence;                     // keep the corners
    struct steps_request dispersion;            // range: fraction of the wavelength
    size_t nlisted;                             // sources from a file; 0: generate
    struct source *listed;                      // borrowed; weights as in the file
    enum source_weights weights;
    double direction[3], polarization[3], spindle[3];  // CONVENTION_CUSTOM
    double kahn;
    bool no_polarization;
    double fluence_ph_m2;
    double flux_ph_s, exposure_s;            // both > 0 and size_m > 0: they set the fluence
    double harmonic_share, harmonic_signal;  // as in struct beam
    enum source_signal signal;
    double size_m;    // edge of the square; its width along E where it has a height
    double height_m;  // height of a beam that is not square
};

enum interpolation { INTERPOLATE_AUTO, INTERPOLATE_ON, INTERPOLATE_OFF };

struct crystal_request {
    char name[64];
    bool has_cell, has_matrix;
    double cell_A[3], cell_rad[3];
    double matrix[9];  // as in a MOSFLM file: rows x,y,z, columns a*,b*,c*, times wavelength
    double cells[3];   // Na, Nb, Nc
    bool blocks;       // they are those of a block, whatever the edges
    double size_m[3];  // > 0: edges of the crystal, from which cells follow where it has no blocks
    enum crystal_shape shape;
    bool is_star;  // GAUSS whose spots are round in reciprocal space, see cells_of_star
    double fudge;
    enum interpolation interpolate;
    int gauss;  // 1: an ensemble, and what struct crystal says of it
    double mosaic_rms_rad[3], strain_rms[3], divergence_rms_rad, cells_across[3];
    double diffuse_sigma_A[3], diffuse_gamma_A[3];  // likewise; 0: none
    struct hkl_table table;                         // ownership moves to the crystal
};

struct request {
    enum physics physics;
    enum probe probe;
    struct detector_request detector;
    struct beam_request beam;
    size_t ncrystals;
    struct crystal_request *crystals;  // borrowed
    int64_t oversample;                // 0: automatic
    bool each_thickness, each_polarization, each_solid_angle;
    double dmin_m;
    double water_m;
};

/* Clears *r to a request in which nothing was given. */
static inline void request_clear(struct request *r)
{
    const double none = (double)NAN;
    *r = (struct request){.detector = {.close_distance_m = none,
                                       .beam_m = {none, none},
                                       .close_m = {none, none},
                                       .org_px = {none, none},
                                       .fast = {none},
                                       .slow = {none},
                                       .normal = {none},
                                       .twotheta_axis = {none},
                                       .pivot = -1,
                                       .absorption_1_m = none,
                                       .thickness = NO_STEPS,
                                       .roi = ROI_ALL},
                          .beam = {.horizontal = NO_STEPS,
                                   .vertical = NO_STEPS,
                                   .dispersion = NO_STEPS,
                                   .direction = {none},
                                   .polarization = {none},
                                   .spindle = {none}}};
}

/* How the crystal is turned: the part of the recipe that a user chooses. */
struct orientation_request {
    double misset_rad[3];  // about lab x, y, z, applied in that order
    bool random_misset;    // faithful: nanoBragg's 90-radian cap; physical: uniform on SO(3)
    int64_t misset_seed;   // faithful: the negative number that nanoBragg keeps
    double strain[3];      // relative changes of the edges a, b, c of the cell
    bool has_cells;        // the crystal has its own unit cells along a, b, c:
    double cells[3];
    bool has_spread;    // the crystal has its own mosaic spread, which is in closed form or in
    double spread_rad;  // mosaic_rad as well
    bool has_b_factor;  // the crystal has its own overall B factor:
    double b_factor_A2;
    bool is_aside;      // the middle of the crystal is not in the middle of the beam but at
    double aside_m[3];  // aside_m[] from there, in the laboratory frame at phi 0
    double phi_rad;
    struct steps_request phi;  // range = osc, step = phistep, count = phisteps
    double mosaic_rad;
    int64_t mosaic_domains;  // 0: not given
    int64_t mosaic_seed;     // faithful: the negative number that nanoBragg keeps
};

/* The largest numbers that are accepted; a larger one is a mistake of the user. */
#define LIMIT_EDGE_PIXELS 65536    // pixels along an edge of a panel
#define LIMIT_PIXELS 2147483647.0  // pixels of a frame
#define LIMIT_STEPS 1000000.0      // sources, phi steps, mosaic domains
#define LIMIT_LAYERS 10000.0       // layers of the sensor
#define LIMIT_OVERSAMPLE 1000.0    // subpixels along an edge
#define LIMIT_CELLS 1e6            // unit cells along an axis
#define LIMIT_FOOTPRINT 256.0      // pixels along an edge of a crystal with a size

/* Returns STATUS_INPUT with "WHAT is VALUE UNIT, must be from MIN to MAX UNIT" unless min <= value
 * / unit_size <= max.  NaN is outside of every range.  `unit_size` is the size of `unit` in the
 * unit of `value` (1e-3 for a length in m shown in mm). */
enum status check_range(const char *what, double value, double unit_size, const char *unit,
                        double min, double max, struct error *e);

/* Returns STATUS_INPUT unless v is finite and has a length from 1e-6 to 1e6. */
enum status check_direction(const char *what, const double v[3], struct error *e);

/* The quantity of the steps.  It decides the value of a range that was not given (divergence: -1,
 * the others: 0) and two rows of the table. */
enum steps_kind { STEPS_DIVERGENCE, STEPS_DISPERSION, STEPS_THICKNESS };

struct steps {
    int64_t count;
    double range, step;  // in the unit of the request
};

/* Applies the table of nanoBragg for divergence, dispersion and thickness [2.3].  If a range, step
 * or count is not positive in the end, the result is {1, 0, 0}.  `what` names the steps.
 * STATUS_INPUT: more than LIMIT_STEPS steps. */
enum status steps_resolve(const struct steps_request *r, enum steps_kind kind, const char *what,
                          struct steps *s, struct error *e);

/* Applies the table of nanoBragg for phi [3.5]: count = phisteps, range = osc, step = phistep, in
 * rad.  Slice t starts at phi0 + step * t. */
enum status steps_phi(const struct steps_request *r, struct steps *s, struct error *e);

#endif
