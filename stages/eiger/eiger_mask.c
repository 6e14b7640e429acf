/* The arrays of the detector, which clients read as darrays: the pixel mask, which they can also
 * set, and the flat field. */
#include "eiger.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "page/document.h"
#include "physics/detector/detector.h"

void mask_open(struct eiger_mask *m, const struct eiger_model *model)
{
    uint8_t *computed;
    layout_mask(&preset_named(model->detector)->layout, &computed);
    *m = (struct eiger_mask){.fast = (size_t)model->fast, .slow = (size_t)model->slow};
    m->words = mem_array(m->fast, m->slow * sizeof *m->words);
    for (size_t i = 0; i < m->fast * m->slow; i++)
        m->gaps += m->words[i] = !computed[i];
    m->masked = m->gaps;
    mem_free(computed);
}

void mask_close(struct eiger_mask *m)
{
    mem_free(m->words);
    mem_free(m->user);
    *m = (struct eiger_mask){0};
}

void mask_reset(struct eiger_mask *m)
{
    mem_free(m->user);
    m->user = NULL;
    m->masked = m->gaps;
}

struct eiger_mask *mask_of(struct eiger *v)
{
    return &v->masks[keys_view(&v->keys) != v->keys.model];
}

void mask_count(struct eiger *v)
{
    static const char *const names[] = {"number_of_excluded_pixels",
                                        "threshold/1/number_of_excluded_pixels",
                                        "threshold/2/number_of_excluded_pixels"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        keys_set(&v->keys, names[i], json_integer((json_int_t)mask_of(v)->masked));
}

/* --- darrays -------------------------------------------------------------------- */

/* Returns an array of 4-byte items as the answer of SIMPLON, which the caller frees with free.
 * NULL: out of memory. */
static char *write_darray(const struct eiger_mask *m, const char *access, const char *kind,
                          const char *type, const void *items)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out,
            "{\"access_mode\":\"%s\",\"value_type\":\"%s[][]\",\"value\":{\"__darray__\":[1,0,0],"
            "\"type\":\"%s\",\"shape\":[%zu,%zu],\"filters\":[\"base64\"],\"data\":\"",
            access, kind, type, m->fast, m->slow);
    html_base64(out, items, 4 * m->fast * m->slow);
    fputs("\"}}", out);
    return fclose(out) == 0 ? text : NULL;
}

char *mask_answer(const struct eiger_mask *m)
{
    const size_t count = m->fast * m->slow;
    uint32_t *words = mem_copy(m->words, count, sizeof *words);
    for (size_t i = 0; m->user && i < count; i++)
        words[i] |= m->user[i];
    char *text = write_darray(m, "rw", "uint", "<u4", words);
    mem_free(words);
    return text;
}

char *mask_answer_flat(const struct eiger_mask *m)
{
    const size_t count = m->fast * m->slow;
    float *factors = mem_room(count * sizeof *factors);
    for (size_t i = 0; i < count; i++)
        factors[i] = 1;
    char *text = write_darray(m, "r", "float", "<f4", factors);
    mem_free(factors);
    return text;
}

size_t mask_body_max(const struct eiger_mask *m)
{
    return 8 * m->fast * m->slow + 4096;
}

