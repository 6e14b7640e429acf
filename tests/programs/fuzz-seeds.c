/*
 * fuzz-seeds FOLDER RECORDINGS: valid messages in the form that tests/fuzz/wire.c
 * takes, and recordings, so that the fuzzers start behind the first checks.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/codec.h"
#include "wire/control.h"
#include "wire/message.h"
#include "wire/recording.h"

/* Seals *m and writes FOLDER/NAME: the choosing byte, then every part behind its
 * length.  Frees *m; 0 when all went well. */
static int save(const char *folder, const char *name, int which, enum message_type type,
                struct message *m)
{
    struct route r = {.type = type, .run = 1, .stage = "seed"};
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    route_seal(&r, m);
    FILE *out = fopen(path, "wb");
    if (out)
        (void)fputc(which, out);
    for (size_t i = 0; out && i < m->nparts; i++) {
        const struct part *part = &m->parts[i];
        (void)fputc((int)(part->size & 255), out);
        (void)fputc((int)(part->size >> 8 & 255), out);
        (void)fwrite(part->data, 1, part->size, out);
    }
    message_free(m);
    return out ? fclose(out) : 1;
}

/* The message borrows arrays of the experiment, which last. */
static int encode_experiment(struct message *m)
{
    static double F[] = {7};
    static struct panel panel = {
        .fast_pixels = 2, .slow_pixels = 2, .layers = 1, .roi = {0, 1, 0, 1}};
    static struct crystal crystal = {.name = "seed", .table = {.count = {1, 1, 1}, .F = F}};
    static struct source source = {.direction = {-1, 0, 0}, .wavelength_m = 1e-10, .weight = 1};
    struct experiment x = {.npanels = 1, .panels = &panel, .ncrystals = 1, .crystals = &crystal};
    x.beam.nsources = 1;
    x.beam.sources = &source;
    x.sampling.oversample = 1;
    return codec_experiment_encode(&x, m, NULL) != STATUS_OK;
}

/* A plane of all four pixels, or one of two. */
static int add_plane(struct planes *p, bool listed)
{
    static const uint32_t numbers[] = {1, 3};
    if (!planes_reserve(p, 1))
        return 1;
    (void)snprintf(p->items->name, sizeof p->items->name, "rot_x");
    p->items->count = listed ? 2 : 4;
    p->items->values = mem_array(p->items->count, sizeof *p->items->values);
    if (listed)
        p->pixels = (struct planes_pixels){true, 2, mem_copy(numbers, 2, sizeof *numbers)};
    return !p->items->values || (listed && !p->pixels.numbers);
}

enum content { RECIPE, IMAGE, PLANES, LISTED };

static int encode_frame(enum content content, struct message *m)
{
    const bool image = content != RECIPE;
    struct frame f = {.recipe = {.id = 3, .seed = 4, .nlattices = 1}};
    f.recipe.lattices = mem_array(1, sizeof *f.recipe.lattices);
    if (!f.recipe.lattices || !lattice_reserve(f.recipe.lattices, 1, 1) ||
        (image && !image_reserve(&f.image, PIXEL_F32, UNIT_PHOTONS, 4)) ||
        (content >= PLANES && add_plane(&f.planes, content == LISTED)))
        return 1;
    return codec_frame_encode(&f, "", m, NULL) != STATUS_OK;
}

static int save_experiment(const char *folder)
{
    struct message m = {0};
    return encode_experiment(&m) || save(folder, "experiment", 0, MESSAGE_EXPERIMENT, &m);
}

static int save_frame(const char *folder, const char *name, enum content content)
{
    struct message m = {0};
    return encode_frame(content, &m) || save(folder, name, 1, MESSAGE_FRAME, &m);
}

static int save_control(const char *folder)
{
    struct hello h = {.uuid = "0123456789abcdef0123456789abcdef", .stage = "seed", .wants = 2};
    struct id_range held = {1, 5};
    struct notice n = {.nids = 1, .ids = &held};
    struct message hello = {0}, ack = {0};
    return control_hello_encode(&h, &hello, NULL) ||
           save(folder, "hello", 0x11, MESSAGE_HELLO, &hello) ||
           control_notice_encode(MESSAGE_ACK, &n, &ack, NULL) ||
           save(folder, "ack", 0xc5, MESSAGE_ACK, &ack);
}

static int save_status(const char *folder)
{
    struct process_status p = {.stage = "seed", .group = "seeds", .pid = 7, .work = {.frames = 3}};
    struct run_status r = {.known = true, .total = 9, .nprocesses = 1, .processes = &p};
    struct message m = {0};
    return control_status_encode(&r, &m, NULL) || save(folder, "status", 0x08, MESSAGE_STATUS, &m);
}

static int save_recording(const char *folder)
{
    char path[512];
    struct recorder recorder;
    struct message x = {0}, f = {0};
    struct route r = {.type = MESSAGE_EXPERIMENT, .stage = "seed", .flags = 3};
    (void)snprintf(path, sizeof path, "%s/recording", folder);
    int bad = encode_experiment(&x);
    route_seal(&r, &x);
    bad = bad || recorder_open(&recorder, path, RECORDER_REPLACE, &r, &x, NULL);
    r = (struct route){.type = MESSAGE_FRAME, .frame = 3, .stage = "seed", .flags = 3};
    bad = bad || encode_frame(IMAGE, &f);
    route_seal(&r, &f);
    bad = bad || recorder_add(&recorder, &r, &f, NULL) || recorder_finish(&recorder, NULL);
    message_free(&x);
    message_free(&f);
    return bad;
}

int main(int argc, char **argv)
{
    return argc != 3 || save_recording(argv[2]) || save_experiment(argv[1]) ||
           save_frame(argv[1], "recipe", RECIPE) || save_frame(argv[1], "image", IMAGE) ||
           save_frame(argv[1], "planes", PLANES) || save_frame(argv[1], "listed", LISTED) ||
           save_control(argv[1]) || save_status(argv[1]);
}
