/* Experiments, frames and notices: there and back, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/hash.h"
#include "wire/codec.h"
#include "wire/control.h"
#include "wire/route.h"

static uint64_t seed = 1;

static uint64_t draw(uint64_t below)
{
    return hash_finish(seed++) % below;
}

static double draw_real(void)
{
    return ((double)draw(2000001) - 1e6) * 1.37e-5;
}

static void fill(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = draw_real();
}

static void random_panel(struct panel *p, int64_t first)
{
    *p = (struct panel){.fast_pixels = 1 + (int64_t)draw(7), .slow_pixels = 1 + (int64_t)draw(5)};
    p->first_pixel = first;
    p->layers = 1;
    p->curved = draw(2);
    p->point_pixel = draw(2);
    p->pixel_m = draw_real();
    p->twotheta_rad = draw_real();
    p->beam_x_mm = draw_real();
    p->absorption_1_m = draw_real();
    fill(p->fast, 3);
    fill(p->slow, 3);
    fill(p->normal, 3);
    fill(p->origin_m, 3);
    p->roi = (struct roi){0, p->fast_pixels - 1, 0, p->slow_pixels - 1};
    if (draw(2)) {
        p->mask = mem_array((size_t)(p->fast_pixels * p->slow_pixels), 1);
        p->mask[0] = 1;
    }
}

static void random_crystal(struct crystal *c)
{
    (void)snprintf(c->name, sizeof c->name, "crystal %d", (int)draw(1000));
    fill(c->cell_A, 3);
    fill(c->reciprocal_A, 9);
    c->shape = (enum crystal_shape)draw(4);
    c->table.default_F = draw_real();
    if (draw(2)) {
        for (int i = 0; i < 3; i++) {
            c->table.min[i] = -(int)draw(9);
            c->table.count[i] = 1 + (int)draw(4);
        }
        const size_t n = (size_t)(c->table.count[0] * c->table.count[1] * c->table.count[2]);
        c->table.F = mem_array(n, sizeof(double));
        fill(c->table.F, n);
    }
}

static void random_experiment(struct experiment *x)
{
    *x = (struct experiment){
        .convention = (enum convention)draw(6), .npanels = 1 + draw(4), .ncrystals = draw(4)};
    x->panels = mem_array(x->npanels, sizeof *x->panels);
    int64_t first = 0;
    for (size_t i = 0; i < x->npanels; i++) {
        random_panel(&x->panels[i], first);
        first += x->panels[i].fast_pixels * x->panels[i].slow_pixels;
    }
    if (x->ncrystals)
        x->crystals = mem_array(x->ncrystals, sizeof *x->crystals);
    for (size_t i = 0; i < x->ncrystals; i++)
        random_crystal(&x->crystals[i]);
    x->beam.nsources = draw(5);
    x->beam.sources = mem_array(x->beam.nsources, sizeof *x->beam.sources);
    fill((double *)(void *)x->beam.sources, 5 * x->beam.nsources);
    x->beam.fluence_ph_m2 = 1e24;
    x->gain = draw_real();
    x->sampling.oversample = (int)draw(9);
    (void)snprintf(x->lineage, sizeof x->lineage, "%016x", (unsigned)draw(UINT32_MAX));
}

static void random_frame(struct frame *f, const struct experiment *x, bool image)
{
    *f = (struct frame){
        .recipe = {.id = draw(1000), .seed = UINT64_MAX - draw(9), .nlattices = draw(4)}};
    struct recipe *r = &f->recipe;
    r->nlattices = x->ncrystals ? r->nlattices : 0;
    if (r->nlattices)
        r->lattices = mem_array(r->nlattices, sizeof *r->lattices);
    for (size_t i = 0; i < r->nlattices; i++) {
        struct lattice *l = &r->lattices[i];
        assert_true(lattice_reserve(l, 1 + draw(3), 1 + draw(3)));
        l->crystal = (uint32_t)draw(x->ncrystals);
        l->mosaic = draw(2);
        l->weight = draw_real();
        fill(l->rotation, 9);
        fill(l->phi_rad, l->nphi);
        fill(l->cells_m, 9 * l->nphi);
        fill(l->domains, 9 * l->ndomains);
    }
    if (image) {
        assert_true(image_reserve(&f->image, (enum pixel_type)draw(4), UNIT_ADU,
                                  (size_t)experiment_pixels(x)));
        memset(f->image.pixels, (int)draw(256), f->image.count * pixel_size(f->image.type));
    }
}

/* Two messages hold the same bytes. */
static void assert_same(const struct message *a, const struct message *b)
{
    assert_int_equal(a->nparts, b->nparts);
    for (size_t i = 1; i < a->nparts; i++) {
        assert_int_equal(a->parts[i].size, b->parts[i].size);
        assert_memory_equal(a->parts[i].data, b->parts[i].data, a->parts[i].size);
    }
}

