// Has a BPF program write 12 bytes three times, into the event of a recorder whose process id is given.
// Ends with 77 where that is not permitted.
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long bpf(int command, union bpf_attr *attr) {
  return syscall(SYS_bpf, command, attr, sizeof *attr);
}

int main(int argc, char **argv) {
  int recorder = argc > 1 ? atoi(argv[1]) : 0;
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  if (sched_setaffinity(0, sizeof first, &first)) return 77;

  union bpf_attr map_of = {.map_type = BPF_MAP_TYPE_PERF_EVENT_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
  int map = bpf(BPF_MAP_CREATE, &map_of);
  if (map < 0) return 77;
  // return bpf_perf_event_output(context, map, 0, "abcd\0\0\0\0efgh", 12);
  struct bpf_insn program[] = {
      {.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = 10, .off = -16, .imm = 0x64636261},
      {.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = 10, .off = -8, .imm = 0x68676665},
      {.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 2, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map},
      {0},
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = 0},
      {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 4, .src_reg = 10},
      {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 4, .imm = -16},
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 5, .imm = 12},
      {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_perf_event_output},
      {.code = BPF_JMP | BPF_EXIT},
  };
  union bpf_attr load = {.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT};
  load.insns = (uint64_t)(uintptr_t)program;
  load.insn_cnt = sizeof program / sizeof *program;
  load.license = (uint64_t)(uintptr_t) "GPL";
  int loaded = bpf(BPF_PROG_LOAD, &load);
  int process = syscall(SYS_pidfd_open, recorder, 0);
  if (loaded < 0 || process < 0) return 77;

  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd", recorder);
  DIR *folder = opendir(path);
  if (!folder) return 77;
  // Of all that the recorder has open, the kernel takes only that event on this CPU.
  for (struct dirent *entry; (entry = readdir(folder));) {
    int event = syscall(SYS_pidfd_getfd, process, atoi(entry->d_name), 0);
    int key = 0;
    union bpf_attr put = {.map_fd = map};
    put.key = (uint64_t)(uintptr_t)&key;
    put.value = (uint64_t)(uintptr_t)&event;
    if (event < 0 || bpf(BPF_MAP_UPDATE_ELEM, &put)) continue;
    for (int time = 0; time < 3; time++) {
      union bpf_attr run;
      memset(&run, 0, sizeof run);
      run.test.prog_fd = loaded;
      run.test.flags = BPF_F_TEST_RUN_ON_CPU;
      if (bpf(BPF_PROG_TEST_RUN, &run)) return 77;
      if (time == 2 && run.test.retval == 0) return 0;
    }
  }
  return 1;
}
