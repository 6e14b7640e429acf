/* Requests of browsers: words of a request, host names, origins, cookies, tokens. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "web/access.h"
#include "web/request.h"

/* In a block of just that size, so that a sanitizer sees what is read behind it. */
static bool reads(const char *text, size_t length, struct web_request *r)
{
    char *exact = malloc(length ? length : 1);
    assert_non_null(exact);
    memcpy(exact, text, length);
    const bool good = web_request_read(exact, length, r);
    free(exact);
    return good;
}

static void requests_are_words_and_numbers(void **state)
{
    (void)state;
    struct web_request r;
    const char *tile = "tile 17 1 2 30 40 5 mean";
    assert_true(reads(tile, strlen(tile), &r));
    assert_true(r.verb == WEB_ASK_TILE && r.number == 17 && r.region.x == 1 && r.region.y == 2);
    assert_true(r.region.width == 30 && r.region.height == 40 && r.region.factor == 5);
    assert_true(r.region.mean);
    assert_true(reads("look yes", 8, &r) && r.verb == WEB_LOOK && r.looks);
    assert_true(reads("marks 0", 7, &r) && r.verb == WEB_ASK_MARKS);
    static const char *const bad[] = {"",
                                      "tile",
                                      "tile 1 2 3 4 5 0 max",
                                      "tile 1 2 3 4 5 6 min",
                                      "tiles 1",
                                      "look",
                                      "look maybe",
                                      "look yes ",
                                      "marks -1",
                                      "marks 1 2",
                                      "marks 0x1",
                                      "marks 1e3",
                                      "marks  1",
                                      "tile 1 -2 3 4 5 6 max",
                                      "tile 1 2147483648 3 4 5 6 max",
                                      " look yes",
                                      "look yes\n",
                                      "marks 9999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (reads(bad[i], strlen(bad[i]), &r))
            fail_msg("taken: '%s'", bad[i]);
    for (size_t n = 0; n < strlen(tile); n++)  // cut off anywhere
        assert_false(reads(tile, n, &r));
    assert_false(reads("marks 1\0", 8, &r));
}

static void regions_end_with_the_detector(void **state)
{
    (void)state;
    struct web_region r = {.x = 1, .y = 0, .width = 100, .height = 100, .factor = 4};
    assert_true(web_region_cut(&r, 10, 9));
    assert_true(r.width == 2 && r.height == 3);
    r = (struct web_region){.x = 3, .width = 1, .height = 1, .factor = 4};
    assert_false(web_region_cut(&r, 10, 9));
    r = (struct web_region){.x = INT32_MAX,
                            .y = INT32_MAX,
                            .width = INT32_MAX,
                            .height = INT32_MAX,
                            .factor = INT32_MAX};
    assert_false(web_region_cut(&r, 1 << 14, 1 << 14));
    r = (struct web_region){.width = INT32_MAX, .height = INT32_MAX, .factor = 1};
    assert_false(web_region_cut(&r, 1 << 14, 1 << 14));  // more blocks than an answer has
}

static void hosts_are_names_or_numbers(void **state)
{
    (void)state;
    assert_true(web_host_is_good("localhost:8080", NULL));
    assert_true(web_host_is_good("127.0.0.1", NULL) && web_host_is_good("[::1]:80", NULL));
    assert_true(web_host_is_good("Beam.example:80", "beam.example"));
    static const char *const bad[] = {"",
                                      ":80",
                                      "evil.example",
                                      "localhost.evil.example",
                                      "127.0.0.1.evil.example",
                                      "beam.example.evil"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(web_host_is_good(bad[i], "beam.example"));
    assert_true(web_origin_is_good("", "a:1") && web_origin_is_good("http://a:1", "a:1"));
    assert_false(web_origin_is_good("http://b:1", "a:1") || web_origin_is_good("null", "a:1"));
    assert_false(web_origin_is_good("http://a:1.evil", "a:1"));
}

static void cookies_and_tokens(void **state)
{
    (void)state;
    char value[8];
    assert_true(web_cookie("a=1; token=abc; b=2", "token", value, sizeof value));
    assert_string_equal(value, "abc");
    assert_false(web_cookie("a=1; xtoken=abc", "token", value, sizeof value));
    assert_false(web_cookie("token=12345678", "token", value, sizeof value));  // too long
    assert_false(web_cookie("", "token", value, sizeof value));
    assert_true(web_token_equal("abc", "abc"));
    assert_false(web_token_equal("abc", "abd") || web_token_equal("abc", "ab"));
    assert_false(web_token_equal("abc", "abcd") || web_token_equal("abc", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_words_and_numbers),
        cmocka_unit_test(regions_end_with_the_detector),
        cmocka_unit_test(hosts_are_names_or_numbers),
        cmocka_unit_test(cookies_and_tokens),
    };
    return unit_run(tests);
}