static void seal(struct message *m, enum message_type type)
{
    struct route r = {
        .type = type, .run = 77, .incarnation = 1, .frame = 5, .stage = "test", .flags = 3};
    assert_int_equal(route_seal(&r, m, NULL), 0);
}

static void experiments_survive(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        struct experiment x, y;
        struct message a = {0}, b = {0};
        struct error e = {0};
        random_experiment(&x);
        assert_int_equal(codec_experiment_encode(&x, &a, &e), 0);
        if (codec_experiment_decode(&y, &a, &e))
            fail_msg("%s", e.text);
        assert_int_equal(codec_experiment_encode(&y, &b, &e), 0);
        assert_same(&a, &b);
        assert_int_equal(y.npanels, x.npanels);
        assert_int_equal(y.ncrystals, x.ncrystals);
        assert_memory_equal(y.panels[0].fast, x.panels[0].fast, sizeof x.panels[0].fast);
        assert_string_equal(y.lineage, x.lineage);
        message_free(&a);
        message_free(&b);
        experiment_free(&x);
        experiment_free(&y);
    }
}

static void frames_survive(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        struct experiment x;
        struct frame f, g;
        struct message a = {0}, b = {0};
        struct error e = {0};
        random_experiment(&x);
        const struct codec_expected expected = codec_expect(&x);
        random_frame(&f, &x, i % 2);
        const uint64_t id = f.recipe.id;
        const void *pixels = f.image.pixels;
        assert_int_equal(codec_frame_encode(&f, x.lineage, &a, &e), 0);
        assert_null(f.image.pixels);
        if (codec_frame_decode(&g, &expected, &a, &e))
            fail_msg("%s", e.text);
        assert_true(g.recipe.id == id && g.image.pixels == pixels);
        assert_int_equal(codec_frame_encode(&g, x.lineage, &b, &e), 0);
        assert_int_equal(a.nparts, b.nparts);
        assert_memory_equal(a.parts[1].data, b.parts[1].data, a.parts[1].size);
        message_free(&a);
        message_free(&b);
        experiment_free(&x);
    }
}

/* Every member of the structs is in a table: a struct of random bytes in which
 * one is forgotten would come back with a zero there. */
