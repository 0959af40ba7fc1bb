#!/bin/sh
# SPDX-License-Identifier: ISC
# A long working day (tests/harness/soak) on a machine of its own: soak.sh SECONDS.  The harnesses'
# packages are on the third disk.
# shellcheck source=tests/vm/lib.sh
. /srv/agentcell/tests/vm/lib.sh

mkdir -p /var/cache/agentcell-test && mount /dev/vdc /var/cache/agentcell-test || exit 1
# Everything takes its time under emulation.
export CELL_TIMEOUT=3000 SOAK_GRACE_S=9000
exec "$tree/tests/harness/soak" "$1"
