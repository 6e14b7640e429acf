/* Writes the reflections of frames as text, as a CrystFEL stream, or for DIALS. */
#include "reflections_files.h"

#include "base/alloc.h"
#include "io/output/truth.h"
#include "physics/detector/panels.h"

static bool is_dials(enum format format)
{
    return format == FORMAT_REFL || format == FORMAT_EXPT;
}

static enum status pack_text(enum format format, const struct experiment *x, const struct frame *f,
                             const char *path, void **bytes, size_t *size, struct error *e)
{
    double lab[9];
    FILE *out = open_memstream((char **)bytes, size);
    if (!out)
        return error_memory(e, path);
    if (format == FORMAT_STREAM) {
        panels_frame(x, lab);
        reflections_write_chunk(out, x, f, lab);
    } else {
        reflections_write_rows(out, f);
    }
    return fclose(out) == 0 ? STATUS_OK : error_memory(e, path);
}

enum status reflections_pack(enum format format, const struct experiment *x, const struct frame *f,
                             const char *path, void **bytes, size_t *size, struct error *e)
{
    const enum status s = reflections_check(f, path, e);
    *bytes = NULL;
    if (s)
        return s;
    return is_dials(format) ? dials_pack(x, f, path, bytes, size, e)
                            : pack_text(format, x, f, path, bytes, size, e);
}

/* Writes the beginning of a file, before the first frame. */
static enum status write_head(FILE *out, enum format format, const struct experiment *x,
                              const char *path, struct error *e)
{
    double lab[9];
    if (format == FORMAT_STREAM) {
        panels_frame(x, lab);
        return reflections_write_preamble(out, x, lab, path, e);
    }
    reflections_write_names(out);
    return STATUS_OK;
}

enum status reflections_join(FILE *out, enum format format, const struct experiment *x,
                             struct dials_images images, const struct records *all,
                             const char *path, struct error *e)
{
    if (format == FORMAT_REFL)
        return dials_write_refl(out, x, images, all, path, e);
    if (format == FORMAT_EXPT)
        return dials_write_expt(out, x, images, all, path, e);
    enum status s = write_head(out, format, x, path, e);
    for (size_t i = 0; i < all->count && !s; i++) {
        const void *bytes;
        size_t size;
        s = all->read(all->state, i, &bytes, &size, e);
        if (s == STATUS_OK && size)
            (void)fwrite(bytes, 1, size, out);
    }
    if (s == STATUS_OK && ferror(out))
        s = error_errno(e, STATUS_FAILED, "%s: cannot write", path);
    return s;
}

/* Records of a single frame, for reflections_join. */
struct one {
    void *bytes;
    size_t size;
};

static enum status read_one(void *state, size_t i, const void **bytes, size_t *size,
                            struct error *e)
{
    const struct one *one = state;
    (void)i, (void)e;
    *bytes = one->bytes;
    *size = one->size;
    return STATUS_OK;
}

enum status reflections_write(FILE *out, enum format format, const struct experiment *x,
                              const struct frame *f, const char *path, struct error *e)
{
    struct one one;
    const struct records all = {&one, 1, read_one};
    enum status s = reflections_pack(format, x, f, path, &one.bytes, &one.size, e);
    if (s == STATUS_OK)
        s = reflections_join(out, format, x, (struct dials_images){.alone = true}, &all, path, e);
    mem_free(one.bytes);
    return s;
}