static void nothing_is_forgotten(void **state)
{
    (void)state;
    /* static: padding is zero, so that whole structs can be compared */
    static struct panel panel = {.fast_pixels = 2,
                                 .slow_pixels = 3,
                                 .layers = 4,
                                 .roi = {0, 1, 1, 2},
                                 .curved = true,
                                 .point_pixel = true,
                                 .thickness_m = 2,
                                 .layer_m = 3,
                                 .absorption_1_m = 4,
                                 .beam_fast_m = 5,
                                 .beam_slow_m = 6,
                                 .close_fast_m = 7,
                                 .close_slow_m = 8,
                                 .beam_x_mm = 9,
                                 .beam_y_mm = 10,
                                 .twotheta_rad = 11,
                                 .grid_fast = 12,
                                 .grid_slow = 13,
                                 .grid_m = {14, 15, 16}};
    fill(&panel.pixel_m,
         (offsetof(struct panel, curved) - offsetof(struct panel, pixel_m)) / sizeof(double));
    static struct crystal crystal = {.name = "n",
                                     .cell_A = {1, 2, 3},
                                     .cell_rad = {1, 1, 2},
                                     .has_cell = true,
                                     .reciprocal_A = {1, 2, 3, 4, 5, 6, 7, 8, 9},
                                     .cells = {1, 2, 3},
                                     .shape = SHAPE_GAUSS,
                                     .fudge = 2,
                                     .interpolate = true,
                                     .table.default_F = 3};
    static struct experiment a = {.physics = PHYSICS_FAITHFUL,
                                  .convention = CONVENTION_XDS,
                                  .spindle = {1, 0, 0},
                                  .dmin_m = 1,
                                  .water_m = 2,
                                  .sampling = {3, true, true, true},
                                  .beam = {{1, 2, 3}, {4, 5, 6}, 7, true, 8, 9, 10, 0, NULL},
                                  .npanels = 1,
                                  .panels = &panel,
                                  .ncrystals = 1,
                                  .crystals = &crystal,
                                  .adc_offset = 4,
                                  .gain = 5,
                                  .saturation = 6,
                                  .lineage = "0123456789abcdef"},
                             b;
    struct message m = {0};
    assert_int_equal(codec_experiment_encode(&a, &m, NULL), 0);
    assert_int_equal(codec_experiment_decode(&b, &m, NULL), 0);
    assert_memory_equal(b.panels, &panel, sizeof panel);
    assert_memory_equal(b.crystals, &crystal, sizeof crystal);
    struct panel *panels = b.panels;
    struct crystal *crystals = b.crystals;
    b.panels = a.panels;
    b.crystals = a.crystals;
    assert_memory_equal(&b, &a, sizeof a);
    mem_free(panels);
    mem_free(crystals);
    message_free(&m);
}

/* The most panels that bragg-geometry makes, each with a mask, fit into a message. */
static void a_thousand_panels_fit(void **state)
{
    (void)state;
    enum { PANELS = 1000 };
    static struct panel panels[PANELS];
    static uint8_t mask[4] = {1, 0, 0, 1};
    for (int i = 0; i < PANELS; i++)
        panels[i] = (struct panel){.fast_pixels = 2,
                                   .slow_pixels = 2,
                                   .first_pixel = 4 * (int64_t)i,
                                   .grid_fast = INT32_MAX - 2 - i,
                                   .roi = {0, 1, 0, 1},
                                   .mask = mask};
    struct experiment a = {.npanels = PANELS, .panels = panels}, b;
    struct message m = {0};
    struct error e = {0};
    if (codec_experiment_encode(&a, &m, &e) || codec_experiment_decode(&b, &m, &e))
        fail_msg("%s", e.text);
    assert_int_equal(b.npanels, PANELS);
    assert_int_equal(b.panels[PANELS - 1].grid_fast, INT32_MAX - 1 - PANELS);
    assert_memory_equal(b.panels[PANELS - 1].mask, mask, sizeof mask);
    experiment_free(&b);
    message_free(&m);
    panels[7].grid_slow = INT32_MAX;
    assert_int_equal(codec_experiment_encode(&a, &m, &e), STATUS_OK);
    assert_int_equal(codec_experiment_decode(&b, &m, &e), STATUS_INPUT);
    experiment_free(&b);
    message_free(&m);
}

static struct message copy_of(const struct message *m)
{
    struct message copy = {0};
    for (size_t i = 0; i < m->nparts; i++) {
        const size_t size = m->parts[i].size;
        void *bytes = mem_array(size, 1);
        if (size)
            memcpy(bytes, m->parts[i].data, size);
        assert_int_equal(message_add(&copy, (struct part){bytes, size, mem_free, bytes}, NULL), 0);
    }
    return copy;
}

