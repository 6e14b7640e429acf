/* Tables of reflections.  The reference is compared with another formula, and the engines with the
 * reference: photons of reflections above 10 photons within 1e-4, centroids within 1e-3 pixels. */
#include "../hostgpu/host_engine.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "engine/engine.h"
#include "engine_case.h"
#include "engine_run.h"

/* A frame and its table. */
struct made {
    struct experiment x;
    struct recipe r;
    float *pixels;
    struct reflection_table table;
    bool second_look;  // reflections are not announced to the engine
};

static void open_case(struct made *m, const struct engine_case *c)
{
    struct error e = {0};
    *m = (struct made){0};
    if (case_build(c, &m->x, &m->r, &e))
        fail_msg("%s: %s", c->name, e.text);
    m->x.beam.fluence_ph_m2 = 1e28;  // hundreds of reflections above 10 photons
}

static void close_case(struct made *m)
{
    mem_free(m->pixels);
    reflection_table_free(&m->table);
    recipe_free(&m->r);
    experiment_free(&m->x);
}

/* Computes the frame and the table again. */
static void run(struct made *m, const struct engine *engine, const char *isa, int threads,
                const struct reflections_wanted *wanted)
{
    struct plan *plan;
    struct error e = {0};
    const struct engine_options how = {
        .threads = threads, .isa = isa, .reflections = !m->second_look};
    mem_free(m->pixels);
    reflection_table_free(&m->table);
    m->pixels = mem_array((size_t)experiment_pixels(&m->x), sizeof *m->pixels);
    if (engine->create(&plan, &m->x, &how, &e) || engine->run(plan, &m->r, m->pixels, NULL, &e) ||
        engine->reflections(plan, &m->r, m->pixels, wanted, &m->table, &e))
        fail_msg("%s: %s", engine->name, e.text);
    engine->destroy(&plan);
}

static double frame_sum(const struct made *m)
{
    double sum = 0.0;
    for (int64_t i = 0; i < experiment_pixels(&m->x); i++)
        sum += (double)m->pixels[i];
    return sum;
}

static double table_sum(const struct reflection_table *t)
{
    double sum = 0.0;
    for (size_t i = 0; i < t->count; i++)
        sum += t->rows[i].photons;
    return sum;
}

// clang-format off
static const struct engine_case cases[] = {
    {.name = "square", .pixels = 96, .cells = {10}, .table = TABLE_BOX},
    {.name = "square, spread", .pixels = 64, .cells = {12, 9, 7}, .table = TABLE_BOX, .mosaic_deg = 0.5, .domains = 7, .wavelengths = 3},
    {.name = "round, phi", .pixels = 64, .cells = {7, 8, 9}, .shape = SHAPE_ROUND, .phi_steps = 5, .table = TABLE_BOX},
    {.name = "gauss, oversampled", .pixels = 64, .cells = {10}, .shape = SHAPE_GAUSS, .table = TABLE_BOX, .oversample = 2, .mosaic_deg = 0.3, .domains = 4},
    {.name = "gauss, one by one", .pixels = 200, .pixel_mm = 0.4, .cells = {20}, .shape = SHAPE_GAUSS, .table = TABLE_BOX, .mosaic_deg = 0.5, .domains = 5, .phi_steps = 3},
    {.name = "tophat, layers", .pixels = 128, .pixel_mm = 0.4, .cells = {10}, .shape = SHAPE_TOPHAT, .layers = 2, .mosaic_deg = 1, .domains = 20, .wavelengths = 2},
    {.name = "tricubic", .pixels = 64, .cells = {2}, .table = TABLE_BOX, .interpolate = true},
    {.name = "factors of each", .pixels = 48, .cells = {5}, .oversample = 2, .each = true, .layers = 2, .divergence = 2, .wavelengths = 2, .weights = true},
    {.name = "lattices, panels", .pixels = 64, .cells = {10}, .lattices = 3, .panels = 2, .table = TABLE_BOX},
    {.name = "ROI, mask, curved", .pixels = 64, .cells = {5}, .roi = true, .mask = true, .curved = true, .dmin_A = 2},
    {.name = "a crystal's size", .pixels = 64, .pixel_mm = 0.2, .cells = {10}, .table = TABLE_BOX, .size_um = {300, 500, 200}, .beam_um = {400}},
    {.name = "a crystal's size, gauss, panels", .pixels = 96, .pixel_mm = 0.2, .cells = {20}, .shape = SHAPE_GAUSS, .panels = 2, .size_um = {300, 500, 200}, .beam_um = {400}, .mask = true},
    {.name = "indices of few pixels are known before", .pixels = 100, .pixel_mm = 0.9, .cells = {20, 11, 7}, .table = TABLE_BOX, .mosaic_deg = 1.5, .domains = 12, .wavelengths = 5, .lattices = 2, .weights = true},
    {.name = "B factors", .pixels = 100, .pixel_mm = 0.9, .cells = {12, 9, 7}, .table = TABLE_BOX, .mosaic_deg = 0.5, .domains = 7, .wavelengths = 3, .lattices = 2, .b_factor_A2 = 20},
    {.name = "gauss, B factor", .pixels = 64, .cells = {10}, .shape = SHAPE_GAUSS, .table = TABLE_BOX, .oversample = 2, .b_factor_A2 = 30},
    {.name = "many indices a pixel", .pixels = 48, .cells = {25, 9, 7}, .phi_steps = 4, .table = TABLE_BOX, .mosaic_deg = 8, .domains = 30, .layers = 2},
};
// clang-format on
enum { NCASES = sizeof cases / sizeof *cases };