/* Returns the value of a digit of base64; -1: it is none. */
static int digit_value(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* Decodes base64 to exactly `size` bytes.  Returns false if the text is another one. */
static bool read_base64(const char *text, size_t length, uint8_t *bytes, size_t size)
{
    if (length != (size + 2) / 3 * 4)
        return false;
    for (size_t at = 0; at < size; at += 3, text += 4) {
        const size_t n = size - at < 3 ? size - at : 3;
        uint32_t word = 0;
        for (size_t k = 0; k < 4; k++) {
            const int value = k <= n ? digit_value(text[k]) : text[k] == '=' ? 0 : -1;
            if (value < 0)
                return false;
            word |= (uint32_t)value << (18 - 6 * k);
        }
        for (size_t k = 0; k < n; k++)
            bytes[at + k] = (uint8_t)(word >> (16 - 8 * k));
    }
    return true;
}

/* Checks a member of a darray.  `expected`: the value in JSON. */
static enum status check_member(const json_t *darray, const char *name, const char *expected,
                                struct error *e)
{
    char *given = json_dumps(json_object_get(darray, name), JSON_COMPACT | JSON_ENCODE_ANY);
    const enum status s =
        given && strcmp(given, expected) == 0
            ? STATUS_OK
            : error_set(e, STATUS_INPUT,
                        "pixel_mask: the member %s of the darray is wrong (got %.100s); expected "
                        "%s",
                        name, given ? given : "none", expected);
    free(given);
    return s;
}

char *mask_cut_data(const char *body, struct mask_data *data)
{
    const char *at = strstr(body, "\"data\"");
    *data = (struct mask_data){0};
    if (!at)
        return mem_text("%s", body);
    at += strlen("\"data\"");
    at += strspn(at, " \t\r\n:");
    const size_t length = *at == '"' ? strcspn(at + 1, "\"\\") : 0;
    if (at[0] != '"' || at[1 + length] != '"')
        return mem_text("%s", body);
    *data = (struct mask_data){.text = at + 1, .length = length};
    return mem_text("%.*s%s", (int)(at + 1 - body), body, at + 1 + length);
}

/* Reads a darray of the size of the detector into words. */
static enum status read_darray(const struct eiger_mask *m, const json_t *darray,
                               struct mask_data data, uint32_t *words, struct error *e)
{
    char shape[64];
    const json_t *member = json_object_get(darray, "data");
    const size_t bytes = m->fast * m->slow * sizeof *words;
    if (!json_is_array(json_object_get(darray, "__darray__")))
        return error_set(e, STATUS_INPUT,
                         "pixel_mask: the value is not a darray; expected {\"value\": "
                         "{\"__darray__\": [1,0,0], ...}}");
    (void)snprintf(shape, sizeof shape, "[%zu,%zu]", m->fast, m->slow);
    enum status s = check_member(darray, "type", "\"<u4\"", e);
    s = s ? s : check_member(darray, "shape", shape, e);
    s = s ? s : check_member(darray, "filters", "[\"base64\"]", e);
    if (!data.text && json_is_string(member))
        data = (struct mask_data){json_string_value(member), json_string_length(member)};
    if (s ||
        (json_is_string(member) && read_base64(data.text, data.length, (uint8_t *)words, bytes)))
        return s;
    return error_set(e, STATUS_INPUT,
                     "pixel_mask: the member data of the darray is wrong; expected %zu bytes in "
                     "base64",
                     bytes);
}

enum status mask_put(struct eiger_mask *m, const json_t *value, struct mask_data data,
                     struct error *e)
{
    const size_t count = m->fast * m->slow;
    size_t masked = 0;
    uint32_t *words = mem_array(count, sizeof *words);
    enum status s = read_darray(m, value, data, words, e);
    for (size_t i = 0; i < count; i++)
        masked += (words[i] | m->words[i]) != 0;
    if (!s && masked == count)
        s = error_set(e, STATUS_INPUT, "pixel_mask: all pixels are masked; expected a word of 0");
    if (s) {
        mem_free(words);
        return s;
    }
    mem_free(m->user);
    m->user = words;
    m->masked = masked;
    return s;
}

enum status mask_write(const struct eiger_mask *m, const char *path, struct error *e)
{
    const size_t count = m->fast * m->slow;
    FILE *out = fopen(path, "we");
    bool good = out && fwrite(m->user, sizeof *m->user, count, out) == count;
    good = out && fclose(out) == 0 && good;
    return good ? STATUS_OK
                : error_errno(e, STATUS_FAILED, "%.400s: cannot write the pixel mask", path);
}
