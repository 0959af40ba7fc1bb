#!/bin/sh
# SPDX-License-Identifier: ISC
# A hostile process of the user against backup and restore: nothing outside is read or written.
. "$(dirname "$0")/lib.sh"
BASE=$base B=$B /usr/bin/python3 "$here/hostile.py"
