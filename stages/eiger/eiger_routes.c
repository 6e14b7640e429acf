/* The routes of SIMPLON: which request has which answer. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eiger.h"

#define UNKNOWN "error during request: path error: unknown path: \"%.200s\""

static const char *const subs[] = {"detector", "monitor", "filewriter",
                                   "stream",   "system",  "braggpipe"};
static const char *const commands[][2] = {
    {"detector", "abort arm cancel check_connection disarm hv_reset initialize status_update "
                 "trigger wait"},
    {"monitor", "clear initialize"},
    {"filewriter", "clear initialize"},
    {"stream", "initialize"},
    {"system", "reboot restart"},
    {"braggpipe", "pulse"}};
enum { SUBS = sizeof subs / sizeof *subs };
_Static_assert(sizeof commands / sizeof *commands == SUBS, "all parts have commands");

/* Returns the version of the requests of a part. */
static const char *version_of(int sub)
{
    return strcmp(subs[sub], "braggpipe") == 0 ? "1" : "1.8.0";
}

/* A path: /SUB/api/VERSION/TASK/NAME.  The texts point into the path of the request. */
struct path_parts {
    int sub;
    char *version, *task, *name;  // "" if missing
};

/* --- answers ------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void
answer_refusal(struct http_reply *reply, unsigned code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    reply->code = code;
    reply->type = "text/plain; charset=utf-8";
    if (vasprintf(&reply->body, format, args) < 0)
        reply->body = NULL;
    va_end(args);
}

/* Answers with a value, which is released. */
static void answer_value(struct http_reply *reply, json_t *value)
{
    reply->body = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    json_decref(value);
}

static json_t *list_words(const char *words)
{
    json_t *list = json_array();
    list_append_words(list, words, ' ');
    return list;
}

static bool has_method(const struct http_request *r, const char *method)
{
    return strcmp(r->method, method) == 0 ||
           (strcmp(method, "GET") == 0 && strcmp(r->method, "HEAD") == 0);
}

/* --- bodies -------------------------------------------------------------------- */

enum { DEPTH_MAX = 8 };

