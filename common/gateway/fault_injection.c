#include "gateway/fault_injection.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/opt.h"
#include "base/rng.h"

enum { NAN_STEP = 10 };
static const double LIE = 0.05;  // relative change of a number
static const double STALL_S = 5, STALL_MAX_S = 86400;

static const char *const names[] = {"-",
#define FAULT(name, text) #text,
                                    FAULTS
#undef FAULT
};

const char *fault_name(enum fault f)
{
    return names[f];
}

/* --- options: kinds and probabilities of faults -------------------------------- */

/* Parses one KIND:PROBABILITY[:SECONDS] into *f.  Changes `word`. */
static enum status parse_one(struct faults *f, char *word, struct error *e)
{
    char *probability = strchr(word, ':');
    int kind = 1;
    if (probability)
        *probability++ = 0;
    while (kind < FAULT_KINDS && strcmp(names[kind], word) != 0)
        kind++;
    if (kind == FAULT_KINDS || !probability)
        return error_set(
            e, STATUS_USAGE,
            "--inject: '%.40s' is malformed; expected KIND:PROBABILITY, where KIND is duplicate, "
            "drop, swap, truncate, header, nan, type, shape, empty, stall, cut, large or lie",
            word);
    char *seconds = strchr(probability, ':');
    if (seconds)
        *seconds++ = 0;
    if (seconds && kind != FAULT_STALL)
        return error_set(e, STATUS_USAGE, "--inject: only the fault stall takes seconds (got %s)",
                         word);
    if (f->probability[kind] > 0)
        return error_set(e, STATUS_USAGE, "--inject: %s is given more than once; give it once",
                         word);
    enum status s = parse_real(probability, 0, 1, "--inject", &f->probability[kind], e);
    if (s == STATUS_OK && seconds)
        s = parse_real(seconds, 0, STALL_MAX_S, "--inject, seconds of stall", &f->stall_s, e);
    return s;
}

enum status faults_parse(struct faults *f, const char *text, struct error *e)
{
    char word[64];
    double sum = 0;
    *f = (struct faults){.stall_s = STALL_S, .seed = f->seed};
    for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        const enum status s = parse_one(f, word, e);
        if (s)
            return s;
    }
    for (int i = 0; i < FAULT_KINDS; i++)
        sum += f->probability[i];
    if (sum > 1 + 1e-9)
        return error_set(e, STATUS_USAGE,
                         "--inject: the probabilities add up to %g; expected at most 1, because a "
                         "frame has one fault",
                         sum);
    return STATUS_OK;
}

enum status faults_check(const struct faults *f, const char *protocol, unsigned types,
                         struct error *e)
{
    if (f->probability[FAULT_NAN] > 0 && !(types >> PIXEL_F32 & 1))
        return error_set(e, STATUS_USAGE,
                         "--inject: the fault nan is not possible: %s has no float32 pixels",
                         protocol);
    return STATUS_OK;
}

enum fault faults_draw(const struct faults *f, uint64_t frame)
{
    struct rng r = rng_stream(f->seed, RNG_FAULT, frame, 0);
    double left = rng_uniform(&r);
    for (int i = 1; i < FAULT_KINDS; i++) {
        if (left < f->probability[i])
            return (enum fault)i;
        left -= f->probability[i];
    }
    return FAULT_NONE;
}

/* --- faults of the content ----------------------------------------------------- */

/* Gives a delivery `count` new pixels of a type, and returns them.  *s owns the pixels. */
static void *renew(struct fault_injection *s, struct delivery *d, enum pixel_type type,
                   size_t count)
{
    s->memory = mem_array(count, pixel_size(type));
    d->type = type;
    d->pixels = s->memory;
    d->pixel_bytes = count * pixel_size(type);
    return s->memory;
}

static void put_pixel(void *pixels, enum pixel_type type, size_t i, double value)
{
    const double most = type == PIXEL_U16 ? UINT16_MAX : type == PIXEL_U32 ? UINT32_MAX : INT32_MAX;
    const double whole = fmin(fmax(rint(value), type == PIXEL_I32 ? INT32_MIN : 0), most);
    switch (type) {
    case PIXEL_F32:
        ((float *)pixels)[i] = (float)value;
        break;
    case PIXEL_U16:
        ((uint16_t *)pixels)[i] = (uint16_t)whole;
        break;
    case PIXEL_U32:
        ((uint32_t *)pixels)[i] = (uint32_t)whole;
        break;
    case PIXEL_I32:
        ((int32_t *)pixels)[i] = (int32_t)whole;
        break;
    }
}

/* Converts the pixels to the next type that the protocol allows.  Values that do not fit are
 * clipped. */
