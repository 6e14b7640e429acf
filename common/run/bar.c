#include "run/bar.h"

#include <stdio.h>
#include <unistd.h>

#include "run/find.h"

enum { LAST_WORDS = 10, LAST_WORD_MS = 20 };  // all processes have ended: they are near
enum { BAR_WIDTH = 28, TEXT_SIZE = 160 };
static const uint64_t ASK_NS = 500000000;

void bar_open(struct bar *b, bool wanted, const char *folder)
{
    *b = (struct bar){
        .on = wanted && isatty(STDERR_FILENO), .folder = folder, .screen = {.out = stderr}};
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

static void connect_source(struct bar *b)
{
    char endpoint[ENDPOINT_SIZE];
    struct error ignored;
    if (!find_in_folder(b->folder, endpoint))
        return;
    b->connected = watch_open(&b->watch, endpoint, NULL, false, &ignored) == STATUS_OK;
    if (!b->connected)
        watch_close(&b->watch);
    b->on = b->connected;
}

static void take(struct bar *b)
{
    struct run_status r;
    enum status ended;
    bool any = false;
    for (enum watch_got got; (got = watch_receive(&b->watch, &r, &ended)) != WATCH_NOTHING;)
        if (got == WATCH_STATUS) {
            view_take(&b->view, &r, true);
            any = true;
        } else {
            b->ended = true;
        }
    if (any)
        draw(b);
}

void bar_turn(struct bar *b, uint64_t now_ns)
{
    if (b->on && !b->connected)
        connect_source(b);
    if (!b->connected)
        return;
    take(b);
    if (now_ns - b->asked_ns < ASK_NS)
        return;
    b->asked_ns = now_ns;
    watch_ask(&b->watch);
}

void bar_clear(struct bar *b)
{
    screen_clear(&b->screen);
}

void bar_close(struct bar *b)
{
    if (b->connected) {
        take(b);
        for (int i = 0; i < LAST_WORDS && !b->ended; i++) {
            watch_wait(&b->watch, -1, LAST_WORD_MS);
            take(b);
        }
        watch_close(&b->watch);
    }
    screen_end(&b->screen);
    view_clear(&b->view);
    b->on = b->connected = false;
}
