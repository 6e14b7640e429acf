/*
 * libFuzzer: every parser of files and text.  BRAGG_PARSER names the parser that gets the inputs.
 * Without it the names of all parsers are printed.  A file is in memory (memfd), and is opened by
 * its name under /proc.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/history.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/text.h"
#include "io/beam/frame_lists.h"
#include "io/beam/nanobragg_text.h"
#include "io/beam/vary_table.h"
#include "io/crystfel/geom.h"
#include "io/dials/expt.h"
#include "io/dials/refl.h"
#include "io/images/image_file.h"
#include "io/images/nanobragg_files.h"
#include "io/images/smv.h"
#include "io/output/frame_index_lines.h"
#include "io/output/output_file.h"
#include "io/structure_factors/anomalous.h"
#include "io/structure_factors/hkl.h"
#include "io/structure_factors/mtz.h"
#include "io/structure_factors/ring_list.h"
#include "limit.h"
#include "link/endpoint.h"
#include "run/pipeline/pipeline.h"
#include "score/results.h"
#include "stages/replay/replay.h"

/* --- files ----------------------------------------------------------------- */

static void read_table(const char *path, enum physics physics)
{
    struct hkl_table table = {0};
    limit_refuse();  // a table has room for all indices between the extreme ones
    (void)hkl_read(path, physics, NULL, HKL_MATES_APART, 1.0, &table, NULL);
    hkl_free(&table);
}

static void read_hkl(const char *path)
{
    read_table(path, PHYSICS_PHYSICAL);
}

static void read_hkl_faithful(const char *path)
{
    read_table(path, PHYSICS_FAITHFUL);
}

static void read_dump(const char *path)
{
    struct hkl_table table = {0};
    (void)hkl_read_dump(path, 1.0, &table, NULL);
    hkl_free(&table);
}

static void read_matrix(const char *path)
{
    double matrix[9], cell[6];
    (void)matrix_read(path, PHYSICS_FAITHFUL, matrix, cell, NULL);
    (void)matrix_read(path, PHYSICS_PHYSICAL, matrix, cell, NULL);
}

static void read_sources(const char *path)
{
    const double beam[3] = {1, 0, 0};
    for (enum physics p = PHYSICS_PHYSICAL;; p = PHYSICS_FAITHFUL) {
        struct source *list = NULL;
        size_t n = 0;
        (void)sources_read(path, p, beam, 1e-10, &list, &n, NULL);
        mem_free(list);
        if (p == PHYSICS_FAITHFUL)
            return;
    }
}

static void read_orientations(const char *path)
{
    double(*rotations)[9] = NULL;
    size_t n = 0;
    (void)orientations_read(path, &rotations, &n, NULL);
    mem_free(rotations);
}

static void read_vary_table(const char *path)
{
    static const struct vary_column columns[] = {{"size", "nm", 0.1, 1e6}, {"a", "A", 1.0, 1e4}};
    struct vary_table table;
    (void)vary_table_read(path, columns, 2, &table, NULL);
    vary_table_free(&table);
}

static void read_sites(const char *path)
{
    struct atoms atoms;
    (void)sites_read(path, &atoms, NULL);
    atoms_free(&atoms);
}

static void read_fprime(const char *path)
{
    struct fprime_curves curves;
    double f[2];
    (void)fprime_read(path, &curves, NULL);
    (void)fprime_at(&curves, 34, 12658.0, f, NULL);
    fprime_free(&curves);
}

static void read_stol(const char *path)
{
    for (int faithful = 0; faithful < 2; faithful++) {
        struct stol_table table = {0};
        (void)stol_read(path, STOL_STOL, faithful, &table, NULL);
        stol_free(&table);
    }
}

static void read_rings(const char *path)
{
    struct ring_list list;
    (void)ring_list_is(path);
    (void)ring_list_read(path, &list, NULL);
    ring_list_free(&list);
}

static void read_smv(const char *path)
{
    struct smv smv = {0};
    (void)smv_read(path, true, &smv, NULL);
    smv_free(&smv);
}

static void read_image(const char *path)
{
    struct image_file file = {0};
    if (image_file_read(path, &file, NULL) == STATUS_OK)
        image_free(&file.image);
}

