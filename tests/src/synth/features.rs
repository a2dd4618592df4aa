//! Features: what a recording says of the machine, the recorder and the events. The `write_*`
//! functions of tools/perf/util/header.c give the layouts.

use super::{Bytes, Recording};

/// A level of cache, for CACHE.
#[derive(Clone, Copy, Debug)]
pub struct CacheLevel<'a> {
    /// Level, line size, sets, ways.
    pub numbers: [u32; 4],
    /// `Data`, `Instruction`, `Unified`.
    pub kind: &'a str,
    /// `32K`.
    pub size: &'a str,
    /// `0-1`.
    pub cpus: &'a str,
}

/// A node of memory, for NUMA_TOPOLOGY.
#[derive(Clone, Copy, Debug)]
pub struct NumaNode<'a> {
    /// Number.
    pub number: u32,
    /// KiB in total and free.
    pub memory: [u64; 2],
    /// `0-3`.
    pub cpus: &'a str,
}

impl Bytes {
    /// `do_write_string`: a length that counts NUL and padding to 64, then that.
    pub fn string(&mut self, text: &str) -> &mut Self {
        let length = (text.len() + 1).next_multiple_of(64);
        self.u32(length as u32).fixed(text, length)
    }

    /// A number of strings, then those.
    pub fn strings(&mut self, texts: &[&str]) -> &mut Self {
        self.u32(texts.len() as u32);
        texts.iter().for_each(|text| _ = self.string(text));
        self
    }
}

impl Recording {
    /// A feature of one string: HOSTNAME 3, OSRELEASE 4, VERSION 5, ARCH 6, CPUDESC 8, CPUID 9.
    pub fn feature_string(&mut self, feature: u8, text: &str) -> &mut Self {
        let payload = self.bytes().string(text).take();
        self.feature(feature, payload)
    }

    /// NRCPUS 7: available, online.
    pub fn nr_cpus(&mut self, available: u32, online: u32) -> &mut Self {
        let payload = self.bytes().u32(available).u32(online).take();
        self.feature(7, payload)
    }

    /// TOTAL_MEM 10, in KiB.
    pub fn total_mem(&mut self, kib: u64) -> &mut Self {
        let payload = self.bytes().u64(kib).take();
        self.feature(10, payload)
    }

    /// CMDLINE 11.
    pub fn cmdline(&mut self, arguments: &[&str]) -> &mut Self {
        let payload = self.bytes().strings(arguments).take();
        self.feature(11, payload)
    }

    /// EVENT_DESC 12: the events that there are.
    pub fn event_desc(&mut self) -> &mut Self {
        let room = self.events.iter().map(|event| event.attr.size).max().unwrap_or(0);
        let mut payload = self.bytes();
        payload.u32(self.events.len() as u32).u32(room);
        for event in &self.events {
            let attr = event.attr.encode(self.order);
            payload.raw(&attr).zeros(room as usize - attr.len()).u32(event.ids.len() as u32);
            payload.string(&event.name).u64s(&event.ids);
        }
        self.feature(12, payload.take())
    }

    /// CPU_TOPOLOGY 13: lists of sibling cores and threads; core and socket of each CPU; lists of
    /// dies and the die of each CPU.
    pub fn cpu_topology(
        &mut self,
        cores: &[&str],
        threads: &[&str],
        cpus: &[[u32; 2]],
    ) -> &mut Self {
        let mut payload = self.bytes();
        payload.strings(cores).strings(threads);
        cpus.iter().for_each(|[core, socket]| _ = payload.u32(*core).u32(*socket));
        payload.strings(cores);
        cpus.iter().for_each(|_| _ = payload.u32(0));
        self.feature(13, payload.take())
    }

    /// NUMA_TOPOLOGY 14.
    pub fn numa_topology(&mut self, nodes: &[NumaNode]) -> &mut Self {
        let mut payload = self.bytes();
        payload.u32(nodes.len() as u32);
        for node in nodes {
            payload.u32(node.number).u64s(&node.memory).string(node.cpus);
        }
        self.feature(14, payload.take())
    }

    /// BRANCH_STACK 15: samples have them.
    pub fn branch_stack(&mut self) -> &mut Self {
        self.feature(15, Vec::new())
    }

    /// PMU_MAPPINGS 16: attr types and the names of their PMUs.
    pub fn pmu_mappings(&mut self, pmus: &[(u32, &str)]) -> &mut Self {
        let mut payload = self.bytes();
        payload.u32(pmus.len() as u32);
        pmus.iter().for_each(|(kind, name)| _ = payload.u32(*kind).string(name));
        self.feature(16, payload.take())
    }

    /// GROUP_DESC 17: name, index of the leader, members.
    pub fn group_desc(&mut self, groups: &[(&str, u32, u32)]) -> &mut Self {
        let mut payload = self.bytes();
        payload.u32(groups.len() as u32);
        for (name, leader, members) in groups {
            payload.string(name).u32(*leader).u32(*members);
        }
        self.feature(17, payload.take())
    }

