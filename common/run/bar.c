#include "run/bar.h"

#include <stdio.h>
#include <unistd.h>

enum { BAR_WIDTH = 28, TEXT_SIZE = 160 };

void bar_open(struct bar *b, bool wanted)
{
    *b = (struct bar){.on = wanted && isatty(STDERR_FILENO), .screen = {.out = stderr}};
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

void bar_show(struct bar *b, struct run_status *r)
{
    if (!b->on) {
        run_status_free(r);
        return;
    }
    view_take(&b->view, r, true);
    draw(b);
}

void bar_clear(struct bar *b)
{
    screen_clear(&b->screen);
}

void bar_close(struct bar *b)
{
    screen_end(&b->screen);
    view_clear(&b->view);
    b->on = false;
}
