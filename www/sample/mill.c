/*
 * What the page's sample profile is a recording of (cargo xtask sample): ten seconds of a mill that
 * has something of everything a profile may show.
 *
 *   mill          sorts sacks (in libc), writes the ledger (in the kernel), waits
 *   "stone-1/2"   grind, in waves: the heart of it, with inlined functions
 *   "sieve"       copies and clears (in libc), and touches fresh pages (in the kernel)
 *   "miller"      a second process of the same program, in the middle third
 *   a song        that stands in memory without a file, as the code of a JIT compiler does
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static const double LENGTH = 10.0;

static struct timespec began;
static volatile uint64_t flour;

/* Seconds since the start. */
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)(time.tv_sec - began.tv_sec) + (double)(time.tv_nsec - began.tv_nsec) / 1e9;
}

static void rest(double seconds) {
    if (seconds > 0) {
        usleep((useconds_t)(seconds * 1e6));
    }
}

/* ---- grinding: inlined functions and a deep path ------------------------------------------ */

static inline uint64_t turn(uint64_t grain) {
    grain ^= grain << 13;
    grain ^= grain >> 7;
    return grain ^ (grain << 17);
}

static inline uint64_t press(uint64_t grain, unsigned weight) {
    return (grain << (weight & 31)) | (grain >> (64 - (weight & 31)) % 64);
}

NOINLINE uint64_t crush(uint64_t grain, int turns) {
    for (int i = 0; i < turns; i++) {
        grain = turn(press(grain + (uint64_t)i, (unsigned)i));
    }
    return grain;
}

NOINLINE uint64_t husk(uint64_t grain, int turns) {
    for (int i = 0; i < turns; i++) {
        grain = turn(grain) % 1000003 + (uint64_t)i;
    }
    return grain;
}

NOINLINE double dust(double grain, int turns) {
    for (int i = 0; i < turns; i++) {
        grain = sqrt(grain * 1.7 + i) + 1.0 / (grain + 2.0);
    }
    return grain;
}

NOINLINE uint64_t grind_coarse(uint64_t sack) {
    uint64_t grain = husk(sack, 9000);
    return crush(grain, 30000) + 1;
}

NOINLINE uint64_t grind_fine(uint64_t sack) {
    uint64_t grain = crush(sack, 26000) + (uint64_t)dust((double)(sack & 1023), 5000);
    return crush(grain, 8000) + 1;
}

NOINLINE uint64_t grind(uint64_t sack) {
    return sack % 3 == 0 ? grind_fine(sack) + 1 : grind_coarse(sack) + 1;
}

/* How much wind there is: waves that rise and fall. */
static double wind(double time, double phase) {
    double wave = sin(time * 1.3 + phase) * 0.5 + 0.5;
    return 0.15 + 0.85 * wave * wave;
}

NOINLINE void run_stone(const char *name, double phase) {
    prctl(PR_SET_NAME, name);
    for (uint64_t sack = 1; now() < LENGTH; sack++) {
        double start = now();
        for (int i = 0; i < 20; i++) {
            flour += grind(sack * 977 + (uint64_t)i);
        }
        double spent = now() - start;
        double share = wind(now(), phase);
        rest(spent * (1 - share) / share);
    }
}

static void *stone_1(void *unused) {
    run_stone("stone-1", 0.0);
    return unused;
}

static void *stone_2(void *unused) {
    run_stone("stone-2", 2.1);
    return unused;
}

/* ---- sieving: copies, and pages from the kernel --------------------------------------------- */

static const size_t TRAY = 1 << 20;

NOINLINE uint64_t sift(char *tray, char *bin) {
    memcpy(bin, tray, TRAY);
    memset(tray, (int)(flour & 63), TRAY);
    return (uint64_t)bin[TRAY / 2] + 1;
}

NOINLINE uint64_t open_new_bin(void) {
    char *bin = mmap(NULL, TRAY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bin == MAP_FAILED) {
        return 0;
    }
    for (size_t page = 0; page < TRAY; page += 4096) {
        bin[page] = 1;
    }
    munmap(bin, TRAY);
    return 1;
}

static void *sieve(void *unused) {
    prctl(PR_SET_NAME, "sieve");
    char *tray = calloc(1, TRAY);
    char *bin = calloc(1, TRAY);
    while (tray != NULL && bin != NULL && now() < LENGTH) {
        for (int i = 0; i < 8; i++) {
            flour += sift(tray, bin);
        }
        for (int i = 0; i < 6; i++) {
            flour += open_new_bin();
        }
        rest(now() > 6.5 ? 0.004 : 0.020);
    }
    free(tray);
    free(bin);
    return unused;
}

/* ---- a song: code in memory that no file holds ------------------------------------------------ */

/* Counts its argument down (x86-64): push %rbp; mov %rsp,%rbp; 1: dec %rdi; jnz 1b; pop %rbp; ret */
static const unsigned char SONG[] = {
    0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3,
};

typedef void (*song)(uint64_t);

static song learn_song(void) {
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    memcpy(memory, SONG, sizeof SONG);
    mprotect(memory, 4096, PROT_READ | PROT_EXEC);
    return (song)memory;
}

NOINLINE uint64_t sing(song melody) {
    if (melody != NULL) {
        melody(9000000);
    }
    return 1;
}

/* ---- the clerk: sorting, and writing --------------------------------------------------------- */

static int by_weight(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

NOINLINE uint64_t weigh_sacks(uint32_t *sacks, size_t count) {
    uint64_t next = flour | 1;
    for (size_t i = 0; i < count; i++) {
        next = turn(next);
        sacks[i] = (uint32_t)next;
    }
    qsort(sacks, count, sizeof *sacks, by_weight);
    return sacks[count / 2];
}

NOINLINE uint64_t write_ledger(int ledger, const uint32_t *sacks, size_t count) {
    uint64_t written = 0;
    char line[64];
    for (size_t i = 0; i < count; i += 16) {
        int length = snprintf(line, sizeof line, "sack %zu weighs %u\n", i, sacks[i]);
        written += (uint64_t)pwrite(ledger, line, (size_t)length, 0);
    }
    return written;
}

NOINLINE void keep_books(void) {
    enum { SACKS = 20000 };
    static uint32_t sacks[SACKS];
    int ledger = memfd_create("ledger", 0);
    song melody = learn_song();
    while (now() < LENGTH) {
        flour += weigh_sacks(sacks, SACKS);
        flour += write_ledger(ledger, sacks, SACKS);
        if (now() > 7.5) {
            flour += sing(melody);
        }
        rest(0.012);
    }
    close(ledger);
}

/* The second process: what it does takes a third of the time. */
NOINLINE void tend(void) {
    while (now() < LENGTH / 3) {
        flour += grind_fine(flour) + 1;
        flour += husk(flour, 20000);
        rest(0.0005);
    }
}

static pid_t call_miller(char *self) {
    pid_t miller = fork();
    if (miller == 0) {
        execl(self, "miller", "tend", (char *)NULL);
        _exit(1);
    }
    return miller;
}

static void *hire(void *self) {
    rest(LENGTH / 3);
    waitpid(call_miller(self), NULL, 0);
    return NULL;
}

int main(int count, char **arguments) {
    clock_gettime(CLOCK_MONOTONIC, &began);
    if (count > 1) {
        prctl(PR_SET_NAME, "miller");
        tend();
        return 0;
    }
    void *(*const tasks[])(void *) = {stone_1, stone_2, sieve, hire};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, tasks[i], arguments[0]);
    }
    keep_books();
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