static void read_header(const char *path)
{
    struct image_header header;
    (void)image_header_read(path, &header, NULL);
}

static void read_float(const char *path)
{
    float pixels[9];
    (void)nanobragg_read_float(path, pixels, 9, NULL);
}

static void read_refl(const char *path)
{
    static struct refl table;
    (void)refl_open(&table, path, NULL);
    refl_close(&table);
}

static void read_stream(const char *path)
{
    struct crystfel_stream stream;
    struct answer answer = {0};
    bool more = !crystfel_stream_open(&stream, path, NULL, NULL);
    while (more && !crystfel_stream_next(&stream, &answer, &more, NULL))
        ;
    crystfel_stream_close(&stream);
    answer_free(&answer);
}

static void read_peaks(const char *path)
{
    struct peak_table table;
    struct answer answer = {0};
    bool more = !peak_table_open(&table, path, NULL, NULL);
    while (more && !peak_table_next(&table, &answer, &more, NULL))
        ;
    peak_table_close(&table);
    answer_free(&answer);
}

static void read_expt(const char *path)
{
    struct expt expt;
    struct expt_list list;
    struct expt_scan scan;
    double reciprocal_A[9];
    limit_refuse();  // masks are as large as panels
    (void)expt_read(path, &expt, NULL);
    expt_free(&expt);
    (void)expt_read_scan(path, &scan, NULL);
    (void)expt_read_crystal(path, reciprocal_A, NULL);
    (void)expt_list_read(path, &list, NULL);
    expt_list_free(&list);
}

static void read_geom(const char *path)
{
    struct geom geom;
    limit_refuse();  // a mask has room for all pixels of a panel
    (void)geom_read(path, 0.1, &geom, NULL);
    geom_free(&geom);
}

static void read_mtz(const char *path)
{
    struct mtz_layout layout;
    const struct mtz_labels labels[] = {
        {0},
        {.wanted = MTZ_HANDS},
        {.F = "FC"},
        {.wanted = MTZ_HANDS, .F = "F(+)", .second = "F(-)"},
        {.wanted = MTZ_PHASES},
        {.wanted = MTZ_INTENSITIES},
        {.wanted = MTZ_PHASES, .F = "FC", .second = "PHIC"},
    };
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        (void)mtz_check(path, &labels[i], &layout, NULL);
}

static void read_index(const char *path)
{
    const struct frame_index_settings settings = {.lineage = "0123456789abcdef",
                                                  .history = "bragg-orient\t--seed=7\n"};
    struct index_lines l = {.in = fopen(path, "rbe"), .path = path};
    struct index_entry entry;
    bool more = false;
    if (!l.in)
        abort();
    enum status s = index_begin(&l, &settings, &more, NULL);
    while (s == STATUS_OK && more) {
        s = index_parse(&l, &entry, NULL);
        more = index_advance(&l);
    }
    free(l.line);
    (void)fclose(l.in);
}

static void read_origin(const char *path)
{
    static struct provenance origin;
    char target[64];
    (void)snprintf(target, sizeof target, "%s:3", path);
    (void)provenance_open(&origin, target, NULL);
    provenance_close(&origin);
}

static void read_pipeline(const char *path)
{
    struct pipeline p;
    if (pipeline_load(&p, path, NULL) == STATUS_OK)
        (void)pipeline_check(&p, NULL);
    pipeline_close(&p);
}

/* --- text ------------------------------------------------------------------ */

static void take_numbers(char *text)
{
    double real, reals[8];
    int64_t whole;
    int count;
    (void)parse_real(text, -1e9, 1e9, "x", &real, NULL);
    (void)parse_int(text, -5, INT64_MAX, "x", &whole, NULL);
    if (parse_list(text, 8, -1e300, 1e300, NULL, "x", reals, &count, NULL) == STATUS_OK &&
        (count < 1 || count > 8))
        abort();
}

/* What is split comes back. */
static void take_words(char *text)
{
    char *words[16], again[5000] = "";
    size_t count, back;
    if (!words_split(text, words, 16, &count))
        return;
    for (size_t i = 0; i < count; i++)
        if (!words_append(again, sizeof again, words[i]))
            return;
    char *copies[16];
    if (!words_split(again, copies, 16, &back) || back != count)
        abort();
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], copies[i]) != 0)
            abort();
}

