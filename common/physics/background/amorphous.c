#include "physics/background/amorphous.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "physics/constants.h"

/* Far enough for a straight line beyond the table; third powers must not overflow. */
static const double NEAR = 1e98, FAR = 1e99;

/* Largest believable sin(theta)/lambda and F: their products stay finite. */
static const double STOL_MAX_1_M = 1e14, F_MAX = 1e9;

static enum status check_rows(const double *stol_1_m, const double *F, size_t rows, struct error *e)
{
    if (rows == 0)
        return error_set(e, STATUS_INPUT, "the table of F against sin(theta)/lambda is empty");
    for (size_t i = 0; i < rows; i++) {
        if (!(fabs(stol_1_m[i]) <= STOL_MAX_1_M) || !(fabs(F[i]) <= F_MAX))
            return error_set(e, STATUS_INPUT, "row %zu of the table: %g %g is out of range", i + 1,
                             stol_1_m[i] * 1e-10, F[i]);
        if (i > 0 && !(stol_1_m[i] > stol_1_m[i - 1]))
            return error_set(e, STATUS_INPUT,
                             "row %zu of the table: sin(theta)/lambda %g must be greater than %g",
                             i + 1, stol_1_m[i] * 1e-10, stol_1_m[i - 1] * 1e-10);
    }
    return STATUS_OK;
}

enum status amorphous_make(struct amorphous *a, const double *stol_1_m, const double *F,
                           size_t rows, bool hold_ends, struct error *e)
{
    *a = (struct amorphous){.hold_ends = hold_ends};
    enum status status = check_rows(stol_1_m, F, rows, e);
    if (status)
        return status;
    const size_t count = rows + 2 * AMORPHOUS_PADDING;
    a->stol_1_m = mem_array(count, sizeof *a->stol_1_m);
    a->F = mem_array(count, sizeof *a->F);
    if (!a->stol_1_m || !a->F) {
        amorphous_free(a);
        return error_memory(e, "table of F against sin(theta)/lambda");
    }
    a->count = count;
    memcpy(a->stol_1_m + AMORPHOUS_PADDING, stol_1_m, rows * sizeof *stol_1_m);
    memcpy(a->F + AMORPHOUS_PADDING, F, rows * sizeof *F);
    a->stol_1_m[0] = -FAR;
    a->stol_1_m[1] = -NEAR;
    a->stol_1_m[count - 2] = NEAR;
    a->stol_1_m[count - 1] = FAR;
    a->F[0] = a->F[1] = F[0];
    a->F[count - 2] = a->F[count - 1] = F[rows - 1];
    return STATUS_OK;
}

void amorphous_free(struct amorphous *a)
{
    mem_free(a->stol_1_m);
    mem_free(a->F);
    *a = (struct amorphous){0};
}

double amorphous_molecules(const double size_m[3], double density_g_cm3, double mass_g_mol)
{
    const double density_g_m3 = density_g_cm3 * 1e6;
    return size_m[0] * size_m[1] * size_m[2] * density_g_m3 * AVOGADRO_1_MOL / mass_g_mol;
}
