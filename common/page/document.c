#include "page/document.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/files.h"

/* The style sheet of all pages: a light and a dark style, and a single column on a telephone. */
static const char style[] =
    ":root{color-scheme:light dark;--back:#fbfbfa;--card:#fff;--ink:#1d2126;--soft:#5b6470;"
    "--line:#d9dde2;--bar:#2f6fb3;--warn:#9a4b00;--warnback:#fff3e2;--ok:#0a7f4f;--bad:#c2371f}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#15181c;--card:#1e2227;--ink:#e8eaed;"
    "--soft:#a4adb8;--line:#3a4149;--bar:#6aa9ea;--warn:#ffc782;--warnback:#35291a;--ok:#3ecf8e;"
    "--bad:#ff7a5c}.frame image{filter:invert(1)}}\n"
    "*{box-sizing:border-box}body{margin:0 auto;padding:1rem;max-width:68rem;background:var(--back)"
    ";color:var(--ink);font:16px/1.45 system-ui,sans-serif}\n"
    "h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.2rem;margin:2rem 0 .6rem}"
    "h3{font-size:1rem;margin:0 0 .3rem}p{margin:.3rem 0}.soft{color:var(--soft);font-size:.875rem}"
    "\n.grid2,.grid3{display:grid;gap:.8rem}.card{background:var(--card);border:1px solid "
    "var(--line);border-radius:.5rem;padding:.8rem;min-width:0}body>.card,details>.card,details>"
    ".grid2{margin:.8rem 0}\n"
    "@media(min-width:34rem){.grid3{grid-template-columns:1fr 1fr}}"
    "@media(min-width:48rem){.grid2{grid-template-columns:1fr 1fr}.grid3{grid-template-columns:"
    "1fr 1fr 1fr}.grid2>.card:last-child:nth-child(odd){grid-column:1/-1;display:grid;"
    "grid-template-columns:1fr 1fr;column-gap:1.6rem;align-content:start;align-items:start}"
    ".grid2>.card:last-child:nth-child(odd)>h3{grid-column:1/-1}}\n"
    "summary{cursor:pointer;color:var(--bar);margin:.6rem 0}\n"
    "table{border-collapse:collapse;width:100%;margin-top:.5rem;font-size:.9rem}"
    "td{padding:.15rem 0;border-top:1px solid var(--line)}"
    "td:last-child{text-align:right;font-variant-numeric:tabular-nums}"
    ".absent{color:var(--soft);font-style:italic}\n"
    ".names{overflow-wrap:anywhere}.notes{list-style:none;padding:0}.notes li{color:var(--warn);"
    "background:var(--warnback);border-radius:.4rem;padding:.4rem .7rem;margin:.3rem 0}\n"
    "svg{width:100%;height:auto;display:block}.plot text{fill:var(--soft);font-size:12px}"
    ".mid{text-anchor:middle}.end{text-anchor:end}.plot path{fill:none}.plot .grid{stroke:"
    "var(--line);stroke-width:.7}.plot "
    ".axis{stroke:var(--soft)}.bar{fill:var(--bar)}.other{fill:var(--bar);opacity:.45}"
    ".plot .dots{stroke:var(--bar);stroke-width:2.6;stroke-linecap:round;opacity:.55}"
    ".plot .precision{stroke:var(--ok);stroke-width:2.5}.plot "
    ".wanted{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:5 3}\n"
    ".frame path{fill:none;stroke-width:1.4;vector-effect:non-scaling-stroke}.right{stroke:"
    "var(--ok)}.missed{stroke:var(--bad)}.wrong{stroke:var(--bar)}.frame .edge{stroke:var(--line)}"
    ".frame svg:hover path{opacity:.12}figure{margin:0}img{width:100%;height:auto;display:block;"
    "background:#fff}pre{overflow-x:auto;font-size:.8rem;white-space:pre-wrap;overflow-wrap:"
    "anywhere}"
    ".shares{display:flex;height:.9rem;min-width:6rem;background:var(--line);border-radius:.2rem;"
    "overflow:hidden}.shares i{display:block}.compute{background:var(--bar)}.input{background:"
    "var(--ok)}.output{background:var(--bad)}.wide{overflow-x:auto}th{text-align:left;font-weight:"
    "600;padding-right:.6rem}.wide td,.wide "
    "th{padding-right:.8rem;white-space:nowrap;text-align:right}.wide th:first-child,"
    ".wide td:last-child,.wide th:last-child{text-align:left}.wide .shares{min-width:9rem}\n"
    "@media(max-width:34rem){.wide tr:first-child{display:none}.wide tr{display:grid;"
    "grid-template-columns:1fr 1fr;column-gap:1rem;padding:.5rem 0;border-top:1px solid "
    "var(--line)}.wide tr>*{display:flex;justify-content:space-between;gap:.6rem;border:0;"
    "white-space:normal;padding:0}.wide tr>th:first-child,.wide tr>.full{grid-column:1/-1}"
    ".wide tr>th:first-child:has(+.unit){grid-column:1}.wide tr>td:last-child{grid-column:1/-1}"
    ".wide .full .shares{flex:1}.wide td:empty{display:none}.wide "
    "td[data-name]::before{content:attr(data-name);"
    "color:var(--soft);text-align:left}}\n"
    ".key{display:inline-block;width:1.1em;height:1.1em;vertical-align:-.2em}\n";

