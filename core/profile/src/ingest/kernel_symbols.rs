//! Code that the kernel made at run time: BPF programs, probes and trampolines.
//!
//! Each is a DSO of its own with one symbol, as the recording has it. Programs come and go, and
//! their addresses are used again, so they are put into the kernel's address space and taken out
//! of it in the order of time. Those that were there before the recording are recorded with the
//! time 0 and so come first.

use std::collections::BTreeMap;

use perftab_perfdata::decode::records::{KernelSymbolChange, KernelSymbolRecord};

use super::kernel::Kernel;
use crate::{DsoId, DsoKind, Dsos, MappedFrom};
use crate::{EmbeddedSymbol, EmbeddedSymbols, SymbolsOf};

/// The DSOs of such code, with the bytes that each covers. Programs of one name are one: the name
/// has a hash of the program in it.
#[derive(Default)]
pub(super) struct KernelSymbols {
    lengths: BTreeMap<DsoId, u64>,
}

impl KernelSymbols {
    /// Code came or went.
    pub(super) fn change(
        &mut self,
        kernel: &mut Kernel,
        dsos: &mut Dsos,
        record: &KernelSymbolRecord<'_>,
    ) {
        let length = u64::from(record.length);
        let Some(end) = record.address.checked_add(length) else { return };
        if length == 0 || record.name.is_empty() {
            return;
        }
        let dso = dsos.intern(&record.name, DsoKind::Jit, MappedFrom::Nothing, None);
        let known = self.lengths.entry(dso).or_default();
        *known = length.max(*known);
        let range = record.address..end;
        match record.change {
            KernelSymbolChange::Registered => kernel.add_code(range, dso),
            KernelSymbolChange::Unregistered => kernel.remove_code(range, dso),
        }
    }

    /// What is known of their names.
    pub(super) fn finish(self, dsos: &Dsos) -> Vec<EmbeddedSymbols> {
        let symbols = self.lengths.into_iter().map(|(dso, size)| {
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
    use crate::Frame;
    use crate::ingest::kernel::Kernels;

    /// What the kernel has at an address: name and offset.
    fn at(kernel: &Kernel, dsos: &Dsos, address: u64) -> Option<(String, u64)> {
        let mapping = kernel.address_space().find(address)?;
        let frame = Frame { dso: mapping.dso, address: mapping.offset(address) };
        Some((dsos.get(frame.dso).path.clone(), frame.address))
    }

    #[test]
    fn programs_are_there_from_registering_to_unregistering() {
        let (mut kernels, mut dsos) = (Kernels::default(), Dsos::default());
        let mut symbols = KernelSymbols::default();
        let mut change = |change, address, length, name: &'static str, dsos: &mut Dsos| {
            let record = KernelSymbolRecord { address, length, change, name: Cow::Borrowed(name) };
            symbols.change(&mut kernels.host, dsos, &record);
            [1000, 1010, 1090].map(|address| at(&kernels.host, dsos, address))
        };
        use KernelSymbolChange::{Registered, Unregistered};
        let found = |name: &str, offset| Some((name.to_owned(), offset));

        let now = change(Registered, 1000, 100, "bpf_prog_1_a", &mut dsos);
        assert_eq!(now, [0, 10, 90].map(|offset| found("bpf_prog_1_a", offset)));
        // The records of another CPU may come late: what took its place stays.
        let now = change(Registered, 1005, 50, "bpf_prog_2_b", &mut dsos);
        let b_in_a =
            [found("bpf_prog_1_a", 0), found("bpf_prog_2_b", 5), found("bpf_prog_1_a", 90)];
        assert_eq!(now, b_in_a);
        assert_eq!(change(Unregistered, 1005, 50, "bpf_prog_3_c", &mut dsos), b_in_a);
        let now = change(Unregistered, 1005, 50, "bpf_prog_2_b", &mut dsos);
        assert_eq!(now, [found("bpf_prog_1_a", 0), None, found("bpf_prog_1_a", 90)]);
        // The same program anew, elsewhere and translated to more bytes, is the same DSO.
        let now = change(Registered, 990, 120, "bpf_prog_2_b", &mut dsos);
        assert_eq!(now, [10, 20, 100].map(|offset| found("bpf_prog_2_b", offset)));
        // Not an error in a file, but nothing either.
        change(Registered, u64::MAX - 3, 100, "bpf_prog_4_d", &mut dsos);
        change(Registered, 5, 0, "bpf_prog_5_e", &mut dsos);

        let named: Vec<_> = symbols
            .finish(&dsos)
            .into_iter()
            .map(|of| (of.name, of.symbols[0].address, of.symbols[0].size))
            .collect();
        let expected = [("bpf_prog_1_a", 100), ("bpf_prog_2_b", 120), ("bpf_prog_3_c", 50)];
        assert_eq!(named, expected.map(|(name, size)| (name.to_owned(), 0, size)));
    }
}
