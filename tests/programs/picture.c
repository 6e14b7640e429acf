/*
 * picture FILE.png: prints `WIDTHxHEIGHT, N levels, M of 10,000 pixels stand out`, which are those
 * that differ from the commonest grey by a fifth of the range.  Fails where an eye would find a
 * blank sheet: fewer than 10 such pixels.
 */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 256, APART = 51, FEWEST_APART = 10 };

static int tell(const png_image *image, const unsigned char *pixels)
{
    const size_t count = (size_t)image->width * image->height;
    size_t histogram[LEVELS] = {0}, levels = 0, apart = 0;
    for (size_t i = 0; i < count; i++)
        histogram[pixels[i]]++;
    int commonest = 0;
    for (int level = 1; level < LEVELS; level++)
        if (histogram[level] > histogram[commonest])
            commonest = level;
    for (int level = 0; level < LEVELS; level++) {
        levels += histogram[level] > 0;
        if (abs(level - commonest) >= APART)
            apart += histogram[level];
    }
    apart = apart * 10000 / count;
    printf("%ux%u, %zu levels, %zu of 10,000 pixels stand out\n", image->width, image->height,
           levels, apart);
    return apart < FEWEST_APART;
}

int main(int argc, char **argv)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    unsigned char *pixels = NULL;
    int status = 1;
    if (argc == 2 && png_image_begin_read_from_file(&image, argv[1])) {
        image.format = PNG_FORMAT_GRAY;
        pixels = malloc(PNG_IMAGE_SIZE(image));
        if (pixels && png_image_finish_read(&image, NULL, pixels, 0, NULL))
            status = tell(&image, pixels);
    }
    if (argc != 2 || image.warning_or_error)
        fprintf(stderr, "picture: %s\n", argc == 2 ? image.message : "usage: picture FILE.png");
    free(pixels);
    return status;
}
