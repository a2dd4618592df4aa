//! Kernel modules: those that run at the start, and those that come, go or are replaced while it is
//! recorded. No record of the kernel's tells of them, so we look, and write mappings of our own.
//!
//! When we look: as soon as a uevent says that a module came or went; in every round in which
//! /sys/module has another number of folders, which costs one `fstat` and shows modules that
//! are still initialising, before their event; and once a second in any case. A look reads
//! /proc/modules and the notes of each: 2 ms for 100 modules, too much for every round. The symbols
//! of new ones cost 40 ms of /proc/kallsyms, so they are read at most five times a second.
//!
//! What a mapping says must be true at any time: memory of a module that is gone is given to the
//! next. A new mapping holds from the time of the last record that was there before the look that
//! did not find it: what ran in that place later can only have been it. Where one look finds a
//! module and the next another in its place, nobody knows when they changed; what was recorded
//! between the two looks is given to neither.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use perftab_perfdata::format::build_id::BuildId;
use perftab_perfdata::format::elf_note::{Endian, build_id_in_notes};
use perftab_perfdata::format::write::{SampleIdTrailer, mmap2};

use super::kallsyms::{Kallsyms, KernelFunction};
use super::kernel::kernel_mapping;
use super::module_events::ModuleEvents;

/// We look at least this often.
const PATIENCE: Duration = Duration::from_secs(1);
/// And this often while a module is being loaded or unloaded.
const UNSETTLED_PATIENCE: Duration = Duration::from_millis(20);
/// Time between two readings of /proc/kallsyms.
const SYMBOLS_PAUSE: Duration = Duration::from_millis(200);
/// A place that went from one module to another between two looks.
const UNKNOWN: &str = "[unknown module]";
/// Looks in a row, if each is overtaken by a change.
const LOOKS_MAX: usize = 3;

/// The modules of the running kernel, by the last look and by all before it.
pub struct KernelModules {
    root: PathBuf,
    events: Option<ModuleEvents>,
    /// Files of the modules by name.
    paths: HashMap<String, String>,
    /// By the last look.
    loaded: Vec<Module>,
    is_settled: bool,
    folders: Folders,
    looked: Instant,
    /// Every module seen, those of the start first.
    seen: Vec<LoadedModule>,
    symbols_read: Instant,
    /// Came and went between two looks.
    missed: BTreeSet<String>,
    /// Time of the latest record that was there before the last look.
    unchanged_until: u64,
}

/// A loaded kernel module.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Module {
    /// As in /proc/modules: underscores, never dashes.
    name: String,
    /// Runtime address and size of its code and data.
    address: u64,
    size: u64,
    build_id: Option<BuildId>,
    /// The file it was loaded from, or `[name]`.
    path: String,
}

struct LoadedModule {
    module: Module,
    symbols: Symbols,
}

/// Symbols of a module.
enum Symbols {
    /// Were read with those of the kernel, at the start.
    OfStart,
    /// Will be read.
    Due,
    /// Are here.
    Read(Kallsyms),
}

/// What a look found that was not there at the look before.
pub struct Change {
    new: Vec<Module>,
    /// Places of `new` that were another module's at the look before.
    taken: Vec<(u64, u64)>,
}

impl Change {
    /// Whether a module stands where another did: what is in the rings must be read before it is
    /// described, as it may belong to either.
    pub fn is_unclear(&self) -> bool {
        !self.taken.is_empty()
    }
}

