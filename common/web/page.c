#include "web/page.h"

#include <string.h>

/* The assembler puts the files of the folder page/ into the program. */
#define EMBED(symbol, file)                                                 \
    __asm__(".pushsection .rodata\n"                                        \
            ".global web_" #symbol "_begin, web_" #symbol "_end\n"          \
            ".hidden web_" #symbol "_begin, web_" #symbol "_end\n"          \
            "web_" #symbol "_begin: .incbin \"common/web/page/" file "\"\n" \
            "web_" #symbol "_end:\n"                                        \
            ".popsection\n");                                               \
    extern const char web_##symbol##_begin[], web_##symbol##_end[]

EMBED(index, "index.html");
EMBED(style, "style.css");
EMBED(main, "main.js");
EMBED(link, "link.js");
EMBED(image, "image.js");
EMBED(colors, "colors.js");
EMBED(geometry, "geometry.js");
EMBED(marks, "marks.js");
EMBED(pointer, "pointer.js");
EMBED(pipeline, "pipeline.js");
EMBED(strip, "strip.js");

#define SCRIPT(symbol)                                                                 \
    {                                                                                  \
        "/" #symbol ".js", "text/javascript", web_##symbol##_begin, web_##symbol##_end \
    }

static const struct web_file files[] = {
    {"/", "text/html; charset=utf-8", web_index_begin, web_index_end},
    {"/style.css", "text/css", web_style_begin, web_style_end},
    SCRIPT(main),
    SCRIPT(link),
    SCRIPT(image),
    SCRIPT(colors),
    SCRIPT(geometry),
    SCRIPT(marks),
    SCRIPT(pointer),
    SCRIPT(pipeline),
    SCRIPT(strip),
};

const struct web_file *web_page_find(const char *path)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}
