/*
 * The table of nanoBragg's flags, as X-macros: once for the parser, once for
 * where values go.  Members are those of struct nanobragg.
 *
 *     FLAGS_VALUE   X(tag, flag, type, unit, member, has_member)   one value, or with
 *                   type NONE none: then the member is a bool that becomes true
 *     FLAGS_VECTOR  X(tag, flag, member, has_member)   three reals, convention CUSTOM
 *     FLAGS_ACTION  X(tag, flag, type, least, most)    effects of its own
 *     FLAGS_IDLE    X(flag, type, values)              accepted, without effect
 *
 * `ignored` stands where there is no has_member.
 */
#ifndef BRAGG_STAGES_NANOBRAGG_FLAGS_H
#define BRAGG_STAGES_NANOBRAGG_FLAGS_H

#define FLAGS_VALUE(X)                                                                             \
    /* distance and centre; the first three choose pivot BEAM, the others SAMPLE */                \
    X(DISTANCE, "-distance", REAL, MM, request.detector.distance_m, request.detector.has_distance) \
    X(XBEAM, "-Xbeam", REAL, MM, request.detector.beam_x_m, request.detector.has_beam_x)           \
    X(YBEAM, "-Ybeam", REAL, MM, request.detector.beam_y_m, request.detector.has_beam_y)           \
    X(CLOSE_DISTANCE, "-close_distance", REAL, MM, request.detector.close_distance_m,              \
      request.detector.has_close_distance)                                                         \
    X(XCLOSE, "-Xclose", REAL, MM, request.detector.close_x_m, request.detector.has_close_x)       \
    X(YCLOSE, "-Yclose", REAL, MM, request.detector.close_y_m, request.detector.has_close_y)       \
    X(ORGX, "-ORGX", REAL, NONE, request.detector.orgx_px, request.detector.has_orgx)              \
    X(ORGY, "-ORGY", REAL, NONE, request.detector.orgy_px, request.detector.has_orgy)              \
    X(TWOTHETA, "-twotheta", REAL, DEG, request.detector.twotheta_rad, ignored)                    \
    /* detector */                                                                                 \
    X(PIXEL, "-pixel", REAL, MM, request.detector.pixel_m, ignored)                                \
    X(DETPIXELS_F, "-detpixels_f", INT, NONE, request.detector.pixels[0], ignored)                 \
    X(DETPIXELS_X, "-detpixels_x", INT, NONE, request.detector.pixels[0], ignored)                 \
    X(DETPIXELS_S, "-detpixels_s", INT, NONE, request.detector.pixels[1], ignored)                 \
    X(DETPIXELS_Y, "-detpixels_y", INT, NONE, request.detector.pixels[1], ignored)                 \
    X(DETSIZE_F, "-detsize_f", REAL, MM, request.detector.size_m[0], ignored)                      \
    X(DETSIZE_S, "-detsize_s", REAL, MM, request.detector.size_m[1], ignored)                      \
    X(ROTX, "-detector_rotx", REAL, DEG, request.detector.rotation_rad[0], ignored)                \
    X(ROTY, "-detector_roty", REAL, DEG, request.detector.rotation_rad[1], ignored)                \
    X(ROTZ, "-detector_rotz", REAL, DEG, request.detector.rotation_rad[2], ignored)                \
    X(THICK, "-detector_thick", REAL, UM, request.detector.thickness.range,                        \
      request.detector.thickness.has_range)                                                        \
    X(DET_THICKSTEPS, "-detector_thicksteps", INT, NONE, request.detector.thickness.count,         \
      request.detector.thickness.has_count)                                                        \
    X(THICKSTEPS, "-thicksteps", INT, NONE, request.detector.thickness.count,                      \
      request.detector.thickness.has_count)                                                        \
    X(OVERSAMPLE, "-oversample", INT, NONE, request.oversample, ignored)                           \
    X(CURVED, "-curved_det", NONE, NONE, request.detector.curved, ignored)                         \
    X(POINT_PIXEL, "-point_pixel", NONE, NONE, request.detector.point_pixel, ignored)              \
    X(EACH_THICK, "-oversample_thick", NONE, NONE, request.each_thickness, ignored)                \
    X(EACH_POLAR, "-oversample_polar", NONE, NONE, request.each_polarization, ignored)             \
    X(EACH_OMEGA, "-oversample_omega", NONE, NONE, request.each_solid_angle, ignored)              \
    X(MASK, "-mask", TEXT, NONE, mask_file, ignored)                                               \
    X(IMG, "-img", TEXT, NONE, header_file, ignored)                                               \
    /* beam */                                                                                     \
    X(LAMBDA, "-lambda", REAL, ANGSTROM, request.beam.wavelength_m, ignored)                       \
    X(WAVE, "-wave*", REAL, ANGSTROM, request.beam.wavelength_m, ignored)                          \
    X(ENERGY, "-energy", REAL, EV, request.beam.wavelength_m, ignored)                             \
    X(DISPERSION, "-dispersion", REAL, PERCENT, request.beam.dispersion.range,                     \
      request.beam.dispersion.has_range)                                                           \
    X(DISPSTEPS, "-dispsteps", INT, NONE, request.beam.dispersion.count,                           \
      request.beam.dispersion.has_count)                                                           \
    X(HDIVRANGE, "-hdivrange", REAL, MRAD, request.beam.horizontal.range,                          \
      request.beam.horizontal.has_range)                                                           \
    X(VDIVRANGE, "-vdivrange", REAL, MRAD, request.beam.vertical.range,                            \
      request.beam.vertical.has_range)                                                             \
    X(HDIVSTEP, "-hdivstep", REAL, MRAD, request.beam.horizontal.step,                             \
      request.beam.horizontal.has_step)                                                            \
    X(VDIVSTEP, "-vdivstep", REAL, MRAD, request.beam.vertical.step,                               \
      request.beam.vertical.has_step)                                                              \
    X(HDIVSTEPS, "-hdivsteps", INT, NONE, request.beam.horizontal.count,                           \
      request.beam.horizontal.has_count)                                                           \
    X(VDIVSTEPS, "-vdivsteps", INT, NONE, request.beam.vertical.count,                             \
      request.beam.vertical.has_count)                                                             \
    X(FLUENCE, "-fluence", REAL, NONE, request.beam.fluence_ph_m2, ignored)                        \
    X(FLUX, "-flux", REAL, NONE, request.beam.flux_ph_s, ignored)                                  \
    X(EXPOSURE, "-exposure", REAL, NONE, request.beam.exposure_s, ignored)                         \
    X(BEAMSIZE, "-beamsize", REAL, MM, request.beam.size_m, ignored)                               \
    X(DMIN, "-dmin", REAL, TENTH_NM, request.dmin_m, ignored)                                      \
    X(WATER, "-water", REAL, MICRO, request.water_m, ignored)                                      \
    X(SQUARE_DIV, "-square_div", NONE, NONE, request.beam.square_divergence, ignored)              \
    X(NOPOLAR, "-nopolar", NONE, NONE, request.beam.no_polarization, ignored)                      \
    X(SOURCEFILE, "-sourcefile", TEXT, NONE, source_file, ignored)                                 \
    /* crystal */                                                                                  \
    X(DEFAULT_F, "-default_F", REAL, NONE, default_F, ignored)                                     \
    X(NA, "-Na", REAL, WHOLE, crystal.cells[0], ignored)                                           \
    X(NB, "-Nb", REAL, WHOLE, crystal.cells[1], ignored)                                           \
    X(NC, "-Nc", REAL, WHOLE, crystal.cells[2], ignored)                                           \
    X(XTAL_THICK, "-xtal_thick*", REAL, MM, crystal.size_m[0], ignored)                            \
    X(XTAL_X, "-xtal_x", REAL, MM, crystal.size_m[0], ignored)                                     \
    X(SAMPLE_THICK, "-sample_thick*", REAL, MM, crystal.size_m[0], ignored)                        \
    X(SAMPLE_X, "-sample_x", REAL, MM, crystal.size_m[0], ignored)                                 \
    X(XTAL_WIDTH, "-xtal_width", REAL, MM, crystal.size_m[1], ignored)                             \
    X(XTAL_Y, "-xtal_y", REAL, MM, crystal.size_m[1], ignored)                                     \
    X(SAMPLE_WIDTH, "-sample_width", REAL, MM, crystal.size_m[1], ignored)                         \
    X(SAMPLE_Y, "-sample_y", REAL, MM, crystal.size_m[1], ignored)                                 \
    X(WIDTH, "-width", REAL, MM, crystal.size_m[1], ignored)                                       \
    X(XTAL_HEIGHT, "-xtal_heigh*", REAL, MM, crystal.size_m[2], ignored)                           \
    X(XTAL_Z, "-xtal_z", REAL, MM, crystal.size_m[2], ignored)                                     \
    X(SAMPLE_HEIGHT, "-sample_heigh*", REAL, MM, crystal.size_m[2], ignored)                       \
    X(SAMPLE_Z, "-sample_z", REAL, MM, crystal.size_m[2], ignored)                                 \
    X(HEIGHT, "-heigh*", REAL, MM, crystal.size_m[2], ignored)                                     \
    X(FUDGE, "-fudge", REAL, NONE, crystal.fudge, ignored)                                         \
    X(MOSAIC, "-mosaic", REAL, DEG, orientation.mosaic_rad, orientation.has_mosaic_spread)         \
    X(MOSAICITY, "-mosaicity", REAL, DEG, orientation.mosaic_rad, orientation.has_mosaic_spread)   \
    X(MOSAIC_SPREAD, "-mosaic_spread", REAL, DEG, orientation.mosaic_rad,                          \
      orientation.has_mosaic_spread)                                                               \
    X(MOSAIC_DOMAINS, "-mosaic_dom*", INT, NONE, orientation.mosaic_domains,                       \
      orientation.has_mosaic_domains)                                                              \
    X(PHI, "-phi", REAL, DEG, orientation.phi_rad, ignored)                                        \
    X(OSC, "-osc", REAL, DEG, orientation.phi.range, orientation.phi.has_range)                    \
    X(PHISTEP, "-phistep", REAL, DEG, orientation.phi.step, orientation.phi.has_step)              \
    X(PHISTEPS, "-phisteps", INT, NONE, orientation.phi.count, orientation.phi.has_count)          \
    X(SEED, "-seed", INT, NEGATED, seed, ignored)                                                  \
    X(MOSAIC_SEED, "-mosaic_seed", INT, NEGATED, orientation.mosaic_seed, ignored)                 \
    X(MATRIX, "-mat", TEXT, NONE, matrix_file, ignored)                                            \
    X(MATRIX_LONG, "-matrix", TEXT, NONE, matrix_file, ignored)                                    \
    X(HKL, "-hkl", TEXT, NONE, hkl_file, ignored)                                                  \
    X(DUMP, "-dump", TEXT, NONE, dump_file, has_dump)                                              \
    /* output */                                                                                   \
    X(SCALE, "-scale", REAL, NONE, scale, ignored)                                                 \
    X(PGMSCALE, "-pgmscale", REAL, NONE, pgm_scale, ignored)                                       \
    X(ADC, "-adc", REAL, NONE, adc, ignored)                                                       \
    X(FLOATFILE, "-floatfile", TEXT, NONE, float_file, ignored)                                    \
    X(FLOATIMAGE, "-floatimage", TEXT, NONE, float_file, ignored)                                  \
    X(INTFILE, "-intfile", TEXT, NONE, int_file, ignored)                                          \
    X(INTIMAGE, "-intimage", TEXT, NONE, int_file, ignored)                                        \
    X(PGMFILE, "-pgmfile", TEXT, NONE, pgm_file, ignored)                                          \
    X(PGMIMAGE, "-pgmimage", TEXT, NONE, pgm_file, ignored)                                        \
    X(NOISEFILE, "-noisefile", TEXT, NONE, noise_file, ignored)                                    \
    X(NOISEIMAGE, "-noiseimage", TEXT, NONE, noise_file, ignored)                                  \
    X(NONOISE, "-nonoise", NONE, NONE, no_noise, ignored)                                          \
    X(NOPGM, "-nopgm", NONE, NONE, no_pgm, ignored)

