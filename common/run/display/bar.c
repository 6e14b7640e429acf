/* The progress bar of bragg-run. */
#include "run/display/bar.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

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
