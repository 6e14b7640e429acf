/* The table of cases that every engine computes. */
#ifndef BRAGG_TESTS_ENGINE_TABLE_H
#define BRAGG_TESTS_ENGINE_TABLE_H

#include "engine_case.h"

/* A case is a line. */
// clang-format off
static const struct engine_case cases[] = {
    {.name = "one cell", .cells = {1}},
    {.name = "two cells", .cells = {2}},
    {.name = "five cells"},
    {.name = "twenty cells", .cells = {20}},
    {.name = "different cells along the axes", .cells = {1, 7, 12}},
    {.name = "indices up to 90", .cells = {10}, .pixel_mm = 3},
    {.name = "hundred cells", .cells = {100}},
    {.name = "thousand cells", .cells = {1000}},
    {.name = "thousands of cells", .cells = {1001, 3000, 20}},
    {.name = "structure factors", .cells = {10}, .table = TABLE_BOX},
    {.name = "small box of structure factors", .cells = {5}, .table = TABLE_TINY},
    {.name = "structure factors, thousand cells", .cells = {1000}, .table = TABLE_BOX},
    {.name = "structure factors, thousands of cells", .cells = {2000}, .table = TABLE_BOX},
    {.name = "tricubic", .cells = {2}, .table = TABLE_BOX, .interpolate = true},
    {.name = "tricubic, small box", .cells = {1}, .table = TABLE_TINY, .interpolate = true},
    {.name = "sizes of lattices", .cells = {24, 9, 12}, .lattices = 3, .shrinks = true},
    {.name = "round, sizes of lattices", .cells = {12}, .shape = SHAPE_ROUND, .lattices = 3, .shrinks = true},
    {.name = "gauss, sizes of lattices", .cells = {16}, .shape = SHAPE_GAUSS, .table = TABLE_BOX, .lattices = 3, .shrinks = true},
    {.name = "tophat, sizes of lattices", .cells = {16}, .shape = SHAPE_TOPHAT, .lattices = 3, .shrinks = true},
    {.name = "round", .cells = {7, 8, 9}, .shape = SHAPE_ROUND},
    {.name = "round, fudge", .cells = {20}, .shape = SHAPE_ROUND, .fudge = 1.3, .table = TABLE_BOX},
    {.name = "round, thousand cells", .cells = {1000}, .shape = SHAPE_ROUND},
    {.name = "gauss", .cells = {5}, .shape = SHAPE_GAUSS},
    {.name = "gauss, narrow", .cells = {20}, .shape = SHAPE_GAUSS, .fudge = 4, .table = TABLE_BOX},
    {.name = "gauss, hundred cells", .cells = {100}, .shape = SHAPE_GAUSS},
    {.name = "gauss, reflections one by one", .cells = {20}, .shape = SHAPE_GAUSS, .table = TABLE_BOX, .pixel_mm = 0.4, .oversample = 3, .mosaic_deg = 0.5, .domains = 5},
    {.name = "tophat, reflections one by one", .cells = {10}, .shape = SHAPE_TOPHAT, .pixel_mm = 0.4, .layers = 2, .mosaic_deg = 1, .domains = 50, .wavelengths = 2},
    {.name = "tophat", .cells = {5}, .shape = SHAPE_TOPHAT},
    {.name = "tophat, structure factors", .cells = {20}, .shape = SHAPE_TOPHAT, .fudge = 0.5, .table = TABLE_BOX},
    {.name = "tophat, tricubic", .cells = {2}, .shape = SHAPE_TOPHAT, .table = TABLE_BOX, .interpolate = true},
    {.name = "oversample", .cells = {20}, .oversample = 3},
    {.name = "oversample, factors of each", .cells = {5}, .oversample = 3, .each = true, .layers = 2},
    {.name = "layers", .cells = {5}, .layers = 4, .oversample = 2},
    {.name = "divergence and dispersion", .pixels = 64, .pixel_mm = 1.6, .cells = {20}, .table = TABLE_BOX, .divergence = 5, .wavelengths = 5},
    {.name = "weighted sources, each", .cells = {5}, .divergence = 3, .wavelengths = 2, .weights = true, .each = true},
    {.name = "mosaic", .cells = {10}, .mosaic_deg = 0.5, .domains = 25},
    {.name = "mosaic, more than fit a short sum", .pixels = 64, .pixel_mm = 1.6, .cells = {10}, .mosaic_deg = 0.5, .domains = 150},
    {.name = "phi", .cells = {10}, .phi_steps = 10},
    {.name = "phi and mosaic", .cells = {5}, .phi_steps = 4, .mosaic_deg = 1, .domains = 6, .table = TABLE_BOX},
    {.name = "tilts", .cells = {10}, .tilt_deg = {5, 10, 15}, .twotheta_deg = 20},
    {.name = "curved", .cells = {10}, .curved = true},
    {.name = "curved and tilted", .cells = {5}, .curved = true, .tilt_deg = {3, 2, 1}, .layers = 2},
    {.name = "curved, oversampled", .cells = {5}, .curved = true, .oversample = 2, .panels = 2},
    {.name = "point pixel", .cells = {5}, .point_pixel = true},
    {.name = "unpolarized beam", .cells = {5}, .unpolarized = true},
    {.name = "polarization factor off", .cells = {5}, .no_polarization = true},
    {.name = "ROI and mask", .cells = {5}, .roi = true, .mask = true},
    {.name = "odd width", .cells = {5}, .pixels = 117, .table = TABLE_BOX},
    {.name = "two blocks and a bit", .cells = {5}, .pixels = 523, .pixel_mm = 0.2},
    {.name = "two lattices", .cells = {10}, .lattices = 2, .mosaic_deg = 0.3, .domains = 4, .table = TABLE_BOX},
    {.name = "two panels", .cells = {10}, .panels = 2},
    {.name = "dmin", .cells = {5}, .dmin_A = 3, .oversample = 2, .wavelengths = 3},
    {.name = "water", .cells = {5}, .water_um = 0.1, .layers = 2, .wavelengths = 2},
    {.name = "smeared sensor", .cells = {10}, .pixels = 100, .pixel_mm = 0.2, .oversample = 3, .twotheta_deg = 40, .mosaic_deg = 0.5, .domains = 5, .smears = true},
    {.name = "smeared sensor, ROI, mask, two panels", .cells = {5}, .pixels = 90, .pixel_mm = 0.2, .oversample = 2, .twotheta_deg = 20, .panels = 2, .roi = true, .mask = true, .smears = true},
};
enum { NCASES = sizeof cases / sizeof *cases };
// clang-format on

#endif