#define FLAGS_VECTOR(X)                                                                      \
    X(FDET, "-fdet_vector", request.detector.fast, request.detector.has_fast)                \
    X(SDET, "-sdet_vector", request.detector.slow, request.detector.has_slow)                \
    X(ODET, "-odet_vector", request.detector.normal, request.detector.has_normal)            \
    X(BEAM, "-beam_vector", request.beam.direction, request.beam.has_direction)              \
    X(POLAR_AXIS, "-polar_vector", request.beam.polarization, request.beam.has_polarization) \
    X(SPINDLE, "-spindle_axis", request.beam.spindle, request.beam.has_spindle)              \
    X(TWOTHETA_AXIS, "-twotheta_axis", request.detector.twotheta_axis,                       \
      request.detector.has_twotheta_axis)                                                    \
    X(PIX0, "-pix0_vector", unused_origin, ignored)

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

/* What a flag is called inside; values come first, then vectors, then actions. */
enum flag_id {
    FLAG_END,  // no more flags: 0, as struct legacy_option says
#define X(tag, ...) FLAG_##tag,
    FLAGS_VALUE(X) FLAG_FIRST_VECTOR,
    FLAG_LAST_VALUE = FLAG_FIRST_VECTOR - 1,
    FLAGS_VECTOR(X) FLAG_FIRST_ACTION,
    FLAG_LAST_VECTOR = FLAG_FIRST_ACTION - 1,
    FLAGS_ACTION(X)
#undef X
};

#endif