/* ---- the reference ---------------------------------------------------------------------- */

static void all_photons_are_somewhere(void **state)
{
    (void)state;
    const struct reflections_wanted all = {0}, some = {.least_photons = 1000.0};
    for (int i = 0; i < NCASES; i++) {
        struct made m;
        open_case(&m, &cases[i]);
        run(&m, &engine_reference, NULL, 2, &all);
        const double sum = frame_sum(&m);
        if (!(fabs(table_sum(&m.table) / sum - 1.0) < 1e-6))
            fail_msg("%s: %.9g of %.9g photons", cases[i].name, table_sum(&m.table), sum);
        run(&m, &engine_reference, NULL, 2, &some);
        assert_true(fabs((table_sum(&m.table) + m.table.rest_photons) / sum - 1.0) < 1e-9);
        for (size_t k = 0; k < m.table.count; k++)
            assert_true(m.table.rows[k].photons > some.least_photons);
        close_case(&m);
    }
}

/* The cofactors of the reciprocal axes, by Cramer's rule for q = h a* + k b* + l c*. */
static void indices_at(const struct experiment *x, const struct lattice *l, int64_t fast,
                       int64_t slow, long hkl[3])
{
    const struct panel *p = &x->panels[0];
    double d[3], q[3], length = 0.0;
    for (int i = 0; i < 3; i++) {
        d[i] = p->origin_m[i] +
               p->pixel_m * (((double)fast + 0.5) * p->fast[i] + ((double)slow + 0.5) * p->slow[i]);
        length += d[i] * d[i];
    }
    for (int i = 0; i < 3; i++)
        q[i] = 1e-10 * (d[i] / sqrt(length) - x->beam.direction[i]) / x->beam.wavelength_m;
    const double *r = l->reciprocal_A;
    for (int i = 0; i < 3; i++) {
        double m[9];
        for (int k = 0; k < 9; k++)
            m[k] = k / 3 == i ? q[k % 3] : r[k];
#define DET(a)                                                                                     \
    ((a)[0] * ((a)[4] * (a)[8] - (a)[5] * (a)[7]) - (a)[1] * ((a)[3] * (a)[8] - (a)[5] * (a)[6]) + \
     (a)[2] * ((a)[3] * (a)[7] - (a)[4] * (a)[6]))
        hkl[i] = lround(DET(m) / DET(r));
    }
}

