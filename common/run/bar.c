#include "run/bar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 };

void bar_open(struct bar *b, bool wanted)
{
    *b = (struct bar){.on = wanted && isatty(STDERR_FILENO)};
}

static void draw(struct bar *b)
{
    const uint64_t total = b->total ? b->total : 1;
    const int filled = (int)((double)b->frames / (double)total * BAR_WIDTH);
    fprintf(stderr, "\r[%.*s%.*s] %" PRIu64 " of %" PRIu64 " frames, %.1f/s", filled,
            "##############################", BAR_WIDTH - filled, "..............................",
            b->frames, b->total, b->rate);
    if (b->rate > 0) {
        const uint64_t left = (uint64_t)((double)(b->total - b->frames) / b->rate + 0.5);
        fprintf(stderr, ", %" PRIu64 ":%02" PRIu64 " left", left / 60, left % 60);
    }
    fputs("\033[K", stderr);
    b->shown = true;
}

bool bar_take(struct bar *b, const char *text)
{
    uint64_t frames, total;
    double rate;
    const char *colon = strchr(text, ':');
    if (!b->on || !colon ||
        sscanf(colon, ": frame %" SCNu64 " of %" SCNu64 ", %lf/s", &frames, &total, &rate) != 3 ||
        frames > total)
        return b->on && colon && strncmp(colon, ": frame ", 8) == 0 && strstr(colon, "/s ");
    b->frames = frames;
    b->total = total;
    b->rate = rate;
    draw(b);
    return true;
}

void bar_clear(struct bar *b)
{
    if (b->shown)
        fputs("\r\033[K", stderr);
    b->shown = false;
}

void bar_end(struct bar *b)
{
    if (b->shown)
        fputc('\n', stderr);
    b->shown = false;
}
