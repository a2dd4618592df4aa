//! Code that the kernel made at run time: BPF programs, probes and trampolines.
//!
//! Each is a DSO of its own with one symbol, as the recording has it. Programs come and go, and
//! their addresses are used again, so they are put into the kernel's address space and taken out
//! of it in the order of time. Those that were there before the recording are recorded with the
//! time 0, or without times before all that happened, and so come first. The record that one is
//! gone may be late or lost: what takes its place ends it too.

use perftab_perfdata::map::Map;

use perftab_perfdata::decode::records::{KernelSymbolChange, KernelSymbolRecord};

use super::kernel::{CodeSince, Kernel};
use crate::{DsoId, DsoKind, Dsos, MappedFrom, Profile};
use crate::{EmbeddedSymbol, EmbeddedSymbols, SymbolsOf};

/// The DSOs of such code, with the bytes that each covers. Programs of one name are one: the name
/// has a hash of the program in it.
#[derive(Default)]
pub(super) struct KernelSymbols {
    lengths: Map<DsoId, u64>,
    /// Since when code is there whose record has no time.
    timeless: CodeSince,
}

impl KernelSymbols {
    /// A record tells of something that happened: the recorder has said what it found.
    pub(super) fn begin(&mut self) {
        self.timeless = CodeSince::Now;
    }

    /// Code came or went; what the recorder found has the time 0, or none.
    pub(super) fn change(
        &mut self,
        kernel: &mut Kernel,
        profile: &mut Profile,
        record: &KernelSymbolRecord<'_>,
        time: Option<u64>,
    ) {
        let length = u64::from(record.length);
        let Some(end) = record.address.checked_add(length) else { return };
        if length == 0 || record.name.is_empty() {
            return;
        }
        let Profile { dsos, mappings: all, .. } = profile;
        let dso = dsos.intern(&record.name, DsoKind::Jit, MappedFrom::Nothing, None);
        let known = self.lengths.entry(dso).or_default();
        *known = length.max(*known);
        let since = match time {
            None => self.timeless,
            Some(0) => CodeSince::BeforeTheRecording,
            Some(_) => CodeSince::Now,
        };
        match record.change {
            KernelSymbolChange::Registered => kernel.add_code(all, record.address..end, dso, since),
            KernelSymbolChange::Unregistered => kernel.remove_code(all, record.address, dso),
        }
    }

    /// What is known of their names.
    pub(super) fn finish(self, dsos: &Dsos) -> Vec<EmbeddedSymbols> {
        let symbols = self.lengths.into_sorted().into_iter().map(|(dso, size)| {
            let name = dsos.get(dso).path.clone();
            let symbol = EmbeddedSymbol { address: 0, size, name: name.clone() };
            EmbeddedSymbols { of: SymbolsOf::Dso(dso), name, symbols: vec![symbol] }
        });
        symbols.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::ingest::kernel::Kernels;

    /// What the kernel has at an address: name and offset.
    fn at(kernel: &Kernel, profile: &Profile, address: u64) -> Option<(String, u64)> {
        let frame = kernel.address_space().find(&profile.mappings, address)?.frame(address);
        Some((profile.dsos.get(frame.dso).path.clone(), frame.address))
    }

    /// A kernel, and what its records say.
    #[derive(Default)]
    struct Machine {
        kernels: Kernels,
        profile: Profile,
        symbols: KernelSymbols,
    }

    impl Machine {
        fn change(
            &mut self,
            time: u64,
            change: KernelSymbolChange,
            (address, length): (u64, u32),
            name: &'static str,
        ) {
            let record = KernelSymbolRecord { address, length, change, name: Cow::Borrowed(name) };
            self.symbols.change(&mut self.kernels.host, &mut self.profile, &record, Some(time));
        }

        fn at(&self, address: u64) -> Option<(String, u64)> {
            at(&self.kernels.host, &self.profile, address)
        }
    }

    fn found(name: &str, offset: u64) -> Option<(String, u64)> {
        Some((name.to_owned(), offset))
    }

    #[test]
    fn programs_are_there_from_registering_to_unregistering() {
        let mut machine = Machine::default();
        let mut change = |change, address, length, name| {
            machine.change(1, change, (address, length), name);
            [1000, 1010, 1090].map(|address| machine.at(address))
        };
        use KernelSymbolChange::{Registered, Unregistered};

        let now = change(Registered, 1000, 100, "bpf_prog_1_a");
        assert_eq!(now, [0, 10, 90].map(|offset| found("bpf_prog_1_a", offset)));
        // That the first is gone was lost, or is said late: what took its place stays.
        let second = [None, found("bpf_prog_2_b", 5), None];
        assert_eq!(change(Registered, 1005, 50, "bpf_prog_2_b"), second);
        assert_eq!(change(Unregistered, 1000, 100, "bpf_prog_1_a"), second);
        assert_eq!(change(Unregistered, 1005, 50, "bpf_prog_3_c"), second);
        assert_eq!(change(Unregistered, 1005, 50, "bpf_prog_2_b"), [None, None, None]);
        // The same program anew, elsewhere and translated to more bytes, is the same DSO.
        let now = change(Registered, 990, 120, "bpf_prog_2_b");
        assert_eq!(now, [10, 20, 100].map(|offset| found("bpf_prog_2_b", offset)));
        // Not an error in a file, but nothing either.
        change(Registered, u64::MAX - 3, 100, "bpf_prog_4_d");
        change(Registered, 5, 0, "bpf_prog_5_e");

        let named: Vec<_> = machine
            .symbols
            .finish(&machine.profile.dsos)
            .into_iter()
            .map(|of| (of.name, of.symbols[0].address, of.symbols[0].size))
            .collect();
        let expected = [("bpf_prog_1_a", 100), ("bpf_prog_2_b", 120), ("bpf_prog_3_c", 50)];
        assert_eq!(named, expected.map(|(name, size)| (name.to_owned(), 0, size)));
    }

    /// perf finds trampolines after programs, and says of each that it fills a page.
    #[test]
    fn what_the_recorder_found_ends_where_the_next_begins() {
        use KernelSymbolChange::{Registered, Unregistered};
        let found_ones = [
            ((0x1200, 0x100), "bpf_prog_1_a"),
            ((0x1100, 0x1000), "bpf_trampoline_2"),
            ((0x1000, 0x1000), "bpf_trampoline_3"),
            ((0x1f00, 0x100), "bpf_prog_4_b"),
        ];
        let expected = [
            (0x1010, found("bpf_trampoline_3", 0x10)),
            (0x1110, found("bpf_trampoline_2", 0x10)),
            (0x1210, found("bpf_prog_1_a", 0x10)),
            (0x1310, None),
            (0x1f10, found("bpf_prog_4_b", 0x10)),
        ];
        // In whatever order.
        for first in 0..found_ones.len() {
            let mut machine = Machine::default();
            for &(range, name) in found_ones.iter().cycle().skip(first).take(found_ones.len()) {
                machine.change(0, Registered, range, name);
            }
            for (address, expected) in &expected {
                assert_eq!(machine.at(*address), *expected, "{address:x} from {first}");
            }
            machine.change(5, Unregistered, (0x1200, 0x100), "bpf_prog_1_a");
            assert_eq!(machine.at(0x1210), None);
            assert_eq!(machine.at(0x1110), found("bpf_trampoline_2", 0x10));
        }
    }
}
