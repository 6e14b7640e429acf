/* The options of bragg-geometry, and the requests that they make. */
#ifndef BRAGG_STAGES_GEOMETRY_OPTIONS_H
#define BRAGG_STAGES_GEOMETRY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"
#include "physics/request.h"

/* Values in the units of the command line; `has_` says that one was given. */
struct geometry_options {
    int physics, convention;
    bool has_convention;
    /* detector */
    int panels;
    const char *detector, *geom, *expt, *write_geom;
    bool overwrite;
    double cut[2];
    bool has_detector, has_panels, has_cut, has_pixel;
    double detpixels[2], detsize_mm[2];
    double pixel_mm, distance_mm, close_distance_mm;
    bool has_detpixels, has_detsize, has_distance, has_close_distance;
    double beam_center_mm[2], close_center_mm[2], orgx_px, orgy_px;
    bool has_beam_center, has_close_center, has_orgx, has_orgy;
    double fast[3], slow[3], normal[3], twotheta_axis[3];
    double beam[3], e_vector[3], spindle[3];
    bool has_fast, has_slow, has_normal, has_twotheta_axis;
    bool has_beam, has_e_vector, has_spindle;
    int pivot;
    bool has_pivot;
    double rotate_deg[3], twotheta_deg;
    bool curved, point_pixel;
    double thickness_um, absorption_um;
    int64_t layers;
    bool has_thickness, has_absorption, has_layers;
    double harmonic_percent, harmonic_signal, harmonic_absorption_um;
    bool has_harmonic, has_harmonic_signal, has_harmonic_absorption;
    double roi[4];
    bool has_roi;
    const char *mask;
    int64_t oversample;
    bool each_thickness, each_polarization, each_solid_angle;
    /* beam */
    double wavelength_A, energy_eV;
    bool has_wavelength, has_energy;
    double dispersion_percent, divergence_mrad, divergence_h_mrad, divergence_v_mrad;
    int64_t dispersion_steps, divergence_steps, divergence_h_steps, divergence_v_steps;
    bool has_dispersion, has_divergence, has_divergence_h, has_divergence_v;
    bool has_dispersion_steps, has_divergence_steps, has_divergence_h_steps, has_divergence_v_steps;
    bool square_divergence;
    const char *source_file;
    int weights;
    bool has_weights;
    double polarization;
    bool has_polarization, no_polarization;
    double fluence, flux, exposure_s, beam_size_mm, beam_height_mm;
    bool has_fluence, has_flux, has_exposure, has_beam_size, has_beam_height;
    /* crystal, or what several of them have in common */
    struct opt_texts crystals;
    const char *name;
    double cell[6];
    bool has_cell;
    const char *matrix, *hkl, *mtz, *column, *spacegroup, *model, *sites, *fprime, *light;
    double light_occupancy;
    bool anomalous;
    bool has_matrix, has_hkl, has_mtz, has_column, has_spacegroup, has_model, has_sites, has_fprime,
        has_light;
    bool has_light_occupancy;
    double default_F;
    bool has_default_F;
    double ncells[3], crystal_size_mm[3];
    bool has_ncells, has_crystal_size;
    int shape;
    double fudge;
    int interpolate;
    int mosaic_model;  // 0 domains, 1 gauss
    double mosaic_rms_deg[3], strain_rms_percent[3], divergence_rms_mrad, ncells_across[3];
    bool has_mosaic_model, has_mosaic_rms, has_strain_rms, has_divergence_rms, has_ncells_across;
    double diffuse_sigma_A[3], diffuse_gamma_A[3];
    bool has_diffuse_sigma, has_diffuse_gamma, diffuse_damp;
    double dmin_A;
};

extern const struct opt geometry_table[];

/* What no option can say where a file or its maker puts the panels, for struct opt.excludes. */
#define GEOMETRY_PLACED                                                          \
    "detpixels|detsize pixel close-distance beam-center close-center orgx|orgy " \
    "fast-axis|slow-axis|normal pivot rotate|twotheta curved roi mask"

/* What --detector, --geom, --expt and --cut ask of the detector. */
struct geometry_panels {
    struct place *places;  // owned, with their masks
    struct layout layout;  // to cut every panel by, once it is made
    double saturation;     // of the detector; 0: not known
};

/* Applies them to *r, made by geometry_request; reads the file of --geom or --expt.  *p is freed by
 * geometry_panels_free, after an error too, but before r->detector.mask, which moves to the
 * experiment.  STATUS_USAGE for options that contradict each other. */
enum status geometry_panels(const struct geometry_options *o, struct request *r,
                            struct geometry_panels *p, struct error *e);
void geometry_panels_free(struct geometry_panels *p, size_t nplaces);

/* Fills *r in SI units, all but r->crystals; the options were checked by their table.
 * STATUS_USAGE for vectors of another convention, and an empty region.  Files (mask, sources) are
 * the caller's to read. */
enum status geometry_request(const struct geometry_options *o, struct request *r, struct error *e);

/* Warns of what can be but was hardly meant, in the order of the options. */
void geometry_doubt(const struct geometry_options *o, const struct request *r,
                    const struct experiment *x);

/* One crystal: the options for all of them under its own, which point into `words`
 * (so it must not be moved). */
struct crystal_options {
    struct geometry_options options;
    char words[8192];
};

/* *list gets one item for each --crystal, or a single one for none; *count is their
 * number.  The caller frees it with mem_free.  STATUS_USAGE for bad keys and values. */
enum status geometry_crystals(const struct geometry_options *o, struct crystal_options **list,
                              size_t *count, struct error *e);

/* *c in SI units from the options of one crystal, which must not contradict each other
 * (STATUS_USAGE).  Files (matrix, F) are the caller's to read. */
enum status geometry_crystal(const struct geometry_options *o, struct crystal_request *c,
                             struct error *e);

#endif