static void take_history(char *text)
{
    char value[64], brief[256], what[HISTORY_DIFFERENCE_SIZE];
    (void)history_value(text, "--seed", value, sizeof value);
    (void)history_brief(text, brief, sizeof brief);
    (void)history_difference(text, "bragg-orient\t--seed=7\n", what);
}

static void take_template(char *text)
{
    struct template t;
    char name[TEMPLATE_PATH_MAX];
    if (template_parse(&t, text, NULL) != STATUS_OK)
        return;
    template_name(&t, UINT64_MAX, name);
    template_stem(&t, ".index", name);
}

static void take_endpoint(char *text)
{
    char endpoint[ENDPOINT_SIZE];
    bool bind;
    if (endpoint_parse(text, true, &bind, endpoint, NULL) != STATUS_OK)
        return;
    (void)endpoint_is_local(endpoint);
    (void)endpoint_is_network(endpoint);
    endpoint_resolve(endpoint, "tcp://127.0.0.1:5");
}

static void take_pipe_line(char *text)
{
    struct pipe_line line;
    char again[PIPE_LINE_SIZE];
    if (pipe_line_parse(text, &line, NULL) == STATUS_OK)
        pipe_line_format(&line, again);
}

/* --- the harness ----------------------------------------------------------- */

static const struct parser {
    const char *name;
    void (*read)(const char *path);  // one of the two
    void (*take)(char *text);
} parsers[] = {
    {"hkl", .read = read_hkl},           {"hkl-faithful", .read = read_hkl_faithful},
    {"hkl-dump", .read = read_dump},     {"matrix", .read = read_matrix},
    {"sources", .read = read_sources},   {"orientations", .read = read_orientations},
    {"vary", .read = read_vary_table},   {"sites", .read = read_sites},
    {"fprime", .read = read_fprime},     {"stol", .read = read_stol},
    {"rings", .read = read_rings},       {"smv", .read = read_smv},
    {"image", .read = read_image},       {"header", .read = read_header},
    {"float", .read = read_float},       {"expt", .read = read_expt},
    {"geom", .read = read_geom},         {"mtz", .read = read_mtz},
    {"index", .read = read_index},       {"origin", .read = read_origin},
    {"pipeline", .read = read_pipeline}, {"numbers", .take = take_numbers},
    {"words", .take = take_words},       {"history", .take = take_history},
    {"template", .take = take_template}, {"refl", .read = read_refl},
    {"crystfel", .read = read_stream},   {"peaks", .read = read_peaks},
    {"endpoint", .take = take_endpoint}, {"pipe-line", .take = take_pipe_line},
};
static const struct parser *chosen;
static int file;

/* The linker uses this function instead of mem_try_array. A size that is only a number in a file is
 * refused beyond the limit, as if memory had run out. */
void *__real_mem_try_array(size_t count, size_t size);
void *__wrap_mem_try_array(size_t count, size_t size);

void *__wrap_mem_try_array(size_t count, size_t size)
{
    return limit_refuses(count, size) ? NULL : __real_mem_try_array(count, size);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    const char *name = getenv("BRAGG_PARSER");
    log_set_level(LOG_ERROR);
    for (size_t i = 0; i < sizeof parsers / sizeof *parsers; i++) {
        if (!name)
            puts(parsers[i].name);
        else if (strcmp(parsers[i].name, name) == 0)
            chosen = &parsers[i];
    }
    file = memfd_create("fuzz", MFD_CLOEXEC);
    if (!chosen || file < 0)
        exit(name ? 2 : 0);
    return 0;
}

static void read_bytes(const uint8_t *data, size_t size)
{
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    limit_begin(size);
    chosen->read(path);
    limit_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (chosen->read) {
        read_bytes(data, size);
        return 0;
    }
    char *text = malloc(size + 1);
    if (!text)
        abort();
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    limit_begin(size);
    chosen->take(text);
    limit_end();
    free(text);
    return 0;
}
