#!/bin/sh
# SPDX-License-Identifier: ISC
# Inside the machine, started by its systemd: runs the stage, whose words go to the virtual serial
# port, and switches the machine off.
exec >/dev/virtio-ports/tap 2>&1 </dev/null
stage=$1
cd /srv/agentcell || exit 1
"tests/vm/${stage%%-*}.sh" "${stage#*-}"
sync
systemctl --no-block poweroff