/* What a receiver does with a message of a stranger: must survive anything. */
static bool receive(struct message *m, const struct codec_expected *expected)
{
    struct route r;
    bool good = route_open(&r, m, NULL) == STATUS_OK && route_sum_matches(&r, m);
    if (good && r.type == MESSAGE_EXPERIMENT) {
        struct experiment x;
        good = codec_experiment_decode(&x, m, NULL) == STATUS_OK;
        experiment_free(&x);
    } else if (good && r.type == MESSAGE_FRAME) {
        struct frame f;
        good = codec_frame_decode(&f, expected, m, NULL) == STATUS_OK;
        frame_free(&f);
    } else if (good && r.type == MESSAGE_HELLO) {
        struct hello h;
        good = control_hello_decode(&h, m, NULL) == STATUS_OK;
        hello_free(&h);
    } else if (good && r.type == MESSAGE_STATUS) {
        struct run_status status;
        good = control_status_decode(&status, m, NULL) == STATUS_OK;
        run_status_free(&status);
    } else if (good) {
        struct notice n;
        good = control_notice_decode(r.type, &n, m, NULL) == STATUS_OK;
        notice_free(&n);
    }
    return good;
}

/* Changes every byte of parts 0 and 1, cuts them at every length, and drops, adds
 * and cuts payload parts. */
static void attack(const struct message *good, const struct codec_expected *expected)
{
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0x90, 0xc0, 0xc1,
                                     0xc6, 0xcb, 0xcf, 0xdd, 0xdf, 0xff};
    for (size_t part = 0; part < 2; part++) {
        for (size_t i = 0; i < good->parts[part].size; i++) {
            for (size_t v = 0; v <= sizeof values; v++) {
                struct message m = copy_of(good);
                uint8_t *byte = (uint8_t *)m.parts[part].data + i;
                *byte = v < sizeof values ? values[v] : *byte ^ 1;
                (void)receive(&m, expected);
                message_free(&m);
            }
            struct message m = copy_of(good);
            m.parts[part].size = i;
            assert_false(receive(&m, expected));
            message_free(&m);
        }
    }
    for (size_t i = 2; i < good->nparts; i++) {
        struct message m = copy_of(good);
        m.parts[i].size--;
        assert_false(receive(&m, expected));
        message_free(&m);
        m = copy_of(good);
        ((uint8_t *)m.parts[i].data)[m.parts[i].size / 2] ^= 16;
        assert_false(receive(&m, expected));
        message_free(&m);
        m = copy_of(good);
        struct part last = message_take(&m, m.nparts - 1);
        m.nparts--;
        last.release(last.owner);
        assert_false(receive(&m, expected));
        message_free(&m);
    }
}

static void mutations_do_not_crash(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct experiment x;
        struct frame f;
        struct message m = {0};
        random_experiment(&x);
        const struct codec_expected expected = codec_expect(&x);
        assert_int_equal(codec_experiment_encode(&x, &m, NULL), 0);
        seal(&m, MESSAGE_EXPERIMENT);
        assert_true(receive(&m, &expected));
        attack(&m, &expected);
        message_free(&m);
        random_frame(&f, &x, i % 2);
        assert_int_equal(codec_frame_encode(&f, x.lineage, &m, NULL), 0);
        seal(&m, MESSAGE_FRAME);
        struct message copy = copy_of(&m);
        assert_true(receive(&copy, &expected));
        message_free(&copy);
        attack(&m, &expected);
        message_free(&m);
        experiment_free(&x);
    }
}

