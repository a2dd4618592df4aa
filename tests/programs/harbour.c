/*
 * What the fixtures record (cargo xtask fixtures): 60 ms or so of work that has a bit of everything
 * and leaves a small recording.
 *
 *   harbour          calls load, which calls stow, which spins
 *   thread "crane"   the same, and sleeps in between: switches
 *   child "tug"      forked, renamed: other names and a process that ends
 *   kernel           read of /dev/zero into fresh pages: page faults
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t cargo = 88172645463325252u;

NOINLINE uint64_t stow(uint64_t crate) {
    for (int i = 0; i < 300000; i++) {
        crate ^= crate << 13;
        crate ^= crate >> 7;
        crate ^= crate << 17;
    }
    return crate;
}

NOINLINE uint64_t load(int ships) {
    uint64_t total = 0;
    for (int ship = 0; ship < ships; ship++) {
        total += stow(cargo + ship);
    }
    return total;
}

static void *lift(void *unused) {
    prctl(PR_SET_NAME, "crane");
    for (int i = 0; i < 4; i++) {
        cargo += load(4);
        usleep(2000);
    }
    return unused;
}

NOINLINE void flood(size_t pages) {
    int sea = open("/dev/zero", O_RDONLY);
    char *dock = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t page = 0; page < pages; page++) {
        cargo += read(sea, dock + page * 4096, 4096);
    }
    munmap(dock, pages * 4096);
    close(sea);
}

int main(void) {
    pthread_t crane;
    pthread_create(&crane, NULL, lift, NULL);
    cargo += load(16);
    pid_t tug = fork();
    if (tug == 0) {
        prctl(PR_SET_NAME, "tug");
        cargo += load(8);
        _exit(0);
    }
    flood(40);
    pthread_join(crane, NULL);
    waitpid(tug, NULL, 0);
    return 0;
}
