/*
 * Reads a tree again by a list of it, as a plain program would: the calls that a walk through it and
 * C's buffered reading of every file come to, one after the other.
 *
 *   tree_read TREE TIMES
 *
 * Makes the list first, in the order in which the file system shows the tree: of each directory its
 * entries, its files, then the directories below. Reads by the list so many times and prints the mean
 * of the rates.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What is read of a file and of a directory at once. */
enum { PIECE = 256 << 10, ENTRIES = 32 << 10 };

/* One line of the list: a directory that is listed, an entry that is looked at, a directory that could
 * have been a link, a file that is read. */
struct line {
    enum { DIRECTORY, ENTRY, BELOW, READ } what;
    char *path;
};

static struct line *list;
static size_t lines, room;
static char piece[PIECE], entries[ENTRIES];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void add(int what, const char *path)
{
    if (lines == room) {
        room = room ? 2 * room : 1024;
        list = realloc(list, room * sizeof *list);
        if (!list)
            fail("memory");
    }
    list[lines].what = what;
    list[lines].path = strdup(path);
    if (!list[lines++].path)
        fail("memory");
}

static void make_list(const char *path)
{
    struct { char *path; int directory; } *found = NULL;
    size_t count = 0;
    DIR *dir = opendir(path);
    if (!dir)
        fail(path);
    add(DIRECTORY, path);
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        found = realloc(found, (count + 1) * sizeof *found);
        /* The tree is where the program is: no names but those below it. */
        if (!found || asprintf(&found[count].path, "%s%s%s", strcmp(path, ".") ? path : "",
                               strcmp(path, ".") ? "/" : "", entry->d_name) < 0)
            fail("memory");
        if (lstat(found[count].path, &st) != 0)
            fail(found[count].path);
        found[count].directory = S_ISDIR(st.st_mode);
        add(ENTRY, found[count++].path);
    }
    closedir(dir);
    for (size_t i = 0; i < count; i++)
        if (!found[i].directory)
            add(READ, found[i].path);
    for (size_t i = 0; i < count; i++) {
        if (found[i].directory) {
            add(BELOW, found[i].path);
            make_list(found[i].path);
        }
        free(found[i].path);
    }
    free(found);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void list_directory(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        fail(path);
    long got;
    while ((got = syscall(SYS_getdents64, fd, entries, ENTRIES)) > 0)
        ;
    if (got < 0)
        fail(path);
    close(fd);
}

/* The bytes of a file. The first look is for what it is, the second for its block. A piece that did not
 * come whole is tried again, and then the end is seen. */
static unsigned long read_file(const char *path)
{
    struct stat st;
    unsigned long bytes = 0;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0 || fstat(fd, &st) != 0)
        fail(path);
    for (;;) {
        ssize_t got = read(fd, piece, PIECE);
        if (got < 0)
            fail(path);
        bytes += got;
        if (got == 0)
            break;
        if (got < PIECE) {
            size_t rest = PIECE - got, buffer = st.st_blksize < BUFSIZ ? st.st_blksize : BUFSIZ;
            if (read(fd, piece, rest < buffer ? buffer : rest - rest % buffer) != 0)
                fail(path);
        }
    }
    close(fd);
    return bytes;
}

static unsigned long read_tree(void)
{
    struct stat st;
    unsigned long bytes = 0;
    for (size_t i = 0; i < lines; i++) {
        const char *path = list[i].path;
        switch (list[i].what) {
        case DIRECTORY:
            list_directory(path);
            break;
        case ENTRY:
            if (stat(path, &st) != 0)
                fail(path);
            break;
        case BELOW:
            if (lstat(path, &st) != 0)
                fail(path);
            break;
        case READ:
            bytes += read_file(path);
            break;
        }
    }
    return bytes;
}

int main(int argc, char **argv)
{
    int times = argc == 3 ? atoi(argv[2]) : 0;
    if (times < 1) {
        fprintf(stderr, "tree_read TREE TIMES\n");
        return 2;
    }
    if (chdir(argv[1]) != 0)
        fail(argv[1]);
    make_list(".");
    double rates = 0;
    for (int i = 0; i < times; i++) {
        double begin = now();
        unsigned long bytes = read_tree();
        rates += bytes / (now() - begin) / (1 << 20);
    }
    printf("Read %.3f MiB/s\n", rates / times);
    return 0;
}