static void notices_survive(void **state)
{
    (void)state;
    struct id_range ids[] = {{0, 3}, {7, 7}, {UINT64_MAX - 1, UINT64_MAX}};
    struct notice in = {.grant = 8,
                        .progress = 9,
                        .known = true,
                        .total = 12,
                        .status = 130,
                        .pid = 5,
                        .reason = "why",
                        .nids = 3,
                        .ids = ids};
    in.work.wait_out_ns = in.until = UINT64_MAX;
    for (int type = MESSAGE_CREDIT; type <= MESSAGE_POOL; type++) {
        if (type == MESSAGE_STATUS)
            continue;
        struct notice out;
        struct message m = {0};
        if (strcmp(message_type_name((enum message_type)type), "?") == 0)
            continue;
        assert_int_equal(control_notice_encode((enum message_type)type, &in, &m, NULL), 0);
        seal(&m, (enum message_type)type);
        assert_int_equal(control_notice_decode((enum message_type)type, &out, &m, NULL), 0);
        if (out.nids)
            assert_memory_equal(out.ids, ids, sizeof ids);
        assert_true(out.nids == 3 || out.known || out.status == 130 || out.pid == 5);
        assert_true(out.work.wait_out_ns == (type == MESSAGE_HEARTBEAT ? UINT64_MAX : 0));
        assert_true(out.until == (type == MESSAGE_ORDER ? UINT64_MAX : 0));
        attack(&m, NULL);
        notice_free(&out);
        message_free(&m);
    }
}

static void statuses_survive(void **state)
{
    (void)state;
    struct process_status p[] = {
        {.stage = "bragg-orient", .pid = 5, .held = 3},
        {.stage = "bragg-write", .group = "g", .hops = 1, .durable = true}};
    struct run_status in = {.known = true,
                            .total = 9,
                            .issued = 8,
                            .acknowledged = 7,
                            .window = 32,
                            .elapsed_ns = UINT64_MAX,
                            .unlisted = 1,
                            .nprocesses = 2,
                            .processes = p},
                      out;
    struct message m = {0};
    p[1].work.frames = 7;
    assert_int_equal(control_status_encode(&in, &m, NULL), 0);
    seal(&m, MESSAGE_STATUS);
    assert_int_equal(control_status_decode(&out, &m, NULL), 0);
    assert_memory_equal(out.processes, p, sizeof p);
    assert_int_equal(out.issued, 8);
    assert_true(out.elapsed_ns == UINT64_MAX);
    run_status_free(&out);
    attack(&m, NULL);
    message_free(&m);
}

static void the_largest_status_fits(void **state)
{
    (void)state;
    static struct process_status p[STATUS_PROCESSES_MAX];
    struct run_status r = {.nprocesses = STATUS_PROCESSES_MAX, .processes = p};
    struct message m = {0};
    for (size_t i = 0; i < STATUS_PROCESSES_MAX; i++) {
        memset(&p[i], 0xff, sizeof p[i]);
        memset(p[i].stage, 'x', sizeof p[i].stage - 1);
        memset(p[i].group, 'x', sizeof p[i].group - 1);
        p[i].stage[sizeof p[i].stage - 1] = p[i].group[sizeof p[i].group - 1] = 0;
        p[i].pid = INT64_MIN;
        p[i].durable = true;
    }
    assert_int_equal(control_status_encode(&r, &m, NULL), 0);
    message_free(&m);
}

static enum status decode_heartbeat(const char *map, size_t size, struct notice *n)
{
    struct message m = {0};
    assert_int_equal(message_add(&m, (struct part){0}, NULL), 0);
    assert_int_equal(message_add(&m, (struct part){(void *)(uintptr_t)map, size, NULL, NULL}, NULL),
                     0);
    const enum status s = control_notice_decode(MESSAGE_HEARTBEAT, n, &m, NULL);
    message_free(&m);
    return s;
}

/* Heartbeats of stages that tell nothing about their work, as in other languages. */
static void what_is_optional_may_be_missing(void **state)
{
    (void)state;
    static const char plain[] = "\x82\xa3ids\x90\xa8progress\x05",
                      newer[] = "\x84\xa3ids\x90\xa8progress\x05\xa1w\xc0\xa1z\x01",
                      lacks[] = "\x81\xa3ids\x90";
    struct notice n;
    assert_int_equal(decode_heartbeat(plain, sizeof plain - 1, &n), 0);
    assert_int_equal(n.progress, 5);
    assert_true(n.work.time_ns == 0);
    assert_int_equal(decode_heartbeat(newer, sizeof newer - 1, &n), 0);
    assert_int_equal(n.progress, 5);
    assert_int_equal(decode_heartbeat(lacks, sizeof lacks - 1, &n), STATUS_INPUT);
}