/* With one step, a pixel belongs to one reflection as a whole. */
static void pixels_are_sorted_by_their_index(void **state)
{
    (void)state;
    const struct reflections_wanted wanted = {.least_photons = 10.0, .labels = true};
    struct made m;
    open_case(&m, &cases[0]);
    run(&m, &engine_reference, NULL, 1, &wanted);
    assert_true(m.table.count > 100);
    const uint32_t *pixel = m.table.pixels;
    for (size_t i = 0; i < m.table.count; i++) {
        const struct reflection_row *row = &m.table.rows[i];
        double photons = 0.0, fast = 0.0, slow = 0.0, peak = 0.0, within = 0.0, least = HUGE_VAL;
        for (int64_t at = 0; at < 96 * 96; at++) {
            long hkl[3];
            const double value = (double)m.pixels[at];
            indices_at(&m.x, &m.r.lattices[0], at % 96, at / 96, hkl);
            if (hkl[0] != row->hkl[0] || hkl[1] != row->hkl[1] || hkl[2] != row->hkl[2])
                continue;
            photons += value;
            fast += value * ((double)(at % 96) + 0.5);
            slow += value * ((double)(at / 96) + 0.5);
            peak = fmax(peak, value);
            assert_int_equal(m.table.labels[at], value >= 0.1 ? i + 1 : 0);
        }
        for (int32_t k = 0; k < row->pixels; k++, pixel++) {
            within += (double)m.pixels[*pixel];
            least = fmin(least, (double)m.pixels[*pixel]);
            assert_int_equal(m.table.labels[*pixel], i + 1);
        }
        assert_true(fabs(row->photons / photons - 1.0) < 1e-6);
        assert_true(fabs(row->fast - fast / photons) < 1e-5);
        assert_true(fabs(row->slow - slow / photons) < 1e-5);
        assert_true(fabs((double)row->peak / peak - 1.0) < 1e-6);
        assert_true(within >= 0.99 * photons * (1.0 - 1e-6) &&
                    within - least < 0.99 * photons * (1.0 + 1e-6));
        assert_true((double)row->F2 == pow(case_F(row->hkl[0], row->hkl[1], row->hkl[2]), 2.0) ||
                    abs(row->hkl[0]) > 20 || abs(row->hkl[1]) > 24 || abs(row->hkl[2]) > 28);
        assert_true(row->phi_deg == 0.0 && row->background == 0.0f && row->panel == 0);
    }
    assert_int_equal(pixel - m.table.pixels, m.table.npixels);
    close_case(&m);
}

/* A lattice point on the sphere is 0 away; one at q along the beam is inside by as much. */
static void points_inside_the_sphere_are_positive(void **state)
{
    (void)state;
    const struct reflections_wanted wanted = {.least_photons = 100.0};
    struct made m;
    open_case(&m, &cases[0]);
    run(&m, &engine_reference, NULL, 2, &wanted);
    int inside = 0, outside = 0;
    for (size_t i = 0; i < m.table.count; i++) {
        const struct reflection_row *row = &m.table.rows[i];
        const double *a = m.r.lattices[0].reciprocal_A, per_A = 1e-10 / m.x.beam.wavelength_m;
        double length = 0.0;
        for (int j = 0; j < 3; j++) {
            const double exit = row->hkl[0] * a[j] + row->hkl[1] * a[3 + j] +
                                row->hkl[2] * a[6 + j] + per_A * m.x.beam.direction[j];
            length += exit * exit;
        }
        assert_true(fabs(row->s_1_A - (per_A - sqrt(length))) < 1e-9);
        inside += row->s_1_A > 0.0;
        outside += row->s_1_A < 0.0;
    }
    assert_true(inside > 10 && outside > 10);
    close_case(&m);
}

/* Each step of a rotation alone gives photons at its angle. */
static void phi_is_the_mean_over_photons(void **state)
{
    (void)state;
    const struct reflections_wanted all = {0};
    struct engine_case c = cases[2];
    struct made m, one;
    open_case(&m, &c);
    run(&m, &engine_reference, NULL, 2, &all);
    const struct lattice l = m.r.lattices[0];
    double turn = 0.0, expected = 0.0;
    for (size_t i = 0; i < m.table.count; i++)
        turn += m.table.rows[i].photons * m.table.rows[i].phi_deg;
    for (size_t t = 0; t < l.nphi; t++) {
        c.phi_steps = 0;
        open_case(&one, &c);
        memcpy(one.r.lattices[0].cells_m, l.cells_m + 9 * t, 9 * sizeof *l.cells_m);
        run(&one, &engine_reference, NULL, 2, &all);
        expected += frame_sum(&one) / (double)l.nphi * l.phi_rad[t] * 180.0 / M_PI;
        close_case(&one);
    }
    assert_true(expected > 0.0 && fabs(turn / expected - 1.0) < 1e-6);
    close_case(&m);
}

/* ---- other engines ------------------------------------------------------------------------ */

static const struct reflection_row *find(const struct reflection_table *t,
                                         const struct reflection_row *row)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].lattice == row->lattice &&
            memcmp(t->rows[i].hkl, row->hkl, sizeof row->hkl) == 0)
            return &t->rows[i];
    return NULL;
}

