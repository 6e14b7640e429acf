#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/files.h"
#include "io/structure_factors/hkl.h"
#include "io/text/textfile.h"

enum status hkl_write_dump(FILE *out, const struct hkl_table *t, const char *path, struct error *e)
{
    const size_t n[3] = {(size_t)t->count[0], (size_t)t->count[1], (size_t)t->count[2]};
    const size_t items = (n[1] + 1) * (n[2] + 1);
    double *plane = mem_array(items, sizeof *plane);
    if (!plane)
        return error_memory(e, "a plane of structure factors");
    bool good =
        fprintf(out, "%d %d %d %d %d %d\n\f", t->min[0], t->min[0] + t->count[0] - 1, t->min[1],
                t->min[1] + t->count[1] - 1, t->min[2], t->min[2] + t->count[2] - 1) > 0;
    for (size_t h = 0; good && h <= n[0]; h++) {
        for (size_t k = 0; k < n[1]; k++)
            for (size_t l = 0; l < n[2]; l++)
                plane[k * (n[2] + 1) + l] = h < n[0] ? t->F[(h * n[1] + k) * n[2] + l] : 0.0;
        good = fwrite(plane, sizeof *plane, items, out) == items;
    }
    mem_free(plane);
    return good ? STATUS_OK : error_errno(e, STATUS_FAILED, "%s: cannot write", path);
}

/* The first line; true when it is one that hkl_write_dump writes. */
static bool read_box(FILE *in, int min[3], int max[3])
{
    char line[128];
    if (!fgets(line, sizeof line, in) || !strchr(line, '\n') || fgetc(in) != '\f')
        return false;
    const char *at = line;
    for (int i = 0; i < 3; i++)
        if (!text_scan_int(&at, &min[i]) || !text_scan_int(&at, &max[i]) || min[i] > max[i])
            return false;
    return true;
}

/* Whether the rest of the file holds the box and its planes of zeros, no more. */
static enum status check_length(FILE *in, const int min[3], const int max[3], const char *path,
                                struct error *e)
{
    const long start = ftell(in);
    if (start < 0 || fseek(in, 0, SEEK_END))
        return error_errno(e, STATUS_FAILED, "%s: cannot read", path);
    const long length = ftell(in) - start;
    int64_t bytes = sizeof(double);
    for (int i = 0; i < 3; i++)
        if (__builtin_mul_overflow(bytes, (int64_t)max[i] - min[i] + 2, &bytes))
            return error_set(e, STATUS_INPUT, "%s: the box of indices is too large", path);
    if (length != bytes)
        return error_set(e, STATUS_INPUT, "%s: %ld bytes of data, must be %lld", path, length,
                         (long long)bytes);
    if (fseek(in, start, SEEK_SET))
        return error_errno(e, STATUS_FAILED, "%s: cannot read", path);
    return STATUS_OK;
}

static enum status read_planes(FILE *in, struct hkl_table *t, double *plane, const char *path,
                               struct error *e)
{
    const size_t n[3] = {(size_t)t->count[0], (size_t)t->count[1], (size_t)t->count[2]};
    const size_t items = (n[1] + 1) * (n[2] + 1);
    for (size_t h = 0; h < n[0]; h++) {
        if (fread(plane, sizeof *plane, items, in) != items)
            return error_set(e, STATUS_INPUT, "%s: truncated", path);
        for (size_t k = 0; k < n[1]; k++)
            for (size_t l = 0; l < n[2]; l++) {
                const double F = plane[k * (n[2] + 1) + l];
                if (!isfinite(F))
                    return error_set(e, STATUS_INPUT, "%s: F is not finite", path);
                t->F[(h * n[1] + k) * n[2] + l] = F;
            }
    }
    return STATUS_OK;
}

static enum status read_dump(FILE *in, const char *path, double default_F, struct hkl_table *t,
                             struct error *e)
{
    int min[3], max[3];
    if (!read_box(in, min, max))
        return error_set(e, STATUS_INPUT,
                         "%s: must begin with 'hmin hmax kmin kmax lmin lmax' and bytes 0A 0C",
                         path);
    enum status s = check_length(in, min, max, path, e);
    if (s == STATUS_OK)
        s = hkl_reserve(t, min, max, default_F, path, e);
    if (s)
        return s;
    double *plane = mem_array((size_t)(t->count[1] + 1) * (size_t)(t->count[2] + 1), sizeof *plane);
    s = plane ? read_planes(in, t, plane, path, e) : error_memory(e, "structure factors");
    mem_free(plane);
    return s;
}

enum status hkl_read_dump(const char *path, double default_F, struct hkl_table *t, struct error *e)
{
    *t = (struct hkl_table){.default_F = default_F};
    FILE *in = input_open(path);
    if (!in)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    const enum status s = read_dump(in, path, default_F, t, e);
    (void)fclose(in);
    if (s)
        hkl_free(t);
    return s;
}
