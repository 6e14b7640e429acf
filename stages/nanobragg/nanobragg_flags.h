/*
 * The table of the flags of nanoBragg, as X-macros.  It is used twice: by the parser, and for the
 * places where values are stored.  Members are those of struct nanobragg.
 *
 *     FLAGS_VALUE   X(tag, flag, type, unit, member)   one value, converted to SI with SI_`unit`.
 *                   Type NONE has no value: the member is a bool, which is set to true
 *     FLAGS_VECTOR  X(tag, flag, member)               three reals; also selects CUSTOM
 *     FLAGS_ACTION  X(tag, flag, type, least, most)    flags with an action of their own
 *     FLAGS_IDLE    X(flag, type, values)              accepted, without effect
 */
#ifndef BRAGG_STAGES_NANOBRAGG_FLAGS_H
#define BRAGG_STAGES_NANOBRAGG_FLAGS_H

#define FLAGS_VALUE(X)                                                                     \
    /* distance and centre; the first three choose pivot BEAM, the others SAMPLE */        \
    X(DISTANCE, "-distance", REAL, MM, request.detector.distance_m)                        \
    X(XBEAM, "-Xbeam", REAL, MM, request.detector.beam_m[0])                               \
    X(YBEAM, "-Ybeam", REAL, MM, request.detector.beam_m[1])                               \
    X(CLOSE_DISTANCE, "-close_distance", REAL, MM, request.detector.close_distance_m)      \
    X(XCLOSE, "-Xclose", REAL, MM, request.detector.close_m[0])                            \
    X(YCLOSE, "-Yclose", REAL, MM, request.detector.close_m[1])                            \
    X(ORGX, "-ORGX", REAL, SAME, request.detector.org_px[0])                               \
    X(ORGY, "-ORGY", REAL, SAME, request.detector.org_px[1])                               \
    X(TWOTHETA, "-twotheta", REAL, DEG, request.detector.twotheta_rad)                     \
    /* detector */                                                                         \
    X(PIXEL, "-pixel", REAL, MM, request.detector.pixel_m)                                 \
    X(DETPIXELS_F, "-detpixels_f", INT, SAME, request.detector.pixels[0])                  \
    X(DETPIXELS_X, "-detpixels_x", INT, SAME, request.detector.pixels[0])                  \
    X(DETPIXELS_S, "-detpixels_s", INT, SAME, request.detector.pixels[1])                  \
    X(DETPIXELS_Y, "-detpixels_y", INT, SAME, request.detector.pixels[1])                  \
    X(DETSIZE_F, "-detsize_f", REAL, MM, request.detector.size_m[0])                       \
    X(DETSIZE_S, "-detsize_s", REAL, MM, request.detector.size_m[1])                       \
    X(ROTX, "-detector_rotx", REAL, DEG, request.detector.rotation_rad[0])                 \
    X(ROTY, "-detector_roty", REAL, DEG, request.detector.rotation_rad[1])                 \
    X(ROTZ, "-detector_rotz", REAL, DEG, request.detector.rotation_rad[2])                 \
    X(THICK, "-detector_thick", REAL, UM, request.detector.thickness.range)                \
    X(DET_THICKSTEPS, "-detector_thicksteps", INT, SAME, request.detector.thickness.count) \
    X(THICKSTEPS, "-thicksteps", INT, SAME, request.detector.thickness.count)              \
    X(OVERSAMPLE, "-oversample", INT, SAME, request.oversample)                            \
    X(CURVED, "-curved_det", NONE, SAME, request.detector.curved)                          \
    X(POINT_PIXEL, "-point_pixel", NONE, SAME, request.detector.point_pixel)               \
    X(EACH_THICK, "-oversample_thick", NONE, SAME, request.each_thickness)                 \
    X(EACH_POLAR, "-oversample_polar", NONE, SAME, request.each_polarization)              \
    X(EACH_OMEGA, "-oversample_omega", NONE, SAME, request.each_solid_angle)               \
    X(MASK, "-mask", TEXT, SAME, mask_file)                                                \
    X(IMG, "-img", TEXT, SAME, header_file)                                                \
    /* beam */                                                                             \
    X(LAMBDA, "-lambda", REAL, ANGSTROM, request.beam.wavelength_m)                        \
    X(WAVE, "-wave*", REAL, ANGSTROM, request.beam.wavelength_m)                           \
    X(ENERGY, "-energy", REAL, EV, request.beam.wavelength_m)                              \
    X(DISPERSION, "-dispersion", REAL, PERCENT, request.beam.dispersion.range)             \
    X(DISPSTEPS, "-dispsteps", INT, SAME, request.beam.dispersion.count)                   \
    X(HDIVRANGE, "-hdivrange", REAL, MRAD, request.beam.horizontal.range)                  \
    X(VDIVRANGE, "-vdivrange", REAL, MRAD, request.beam.vertical.range)                    \
    X(HDIVSTEP, "-hdivstep", REAL, MRAD, request.beam.horizontal.step)                     \
    X(VDIVSTEP, "-vdivstep", REAL, MRAD, request.beam.vertical.step)                       \
    X(HDIVSTEPS, "-hdivsteps", INT, SAME, request.beam.horizontal.count)                   \
    X(VDIVSTEPS, "-vdivsteps", INT, SAME, request.beam.vertical.count)                     \
    X(FLUENCE, "-fluence", REAL, SAME, request.beam.fluence_ph_m2)                         \
    X(FLUX, "-flux", REAL, SAME, request.beam.flux_ph_s)                                   \
    X(EXPOSURE, "-exposure", REAL, SAME, request.beam.exposure_s)                          \
    X(BEAMSIZE, "-beamsize", REAL, MM, request.beam.size_m)                                \
    X(DMIN, "-dmin", REAL, TENTH_NM, request.dmin_m)                                       \
    X(WATER, "-water", REAL, MICRO, request.water_m)                                       \
    X(SQUARE_DIV, "-square_div", NONE, SAME, request.beam.square_divergence)               \
    X(NOPOLAR, "-nopolar", NONE, SAME, request.beam.no_polarization)                       \
    X(SOURCEFILE, "-sourcefile", TEXT, SAME, source_file)                                  \
    /* crystal */                                                                          \
    X(DEFAULT_F, "-default_F", REAL, SAME, default_F)                                      \
    X(NA, "-Na", REAL, WHOLE, crystal.cells[0])                                            \
    X(NB, "-Nb", REAL, WHOLE, crystal.cells[1])                                            \
    X(NC, "-Nc", REAL, WHOLE, crystal.cells[2])                                            \
    X(XTAL_THICK, "-xtal_thick*", REAL, MM, crystal.size_m[0])                             \
    X(XTAL_X, "-xtal_x", REAL, MM, crystal.size_m[0])                                      \
    X(SAMPLE_THICK, "-sample_thick*", REAL, MM, crystal.size_m[0])                         \
    X(SAMPLE_X, "-sample_x", REAL, MM, crystal.size_m[0])                                  \
    X(XTAL_WIDTH, "-xtal_width", REAL, MM, crystal.size_m[1])                              \
    X(XTAL_Y, "-xtal_y", REAL, MM, crystal.size_m[1])                                      \
    X(SAMPLE_WIDTH, "-sample_width", REAL, MM, crystal.size_m[1])                          \
    X(SAMPLE_Y, "-sample_y", REAL, MM, crystal.size_m[1])                                  \
    X(WIDTH, "-width", REAL, MM, crystal.size_m[1])                                        \
    X(XTAL_HEIGHT, "-xtal_heigh*", REAL, MM, crystal.size_m[2])                            \
    X(XTAL_Z, "-xtal_z", REAL, MM, crystal.size_m[2])                                      \
    X(SAMPLE_HEIGHT, "-sample_heigh*", REAL, MM, crystal.size_m[2])                        \
    X(SAMPLE_Z, "-sample_z", REAL, MM, crystal.size_m[2])                                  \
    X(HEIGHT, "-heigh*", REAL, MM, crystal.size_m[2])                                      \
    X(FUDGE, "-fudge", REAL, SAME, crystal.fudge)                                          \
    X(MOSAIC, "-mosaic", REAL, DEG, orientation.mosaic_rad)                                \
    X(MOSAICITY, "-mosaicity", REAL, DEG, orientation.mosaic_rad)                          \
    X(MOSAIC_SPREAD, "-mosaic_spread", REAL, DEG, orientation.mosaic_rad)                  \
    X(MOSAIC_DOMAINS, "-mosaic_dom*", INT, SAME, orientation.mosaic_domains)               \
    X(PHI, "-phi", REAL, DEG, orientation.phi_rad)                                         \
    X(OSC, "-osc", REAL, DEG, orientation.phi.range)                                       \
    X(PHISTEP, "-phistep", REAL, DEG, orientation.phi.step)                                \
    X(PHISTEPS, "-phisteps", INT, SAME, orientation.phi.count)                             \
    X(SEED, "-seed", INT, NEGATED, seed)                                                   \
    X(MOSAIC_SEED, "-mosaic_seed", INT, NEGATED, orientation.mosaic_seed)                  \
    X(MATRIX, "-mat", TEXT, SAME, matrix_file)                                             \
    X(MATRIX_LONG, "-matrix", TEXT, SAME, matrix_file)                                     \
    X(HKL, "-hkl", TEXT, SAME, hkl_file)                                                   \
    X(DUMP, "-dump", TEXT, SAME, dump_file)                                                \
    /* output */                                                                           \
    X(SCALE, "-scale", REAL, SAME, scale)                                                  \
    X(PGMSCALE, "-pgmscale", REAL, SAME, pgm_scale)                                        \
    X(ADC, "-adc", REAL, SAME, adc)                                                        \
    X(FLOATFILE, "-floatfile", TEXT, SAME, float_file)                                     \
    X(FLOATIMAGE, "-floatimage", TEXT, SAME, float_file)                                   \
    X(INTFILE, "-intfile", TEXT, SAME, int_file)                                           \
    X(INTIMAGE, "-intimage", TEXT, SAME, int_file)                                         \
    X(PGMFILE, "-pgmfile", TEXT, SAME, pgm_file)                                           \
    X(PGMIMAGE, "-pgmimage", TEXT, SAME, pgm_file)                                         \
    X(NOISEFILE, "-noisefile", TEXT, SAME, noise_file)                                     \
    X(NOISEIMAGE, "-noiseimage", TEXT, SAME, noise_file)                                   \
    X(NONOISE, "-nonoise", NONE, SAME, no_noise)                                           \
    X(NOPGM, "-nopgm", NONE, SAME, no_pgm)

