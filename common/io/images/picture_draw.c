#include "io/images/picture_draw.h"

#include <stdlib.h>

#include "base/alloc.h"

/* Dots of a letter: rows from the top, the highest of five bits is the left one. */
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
    {'A', {4, 10, 4, 10, 17, 31, 17}},
};

static uint8_t *larger(const uint8_t *from, const struct picture *p, int64_t zoom)
{
    const int64_t width = p->width * zoom, height = p->height * zoom;
    uint8_t *to = mem_array((size_t)(width * height), 1);
    for (int64_t y = 0; y < height && to; y++)
        for (int64_t x = 0; x < width; x++)
            to[y * width + x] = from[y / zoom * p->width + x / zoom];
    return to;
}

enum status picture_enlarge(struct picture *p, int64_t zoom, struct error *e)
{
    uint8_t *gray = larger(p->gray, p, zoom), *ink = p->ink ? larger(p->ink, p, zoom) : NULL;
    if (!gray || (p->ink && !ink)) {
        mem_free(gray);
        return error_memory(e, "the picture");
    }
    mem_free(p->gray);
    mem_free(p->ink);
    p->gray = gray;
    p->ink = ink;
    p->width *= zoom;
    p->height *= zoom;
    p->zoom *= zoom;
    return STATUS_OK;
}

enum status picture_ink(struct picture *p, struct error *e)
{
    if (!p->ink)
        p->ink = mem_array((size_t)(p->width * p->height), 1);
    return p->ink ? STATUS_OK : error_memory(e, "the picture");
}

static void dot(struct picture *p, int64_t x, int64_t y, int64_t width, enum ink ink)
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
        dot(p, x0 + (steps ? (2 * dx * i + steps) / (2 * steps) : 0),
            y0 + (steps ? (2 * dy * i + steps) / (2 * steps) : 0), width, ink);
}

/* All pixels whose centres are nearer than half a pixel to the circle. */
void picture_circle(struct picture *p, int64_t x, int64_t y, int64_t radius, enum ink ink)
{
    const int64_t inside = (2 * radius - 1) * (2 * radius - 1),
                  outside = (2 * radius + 1) * (2 * radius + 1);
    for (int64_t j = -radius; j <= radius; j++)
        for (int64_t i = -radius; i <= radius; i++) {
            const int64_t r = 4 * (i * i + j * j);
            if (r >= inside && r < outside)
                dot(p, x + i, y + j, 1, ink);
        }
}

static void draw_letter(struct picture *p, int64_t x, int64_t y, char name, int64_t scale,
                        int64_t width, enum ink ink)
{
    for (size_t k = 0; k < sizeof letters / sizeof *letters; k++)
        for (int j = 0; j < LETTER_HEIGHT && letters[k].name == name; j++)
            for (int i = 0; i < 5; i++)
                if (letters[k].rows[j] >> (4 - i) & 1)
                    dot(p, x + i * scale, y + j * scale, width, ink);
}

void picture_text(struct picture *p, int64_t x, int64_t y, const char *text, int64_t scale,
                  enum ink ink)
{
    for (int64_t i = 0; text[i]; i++)
        draw_letter(p, x + i * LETTER_WIDTH * scale, y, text[i], scale, scale + 2, INK_PAPER);
    for (int64_t i = 0; text[i]; i++)
        draw_letter(p, x + i * LETTER_WIDTH * scale, y, text[i], scale, scale, ink);
}
