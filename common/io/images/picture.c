#include "io/images/picture.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/isa.h"

/* --- the linear scale ------------------------------------------------------ */

enum { SAMPLES = 1 << 13 };  // largest number of pixels from which percentiles are computed

/* The pixel values that are shown as white and as black. */
struct scale {
    double white, black;
};

static const struct picture_kernels *best_kernels(void)
{
    static const struct picture_kernels *const all[ISA_COUNT] = {&picture_baseline, &picture_avx2,
                                                                 &picture_avx512};
    return all[isa_best()];
}

static int compare_values(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double percentile(const float *sorted, size_t n, double percent)
{
    return (double)sorted[(size_t)(percent / 100.0 * (double)(n - 1) + 0.5)];
}

static double largest(const float *pixels, size_t n)
{
    float most = pixels[0];
    for (size_t i = 1; i < n; i++)
        most = pixels[i] > most ? pixels[i] : most;
    return (double)most;
}

/* Moves the values above `white` to the beginning of the array.  Returns their number. */
static size_t keep_above(float *values, size_t n, double white)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if ((double)values[i] > white)
            values[kept++] = values[i];
    return kept;
}

/* Returns the value of black for an image in which nearly all pixels are equal, such as one with
 * few photons: the median of the pixels above `white`.  Half of these pixels become black.
 * Returns `white` if there are none.  Changes the order of `pixels`. */
static double black_of_few(float *pixels, size_t n, double white)
{
    const size_t kept = keep_above(pixels, n, white);
    if (!kept)
        return white;
    qsort(pixels, kept, sizeof *pixels, compare_values);
    return percentile(pixels, kept, 50.0);
}

/* Finds the values of white and black.  May change the order of `pixels`. */
static struct scale find_scale(float *pixels, size_t n, bool logarithmic)
{
    if (!n)
        return (struct scale){0};
    const size_t stride = (n + SAMPLES - 1) / SAMPLES, count = (n + stride - 1) / stride;
    float sorted[SAMPLES];
    for (size_t i = 0; i < count; i++)
        sorted[i] = pixels[i * stride];
    qsort(sorted, count, sizeof *sorted, compare_values);
    const double spread = 0.5 * (percentile(sorted, count, 84.0) - percentile(sorted, count, 16.0));
    struct scale scale = {
        .white = percentile(sorted, count, 1.0),
        .black =
            fmax(percentile(sorted, count, 99.5), percentile(sorted, count, 50.0) + 10.0 * spread),
    };
    if (logarithmic)
        scale.black = largest(pixels, n);
    else if (!(scale.black > scale.white))
        scale.black = black_of_few(pixels, n, scale.white);
    return scale;
}

/* --- the logarithmic scale ------------------------------------------------- */

/* The logarithmic scale spans three decades below black.  The gray value is looked up in a table
 * by the exponent and the leading bits of 1 + 999 t, which ranges from 1 to 1000.  The error is
 * less than 0.05 gray values. */
enum { LEADING = 10, DROPPED = 23 - LEADING, ENTRIES = (10 << LEADING) };
static const uint32_t bits_of_1 = 0x3f800000;

static void make_table(uint8_t table[ENTRIES])
{
    for (uint32_t i = 0; i < ENTRIES; i++) {
        const uint32_t middle = bits_of_1 + (i << DROPPED) + (1u << (DROPPED - 1));
        float x;
        memcpy(&x, &middle, sizeof x);
        table[i] = (uint8_t)(255.5 - 255.0 * fmin(log((double)x) / log(1000.0), 1.0));
    }
}

static void shade_logarithmic(const float *values, size_t count, double white, double range,
                              uint8_t *gray)
{
    uint8_t table[ENTRIES];
    make_table(table);
    for (size_t i = 0; i < count; i++) {
        const double t = ((double)values[i] - white) / range;
        const float x = (float)(1.0 + 999.0 * (t > 0.0 ? t : 0.0));
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        gray[i] = t >= 1.0 ? 0 : table[(bits - bits_of_1) >> DROPPED];
    }
}

/* --- inks ------------------------------------------------------------------ */

/* Sets INK_MASKED in all blocks without a computed pixel, and INK_NONE in all others.  Does
 * nothing if all pixels of the panel are computed. */
