#define FASTMATH_UNFUSED
#include "physics/noise/poisson.h"

#include <pthread.h>

static struct poisson_table table;

/* Computes the probabilities of the likeliest counts, from the mode outwards. Returns the first
 * of these counts. */
static int find_chances(int mean, double chance[POISSON_PLACES])
{
    double of[256];
    of[0] = exp_fast(-(double)mean);
    for (int k = 1; k < 256; k++)
        of[k] = of[k - 1] * (double)mean / (double)k;
    int first = mean, end = mean + 1;
    while (end - first < POISSON_PLACES)
        if (first > 0 && of[first - 1] > of[end])
            first--;
        else
            end++;
    double sum = 0.0;
    for (int k = first; k < end; k++)
        sum = sum + of[k];
    for (int i = 0; i < POISSON_PLACES; i++)
        chance[i] = of[first + i] / sum;
    return first;
}

/* Fills in a place whose own outcome has a `share` of it. */
static void fill_place(int row, int place, double share, int own, int other)
{
    table.chance[row][place] = share;
    table.entry[row][place] =
        (uint32_t)(share * POISSON_DIGITS) | (uint32_t)own << 10 | (uint32_t)other << 18;
}

/* Gives each place that is not full the rest of one that is more than full. */
static void make_row(int row)
{
    double share[POISSON_PLACES];
    int poor[POISSON_PLACES], rich[POISSON_PLACES], npoor = 0, nrich = 0;
    const int first = find_chances(row - 1 + POISSON_WHOLE_LEAST, share);
    for (int i = 0; i < POISSON_PLACES; i++) {
        share[i] = share[i] * POISSON_PLACES;
        if (share[i] < 1.0)
            poor[npoor++] = i;
        else
            rich[nrich++] = i;
    }
    while (npoor && nrich) {
        const int to = poor[--npoor], from = rich[nrich - 1];
        fill_place(row, to, share[to], first + to, first + from);
        share[from] = (share[from] + share[to]) - 1.0;
        if (share[from] < 1.0) {
            nrich--;
            poor[npoor++] = from;
        }
    }
    while (npoor--)  // full, but for rounding
        fill_place(row, poor[npoor], 1.0, first + poor[npoor], 0);
    while (nrich--)
        fill_place(row, rich[nrich], 1.0, first + rich[nrich], 0);
}

static void make(void)
{
    for (int place = 0; place < POISSON_PLACES; place++)
        fill_place(0, place, 1.0, 0, 0);
    for (int row = 1; row <= POISSON_WHOLES; row++)
        make_row(row);
}

const struct poisson_table *poisson_table(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make);
    return &table;
}
