/*
 * The least a program can do: 4 KiB reads at random places of one file, one call after the other.
 *
 *   pread_loop FILE MIB SECONDS [direct]
 *
 * Makes the file, reads for so many seconds, prints the reads per second below a header.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 4096, BETWEEN_CLOCKS = 64 };

static uint64_t state = 0x9e3779b97f4a7c15u;

/* xorshift64* */
static uint64_t draw(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1du;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "pread_loop FILE MIB SECONDS [direct]\n");
        return 2;
    }
    uint64_t blocks = strtoull(argv[2], NULL, 10) * 256;
    double seconds = strtod(argv[3], NULL);
    void *memory;
    if (blocks == 0 || posix_memalign(&memory, BLOCK, BLOCK) != 0)
        fail("memory");

    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        fail(argv[1]);
    for (uint64_t block = 0; block < blocks; block++) {
        for (int at = 0; at < BLOCK / 8; at++)
            ((uint64_t *)memory)[at] = draw();
        if (write(fd, memory, BLOCK) != BLOCK)
            fail("write");
    }
    if (fsync(fd) != 0)
        fail("fsync");
    close(fd);

    fd = open(argv[1], O_RDONLY | (argc > 4 && strcmp(argv[4], "direct") == 0 ? O_DIRECT : 0));
    if (fd < 0)
        fail(argv[1]);
    uint64_t reads = 0;
    double begin = now(), end = begin;
    while (end - begin < seconds) {
        for (int i = 0; i < BETWEEN_CLOCKS; i++) {
            uint64_t block = (uint64_t)(((unsigned __int128)draw() * blocks) >> 64);
            if (pread(fd, memory, BLOCK, (off_t)(block * BLOCK)) != BLOCK)
                fail("pread");
        }
        reads += BETWEEN_CLOCKS;
        end = now();
    }
    printf("reads/s\n%.3f\n", reads / (end - begin));
    return 0;
}