static void ink_masked(struct picture *p, const struct panel *panel)
{
    if (panel_is_whole(panel))
        return;
    memset(p->ink, INK_MASKED, (size_t)(p->width * p->height));
    for (int64_t s = 0; s < panel->slow_pixels; s++) {
        uint8_t *row = p->ink + s / p->factor * p->width;
        for (int64_t f = 0; f < panel->fast_pixels; f++)
            if (panel_computes(panel, f, s))
                row[f / p->factor] = INK_NONE;
    }
}

/* Sets INK_SATURATED in blocks whose largest pixel is saturated.  The limit is rounded to
 * float32, as the largest pixels are. */
static void ink_saturated(struct picture *p, const float *reduced, double saturation)
{
    for (int64_t i = 0; i < p->width * p->height && saturation > 0.0; i++)
        if (reduced[i] >= (float)saturation && p->ink[i] == INK_NONE)
            p->ink[i] = INK_SATURATED;
}

static void drop_unused_ink(struct picture *p)
{
    const uint8_t *ink = p->ink;
    for (int64_t i = 0; i < p->width * p->height; i++)
        if (ink[i])
            return;
    mem_free(p->ink);
    p->ink = NULL;
}

/* --- picture --------------------------------------------------------------- */

/* Copies the values of all blocks that are not masked to kept[].  Returns their number. */
static size_t copy_computed(const struct picture *p, const float *reduced, float *kept)
{
    size_t count = 0;
    for (int64_t i = 0; i < p->width * p->height; i++)
        if (p->ink[i] != INK_MASKED)
            kept[count++] = reduced[i];
    return count;
}

static void shade(struct picture *p, const float *reduced, const struct scale *scale,
                  bool logarithmic)
{
    const size_t n = (size_t)(p->width * p->height);
    const double range = scale->black - scale->white;
    if (range > 0.0)
        (logarithmic ? shade_logarithmic : best_kernels()->shade)(reduced, n, scale->white, range,
                                                                  p->gray);
    else
        memset(p->gray, 255, n);
    for (size_t i = 0; i < n; i++)
        if (p->ink[i] == INK_MASKED)
            p->gray[i] = 255;
}

void picture_make(struct picture *p, const struct image *image, const struct panel *panel,
                  const struct picture_settings *settings)
{
    const int64_t fast = panel->fast_pixels, slow = panel->slow_pixels;
    const int64_t edge = fast > slow ? fast : slow, edge_max = settings->edge_max;
    const int64_t factor = edge_max > 0 ? (edge + edge_max - 1) / edge_max : 1;
    *p = (struct picture){.width = (fast + factor - 1) / factor,
                          .height = (slow + factor - 1) / factor,
                          .factor = factor,
                          .zoom = 1};
    const size_t n = (size_t)(p->width * p->height);
    float *reduced = mem_array(n, sizeof *reduced), *kept = mem_array(n, sizeof *kept);
    void *row = mem_array((size_t)fast, pixel_size(image->type));
    p->gray = mem_array(n, 1);
    p->ink = mem_array(n, 1);
    best_kernels()->reduce(p, image, fast, slow, row, reduced);
    ink_masked(p, panel);
    ink_saturated(p, reduced, settings->saturation);
    const struct scale scale =
        find_scale(kept, copy_computed(p, reduced, kept), settings->logarithmic);
    shade(p, reduced, &scale, settings->logarithmic);
    drop_unused_ink(p);
    mem_free(reduced);
    mem_free(kept);
    mem_free(row);
}

void picture_free(struct picture *p)
{
    mem_free(p->gray);
    mem_free(p->ink);
    *p = (struct picture){0};
}

enum status picture_write_pgm(FILE *out, const struct picture *p, const char *path, struct error *e)
{
    const size_t n = (size_t)(p->width * p->height);
    if (fprintf(out, "P5\n%" PRId64 " %" PRId64 "\n255\n", p->width, p->height) < 0 ||
        fwrite(p->gray, 1, n, out) != n)
        return error_errno(e, STATUS_FAILED, "%s: cannot write", path);
    return STATUS_OK;
}

/* --- drawing --------------------------------------------------------------- */

