#include "io/dials/json_at.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/text/textfile.h"

enum { FILE_BYTES_MAX = 64 << 20 };

enum status json_at_open(struct json_at *root, const char *path, struct error *e)
{
    struct text_file text;
    json_error_t cause;
    *root = (struct json_at){.file = path};
    enum status s = text_open(&text, path, FILETYPE_EXPT, FILE_BYTES_MAX, e);
    if (s == STATUS_OK) {
        root->value = json_loadb(text.bytes, text.length,
                                 JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES, &cause);
        if (!root->value)
            s = error_set(e, STATUS_INPUT, "%s:%d: not JSON: %.200s", path, cause.line, cause.text);
        else if (!json_is_object(root->value))
            s = json_at_error(root, e, "not an object; expected '{...}'");
    }
    text_close(&text);
    return s;
}

void json_at_close(struct json_at *root)
{
    json_decref(root->value);
    root->value = NULL;
}

enum status json_at_error(const struct json_at *at, struct error *e, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(e, STATUS_INPUT, "%s: %s%s%s", at->file, at->where, *at->where ? ": " : "",
                     text);
}

bool json_at_optional(const struct json_at *of, const char *key, struct json_at *out)
{
    *out = (struct json_at){.file = of->file, .value = json_object_get(of->value, key)};
    (void)snprintf(out->where, sizeof out->where, "%.*s%s%s", JSON_AT_PATH / 2, of->where,
                   *of->where ? "." : "", key);
    return out->value && !json_is_null(out->value);
}

enum status json_at_member(const struct json_at *of, const char *key, struct json_at *out,
                           struct error *e)
{
    if (json_at_optional(of, key, out))
        return STATUS_OK;
    if (!json_is_object(of->value))
        return json_at_error(of, e, "not an object; expected '{...}'");
    return json_at_error(of, e, "has no '%s'", key);
}

enum status json_at_list(const struct json_at *at, size_t least, size_t *count, struct error *e)
{
    *count = json_array_size(at->value);
    if (!json_is_array(at->value))
        return json_at_error(at, e, "not a list; expected '[...]'");
    return *count >= least
               ? STATUS_OK
               : json_at_error(at, e, "has %zu items; expected at least %zu", *count, least);
}

void json_at_item(const struct json_at *of, size_t i, struct json_at *out)
{
    *out = (struct json_at){.file = of->file, .value = json_array_get(of->value, i)};
    (void)snprintf(out->where, sizeof out->where, "%.*s[%zu]", JSON_AT_PATH - 24, of->where, i);
}

enum status json_at_real(const struct json_at *at, double min, double max, double *out,
                         struct error *e)
{
    *out = json_number_value(at->value);
    if (!json_is_number(at->value))
        return json_at_error(at, e, "not a number; expected a value from %g to %g", min, max);
    if (!(*out >= min && *out <= max))
        return json_at_error(at, e, "is %.9g; expected a value from %g to %g", *out, min, max);
    return STATUS_OK;
}

enum status json_at_whole(const struct json_at *at, int64_t min, int64_t max, int64_t *out,
                          struct error *e)
{
    double value;
    const enum status s = json_at_real(at, (double)min, (double)max, &value, e);
    *out = s ? 0 : (int64_t)value;
    if (!s && value != floor(value))
        return json_at_error(at, e, "is %.9g; expected a whole number", value);
    return s;
}

enum status json_at_reals(const struct json_at *at, size_t count, double min, double max,
                          double *out, struct error *e)
{
    if (json_array_size(at->value) != count)
        return json_at_error(at, e, "not a vector; expected a list of %zu numbers", count);
    enum status s = STATUS_OK;
    for (size_t i = 0; i < count && !s; i++) {
        struct json_at item;
        json_at_item(at, i, &item);
        s = json_at_real(&item, min, max, &out[i], e);
    }
    return s;
}

enum status json_at_member_real(const struct json_at *of, const char *key, double min, double max,
                                double *out, struct error *e)
{
    struct json_at member;
    const enum status s = json_at_member(of, key, &member, e);
    return s ? s : json_at_real(&member, min, max, out, e);
}

enum status json_at_member_reals(const struct json_at *of, const char *key, size_t count,
                                 double min, double max, double *out, struct error *e)
{
    struct json_at member;
    const enum status s = json_at_member(of, key, &member, e);
    return s ? s : json_at_reals(&member, count, min, max, out, e);
}
