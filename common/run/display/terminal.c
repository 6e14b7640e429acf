/* Redraws lines on a terminal. */
#include "run/display/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

/* --- the progress bar ---------------------------------------------------------- */

static const uint64_t INTERVAL_NS = 400000000;
enum { BAR_WIDTH = 28, TEXT_SIZE = 160 };

void bar_open(struct bar *b, bool wanted)
{
    *b = (struct bar){.on = wanted && isatty(STDERR_FILENO), .screen = {.out = stderr}};
}

static bool is_complete(const struct bar *b)
{
    const struct run_status *r = view_latest(&b->view);
    return r && r->known && r->acknowledged == r->total;
}

static void draw(struct bar *b)
{
    char summary[TEXT_SIZE / 2], heading[TEXT_SIZE];
    const struct run_status *r = view_latest(&b->view);
    const double share = r->total ? (double)r->acknowledged / (double)r->total : 1;
    const int filled = (int)(share * BAR_WIDTH);
    view_summary(&b->view, summary, sizeof summary);
    (void)snprintf(heading, sizeof heading, "[%.*s%.*s] %s", filled,
                   "##############################", BAR_WIDTH - filled,
                   "..............................", summary);
    screen_draw(&b->screen, heading, &b->view);
}

void bar_show(struct bar *b, struct run_status *r, uint64_t now_ns)
{
    const bool last = r->known && r->acknowledged == r->total;
    if (!b->on || (!last && now_ns - b->shown_ns < INTERVAL_NS)) {
        run_status_free(r);
        return;
    }
    b->shown_ns = now_ns;
    view_take(&b->view, r, true);
    draw(b);
}

void bar_say(struct bar *b, const char *format, ...)
{
    va_list args;
    if (is_complete(b))
        bar_close(b);
    if (b->on)
        screen_clear(&b->screen);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    putc('\n', stderr);
    if (b->on && view_latest(&b->view))
        draw(b);
}

void bar_close(struct bar *b)
{
    screen_end(&b->screen);
    view_clear(&b->view);
    b->on = false;
}
