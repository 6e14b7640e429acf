#include "legacy.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "io/images/nanobragg_files.h"
#include "physics/noise/noisify.h"

static enum status print_statistics(const struct legacy_statistics *st, struct error *e)
{
    printf("max_I = %g at pixel %" PRId64 " %" PRId64 ", mean = %g, rmsd = %g, pixels = %" PRId64
           "\n",
           st->max, st->max_fast, st->max_slow, st->mean, st->rmsd, st->computed);
    if (fflush(stdout) != 0)
        return error_errno(e, STATUS_FAILED, "cannot write to standard output");
    return STATUS_OK;
}

static enum status write_counts(const struct legacy_files *files, const struct panel *p,
                                const float *pixels, const struct header_text *header,
                                struct ran1 *random, double scale, uint16_t *image, struct error *e)
{
    size_t count = (size_t)(p->fast_pixels * p->slow_pixels);
    enum status status = STATUS_OK;
    if (files->int_path) {
        legacy_ideal(p, pixels, scale, files->adc, image);
        status = nanobragg_write_smv(files->int_path, header, image, count, sizeof *image, e);
    }
    if (!status && files->noise_path) {
        long seed = files->seed;
        legacy_noise(p, pixels, files->adc, random, &seed, image);
        status = nanobragg_write_smv(files->noise_path, header, image, count, sizeof *image, e);
    }
    return status;
}

static enum status write_preview(const char *path, const struct panel *p, const float *pixels,
                                 double scale, uint8_t *image, struct error *e)
{
    legacy_preview(p, pixels, scale, image);
    return nanobragg_write_pgm(path, image, p->fast_pixels, p->slow_pixels, scale, e);
}

enum status legacy_files_write(const struct legacy_files *files, const struct panel *p,
                               const float *pixels, const struct header_text *header,
                               struct ran1 *random, struct error *e)
{
    size_t count = (size_t)(p->fast_pixels * p->slow_pixels);
    uint16_t *image = mem_array(count, sizeof *image);
    if (!image)
        return error_memory(e, "image");
    struct legacy_statistics st = legacy_statistics(p, pixels);
    double scale = legacy_scale(files->scale, &st);
    enum status status = STATUS_OK;
    if (files->float_path)
        status = nanobragg_write_float(files->float_path, pixels, count, e);
    if (!status && files->pgm_path)
        status =
            write_preview(files->pgm_path, p, pixels,
                          legacy_preview_scale(files->pgm_scale, scale, &st), (uint8_t *)image, e);
    if (!status)
        status = write_counts(files, p, pixels, header, random, scale, image, e);
    if (!status)
        status = print_statistics(&st, e);
    mem_free(image);
    return status;
}
