#include "io/dials/expt_models.h"

#include <math.h>

#include "base/vec.h"

void expt_to_lab(const double v[3], double out[3])
{
    out[0] = 0.0 - v[2];  // no negative zero
    out[1] = v[1];
    out[2] = v[0];
}

enum status expt_read_direction(const struct json_at *at, double v[3], struct error *e)
{
    const enum status s = json_at_reals(at, 3, -1e6, 1e6, v, e);
    const double length = s ? 1 : sqrt(vec_dot(v, v));
    if (!(length >= 1e-6))
        return json_at_error(at, e, "%g %g %g gives no direction", v[0], v[1], v[2]);
    for (int i = 0; i < 3 && !s; i++)
        v[i] /= length;
    return s;
}

enum status expt_direction(const struct json_at *of, const char *key, double v[3], struct error *e)
{
    struct json_at member;
    const enum status s = json_at_member(of, key, &member, e);
    return s ? s : expt_read_direction(&member, v, e);
}

enum status expt_model(const struct json_at *experiment, const struct json_at *root,
                       const char *kind, struct json_at *out, struct error *e)
{
    struct json_at number, list;
    size_t count;
    int64_t i = 0;
    *out = (struct json_at){.file = root->file};
    if (!json_at_optional(experiment, kind, &number))
        return STATUS_OK;
    enum status s = json_at_member(root, kind, &list, e);
    s = s ? s : json_at_list(&list, 1, &count, e);
    s = s ? s : json_at_whole(&number, 0, (int64_t)count - 1, &i, e);
    if (s)
        return s;
    json_at_item(&list, (size_t)i, out);
    return json_is_object(out->value) ? STATUS_OK
                                      : json_at_error(out, e, "must be an object, '{...}'");
}
