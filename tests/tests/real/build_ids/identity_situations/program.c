// A program that is `tide`, without what a C library brings.
int tide(char **words);
__attribute__((noreturn)) void begin(long *stack) {
    int result = tide((char **)stack + 2);
    __asm__ volatile("syscall" : : "a"(60), "D"(result));
    __builtin_unreachable();
}
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");
