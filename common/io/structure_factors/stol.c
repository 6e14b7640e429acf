#include "io/structure_factors/stol.h"

#include <math.h>

#include "base/alloc.h"
#include "io/text/textfile.h"

static double to_stol_1_m(double value, enum stol_unit unit)
{
    switch (unit) {
    case STOL_4STOL:
        return value * 1e10 / 4.0;
    case STOL_Q:
        return value * 1e10 / M_PI / 4.0;
    case STOL_STOL:
        break;
    }
    return value * 1e10;
}

/* A row takes four bytes at least ("1 2" and what parts it from the next). */
static enum status reserve(const struct text_file *t, struct stol_table *table, struct error *e)
{
    size_t rows = t->length / 4 + 1;
    table->stol_1_m = mem_array(rows, sizeof *table->stol_1_m);
    table->F = mem_array(rows, sizeof *table->F);
    return table->stol_1_m && table->F ? STATUS_OK : error_memory(e, "table");
}

static void add(struct stol_table *table, double column1, double F, enum stol_unit unit)
{
    table->stol_1_m[table->rows] = to_stol_1_m(column1, unit);
    table->F[table->rows++] = F;
}

static void read_faithful(const struct text_file *t, enum stol_unit unit, struct stol_table *table)
{
    const char *at = t->bytes;
    double column1, F;
    while (text_scan_real(&at, &column1) && text_scan_real(&at, &F))
        add(table, column1, F, unit);
}

/* Comments before the numbers must not name another axis or unit than the one that is read, as the
 * headers of programs do that integrate images.  F(q) names a function. */
static enum status check_head(const struct text_file *t, enum stol_unit unit, struct error *e)
{
    static const char *const others[] = {"nm^-1",  "nm-1",      "1/nm",     "2th_deg",
                                         "2theta", "two-theta", "twotheta", "tth"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (text_find_in_head(t, '#', others[i]))
            return error_set(
                e, STATUS_INPUT,
                "%s: a comment at the beginning names '%s'; expected a first column in "
                "1/A, as --stol-axis says",
                t->path, others[i]);
    const char *q = text_find_in_head(t, '#', "q");
    if (q && unit != STOL_Q && q[1] != ')' && !text_find_in_head(t, '#', "stol") &&
        !text_find_in_head(t, '#', "sin"))
        return error_set(e, STATUS_INPUT,
                         "%s: a comment at the beginning names 'q'; --stol-axis=q reads it, and "
                         "without that the first column is sin(theta)/lambda",
                         t->path);
    return STATUS_OK;
}

static enum status read_lines(struct text_file *t, enum stol_unit unit, struct stol_table *table,
                              struct error *e)
{
    for (double before = -HUGE_VAL;;) {
        double column1 = 0.0, F = 0.0;
        enum status s = text_line(t, TEXT_SPACE, '#', e);
        if (s || t->nwords == 0)
            return s;
        if (t->nwords != 2)
            return text_error(t, e, "%d columns, must be two: angle and F", t->nwords);
        if ((s = text_real(t, 0, "angle", 0.0, 1e4, &column1, e)) ||
            (s = text_real(t, 1, "F in electrons", 0.0, 1e9, &F, e)))
            return s;
        if (column1 <= before)
            return text_error(t, e, "angle %g must be greater than %g of the row before", column1,
                              before);
        before = column1;
        add(table, column1, F, unit);
    }
}

enum status stol_read(const char *path, enum stol_unit unit, bool faithful,
                      struct stol_table *table, struct error *e)
{
    *table = (struct stol_table){0};
    struct text_file t;
    enum status status = text_open(&t, path, FILETYPE_STOL, TEXT_BYTES_MAX, e);
    if (!status)
        status = reserve(&t, table, e);
    if (!status && faithful)
        read_faithful(&t, unit, table);
    else if (!status && !(status = check_head(&t, unit, e)))
        status = read_lines(&t, unit, table, e);
    text_close(&t);
    if (!status && table->rows == 0)
        status = error_set(e, STATUS_INPUT, "%s: no row of two numbers", path);
    return status;
}

void stol_free(struct stol_table *table)
{
    mem_free(table->stol_1_m);
    mem_free(table->F);
    *table = (struct stol_table){0};
}
