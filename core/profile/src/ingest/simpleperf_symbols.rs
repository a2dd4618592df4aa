//! Symbols that simpleperf wrote into the recording → what the gate takes.
//!
//! simpleperf has them by path. It read them when the recording ended, for the DSOs of that very
//! recording; so they are said of the DSO that has the path, and of none where several have it.

use perftab_perfdata::decode::simpleperf::{SymbolFile, SymbolFileKind};

use crate::{Dso, DsoKind, Dsos};
use crate::{EmbeddedSymbol, EmbeddedSymbols, SymbolsOf};

/// The symbols of each file that is one of the DSOs that were mapped.
pub(super) fn symbols(files: Vec<SymbolFile>, dsos: &Dsos) -> Vec<EmbeddedSymbols> {
    let with_symbols = files.into_iter().filter(|file| !file.symbols.is_empty());
    with_symbols.filter_map(|file| of_file(file, dsos)).collect()
}

fn of_file(file: SymbolFile, dsos: &Dsos) -> Option<EmbeddedSymbols> {
    let mut of_path = dsos.iter().filter(|(_, dso)| is_of(&file, dso));
    let (Some((id, dso)), None) = (of_path.next(), of_path.next()) else { return None };
    let add = addend(&file, dso)?;
    let symbols = file.symbols.into_iter().filter_map(|symbol| {
        let address = i128::from(symbol.vaddr).checked_add(add)?;
        // simpleperf 1 gives a symbol at 0 all the bytes up to the code, where it is not.
        let address = u64::try_from(address).ok().filter(|_| symbol.vaddr >= file.min_vaddr)?;
        Some(EmbeddedSymbol { address, size: symbol.size, name: symbol.name })
    });
    let symbols = symbols.collect();
    Some(EmbeddedSymbols { of: SymbolsOf::Dso(id), name: file.path, symbols })
}

/// True if `dso` is what the symbols were read from.
fn is_of(file: &SymbolFile, dso: &Dso) -> bool {
    let same_kind = match file.kind {
        SymbolFileKind::Kernel => return dso.kind == DsoKind::Kernel,
        SymbolFileKind::Module => dso.kind == DsoKind::Module,
        _ => matches!(dso.kind, DsoKind::User | DsoKind::Vdso | DsoKind::Jit),
    };
    same_kind && dso.path == file.path
}

/// What makes a frame's address of a symbol's. Frames have file offsets, but run-time addresses in
/// the kernel, in its modules and in what a run time compiled.
fn addend(file: &SymbolFile, dso: &Dso) -> Option<i128> {
    let min_vaddr = i128::from(file.min_vaddr);
    match (file.kind, dso.kind) {
        (SymbolFileKind::Kernel, _) | (_, DsoKind::Jit) => Some(0),
        (SymbolFileKind::Module, _) => {
            let start = dso.kernel_place.reference.map(i128::from)?;
            Some(start + i128::from(file.offset_of_min_vaddr.unwrap_or(0)) - min_vaddr)
        }
        (SymbolFileKind::Elf, _) => {
            // Without an offset the executable mapping begins at it, if that is only one.
            let mapped = || match dso.executable[..] {
                [mapping] => Some(mapping.offset),
                _ => None,
            };
            let offset = file.offset_of_min_vaddr.or_else(mapped)?;
            Some(i128::from(offset) - min_vaddr)
        }
        (SymbolFileKind::Dex, _) => Some(0),
        (SymbolFileKind::SymbolMap | SymbolFileKind::Unknown, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::decode::simpleperf::FileSymbol;

    use super::*;
    use crate::{ExecutableMapping, MappedFrom};

    fn file(path: &str, kind: SymbolFileKind, min_vaddr: u64, offset: Option<u64>) -> SymbolFile {
        let symbol = |vaddr| FileSymbol { vaddr, size: 16, name: format!("at_{vaddr:x}") };
        SymbolFile {
            path: path.to_owned(),
            kind,
            min_vaddr,
            offset_of_min_vaddr: offset,
            symbols: vec![symbol(0), symbol(0x7040)],
        }
    }

    /// Where `at_7040` is in each DSO.
    fn places(files: Vec<SymbolFile>, dsos: &Dsos) -> Vec<(SymbolsOf, Vec<(u64, String)>)> {
        let place = |it: EmbeddedSymbol| (it.address, it.name);
        let places = |it: EmbeddedSymbols| (it.of, it.symbols.into_iter().map(place).collect());
        symbols(files, dsos).into_iter().map(places).collect()
    }

    #[test]
    fn addresses_of_symbols_become_those_of_frames() {
        let mut dsos = Dsos::default();
        let mut add = |path, kind| dsos.intern(path, kind, MappedFrom::Nothing, None);
        let elf = add("/lib/new.so", DsoKind::User);
        let old = add("/lib/old.so", DsoKind::User);
        let twice = add("/lib/twice.so", DsoKind::User);
        let dex = add("/app/base.apk!/classes.dex", DsoKind::User);
        let jit = add("jit_app_cache:8-16", DsoKind::Jit);
        let kernel = add("[kernel.kallsyms]", DsoKind::Kernel);
        let module = add("/vendor/wlan.ko", DsoKind::Module);
        dsos.get_mut(old).add_executable(ExecutableMapping { offset: 0x1000, length: None });
        // A patched file and its twin, perhaps.
        for offset in [0x1000, 0x2000] {
            dsos.get_mut(twice).add_executable(ExecutableMapping { offset, length: None });
        }
        dsos.get_mut(module).kernel_place.reference = Some(0xffff_0000);
        let files = vec![
            file("/lib/new.so", SymbolFileKind::Elf, 0x7000, Some(0x6000)),
            file("/lib/old.so", SymbolFileKind::Elf, 0x7000, None),
            file("/lib/twice.so", SymbolFileKind::Elf, 0x7000, None),
            file("/app/base.apk!/classes.dex", SymbolFileKind::Dex, 1, None),
            file("jit_app_cache:8-16", SymbolFileKind::Elf, 1, Some(0)),
            file("[kernel.kallsyms]", SymbolFileKind::Kernel, 1, None),
            file("/vendor/wlan.ko", SymbolFileKind::Module, 0x7000, Some(0x10)),
            file("/lib/not-mapped.so", SymbolFileKind::Elf, 0, Some(0)),
            file("/lib/new.so", SymbolFileKind::Unknown, 0, None),
        ];
        let expected = [
            (elf, 0x6040),
            (old, 0x1040),
            (dex, 0x7040),
            (jit, 0x7040),
            (kernel, 0x7040),
            (module, 0xffff_0050),
        ];
        let expected = expected
            .map(|(dso, address)| (SymbolsOf::Dso(dso), vec![(address, "at_7040".to_owned())]));
        assert_eq!(places(files, &dsos), expected);
    }

    #[test]
    fn symbols_of_a_path_that_several_files_have_name_none() {
        let mut dsos = Dsos::default();
        for inode in [5, 6] {
            let mapped = MappedFrom::Inode { major: 8, minor: 1, inode, generation: 1 };
            dsos.intern("/lib/a.so", DsoKind::User, mapped, None);
        }
        let files = vec![file("/lib/a.so", SymbolFileKind::Elf, 0, Some(0))];
        assert_eq!(places(files, &dsos), []);
    }
}
