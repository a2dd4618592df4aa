//! What the guest says of its modules: the oracle that names are compared with. Read without any
//! code of core's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::Guest;

/// A module as it was loaded at one moment.
#[derive(Clone, Debug)]
pub struct GuestModule {
    /// As /proc/modules has it.
    pub name: String,
    /// First address.
    pub address: u64,
    /// Bytes of code and data.
    pub size: u64,
    /// Of its note in /sys/module.
    pub build_id: Vec<u8>,
    /// All names of an address; code and data.
    pub symbols: BTreeMap<u64, Vec<String>>,
}

impl GuestModule {
    /// Whether the address is in its code or data.
    pub fn contains(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|offset| offset < self.size)
    }

    /// The names that hold at an address: those of the nearest symbol at or below.
    pub fn names_at(&self, address: u64) -> &[String] {
        let nearest = self.symbols.range(..=address).next_back();
        nearest.filter(|_| self.contains(address)).map_or(&[], |(_, names)| names)
    }

    /// The build-id as digits.
    pub fn hex_id(&self) -> String {
        self.build_id.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// All modules of a moment.
pub struct Snapshot(Vec<GuestModule>);

impl Snapshot {
    /// What `snapshot NAME` left in the guest.
    pub fn read(guest: &Guest, name: &str) -> Self {
        let folder = guest.file(name);
        let mut symbols = symbols(&folder.join("kallsyms"));
        let modules = read(&folder.join("modules"));
        // NAME SIZE USERS USED_BY STATE 0xADDRESS
        let module = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let address = fields[5].strip_prefix("0x").expect("an address in hexadecimal");
            GuestModule {
                name: fields[0].to_owned(),
                address: hex(address),
                size: fields[1].parse().expect("a size"),
                build_id: build_id(&folder.join("notes").join(fields[0])),
                symbols: symbols.remove(fields[0]).unwrap_or_default(),
            }
        };
        Self(modules.lines().map(module).collect())
    }

    /// All of them.
    pub fn modules(&self) -> &[GuestModule] {
        &self.0
    }

    /// The module of that name.
    pub fn module(&self, name: &str) -> Option<&GuestModule> {
        self.0.iter().find(|module| module.name == name)
    }
}

/// Symbols of modules, by module, of lines `ADDRESS KIND NAME\t[MODULE]`.
fn symbols(kallsyms: &Path) -> BTreeMap<String, BTreeMap<u64, Vec<String>>> {
    let mut all: BTreeMap<String, BTreeMap<u64, Vec<String>>> = BTreeMap::new();
    for line in read(kallsyms).lines() {
        let (symbol, module) = line.split_once('\t').expect("a symbol of a module");
        let [address, _, name] = symbol.splitn(3, ' ').collect::<Vec<_>>()[..] else {
            panic!("a line of kallsyms: {line}");
        };
        let of_module = all.entry(module.trim_matches(['[', ']']).to_owned()).or_default();
        of_module.entry(hex(address)).or_default().push(name.to_owned());
    }
    all
}

/// The note's bytes after its header of three words and its name, "GNU".
fn build_id(note: &Path) -> Vec<u8> {
    let bytes = fs::read(note).unwrap_or_else(|error| panic!("{}: {error}", note.display()));
    bytes[16..].to_vec()
}

fn hex(digits: &str) -> u64 {
    u64::from_str_radix(digits, 16).expect("a number in hexadecimal")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
