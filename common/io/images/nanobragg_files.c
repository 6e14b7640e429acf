#include "io/images/nanobragg_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/files.h"
#include "io/output/output_file.h"

/* Writes a file with `head_bytes` bytes of a header and `count` items of `size` bytes each. */
static enum status write_file(const char *path, const void *head, size_t head_bytes,
                              const void *items, size_t count, size_t size, struct error *e)
{
    struct replace r;
    enum status status = replace_open(&r, path, e);
    if (status)
        return status;
    if (fwrite(head, 1, head_bytes, r.stream) == head_bytes &&
        fwrite(items, size, count, r.stream) == count)
        return replace_commit(&r, e);
    error_errno(e, STATUS_FAILED, "%s: cannot write", path);
    replace_abort(&r);
    return STATUS_FAILED;
}

enum status nanobragg_write_float(const char *path, const float *pixels, size_t count,
                                  struct error *e)
{
    return write_file(path, "", 0, pixels, count, sizeof *pixels, e);
}

enum status nanobragg_write_smv(const char *path, const struct header_text *header,
                                const void *pixels, size_t count, size_t pixel_bytes,
                                struct error *e)
{
    return write_file(path, header->text, header->length, pixels, count, pixel_bytes, e);
}

enum status nanobragg_write_pgm(const char *path, const uint8_t *pixels, int64_t width,
                                int64_t height, double scale, struct error *e)
{
    char head[128];
    int length =
        snprintf(head, sizeof head, "P5\n%" PRId64 " %" PRId64 "\n# pixels scaled by %g\n255\n",
                 width, height, scale);
    return write_file(path, head, (size_t)length, pixels, (size_t)(width * height), 1, e);
}

static enum status too_short(const char *path, size_t got, size_t count, struct error *e)
{
    return error_set(e, STATUS_INPUT, "%s: %zu floats; expected %zu, one for each pixel", path, got,
                     count);
}

enum status nanobragg_check_float(const char *path, size_t count, struct error *e)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    size_t got = (size_t)st.st_size / sizeof(float);
    return S_ISREG(st.st_mode) && got < count ? too_short(path, got, count, e) : STATUS_OK;
}

enum status nanobragg_read_float(const char *path, float *pixels, size_t count, struct error *e)
{
    FILE *in = input_open(path);
    if (!in)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    size_t got = fread(pixels, sizeof *pixels, count, in);
    enum status status = STATUS_OK;
    if (ferror(in))
        status = error_errno(e, STATUS_FAILED, "%s: cannot read", path);
    else if (got != count)
        status = too_short(path, got, count, e);
    fclose(in);
    return status;
}