impl KernelModules {
    /// Reads what is loaded; without permission to see addresses that is nothing.
    pub fn read(root: &Path) -> Self {
        // First: what happens from now on is heard of.
        let events = ModuleEvents::listen();
        let folders = Folders::of(root);
        let (places, is_settled) = places(root);
        let paths = if places.is_empty() { HashMap::new() } else { paths(root) };
        let loaded = modules(root, places, &paths);
        let of_start =
            |module: &Module| LoadedModule { module: module.clone(), symbols: Symbols::OfStart };
        let now = Instant::now();
        Self {
            root: root.to_owned(),
            events,
            seen: loaded.iter().map(of_start).collect(),
            paths,
            loaded,
            is_settled,
            folders,
            looked: now,
            symbols_read: now.checked_sub(SYMBOLS_PAUSE).unwrap_or(now),
            missed: BTreeSet::new(),
            unchanged_until: 0,
        }
    }

    /// Readable once it is time to look.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.events.as_ref().map(ModuleEvents::as_fd)
    }

    /// How long a look can wait.
    pub fn patience(&self) -> Duration {
        if !self.is_settled {
            UNSETTLED_PATIENCE
        } else if self.seen.iter().any(LoadedModule::is_due) {
            SYMBOLS_PAUSE
        } else {
            PATIENCE
        }
    }

    /// Names that came and went so fast that nothing could be learned of them.
    pub fn missed(&self) -> impl Iterator<Item = &str> {
        self.missed.iter().map(String::as_str)
    }

    /// Appends the mappings of what is loaded at the start.
    pub fn write_mappings(&self, out: &mut Vec<u8>, trailer: SampleIdTrailer) {
        for module in &self.loaded {
            write_mapping(module, out, trailer);
        }
    }

    /// Looks, if there is reason to. `Some` if there is something to describe.
    pub fn look(&mut self) -> Option<Change> {
        let mut came = BTreeSet::new();
        let patience = if self.is_settled { PATIENCE } else { UNSETTLED_PATIENCE };
        let mut has_reason = self.looked.elapsed() >= patience;
        let mut found = None;
        for _ in 0..LOOKS_MAX {
            let heard = self.events.as_ref().map(ModuleEvents::take).unwrap_or_default();
            has_reason |= heard.anything || self.folders.have_changed();
            came.extend(heard.came);
            if !std::mem::take(&mut has_reason) {
                break;
            }
            self.looked = Instant::now();
            let (places, is_settled) = places(&self.root);
            self.is_settled = is_settled;
            found = Some(modules(&self.root, places, &self.paths));
        }
        let change = found.map(|found| self.compare(found));
        self.note_missed(came);
        self.read_due_symbols();
        change.filter(|change| !change.new.is_empty())
    }

    fn note_missed(&mut self, came: BTreeSet<String>) {
        let is_seen = |name: &String| self.seen.iter().any(|seen| seen.module.name == *name);
        self.missed.extend(came.into_iter().filter(|name| !is_seen(name)));
    }

    fn compare(&mut self, found: Vec<Module>) -> Change {
        let before = std::mem::replace(&mut self.loaded, found);
        let mut change = Change { new: Vec::new(), taken: Vec::new() };
        for module in self.loaded.iter() {
            if before.iter().any(|other| other.describes(module)) {
                continue;
            }
            if before.iter().any(|other| other.overlaps(module) && !other.is_code_of(module)) {
                change.taken.push((module.address, module.size));
            }
            change.new.push(module.clone());
            if !self.seen.iter().any(|seen| seen.module == *module) {
                self.seen.push(LoadedModule { module: module.clone(), symbols: Symbols::Due });
            }
        }
        change
    }

    /// Appends the mappings of a change. `latest` is the time of the latest record that was read
    /// from the rings since.
    pub fn write_change(
        &self,
        change: &Change,
        latest: u64,
        out: &mut Vec<u8>,
        trailer: SampleIdTrailer,
    ) {
        for &(address, size) in &change.taken {
            let map = kernel_mapping(address, size, 0, None, UNKNOWN);
            mmap2(out, &map, trailer.at(self.unchanged_until));
        }
        for module in &change.new {
            let is_taken = change.taken.contains(&(module.address, module.size));
            let since = if is_taken { latest } else { self.unchanged_until };
            write_mapping(module, out, trailer.at(since));
        }
    }

    /// Takes note that nothing recorded up to this time is of modules that the next look finds.
    pub fn looked_after(&mut self, latest: u64) {
        self.unchanged_until = latest;
    }

    fn read_due_symbols(&mut self) {
        let is_early = self.symbols_read.elapsed() < SYMBOLS_PAUSE;
        if is_early || !self.seen.iter().any(LoadedModule::is_due) {
            return;
        }
        let mut read = Kallsyms::read_modules(&self.root.join("proc/kallsyms"));
        for seen in self.seen.iter_mut().filter(|seen| seen.is_due()) {
            let is_loaded = self.loaded.iter().any(|module| module.is_code_of(&seen.module));
            let symbols = read.remove(&seen.module.name).filter(|_| is_loaded);
            seen.symbols = Symbols::Read(symbols.unwrap_or_default());
        }
        self.symbols_read = Instant::now();
    }

    /// Build-ids of the modules whose symbols were read at the start, by name.
    pub fn ids_of_start(&self) -> impl Iterator<Item = (&str, BuildId)> {
        let of_start = |seen: &&LoadedModule| matches!(seen.symbols, Symbols::OfStart);
        let of_start = self.seen.iter().filter(of_start).map(|seen| &seen.module);
        of_start.filter_map(|module| Some((module.name.as_str(), module.build_id?)))
    }

    /// How many modules since the start have had their functions read, whatever became of them.
    pub fn with_own_symbols(&self) -> usize {
        self.seen.iter().filter(|seen| matches!(seen.symbols, Symbols::Read(_))).count()
    }

    /// Name, build-id and function of every module since the start that had code at the address.
    pub fn functions_at(
        &self,
        address: u64,
    ) -> impl Iterator<Item = (&str, BuildId, KernelFunction<'_>)> {
        self.seen.iter().filter_map(move |LoadedModule { module, symbols }| {
            let Symbols::Read(symbols) = symbols else { return None };
            let is_inside = address.checked_sub(module.address)? < module.size;
            let function = symbols.function_at(address).filter(|_| is_inside)?;
            Some((module.name.as_str(), module.build_id?, function))
        })
    }
}

