#!/bin/sh
# SPDX-License-Identifier: ISC
# Keeps the table of claims in spec/README.md true: each sentence must stand in the line that the
# table names.  lines.sh --fix writes the right numbers.
set -eu
cd "$(dirname "$0")/.." || exit 1
readme=spec/README.md

# Rows are "| sentence | `file:line`, `file:line` | ..."
sed -n 's/^| \([^|]*[^| ]\) *| \(`[^|]*:[0-9]*`[^|]*\)|.*/\1|\2/p' "$readme" |
	while IFS='|' read -r sentence places; do
		for place in $(echo "$places" | tr -d '`,'); do
			file=${place%:*}
			line=$(grep -nF -m1 -- "$sentence" "$file" | cut -d: -f1)
			if [ -z "$line" ]; then
				echo "lines: BROKEN: $file does not say: $sentence"
			elif [ "$line" != "${place##*:}" ] && [ "${1:-}" = --fix ]; then
				sed -i "\\#^| $sentence *|#s#\`$place\`#\`$file:$line\`#" "$readme"
			elif [ "$line" != "${place##*:}" ]; then
				echo "lines: BROKEN: $place is now $file:$line: spec/lines.sh --fix"
			else
				echo ok
			fi
		done
	done | { grep -v '^ok$' && exit 1 || true; }
