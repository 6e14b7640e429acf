/* NXmx: round trips of compressed images, panels, masks, and the tables of frames. */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "base/vec.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_layout.h"
#include "io/nxmx/nxmx_series.h"
#include "io/nxmx/nxmx_spool.h"
#include "near.h"
#include "scratch.h"

enum { FAST = 40, SLOW = 30, GAP = 7, COUNT = FAST * (SLOW + SLOW + GAP), FRAMES = 5 };

/* Two panels one below the other; MOSFLM's convention. */
static uint8_t mask[FAST * SLOW];
static struct panel panels[2];
static struct lattice lattices[2];
static struct experiment experiment = {.npanels = 2,
                                       .panels = panels,
                                       .saturation = 60000,
                                       .spindle = {0, 0, 1},
                                       .beam = {.direction = {1, 0, 0}, .wavelength_m = 1.1e-10}};

static int set_up(void **state)
{
    for (int i = 0; i < 2; i++) {
        panels[i] = (struct panel){.fast_pixels = FAST,
                                   .slow_pixels = i ? SLOW + GAP : SLOW,
                                   .roi = {.fast_max = FAST - 1, .slow_max = SLOW + GAP - 1},
                                   .first_pixel = i * FAST * SLOW,
                                   .pixel_m = 1e-4,
                                   .fast = {0, 0, 1},
                                   .slow = {0, -1, 0},
                                   .origin_m = {0.2, 0.003 - 0.004 * i, -0.002},
                                   .distance_m = 0.2};
        lattices[i] = (struct lattice){.weight = 1.0 - 0.5 * i,
                                       .rotation = {0, -1, 0, 1, 0, 0, 0, 0, 1},
                                       .reciprocal_A = {0.01, 0, 0, 0, 0.02, 0, 0, 0, 0.03}};
    }
    memset(mask, 1, sizeof mask);
    mask[3] = 0;
    panels[0].mask = mask;
    return scratch_enter(state);
}

static struct frame make_frame(uint64_t id)
{
    struct frame f = {.recipe = {.id = id, .seed = 7, .nlattices = id % 3, .lattices = lattices}};
    f.recipe.phi_rad = deg_to_rad(0.5 * (double)id);
    f.recipe.osc_rad = deg_to_rad(0.5);
    assert_true(image_reserve(&f.image, PIXEL_U16, UNIT_ADU, COUNT));
    for (size_t i = 0; i < COUNT; i++)
        ((uint16_t *)f.image.pixels)[i] = (uint16_t)(i * i % 97 + id);
    return f;
}

static bool is_there(const char *master, const char *end)
{
    char path[512];
    const char *dot = strrchr(master, '.'), *bar = strstr(master, "_master");
    (void)snprintf(path, sizeof path, "%.*s%s", (int)((bar ? bar : dot) - master), master, end);
    return access(path, F_OK) == 0;
}

static enum status count_entered(void *count, const struct nxmx_note *note, struct error *e)
{
    (void)e;
    assert_int_equal(note->crc, 7 * note->id);
    ++*(int *)count;
    return STATUS_OK;
}

/* A series of FRAMES frames, in the order 3 0 4 1 2, two a file. */
static void make_series(const char *master, enum nxmx_compression compression)
{
    static const uint64_t order[FRAMES] = {3, 0, 4, 1, 2};
    static const int entered_then[FRAMES] = {0, 0, 0, 2, 4};
    struct nxmx_series s;
    int entered = 0;
    const struct nxmx_settings settings = {
        .lineage = "0123456789abcdef", .enter = count_entered, .owner = &entered};
    assert_int_equal(nxmx_series_open(&s, master, NULL), STATUS_OK);
    s.frames_per_file = 2;
    s.compression = compression;
    assert_int_equal(nxmx_series_begin(&s, &experiment, &settings, NULL), STATUS_OK);
    for (int i = 0; i < FRAMES; i++) {
        struct frame f = make_frame(order[i]);
        const struct nxmx_note note = {.id = order[i], .crc = 7 * (uint32_t)order[i]};
        assert_int_equal(nxmx_series_pack(&s, &f, NULL), STATUS_OK);
        assert_int_equal(nxmx_series_keep(&s, &f, &note, NULL), STATUS_OK);
        assert_int_equal(nxmx_series_settle(&s, NULL), STATUS_OK);
        image_free(&f.image);
        assert_int_equal(entered, entered_then[i]);
        assert_int_equal(is_there(master, "_data_000001.h5"), i >= 3);
        assert_int_equal(is_there(master, "_data_000001.h5.part"), i == 1 || i == 2);
    }
    assert_int_equal(nxmx_series_end(&s, NULL), STATUS_OK);
    assert_int_equal(entered, FRAMES);
    nxmx_series_close(&s);
}