/* The worst relative difference of photons and of centroids, in px, of rows above 10 photons. */
static void compare(const struct reflection_table *is, const struct reflection_table *should,
                    const char *name)
{
    double photons = 0.0, away = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < should->count; i++) {
        const struct reflection_row *b = &should->rows[i], *a = find(is, b);
        if (b->photons <= 10.0)
            continue;
        if (!a)
            fail_msg("%s: %d %d %d with %g photons is missing", name, b->hkl[0], b->hkl[1],
                     b->hkl[2], b->photons);
        photons = fmax(photons, fabs(a->photons / b->photons - 1.0));
        away = fmax(away, fmax(fabs(a->fast - b->fast), fabs(a->slow - b->slow)));
        assert_int_equal(a->panel, b->panel);
        assert_true(fabs(a->phi_deg - b->phi_deg) < 1e-4 && fabs(a->s_1_A - b->s_1_A) < 1e-9);
        assert_true(a->F2 == b->F2);
        assert_true(fabs((double)(a->peak - b->peak)) <= 1e-4 * (double)b->peak);
        count++;
    }
    print_message("# %-32s %5zu reflections, photons %.1e, centroids %.1e px\n", name, count,
                  photons, away);
    assert_true(count > 0);
    if (photons > 1e-4 || away > 1e-3)
        fail_msg("%s: photons differ by %g, centroids by %g px", name, photons, away);
}

static void engines_agree_with_the_reference(void **state)
{
    (void)state;
    static const char *const isas[] = {"baseline", "avx2", "avx512", NULL};
    const struct reflections_wanted wanted = {.least_photons = 1.0};
    for (int i = 0; i < NCASES; i++) {
        struct made reference, m;
        open_case(&reference, &cases[i]);
        run(&reference, &engine_reference, NULL, 2, &wanted);
        for (int k = 0; k < 7; k++) {
            const char *isa = isas[k % 4];
            if (isa && !has_isa(isa))
                continue;
            open_case(&m, &cases[i]);
            m.second_look = k >= 4;
            run(&m, isa ? &engine_cpu : &engine_cuda_host, isa, 2, &wanted);
            compare(&m.table, &reference.table, cases[i].name);
            const double sum = frame_sum(&m);
            assert_true(fabs((table_sum(&m.table) + m.table.rest_photons) / sum - 1.0) < 1e-6);
            close_case(&m);
        }
        close_case(&reference);
    }
}

static void assert_same(const struct reflection_table *a, const struct reflection_table *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->npixels, b->npixels);
    assert_int_equal(a->nlabels, b->nlabels);
    assert_memory_equal(a->rows, b->rows, a->count * sizeof *a->rows);
    assert_memory_equal(a->pixels, b->pixels, a->npixels * sizeof *a->pixels);
    if (a->has_slopes)
        assert_memory_equal(a->slopes, b->slopes, a->npixels * sizeof *a->slopes);
    if (a->labels)
        assert_memory_equal(a->labels, b->labels, a->nlabels * sizeof *a->labels);
    assert_true(a->rest_photons == b->rest_photons);
}

/* With labels one thread makes all rows. */
static void threads_do_not_matter(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * NCASES; i++) {
        const struct engine *engine = i < NCASES ? &engine_cpu : &engine_cuda_host;
        const struct reflections_wanted wanted = {
            .least_photons = 1.0, .labels = i % 2, .slopes = !(i % 2)};
        struct made one, m;
        open_case(&one, &cases[i % NCASES]);
        run(&one, engine, NULL, 1, &wanted);
        for (int threads = i < NCASES ? 2 : 5; threads < 6; threads += 3) {
            open_case(&m, &cases[i % NCASES]);
            run(&m, engine, NULL, threads, &wanted);
            assert_same(&one.table, &m.table);
            close_case(&m);
        }
        close_case(&one);
    }
}

/* What a plan keeps from frame to frame has room for more, and is not seen in less. */
static void frames_of_a_plan_are_as_first_ones(void **state)
{
    (void)state;
    const struct reflections_wanted wanted = {.least_photons = 1.0};
    static const struct engine *const engines[] = {&engine_cpu, &engine_cuda_host};
    for (int i = 2; i < 6; i++) {  // the second and the third case
        const struct engine_options how = {.threads = 2, .reflections = true};
        struct made first, m;
        struct plan *plan;
        struct error e = {0};
        open_case(&first, &cases[i / 2]);
        run(&first, engines[i % 2], NULL, 2, &wanted);
        open_case(&m, &cases[i / 2]);
        m.pixels = mem_array((size_t)experiment_pixels(&m.x), sizeof *m.pixels);
        const double weight = m.r.lattices[0].weight;
        assert_int_equal(engines[i % 2]->create(&plan, &m.x, &how, &e), STATUS_OK);
        for (int k = 0; k < 3; k++) {  // next to nothing, then all of it
            m.r.lattices[0].weight = k ? weight : 1e-9;
            reflection_table_free(&m.table);
            assert_int_equal(engines[i % 2]->run(plan, &m.r, m.pixels, NULL, &e), STATUS_OK);
            assert_int_equal(
                engines[i % 2]->reflections(plan, &m.r, m.pixels, &wanted, &m.table, &e),
                STATUS_OK);
        }
        assert_same(&first.table, &m.table);
        engines[i % 2]->destroy(&plan);
        close_case(&m);
        close_case(&first);
    }
}

