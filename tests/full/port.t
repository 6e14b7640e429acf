#!/bin/sh
# What real sockets do only after a long time, see tests/unit/stage_port.c.
exec "$(dirname "$0")/../../${BUILD:-build}/tests/unit/stage_port.t" long