/* Undoes what a filter did. */
static void unpack(enum nxmx_compression compression, const struct nxmx_chunk *chunk,
                   uint16_t *pixels)
{
    struct image image = {.type = PIXEL_U16, .count = COUNT, .pixels = pixels};
    struct nxmx_chunk half = *chunk;
    assert_int_equal(nxmx_unpack(compression, chunk, &image, NULL), STATUS_OK);
    half.length /= 2;
    assert_int_equal(nxmx_unpack(compression, &half, &image, NULL), STATUS_INPUT);
    image.count--;
    assert_int_equal(nxmx_unpack(compression, chunk, &image, NULL), STATUS_INPUT);
}

static void check_pixels(const uint16_t *pixels, uint64_t id)
{
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(pixels[i], i * i % 97 + id);
}

static void images_come_back_in_order(void **state)
{
    (void)state;
    static const enum nxmx_compression all[] = {NXMX_BSLZ4, NXMX_LZ4, NXMX_GZIP, NXMX_NONE};
    for (int c = 0; c < 4; c++) {
        char master[512];
        const struct nxmx_kind kind = {.experiment = &experiment,
                                       .type = PIXEL_U16,
                                       .compression = all[c],
                                       .lineage = "0123456789abcdef"};
        static uint16_t pixels[COUNT];
        (void)snprintf(master, sizeof master, "%s", scratch_path("a_master.h5"));
        make_series(master, all[c]);
        for (uint64_t file = 0; file < 3; file++) {
            char name[64];
            struct nxmx_file *opened;
            struct nxmx_rows rows;
            struct nxmx_chunk chunk = {0};
            struct reflection_table none = {0};
            (void)snprintf(name, sizeof name, "a_data_%06d.h5", (int)file + 1);
            assert_int_equal(nxmx_open(scratch_path(name), &kind, &opened, &rows, NULL), STATUS_OK);
            assert_int_equal(rows.nframes, file < 2 ? 2 : 1);
            for (size_t i = 0; i < rows.nframes; i++) {
                assert_int_equal(rows.frames[i].number, 2 * file + i);
                assert_int_equal(
                    nxmx_read(opened, &rows, rows.frames[i].number, &chunk, &none, NULL),
                    STATUS_OK);
                unpack(all[c], &chunk, pixels);
                check_pixels(pixels, 2 * file + i);
            }
            nxmx_chunk_free(&chunk);
            nxmx_close(opened);
            nxmx_rows_free(&rows);
            unlink(scratch_path(name));
        }
        unlink(master);
        assert_int_equal(scratch_count(), 0);
    }
}

/* An image that came packed is borrowed, if the files have the same compression. */
static void packed_images_are_not_packed_again(void **state)
{
    (void)state;
    static const uint8_t packed[] = "stands for a chunk";
    struct frame f = make_frame(1);
    struct nxmx_chunk chunk = {0};
    f.image.chunk = packed;
    f.image.chunk_bytes = sizeof packed;
    for (int c = NXMX_BSLZ4; c <= NXMX_NONE; c++) {
        assert_int_equal(nxmx_pack((enum nxmx_compression)c, &f.image, &chunk, NULL), STATUS_OK);
        assert_true((chunk.bytes == packed) == (c == NXMX_BSLZ4));
        assert_true((chunk.length == sizeof packed) == (c == NXMX_BSLZ4));
    }
    nxmx_chunk_free(&chunk);
    image_free(&f.image);
}

