/* SMV: round trips, headers of other programs, hostile files. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/images/smv.h"

static char path[] = "/tmp/bragg-smv-XXXXXX";

static int setup(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

static void store(const void *bytes, size_t count)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, count, out), count);
    assert_int_equal(fclose(out), 0);
}

/* Case 03 of the reference: a tilted MOSFLM detector. */
static const struct panel tilted = {
    .fast_pixels = 128,
    .slow_pixels = 128,
    .pixel_m = 1e-4,
    .origin_m = {0.10121156839030461, 0.0067319450026481452, -0.0063700877950727958},
    .distance_m = 0.097496398650316771,
    .close_distance_m = 0.097303472447526351,
    .beam_fast_m = 0.0068719,
    .beam_slow_m = 0.00682217,
    .close_fast_m = 0.00383052,
    .close_slow_m = 0.029104,
    .beam_x_mm = 6.2,
    .beam_y_mm = 6.9,
    .twotheta_rad = 0.26179938779914941,
};

static const char tilted_header[] =
    "{\nHEADER_BYTES=512;\nDIM=2;\nBYTE_ORDER=little_endian;\nTYPE=unsigned_short;\n"
    "SIZE1=128;\nSIZE2=128;\nPIXEL_SIZE=0.1;\nDISTANCE=97.4964;\nWAVELENGTH=1;\n"
    "BEAM_CENTER_X=6.2;\nBEAM_CENTER_Y=6.9;\nADXV_CENTER_X=6.8719;\nADXV_CENTER_Y=5.97783;\n"
    "MOSFLM_CENTER_X=6.77217;\nMOSFLM_CENTER_Y=6.8219;\nDENZO_X_BEAM=6.82217;\n"
    "DENZO_Y_BEAM=6.8719;\nDIALS_ORIGIN=-6.37009,6.73195,-101.212\nXDS_ORGX=38.8052;\n"
    "XDS_ORGY=291.54;\nCLOSE_DISTANCE=97.3035;\nPHI=0;\nOSC_START=0;\nOSC_RANGE=0;\n"
    "TWOTHETA=15;\nDETECTOR_SN=000;\nBEAMLINE=fake;\n}\f";

static void nanobragg_header(void **unused)
{
    (void)unused;
    struct header_text h;
    smv_header_nanobragg(&h, &tilted, 0.0128, 1e-10, 0.0, 0.0);
    assert_int_equal(h.length, 512);
    assert_memory_equal(h.text, tilted_header, sizeof tilted_header - 1);
    for (size_t i = sizeof tilted_header - 1; i < 512; i++)
        assert_int_equal(h.text[i], ' ');
}

/* A text longer than 512 bytes is written in full, and the header still says 512. */
static void nanobragg_header_overflows(void **unused)
{
    (void)unused;
    struct panel p = tilted;
    p.distance_m = p.close_distance_m = 1.23456e-8;
    for (int i = 0; i < 3; i++)
        p.origin_m[i] = -1.23456e-8;
    p.beam_x_mm = p.beam_y_mm = p.twotheta_rad = -1.23456e-5;
    p.beam_fast_m = p.beam_slow_m = -1.23456e-8;
    struct header_text h;
    smv_header_nanobragg(&h, &p, 0.0128, 1.23456e-15, 0.0, 0.0);
    assert_true(h.length > 512);
    assert_memory_equal(h.text + h.length - 2, "}\f", 2);
    assert_memory_equal(h.text, "{\nHEADER_BYTES=512;\n", 20);
}

