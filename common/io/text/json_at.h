/*
 * Values of a JSON file that know where they stand in it, so that what is wrong with one can be
 * said in a line: "FILE: detector[0].panels[3].origin: ...".
 */
#ifndef BRAGG_IO_JSON_AT_H
#define BRAGG_IO_JSON_AT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { JSON_AT_PATH = 200 };

struct json_at {
    const char *file;          // borrowed
    json_t *value;             // borrowed, but that of json_at_open
    char where[JSON_AT_PATH];  // "detector[0].panels", "" for all of the file; may be cut off
};

/* *root of the file `path` (kept, not copied), an object.  STATUS_FAILED when it cannot be read,
 * STATUS_INPUT with "FILE:LINE: " when it is no JSON.  Always followed by json_at_close. */
enum status json_at_open(struct json_at *root, const char *path, struct error *e);
void json_at_close(struct json_at *root);

/* In what follows *out is another one than *of.  A member of an object that must be there
 * (STATUS_INPUT), or may be: false where it is absent or null, or *of no object. */
enum status json_at_member(const struct json_at *of, const char *key, struct json_at *out,
                           struct error *e);
bool json_at_optional(const struct json_at *of, const char *key, struct json_at *out);

/* *count of a list; STATUS_INPUT for anything else, and for less than `least` items.  Item i,
 * which must be there. */
enum status json_at_list(const struct json_at *at, size_t least, size_t *count, struct error *e);
void json_at_item(const struct json_at *of, size_t i, struct json_at *out);

/* A number within [min, max], a whole one, or a list of exactly `count`; STATUS_INPUT for
 * anything else.  Numbers in JSON are finite. */
enum status json_at_real(const struct json_at *at, double min, double max, double *out,
                         struct error *e);
enum status json_at_whole(const struct json_at *at, int64_t min, int64_t max, int64_t *out,
                          struct error *e);
enum status json_at_reals(const struct json_at *at, size_t count, double min, double max,
                          double *out, struct error *e);

/* The same for a member of *of that must be there. */
enum status json_at_member_real(const struct json_at *of, const char *key, double min, double max,
                                double *out, struct error *e);
enum status json_at_member_reals(const struct json_at *of, const char *key, size_t count,
                                 double min, double max, double *out, struct error *e);

/* STATUS_INPUT with "FILE: WHERE: " and the formatted text. */
enum status json_at_error(const struct json_at *at, struct error *e, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
