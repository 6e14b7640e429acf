#include "serve_files.h"

#include <sys/stat.h>

#include "base/files.h"
#include "io/crystfel/crystfel.h"
#include "io/crystfel/geom.h"
#include "io/output/replace.h"

static enum status write_file(const struct serve_options *o, const struct experiment *x,
                              const char *path, bool cell, struct error *e)
{
    struct replace file;
    struct error cause = {0};
    enum status s = replace_open(&file, path, e);
    if (s)
        return s;
    const struct geom_style style = {
        .data = o->content.image_key, .live = true, .peaks = o->content.peaks > 0};
    file.guarded = !o->overwrite;
    s = cell ? crystfel_write_cell(file.stream, x->crystals, &cause)
             : geom_write(file.stream, x, &style, o->content.lab, &cause);
    if (s == STATUS_OK) {
        if (!cell)
            geom_warn_of_unsaid(path, x);
        return replace_commit(&file, e);
    }
    replace_abort(&file);
    return error_set(e, s, "%s: %s", path, cause.text);
}

enum status serve_write_files(const struct serve_options *o, const struct experiment *x,
                              struct error *e)
{
    enum status s = o->geom ? write_file(o, x, o->geom, false, e) : STATUS_OK;
    if (s || !o->cell)
        return s;
    if (x->ncrystals != 1)
        return error_set(e, STATUS_INPUT, "--cell: a cell file describes one crystal (got %zu)",
                         x->ncrystals);
    return write_file(o, x, o->cell, true, e);
}

enum status serve_check_place(const char *path, bool overwrite, struct error *e)
{
    struct stat st;
    const enum status s = target_check(path, e);
    const bool taken = !overwrite && stat(path, &st) == 0 && S_ISREG(st.st_mode);
    return s == STATUS_OK && taken ? replace_refuse(path, e) : s;
}
