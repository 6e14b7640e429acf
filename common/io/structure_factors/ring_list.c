#include "io/structure_factors/ring_list.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "io/text/textfile.h"

bool ring_list_is(const char *path)
{
    FILE *in = fopen(path, "rbe");
    char line[TEXT_LINE_MAX];
    bool number = false, comment = true;
    while (in && comment && fgets(line, sizeof line, in)) {
        const char *at = line + strspn(line, TEXT_SPACE "\n");
        comment = *at == '#' || *at == '\0';
        number = isdigit((unsigned char)*at);
    }
    if (in)
        (void)fclose(in);
    return number;
}

/* Reads the volume from the comments before the rings, as in "# V=71.83 M=203.8". */
static enum status read_volume(const struct text_file *t, double *cell_A3, struct error *e)
{
    const char *at = text_find_in_head(t, '#', "V");
    at = at ? at + 1 + strspn(at + 1, TEXT_SPACE) : "";
    char *end = NULL;
    *cell_A3 = *at == '=' ? strtod(at + 1, &end) : 0.0;
    return *cell_A3 > 0.0 && isfinite(*cell_A3)
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "%s: no volume of the cell; expected a comment such as '# V=71.83', in "
                           "A^3, before the first ring",
                           t->path);
}

static enum status read_line(const struct text_file *t, struct ring_line *line, struct error *e)
{
    enum status s;
    if (t->nwords != 2 && t->nwords != 3)
        return text_error(t, e,
                          "%d columns; expected d and the sum of F squared, and the number of "
                          "reflections or not",
                          t->nwords);
    if ((s = text_real(t, 0, "d in A", 0.05, 1e5, &line->d_A, e)) ||
        (s = text_real(t, 1, "sum of F squared", 0.0, 1e18, &line->F2, e)))
        return s;
    return t->nwords == 3
               ? text_real(t, 2, "number of reflections", 1.0, 1e6, &line->reflections, e)
               : STATUS_OK;
}

enum status ring_list_read(const char *path, struct ring_list *list, struct error *e)
{
    struct text_file t;
    size_t room = 0;
    *list = (struct ring_list){0};
    enum status s = text_open(&t, path, FILETYPE_RINGS, TEXT_BYTES_MAX, e);
    s = s ? s : read_volume(&t, &list->cell_A3, e);
    while (!s && !(s = text_line(&t, TEXT_SPACE, '#', e)) && t.nwords) {
        struct ring_line line = {0};
        s = read_line(&t, &line, e);
        list->lines = mem_grow(list->lines, list->count, 1, sizeof *list->lines, &room);
        list->lines[list->count] = line;
        list->count += s == STATUS_OK;
    }
    text_close(&t);
    return s || list->count ? s : error_set(e, STATUS_INPUT, "%s: no rings", path);
}

void ring_list_free(struct ring_list *list)
{
    mem_free(list->lines);
    *list = (struct ring_list){0};
}
