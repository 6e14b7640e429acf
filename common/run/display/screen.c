/* Redraws lines on a terminal. */
#include "run/display/screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { COLUMNS = 80, ROWS = 24 };

/* Returns the size of the terminal; a default if it is unknown. */
static struct winsize size_of(FILE *out)
{
    struct winsize size = {0};
    if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || !size.ws_row || !size.ws_col)
        size = (struct winsize){.ws_row = ROWS, .ws_col = COLUMNS};
    return size;
}

void screen_clear(struct screen *s)
{
    if (s->lines)
        fputs("\r", s->out);
    if (s->lines > 1)
        fprintf(s->out, "\033[%dA", s->lines - 1);
    if (s->lines)
        fputs("\033[J", s->out);
    (void)fflush(s->out);
    s->lines = 0;
}

void screen_draw(struct screen *s, const char *heading, const struct view *v)
{
    const struct winsize size = size_of(s->out);
    const size_t more = 1 + v->nrows + (view_latest(v)->unlisted > 0);
    if (s->lines)
        fputs("\r", s->out);
    if (s->lines > 1)
        fprintf(s->out, "\033[%dA", s->lines - 1);
    fprintf(s->out, "%.*s\033[K", size.ws_col - 1, heading);
    s->lines = 1;
    if (size.ws_col >= COLUMNS && size.ws_row > more + 1) {
        char *text = NULL, *line;
        size_t length;
        FILE *memory = open_memstream(&text, &length);
        if (memory) {
            view_print(v, memory);
            (void)fclose(memory);
            for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), s->lines++)
                fprintf(s->out, "\n%s\033[K", line);
            free(text);
        }
    }
    fputs("\033[J", s->out);
    (void)fflush(s->out);
}

void screen_end(struct screen *s)
{
    if (s->lines)
        putc('\n', s->out);
    (void)fflush(s->out);
    s->lines = 0;
}