enum status document_check(const char *path, struct error *e)
{
    char first[1024] = "";
    struct stat st;
    enum status s = target_check(path, e);
    if (s == STATUS_OK)
        s = target_check_link(path, e);
    if (s || stat(path, &st) || !S_ISREG(st.st_mode))
        return s;
    FILE *in = fopen(path, "rbe");
    if (!in)
        return STATUS_OK;
    const size_t got = fread(first, 1, sizeof first - 1, in);
    (void)fclose(in);
    return got == 0 || strstr(first, "content=\"braggpipe\"")
               ? STATUS_OK
               : error_set(e, STATUS_FAILED,
                           "%s exists and is not a page of braggpipe. Give another name", path);
}

/* --- the content of a page ---------------------------------------------------------------- */

/* Returns the number of bytes of the UTF-8 character that begins at `s`.  Returns 0 if `s` is not
 * valid UTF-8. */
static size_t utf8_length(const unsigned char *s)
{
    const size_t n = s[0] < 0x80                    ? 1
                     : s[0] >= 0xc2 && s[0] < 0xe0  ? 2
                     : s[0] >= 0xe0 && s[0] < 0xf0  ? 3
                     : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                                    : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    const unsigned second = n > 2 ? s[1] : 0;
    const int overlong = (s[0] == 0xe0 && second < 0xa0) || (s[0] == 0xf0 && second < 0x90);
    const int beyond = (s[0] == 0xed && second > 0x9f) || (s[0] == 0xf4 && second > 0x8f);
    return n > 2 && (overlong || beyond) ? 0 : n;
}

void html_text(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        const size_t n = utf8_length(at);
        if (n == 1 && strchr("&<>\"'`", *at))
            fprintf(out, "&#%d;", *at);
        else if (!n || *at < ' ' || *at == 0x7f)
            fputs("&#65533;", out);
        else
            fwrite(at, 1, n, out);
        at += n ? n : 1;
    }
}

void html_lines(FILE *out, const char *text)
{
    while (*text) {
        char piece[256];
        const size_t length = strcspn(text, "\n\t\r");
        const size_t n = length < sizeof piece - 4 ? length : sizeof piece - 4;
        /* A piece must not end inside a character.  After its end at most 3 bytes belong to the
         * same character. */
        size_t end = n;
        while (end < length && end < n + 3 && ((unsigned char)text[end] & 0xc0) == 0x80)
            end++;
        memcpy(piece, text, end);
        piece[end] = 0;
        html_text(out, piece);
        text += end;
        if (end == length && *text) {
            fputs(*text == '\n' ? "\n" : *text == '\t' ? " " : "", out);
            text++;
        }
    }
}

void html_base64(FILE *out, const void *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i += 3) {
        const size_t n = size - i < 3 ? size - i : 3;
        uint32_t word = (uint32_t)bytes[i] << 16;
        word |= n > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        word |= n > 2 ? bytes[i + 2] : 0;
        for (size_t k = 0; k < 4; k++)
            putc_unlocked(k <= n ? digits[word >> (18 - 6 * k) & 63] : '=', out);
    }
}

void document_begin(FILE *out, const char *title)
{
    fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "img-src data:; style-src 'unsafe-inline'\">\n"
                 "<meta name=\"generator\" "
                 "content=\"braggpipe\">\n<title>");
    html_text(out, title);
    fprintf(out, "</title>\n<style>\n%s</style></head><body>\n<h1 class=\"names\">", style);
    html_text(out, title);
    fputs("</h1>\n", out);
}

void document_end(FILE *out)
{
    fputs("</body></html>\n", out);
}

/* --- plots ------------------------------------------------------------------ */

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

static bool axis_has(const struct plot_axis *a, double v)
{
    return share(a, v) >= 0.0 && share(a, v) <= 1.0;
}

size_t plot_dots(struct plot *p, const double (*at)[2], size_t n)
{
    size_t outside = 0;
    fputs("<path class=\"dots\" d=\"", p->out);
    for (size_t i = 0; i < n; i++) {
        const bool in = axis_has(&p->x, at[i][0]) && axis_has(&p->y, at[i][1]);
        outside += !in;
        if (in)
            fprintf(p->out, "M%.1f %.1fh0", at_x(p, at[i][0]), at_y(p, at[i][1]));
    }
    fputs("\"/>\n", p->out);
    return outside;
}
