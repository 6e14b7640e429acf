/* The beginning and the end of every unit test. */
#ifndef BRAGG_TESTS_UNIT_H
#define BRAGG_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Runs an array of tests, between these functions for all of them; for main to return. */
#define unit_run_within(tests, begin, end) \
    (cmocka_set_message_output(CM_OUTPUT_TAP), cmocka_run_group_tests(tests, begin, end))

#define unit_run(tests) unit_run_within(tests, NULL, NULL)

#endif
