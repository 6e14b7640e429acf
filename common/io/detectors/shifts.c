#include "io/detectors/shifts.h"

#include "base/alloc.h"
#include "base/units.h"
#include "io/text/textfile.h"

#define MOST_MM 1e4

static enum status read_shift(const struct text_file *t, int columns, double shift_m[3],
                              struct error *e)
{
    static const char *const names[] = {"x in mm", "y in mm", "offset along the beam in mm"};
    if (t->nwords != 1 && t->nwords != 3)
        return text_error(t, e, "%d numbers, must be 1 (along the beam) or 3 (x, y, and that)",
                          t->nwords);
    if (columns && t->nwords != columns)
        return text_error(t, e, "%d numbers where earlier lines have %d", t->nwords, columns);
    for (int i = 0; i < t->nwords; i++) {
        const int to = i + 3 - t->nwords;
        double mm;
        const enum status s = text_real(t, i, names[to], -MOST_MM, MOST_MM, &mm, e);
        if (s)
            return s;
        shift_m[to] = mm_to_m(mm);
    }
    return STATUS_OK;
}

enum status shifts_read(const char *path, double (**shifts_m)[3], size_t *n, struct error *e)
{
    struct text_file t;
    size_t room = 0;
    int columns = 0;
    *n = 0;
    *shifts_m = NULL;
    enum status s = text_open(&t, path, FILETYPE_OTHER, TEXT_BYTES_MAX, e);
    while (!s && !(s = text_line(&t, TEXT_SPACE, '#', e)) && t.nwords) {
        double(*grown)[3] = mem_grow(*shifts_m, *n, 1, sizeof *grown, &room);
        if (!grown) {
            s = error_memory(e, path);
            break;
        }
        *shifts_m = grown;
        for (int i = 0; i < 3; i++)
            grown[*n][i] = 0.0;
        s = read_shift(&t, columns, grown[(*n)++], e);
        columns = t.nwords;
    }
    text_close(&t);
    return s || *n ? s : error_set(e, STATUS_INPUT, "%s: holds no shift", path);
}
