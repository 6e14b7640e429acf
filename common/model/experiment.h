/*
 * The experiment: what stays the same for all frames of a run and is sent
 * once.  Plain data; lengths in m, angles in rad, directions as unit vectors in
 * the lab frame of the chosen convention.  An experiment owns its arrays.
 */
#ifndef BRAGG_MODEL_EXPERIMENT_H
#define BRAGG_MODEL_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/pulse_ids.h"

enum { EXPERIMENT_HISTORY_SIZE = 16384, LINEAGE_SIZE = 17, MATERIAL_SIZE = 16 };

/* Which physics: `faithful` repeats every quirk of nanoBragg, `physical` is right. */
enum physics { PHYSICS_PHYSICAL, PHYSICS_FAITHFUL };

/* The axis conventions of detector software (names as nanoBragg's flags). */
enum convention {
    CONVENTION_MOSFLM,
    CONVENTION_DENZO,
    CONVENTION_ADXV,
    CONVENTION_XDS,
    CONVENTION_DIALS,
    CONVENTION_CUSTOM,
};

enum pivot { PIVOT_BEAM, PIVOT_SAMPLE };

/* A rectangle of pixels, both ends inclusive. */
struct roi {
    int64_t fast_min, fast_max, slow_min, slow_max;
};

/*
 * One flat (or curved) rectangle of square pixels.  Pixel (f, s) is item
 * first_pixel + s * fast_pixels + f of a frame.
 *
 * Panels cut from one plane lie on its grid: pixel (0,0) of such a panel is pixel
 * (grid_fast, grid_slow) of the plane, whose own corner is grid_m.  Engines count pixels
 * from there, so that a cut changes no bit; everybody else takes origin_m.
 */
struct panel {
    int64_t fast_pixels, slow_pixels;
    int64_t first_pixel;             // index of this panel's pixel (0,0) in the frame
    int64_t grid_fast, grid_slow;    // both 0: the plane begins with this panel
    double grid_m[3];                // unused then
    double pixel_m;                  // edge of a pixel
    double fast[3], slow[3];         // unit vectors along growing f and s
    double normal[3];                // unit vector "odet", away from the sample
    double origin_m[3];              // outer corner of pixel (0,0) ("pix0")
    double distance_m;               // along the beam, from sample to the panel
    double close_distance_m;         // shortest, along the normal
    bool curved;                     // pixels lie on a sphere about the sample
    bool point_pixel;                // solid angle 1/r^2, no pixel area and no obliquity
    int layers;                      // sensor layers, 1 when the thickness is 0
    double thickness_m;              // 0: no absorption is modelled
    double layer_m;                  // thickness of a layer
    double layer_depth_m;            // from its front to the point that stands for it
    double absorption_1_m;           // mu, inverse attenuation depth
    double harmonic_absorption_1_m;  // the same for photons of the third harmonic, if there are any
    char material[MATERIAL_SIZE];    // of the sensor, "Si"; "": not known
    struct roi roi;                  // pixels outside stay 0; empty: all
    uint8_t *mask;                   // fast_pixels * slow_pixels, 0 = not computed; NULL: none
    /* What headers and clients want to know. */
    double beam_fast_m, beam_slow_m;    // where the beam hits, from the outer corner
    double close_fast_m, close_slow_m;  // nearest point to the sample, likewise
    double beam_x_mm, beam_y_mm;        // Xbeam, Ybeam as typed or defaulted
    double twotheta_rad;
};

/* One incoming plane wave. */
struct source {
    double direction[3];  // unit vector from the sample towards the source
    double wavelength_m;
    double weight;  // relative; the mean over the list is 1
};

struct beam {
    double direction[3];     // unit vector of propagation
    double polarization[3];  // unit vector of the E field ("polar_vector")
    double kahn;             // polarization factor K, 0 = unpolarized
    bool no_polarization;    // polarization factor 1 everywhere
    double wavelength_m;     // central
    double fluence_ph_m2;    // photons per m^2 and frame
    double harmonic_share;   // photons of a third of the wavelength besides, for each of these
    double harmonic_signal;  // what one of them adds to a pixel, in photons of the wavelength
    double size_m;           // edge of the square beam; negative: wider than the sample
    bool has_height;         // it is no square ...
    double height_m;         // ... but so high, and size_m wide along E
    size_t nsources;
    struct source *sources;  // owned; every (direction, wavelength)
};

enum crystal_shape { SHAPE_SQUARE, SHAPE_ROUND, SHAPE_GAUSS, SHAPE_TOPHAT };

/* |F| on a dense box of indices: F(h,k,l) is
 * F[((h-min[0])*count[1] + (k-min[1]))*count[2] + (l-min[2])]; default_F outside. */
struct hkl_table {
    int min[3];
    int count[3];      // all 0: no table, default_F everywhere
    double default_F;  // electrons
    double *F;         // owned, count[0]*count[1]*count[2] items, electrons
};

