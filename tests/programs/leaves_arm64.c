/* Functions of arm64 that call no other, without a library: tests/fixtures/perf-arm64-leaves.elf. They do nothing but take
   time, in their first and last instructions too. */
#define FUNCTION __attribute__((noinline, noclone))

volatile unsigned long sink;

/* Without any stack. */
FUNCTION unsigned long plain(unsigned long n) {
    unsigned long x = n;
    for (unsigned long i = 0; i < n; i++) {
        x = x * 6364136223846793005ul + i;
        x ^= x >> 13;
    }
    return x;
}

/* With some, which holds no return address. */
FUNCTION unsigned long with_stack(unsigned long n) {
    volatile unsigned char table[256];
    unsigned long x = 0;
    for (int i = 0; i < 256; i++) {
        table[i] = (unsigned char)(n + i);
    }
    for (unsigned long i = 0; i < n; i++) {
        x = x * 31 + table[i & 255];
    }
    return x;
}

FUNCTION unsigned long tiny(unsigned long n) {
    return n * 3 + (n >> 2);
}

/* No leaf: it is sampled before it has set up its frame, behind that, and after it took that back. */
FUNCTION unsigned long middle(unsigned long n) {
    return tiny(n) + tiny(n + 1) * 7;
}

/* Its caller has the same return address as itself. */
FUNCTION unsigned long itself(unsigned long n) {
    return n < 2 ? n : itself(n - 1) + itself(n - 2);
}

/* getppid: samples in the kernel. */
FUNCTION long in_kernel(void) {
    register long number __asm__("x8") = 173;
    register long result __asm__("x0");
    __asm__ volatile("svc 0" : "=r"(result) : "r"(number) : "memory");
    return result;
}

FUNCTION void outer(unsigned long n) {
    sink += plain(n);
    sink += with_stack(n);
    for (unsigned long i = 0; i < n / 4; i++) {
        sink += middle(i);
    }
    sink += itself(17);
    for (int i = 0; i < 60; i++) {
        sink += in_kernel();
    }
}

/* Its caller has no frame, so that chains end there. */
__asm__(".globl _start\n_start: bl run\n");

void run(void) {
    for (int i = 0; i < 300; i++) {
        outer(6000);
    }
    register long number __asm__("x8") = 93;
    register long status __asm__("x0") = 0;
    __asm__ volatile("svc 0" : : "r"(number), "r"(status));
    __builtin_unreachable();
}
