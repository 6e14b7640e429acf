#include "io/beam/vary_table.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "io/text/textfile.h"

enum { FRAMES_MAX = 10000000, NAMES_SIZE = 200 };

/* Writes the names of the columns that a table may have. */
static void list_names(const struct vary_column *columns, int count, char names[NAMES_SIZE])
{
    size_t at = 0;
    for (int i = 0; i < count && at < NAMES_SIZE; i++)
        at += (size_t)snprintf(names + at, NAMES_SIZE - at, "%s%s", i ? ", " : "", columns[i].name);
}

/* Reads the names of the columns.  order[i] is the number of the quantity in column i. */
static enum status read_names(struct text_file *t, const struct vary_column *columns, int count,
                              int order[VARY_TABLE_COLUMNS], int *width, struct error *e)
{
    char names[NAMES_SIZE];
    bool seen[VARY_TABLE_COLUMNS] = {false};
    const enum status s = text_line(t, TEXT_SPACE, '#', e);
    list_names(columns, count, names);
    if (s)
        return s;
    if (!t->nwords)
        return error_set(e, STATUS_INPUT,
                         "%s: is empty; expected the names of columns in the first line, some of "
                         "%s",
                         t->path, names);
    for (*width = 0; *width < t->nwords; ++*width) {
        int k = 0;
        while (k < count && (*width >= count || strcmp(t->word[*width], columns[k].name) != 0))
            k++;
        if (k == count)
            return text_error(t, e, "'%.40s' cannot vary; expected names of columns, some of %s",
                              t->word[*width < count ? *width : count - 1], names);
        if (seen[k])
            return text_error(t, e, "column %s is named twice; expected each column once",
                              columns[k].name);
        seen[k] = true;
        order[*width] = k;
    }
    return STATUS_OK;
}

/* Reads the values of a frame, for which there is room. */
static enum status read_frame(const struct text_file *text, const struct vary_column *columns,
                              const int *order, int width, struct vary_table *t, struct error *e)
{
    if (text->nwords != width)
        return text_error(text, e, "%d columns, but the first line names %d", text->nwords, width);
    enum status s = STATUS_OK;
    for (int i = 0; i < width && !s; i++) {
        const struct vary_column *c = &columns[order[i]];
        double *value = &t->values[order[i]][t->frames];
        char what[64];
        (void)snprintf(what, sizeof what, "%s%s%s", c->name, c->unit ? " in " : "",
                       c->unit ? c->unit : "");
        *value = (double)NAN;
        if (strcmp(text->word[i], "-") != 0)
            s = text_real(text, i, what, c->min, c->max, value, e);
    }
    t->frames += !s;
    return s;
}

/* Refuses columns without a value. */
static enum status check_columns(const struct text_file *text, const struct vary_column *columns,
                                 const int *order, int width, const struct vary_table *t,
                                 struct error *e)
{
    if (!t->frames)
        return error_set(e, STATUS_INPUT,
                         "%s: has no values; expected a line for each frame after the names of "
                         "columns",
                         text->path);
    for (int i = 0; i < width; i++) {
        bool any = false;
        for (size_t k = 0; k < t->frames; k++)
            any = any || !isnan(t->values[order[i]][k]);
        if (!any)
            return error_set(e, STATUS_INPUT, "%s: column %s has no value; expected at least one",
                             text->path, columns[order[i]].name);
    }
    return STATUS_OK;
}

static enum status read_table(struct text_file *text, const struct vary_column *columns, int count,
                              struct vary_table *t, struct error *e)
{
    int order[VARY_TABLE_COLUMNS], width = 0;
    size_t room[VARY_TABLE_COLUMNS] = {0};
    enum status s = read_names(text, columns, count, order, &width, e);
    while (!s && !(s = text_line(text, TEXT_SPACE, '#', e)) && text->nwords) {
        if (t->frames == FRAMES_MAX)
            return text_error(text, e, "more than %d frames", FRAMES_MAX);
        for (int i = 0; i < width; i++) {
            double **values = &t->values[order[i]];
            *values = mem_grow(*values, t->frames, 1, sizeof **values, &room[order[i]]);
        }
        s = read_frame(text, columns, order, width, t, e);
    }
    return s ? s : check_columns(text, columns, order, width, t, e);
}

enum status vary_table_read(const char *path, const struct vary_column *columns, int count,
                            struct vary_table *t, struct error *e)
{
    struct text_file text;
    *t = (struct vary_table){0};
    enum status s = text_open(&text, path, FILETYPE_VARY, TEXT_BYTES_MAX, e);
    s = s ? s : read_table(&text, columns, count, t, e);
    text_close(&text);
    return s;
}

void vary_table_free(struct vary_table *t)
{
    for (int i = 0; i < VARY_TABLE_COLUMNS; i++)
        mem_free(t->values[i]);
    *t = (struct vary_table){0};
}