static void noisify_header(void **unused)
{
    (void)unused;
    static const char expected[] =
        "{\nHEADER_BYTES=512;\nDIM=2;\nBYTE_ORDER=little_endian;\nTYPE=unsigned_short;\n"
        "SIZE1=3;\nSIZE2=2;\nPIXEL_SIZE=0.1;\nDISTANCE=100;\nWAVELENGTH=1.5;\n"
        "BEAM_CENTER_X=6.4;\nBEAM_CENTER_Y=6.5;\nPHI=0;\nOSC_START=0;\nOSC_RANGE=1;\n"
        "DETECTOR_SN=000;\nBEAMLINE=fake;\n}\f   ";
    struct header_text h;
    smv_header_noisify(
        &h, &(struct smv_noisify){3, 2, 1e-4, 0.1, 1.5e-10, 0.0064, 0.0065, 16, 0.0, 1.0});
    assert_int_equal(h.length, 512);
    assert_memory_equal(h.text, expected, sizeof expected - 1);
}

/* --- our own header ----------------------------------------------------------- */

static uint16_t pixels[6] = {1, 2, 3, 4, 500, 65535};
static struct panel panel = {
    .fast_pixels = 3,
    .slow_pixels = 2,
    .pixel_m = 1e-4,
    .distance_m = 0.12,
    .close_distance_m = 0.12,
    .beam_fast_m = 0.00025,
    .beam_slow_m = 0.00012,
    .close_fast_m = 0.00025,
    .close_slow_m = 0.00012,
};
static struct lattice lattice = {
    .rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1},
    .reciprocal_A = {0.0125, 0, 0, 0, 0.0125, 0, 0, 0, 0.025},
};
static struct crystal crystal = {.cell_A = {80, 80, 40},
                                 .cell_rad = {M_PI / 2, M_PI / 2, M_PI / 2}};

static struct experiment experiment(void)
{
    return (struct experiment){.npanels = 1,
                               .panels = &panel,
                               .ncrystals = 1,
                               .crystals = &crystal,
                               .beam = {.wavelength_m = 0.98e-10},
                               .adc_offset = 40.0,
                               .gain = 1.0,
                               .lineage = "0123456789abcdef"};
}

static struct frame frame(void)
{
    return (struct frame){
        .recipe = {.id = 17,
                   .seed = 42,
                   .phi_rad = M_PI / 6,
                   .osc_rad = M_PI / 360,
                   .nlattices = 1,
                   .lattices = &lattice},
        .image = {.type = PIXEL_U16, .unit = UNIT_ADU, .count = 6, .pixels = pixels}};
}

static void assert_key(const struct smv *smv, const char *key, double expected)
{
    double value = 0.0;
    assert_true(smv_value(smv, key, &value));
    if (!(fabs(value - expected) <= 1e-8 * fabs(expected)))
        fail_msg("%s=%.12g, expected %.12g", key, value, expected);
}

/* dxtbx: beam at X + pixel along fast, at height - Y + pixel along slow. */
static void modern_round_trip(void **unused)
{
    (void)unused;
    struct experiment x = experiment();
    struct frame f = frame();
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(smv_write_modern(out, &x, &f, NULL), STATUS_OK);
    assert_int_equal(fclose(out), 0);
    struct smv smv;
    assert_int_equal(smv_read(path, true, &smv, NULL), STATUS_OK);
    assert_int_equal(smv.header_bytes, 1024);
    assert_int_equal(smv.fast_pixels, 3);
    assert_int_equal(smv.slow_pixels, 2);
    assert_memory_equal(smv.pixels, pixels, sizeof pixels);
    double X = 0.0, Y = 0.0;
    assert_true(smv_value(&smv, "BEAM_CENTER_X", &X) && smv_value(&smv, "BEAM_CENTER_Y", &Y));
    assert_true(fabs(X + 0.1 - 0.25) < 1e-9);
    assert_true(fabs(0.2 - Y + 0.1 - 0.12) < 1e-9);
    assert_key(&smv, "ADXV_CENTER_X", 0.25);
    assert_key(&smv, "ADXV_CENTER_Y", 0.2 - 0.12);
    assert_key(&smv, "MOSFLM_CENTER_X", 0.12 - 0.05);
    assert_key(&smv, "MOSFLM_CENTER_Y", 0.25 - 0.05);
    assert_key(&smv, "DENZO_X_BEAM", 0.12);
    assert_key(&smv, "DENZO_Y_BEAM", 0.25);
    assert_key(&smv, "XDS_ORGX", 3.0);
    assert_key(&smv, "XDS_ORGY", 1.7);
    assert_key(&smv, "DISTANCE", 120.0);
    assert_key(&smv, "WAVELENGTH", 0.98);
    assert_key(&smv, "OSC_START", 30.0);
    assert_key(&smv, "PHI", 30.0);
    assert_key(&smv, "OSC_RANGE", 0.5);
    assert_key(&smv, "ADC_OFFSET", 40.0);
    assert_key(&smv, "BRAGG_FRAME", 17.0);
    assert_key(&smv, "BRAGG_SEED", 42.0);
    assert_non_null(strstr(smv.header, "BRAGG_CELL=80 80 40 90 90 90;\n"));
    assert_non_null(strstr(smv.header, "BRAGG_LINEAGE=0123456789abcdef;\n"));
    assert_non_null(strstr(smv.header, "BRAGG_RECIPROCAL=0.0125 0 0 0 0.0125 0 0 0 0.025;\n"));
    smv_free(&smv);
}