#define FLAGS_VECTOR(X)                                                \
    X(FDET, "-fdet_vector", request.detector.fast)                     \
    X(SDET, "-sdet_vector", request.detector.slow)                     \
    X(ODET, "-odet_vector", request.detector.normal)                   \
    X(BEAM, "-beam_vector", request.beam.direction)                    \
    X(POLAR_AXIS, "-polar_vector", request.beam.polarization)          \
    X(SPINDLE, "-spindle_axis", request.beam.spindle)                  \
    X(TWOTHETA_AXIS, "-twotheta_axis", request.detector.twotheta_axis) \
    X(PIX0, "-pix0_vector", unused_origin)

#define FLAGS_ACTION(X)                             \
    X(PIVOT, "-pivot", TEXT, 1, 1)                  \
    X(MOSFLM, "-mosflm", NONE, 0, 0)                \
    X(DENZO, "-denzo", NONE, 0, 0)                  \
    X(ADXV, "-adxv", NONE, 0, 0)                    \
    X(XDS, "-xds", NONE, 0, 0)                      \
    X(DIALS, "-dials", NONE, 0, 0)                  \
    X(DETPIXELS, "-detpixels", INT, 1, 1)           \
    X(DETSIZE, "-detsize", REAL, 1, 1)              \
    X(ABSORB, "-detector_abs*", TEXT, 1, 1)         \
    X(ROI, "-roi", INT, 4, 4)                       \
    X(DIVERGENCE, "-divergence", REAL, 1, 1)        \
    X(DIVSTEPS, "-divsteps", INT, 1, 1)             \
    X(ROUND_DIV, "-round_div", NONE, 0, 0)          \
    X(POLAR, "-polar", REAL, 1, 1)                  \
    X(CELL, "-cell", REAL, 1, 6)                    \
    X(MISSET, "-misset", TEXT, 1, 3)                \
    X(MISSET_SEED, "-misset_seed", INT, 1, 1)       \
    X(INTERPOLATE, "-interpolate", NONE, 0, 0)      \
    X(NOINTERPOLATE, "-nointerpolate", NONE, 0, 0)  \
    X(CELLS, "-N", REAL, 1, 1)                      \
    X(XTALSIZE, "-xtalsize", REAL, 1, 1)            \
    X(XTAL_SIZE, "-xtal_size", REAL, 1, 1)          \
    X(SAMPLESIZE, "-samplesize", REAL, 1, 1)        \
    X(SAMPLE_SIZE, "-sample_size", REAL, 1, 1)      \
    X(SQUARE_XTAL, "-square_xtal", NONE, 0, 0)      \
    X(ROUND_XTAL, "-round_xtal", NONE, 0, 0)        \
    X(GAUSS_XTAL, "-gauss_xtal", NONE, 0, 0)        \
    X(TOPHAT_SPOTS, "-tophat_spots", NONE, 0, 0)    \
    X(BINARY_SPOTS, "-binary_spots", NONE, 0, 0)    \
    X(PRINTOUT_PIXEL, "-printout_pixel", INT, 2, 2) \
    X(PROGRESS, "-progress", NONE, 0, 0)            \
    X(NOPROGRESS, "-noprogress", NONE, 0, 0)

#define FLAGS_IDLE(X)       \
    X("-printout", NONE, 0) \
    X("-stol", TEXT, 1)     \
    X("-4stol", TEXT, 1)    \
    X("-Q", TEXT, 1)        \
    X("-stolout", TEXT, 1)  \
    X("-density", REAL, 1)  \
    X("-MW", REAL, 1)       \
    X("-molec*", REAL, 1)   \
    X("-coherent", NONE, 0) \
    X("-dispstep", REAL, 1) \
    X("-hdiv", REAL, 1)     \
    X("-vdiv", REAL, 1)

/* Numbers of the flags: values first, then vectors, then actions. */
enum flag_id {
    FLAG_END,  // 0: no more flags, as in struct legacy_option
#define X(tag, ...) FLAG_##tag,
    FLAGS_VALUE(X) FLAG_FIRST_VECTOR,
    FLAG_LAST_VALUE = FLAG_FIRST_VECTOR - 1,
    FLAGS_VECTOR(X) FLAG_FIRST_ACTION,
    FLAG_LAST_VECTOR = FLAG_FIRST_ACTION - 1,
    FLAGS_ACTION(X)
#undef X
};

#endif
