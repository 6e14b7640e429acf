/* The launches of all kernels, callable from C, and the layout of their data.  Device memory is
 * memory that `reserve` of struct gpu_device returned. */
#ifndef BRAGG_GPU_KERNEL_H
#define BRAGG_GPU_KERNEL_H

#include <assert.h>
#include <stdint.h>

#include "engine/detector/noise_loop.h"
#include "gpu/frame.h"
#include "physics/background/background_pixel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Consecutive rows of a frame. */
struct gpu_rows {
    int64_t first, count;  // rows, numbered through all panels
    int64_t first_pixel;   // number of the pixel that is at the beginning of the output
    int64_t widest;        // number of pixels of the longest row
    int64_t each;          // number of pixels that a thread computes one after the other, in
                           // kernels that allow more than one
};

/* Starts the kernel of photons on `stream` (a cudaStream_t).  The kernel writes the pixels of the
 * rows to `out`.  `out`, `worst` and the arrays of *frame are in device memory.  Only the kernels
 * of the dense form check the photons, see gpu_judge.  Returns a cudaError_t. */
int gpu_kernel_launch(const struct gpu_frame *frame, const struct gpu_rows *rows, float *out,
                      uint64_t *worst, void *stream);

/* Starts the kernel of photons for frames in the dense form. The contract is that of
 * gpu_kernel_launch, except that the kernel also checks the photons. */
int gpu_dense_launch(const struct gpu_frame *frame, const struct gpu_rows *rows, float *out,
                     uint64_t *worst, void *stream);

/* ---- frames in closed form ---- */

/* Starts the kernel on `stream` (a cudaStream_t).  The arrays of *frame and *batch are in device
 * memory.  Returns a cudaError_t. */
int gpu_closed_launch(const struct gpu_closed *frame, const struct gpu_closed_batch *batch,
                      void *stream);

/* ---- smeared sensors ---- */

/* Some rows of a panel, and where their thin image is: see struct smear_band, whose members have
 * the same meaning. */
struct gpu_smear_band {
    int64_t begin[2], end[2], first[2], size[2], offset;
    int64_t origin[2];      // first pixel of the first cell, along fast and slow
    int64_t frame_row;      // number in the frame of row 0 of the plane
    int64_t columns, rows;  // of cells
    int64_t cell;           // number of the first cell among those of all bands
    int64_t sums, across;   // index of the first sum, and number of sums of one phase of a row
    int64_t tap_sums;    // index of the sum of tap 0, 0 for the pixel in the column of the origin
                         // and in row 0 of the plane
    int64_t pixel_sums;  // sums from one row of pixels to the next
    double part[2];      // of struct smear, as is the next one
    int32_t oversample;
    int32_t shift;  // cells are 2^shift pixels wide and high
    double step;    // 1/2^shift, so that threads need not divide
    int32_t panel;  // index in the panels of a frame
};

/* A struct smear_tap: its weights, and the place of its sum relative to that of tap 0, 0. */
struct gpu_smear_tap {
    double weight[4];
    int32_t at;
};

/* Bands that are computed together. */
struct gpu_smear {
    const struct gpu_panel *panels;  // of the frame
    const struct gpu_smear_band *bands;
    const uint64_t *begin;  // [cells + 1]: index in taps[] of the first tap of each cell
    const struct gpu_smear_tap *taps;
    const float *thin;  // thin images
    float *sums;        // sums of oversample x oversample subpixels, see gpu/smear.h
    float *photons;     // the photons of the frame
};

/* Rows rows[0] to rows[1] - 1 of a band, counted from the corner of the plane. */
struct gpu_smear_part {
    int64_t rows[2];
};

/* Starts the kernel of sums of a band on `stream` (a cudaStream_t).  The arrays of *smear are in
 * device memory; *here is a copy of the band in host memory.  Returns a cudaError_t. */
int gpu_smear_sums_launch(const struct gpu_smear *smear, size_t band,
                          const struct gpu_smear_band *here, void *stream);

/* Starts the kernel of pixels of a band, for one or more rows.  Otherwise its contract is that of
 * gpu_smear_sums_launch. */
int gpu_smear_pixels_launch(const struct gpu_smear *smear, size_t band,
                            const struct gpu_smear_band *here, const struct gpu_smear_part *part,
                            void *stream);

/* ---- reflections ---- */

/* Starts the kernel of shares and then the kernel of pieces on `stream` (a cudaStream_t).  The
 * arrays of *frame, *batch and *pieces are in device memory.  Returns a cudaError_t. */
int gpu_shares_launch(const struct gpu_shares *frame, const struct gpu_shares_batch *batch,
                      const struct gpu_pieces *pieces, void *stream);

/* ---- derivatives ---- */

/* Starts the kernel of one precision on `stream` (a cudaStream_t).  The arrays of *frame and *batch
 * are in device memory.  Returns a cudaError_t. */