static void modern_header_grows(void **unused)
{
    (void)unused;
    struct lattice wide = lattice;
    struct panel p = panel;
    struct experiment x = experiment();
    struct frame f = frame();
    struct header_text h;
    for (int i = 0; i < 9; i++)
        wide.rotation[i] = wide.reciprocal_A[i] = -1.23456789e-100;
    p.pixel_m = p.distance_m = p.beam_fast_m = p.twotheta_rad = -1.23456789e-100;
    p.fast_pixels = p.slow_pixels = INT64_MAX;
    x.adc_offset = x.gain = x.beam.wavelength_m = -1.23456789e-100;
    struct crystal c = {.name = "a name of a crystal that takes all of the room it has: x=1;}\n.",
                        .cell_A = {-1.23456789e-100, -1.23456789e-100, -1.23456789e-100},
                        .cell_rad = {-1.23456789e-100, -1.23456789e-100, -1.23456789e-100}};
    x.panels = &p;
    x.crystals = &c;
    f.recipe = (struct recipe){.id = UINT64_MAX,
                               .seed = UINT64_MAX,
                               .phi_rad = 1.23456789e-100,
                               .osc_rad = -1.23456789e-100,
                               .nlattices = 1,
                               .lattices = &wide};
    assert_int_equal(smv_header_modern(&h, &x, &f, NULL), STATUS_OK);
    assert_int_equal(h.length, 1536);
    assert_memory_equal(h.text, "{\nHEADER_BYTES=1536;\n", 21);
    assert_non_null(memmem(h.text, h.length, "}\n\f", 3));
    assert_non_null(memmem(h.text, h.length, "_x_1____;\n", 10));  // nothing of a name ends a key
}

static void modern_types_and_refusals(void **unused)
{
    (void)unused;
    struct experiment x = experiment();
    struct frame f = frame();
    struct header_text h;
    f.image.type = PIXEL_I32;
    assert_int_equal(smv_header_modern(&h, &x, &f, NULL), STATUS_OK);
    assert_non_null(strstr(h.text, "TYPE=signed_long;\n"));
    f.image.type = PIXEL_F32;
    assert_int_equal(smv_header_modern(&h, &x, &f, NULL), STATUS_OK);
    assert_non_null(strstr(h.text, "TYPE=float;\n"));
    assert_int_equal(smv_write_nanobragg(stdout, &x, &f, NULL), STATUS_INPUT);
    x.npanels = 2;
    assert_int_equal(smv_header_modern(&h, &x, &f, NULL), STATUS_INPUT);
    x.npanels = 1;
    f.image.count = 5;
    assert_int_equal(smv_write_modern(stdout, &x, &f, NULL), STATUS_INPUT);
}

