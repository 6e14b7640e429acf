/* The choices of bragg-run for a host with a GPU: engine and writers, with their reasons. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/pipeline/pipeline.h"
#include "scratch.h"
#include "stages/run/gpu_choice.h"

static const struct gpu_choice one_gpu = {.gpus = 1, .name = "NVIDIA T"};

/* A pipeline on a host, and the choices for it. */
struct chosen {
    struct pipeline p;
    const struct pipeline_stage *light, *write;
    const char *engine;  // NULL: not chosen
    char *printed;       // the comments of --dry-run
};

/* Makes the choices for a pipeline: args of bragg-geometry, and flow mappings of the keys of
 * bragg-intensity and bragg-write. */
static void choose(struct chosen *c, const struct gpu_choice *g, int64_t cores,
                   const char *geometry, const char *light, const char *write)
{
    char text[1000];
    size_t size;
    struct error e = {0};
    (void)snprintf(text, sizeof text,
                   "stages:\n"
                   "  - {name: geometry, args: [--ncells=5%s]}\n"
                   "  - {name: orient, args: [--frames=2]}\n"
                   "  - {name: light, program: bragg-intensity%s}\n"
                   "  - {name: noise}\n"
                   "  - {name: write%s}\n",
                   geometry, light, write);
    assert_int_equal(pipeline_load(&c->p, scratch_text(scratch_path("p.yaml"), text), &e),
                     STATUS_OK);
    assert_int_equal(gpu_choice_engines(g, &c->p, &e), STATUS_OK);
    gpu_choice_writers(g, &c->p, cores);
    c->light = &c->p.stages[2];
    c->write = &c->p.stages[4];
    c->engine = pipeline_value(c->light, "engine");
    FILE *out = open_memstream(&c->printed, &size);
    gpu_choice_print_engines(g, &c->p, out);
    gpu_choice_print_writers(g, &c->p, cores, out);
    assert_int_equal(fclose(out), 0);
}

static void drop(struct chosen *c)
{
    free(c->printed);
    pipeline_close(&c->p);
}

static const char nxmx[] = ", args: [a.nxs]";

/* Verifies that the stage stays on the CPU, for a reason. */
static void stays(const struct gpu_choice *g, const char *geometry, const char *light,
                  const char *reason)
{
    struct chosen c;
    char line[300];
    choose(&c, g, 16, geometry, light, nxmx);
    (void)snprintf(line, sizeof line, "# light: engine cpu, because %s\n", reason);
    assert_string_equal(c.printed, line);
    assert_null(c.engine);
    assert_int_equal(c.write->count, 1);
    drop(&c);
}

static void a_gpu_is_chosen(void **state)
{
    (void)state;
    struct chosen c;
    choose(&c, &one_gpu, 2, "", "", nxmx);
    assert_string_equal(c.engine, "cuda");
    assert_string_equal(
        c.printed, "# light: engine cuda, because this host has a GPU, NVIDIA T. Last digits "
                   "can differ from those of the CPU; --as-written or --set=light.engine=cpu keeps "
                   "the CPU\n");
    assert_int_equal(c.write->count, 1);
    drop(&c);
    choose(&c, &one_gpu, 2, ", --physics=physical", ", args: [--precision=mixed, --reflections]",
           nxmx);
    assert_string_equal(c.engine, "cuda");
    drop(&c);
}

static void the_engine_of_a_file_stays(void **state)
{
    (void)state;
    struct chosen c;
    choose(&c, &one_gpu, 16, "", ", args: [--engine=cpu]", nxmx);
    assert_string_equal(c.engine, "cpu");
    assert_string_equal(c.printed, "# light: engine cpu, as given\n");
    assert_int_equal(c.write->count, 1);
    drop(&c);
}

static void a_reason_keeps_the_cpu(void **state)
{
    (void)state;
    const struct gpu_choice none = {0}, kept = {.gpus = 1, .kept = "as-written"},
                            old = {.gpus = 1, .problem = "the driver is old"};
    stays(&none, "", "", "this host has no GPU");
    stays(&kept, "", "", "of --as-written");
    stays(&old, "", "", "the driver is old");
    stays(&one_gpu, "", ", args: [--precision=double]", "of --precision");
    stays(&one_gpu, "", ", args: [--isa=avx2]", "of --isa");
    stays(&one_gpu, ", --physics=faithful", "", "of --physics");
    stays(&one_gpu, "", ", args: [--faint=0.01]", "the GPU engine does not support --faint");
    stays(&one_gpu, ", --diffuse-sigma=0.4", "", "the GPU engine does not support --diffuse-sigma");
    stays(&one_gpu, ", '--crystal=name=a diffuse-sigma=0.4'", "",
          "the GPU engine does not support --diffuse-sigma");
    stays(&one_gpu, "", ", args: [--derivatives=rot]",
          "the GPU engine does not support --derivatives for all experiments");
    stays(&one_gpu, "", ", args: ['--trace-pixel=1,2']",
          "the GPU engine does not support --trace-pixel for all experiments");
    stays(&one_gpu, "", ", count: 5", "5 processes are too many for 1 GPU");
}

