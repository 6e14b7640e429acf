#include "page/plot.h"

#include <math.h>

/* Width and height of the whole plot, and edges of its frame, in SVG units. */
static const double WIDTH = 400, HEIGHT = 270, LEFT = 54, RIGHT = 376, TOP = 10, BOTTOM = 222;

enum { TICKS = 6 };  // approximate number of ticks that fit on an axis

static double share(const struct plot_axis *a, double v)
{
    if (!a->logarithmic)
        return (v - a->from) / (a->to - a->from);
    return v > 0.0 ? log(v / a->from) / log(a->to / a->from) : -INFINITY;
}

static double clamp(double v)
{
    return fmin(fmax(v, 0.0), 1.0);
}

static double at_x(const struct plot *p, double v)
{
    return LEFT + (RIGHT - LEFT) * clamp(share(&p->x, v));
}

static double at_y(const struct plot *p, double v)
{
    return BOTTOM - (BOTTOM - TOP) * clamp(share(&p->y, v));
}

/* Returns the distance between ticks: 1, 2 or 5 times a power of ten.  On a logarithmic axis it is
 * the ratio of neighbouring ticks, a power of ten. */
static double step_of(const struct plot_axis *a)
{
    if (a->logarithmic)
        return pow(10.0, fmax(1.0, ceil(log10(a->to / a->from) / TICKS)));
    const double rough = (a->to - a->from) / TICKS, power = pow(10.0, floor(log10(rough)));
    const double times = rough / power;
    return power * (times <= 1.0 ? 1 : times <= 2.0 ? 2 : times <= 5.0 ? 5 : 10);
}

static void tick(struct plot *p, bool along_x, double v)
{
    const double x = along_x ? at_x(p, v) : LEFT, y = along_x ? BOTTOM : at_y(p, v);
    fprintf(p->out, "<path class=\"grid\" d=\"M%.1f %.1f%c%.1f\"/>", x, y, along_x ? 'V' : 'H',
            along_x ? TOP : RIGHT);
    fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%.6g</text>\n", along_x ? x : x - 6,
            along_x ? y + 16 : y + 4, along_x ? "mid" : "end", v);
}

static void ticks(struct plot *p, bool along_x)
{
    const struct plot_axis *a = along_x ? &p->x : &p->y;
    const double step = step_of(a);
    if (a->logarithmic) {
        const double first = pow(10.0, ceil(log10(a->from) - 1e-9));
        for (double v = first; v <= a->to * (1 + 1e-9); v *= step)
            tick(p, along_x, v);
        return;
    }
    const double first = ceil(a->from / step - 1e-9), last = floor(a->to / step + 1e-9);
    for (double i = first; i <= last; i++)
        tick(p, along_x, i == 0.0 ? 0.0 : i * step);
}

void plot_begin(struct plot *p, FILE *out, const char *title, const struct plot_axis *x,
                const struct plot_axis *y)
{
    *p = (struct plot){out, *x, *y};
    fprintf(out, "<svg class=\"plot\" viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s\">\n",
            WIDTH, HEIGHT, title);
    ticks(p, true);
    ticks(p, false);
    fprintf(out, "<path class=\"axis\" d=\"M%g %gV%gH%g\"/>\n", LEFT, TOP, BOTTOM, RIGHT);
    fprintf(out, "<text x=\"%g\" y=\"%g\" class=\"mid\">%s</text>\n", (LEFT + RIGHT) / 2,
            HEIGHT - 10, x->label);
    fprintf(out, "<text transform=\"translate(14 %g)rotate(-90)\" class=\"mid\">%s</text>\n",
            (TOP + BOTTOM) / 2, y->label);
}

void plot_end(struct plot *p)
{
    fputs("</svg>\n", p->out);
}

void plot_bar(struct plot *p, double x0, double x1, double y, const char *note)
{
    const double left = at_x(p, x0) + 1, right = at_x(p, x1) - 1, top = at_y(p, y);
    fprintf(p->out,
            "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
            "<title>%s</title></rect>\n",
            left, top, fmax(right - left, 0.5), BOTTOM - top, note);
}

void plot_line(struct plot *p, double x0, double y0, double x1, double y1, const char *name)
{
    fprintf(p->out, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", name, at_x(p, x0),
            at_y(p, y0), at_x(p, x1), at_y(p, y1));
}

static bool inside(const struct plot_axis *a, double v)
{
    return share(a, v) >= 0.0 && share(a, v) <= 1.0;
}

size_t plot_dots(struct plot *p, const double (*at)[2], size_t n)
{
    size_t outside = 0;
    fputs("<path class=\"dots\" d=\"", p->out);
    for (size_t i = 0; i < n; i++) {
        const bool in = inside(&p->x, at[i][0]) && inside(&p->y, at[i][1]);
        outside += !in;
        if (in)
            fprintf(p->out, "M%.1f %.1fh0", at_x(p, at[i][0]), at_y(p, at[i][1]));
    }
    fputs("\"/>\n", p->out);
    return outside;
}
