/*
 * What the tests of time record: phases of known length, each in a function of its own.
 *
 *   first_watch    the main thread, alone
 *   (nothing)      all are asleep
 *   second_watch   the main thread, and beside it
 *   lookout          a thread named "lookout"
 *   dog_watch      a child process named "dog", which was forked for it
 *
 * Each argument is the length of a phase in milliseconds, in this order; the child's is the last.
 * Prints when each began and ended, in nanoseconds of CLOCK_MONOTONIC: "first_watch 123 456".
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Works until a time; in each phase it is called by another function. */
static volatile uint64_t tally;

#define WATCH(name)                                                                                \
    NOINLINE void name(uint64_t end) {                                                             \
        while (now() < end) {                                                                      \
            for (uint32_t i = 0; i < 20000; i++) {                                                 \
                tally = tally * 6364136223846793005u + i;                                          \
            }                                                                                      \
        }                                                                                          \
    }

WATCH(first_watch)
WATCH(second_watch)
WATCH(lookout)
WATCH(dog_watch)

static void *run_lookout(void *end) {
    prctl(PR_SET_NAME, "lookout");
    lookout(*(uint64_t *)end);
    return NULL;
}

static void report(const char *phase, uint64_t began) {
    printf("%s %llu %llu\n", phase, (unsigned long long)began, (unsigned long long)now());
    fflush(stdout);
}

int main(int argc, char **argv) {
    uint64_t length[4];
    for (int i = 0; i < 4; i++) {
        length[i] = (argc > i + 1 ? strtoull(argv[i + 1], NULL, 10) : 500) * 1000000u;
    }
    uint64_t began = now();
    first_watch(began + length[0]);
    report("first_watch", began);

    began = now();
    struct timespec pause = {(time_t)(length[1] / 1000000000u), (long)(length[1] % 1000000000u)};
    nanosleep(&pause, NULL);
    report("sleep", began);

    began = now();
    uint64_t end = began + length[2];
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_lookout, &end) != 0) {
        return 1;
    }
    second_watch(end);
    pthread_join(thread, NULL);
    report("second_watch", began);

    began = now();
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_NAME, "dog");
        dog_watch(began + length[3]);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    report("dog_watch", began);
    return 0;
}