static void hellos_survive(void **state)
{
    (void)state;
    struct upstream up[] = {{"one"}, {"two"}};
    static struct hello in = {.uuid = "0123",
                              .stage = "bragg-x",
                              .wants = 2,
                              .gives = 3,
                              .group = "g",
                              .identity = "any",
                              .control = "ipc:///x",
                              .downstream = true,
                              .durable = true,
                              .pid = 42,
                              .nupstreams = 2};
    in.upstreams = up;
    struct hello out;
    struct message m = {0};
    assert_int_equal(control_hello_encode(&in, &m, NULL), 0);
    seal(&m, MESSAGE_HELLO);
    assert_int_equal(control_hello_decode(&out, &m, NULL), 0);
    assert_string_equal(out.upstreams[1].uuid, "two");
    mem_free(out.upstreams);
    out.upstreams = up;
    assert_memory_equal(&out, &in, sizeof in);
    attack(&m, NULL);
    message_free(&m);
}

static void bad_numbers_are_named(void **state)
{
    (void)state;
    struct experiment x;
    struct message m = {0};
    struct error e = {0};
    random_experiment(&x);
    x.panels[0].distance_m = NAN;
    assert_int_equal(codec_experiment_encode(&x, &m, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "distance_m"));
    message_free(&m);
    x.panels[0].distance_m = 1;
    x.panels[0].roi.fast_max = x.panels[0].fast_pixels;
    struct experiment y;
    assert_int_equal(codec_experiment_encode(&x, &m, &e), 0);
    assert_int_equal(codec_experiment_decode(&y, &m, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "ROI"));
    experiment_free(&y);
    message_free(&m);
    experiment_free(&x);
}

/* What a stage that cannot read shared memory says, and what a later one may add. */
static void keys_may_be_absent(void **state)
{
    (void)state;
    static uint8_t plain[] = "\x82\xa5grant\x02\xa3ids\x90",
                   one[] = "\x83\xa5grant\x02\xa3ids\x90\xa5slots\x06",
                   foreign[] = "\x84\xa5grant\x02\xa3ids\x90\xa6sender\x01\xa6shared\xc3",
                   wrong[] = "\x83\xa5grant\x02\xa3ids\x90\xa6shared\x01";
    struct message m = {0};
    struct notice n;
    for (int i = 0; i < 2; i++)
        assert_int_equal(message_add(&m, (struct part){0}, NULL), 0);
    m.parts[1] = (struct part){.data = plain, .size = sizeof plain - 1};
    assert_int_equal(control_notice_decode(MESSAGE_CREDIT, &n, &m, NULL), STATUS_OK);
    assert_int_equal(n.grant, 2);
    assert_false(n.shared || n.slots);
    m.parts[1] = (struct part){.data = one, .size = sizeof one - 1};
    assert_int_equal(control_notice_decode(MESSAGE_CREDIT, &n, &m, NULL), STATUS_OK);
    assert_true(!n.shared && n.slots == 6);
    m.parts[1] = (struct part){.data = foreign, .size = sizeof foreign - 1};
    assert_int_equal(control_notice_decode(MESSAGE_CREDIT, &n, &m, NULL), STATUS_OK);
    assert_true(n.shared && !n.slots);
    m.parts[1] = (struct part){.data = wrong, .size = sizeof wrong - 1};
    assert_int_equal(control_notice_decode(MESSAGE_CREDIT, &n, &m, NULL), STATUS_INPUT);
    message_free(&m);
}

