#include "gateway/series.h"

#include <stdlib.h>

enum { TIME_DIGITS = 10, OTHER_DIGITS = 16, BITS = 5 };

/* Writes the lowest `count` digits of a number. */
static void put_digits(char *to, unsigned __int128 value, int count)
{
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    while (count--) {
        to[count] = digits[(unsigned)value % (1u << BITS)];
        value >>= BITS;
    }
}

void series_start(struct series *s, uint64_t now_ns, const char *lineage)
{
    const uint64_t ms = now_ns / 1000000, below_ms = now_ns % 1000000 / 16;  // 16 bits
    const uint64_t recipe = strtoull(lineage, NULL, 16);
    s->start_ns = now_ns;
    put_digits(s->unique_id, ms, TIME_DIGITS);
    put_digits(s->unique_id + TIME_DIGITS, (unsigned __int128)below_ms << 64 | recipe,
               OTHER_DIGITS);
    s->unique_id[TIME_DIGITS + OTHER_DIGITS] = '\0';
}