impl LoadedModule {
    fn is_due(&self) -> bool {
        matches!(self.symbols, Symbols::Due)
    }
}

impl Module {
    /// Whether it is that module in that place. Its size may be another: for a moment after it came
    /// to life it still counts what only its initialisation needed (`do_init_module` in
    /// kernel/module/main.c, Linux 6.1, frees that after the state has changed).
    fn is_code_of(&self, other: &Self) -> bool {
        (&self.name, self.address, self.build_id) == (&other.name, other.address, other.build_id)
    }

    /// Whether its mapping says all of that module.
    fn describes(&self, other: &Self) -> bool {
        self.is_code_of(other) && self.size >= other.size
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.address < other.address.saturating_add(other.size)
            && other.address < self.address.saturating_add(self.size)
    }
}

fn write_mapping(module: &Module, out: &mut Vec<u8>, trailer: SampleIdTrailer) {
    let map = kernel_mapping(module.address, module.size, 0, module.build_id, &module.path);
    mmap2(out, &map, trailer);
}

/// Subfolders of /sys/module, one for each module; none if it is not to be seen.
struct Folders {
    /// Open, as most of the time went into looking its path up.
    folder: Option<File>,
    count: u64,
}

impl Folders {
    fn of(root: &Path) -> Self {
        let mut folders = Self { folder: File::open(root.join("sys/module")).ok(), count: 0 };
        folders.have_changed();
        folders
    }

    /// Whether there are more or less of them than when this was last asked.
    fn have_changed(&mut self) -> bool {
        let metadata = self.folder.as_ref().and_then(|folder| folder.metadata().ok());
        let count = metadata.map_or(0, |metadata| metadata.nlink());
        std::mem::replace(&mut self.count, count) != count
    }
}

