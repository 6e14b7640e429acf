#include "score/peak_table.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "score/lines.h"

enum { UNTITLED = 4 };  // number of columns if there is no title line
enum { FRAME, PANEL, FAST, SLOW, INTENSITY, HIT, TIME, SCORE, DAMAGED };
static const char *const names[PEAK_COLUMNS] = {"frame", "panel",  "fast",  "slow",   "intensity",
                                                "hit",   "time_s", "score", "damaged"};

/* Checks the names of columns.  Unknown columns are allowed, because they belong to other programs.
 * A name that occurs twice, or a known name in capitals, is an error. */
static enum status check_title(const struct peak_table *t, char *const words[], int n,
                               struct error *e)
{
    for (int i = 0; i < n; i++)
        for (int c = 0; c < PEAK_COLUMNS; c++) {
            if (strcasecmp(words[i], names[c]) != 0)
                continue;
            if (strcmp(words[i], names[c]) != 0)
                return lines_fail(&t->lines, e, "the column '%.40s' is unknown; expected '%s'",
                                  words[i], names[c]);
            if (t->at[c] != i)
                return lines_fail(&t->lines, e, "column %s occurs twice", names[c]);
        }
    return STATUS_OK;
}

/* Reads the next line that is not empty.  Returns false at the end. */
static bool next_line(struct peak_table *t)
{
    while (!t->waiting && lines_next(&t->lines))
        t->waiting = t->lines.line[strspn(t->lines.line, " \t\r")] &&
                     t->lines.line[strspn(t->lines.line, " \t\r")] != '#';
    return t->waiting;
}

static enum status read_title(struct peak_table *t, struct error *e)
{
    static const int untitled[PEAK_COLUMNS] = {0, -1, 1, 2, 3, -1, -1, -1, -1};
    char *words[ITEMS_MAX];
    memcpy(t->at, untitled, sizeof t->at);
    t->columns = UNTITLED;
    if (!next_line(t))
        return t->lines.half_line ? lines_end_early(&t->lines, "its first line", e) : STATUS_OK;
    if (strspn(t->lines.line, " \t0123456789") > strspn(t->lines.line, " \t"))
        return STATUS_OK;
    const int n = items_split(t->lines.line, words);
    t->waiting = false;
    t->columns = n;
    for (int c = 0; c < PEAK_COLUMNS; c++)
        t->at[c] = items_find(words, n, names[c]);
    const enum status s = check_title(t, words, n, e);
    if (s)
        return s;
    if (n < 0 || t->at[FRAME] < 0 || (t->at[FAST] < 0) != (t->at[SLOW] < 0))
        return lines_fail(&t->lines, e,
                          "not a peak table; expected names of columns in the first line: frame, "
                          "and fast and slow together");
    return STATUS_OK;
}

enum status peak_table_open(struct peak_table *t, const char *path, const struct follow *follow,
                            struct error *e)
{
    *t = (struct peak_table){0};
    const enum status s = lines_open(&t->lines, path, FILETYPE_PEAKS, follow, e);
    return s ? s : read_title(t, e);
}

/* Returns true if the column exists and the line has a value in it. */
static bool has(const struct peak_table *t, char *const words[], int column)
{
    return t->at[column] >= 0 && strcmp(words[t->at[column]], "-") != 0;
}

/* Reads a number in [min, max].  *value stays unchanged if the column is missing. */
static enum status take(const struct peak_table *t, char *const words[], int column, bool whole,
                        double min, double max, double *value, struct error *e)
{
    if (!has(t, words, column))
        return STATUS_OK;
    const char *text = words[t->at[column]], *end;
    *value = number_real(text, &end);
    if (end != text && !*end && *value >= min && *value <= max &&
        (!whole || *value == floor(*value)))
        return STATUS_OK;
    return lines_fail(&t->lines, e, "%s is '%.40s'; expected a %snumber from %g to %g",
                      names[column], text, whole ? "whole " : "", min, max);
}

static enum status take_line(struct peak_table *t, char *const words[], struct answer *a,
                             struct error *e)
{
    double panel = 0.0, fast = 0.0, slow = 0.0, intensity = 0.0, hit = -1.0, damaged = 0.0;
    enum status s = take(t, words, PANEL, true, 0.0, INT32_MAX, &panel, e);
    s = s ? s : take(t, words, FAST, false, -1e6, 1e6, &fast, e);
    s = s ? s : take(t, words, SLOW, false, -1e6, 1e6, &slow, e);
    s = s ? s : take(t, words, INTENSITY, false, -1e30, 1e30, &intensity, e);
    s = s ? s : take(t, words, HIT, true, 0.0, 1.0, &hit, e);
    s = s ? s : take(t, words, TIME, false, 0.0, 1e12, &a->time_s, e);
    s = s ? s : take(t, words, SCORE, false, -1e300, 1e300, &a->score, e);
    s = s ? s : take(t, words, DAMAGED, true, 0.0, 1.0, &damaged, e);
    if (s)
        return s;
    a->damaged = damaged == 1.0;
    if (!has(t, words, TIME))
        a->time_s = lines_now(&t->lines);
    a->has_score = has(t, words, SCORE);
    a->says_hit = hit >= 0.0;
    a->hit = hit == 1.0;
    if (!has(t, words, FAST) || !has(t, words, SLOW))
        return STATUS_OK;
    struct answer_spot *spot = answer_add_spot(a);
    if (!spot)
        return error_memory(e, "spots");
    *spot = (struct answer_spot){(int32_t)panel, fast, slow, intensity};
    return STATUS_OK;
}

/* Reads the frame number of the line. */
static enum status read_frame(const struct peak_table *t, uint64_t *frame, struct error *e)
{
    const char *text = t->lines.line, *end;
    for (int i = 0; i < t->at[FRAME]; i++) {
        text += strspn(text, " \t");
        text += strcspn(text, " \t");
    }
    text += strspn(text, " \t");
    const intmax_t x = number_whole(text, &end);
    *frame = (uint64_t)x;
    if (end != text && x >= 0 && strchr(" \t\r#", *end))
        return STATUS_OK;
    return lines_fail(&t->lines, e, "'%.40s' is not a frame number", text);
}

enum status peak_table_next(struct peak_table *t, struct answer *a, bool *more, struct error *e)
{
    enum status s = STATUS_OK;
    answer_clear(a);
    *more = false;
    while (!s && next_line(t)) {
        char *words[ITEMS_MAX];
        uint64_t frame;
        s = read_frame(t, &frame, e);
        if (s || (*more && frame != a->frame))
            return s;
        if (!*more)
            a->line = t->lines.number;
        *more = a->has_frame = true;
        a->frame = frame;
        const int n = items_split(t->lines.line, words);
        t->waiting = false;
        for (int c = 0; c < PEAK_COLUMNS && !s; c++)
            if (n < 0 || t->at[c] >= n)
                s = lines_fail(&t->lines, e, "has %d items; %s is missing", n, names[c]);
        if (!s && n > t->columns)
            s = lines_fail(&t->lines, e,
                           "has %d items; expected %d, with points in numbers as in 1.5", n,
                           t->columns);
        s = s ? s : take_line(t, words, a, e);
        if (t->at[FAST] < 0)
            return s;  // without columns of places, each line is an answer
    }
    if (!s && (t->lines.half_line || ferror(t->lines.in)))
        s = lines_end_early(&t->lines, "a line", e);
    return s;
}

void peak_table_close(struct peak_table *t)
{
    lines_close(&t->lines);
}
