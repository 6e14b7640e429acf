/* Draws a short interval of a run as SVG, from the traces of its processes. */
#include "run/display/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "run/display/stats.h"

/* Size of a row in SVG units; number of frames that the interval should contain. */
static const double WIDTH = 900, LEFT = 130, ROW = 18, BAR = 12, FRAMES = 10;
enum { LINE_BYTES = 512, SPANS_MAX = 4000, NAME_SHOWN = 18 };

/* Work of a process, in us on the common clock. */
struct span {
    double from_us, to_us, frame;
    char name[12];
};

static bool take_span(const char *line, struct span *s)
{
    const char *name = strstr(line, "\"name\":\"");
    if (!name || !strstr(line, "\"ph\":\"X\""))
        return false;
    name += strlen("\"name\":\"");
    (void)snprintf(s->name, sizeof s->name, "%.*s", (int)strcspn(name, "\""), name);
    s->from_us = stats_value(line, "ts");
    s->to_us = s->from_us + stats_value(line, "dur");
    s->frame = stats_value(line, "frame");
    return true;
}

static FILE *open_trace(const char *folder, const struct process *p)
{
    char *path = command_file(folder, p->command->name, "trace");
    FILE *in = path ? fopen(path, "re") : NULL;
    mem_free(path);
    return in;
}

/* A time in which all processes that compute frames were working, and which all traces still
 * contain: a trace keeps only the last spans.  `rate` is that of the fastest process, in frames/us.
 */
struct extent {
    double from_us, to_us, rate;
};

static struct extent extent_of(FILE *in)
{
    char line[LINE_BYTES];
    struct extent x = {INFINITY, -INFINITY, 0};
    struct span s;
    double frames = 0;
    while (fgets(line, sizeof line, in))
        if (take_span(line, &s) && strcmp(s.name, "compute") == 0) {
            x.from_us = fmin(x.from_us, s.from_us);
            x.to_us = fmax(x.to_us, s.to_us);
            frames++;
        }
    x.rate = x.to_us > x.from_us ? frames / (x.to_us - x.from_us) : 0;
    return x;
}

static struct extent common_extent(const char *folder, const struct process *processes,
                                   size_t count)
{
    struct extent all = {-INFINITY, INFINITY, 0};
    for (size_t i = 0; i < count; i++) {
        FILE *in = open_trace(folder, &processes[i]);
        const struct extent x = in ? extent_of(in) : (struct extent){0};
        if (in)
            (void)fclose(in);
        if (!(x.rate > 0))
            continue;
        all.from_us = fmax(all.from_us, x.from_us);
        all.to_us = fmin(all.to_us, x.to_us);
        all.rate = fmax(all.rate, x.rate);
    }
    return all;
}

static void write_row(FILE *out, FILE *in, const char *name, double y, double from_us, double to_us)
{
    char line[LINE_BYTES];
    struct span s;
    int spans = 0;
    fprintf(out, "<text x=\"%g\" y=\"%g\" class=\"end\">%.*s</text>\n", LEFT - 8, y + BAR - 2,
            NAME_SHOWN, name);
    while (fgets(line, sizeof line, in) && spans < SPANS_MAX) {
        if (!take_span(line, &s) || s.to_us < from_us || s.from_us > to_us ||
            strcmp(s.name, "wait") == 0)
            continue;
        const double scale = (WIDTH - LEFT) / (to_us - from_us);
        const double x0 = LEFT + (fmax(s.from_us, from_us) - from_us) * scale,
                     x1 = LEFT + (fmin(s.to_us, to_us) - from_us) * scale;
        const char *class = strcmp(s.name, "compute") == 0 ? "bar" : "other";
        fprintf(out,
                "<rect class=\"%s\" x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"%g\"><title>%s, "
                "frame %.0f: %.3g ms</title></rect>\n",
                class, x0, y, fmax(x1 - x0, 0.4), BAR, s.name, s.frame,
                (s.to_us - s.from_us) / 1e3);
        spans++;
    }
}

void timeline_write(FILE *out, const char *folder, const struct process *processes, size_t count)
{
    const struct extent all = common_extent(folder, processes, count);
    if (!(all.rate > 0) || !(all.to_us > all.from_us))
        return;
    const double middle_us = 0.5 * (all.from_us + all.to_us),
                 half_us = 0.5 * fmin(all.to_us - all.from_us, FRAMES / all.rate);
    fprintf(out,
            "<div class=\"card wide\"><h3>Timeline of the processes</h3>\n<svg class=\"plot\" "
            "viewBox=\"0 0 "
            "%g %g\" role=\"img\" aria-label=\"Work of each process over %.3g ms\">\n",
            WIDTH, ROW * (double)count, 2 * half_us / 1e3);
    size_t row = 0;
    for (size_t i = 0; i < count; i++) {
        FILE *in = open_trace(folder, &processes[i]);
        if (!in)
            continue;
        write_row(out, in, processes[i].command->name, ROW * (double)row++, middle_us - half_us,
                  middle_us + half_us);
        (void)fclose(in);
    }
    fprintf(
        out,
        "</svg>\n<p class=\"soft\">%.3g ms of the run. Dark: computing. Light: receiving and "
        "sending. bragg-run --trace=FILE records the whole run for ui.perfetto.dev.</p></div>\n",
        2 * half_us / 1e3);
}