/// A line of /proc/modules: `NAME SIZE USERS USED_BY STATE 0xADDRESS`.
struct Place {
    name: String,
    address: u64,
    size: u64,
}

/// Every module that may run and whose address is not hidden, by address; and whether all of them
/// are live, neither being loaded nor being unloaded.
///
/// The size of a module that is being loaded counts what only its initialisation needs, which lies
/// elsewhere. The kernel makes its folder in /sys before it runs, and removes that after.
fn places(root: &Path) -> (Vec<Place>, bool) {
    let text = fs::read_to_string(root.join("proc/modules")).unwrap_or_default();
    let mut is_settled = true;
    let mut place = |line: &str| {
        let mut fields = line.split_whitespace();
        let (name, size) = (fields.next()?.to_owned(), fields.next()?.parse().ok()?);
        let is_live = fields.nth(2)? == "Live";
        is_settled &= is_live;
        let size = if is_live { size } else { core_size(root, &name)? };
        let address = u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok()?;
        (address != 0).then_some(Place { name, address, size })
    };
    let mut places: Vec<Place> = text.lines().filter_map(&mut place).collect();
    places.sort_by_key(|place| place.address);
    // Since Linux 6.4 the size counts parts of the module that lie elsewhere.
    for index in 1..places.len() {
        let room = places[index].address - places[index - 1].address;
        places[index - 1].size = places[index - 1].size.min(room);
    }
    (places, is_settled)
}

/// Bytes of a module without those of its initialisation.
fn core_size(root: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(root.join("sys/module").join(name).join("coresize")).ok()?;
    text.trim().parse().ok()
}

fn modules(root: &Path, places: Vec<Place>, paths: &HashMap<String, String>) -> Vec<Module> {
    let module = |Place { name, address, size }: Place| Module {
        build_id: build_id(&root.join("sys/module").join(&name).join("notes")),
        path: paths.get(&name).cloned().unwrap_or_else(|| format!("[{name}]")),
        name,
        address,
        size,
    };
    places.into_iter().map(module).collect()
}

/// Each file in the folder is one note section of the module.
fn build_id(notes: &Path) -> Option<BuildId> {
    fs::read_dir(notes).ok()?.find_map(|entry| {
        let notes = fs::read(entry.ok()?.path()).ok()?;
        build_id_in_notes(&notes, Endian::NATIVE)
    })
}

