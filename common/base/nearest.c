#include "base/nearest.h"

#include <string.h>

enum { LETTERS = 32, FAR = 80 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: L. Damerau, Comm. ACM 7 (1964) 171, by rows of a table. */
static int nearest_distance(const char *a, const char *b)
{
    const int na = (int)strnlen(a, LETTERS), nb = (int)strnlen(b, LETTERS);
    int rows[3][LETTERS + 1], *before = rows[0], *last = rows[1], *row = rows[2];
    for (int j = 0; j <= nb; j++)
        before[j] = last[j] = j;
    for (int i = 1; i <= na; i++) {
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            row[j] =
                smaller(smaller(last[j], row[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], before[j - 2] + 1);
        }
        int *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[nb];
}

/* How badly `name` fits where it is a part of `typed`, worse than any letters that are wrong: the
 * longest is meant, of two the last.  FAR where it is no part, or so short that this is chance. */
static int part_distance(const char *typed, const char *name)
{
    const char *part = strstr(typed, name);
    const int length = (int)strnlen(name, LETTERS);
    return part && length >= 4 ? FAR - 2 * length - !part[length] : FAR;
}

int nearest_better(const char *typed, const char *name, int *best)
{
    const size_t length = strlen(typed);
    const int begins = length >= 3 && strncmp(typed, name, length) == 0;
    int distance = begins ? 0 : nearest_distance(typed, name);
    if (distance > smaller((int)length, (int)strlen(name)) / 3)
        distance = part_distance(typed, name);
    if (distance == FAR || distance >= *best)
        return 0;
    *best = distance;
    return 1;
}
