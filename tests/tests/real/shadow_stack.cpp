// A program that knows its own stack. Each function notes on entry who it is, in a list that lies on the stack of its
// thread: so a copy of that stack has it too, as it was at that moment. A function that is named here and has just been
// entered, or is about to return, need not be in the list.
//
// With -DPLUGIN it is a library that the program loads and unloads while it runs: two of them, whose frames differ, take
// turns at what is most likely the same address.

#include <algorithm>
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#ifdef __cpp_impl_coroutine
#include <coroutine>
#endif

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

#ifdef PLUGIN

NAMED unsigned PLUGIN(Shadow *mine, unsigned (*callee)(unsigned), unsigned seed) {
    shadow = mine;
    Here here(ID);
    volatile unsigned char room[ROOM];
    for (unsigned i = 0; i < ROOM; i++) room[i] = (unsigned char)(seed + i);
    return callee(seed) + room[seed % ROOM];
}

#else

NAMED unsigned fn_1(unsigned seed) {
    Here here(1);
    for (int i = 0; i < 1500; i++) {
        seed = seed * 1664525u + 1013904223u;
        // So that every compiler goes through all of it.
        __asm__ volatile("" : "+r"(seed));
    }
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

// Gone before the function that it ends with is entered, if the compiler likes; so it notes nothing.
NAMED unsigned ends_with_fn_1(unsigned seed) {
    return fn_1(seed ^ 0x55u);
}

NAMED void fn_19(unsigned seed) {
    Here here(19);
    sink = ends_with_fn_1(seed);
    fn_1(seed);
}

static ucontext_t caller, coroutine;

// On a stack of its own, which has a list of its own.
NAMED void fn_20() {
    Shadow mine = {};
    mine.magic = 0x5ad05ac4e55ad0u;
    Shadow *before = shadow;
    shadow = &mine;
    {
        Here here(20);
        fn_1(20);
        fn_2(6, 20, 2, 3);
    }
    shadow = before;
    swapcontext(&coroutine, &caller);
}

NAMED void fn_21() {
    Here here(21);
    static char stack[1 << 18];
    getcontext(&coroutine);
    coroutine.uc_stack = {stack, 0, sizeof stack};
    makecontext(&coroutine, fn_20, 0);
    swapcontext(&caller, &coroutine);
}

// A handler with a stack of its own, below which nothing can be read: a copy of it has none of what was interrupted.
NAMED void fn_27(int) {
    Shadow mine = {};
    mine.magic = 0x5ad05ac4e55ad0u;
    Shadow *before = shadow;
    shadow = &mine;
    {
        Here here(27);
        fn_2(3, 27, 2, 3);
    }
    shadow = before;
}

NAMED void fn_28() {
    Here here(28);
    raise(SIGUSR2);
}

static const size_t HANDLER_STACK = 1 << 16;

static void give_handlers_a_stack() {
    void *all = mmap(nullptr, 2 * HANDLER_STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all, HANDLER_STACK, PROT_READ | PROT_WRITE)) abort();
    stack_t other = {};
    other.ss_sp = all;
    other.ss_size = HANDLER_STACK;
    struct sigaction action = {};
    action.sa_handler = fn_27;
    action.sa_flags = SA_ONSTACK;
    if (sigaltstack(&other, nullptr) || sigaction(SIGUSR2, &action, nullptr)) abort();
}

#ifdef __cpp_impl_coroutine
struct Task {
    struct promise_type {
        Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};

// Resumed twice, each time by who has its handle.
static __attribute__((noinline)) Task fn_22(unsigned seed) {
    {
        Here here(22);
        fn_1(seed);
    }
    co_await std::suspend_always{};
    Here here(22);
    fn_1(seed);
}

NAMED void fn_23(unsigned seed) {
    Here here(23);
    Task task = fn_22(seed);
    task.handle.resume();
    task.handle.resume();
    task.handle.destroy();
}
#else
static void fn_23(unsigned) {}
#endif

#ifdef LOADS
static std::string folder;

NAMED void fn_24(unsigned seed) {
    Here here(24);
    std::string name = seed % 2 ? "fn_25" : "fn_26";
    void *library = dlopen((folder + name + ".so").c_str(), RTLD_NOW);
    if (library == nullptr) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    auto run = (unsigned (*)(Shadow *, unsigned (*)(unsigned), unsigned))dlsym(library, name.c_str());
    for (int i = 0; i < 20; i++) sink = run(shadow, fn_1, seed);
    dlclose(library);
}
#else
static void fn_24(unsigned) {}
#endif

NAMED void fn_16(unsigned rounds) {
    Here here(16);
    Round round;
    for (unsigned i = 0; i < rounds; i++) {
        fn_2(i % 2 == 0 ? 300 : i % 7, i, 2, 3);
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
    give_handlers_a_stack();
    fn_16(5000);
    for (unsigned i = 0; i < 8000; i++) fn_28();
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
    for (unsigned i = 0; i < 8000; i++) {
        fn_19(i);
        fn_21();
        fn_23(i);
        if (i % 8 == 0) fn_24(i / 8);
    }
    pthread_join(other, nullptr);
    return 0;
}

int main() {
#ifdef LOADS
    char path[4096] = {};
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return 1;
    folder = path;
    folder.resize(folder.rfind('/') + 1);
#endif
    return fn_18();
}

#endif