/* Returns true if brackets are nested at most DEPTH_MAX deep.  Brackets in texts count, too. */
static bool is_flat(const char *text)
{
    int depth = 0, deepest = 0;
    for (; *text; text++) {
        depth += (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest <= DEPTH_MAX;
}

/* Reads a body that must be an object.  Returns NULL, with the answer, if it is not. */
static json_t *read_object(const struct http_request *r, struct http_reply *reply)
{
    json_t *object = is_flat(r->body) ? json_loads(r->body, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (json_is_object(object))
        return object;
    json_decref(object);
    answer_refusal(reply, 400,
                   "body: the text is not an object of JSON; expected {\"value\": ...}");
    return NULL;
}

/* --- configuration and status --------------------------------------------------- */

static void get_key(struct eiger *v, const struct path_parts *route, struct http_reply *reply)
{
    const char *sub = subs[route->sub];
    keys_set_date(&v->keys, "detector:status:time");
    if (strcmp(sub, "filewriter") == 0 || strcmp(sub, "braggpipe") == 0)
        eiger_show_files(v);
    if (strcmp(route->name, "keys") == 0 || !*route->name) {
        answer_value(reply, keys_list(&v->keys, sub, route->task, !*route->name));
        return;
    }
    json_t *value = keys_get(&v->keys, sub, route->task, route->name);
    if (value)
        answer_value(reply, value);
    else
        answer_refusal(reply, 404, UNKNOWN, route->name);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Answers with the names of a list, sorted and each once. */
static void give_changed(struct http_reply *reply, json_t *changed)
{
    const size_t n = json_array_size(changed);
    const char **names = calloc(n + 1, sizeof *names);
    json_t *list = json_array();
    for (size_t i = 0; names && i < n; i++)
        names[i] = json_string_value(json_array_get(changed, i));
    if (names)
        qsort(names, n, sizeof *names, compare_texts);
    for (size_t i = 0; names && i < n; i++)
        if (!i || strcmp(names[i], names[i - 1]) != 0)
            (void)json_array_append_new(list, json_string(names[i]));
    free(names);
    answer_value(reply, list);
}

static enum status put_value(struct eiger *v, const struct path_parts *route, const char *name,
                             const json_t *object, json_t *changed, struct error *e)
{
    const json_t *value = json_object_get(object, "value");
    if (!value)
        return error_set(e, STATUS_INPUT,
                         "%.100s: the body has no value; expected {\"value\": ...}", name);
    return keys_put(&v->keys, subs[route->sub], name, value, changed, e);
}

/* Sets one key, or all keys of an object of objects.  The keys of such an object are all set, or,
 * after an error, none. */
static void put_keys(struct eiger *v, const struct path_parts *route, const struct http_request *r,
                     struct http_reply *reply)
{
    struct error e = {0};
    json_t *object = read_object(r, reply), *changed = json_array(), *item;
    json_t *before[EIGER_KEYS_MAX];
    const char *name;
    enum status s = STATUS_OK;
    for (int i = 0; i < EIGER_KEYS_MAX; i++)
        before[i] = json_incref(v->keys.values[i]);
    if (object && *route->name)
        s = put_value(v, route, route->name, object, changed, &e);
    else
        json_object_foreach(object, name, item) if (s == STATUS_OK) s =
            put_value(v, route, name, item, changed, &e);
    for (int i = 0; i < EIGER_KEYS_MAX; i++) {
        json_t *unused = s ? v->keys.values[i] : before[i];
        v->keys.values[i] = s ? before[i] : v->keys.values[i];
        json_decref(unused);
    }
    mask_count(v);
    if (s)
        answer_refusal(reply, s == STATUS_USAGE ? 404 : 400, "%s", e.text);
    else if (object)
        give_changed(reply, changed);
    json_decref(object);
    json_decref(changed);
}

/* --- pixel mask and flat field ---------------------------------------------------- */

#define MASKS "pixel_mask threshold/1/pixel_mask threshold/2/pixel_mask"
#define FLATFIELDS "flatfield threshold/1/flatfield threshold/2/flatfield"

#define COUNTRATES "countrate_correction_table"

/* Returns the table of the count rate correction: item n is the corrected value of n counts.  The
 * table is that of Stream V2. */
static json_t *countrates(const struct eiger *v)
{
    size_t count;
    uint32_t *items =
        counter_counts(strcmp(keys_text(&v->keys, "counting_mode"), "retrigger") == 0,
                       keys_real(&v->keys, "count_time"),
                       keys_uint(&v->keys, "countrate_correction_count_cutoff"), &count);
    json_t *list = json_array();
    for (size_t n = 0; items && n < count; n++)
        (void)json_array_append_new(list, json_integer((json_int_t)items[n]));
    free(items);
    return json_pack("{sssoss}", "access_mode", "r", "value", list, "value_type", "uint[]");
}

static void put_mask(struct eiger *v, const struct http_request *r, struct http_reply *reply)
{
    struct error e = {0};
    struct mask_data data;
    char *rest = mask_cut_data(r->body, &data);
    json_t *object = read_object(&(struct http_request){.body = rest ? rest : ""}, reply);
    free(rest);
    if (object && mask_put(mask_of(v), json_object_get(object, "value"), data, &e))
        answer_refusal(reply, 400, "%s", e.text);
    else if (object)
        answer_value(reply, list_words(MASKS));
    json_decref(object);
    mask_count(v);
}

/* Answers a request for an array: the pixel mask, which is the same for all thresholds, the flat
 * field, or the table of the count rate correction. */
static void answer_array(struct eiger *v, const struct path_parts *route,
                         const struct http_request *r, struct http_reply *reply)
{
    const bool is_mask = find_word(MASKS, ' ', route->name) >= 0;
    if (has_method(r, "GET") && strcmp(route->name, COUNTRATES) == 0) {
        answer_value(reply, countrates(v));
    } else if (has_method(r, "GET")) {
        reply->body = is_mask ? mask_answer(mask_of(v)) : mask_answer_flat(mask_of(v));
    } else if (has_method(r, "DELETE")) {
        if (is_mask)
            mask_reset(mask_of(v));
        mask_count(v);
        reply->code = 204;
    } else if (!has_method(r, "PUT")) {
        answer_refusal(reply, 405, "%.20s is not allowed here", r->method);
    } else if (is_mask) {
        put_mask(v, r, reply);
    } else {
        answer_refusal(reply, 400, "%s: the array belongs to the simulation, and cannot be set",
                       route->name);
    }
}

static bool is_array(const struct path_parts *route)
{
    return route->sub == 0 && strcmp(route->task, "config") == 0 &&
           find_word(MASKS " " FLATFIELDS " " COUNTRATES, ' ', route->name) >= 0;
}

static void answer_key(struct eiger *v, const struct path_parts *route,
                       const struct http_request *r, struct http_reply *reply)
{
    const bool early = strcmp(route->name, "keys") == 0 ||
                       (strcmp(route->task, "status") == 0 && strcmp(route->name, "state") == 0);
    if (v->state == EIGER_NA && route->sub == 0 && !early)
        answer_refusal(reply, 404, "Parameter %.200s does not exist", route->name);
    else if (is_array(route))
        answer_array(v, route, r, reply);
    else if (has_method(r, "GET"))
        get_key(v, route, reply);
    else if (has_method(r, "PUT") && strcmp(route->task, "config") == 0)
        put_keys(v, route, r, reply);
    else
        answer_refusal(reply, 405, "%.20s is not allowed here", r->method);
}

/* --- the monitor ------------------------------------------------------------------ */

static void answer_images(struct eiger *v, const struct path_parts *route,
                          const struct http_request *r, struct http_reply *reply)
{
    if (strcmp(r->method, "GET") != 0)
        answer_refusal(reply, 405, "%.20s is not allowed here", r->method);
    else if (!monitor_answer(v->monitor, &v->keys, route->name, r->query, reply))
        answer_refusal(reply, 404, UNKNOWN, route->name);
}

static void command_monitor(struct eiger *v, bool initialize)
{
    if (initialize)
        keys_reset_part(&v->keys, "monitor");
    monitor_clear(v->monitor, &v->keys, initialize);
}

/* --- the filewriter --------------------------------------------------------------- */

/* Answers a request for /data/NAME. */
static void answer_file(struct eiger *v, const struct http_request *r, const char *name,
                        struct http_reply *reply)
{
    if (!has_method(r, "GET") && !has_method(r, "DELETE"))
        answer_refusal(reply, 405, "%.20s is not allowed here", r->method);
    else if (!files_answer(&v->files, r, name, reply))
        answer_refusal(reply, 404,
                       "%.200s: the file does not exist, or its series has not ended. GET "
                       "/filewriter/api/1.8.0/files lists the files",
                       name);
}

/* Answers with the names of the files. */
static void give_files(struct eiger *v, struct http_reply *reply)
{
    eiger_show_files(v);
    json_t *entry = keys_get(&v->keys, "filewriter", "status", "files");
    answer_value(reply, json_incref(json_object_get(entry, "value")));
    json_decref(entry);
}

static void command_files(struct eiger *v, bool initialize)
{
    if (initialize)
        keys_reset_part(&v->keys, "filewriter");
    files_clear(&v->files);
}

/* --- commands ------------------------------------------------------------------- */

static void arm(struct eiger *v, struct http_reply *reply)
{
    struct error e = {0};
    enum status s = STATUS_OK;
    if (v->state == EIGER_NA || v->state == EIGER_ERROR || v->state == EIGER_CONFIGURE ||
        v->state == EIGER_ACQUIRE)
        s = error_set(&e, STATUS_INPUT, "arm: the state is %s; expected idle or ready",
                      keys_text(&v->keys, "detector:status:state"));
    s = s ? s : eiger_arm(v, &e);
    if (s)
        answer_refusal(reply, s == STATUS_INPUT ? 400 : 500, "%s", e.text);
    else
        reply->wait = HTTP_WAIT_ARM;
}

/* Does the work of the commands trigger and pulse.  value NULL: the body has none. */
static void trigger(struct eiger *v, const char *name, const json_t *value,
                    struct http_reply *reply)
{
    struct error e = {0};
    const bool pulse = strcmp(name, "pulse") == 0;
    const double exposure_s = value ? json_number_value(value) : (double)NAN;
    if (value && !v->gated)
        answer_refusal(reply, 404,
                       "%s: the command takes no value in this trigger mode; expected %s", name,
                       pulse ? "exte" : "inte");
    else if (value && !json_is_number(value))
        answer_refusal(reply, 400, "%s: the value is not a number; expected the exposure in s",
                       name);
    else if (eiger_trigger(v, pulse, exposure_s, &e))
        answer_refusal(reply, 400, "%s", e.text);
    else if (pulse)
        reply->body = eiger_sequence(v);
    else
        reply->wait = HTTP_WAIT_TRIGGER;
}

static void command_detector(struct eiger *v, const char *name, const json_t *value,
                             struct http_reply *reply)
{
    const bool ends = strcmp(name, "abort") == 0 || strcmp(name, "disarm") == 0;
    if (strcmp(name, "initialize") == 0) {
        eiger_initialize(v);
    } else if (v->state == EIGER_NA) {
        answer_refusal(reply, 400, "%s: the state is na. Send the command initialize first", name);
    } else if (strcmp(name, "arm") == 0) {
        arm(v, reply);
    } else if (strcmp(name, "trigger") == 0) {
        trigger(v, name, value, reply);
    } else if (ends || strcmp(name, "cancel") == 0) {
        if (ends)
            eiger_end_series(v);
        else
            eiger_cancel(v);
        reply->body = eiger_sequence(v);
    } else if (strcmp(name, "check_connection") == 0) {
        answer_value(reply, json_array());
    }
}

static void answer_command(struct eiger *v, const struct path_parts *route,
                           const struct http_request *r, struct http_reply *reply)
{
    const char *names = commands[route->sub][1];
    if ((!*route->name || strcmp(route->name, "keys") == 0) && has_method(r, "GET")) {
        answer_value(reply, list_words(names));
        return;
    }
    if (find_word(names, ' ', route->name) < 0) {
        answer_refusal(reply, 404, UNKNOWN, route->name);
        return;
    }
    if (!has_method(r, "PUT")) {
        answer_refusal(reply, 405, "%s: a command needs PUT (got %.20s)", route->name, r->method);
        return;
    }
    json_t *object = r->body[strspn(r->body, " \t\r\n")] ? read_object(r, reply) : json_object();
    if (!object)
        return;
    const json_t *value = json_object_get(object, "value");
    if (value && find_word("hv_reset pulse trigger", ' ', route->name) < 0)
        answer_refusal(reply, 404, "%s: the command takes no value", route->name);
    else if (route->sub == 0)
        command_detector(v, route->name, value, reply);
    else if (strcmp(route->name, "pulse") == 0)
        trigger(v, route->name, value, reply);
    else if (strcmp(subs[route->sub], "monitor") == 0)
        command_monitor(v, strcmp(route->name, "initialize") == 0);
    else if (strcmp(subs[route->sub], "filewriter") == 0)
        command_files(v, strcmp(route->name, "initialize") == 0);
    else if (find_word("reboot restart", ' ', route->name) >= 0)
        eiger_restart(v);
    json_decref(object);
}

/* --- routes --------------------------------------------------------------------- */

/* Ends a part of a path, and returns the part after it. */
static char *next_part(char *path)
{
    char *end = strchr(path, '/');
    if (!end)
        return path + strlen(path);
    *end = '\0';
    return end + 1;
}

/* Splits a path.  Returns false if it is not one of SIMPLON. */
static bool split_path(char *path, struct path_parts *route)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    char *sub = path + (*path == '/');
    char *api = next_part(sub);
    route->version = next_part(api);
    route->task = next_part(route->version);
    route->name = next_part(route->task);
    route->sub = -1;
    for (int i = 0; i < SUBS; i++)
        if (strcmp(subs[i], sub) == 0)
            route->sub = i;
    return route->sub >= 0 && strcmp(api, "api") == 0;
}

void eiger_answer(void *state, struct http_request *r, struct http_reply *reply)
{
    struct eiger *v = state;
    struct path_parts route;
    char path[300];
    (void)snprintf(path, sizeof path, "%s", r->path);
    if (strncmp(path, "/data/", 6) == 0)
        answer_file(v, r, path + 6, reply);
    else if (!split_path(r->path, &route))
        answer_refusal(reply, 404, UNKNOWN, path);
    else if (strcmp(route.version, "version") == 0 && has_method(r, "GET"))
        answer_value(reply,
                     json_pack("{ssss}", "value", version_of(route.sub), "value_type", "string"));
    else if (strcmp(route.version, version_of(route.sub)) != 0)
        answer_refusal(reply, 404, "error during request: unsupported API version \"%.50s\"",
                       route.version);
    else if ((!*route.task || strcmp(route.task, "keys") == 0) && has_method(r, "GET"))
        answer_value(reply, list_words(strcmp(subs[route.sub], "monitor") == 0
                                           ? "config status command images"
                                       : strcmp(subs[route.sub], "filewriter") == 0
                                           ? "config status command files"
                                           : "config status command"));
    else if (strcmp(route.task, "files") == 0 && strcmp(subs[route.sub], "filewriter") == 0 &&
             !*route.name && has_method(r, "GET"))
        give_files(v, reply);
    else if (strcmp(route.task, "images") == 0 && strcmp(subs[route.sub], "monitor") == 0)
        answer_images(v, &route, r, reply);
    else if (strcmp(route.task, "config") == 0 || strcmp(route.task, "status") == 0)
        answer_key(v, &route, r, reply);
    else if (strcmp(route.task, "command") == 0)
        answer_command(v, &route, r, reply);
    else
        answer_refusal(reply, 404, UNKNOWN, route.task);
}
