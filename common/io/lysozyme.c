#include "io/lysozyme.h"

#include <math.h>

#include "base/alloc.h"
#include "io/hkl.h"
#include "io/textfile.h"

/* The text as it lies beside this file, put into the program by the assembler. */
__asm__(".pushsection .rodata\n"
        ".global lysozyme_text_begin, lysozyme_text_end\n"
        ".hidden lysozyme_text_begin, lysozyme_text_end\n"
        "lysozyme_text_begin: .incbin \"common/io/lysozyme.hkl\"\n"
        "lysozyme_text_end:\n"
        ".popsection\n");
extern const char lysozyme_text_begin[], lysozyme_text_end[];

/* Rotation parts of P 21 21 21. */
static const int operators[4][9] = {
    {1, 0, 0, 0, 1, 0, 0, 0, 1},
    {-1, 0, 0, 0, -1, 0, 0, 0, 1},
    {1, 0, 0, 0, -1, 0, 0, 0, -1},
    {-1, 0, 0, 0, 1, 0, 0, 0, -1},
};

enum status lysozyme_table(double cell_A[3], double cell_rad[3], struct hkl_table *t,
                           struct error *e)
{
    static const double edges_A[3] = {59.062, 68.451, 30.517};
    for (int i = 0; i < 3; i++) {
        cell_A[i] = edges_A[i];
        cell_rad[i] = M_PI_2;
    }
    *t = (struct hkl_table){0};
    struct reflection *list = NULL;
    size_t n;
    struct text_file text;
    enum status s = text_copy(&text, "lysozyme.hkl", lysozyme_text_begin,
                              (size_t)(lysozyme_text_end - lysozyme_text_begin), e);
    if (s == STATUS_OK)
        s = hkl_read_list(&text, &list, &n, e);
    if (s == STATUS_OK)
        s = hkl_expand(list, n, operators, 4, true, 0.0, t, text.path, e);
    mem_free(list);
    text_close(&text);
    return s;
}
