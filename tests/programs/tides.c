/*
 * What the browser tests record: a second or so of work in functions that nothing else is named
 * like, so that finding one of these names in a page means that this program was named.
 *
 *   static inline   lift_droplet in raise_swell in rolling_sea, two levels deep
 *   libc            msort_with_tmp, static in libc's qsort, calls order_by_height
 *   kernel          empty_into_sea reads from /dev/zero
 *
 * Compiled with -DNEAP it is another build of the same program: one more function, so that every
 * function after it lies elsewhere.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))

#ifdef NEAP
NOINLINE uint32_t neap_tide(uint32_t height) {
    uint32_t low = height;
    for (uint32_t hour = 0; hour < 6; hour++) {
        low = low * 2654435761u + hour;
    }
    return low;
}
#endif

INLINE uint64_t lift_droplet(uint64_t water) {
    water ^= water << 13;
    water ^= water >> 7;
    return water ^ water << 17;
}

INLINE uint64_t raise_swell(uint64_t water, uint32_t droplets) {
    for (uint32_t i = 0; i < droplets; i++) {
        water = lift_droplet(water);
    }
    return water;
}

NOINLINE uint64_t settle_foam(uint64_t water) {
    return water * 6364136223846793005u + 1;
}

/* Calls something that is not inlined, since gcc gives a leaf function no frame. */
NOINLINE uint64_t rolling_sea(uint64_t water, uint32_t swells) {
    for (uint32_t i = 0; i < swells; i++) {
        water = settle_foam(raise_swell(water, 64)) + i;
    }
    return water;
}

NOINLINE int order_by_height(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

NOINLINE uint64_t sort_the_waves(uint64_t water, uint32_t *waves, size_t count) {
    for (size_t i = 0; i < count; i++) {
        water = lift_droplet(water);
        waves[i] = (uint32_t)(water >> 32);
    }
    qsort(waves, count, sizeof *waves, order_by_height);
    return water + waves[count / 2];
}

NOINLINE size_t empty_into_sea(int sea, char *bucket, size_t size, int times) {
    size_t poured = 0;
    for (int i = 0; i < times; i++) {
        ssize_t part = read(sea, bucket, size);
        poured += part > 0 ? (size_t)part : 0;
    }
    return poured;
}

int main(int argc, char **argv) {
    static uint32_t waves[1 << 15];
    static char bucket[1 << 20];
    int tides = argc > 1 ? atoi(argv[1]) : 60;
    int sea = open("/dev/zero", O_RDONLY);
    uint64_t water = 88172645463325252u;
    size_t poured = 0;
    for (int tide = 0; tide < tides; tide++) {
        water = rolling_sea(water, 60000);
        water = sort_the_waves(water, waves, sizeof waves / sizeof *waves);
        poured += empty_into_sea(sea, bucket, sizeof bucket, 20);
#ifdef NEAP
        water += neap_tide((uint32_t)water);
#endif
    }
    printf("%llu %zu\n", (unsigned long long)water, poured);
    return 0;
}
