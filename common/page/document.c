#include "page/document.h"

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
            fputc(k <= n ? digits[word >> (18 - 6 * k) & 63] : '=', out);
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
