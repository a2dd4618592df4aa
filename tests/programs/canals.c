/*
 * What comparisons are tested with: half a second or so of work whose parts differ between two builds.
 *
 *   dig_canal     takes as long in both
 *   lift_boat     takes three times as long with -DRAISED
 *   drain_lock    is there without -DRAISED only
 *   flood_lock    is there with -DRAISED only
 */
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t water = 88172645463325252u;

/* A macro and no function: what is inlined would count for itself. */
#define SPLASH(drop) ((drop) * 6364136223846793005u + 1442695040888963407u)

NOINLINE void dig_canal(uint32_t spades) {
    for (uint32_t i = 0; i < spades; i++) water = SPLASH(water);
}

NOINLINE void lift_boat(uint32_t metres) {
    for (uint32_t i = 0; i < metres; i++) water = SPLASH(water) + 1;
}

#ifdef RAISED
NOINLINE void flood_lock(uint32_t barrels) {
    for (uint32_t i = 0; i < barrels; i++) water = SPLASH(water) + 2;
}
#else
NOINLINE void drain_lock(uint32_t barrels) {
    for (uint32_t i = 0; i < barrels; i++) water = SPLASH(water) + 3;
}
#endif

NOINLINE void pass_lock(void) {
#ifdef RAISED
    lift_boat(600000);
    flood_lock(400000);
#else
    lift_boat(200000);
    drain_lock(800000);
#endif
}

int main(void) {
    for (int boat = 0; boat < 500; boat++) {
        dig_canal(500000);
        pass_lock();
    }
    printf("%llu\n", (unsigned long long)water);
    return 0;
}