static void read_reals(const struct hdf5_file *f, const char *path, double *values)
{
    const hid_t data = H5Dopen2(f->id, path, H5P_DEFAULT);
    assert_true(data >= 0);
    assert_true(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    (void)H5Dclose(data);
}

static void read_vector(const struct hdf5_file *f, const char *path, double v[3])
{
    const hid_t note = H5Aopen_by_name(f->id, path, "vector", H5P_DEFAULT, H5P_DEFAULT);
    assert_true(note >= 0 && H5Aread(note, H5T_NATIVE_DOUBLE, v) >= 0);
    (void)H5Aclose(note);
}

#define DETECTOR "/entry/instrument/detector"

/* gzip and plain pixels by HDF5 itself through the master, then panels and mask. */
static void panels_are_modules(void **state)
{
    (void)state;
    struct hdf5_file f;
    static uint16_t pixels[FRAMES][COUNT];
    static uint32_t bad[COUNT];
    double length, v[3], omega[FRAMES];
    char master[512];
    (void)snprintf(master, sizeof master, "%s", scratch_path("b.nxs"));
    make_series(master, NXMX_GZIP);
    assert_int_equal(hdf5_open(&f, master, nxmx_try, NULL), STATUS_OK);
    hid_t data = H5Dopen2(f.id, "/entry/data/data", H5P_DEFAULT);
    assert_true(H5Dread(data, H5T_STD_U16LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels) >= 0);
    (void)H5Dclose(data);
    for (uint64_t i = 0; i < FRAMES; i++)
        check_pixels(pixels[i], i);
    data = H5Dopen2(f.id, DETECTOR "/pixel_mask", H5P_DEFAULT);
    assert_true(H5Dread(data, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, bad) >= 0);
    (void)H5Dclose(data);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(bad[i], i == 3);
    for (int i = 0; i < 2; i++) {  // (x, y, z) is (-z, y, x), and z goes to det_z
        const char *path =
            i ? DETECTOR "/module_001/module_offset" : DETECTOR "/module_000/module_offset";
        read_reals(&f, path, &length);
        read_vector(&f, path, v);
        assert_near(length * v[0], 0.002, 1e-12);
        assert_near(length * v[1], 0.003 - 0.004 * i, 1e-12);
        assert_near(length * v[2], 0.0, 1e-12);
    }
    read_vector(&f, DETECTOR "/module_001/fast_pixel_direction", v);
    assert_near(v[0], -1.0, 1e-12);
    read_reals(&f, "/entry/sample/transformations/omega", omega);
    for (int i = 0; i < FRAMES; i++)
        assert_near(omega[i], 0.5 * i, 1e-12);
    hdf5_abort(&f);
}

/* A sensor that is caught in its front plane has no depth: readers would correct for one. */
static void a_sensor_is_as_thick_as_its_parallax(void **state)
{
    (void)state;
    static const struct {
        const char *name, *material;
        int layers;
        double layer_depth_m, thickness_m;
    } rows[] = {{"d.nxs", "", 1, 0, 1e-9},
                {"e.nxs", "CdTe", 1, 1e-4, 320e-6},
                {"f.nxs", "Si", 3, 0, 320e-6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hdf5_file f;
        double thickness_m, absorption_1_m;
        char master[512], material[MATERIAL_SIZE];
        panels[0].thickness_m = 320e-6;
        panels[0].absorption_1_m = 4000;
        panels[0].layers = rows[i].layers;
        panels[0].layer_depth_m = rows[i].layer_depth_m;
        (void)snprintf(panels[0].material, MATERIAL_SIZE, "%s", rows[i].material);
        (void)snprintf(master, sizeof master, "%s", scratch_path(rows[i].name));
        make_series(master, NXMX_NONE);
        assert_int_equal(hdf5_open(&f, master, nxmx_try, NULL), STATUS_OK);
        read_reals(&f, DETECTOR "/sensor_thickness", &thickness_m);
        assert_near(thickness_m, rows[i].thickness_m, 1e-12);
        assert_true(hdf5_read_text(&f, DETECTOR "/sensor_material", material, sizeof material));
        assert_string_equal(material, *rows[i].material ? rows[i].material : "Si");
        read_reals(&f, "/entry/braggpipe/sensor_absorption", &absorption_1_m);
        assert_near(absorption_1_m, 4000, 1e-9);
        hdf5_abort(&f);
    }
    panels[0].thickness_m = panels[0].absorption_1_m = panels[0].layer_depth_m = 0;
    panels[0].layers = 0;
    *panels[0].material = 0;
}

/* NeXus' x is against the spindle, y up: an E field of 30 degrees between both. */
static void the_beam_is_polarized(void **state)
{
    (void)state;
    static const char *const names[] = {"/entry/instrument/beam/incident_polarization_stokes",
                                        "/entry/instrument/beam/incident_polarisation_stokes"};
    struct hdf5_file f;
    double stokes[4 * FRAMES];
    experiment.beam.kahn = 0.98;
    experiment.beam.polarization[1] = 0.5;
    experiment.beam.polarization[2] = -sqrt(0.75);
    make_series(scratch_path("g.nxs"), NXMX_NONE);
    assert_int_equal(hdf5_open(&f, scratch_path("g.nxs"), nxmx_try, NULL), STATUS_OK);
    for (int i = 0; i < 2; i++) {
        read_reals(&f, names[i], stokes);
        for (int k = 0; k < FRAMES; k++) {
            assert_near(stokes[4 * k], 1, 1e-12);
            assert_near(stokes[4 * k + 1], 0.49, 1e-12);
            assert_near(stokes[4 * k + 2], 0.98 * sqrt(0.75), 1e-12);
            assert_near(stokes[4 * k + 3], 0, 1e-12);
        }
    }
    hdf5_abort(&f);
    experiment.beam.no_polarization = true;
    make_series(scratch_path("h.nxs"), NXMX_NONE);
    assert_int_equal(hdf5_open(&f, scratch_path("h.nxs"), nxmx_try, NULL), STATUS_OK);
    assert_true(H5Lexists(f.id, names[0], H5P_DEFAULT) == 0);
    hdf5_abort(&f);
    experiment.beam.no_polarization = false;
}

static void other_files_are_refused(void **state)
{
    (void)state;
    struct nxmx_file *file;
    struct nxmx_rows rows;
    struct error e;
    struct nxmx_kind kind = {.experiment = &experiment,
                             .type = PIXEL_U16,
                             .compression = NXMX_LZ4,
                             .lineage = "0123456789abcdef"};
    const char *path = scratch_path("c_data_000001.h5");
    make_series(scratch_path("c.nxs"), NXMX_LZ4);
    assert_int_equal(nxmx_open(path, &kind, &file, &rows, NULL), STATUS_OK);
    nxmx_close(file);
    nxmx_rows_free(&rows);
    kind.compression = NXMX_GZIP;
    assert_int_equal(nxmx_open(path, &kind, &file, &rows, &e), STATUS_FAILED);
    kind.compression = NXMX_LZ4;
    kind.lineage[0] = 'f';
    assert_int_equal(nxmx_open(path, &kind, &file, &rows, &e), STATUS_FAILED);
    assert_non_null(strstr(e.text, "was not written by this run"));
    scratch_text(path, "text");
    assert_int_equal(nxmx_open(path, &kind, &file, &rows, &e), STATUS_FAILED);
    assert_int_equal(nxmx_open(scratch_path("none.h5"), &kind, &file, &rows, &e), STATUS_OK);
    assert_null(file);
    panels[1].fast_pixels++;
    struct frame f = make_frame(0);
    assert_int_equal(nxmx_check(&experiment, &f.image, &e), STATUS_INPUT);
    panels[1].fast_pixels--;
    f.image.count--;
    assert_int_equal(nxmx_check(&experiment, &f.image, &e), STATUS_INPUT);
    image_free(&f.image);
}

static void add(struct nxmx_rows *rows, uint64_t id, size_t nlattices, uint64_t file)
{
    const struct recipe r = {.id = id, .nlattices = nlattices, .lattices = lattices};
    nxmx_rows_add(rows, &experiment, &r, file);
}

static void rows_stay_in_order(void **state)
{
    (void)state;
    struct nxmx_rows a = {0}, b = {0};
    add(&a, 9, 2, 3);
    add(&a, 4, 1, 2);
    add(&a, 6, 0, 2);
    add(&a, 4, 2, 2);  // again, with more
    add(&b, 6, 1, 2);
    add(&b, 5, 1, 2);
    nxmx_rows_merge(&a, &b);
    assert_int_equal(a.nframes, 4);
    assert_int_equal(a.nlattices, 5);
    static const uint64_t numbers[] = {4, 5, 6, 9}, of[] = {4, 4, 5, 9, 9};
    for (int i = 0; i < 4; i++)
        assert_int_equal(a.frames[i].number, numbers[i]);
    for (int i = 0; i < 5; i++)
        assert_int_equal(a.lattices[i].frame, of[i]);
    assert_int_equal(a.frames[2].lattices, 0);
    assert_int_equal(nxmx_rows_find(&a, 9), 3);
    assert_int_equal(nxmx_rows_find(&a, 7), -1);
    /* U turns x to y, and (x, y, z) of the laboratory frame is (-z, y, x). */
    assert_near(a.lattices[0].orientation[3], 1.0, 1e-12);
    assert_near(a.lattices[0].a_matrix[6], 0.01, 1e-12);
    assert_near(a.lattices[0].a_matrix[2], -0.03, 1e-12);
    nxmx_rows_drop(&a, 2);
    assert_int_equal(a.nframes, 1);
    assert_int_equal(a.nlattices, 2);
    nxmx_rows_free(&a);
    nxmx_rows_free(&b);
}

static void axes_are_a_rotation(void **state)
{
    (void)state;
    static const double beams[][3] = {{1, 0, 0}, {0, 0, 1}, {0.6, 0, 0.8}};
    static const double spindles[][3] = {{0, 0, 1}, {1, 0, 0}, {0.6, 0, 0.8}};  // the last: along
    for (int i = 0; i < 3; i++) {
        struct experiment x = experiment;
        double m[9], turned[3];
        memcpy(x.beam.direction, beams[i], sizeof beams[i]);
        memcpy(x.spindle, spindles[i], sizeof spindles[i]);
        experiment_nexus_axes(&x, m);
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                assert_near(m[3 * r] * m[3 * c] + m[3 * r + 1] * m[3 * c + 1] +
                                m[3 * r + 2] * m[3 * c + 2],
                            r == c, 1e-12);
        mat_apply(m, beams[i], turned);
        assert_near(turned[2], 1.0, 1e-12);
        mat_apply(m, spindles[i], turned);
        assert_near(turned[0], i < 2 ? -1.0 : 0.0, 1e-12);
        assert_near(m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
                        m[2] * (m[3] * m[7] - m[4] * m[6]),
                    1.0, 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_come_back_in_order),
        cmocka_unit_test(packed_images_are_not_packed_again),
        cmocka_unit_test(panels_are_modules),
        cmocka_unit_test(the_beam_is_polarized),
        cmocka_unit_test(a_sensor_is_as_thick_as_its_parallax),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(rows_stay_in_order),
        cmocka_unit_test(axes_are_a_rotation),
    };
    return unit_run_within(tests, set_up, scratch_leave);
}
