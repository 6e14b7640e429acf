/* PNG pictures, by libpng. */
#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <zlib.h>

#include "io/picture.h"

enum { OUTPUT_BYTES = 1 << 18 };  // of an IDAT chunk

static void on_error(png_structp png, png_const_charp text)
{
    (void)text;
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

enum status picture_write_png(FILE *out, const struct picture *p, const char *path, struct error *e)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_write_struct(&png, NULL);
        return error_memory(e, path);
    }
    errno = 0;
    if (setjmp(png_jmpbuf(png))) {
        const int cause = errno;
        png_destroy_write_struct(&png, &info);
        errno = cause ? cause : EIO;
        return error_errno(e, STATUS_FAILED, "%s: cannot write", path);
    }
    png_init_io(png, out);
    png_set_IHDR(png, info, (png_uint_32)p->width, (png_uint_32)p->height, 8, PNG_COLOR_TYPE_GRAY,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    /* Noise has no repeats to look for: one code per gray value is as small as zlib's best
     * and ten times as fast, and differences to neighbours would be noisier. */
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_set_compression_level(png, 1);
    png_set_compression_strategy(png, Z_HUFFMAN_ONLY);
    png_set_compression_buffer_size(png, OUTPUT_BYTES);
    png_write_info(png, info);
    for (int64_t y = 0; y < p->height; y++)
        png_write_row(png, p->gray + y * p->width);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return STATUS_OK;
}
