/* Messages to CrystFEL: packed frames, the ground truth, and cell files. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/delivery.h"
#include "gateway/protocol.h"
#include "gateway_image.h"
#include "io/crystfel/geom.h"
#include "wire/msgpack.h"

static void crystfel_has_one_part(void **state)
{
    (void)state;
    struct content_options o = {.peaks = 0};
    struct message m = {0};
    struct error e;
    const int32_t counts[FAST * SLOW] = {-1, 2, 3, 4, 5, 6};
    const struct experiment x = {.npanels = 1,
                                 .panels = &panel,
                                 .beam.wavelength_m = 1e-10,
                                 .pulse_ids = {.facility = FACILITY_SACLA, .first = 50, .step = 2}};
    struct frame f = {
        .recipe.id = 7,
        .image = {.type = PIXEL_I32, .count = FAST * SLOW, .pixels = (void *)(uintptr_t)counts}};
    assert_int_equal(protocol_settle(&protocol_crystfel, &o, &e), STATUS_OK);
    assert_int_equal(protocol_message(&protocol_crystfel, &o, &x, &f, 1, NULL, &m, &e), STATUS_OK);
    assert_int_equal(m.nparts, 1);
    const char *end = (const char *)m.parts[0].data + m.parts[0].size - sizeof counts;
    assert_memory_equal(end, counts, sizeof counts);
    assert_non_null(memmem(m.parts[0].data, m.parts[0].size, "\xa3tag\x40", 5));  // 50 + 2 x 7
    message_free(&m);
    f.image = (struct image){.type = PIXEL_U16, .count = FAST * SLOW, .pixels = pixels};
    assert_int_equal(protocol_message(&protocol_crystfel, &o, &x, &f, 1, NULL, &m, &e),
                     STATUS_INPUT);
    assert_non_null(strstr(e.text, "does not support pixels of type uint16"));
    message_free(&m);
}

/* The number behind a key of a packed map, a float of 64 bits. */
static double packed_real(const struct message *m, const char *key)
{
    const size_t length = strlen(key);
    const unsigned char *at = m->parts[0].data, *end = at + m->parts[0].size - length - 9;
    while (at < end && memcmp(at, key, length) != 0)
        at++;
    assert_true(at < end && at[-1] == (0xa0 | length) && at[length] == 0xcb);
    uint64_t bits = 0;
    for (int i = 1; i <= 8; i++)
        bits = bits << 8 | at[length + (size_t)i];
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The axes in 1/nm, in the other lab. */
static void crystfel_may_get_the_truth(void **state)
{
    (void)state;
    struct content_options o = {.truth = true, .lab = {0, 0, 1, 0, -1, 0, 1, 0, 0}};
    struct message m = {0};
    struct error e;
    const int32_t counts[FAST * SLOW] = {0};
    struct crystal crystal = {.has_cell = true,
                              .cell_A = {50, 60, 70},
                              .cell_rad = {M_PI / 2, M_PI / 2, 100 * M_PI / 180}};
    struct lattice lattice = {.reciprocal_A = {.01, .02, .03, .04, .05, .06, .07, .08, .09}};
    const struct experiment x = {.npanels = 1,
                                 .panels = &panel,
                                 .ncrystals = 1,
                                 .crystals = &crystal,
                                 .beam.wavelength_m = 1e-10};
    struct frame f = {
        .recipe = {.id = 7, .nlattices = 1, .lattices = &lattice},
        .image = {.type = PIXEL_I32, .count = FAST * SLOW, .pixels = (void *)(uintptr_t)counts}};
    assert_int_equal(protocol_settle(&protocol_crystfel, &o, &e), STATUS_OK);
    assert_int_equal(protocol_message(&protocol_crystfel, &o, &x, &f, 1, NULL, &m, &e), STATUS_OK);
    assert_true(fabs(packed_real(&m, "astar_x") - 0.3) < 1e-12);
    assert_true(fabs(packed_real(&m, "astar_y") + 0.2) < 1e-12);
    assert_true(fabs(packed_real(&m, "bstar_z") - 0.4) < 1e-12);
    assert_true(fabs(packed_real(&m, "cstar_x") - 0.9) < 1e-12);
    assert_true(fabs(packed_real(&m, "cell_length_c") - 70) < 1e-12);
    assert_true(fabs(packed_real(&m, "cell_angle_gamma") - 100) < 1e-12);
    message_free(&m);
    f.recipe.nlattices = 0;
    assert_int_equal(protocol_message(&protocol_crystfel, &o, &x, &f, 1, NULL, &m, &e), STATUS_OK);
    assert_true(packed_real(&m, "astar_x") == 0 && packed_real(&m, "cell_length_a") == 0);
    message_free(&m);
}

static void cell_is(const double a[3], const double deg[3], const char *lines)
{
    struct crystal c = {.has_cell = true};
    for (int i = 0; i < 3; i++) {
        c.cell_A[i] = a[i];
        c.cell_rad[i] = deg[i] * M_PI / 180;
    }
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(crystfel_write_cell(out, &c, NULL), STATUS_OK);
    (void)fclose(out);
    if (!strstr(text, lines))
        fail_msg("'%s' is not in: %s", lines, text);
    free(text);
}

static void cell_files_name_the_lattice(void **state)
{
    (void)state;
    const double right[3] = {90, 90, 90};
    cell_is((const double[]){79, 79, 79}, right, "lattice_type = cubic\ncentering = P\n\n");
    cell_is((const double[]){79, 79, 38}, right, "= tetragonal\ncentering = P\nunique_axis = c\n");
    cell_is((const double[]){38, 79, 79}, right, "= tetragonal\ncentering = P\nunique_axis = a\n");
    cell_is((const double[]){59, 68, 30}, right, "= orthorhombic\ncentering = P\n\n");
    cell_is((const double[]){9, 9, 30}, (const double[]){90, 90, 120},
            "= hexagonal\ncentering = P\nunique_axis = c\n");
    cell_is((const double[]){9, 8, 30}, (const double[]){90, 97, 90},
            "= monoclinic\ncentering = P\nunique_axis = b\n");
    cell_is((const double[]){9, 9, 9}, (const double[]){80, 80, 80},
            "= rhombohedral\ncentering = R\n");
    cell_is((const double[]){7, 8, 9}, (const double[]){80, 85, 95},
            "= triclinic\ncentering = P\n\n");
    assert_int_equal(crystfel_write_cell(stdout, &(struct crystal){0}, NULL), STATUS_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crystfel_has_one_part),
        cmocka_unit_test(crystfel_may_get_the_truth),
        cmocka_unit_test(cell_files_name_the_lattice),
    };
    return unit_run(tests);
}
