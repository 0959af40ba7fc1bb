#!/bin/sh
# SPDX-License-Identifier: ISC
# A full disk at many points of making and restoring: named, nothing half is left, the next run works.
. "$(dirname "$0")/lib.sh"
BASE=$base B=$B WHAT=nospace /usr/bin/python3 "$here/kill.py"
