/* SPDX-License-Identifier: ISC */
/*
 * What the sessions of tests/bench/listener.sh do, one a word.
 *
 *     spree <path>   four processes; one tries to open the path, then all read on for as long as they
 *                    live.  The file "spree" tells the tale, a struct for each.
 *     tries <path>   as many refused opens as a session may cause at once; "tries" gets start and end (ns)
 *     calls          prints what one system call costs (ns)
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPREE 4
#define TRIES 9000 /* below what ends a session as a flood */
#define CALLS 2000000

struct spree { /* times of CLOCK_MONOTONIC in ns; before and after the violation: the first one's */
	uint64_t before, after, last, files;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void read_on(volatile struct spree *mine)
{
	char buffer[64];

	for (;;) {
		int text = open("text", O_RDONLY | O_CLOEXEC);

		if (read(text, buffer, sizeof(buffer)) > 0)
			mine->files++;
		close(text);
		mine->last = now_ns();
	}
}

static int spree(const char *path)
{
	int fd = open("spree", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	volatile struct spree *tale;

	if (fd < 0 || ftruncate(fd, SPREE * sizeof(*tale)))
		return 1;
	tale = mmap(NULL, SPREE * sizeof(*tale), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (tale == MAP_FAILED)
		return 1;
	for (unsigned i = 1; i < SPREE; i++)
		if (fork() == 0) {
			while (!tale->before)
				(void)usleep(50);
			read_on(&tale[i]);
		}
	(void)usleep(3000); /* until they are there */
	tale->before = now_ns();
	(void)open(path, O_RDONLY | O_CLOEXEC);
	tale->after = now_ns();
	read_on(tale);
	return 1;
}

static int tries(const char *path)
{
	uint64_t start = now_ns();
	FILE *file = fopen("tries", "ae");

	for (unsigned i = 0; i < TRIES; i++)
		(void)open(path, O_RDONLY | O_CLOEXEC);
	if (!file)
		return 1;
	(void)fprintf(file, "%llu %llu\n", (unsigned long long)start, (unsigned long long)now_ns());
	return fclose(file);
}

static int calls(void)
{
	uint64_t start = now_ns();

	for (unsigned i = 0; i < CALLS; i++)
		(void)syscall(SYS_getppid);
	(void)printf("%llu\n", (unsigned long long)((now_ns() - start) / CALLS));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "spree"))
		return spree(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "tries"))
		return tries(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "calls"))
		return calls();
	return 2;
}
