#include "option_checks.h"

enum status options_exclude(const struct option_pair *pairs, size_t count, struct error *e)
{
    for (size_t i = 0; i < count; i++)
        if (pairs[i].first && pairs[i].second)
            return error_set(e, STATUS_USAGE, "--%s and --%s exclude each other",
                             pairs[i].first_name, pairs[i].second_name);
    return STATUS_OK;
}

enum status options_need(const struct option_pair *pairs, size_t count, struct error *e)
{
    for (size_t i = 0; i < count; i++)
        if (pairs[i].first && !pairs[i].second)
            return error_set(e, STATUS_USAGE, "--%s needs --%s", pairs[i].first_name,
                             pairs[i].second_name);
    return STATUS_OK;
}