/// Files of the modules by name, from the list that depmod made for this kernel.
fn paths(root: &Path) -> HashMap<String, String> {
    let release = fs::read_to_string(root.join("proc/sys/kernel/osrelease")).unwrap_or_default();
    let folder = format!("/lib/modules/{}", release.trim());
    let list = fs::read_to_string(root.join(&folder[1..]).join("modules.dep")).unwrap_or_default();
    let entry = |line: &str| {
        let (path, _) = line.split_once(':')?;
        let file = path.rsplit('/').next()?;
        let (name, _) = file.split_once(".ko")?;
        Some((name.replace('-', "_"), format!("{folder}/{path}")))
    };
    list.lines().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::decode::ByteOrder;
    use perftab_perfdata::decode::records::RecordHeader;
    use perftab_perfdata::format::attr::sample_type::{TID, TIME};
    use perftab_perfdata::format::perftab_section::KernelSymbols;

    use super::*;
    use crate::images::kernel_copies::KernelCopies;
    use crate::record::fake_root::{FakeRoot, fake, has};
    use crate::record::kernel::RunningKernel;
    use crate::record::kernel_hits::KernelHits;

    /// Name, first byte of the build-id, and time of each mapping.
    fn described(modules: &mut KernelModules, latest: u64) -> Vec<(String, u8, u64)> {
        let trailer = SampleIdTrailer::of_sample_type(TID | TIME);
        let mut out = Vec::new();
        if let Some(change) = modules.look() {
            modules.write_change(&change, latest, &mut out, trailer);
        }
        let (mut found, mut rest) = (Vec::new(), out.as_slice());
        while let Some((_, record, after)) = RecordHeader::split(rest, ByteOrder::NATIVE) {
            let name = record[72..].split(|byte| *byte == 0).next().unwrap();
            let name = String::from_utf8(name.to_vec()).unwrap();
            found.push((name, record[44], trailer.time_of(record).unwrap()));
            rest = after;
        }
        found
    }

    /// As the next look finds them, which needs no event to come.
    fn look_again(modules: &mut KernelModules) {
        modules.looked = modules.looked.checked_sub(PATIENCE).expect("the machine runs for long");
    }

    fn mapping(name: &str, id: u8, time: u64) -> (String, u8, u64) {
        (name.to_owned(), id, time)
    }

    const AT: u64 = 0xffff_ffff_c020_0000;

    #[test]
    fn b06_a_module_that_is_loaded_later_is_mapped_then_with_its_symbols() {
        let root = fake("later");
        let mut modules = KernelModules::read(root.path());
        modules.looked_after(70);
        assert_eq!(described(&mut modules, 90), [], "nothing has changed");
        root.write("proc/kallsyms", b"ffffffffc0200000 t btrfs_init\t[btrfs]\n");
        root.load(&[("btrfs", AT, 7)]);
        look_again(&mut modules);
        assert_eq!(described(&mut modules, 90), [mapping("[btrfs]", 7, 70)]);
        let functions: Vec<_> = modules.functions_at(AT + 1).collect();
        let [(module, id, function)] = &functions[..] else { panic!("{}", functions.len()) };
        assert_eq!((*module, function.symbol().name.as_str()), ("btrfs", "btrfs_init"));
        assert_eq!(*id, BuildId::new(&[7; 20]).unwrap());
        assert_eq!(modules.functions_at(AT + 4096).count(), 0, "the module ends there");
    }

    #[test]
    fn b06_what_was_hit_before_its_module_was_found_has_its_name_then() {
        let root = fake("hit");
        let mut kernel = RunningKernel::read(root.path(), &KernelCopies::none());
        let mut hits = KernelHits::default();
        hits.executed(AT + 1);
        assert_eq!(hits.functions(&kernel), []);
        root.write("proc/kallsyms", b"ffffffffc0200000 t btrfs_init\t[btrfs]\n");
        root.load(&[("btrfs", AT, 7)]);
        look_again(&mut kernel.modules);
        assert_eq!(described(&mut kernel.modules, 90).len(), 1);
        for _ in 0..2 {
            let images = hits.functions(&kernel);
            let [KernelSymbols { name, symbols, .. }] = &images[..] else { panic!("{images:?}") };
            assert_eq!((name.as_str(), symbols[0].name.as_str()), ("btrfs", "btrfs_init"));
        }
    }

    #[test]
    fn b06_what_ran_while_a_module_was_replaced_is_given_to_neither() {
        let root = FakeRoot::new("replaced");
        root.load(&[("ext4", AT, 1), ("xfs", AT + 8192, 3)]);
        let mut modules = KernelModules::read(root.path());
        modules.looked_after(10);
        root.load(&[("ext4", AT, 2), ("xfs", AT + 8192, 3)]);
        look_again(&mut modules);
        let expected = [mapping(UNKNOWN, 0, 10), mapping("[ext4]", 2, 40)];
        assert_eq!(described(&mut modules, 40), expected);
    }

    #[test]
    fn b06_a_module_in_a_place_that_was_free_has_all_that_ran_there_since() {
        let root = FakeRoot::new("free");
        root.load(&[("ext4", AT, 1)]);
        let mut modules = KernelModules::read(root.path());
        root.load(&[]);
        look_again(&mut modules);
        assert_eq!(described(&mut modules, 20), [], "a module that is gone is not unmapped");
        modules.looked_after(20);
        root.load(&[("ext4", AT, 2)]);
        look_again(&mut modules);
        assert_eq!(described(&mut modules, 40), [mapping("[ext4]", 2, 20)]);
    }

    #[test]
    fn b06_a_module_that_was_gone_before_the_look_is_said() {
        let root = FakeRoot::new("missed");
        root.load(&[("ext4", AT, 1)]);
        let mut modules = KernelModules::read(root.path());
        modules.note_missed(["ext4", "tcrypt"].map(str::to_owned).into());
        assert_eq!(modules.missed().collect::<Vec<_>>(), ["tcrypt"]);
    }

    #[test]
    fn b06_another_number_of_folders_is_reason_to_look() {
        let root = FakeRoot::new("folders");
        root.load(&[("ext4", AT, 1)]);
        let mut modules = KernelModules::read(root.path());
        if modules.folders.count != 3 {
            println!("SKIPPED: b06_another_number_of_folders: not counted on this file system");
            return;
        }
        root.load(&[("ext4", AT, 1), ("xfs", AT + 8192, 3)]);
        assert_eq!(described(&mut modules, 0), [mapping("[xfs]", 3, 0)]);
    }

    #[test]
    fn b06_a_module_that_is_being_loaded_has_the_size_that_it_keeps() {
        let root = FakeRoot::new("loading");
        root.load(&[]);
        let mut modules = KernelModules::read(root.path());
        let loading = format!("ext4 8192 0 - Loading {AT:#x}\n");
        root.write("proc/modules", loading.as_bytes());
        look_again(&mut modules);
        assert_eq!(described(&mut modules, 0), [], "it has no folder yet, so it does not run");
        assert_eq!(modules.patience(), UNSETTLED_PATIENCE);
        root.load(&[("ext4", AT, 1)]);
        root.write("proc/modules", loading.as_bytes());
        root.write("sys/module/ext4/coresize", b"4096\n");
        look_again(&mut modules);
        assert_eq!(described(&mut modules, 0), [mapping("[ext4]", 1, 0)]);
        root.load(&[("ext4", AT, 1)]);
        look_again(&mut modules);
        assert_eq!(described(&mut modules, 0), [], "it is live, at the same place");
    }

    #[test]
    fn b06_a_module_that_shrinks_when_it_has_come_to_life_is_no_other() {
        let root = FakeRoot::new("shrinks");
        root.load(&[]);
        let mut modules = KernelModules::read(root.path());
        root.load(&[("ext4", AT, 1)]);
        root.write("proc/modules", format!("ext4 8192 0 - Live {AT:#x}\n").as_bytes());
        look_again(&mut modules);
        assert_eq!(described(&mut modules, 0), [mapping("[ext4]", 1, 0)]);
        modules.looked_after(20);
        root.write("proc/modules", format!("ext4 4096 0 - Live {AT:#x}\n").as_bytes());
        look_again(&mut modules);
        assert_eq!(described(&mut modules, 40), [], "nothing is taken from it");
        root.write("proc/modules", format!("ext4 12288 0 - Live {AT:#x}\n").as_bytes());
        look_again(&mut modules);
        assert_eq!(described(&mut modules, 60), [mapping("[ext4]", 1, 20)]);
    }

    #[test]
    fn places_end_where_the_next_begins() {
        let root = FakeRoot::new("overlap");
        root.load(&[("xfs", AT + 2048, 3), ("ext4", AT, 1)]);
        let modules = KernelModules::read(root.path());
        let sizes: Vec<_> = modules.loaded.iter().map(|it| (it.name.as_str(), it.size)).collect();
        assert_eq!(sizes, [("ext4", 2048), ("xfs", 4096)]);
        let mut out = Vec::new();
        modules.write_mappings(&mut out, SampleIdTrailer::NONE);
        assert!(has(&out, b"[ext4]\0") && has(&out, b"[xfs]\0"));
    }
}
