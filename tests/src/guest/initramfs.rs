//! The file system that the guest boots into: a cpio archive of the "new ASCII" form, which the
//! kernel unpacks (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::child_process::LimitedCommand;

const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;

/// Files by their path, without a slash in front.
#[derive(Default)]
pub struct Initramfs(BTreeMap<String, (u32, Vec<u8>)>);

impl Initramfs {
    /// Adds an empty folder.
    pub fn add_folder(&mut self, path: &str) {
        let path = path.trim_start_matches('/');
        self.add_parents(path);
        self.0.insert(path.to_owned(), (FOLDER, Vec::new()));
    }

    /// Adds a file that is only read.
    pub fn add_file(&mut self, path: &str, bytes: Vec<u8>) {
        self.add(path, FILE, bytes);
    }

    /// Adds a script.
    pub fn add_script(&mut self, path: &str, text: &str) {
        self.add(path, PROGRAM, text.as_bytes().to_vec());
    }

    /// Adds a program of this machine, with the libraries that its linker would load.
    pub fn add_program(&mut self, path: &str, program: &Path) {
        self.copy(path, program);
        let linked = Command::new("ldd").arg(program).ended().expect("ldd runs");
        for word in String::from_utf8_lossy(&linked.stdout).split_whitespace() {
            if word.starts_with('/') {
                self.copy(word, Path::new(word));
            }
        }
    }

    fn copy(&mut self, path: &str, from: &Path) {
        let bytes = fs::read(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        let mode = fs::metadata(from).expect("it was read").permissions().mode() & 0o111;
        self.add(path, if mode == 0 { FILE } else { PROGRAM }, bytes);
    }

    fn add(&mut self, path: &str, mode: u32, bytes: Vec<u8>) {
        let path = path.trim_start_matches('/');
        self.add_parents(path);
        self.0.insert(path.to_owned(), (mode, bytes));
    }

    fn add_parents(&mut self, path: &str) {
        for (slash, _) in path.match_indices('/') {
            self.0.entry(path[..slash].to_owned()).or_insert((FOLDER, Vec::new()));
        }
    }

    /// The archive. Folders come before what is in them, as the kernel wants it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, (path, (mode, bytes))) in (1..).zip(&self.0) {
            entry(&mut out, number, *mode, path, bytes);
        }
        entry(&mut out, 0, 0, "TRAILER!!!", &[]);
        out
    }
}

fn entry(out: &mut Vec<u8>, number: usize, mode: u32, path: &str, bytes: &[u8]) {
    let (size, name_size) = (bytes.len(), path.len() + 1);
    // Inode, mode, user, group, links, time, size, four device numbers, size of the name, checksum.
    let header = format!(
        "070701{number:08x}{mode:08x}{0:08x}{0:08x}{1:08x}{0:08x}{size:08x}\
         {0:08x}{0:08x}{0:08x}{0:08x}{name_size:08x}{0:08x}",
        0, 1
    );
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(path.as_bytes());
    out.push(0);
    pad(out);
    out.extend_from_slice(bytes);
    pad(out);
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}