static void the_experiment_must_be_known(void **state)
{
    (void)state;
    struct pipeline p;
    struct error e = {0};
    const char *file =
        scratch_text(scratch_path("q.yaml"), "stages:\n"
                                             "  - {name: replay, args: [recipes.rec]}\n"
                                             "  - {name: intensity}\n"
                                             "  - {name: write, args: [a.nxs]}\n");
    assert_int_equal(pipeline_load(&p, file, &e), STATUS_OK);
    assert_int_equal(gpu_choice_engines(&one_gpu, &p, &e), STATUS_OK);
    assert_null(pipeline_value(&p.stages[1], "engine"));
    pipeline_close(&p);
}

static void several_gpus_need_several_processes(void **state)
{
    (void)state;
    const struct gpu_choice four = {.gpus = 4, .name = "NVIDIA T"};
    struct chosen c;
    choose(&c, &four, 2, "", "", nxmx);
    assert_non_null(strstr(c.printed, "\n# light: GPUs in use 1 of 4, because a process uses one; "
                                      "--count=light=4 uses all\n"));
    drop(&c);
    choose(&c, &four, 2, "", ", count: 4", nxmx);
    assert_string_equal(c.engine, "cuda");
    assert_null(strstr(c.printed, "GPUs in use"));
    drop(&c);
    choose(&c, &four, 2, "", ", count: 16", nxmx);
    assert_string_equal(c.engine, "cuda");
    drop(&c);
}

/* Returns the number of writers after a GPU on a host with 16 cores. */
static int64_t writers(const char *light, const char *write, const char *printed)
{
    struct chosen c;
    choose(&c, &one_gpu, 16, "", light, write);
    const int64_t count = c.write->count;
    if (printed)
        assert_non_null(strstr(c.printed, printed));
    else
        assert_null(strstr(c.printed, "# write"));
    drop(&c);
    return count;
}

static void several_writers_take_images_of_a_gpu(void **state)
{
    (void)state;
    struct chosen c;
    assert_int_equal(writers("", nxmx, "\n# write: writers 4, because one can be slower"), 4);
    assert_int_equal(
        writers(", args: [--engine=cuda]", ", args: [--overwrite, a.h5]", "\n# write: writers 4, "),
        4);
    assert_int_equal(writers("", ", args: [a.nxs], count: 1", NULL), 1);
    assert_int_equal(writers("", ", args: [a.nxs], count: 2", NULL), 2);
    choose(&c, &one_gpu, 15, "", "", nxmx);
    assert_int_equal(c.write->count, 1);
    assert_null(strstr(c.printed, "# write"));
    drop(&c);
}

static void a_reason_keeps_one_writer(void **state)
{
    (void)state;
    assert_int_equal(writers("", ", args: [a.nxs, --powder-sum=b.nxs]",
                             "\n# write: writers 1, because of 'powder-sum'; 4 could be faster\n"),
                     1);
    assert_int_equal(writers("", ", args: [a.nxs], order: true", "because of 'order'"), 1);
    assert_int_equal(writers("", ", args: [a.nxs], threads: 16", "because of 'threads'"), 1);
    assert_int_equal(writers("", ", args: [a.nxs], cpus: 2", "because of 'cpus'"), 1);
    assert_int_equal(writers("", ", args: [a_%d.cbf]", NULL), 1);
    assert_int_equal(writers("", ", args: [a.nxs, a.cxi]", NULL), 1);
    assert_int_equal(writers("", ", args: [--format=raw, a_%d.h5]", NULL), 1);
    assert_int_equal(writers("", ", args: [--powder-sum=b.nxs]", NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_is_chosen),
        cmocka_unit_test(the_engine_of_a_file_stays),
        cmocka_unit_test(a_reason_keeps_the_cpu),
        cmocka_unit_test(the_experiment_must_be_known),
        cmocka_unit_test(several_gpus_need_several_processes),
        cmocka_unit_test(several_writers_take_images_of_a_gpu),
        cmocka_unit_test(a_reason_keeps_one_writer),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
