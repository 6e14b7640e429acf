/* PNG pictures, by libpng. */
#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <zlib.h>

#include "base/alloc.h"
#include "io/images/picture.h"

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

/* --- colours --------------------------------------------------------------- */

enum { SHADES = 256 - INKS };  // of gray in a palette; inks come behind them

/* On white and on black. */
static const png_color inks[2][INKS] = {{[INK_PAPER] = {255, 255, 255},
                                         [INK_MASKED] = {196, 212, 232},
                                         [INK_SATURATED] = {230, 20, 20},
                                         [INK_RING] = {0, 130, 110},
                                         [INK_BEAM] = {20, 60, 220},
                                         [INK_TRUTH] = {215, 0, 170}},
                                        {[INK_PAPER] = {0, 0, 0},
                                         [INK_MASKED] = {30, 44, 70},
                                         [INK_SATURATED] = {255, 60, 60},
                                         [INK_RING] = {80, 220, 190},
                                         [INK_BEAM] = {110, 170, 255},
                                         [INK_TRUTH] = {255, 90, 220}}};

/* The colour of gray value 255 * light. */
static png_color color_of(enum picture_colors colors, double light)
{
    static const double stops[][3] = {// from black to white
                                      {0, 0, 0},
                                      {90, 0, 130},
                                      {215, 40, 40},
                                      {255, 190, 40},
                                      {255, 255, 255}};
    const double gray = colors == COLORS_GRAY ? 1.0 - light : light, place = 4.0 * gray;
    const int k = place < 3.0 ? (int)place : 3;
    double rgb[3];
    for (int i = 0; i < 3; i++)
        rgb[i] = colors == COLORS_HEAT ? stops[k][i] + (place - k) * (stops[k + 1][i] - stops[k][i])
                                       : 255.0 * gray;
    return (png_color){(png_byte)(rgb[0] + 0.5), (png_byte)(rgb[1] + 0.5),
                       (png_byte)(rgb[2] + 0.5)};
}

static void set_palette(png_structp png, png_infop info, enum picture_colors colors)
{
    png_color palette[256];
    for (int i = 0; i < 256; i++)
        palette[i] = i < SHADES ? color_of(colors, i / (SHADES - 1.0))
                                : inks[colors == COLORS_GRAY][i - SHADES];
    png_set_PLTE(png, info, palette, 256);
}

/* Row y in numbers of the palette; `row` has room for it. */
static void index_row(const struct picture *p, int64_t y, png_bytep row)
{
    const uint8_t *gray = p->gray + y * p->width;
    for (int64_t x = 0; x < p->width; x++) {
        const int ink = p->ink ? p->ink[y * p->width + x] : INK_NONE;
        row[x] = (png_byte)(ink ? SHADES + ink : (gray[x] * (SHADES - 1) + 127) / 255);
    }
}

/* --- files ----------------------------------------------------------------- */

static void write_rows(png_structp png, const struct picture *p, png_bytep row, bool indexed)
{
    for (int64_t y = 0; y < p->height; y++) {
        if (indexed)
            index_row(p, y, row);
        png_write_row(png, indexed ? row : p->gray + y * p->width);
    }
}

enum status picture_write_png(FILE *out, const struct picture *p, const char *path, struct error *e)
{
    const bool indexed = p->ink || p->colors != COLORS_INVERTED;
    png_bytep row = mem_array((size_t)p->width, 1);
    if (!row)
        return error_memory(e, path);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_write_struct(&png, NULL);
        mem_free(row);
        return error_memory(e, path);
    }
    errno = 0;
    if (setjmp(png_jmpbuf(png))) {
        const int cause = errno;
        png_destroy_write_struct(&png, &info);
        mem_free(row);
        errno = cause ? cause : EIO;
        return error_errno(e, STATUS_FAILED, "%s: cannot write", path);
    }
    png_init_io(png, out);
    png_set_IHDR(png, info, (png_uint_32)p->width, (png_uint_32)p->height, 8,
                 indexed ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    /* Noise has no repeats to look for: one code per gray value is as small as zlib's best
     * and ten times as fast, and differences to neighbours would be noisier. */
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_set_compression_level(png, 1);
    png_set_compression_strategy(png, Z_HUFFMAN_ONLY);
    png_set_compression_buffer_size(png, OUTPUT_BYTES);
    if (indexed)
        set_palette(png, info, p->colors);
    png_write_info(png, info);
    write_rows(png, p, row, indexed);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    mem_free(row);
    return STATUS_OK;
}