/* An engine to which reflections were announced computes the same image. */
static void pixels_are_the_same_with_reflections(void **state)
{
    (void)state;
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    const struct reflections_wanted wanted = {.least_photons = 1.0};
    for (int i = 0; i < 3 * NCASES; i++) {
        if (!has_isa(isas[i % 3]))
            continue;
        struct made with, without;
        open_case(&with, &cases[i / 3]);
        open_case(&without, &cases[i / 3]);
        without.second_look = true;
        run(&with, &engine_cpu, isas[i % 3], 2, &wanted);
        run(&without, &engine_cpu, isas[i % 3], 1, &wanted);
        assert_memory_equal(with.pixels, without.pixels,
                            (size_t)experiment_pixels(&with.x) * sizeof *with.pixels);
        close_case(&with);
        close_case(&without);
    }
}

/* Three lattices. Each alone has one step, and therefore one reflection per pixel. */
static void labels_name_the_brightest(void **state)
{
    (void)state;
    enum { PIXELS = 2 * 64 * 64 };
    const struct reflections_wanted wanted = {.labels = true};
    struct made all, one;
    static float most[PIXELS];
    static uint32_t label[PIXELS];
    open_case(&all, &cases[8]);
    run(&all, &engine_reference, NULL, 2, &wanted);
    for (size_t l = 0; l < 3; l++) {
        open_case(&one, &cases[8]);
        const struct recipe whole = one.r;
        one.r.lattices += l;
        one.r.nlattices = 1;
        run(&one, &engine_reference, NULL, 2, &wanted);
        for (size_t i = 0; i < PIXELS; i++) {
            if (one.pixels[i] <= most[i] || one.table.labels[i] == 0)
                continue;
            struct reflection_row row = one.table.rows[one.table.labels[i] - 1];
            row.lattice = (int32_t)l;
            most[i] = one.pixels[i];
            label[i] = (uint32_t)(find(&all.table, &row) - all.table.rows) + 1;
        }
        one.r = whole;
        close_case(&one);
    }
    assert_memory_equal(all.table.labels, label, sizeof label);
    close_case(&all);
}

/* Also in faithful physics, whose factors multiply sums; and without lattices. */
static void faithful_sums_are_shared_too(void **state)
{
    (void)state;
    const struct reflections_wanted all = {0};
    for (int i = 0; i < 2; i++) {
        struct made m;
        open_case(&m, &cases[i ? 7 : 1]);
        m.x.physics = PHYSICS_FAITHFUL;
        run(&m, &engine_reference, NULL, 1, &all);
        assert_true(fabs(table_sum(&m.table) / frame_sum(&m) - 1.0) < 1e-6);
        close_case(&m);
    }
}

static void blank_frames_have_none(void **state)
{
    (void)state;
    static const struct engine *const engines[] = {&engine_reference, &engine_cpu,
                                                   &engine_cuda_host};
    const struct reflections_wanted all = {.labels = true};
    for (int i = 0; i < 6; i++) {
        struct made m;
        open_case(&m, &cases[0]);
        const struct recipe lit = m.r;
        m.r = (struct recipe){.id = 3};
        m.x.water_m = i % 2 ? 1e-6 : 0.0;
        run(&m, engines[i / 2], NULL, 2, &all);
        assert_true(m.table.present && m.table.count == 0 && m.table.npixels == 0);
        assert_true(m.table.nlabels == 96 * 96);
        assert_true(m.table.rest_photons == frame_sum(&m) &&
                    (m.table.rest_photons > 0.0) == (i % 2));
        m.r = lit;
        close_case(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_photons_are_somewhere),
        cmocka_unit_test(pixels_are_sorted_by_their_index),
        cmocka_unit_test(points_inside_the_sphere_are_positive),
        cmocka_unit_test(phi_is_the_mean_over_photons),
        cmocka_unit_test(engines_agree_with_the_reference),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(frames_of_a_plan_are_as_first_ones),
        cmocka_unit_test(pixels_are_the_same_with_reflections),
        cmocka_unit_test(labels_name_the_brightest),
        cmocka_unit_test(faithful_sums_are_shared_too),
        cmocka_unit_test(blank_frames_have_none),
    };
    return unit_run(tests);
}
