#include "io/output/runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "io/text/textfile.h"

#define AT(member) offsetof(struct run_line, member)

/* The columns of a list of runs, with their place in struct run_line and their limits.  A column
 * with max = 0 is a text. */
static const struct column {
    const char *name;
    size_t offset;
    double min, max;
} columns[] = {{"first", AT(first), 0, 1e9},
               {"hit_rate", AT(hit_rate), 0, 1},
               {"mean_lattices", AT(mean_lattices), 0, 100},
               {"fluence", AT(fluence), 1e-9, 1e9},
               {"energy_eV", AT(energy_eV), 1, 1e6},
               {"mixture", AT(mixture), 0, 0},
               {"label", AT(label), 0, 0}};
enum { FIRST, COLUMNS = sizeof columns / sizeof *columns };

static enum status read_title(struct text_file *t, const struct column *order[COLUMNS], int *count,
                              struct error *e)
{
    const enum status s = text_line(t, TEXT_SPACE, '#', e);
    if (s)
        return s;
    if (!t->nwords)
        return error_set(e, STATUS_INPUT,
                         "%s: no run found; expected the names of columns in the first line",
                         t->path);
    bool seen[COLUMNS] = {false};
    if (t->nwords > COLUMNS)
        return text_error(t, e, "%d columns; expected at most %d", t->nwords, COLUMNS);
    for (*count = 0; *count < t->nwords; (*count)++) {
        int k = 0;
        while (k < COLUMNS && strcmp(t->word[*count], columns[k].name) != 0)
            k++;
        if (k == COLUMNS)
            return text_error(t, e,
                              "'%.40s' is not a column of runs; expected first, hit_rate, "
                              "mean_lattices, fluence, energy_eV, mixture, label",
                              t->word[*count]);
        if (seen[k])
            return text_error(t, e, "column %s is named twice", columns[k].name);
        seen[k] = true;
        order[*count] = &columns[k];
    }
    return seen[FIRST] ? STATUS_OK
                       : text_error(t, e,
                                    "no column 'first'; expected the names of columns in the first "
                                    "line, and 'first' among them");
}

static enum status read_word(const struct text_file *t, int i, const struct column *c,
                             struct run_line *run, struct error *e)
{
    char *to = (char *)run + c->offset;
    if (c == &columns[FIRST]) {
        int64_t first = 0;
        const enum status s = text_int(t, i, c->name, (int64_t)c->min, (int64_t)c->max, &first, e);
        run->first = (uint64_t)first;
        return s;
    }
    if (strcmp(t->word[i], "-") == 0)
        return STATUS_OK;
    if (c->max > 0)
        return text_real(t, i, c->name, c->min, c->max, (double *)(void *)to, e);
    if (strlen(t->word[i]) >= RUN_TEXT_SIZE)
        return text_error(t, e, "%s: too long; expected at most %d bytes", c->name,
                          RUN_TEXT_SIZE - 1);
    (void)snprintf(to, RUN_TEXT_SIZE, "%s", t->word[i]);
    return STATUS_OK;
}

static enum status read_run(const struct text_file *t, const struct column *const order[COLUMNS],
                            int count, const struct run_line *before, struct run_line *run,
                            struct error *e)
{
    *run = (struct run_line){t->line, 0, -1, -1, -1, -1, "", ""};
    if (t->nwords != count)
        return text_error(t, e, "%d columns, but the first line names %d", t->nwords, count);
    for (int i = 0; i < count; i++) {
        const enum status s = read_word(t, i, order[i], run, e);
        if (s)
            return s;
    }
    if (!before && run->first)
        return text_error(t, e, "the first run begins with frame %" PRIu64 "; expected 0",
                          run->first);
    if (before && run->first <= before->first)
        return text_error(t, e,
                          "the run begins with frame %" PRIu64 "; expected a number above %" PRIu64
                          ", where the previous run begins",
                          run->first, before->first);
    return STATUS_OK;
}

static enum status read_lines(struct text_file *t, struct run_line *runs, size_t *n,
                              struct error *e)
{
    const struct column *order[COLUMNS];
    int count = 0;
    enum status s = read_title(t, order, &count, e);
    while (!s && !(s = text_line(t, TEXT_SPACE, '#', e)) && t->nwords) {
        if (*n == RUNS_MAX)
            return text_error(t, e, "more than %d runs", RUNS_MAX);
        s = read_run(t, order, count, *n ? &runs[*n - 1] : NULL, &runs[*n], e);
        *n += !s;
    }
    return s || *n
               ? s
               : error_set(
                     e, STATUS_INPUT,
                     "%s: no run found; expected a line for each run after the names of columns",
                     t->path);
}

enum status runs_read(const char *path, struct run_line **runs, size_t *count, struct error *e)
{
    struct text_file t;
    *count = 0;
    *runs = mem_array(RUNS_MAX, sizeof **runs);
    if (!*runs)
        return error_memory(e, "the runs");
    enum status s = text_open(&t, path, FILETYPE_RUNS, TEXT_BYTES_MAX, e);
    s = s ? s : read_lines(&t, *runs, count, e);
    text_close(&t);
    return s;
}