    /// AUXTRACE 18: where AUXTRACE records lie in the file, and how long they are.
    pub fn auxtrace_index(&mut self, entries: &[[u64; 2]]) -> &mut Self {
        let mut payload = self.bytes();
        payload.u64(entries.len() as u64);
        entries.iter().for_each(|entry| _ = payload.u64s(entry));
        self.feature(18, payload.take())
    }

    /// CACHE 20.
    pub fn cache(&mut self, levels: &[CacheLevel]) -> &mut Self {
        let mut payload = self.bytes();
        payload.u32(1).u32(levels.len() as u32);
        for CacheLevel { numbers, kind, size, cpus } in levels {
            numbers.iter().for_each(|&number| _ = payload.u32(number));
            payload.string(kind).string(size).string(cpus);
        }
        self.feature(20, payload.take())
    }

    /// SAMPLE_TIME 21: first and last.
    pub fn sample_time(&mut self, first: u64, last: u64) -> &mut Self {
        let payload = self.bytes().u64(first).u64(last).take();
        self.feature(21, payload)
    }

    /// MEM_TOPOLOGY 22: one node of blocks that are all there.
    pub fn mem_topology(&mut self, block_size: u64, blocks: u64) -> &mut Self {
        let mut payload = self.bytes();
        payload.u64s(&[1, block_size, 1, 0, blocks, blocks]);
        let words = blocks.div_ceil(64);
        payload.u64(words);
        (0..words).for_each(|_| _ = payload.u64(u64::MAX));
        self.feature(22, payload.take())
    }

    /// CLOCKID 23: resolution in nanoseconds.
    pub fn clockid(&mut self, resolution: u64) -> &mut Self {
        let payload = self.bytes().u64(resolution).take();
        self.feature(23, payload)
    }

    /// DIR_FORMAT 24: this file is `data` of a folder.
    pub fn dir_format(&mut self) -> &mut Self {
        let payload = self.bytes().u64(1).take();
        self.feature(24, payload)
    }

    /// BPF_PROG_INFO 25: one program whose info is all zeros but for id and name.
    pub fn bpf_prog_info(&mut self, id: u32, name: &str) -> &mut Self {
        let mut info = self.bytes();
        // struct bpf_prog_info: type, id, tag[8], …, name[16] at 64.
        info.u32(6).u32(id).raw(&[0xb9; 8]).zeros(48).fixed(name, 16).zeros(144);
        let info = info.take();
        let mut payload = self.bytes();
        payload.u32(1).u32(info.len() as u32).u32(0).u64(0).raw(&info);
        self.feature(25, payload.take())
    }

    /// BPF_BTF 26: type information that is not looked into.
    pub fn bpf_btf(&mut self, id: u32, data: &[u8]) -> &mut Self {
        let payload = self.bytes().u32(1).u32(id).u32(data.len() as u32).raw(data).take();
        self.feature(26, payload)
    }

    /// COMPRESSED 27: zstd of level 1, with the size of the recorder's buffer.
    pub fn compressed_feature(&mut self, ratio: u32, mmap_length: u32) -> &mut Self {
        let payload = self.bytes().u32(1).u32(1).u32(1).u32(ratio).u32(mmap_length).take();
        self.feature(27, payload)
    }

    /// CPU_PMU_CAPS 28.
    pub fn cpu_pmu_caps(&mut self, caps: &[(&str, &str)]) -> &mut Self {
        let mut payload = self.bytes();
        payload.u32(caps.len() as u32);
        caps.iter().for_each(|(name, value)| _ = payload.string(name).string(value));
        self.feature(28, payload.take())
    }

    /// CLOCK_DATA 29: one moment on the wall and on the recording's clock.
    pub fn clock_data(&mut self, clockid: u32, wall: u64, clock: u64) -> &mut Self {
        let payload = self.bytes().u32(1).u32(clockid).u64(wall).u64(clock).take();
        self.feature(29, payload)
    }

    /// HYBRID_TOPOLOGY 30: PMUs and their CPUs.
    pub fn hybrid_topology(&mut self, pmus: &[(&str, &str)]) -> &mut Self {
        let mut payload = self.bytes();
        payload.u32(pmus.len() as u32);
        pmus.iter().for_each(|(name, cpus)| _ = payload.string(name).string(cpus));
        self.feature(30, payload.take())
    }

    /// PMU_CAPS 31, of one PMU.
    pub fn pmu_caps(&mut self, pmu: &str, caps: &[(&str, &str)]) -> &mut Self {
        let mut payload = self.bytes();
        payload.u32(1).u32(caps.len() as u32);
        caps.iter().for_each(|(name, value)| _ = payload.string(name).string(value));
        payload.string(pmu);
        self.feature(31, payload.take())
    }

    /// E_MACHINE 33: the ELF's number of the machine (62 x86-64, 183 arm64), and its flags.
    pub fn e_machine(&mut self, machine: u32) -> &mut Self {
        let payload = self.bytes().u32(machine).u32(0).take();
        self.feature(33, payload)
    }

    /// CLN_SIZE 34: bytes of a cache line.
    pub fn cache_line_size(&mut self, size: u32) -> &mut Self {
        let payload = self.bytes().u32(size).take();
        self.feature(34, payload)
    }
}
