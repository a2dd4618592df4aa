// Threads and a process with names of their own, that sort, recurse and read files.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long sum;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) static void sorts(void) {
    static __thread int numbers[100000];
    // Some time of its own: stacks end in qsort, which has no frame pointers.
    for (int i = 0; i < 400000; i++) numbers[i % 100000] = (i % 100000 * 7919) % 65537;
    qsort(numbers, 100000, sizeof *numbers, compare);
    sum += numbers[7];
}
__attribute__((noinline)) static void descend(int depth) {
    for (int i = 0; i < 20000; i++) sum += i;
    if (depth) descend(depth - 1);
    sum++;
}
__attribute__((noinline)) static void reads(void) {
    char text[4096];
    FILE *file = fopen("/proc/self/maps", "r");
    while (file && fgets(text, sizeof text, file)) sum += strlen(text);
    if (file) fclose(file);
}
static void *work(void *name) {
    prctl(PR_SET_NAME, name);
    for (int i = 0; i < 12; i++) { sorts(); descend(20); }
    return NULL;
}
int main(void) {
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_NAME, "helper");
        for (int i = 0; i < 1500; i++) reads();
        _exit(0);
    }
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, work, "worker");
    pthread_create(&threads[1], NULL, work, "other worker");
    for (int i = 0; i < 15; i++) { sorts(); reads(); descend(10); }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    waitpid(child, NULL, 0);
    return sum == 1;
}