struct crystal {
    char name[64];           // for people, e.g. "lysozyme"
    double cell_A[3];        // a, b, c as asked for
    double cell_rad[3];      // alpha, beta, gamma as asked for
    bool has_cell;           // lengths and angles were given (or derived, physical)
    double reciprocal_A[9];  // rows a*, b*, c* in 1/A before any misset
    double cells[3];         // Na, Nb, Nc: unit cells along a, b, c
    bool has_size;           // spots have its size, see physics/crystal/illuminated_volume.h:
    double size_m[3];        // edges along a, b, c, as a whole
    bool has_blocks;         // it consists of blocks of `cells`, which scatter incoherently:
    double blocks;           // how many, at least 1
    enum crystal_shape shape;
    double fudge;       // width factor of ROUND, GAUSS and TOPHAT
    bool interpolate;   // tricubic F between the indices
    bool has_ensemble;  // GAUSS: the mean over very many domains, see physics/crystal/ensemble.h:
    double mosaic_rms_rad[3];   // of their rotations about a, c* x a and c*
    double strain_rms[3];       // of their edges a, b, c, relative
    double divergence_rms_rad;  // of the directions of the beam, about each axis across it
    double cells_across[3];     // Nd, Ne, Nf: off the diagonal of the matrix of cells
    bool has_diffuse;           // halos about reflections, see physics/crystal/diffuse.h:
    double diffuse_sigma_A[3];  // rms motion along a, c* x a and c*
    double diffuse_gamma_A[3];  // how far it is alike, likewise
    struct hkl_table table;
};

/* How finely a pixel is sampled. */
struct sampling {
    int oversample;          // subpixels along an edge
    bool each_thickness;     // absorption for every term, not once a pixel
    bool each_polarization;  // polarization, likewise
    bool each_solid_angle;   // solid angle, likewise
};

/* Why a pixel is masked, as bits; 0: there is no sensor. */
enum mask_reason { REASON_DEAD = 1, REASON_NOISY = 2, REASON_SHADOW = 4 };

struct experiment {
    enum physics physics;
    enum convention convention;
    double spindle[3];  // unit vector of the rotation axis
    double dmin_m;      // resolution cut-off, 0 = none
    double water_m;     // nanoBragg's -water: edge of a cube of water, 0 = none
    struct sampling sampling;
    struct beam beam;
    size_t npanels;
    struct panel *panels;  // owned
    size_t ncrystals;
    struct crystal *crystals;  // owned
    bool has_pulse_ids;        // frames are numbered as pulses, too
    struct pulse_ids pulse_ids;
    bool detector_moves;  // its frames may have shifts, see struct recipe
    bool has_reasons;     // is known why pixels are masked:
    uint8_t *reasons;     // owned; bits for each pixel of the frame; NULL: there is no sensor
    /* What later stages add for headers and clients. */
    double adc_offset;                      // ADU that stand for zero photons (0 before noise)
    double gain;                            // ADU per photon (1 before noise)
    double saturation;                      // largest ADU, 0 = none
    bool gain_switches;                     // values are words of several gain levels: calibration
                                            // files say gain and offset, these are the first one's
    char lineage[LINEAGE_SIZE];             // 16 hex digits, see bragg-wire(5)
    char history[EXPERIMENT_HISTORY_SIZE];  // the same for people, see base/history.h
};

/* Across E: that of the square, or its own. */
double beam_height_m(const struct beam *b);

/* The cell as asked for: a, b, c in A, alpha, beta, gamma in degrees. */
void crystal_cell(const struct crystal *c, double cell[6]);

/* Whether a pixel of the panel is computed: it lies in the region of interest and is not masked. */
bool panel_computes(const struct panel *p, int64_t fast, int64_t slow);

/* The word of a masked pixel in the masks of NeXus and of Dectris detectors: bit 0 gap, 1 dead, 4
 * noisy, 8 by the user, as a shadow. */
uint32_t experiment_mask_word(const struct experiment *x, int64_t pixel);

/* Whether item `pixel` of the image lies on the panel. */
bool panel_holds(const struct panel *p, int64_t pixel);

/* Pixels of a whole frame: the sum over panels; 0 for no panels. */
int64_t experiment_pixels(const struct experiment *x);

/* The sensor's thickness in m for programs that correct positions for the depth at which photons
 * are counted; 0 where all of them are counted in the panel's plane, however much it catches:
 * without a sensor, on a curved panel, and in faithful mode in one layer. */
double panel_depth_m(const struct panel *p);

/* What formats that must name a material call the sensor's: silicon where it is not known. */
const char *panel_material(const struct panel *p);

/* Rows of a whole frame, likewise. */
int64_t experiment_rows(const struct experiment *x);

/* Frees the arrays and clears *x. */
void experiment_free(struct experiment *x);

/* Frees the F tables only: later stages do not need them. */
void experiment_drop_tables(struct experiment *x);

/* Deep copy into *to (overwritten, not freed); false when memory is out. */
bool experiment_copy(struct experiment *to, const struct experiment *from);

#endif