/* The dots of each letter, in rows from the top.  The highest of the five bits of a row is the
 * left dot.  'A' is the angstrom sign, whose ring is above the height of the other letters. */
static const struct letter {
    char name;
    uint8_t rows[LETTER_HEIGHT];
} letters[] = {
    {'0', {14, 17, 17, 17, 17, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},
    {'2', {14, 17, 1, 6, 8, 16, 31}},    {'3', {14, 17, 1, 6, 1, 17, 14}},
    {'4', {2, 6, 10, 18, 31, 2, 2}},     {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {14, 16, 16, 30, 17, 17, 14}}, {'7', {31, 1, 2, 2, 4, 4, 4}},
    {'8', {14, 17, 17, 14, 17, 17, 14}}, {'9', {14, 17, 17, 15, 1, 1, 14}},
    {'.', {0, 0, 0, 0, 0, 12, 12}},      {'m', {0, 0, 26, 21, 21, 21, 21}},
    {'c', {0, 0, 14, 16, 16, 16, 14}},   {'u', {0, 0, 17, 17, 19, 29, 16}},
    {'A', {4, 10, 10, 17, 31, 17, 17}},
};
static const uint8_t ring_above[LETTER_ABOVE] = {4, 10, 4, 0};  // rows of the ring of the angstrom
                                                                // sign

static uint8_t *enlarge_plane(const uint8_t *from, const struct picture *p, int64_t zoom)
{
    const int64_t width = p->width * zoom, height = p->height * zoom;
    uint8_t *to = mem_array((size_t)(width * height), 1);
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            to[y * width + x] = from[y / zoom * p->width + x / zoom];
    return to;
}

void picture_enlarge(struct picture *p, int64_t zoom)
{
    uint8_t *gray = enlarge_plane(p->gray, p, zoom),
            *ink = p->ink ? enlarge_plane(p->ink, p, zoom) : NULL;
    mem_free(p->gray);
    mem_free(p->ink);
    p->gray = gray;
    p->ink = ink;
    p->width *= zoom;
    p->height *= zoom;
    p->zoom *= zoom;
}

void picture_ink(struct picture *p)
{
    if (!p->ink)
        p->ink = mem_array((size_t)(p->width * p->height), 1);
}

static void draw_dot(struct picture *p, int64_t x, int64_t y, int64_t width, enum ink ink)
{
    for (int64_t j = y - (width - 1) / 2; j <= y + width / 2; j++)
        for (int64_t i = x - (width - 1) / 2; i <= x + width / 2; i++)
            if (i >= 0 && i < p->width && j >= 0 && j < p->height)
                p->ink[j * p->width + i] = (uint8_t)ink;
}

void picture_line(struct picture *p, int64_t x0, int64_t y0, int64_t x1, int64_t y1, int64_t width,
                  enum ink ink)
{
    const int64_t dx = x1 - x0, dy = y1 - y0;
    const int64_t steps = llabs(dx) > llabs(dy) ? llabs(dx) : llabs(dy);
    for (int64_t i = 0; i <= steps; i++)
        draw_dot(p, x0 + (steps ? (2 * dx * i + steps) / (2 * steps) : 0),
                 y0 + (steps ? (2 * dy * i + steps) / (2 * steps) : 0), width, ink);
}

/* Returns true if a pixel is in the picture and is dark, as spots are. */
static bool is_dark(const struct picture *p, int64_t x, int64_t y)
{
    return x >= 0 && y >= 0 && x < p->width && y < p->height && p->gray[y * p->width + x] < 128;
}

/* Draws all pixels whose centres are closer to the circle than half a pixel. */
void picture_circle(struct picture *p, int64_t x, int64_t y, int64_t radius, enum ink ink)
{
    const int64_t inside = (2 * radius - 1) * (2 * radius - 1),
                  outside = (2 * radius + 1) * (2 * radius + 1);
    for (int64_t j = -radius; j <= radius; j++)
        for (int64_t i = -radius; i <= radius; i++) {
            const int64_t r = 4 * (i * i + j * j);
            if (r >= inside && r < outside && !is_dark(p, x + i, y + j))
                draw_dot(p, x + i, y + j, 1, ink);
        }
}

static void draw_letter(struct picture *p, int64_t x, int64_t y, char name, int64_t scale,
                        int64_t width, enum ink ink)
{
    for (size_t k = 0; k < sizeof letters / sizeof *letters; k++)
        for (int j = -LETTER_ABOVE; j < LETTER_HEIGHT && letters[k].name == name; j++) {
            const uint8_t row = j >= 0        ? letters[k].rows[j]
                                : name == 'A' ? ring_above[LETTER_ABOVE + j]
                                              : 0;
            for (int i = 0; i < 5; i++)
                if (row >> (4 - i) & 1)
                    draw_dot(p, x + i * scale, y + j * scale, width, ink);
        }
}

void picture_text(struct picture *p, int64_t x, int64_t y, const char *text, int64_t scale,
                  enum ink ink)
{
    for (int64_t i = 0; text[i]; i++)
        draw_letter(p, x + i * LETTER_WIDTH * scale, y, text[i], scale, scale + 2, INK_PAPER);
    for (int64_t i = 0; text[i]; i++)
        draw_letter(p, x + i * LETTER_WIDTH * scale, y, text[i], scale, scale, ink);
}

/* --- PNG, by libpng -------------------------------------------------------- */

enum { OUTPUT_BYTES = 1 << 18 };  // size of an IDAT chunk

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

/* Returns the number of gray values in the palette of a picture; inks follow them. */
static int count_shades(const struct picture *p)
{
    return 256 - (p->lattices ? INK_LATTICES : INK_TRUTH + 1);
}

/* Colours of inks on a white background, then on a black one. */
static const png_color inks[2][INK_LATTICES] = {{[INK_PAPER] = {255, 255, 255},
                                                 [INK_MASKED] = {196, 212, 232},
                                                 [INK_SATURATED] = {230, 20, 20},
                                                 [INK_RING] = {0, 130, 110},
                                                 [INK_BEAM] = {20, 60, 220},
                                                 [INK_TRUTH] = {215, 0, 170},
                                                 {235, 120, 0},
                                                 {0, 150, 215},
                                                 {120, 150, 0},
                                                 {120, 60, 210},
                                                 {130, 80, 30}},
                                                {[INK_PAPER] = {0, 0, 0},
                                                 [INK_MASKED] = {30, 44, 70},
                                                 [INK_SATURATED] = {255, 60, 60},
                                                 [INK_RING] = {80, 220, 190},
                                                 [INK_BEAM] = {110, 170, 255},
                                                 [INK_TRUTH] = {255, 90, 220},
                                                 {255, 160, 60},
                                                 {70, 200, 255},
                                                 {190, 225, 60},
                                                 {185, 140, 255},
                                                 {215, 165, 110}}};

/* Returns the colour of the gray value 255 * light. */
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

static void set_palette(png_structp png, png_infop info, const struct picture *p)
{
    const int shades = count_shades(p);
    png_color palette[256];
    for (int i = 0; i < 256; i++)
        palette[i] = i < shades ? color_of(p->colors, i / (shades - 1.0))
                                : inks[p->colors == COLORS_GRAY][i - shades];
    png_set_PLTE(png, info, palette, 256);
}

/* Converts row y of the picture to indices of the palette, in row[]. */
static void index_row(const struct picture *p, int64_t y, png_bytep row)
{
    const uint8_t *gray = p->gray + y * p->width;
    const int shades = count_shades(p);
    for (int64_t x = 0; x < p->width; x++) {
        const int ink = p->ink ? p->ink[y * p->width + x] : INK_NONE;
        row[x] = (png_byte)(ink ? shades + ink : (gray[x] * (shades - 1) + 127) / 255);
    }
}

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
    /* Noise has no repeated byte sequences.  Huffman codes of single gray values therefore give
     * files as small as the best level of zlib, ten times as fast.  Filters are not used, because
     * the differences of neighbours are noisier than the pixels. */
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_set_compression_level(png, 1);
    png_set_compression_strategy(png, Z_HUFFMAN_ONLY);
    png_set_compression_buffer_size(png, OUTPUT_BYTES);
    if (indexed)
        set_palette(png, info, p);
    png_write_info(png, info);
    write_rows(png, p, row, indexed);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    mem_free(row);
    return STATUS_OK;
}
