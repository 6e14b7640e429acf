/* The structure factors of lysozyme, which braggpipe contains. */
#include "io/structure_factors/hkl.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

/* |F| in electrons of the reflections for which is_listed returns true, in ascending order of h,
 * then k, then l.  The assembler includes the file lysozyme.f32 (float32, little-endian) of this
 * folder in the program. */
__asm__(".pushsection .rodata\n"
        ".global lysozyme_F_begin, lysozyme_F_end\n"
        ".hidden lysozyme_F_begin, lysozyme_F_end\n"
        "lysozyme_F_begin: .incbin \"common/io/structure_factors/lysozyme.f32\"\n"
        "lysozyme_F_end:\n"
        ".popsection\n");
extern const char lysozyme_F_begin[], lysozyme_F_end[];

static const double EDGES_A[3] = {59.062, 68.451, 30.517};
static const double DMIN_A = 1.4;

/* Rotation parts of the operators of the space group P 21 21 21. */
static const int operators[4][9] = {
    {1, 0, 0, 0, 1, 0, 0, 0, 1},
    {-1, 0, 0, 0, -1, 0, 0, 0, 1},
    {1, 0, 0, 0, -1, 0, 0, 0, -1},
    {-1, 0, 0, 0, 1, 0, 0, 0, -1},
};

/* Returns true if the built-in table has this reflection.  The table has the reflections to 1.4 A
 * without negative indices, except 0 0 0 and the axial reflections that the screw axes
 * extinguish. */
static bool is_listed(const int hkl[3])
{
    double q_sqr = 0.0;
    int zeros = 0, odd = 0;
    for (int i = 0; i < 3; i++) {
        q_sqr += pow(hkl[i] / EDGES_A[i], 2.0);
        zeros += hkl[i] == 0;
        odd += hkl[i] % 2;
    }
    return q_sqr * DMIN_A * DMIN_A < 1.0 && zeros < 3 && !(zeros == 2 && odd);
}

/* Writes the reflections of the built-in table to list[], at most `room` of them.  Returns the
 * number of reflections in the table. */
static size_t list_reflections(struct reflection *list, size_t room)
{
    int end[3], hkl[3];
    size_t n = 0;
    for (int i = 0; i < 3; i++)
        end[i] = (int)(EDGES_A[i] / DMIN_A);
    for (hkl[0] = 0; hkl[0] <= end[0]; hkl[0]++)
        for (hkl[1] = 0; hkl[1] <= end[1]; hkl[1]++)
            for (hkl[2] = 0; hkl[2] <= end[2]; hkl[2]++) {
                float F;
                if (!is_listed(hkl))
                    continue;
                if (n < room) {
                    memcpy(&F, lysozyme_F_begin + n * sizeof F, sizeof F);
                    list[n].F = (double)F;
                    memcpy(list[n].hkl, hkl, sizeof hkl);
                }
                n++;
            }
    return n;
}

bool lysozyme_has_edges(const double cell_A[3])
{
    return memcmp(cell_A, EDGES_A, sizeof EDGES_A) == 0;
}

enum status lysozyme_table(double cell_A[3], double cell_rad[3], struct hkl_table *t,
                           struct error *e)
{
    const size_t count = (size_t)(lysozyme_F_end - lysozyme_F_begin) / sizeof(float);
    for (int i = 0; i < 3; i++) {
        cell_A[i] = EDGES_A[i];
        cell_rad[i] = M_PI_2;
    }
    *t = (struct hkl_table){0};
    struct reflection *list = mem_array(count, sizeof *list);
    enum status s = STATUS_OK;
    if (list_reflections(list, count) != count)
        s = error_set(e, STATUS_FAILED,
                      "the built-in table of lysozyme is corrupt; install the program again");
    if (s == STATUS_OK)
        s = hkl_expand(list, count, operators, 4, HKL_MATES_ALIKE, 0.0, t, "lysozyme", e);
    mem_free(list);
    return s;
}