static void change_type(struct fault_injection *s, struct delivery *d, unsigned allowed)
{
    const size_t count = d->pixel_bytes / pixel_size(d->type);
    const struct image from = {
        .type = d->type, .count = count, .pixels = (void *)(uintptr_t)d->pixels};
    enum pixel_type type = d->type;
    do
        type = (enum pixel_type)((type + 1) % (PIXEL_I32 + 1));
    while (!(allowed >> type & 1));
    void *to = renew(s, d, type, count);
    for (size_t i = 0; i < count; i++)
        put_pixel(to, type, i, image_value(&from, i));
}

static bool add_nan(struct fault_injection *s, struct delivery *d)
{
    const void *from = d->pixels;
    const size_t bytes = d->pixel_bytes, count = bytes / sizeof(float);
    float *to = d->type == PIXEL_F32 ? renew(s, d, PIXEL_F32, count) : NULL;
    if (!to)
        return false;
    memcpy(to, from, bytes);
    for (size_t i = 0; i < count; i += NAN_STEP)
        to[i] = NAN;
    return true;
}

static bool double_rows(struct fault_injection *s, struct delivery *d)
{
    const void *from = d->pixels;
    const size_t bytes = d->pixel_bytes;
    size_t count;
    if (!size_multiply(bytes / pixel_size(d->type), 2, &count))
        return false;
    char *to = renew(s, d, d->type, count);
    memcpy(to, from, bytes);
    memcpy(to + bytes, from, bytes);
    d->shape[0] *= 2;
    return true;
}

static void halve_rows(struct delivery *d)
{
    const size_t row_bytes = d->pixel_bytes / d->shape[0];
    d->shape[0] = d->shape[0] > 1 ? d->shape[0] / 2 : 1;
    d->pixel_bytes = d->shape[0] * row_bytes;
}

/* Replaces one value of a delivery, chosen at random: a number by a text, or a text by a number.
 * Stores its key in s->field. */
static void damage_value(struct fault_injection *s, struct delivery *d)
{
    struct rng r = rng_stream(s->seed, RNG_FAULT, d->id, 1);
    struct value *v = &d->values[(size_t)(rng_uniform(&r) * (double)d->nvalues)];
    s->field = v->key;
    *v = v->type == VALUE_TEXT
             ? (struct value){.key = v->key, .type = VALUE_INT, .integer = -1}
             : (struct value){.key = v->key, .type = VALUE_TEXT, .text = "damaged"};
}

/* Makes one number of a delivery, chosen at random, wrong: a real number becomes 5 % larger, and a
 * whole number 1 larger.  Stores its key in s->field. */
static void falsify_value(struct fault_injection *s, struct delivery *d)
{
    struct rng r = rng_stream(s->seed, RNG_FAULT, d->id, 1);
    struct value *numbers[DELIVERY_VALUES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < d->nvalues; i++)
        if (d->values[i].type != VALUE_TEXT && d->values[i].type != VALUE_BOOL)
            numbers[count++] = &d->values[i];
    struct value *v = count ? numbers[(size_t)(rng_uniform(&r) * (double)count)] : NULL;
    if (!v)
        return;
    s->field = v->key;
    v->integer++;
    for (size_t i = 0; i < DELIVERY_NUMBERS_MAX; i++)
        v->reals[i] = v->reals[i] == 0.0 ? LIE : (1.0 + LIE) * v->reals[i];
}

enum status fault_inject_into_delivery(struct fault_injection *s, struct delivery *d,
                                       unsigned allowed, struct error *e)
{
    bool good = true;
    switch (s ? s->fault : FAULT_NONE) {
    case FAULT_HEADER:
        damage_value(s, d);
        break;
    case FAULT_LIE:
        falsify_value(s, d);
        break;
    case FAULT_NAN:
        good = add_nan(s, d);
        break;
    case FAULT_TYPE:
        change_type(s, d, allowed);
        break;
    case FAULT_SHAPE:
        halve_rows(d);
        break;
    case FAULT_LARGE:
        good = double_rows(s, d);
        break;
    default:
        break;
    }
    return good ? STATUS_OK : error_memory(e, "a frame with a fault");
}

void fault_inject_into_message(const struct fault_injection *s, struct message *m)
{
    struct part *last = &m->parts[m->nparts - 1];
    if (s && s->fault == FAULT_TRUNCATE)
        last->size /= 2;
    while (s && s->fault == FAULT_EMPTY && m->nparts > 1) {
        const struct part gone = message_take(m, --m->nparts);
        if (gone.release)
            gone.release(gone.owner);
    }
    if (s && s->fault == FAULT_EMPTY)
        m->parts[0].size = 0;
}

void fault_injection_free(struct fault_injection *s)
{
    if (s)
        mem_free(s->memory);
}
