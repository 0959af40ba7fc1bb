/* SPDX-License-Identifier: ISC */
/*
 * The hostile process: exchanges pairs of names as fast as it can until it is killed.
 *
 *   swapper <a> <b> [<a> <b>]...
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	unsigned long pause = 0;

	for (;;)
		for (int i = 1; i + 1 < argc; i += 2) {
			renameat2(AT_FDCWD, argv[i], AT_FDCWD, argv[i + 1], RENAME_EXCHANGE);
			/* Not in step with anything. */
			for (volatile unsigned long k =
					(pause = pause * 1103515245 + 12345) >> 16 & 0xfff;
				k; k--)
				;
		}
}
