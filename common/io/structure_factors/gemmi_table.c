#include "io/structure_factors/gemmi_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/text/tool.h"

/* All bytes of a file, and a zero. */
static enum status slurp(int file, const char *what, char **bytes, struct error *e)
{
    struct stat st;
    if (fstat(file, &st))
        return error_errno(e, STATUS_FAILED, "%s: cannot read what gemmi wrote", what);
    const size_t size = (size_t)st.st_size;
    size_t n = 0;
    *bytes = mem_array(size + 1, 1);
    if (!*bytes)
        return error_memory(e, what);
    while (n < size) {
        const ssize_t got = pread(file, *bytes + n, size - n, (off_t)n);
        if (got == 0 || (got < 0 && errno != EINTR))
            return error_errno(e, STATUS_FAILED, "%s: cannot read what gemmi wrote", what);
        n += got > 0 ? (size_t)got : 0;
    }
    (*bytes)[n] = '\0';
    return STATUS_OK;
}

enum status gemmi_read(char *const argv[], int keep, const char *what, char **bytes,
                       struct error *e)
{
    char name[TOOL_NAME_SIZE], said[200];
    int output;
    struct error cause = {0};
    *bytes = NULL;
    enum status s = tool_file(what, &output, name, e);
    if (s)
        return s;
    s = tool_output(argv, keep, output, said, sizeof said, &cause);
    if (s == STATUS_INPUT)
        (void)error_set(e, s, "%s: gemmi %s: %s", what, argv[1], *said ? said : cause.text);
    else
        s = s ? error_set(e, s, "%s: %s", what, cause.text) : slurp(output, what, bytes, e);
    (void)close(output);
    return s;
}

static size_t count_lines(const char *bytes)
{
    size_t lines = 0;
    for (const char *at = bytes; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    return lines;
}

/* Cuts lines at tabs; columns that a line lacks are empty. */
static enum status cut(struct gemmi_table *t, const char *what, struct error *e)
{
    static const char nothing[] = "";
    const size_t lines = count_lines(t->bytes);
    t->field = mem_array(lines * t->columns, sizeof *t->field);
    if (!t->field)
        return error_memory(e, what);
    char *rest = t->bytes;
    for (; t->rows < lines; t->rows++) {
        char *line = strsep(&rest, "\n");
        for (size_t c = 0; c < t->columns; c++) {
            const char *field = line ? strsep(&line, "\t") : NULL;
            t->field[t->rows * t->columns + c] = field ? field : nothing;
        }
    }
    return STATUS_OK;
}

/* gemmi grep ends with 1 where it finds nothing. */
enum status gemmi_table_read(const char *path, int keep, const char *const *tags, const char *what,
                             struct gemmi_table *t, struct error *e)
{
    char command[] = "gemmi", grep[] = "grep", bare[] = "-b", cutter[] = "-d", tab[] = "\t",
         and[] = "-a", argument[TOOL_PATH_SIZE];
    char *argv[6 + 2 * GEMMI_COLUMNS_MAX + 2] = {command, grep, bare, cutter, tab};
    size_t n = 5;
    struct error cause = {0};
    *t = (struct gemmi_table){0};
    tool_path(path, argument);
    for (; tags[t->columns]; t->columns++) {
        if (t->columns)
            argv[n++] = and;
        argv[n++] = (char *)(uintptr_t)tags[t->columns];
    }
    argv[n] = argument;
    const enum status s = gemmi_read(argv, keep, what, &t->bytes, &cause);
    if (s == STATUS_INPUT && strstr(cause.text, "failed with status 1"))
        return STATUS_OK;
    return s ? error_set(e, s, "%s", cause.text) : cut(t, what, e);
}

void gemmi_table_free(struct gemmi_table *t)
{
    mem_free(t->bytes);
    mem_free(t->field);
    *t = (struct gemmi_table){0};
}

const char *gemmi_table_text(const struct gemmi_table *t, size_t row, size_t column)
{
    return t->field[row * t->columns + column];
}

double gemmi_table_number(const struct gemmi_table *t, size_t row, size_t column)
{
    const char *text = gemmi_table_text(t, row, column);
    char *end;
    if (!*text)
        return (double)NAN;
    const double value = strtod(text, &end);
    return end != text && (!*end || *end == '(') ? value : (double)INFINITY;
}
