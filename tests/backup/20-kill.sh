#!/bin/sh
# SPDX-License-Identifier: ISC
# kill -9 at many points of making, restoring and pruning: never a wrong or half result.
. "$(dirname "$0")/lib.sh"
BASE=$base B=$B WHAT=kill /usr/bin/python3 "$here/kill.py"
