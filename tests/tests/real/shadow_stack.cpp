// A program that knows its own stack. Each function notes on entry who it is, in a list that lies on the stack of its
// thread: so a copy of that stack has it too, as it was at that moment. A function that is named here and has just been
// entered, or is about to return, need not be in the list.

#include <algorithm>
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <pthread.h>
#include <stdexcept>

struct Shadow {
    volatile uint64_t magic;
    volatile uint64_t depth;
    volatile uint8_t ids[1024];
};

static thread_local Shadow *shadow;
static volatile unsigned sink;
static jmp_buf back;

#define BARRIER() __asm__ volatile("" ::: "memory")

struct Here {
    uint64_t before;
    explicit Here(uint8_t id) : before(shadow->depth) {
        shadow->ids[before] = id;
        BARRIER();
        shadow->depth = before + 1;
        BARRIER();
    }
    ~Here() {
        BARRIER();
        shadow->depth = before;
        BARRIER();
    }
};

#define NAMED extern "C" __attribute__((noinline))

NAMED unsigned fn_1(unsigned seed) {
    Here here(1);
    for (int i = 0; i < 1500; i++) seed = seed * 1664525u + 1013904223u;
    sink = seed;
    return seed;
}

// Deep, with registers that have to be saved.
NAMED unsigned fn_2(unsigned depth, unsigned a, unsigned b, unsigned c) {
    Here here(2);
    if (depth == 0) return fn_1(a ^ b ^ c) + fn_1(a + b);
    unsigned r = fn_2(depth - 1, b + depth, c, a * 3);
    return r + a * b + c;
}

// A frame whose size only the program knows.
NAMED unsigned fn_3(unsigned size) {
    Here here(3);
    volatile unsigned char *bytes = (unsigned char *)alloca(size);
    for (unsigned i = 0; i < size; i += 64) bytes[i] = (unsigned char)i;
    unsigned r = fn_1(bytes[0] + size);
    return r + bytes[size / 2];
}

// A frame that is aligned anew.
NAMED unsigned fn_4(unsigned seed) {
    Here here(4);
    alignas(64) volatile unsigned char line[64];
    for (int i = 0; i < 64; i++) line[i] = (unsigned char)(seed + i);
    return fn_1(seed) + line[seed & 63];
}

NAMED int fn_5(const void *a, const void *b) {
    Here here(5);
    unsigned x = fn_1(*(const unsigned *)a), y = fn_1(*(const unsigned *)b);
    return (x & 255) < (y & 255) ? -1 : 1;
}

// Through code of the C library and back.
NAMED unsigned fn_6(unsigned seed) {
    Here here(6);
    unsigned numbers[12];
    for (int i = 0; i < 12; i++) numbers[i] = seed * 31u + i * 17u;
    qsort(numbers, 12, sizeof *numbers, fn_5);
    return numbers[3];
}

NAMED void fn_7(int) {
    Here here(7);
    fn_1(7);
}

// Through a signal.
NAMED void fn_8() {
    Here here(8);
    raise(SIGUSR1);
}

NAMED void fn_9(unsigned seed) {
    Here here(9);
    if (fn_1(seed)) throw std::runtime_error("thrown");
}

NAMED unsigned fn_10(unsigned seed) {
    Here here(10);
    fn_9(seed);
    return seed + 1;
}

// Through an exception.
NAMED void fn_11(unsigned seed) {
    Here here(11);
    try {
        sink = fn_10(seed);
    } catch (const std::exception &) {
        fn_1(seed);
    }
}

NAMED void fn_12(unsigned seed) {
    Here here(12);
    fn_1(seed);
    // Where it goes to is there before anything could be noted.
    shadow->depth = here.before;
    BARRIER();
    longjmp(back, 1);
}

NAMED void fn_13(unsigned seed) {
    Here here(13);
    volatile uint64_t depth = shadow->depth;
    if (setjmp(back) == 0) fn_12(seed);
    shadow->depth = depth;
    fn_1(seed);
}

struct Shape {
    virtual ~Shape() {}
    virtual unsigned area(unsigned seed) = 0;
};

NAMED unsigned fn_14(unsigned seed) {
    Here here(14);
    return fn_2(5 + seed % 20, seed, 2, 3) + fn_3(200 + seed % 1000);
}

struct Round : Shape {
    unsigned area(unsigned seed) override { return fn_14(seed); }
};

NAMED unsigned fn_15(Shape *shape, unsigned seed) {
    Here here(15);
    return shape->area(seed) + 1;
}

NAMED void fn_16(unsigned rounds) {
    Here here(16);
    Round round;
    for (unsigned i = 0; i < rounds; i++) {
        fn_2(i % 4 == 0 ? 300 : i % 7, i, 2, 3);
        fn_3(100 + i % 500);
        fn_4(i);
        fn_6(i);
        fn_8();
        fn_11(i);
        fn_15(&round, i);
    }
}

NAMED void *fn_17(void *) {
    Shadow mine = {};
    mine.magic = 0x5ad05ac4e55ad0u;
    shadow = &mine;
    Here here(17);
    fn_16(5000);
    return nullptr;
}

NAMED int fn_18() {
    Shadow mine = {};
    mine.magic = 0x5ad05ac4e55ad0u;
    shadow = &mine;
    Here here(18);
    signal(SIGUSR1, fn_7);
    pthread_t other;
    pthread_create(&other, nullptr, fn_17, nullptr);
    fn_16(5000);
    for (unsigned i = 0; i < 20000; i++) fn_13(i);
    pthread_join(other, nullptr);
    return 0;
}

int main() { return fn_18(); }
