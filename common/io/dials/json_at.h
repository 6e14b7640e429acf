/*
 * Reads the values of a JSON file.  Each value is kept together with its path in the file, so that
 * errors can name it ("FILE: detector[0].panels[3].origin: ...").
 */
#ifndef BRAGG_IO_JSON_AT_H
#define BRAGG_IO_JSON_AT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { JSON_AT_PATH = 200 };

/* A value of a file, and its path in the file. */
struct json_at {
    const char *file;          // borrowed
    json_t *value;             // borrowed; owned only by the root that json_at_open returns
    char where[JSON_AT_PATH];  // "detector[0].panels"; "": the whole file; may be cut off
};

/* Reads the file `path` into *root, which is a JSON object.  `path` is kept, not copied.  The
 * caller always calls json_at_close.  STATUS_FAILED: the file cannot be read.  STATUS_INPUT, with
 * "FILE:LINE: ": the file is not JSON. */
enum status json_at_open(struct json_at *root, const char *path, struct error *e);
void json_at_close(struct json_at *root);

/* Get a member of an object.  In these functions *out and *of must be different variables.
 * json_at_member: the member must exist, otherwise STATUS_INPUT.  json_at_optional: returns false
 * if the member is missing or null, or if *of is not an object. */
enum status json_at_member(const struct json_at *of, const char *key, struct json_at *out,
                           struct error *e);
bool json_at_optional(const struct json_at *of, const char *key, struct json_at *out);

/* json_at_list sets *count to the number of items of a list.  STATUS_INPUT: not a list, or fewer
 * than `least` items.  json_at_item gets item i, which must exist. */
enum status json_at_list(const struct json_at *at, size_t least, size_t *count, struct error *e);
void json_at_item(const struct json_at *of, size_t i, struct json_at *out);

/* Read a number, a whole number, or a list of exactly `count` numbers, all within [min, max].
 * STATUS_INPUT: anything else.  Numbers in JSON are finite. */
enum status json_at_real(const struct json_at *at, double min, double max, double *out,
                         struct error *e);
enum status json_at_whole(const struct json_at *at, int64_t min, int64_t max, int64_t *out,
                          struct error *e);
enum status json_at_reals(const struct json_at *at, size_t count, double min, double max,
                          double *out, struct error *e);

/* Read the member `key` of *of in the same way.  The member must exist. */
enum status json_at_member_real(const struct json_at *of, const char *key, double min, double max,
                                double *out, struct error *e);
enum status json_at_member_reals(const struct json_at *of, const char *key, size_t count,
                                 double min, double max, double *out, struct error *e);

/* Sets *e to "FILE: WHERE: " and the formatted text.  Returns STATUS_INPUT. */
enum status json_at_error(const struct json_at *at, struct error *e, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