static void full_disk(void **unused)
{
    (void)unused;
    struct experiment x = experiment();
    struct frame f = frame();
    FILE *full = fopen("/dev/full", "wb");
    if (!full)
        skip();
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(smv_write_modern(full, &x, &f, NULL), STATUS_FAILED);
    fclose(full);
}

/* --- reading ------------------------------------------------------------------ */

/* Reads a file of `header`, padded to 512 bytes, and the first `count` of 6 pixels. */
static enum status read_count(const char *header, size_t count, bool with_pixels, struct smv *smv,
                              struct error *e)
{
    unsigned char bytes[4096];
    memset(bytes, ' ', sizeof bytes);
    memcpy(bytes, header, strlen(header));
    size_t length = strlen(header) < 512 ? 512 : strlen(header);
    memcpy(bytes + length, pixels, count * sizeof *pixels);
    store(bytes, length + count * sizeof *pixels);
    return smv_read(path, with_pixels, smv, e);
}

static enum status read_file(const char *header, bool with_pixels, struct smv *smv, struct error *e)
{
    return read_count(header, 6, with_pixels, smv, e);
}

static void last_occurrence_counts(void **unused)
{
    (void)unused;
    struct smv smv;
    assert_int_equal(read_file("{\nHEADER_BYTES=512;\nSIZE1=3;\nSIZE2=2;\nDISTANCE=1;\n"
                               "CLOSE_DISTANCE=2;\nORGX=3;\nXDS_ORGX=4;\n}DISTANCE=9;\n",
                               true, &smv, NULL),
                     STATUS_OK);
    double value = -1.0;
    assert_true(smv_value(&smv, "DISTANCE", &value) && value == 2.0);
    assert_true(smv_value(&smv, "ORGX", &value) && value == 4.0);
    assert_false(smv_value(&smv, "WAVELENGTH", &value));
    assert_true(value == 4.0);
    smv_free(&smv);
}

static void other_size_key_and_byte_order(void **unused)
{
    (void)unused;
    struct smv smv;
    static const char *const orders[] = {"BYTE_ORDER=big_endian;", "BYTE_ORDER = Big_Endian ;\r",
                                         "BYTE_ORDER=BIG_ENDIAN;\nTYPE=unsigned short;"};
    for (size_t i = 0; i < 3; i++) {
        char header[256];
        (void)snprintf(header, sizeof header, "{\nHEADER_BYTES=512;\nDETECTOR_DIMENSIONS=2;\n%s\n}",
                       orders[i]);
        assert_int_equal(read_count(header, 4, true, &smv, NULL), STATUS_OK);
        assert_int_equal(smv.fast_pixels, 2);
        assert_int_equal(smv.slow_pixels, 2);
        assert_int_equal(smv.pixels[0], 256);
        smv_free(&smv);
    }
}