typedef int gpu_slopes_launch(const struct gpu_slopes *frame, const struct gpu_slopes_batch *batch,
                              void *stream);
gpu_slopes_launch gpu_slopes_mixed_launch, gpu_slopes_double_launch;

/* ---- the steps after the photons: background and noise ---- */

/* The verdict of the kernels on the pixels. */
struct gpu_verdict {
    uint64_t bad;               // code of the first bad pixel, see gpu_bad; GPU_GOOD: none is bad
    uint64_t saturated, below;  // numbers of pixels that noise clips: at the largest value; below 0
    uint32_t sum;               // register of the checksum, see gpu_checksum_finish
};

/* The steps after the photons.  All pointers are GPU addresses. */
struct gpu_after {
    const float *photons;
    float *background;  // NULL: no background
    float *sum;         // photons plus background, if `type` is PIXEL_F32; may be `photons`
    void *counts;       // pixels of `type`; PIXEL_F32: not used
    enum pixel_type type;
    struct noise_pixels noise;  // PIXEL_U16 and PIXEL_U32
};

/* Starts the kernel that writes the background of the rows to `out`.  `out` and the sources and
 * materials of *scene are in device memory.  All panels must be flat.  Returns a cudaError_t. */
int gpu_background_launch(const struct gpu_frame *frame, const struct background_scene *scene,
                          const struct gpu_rows *rows, float *out, void *stream);

/* Starts the kernel that processes items first to end - 1 of the arrays; item 0 is pixel
 * `first_pixel` of the frame.  In *verdict, which is in device memory, the kernel lowers `bad` to
 * the smallest code of a bad pixel and adds to the counts.  Returns a cudaError_t. */
int gpu_after_launch(const struct gpu_after *after, int64_t first_pixel, int64_t first, int64_t end,
                     struct gpu_verdict *verdict, void *stream);

/* ---- checksums ---- */

/* Data whose CRC-32C is wanted, see gpu/checksum.h. */
enum { GPU_CHECKSUM_BYTES = 256, GPU_CHECKSUM_POWERS = 32 };
struct gpu_checksum {
    const void *bytes;  // device memory, at a multiple of 16
    uint64_t count;
    uint32_t power[GPU_CHECKSUM_POWERS];  // x to the power of 8 GPU_CHECKSUM_BYTES 2^i: it appends
                                          // 2^i pieces of zero bytes
};

/* Starts the kernel that combines *sum, which is 0 and in device memory, with the register of the
 * checksum.  Returns a cudaError_t. */
int gpu_checksum_launch(const struct gpu_checksum *checksum, uint32_t *sum, void *stream);

#ifdef __cplusplus
}
#endif

/* ---- layout ----
 *
 * The sizes, in bytes, of structs that code of gcc fills in and kernels of nvcc read.  Both
 * compilers must use the same layout, so both check the sizes against these numbers.
 */

#define SIZE_IS(type, bytes) static_assert(sizeof(struct type) == (bytes), #type)
SIZE_IS(panel, 344);
SIZE_IS(gpu_panel, 360);
SIZE_IS(gpu_frame, 288);
SIZE_IS(dense_lattice, 152);
SIZE_IS(gpu_rows, 40);
SIZE_IS(gpu_after, 128);
SIZE_IS(gpu_verdict, 32);
SIZE_IS(gpu_checksum, 144);
SIZE_IS(cpu_source, 104);
SIZE_IS(cpu_lattice, 184);
SIZE_IS(cpu_table, 64);
SIZE_IS(background_scene, 120);
SIZE_IS(noise_pixels, 88);
SIZE_IS(panel_move, 88);
SIZE_IS(slopes_step, 200);
SIZE_IS(gpu_slope, 24);
SIZE_IS(gpu_slopes_source, 24);
SIZE_IS(gpu_slopes_lattice, 96);
SIZE_IS(gpu_slopes, 360);
SIZE_IS(gpu_slopes_batch, 40);
SIZE_IS(share_piece, 16);
SIZE_IS(share_run, 32);
SIZE_IS(gpu_share, 12);
SIZE_IS(gpu_keys, 32);
SIZE_IS(gpu_pieces, 64);
SIZE_IS(gpu_pieces_used, 24);
SIZE_IS(gpu_shares, 304);
SIZE_IS(gpu_shares_batch, 32);
SIZE_IS(gpu_closed_beam, 216);
SIZE_IS(gpu_closed_spot, 168);
SIZE_IS(gpu_closed_place, 12);
SIZE_IS(gpu_closed, 320);
SIZE_IS(gpu_closed_batch, 24);
SIZE_IS(gpu_smear_tap, 40);
SIZE_IS(gpu_smear_band, 192);
SIZE_IS(gpu_smear_part, 16);
SIZE_IS(gpu_smear, 56);
#undef SIZE_IS

#endif
