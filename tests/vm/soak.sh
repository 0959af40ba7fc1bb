#!/bin/sh
# SPDX-License-Identifier: ISC
# A long working day (tests/harness/soak) on a machine of its own: soak.sh SECONDS.  The harnesses'
# packages are on the third disk.
# shellcheck source=tests/vm/lib.sh
. /srv/agentcell/tests/vm/lib.sh

# Not below a directory that the sandbox lays its own over.
export AGENTCELL_TEST_CACHE=/srv/agentcell-test
mkdir -p "$AGENTCELL_TEST_CACHE" && mount /dev/vdc "$AGENTCELL_TEST_CACHE" || exit 1
# Everything takes its time under emulation.
export CELL_TIMEOUT=3000 SOAK_GRACE_S=9000
exec "$tree/tests/harness/soak" "$1"