/* The maker of an image may have formed its sum: it is believed, and the rest is added. */
static void known_sums_are_used(void **state)
{
    (void)state;
    struct route formed = {.type = MESSAGE_FRAME}, known = formed;
    struct message m = {0};
    uint8_t payload[] = {1, 2, 3, 4, 5};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(
            message_add(&m, (struct part){.data = payload, .size = i < 2 ? 0 : 5}, NULL), 0);
    assert_int_equal(route_seal(&formed, &m, NULL), 0);
    m.has_sum = true;
    m.sum = crc32c(0, payload, 5);
    assert_int_equal(route_seal(&known, &m, NULL), 0);
    assert_int_equal(known.payload_crc, formed.payload_crc);
    m.sum++;
    assert_int_equal(route_seal(&known, &m, NULL), 0);
    assert_int_not_equal(known.payload_crc, formed.payload_crc);
    message_free(&m);
}

static void routes_survive_and_are_short(void **state)
{
    (void)state;
    struct route r = {.type = MESSAGE_FRAME,
                      .run = UINT64_MAX,
                      .incarnation = UINT32_MAX,
                      .frame = UINT64_MAX,
                      .attempt = UINT32_MAX,
                      .stage = "a-name-of-thirty-one-characters",
                      .flags = UINT32_MAX},
                 got;
    struct message m = {0};
    uint8_t payload[] = {1, 2, 3};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(message_add(&m, (struct part){payload, i == 2 ? 3 : 0, NULL, NULL}, NULL),
                         0);
    assert_int_equal(route_seal(&r, &m, NULL), 0);
    assert_true(m.parts[0].size <= MESSAGE_ROUTE_MAX);
    assert_int_equal(route_open(&got, &m, NULL), 0);
    assert_memory_equal(&got, &r, sizeof r);
    assert_true(route_sum_matches(&got, &m));
    payload[1] = 0;
    assert_false(route_sum_matches(&got, &m));
    ((uint8_t *)m.parts[0].data)[1] = 2;
    struct error e;
    assert_int_equal(route_open(&got, &m, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "version 2"));
    message_free(&m);
}

/* No bit of parts 0 and 1 can change unseen, except where 0 says that there is no sum. */
static void damaged_heads_are_seen(void **state)
{
    (void)state;
    struct route r = {.type = MESSAGE_CREDIT, .run = 1, .incarnation = 1, .stage = "x"}, got;
    struct message m = {0};
    uint8_t keys[] = {0x82, 1, 2, 3, 4, 5, 6, 7};
    assert_int_equal(message_add(&m, (struct part){NULL, 0, NULL, NULL}, NULL), 0);
    assert_int_equal(message_add(&m, (struct part){keys, sizeof keys, NULL, NULL}, NULL), 0);
    assert_int_equal(route_seal(&r, &m, NULL), 0);
    assert_int_equal(route_open(&got, &m, NULL), 0);
    for (size_t part = 0; part < 2; part++)
        for (size_t bit = 0; bit < 8 * m.parts[part].size; bit++) {
            uint8_t *byte = (uint8_t *)m.parts[part].data + bit / 8;
            *byte ^= (uint8_t)(1u << bit % 8);
            assert_int_equal(route_open(&got, &m, NULL), STATUS_INPUT);
            *byte ^= (uint8_t)(1u << bit % 8);
        }
    message_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experiments_survive),
        cmocka_unit_test(frames_survive),
        cmocka_unit_test(nothing_is_forgotten),
        cmocka_unit_test(a_thousand_panels_fit),
        cmocka_unit_test(mutations_do_not_crash),
        cmocka_unit_test(notices_survive),
        cmocka_unit_test(statuses_survive),
        cmocka_unit_test(the_largest_status_fits),
        cmocka_unit_test(what_is_optional_may_be_missing),
        cmocka_unit_test(hellos_survive),
        cmocka_unit_test(bad_numbers_are_named),
        cmocka_unit_test(routes_survive_and_are_short),
        cmocka_unit_test(keys_may_be_absent),
        cmocka_unit_test(known_sums_are_used),
        cmocka_unit_test(damaged_heads_are_seen),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
