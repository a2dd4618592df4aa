// Loads a BPF program that takes its time, puts it before a socket, and sends packets through it.
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STEPS 3000
static struct bpf_insn program[STEPS + 2];

static struct bpf_insn set_or_multiply(int operation, int value) {
  struct bpf_insn instruction = {.code = BPF_ALU64 | operation | BPF_K, .imm = value};
  return instruction;
}

int main(void) {
  program[0] = set_or_multiply(BPF_MOV, 1);
  for (int i = 1; i <= STEPS; i++) program[i] = set_or_multiply(BPF_MUL, 3);
  program[STEPS + 1].code = BPF_JMP | BPF_EXIT;

  union bpf_attr load;
  memset(&load, 0, sizeof load);
  load.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
  load.insns = (uint64_t)(uintptr_t)program;
  load.insn_cnt = STEPS + 2;
  load.license = (uint64_t)(uintptr_t) "GPL";
  strcpy(load.prog_name, "perftab_test");
  int filter = syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof load);
  if (filter < 0) return perror("bpf"), 1;

  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends)) return perror("socketpair"), 1;
  if (setsockopt(ends[1], SOL_SOCKET, SO_ATTACH_BPF, &filter, sizeof filter)) return perror("attach"), 1;
  char packet[16] = "";
  for (int i = 0; i < 60000; i++) {
    send(ends[0], packet, sizeof packet, 0);
    recv(ends[1], packet, sizeof packet, MSG_DONTWAIT);
  }
  return 0;
}