static void hostile_files(void **unused)
{
    (void)unused;
    static const char *const headers[] = {
        "",
        "{",
        "not an SMV file at all",
        "{\nSIZE1=3;\nSIZE2=2;\n}",  // no HEADER_BYTES
        "{\nHEADER_BYTES=0;\nSIZE1=3;\nSIZE2=2;\n}",
        "{\nHEADER_BYTES=-512;\nSIZE1=3;\nSIZE2=2;\n}",
        "{\nHEADER_BYTES=nan;\nSIZE1=3;\nSIZE2=2;\n}",
        "{\nHEADER_BYTES=1e300;\nSIZE1=3;\nSIZE2=2;\n}",
        "{\nHEADER_BYTES=100000;\nSIZE1=3;\nSIZE2=2;\n}",  // longer than the file
        "{\nHEADER_BYTES=512;\nSIZE1=3;\nSIZE2=2;\n",      // no terminator
        "{\nHEADER_BYTES=512;\nSIZE1=3;\n}",
        "{\nHEADER_BYTES=512;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=0;\nSIZE2=2;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=-3;\nSIZE2=2;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=2.5;\nSIZE2=2;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=nan;\nSIZE2=2;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=9223372036854775808;\nSIZE2=9223372036854775808;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=1000000;\nSIZE2=1000000;\n}",  // more than the file has
        "{\nHEADER_BYTES=512;\nSIZE1=4;\nSIZE2=2;\n}",              // by two pixels
        "{\nHEADER_BYTES=512;\nSIZE1=3;\nSIZE2=2;\nDISTANCE=inf;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=3;\nSIZE2=2;\nPIXEL_SIZE=;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=3;\nSIZE2=2;\nWAVELENGTH=x;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=3;\nSIZE2=2;\nTYPE=float;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=3;\nSIZE2=2;\nTYPE=signed_short;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=3;\nSIZE2=2;\nTYPE=mad;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=3;\nSIZE2=2;\nBYTE_ORDER=motorola;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=3;\nSIZE2=2;\nBYTE_ORDER=;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=3;\nSIZE2=2;\nDIM=3;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=3;\nSIZE2=2;\nCOMPRESSION=PCK;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=2;\nSIZE2=2;\n}",                      // two pixels too long
        "{\nHEADER_BYTES=512;\nSIZE1=6;\nSIZE2=1;\nSIZE2=6;\nSIZE2=1;\n}",  // says two
        "{\nHEADER_BYTES=512;\nSIZE1 = 2;\nSIZE1=3;\nSIZE2=2;\n}",
        "{\nHEADER_BYTES=512;\nSIZE1=3;\nSIZE2=2;\nTYPE=unsigned_short;\nTYPE=unsigned_long;\n}",
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct smv smv;
        struct error e = {0};
        enum status status = read_file(headers[i], true, &smv, &e);
        if (status != STATUS_INPUT || !strstr(e.text, path) || strchr(e.text, '\n'))
            fail_msg("header %zu: status %d, '%s'", i, (int)status, e.text);
        smv_free(&smv);
    }
}

/* Cut off anywhere, with zero bytes anywhere: an error or a right image. */
static void damaged_files(void **unused)
{
    (void)unused;
    struct experiment x = experiment();
    struct frame f = frame();
    struct header_text h;
    assert_int_equal(smv_header_modern(&h, &x, &f, NULL), STATUS_OK);
    unsigned char whole[1024 + sizeof pixels];
    memcpy(whole, h.text, 1024);
    memcpy(whole + 1024, pixels, sizeof pixels);
    for (size_t cut = 0; cut < sizeof whole; cut += 7) {
        struct smv smv;
        store(whole, cut);
        assert_int_equal(smv_read(path, true, &smv, NULL), STATUS_INPUT);
        smv_free(&smv);
    }
    for (size_t at = 0; at < 1024; at += 11) {
        struct smv smv;
        unsigned char kept = whole[at];
        whole[at] = 0;
        store(whole, sizeof whole);
        if (smv_read(path, true, &smv, NULL) == STATUS_OK)
            assert_memory_equal(smv.pixels, pixels, sizeof pixels);
        smv_free(&smv);
        whole[at] = kept;
    }
}

static void no_file(void **unused)
{
    (void)unused;
    struct smv smv;
    assert_int_equal(smv_read("/nonexistent/mask.img", true, &smv, NULL), STATUS_FAILED);
    smv_free(&smv);
    assert_int_equal(smv_read("/tmp", true, &smv, NULL), STATUS_INPUT);
    smv_free(&smv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nanobragg_header),
        cmocka_unit_test(nanobragg_header_overflows),
        cmocka_unit_test(noisify_header),
        cmocka_unit_test(modern_round_trip),
        cmocka_unit_test(modern_header_grows),
        cmocka_unit_test(modern_types_and_refusals),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(last_occurrence_counts),
        cmocka_unit_test(other_size_key_and_byte_order),
        cmocka_unit_test(hostile_files),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(no_file),
    };
    return unit_run_within(tests, setup, teardown);
}
