//! The programs that building, tests and measurements need: what is there, what is missing, and the
//! line that installs it on this system.
//!
//! Programs count, not packages: whatever brought them here. Nothing stops because something is
//! missing; whoever needs it leaves out what it cannot do, and says so with the line. By itself this
//! installs only on Debian and what derives from it, as root, and parts of Rust where rustup is.

mod apt;
mod found;
mod system;
mod table;

use crate::steps::{have, is_root, run, step};
use anyhow::{Result, bail};
use std::fmt;
use std::path::Path;
use std::process::Command;

pub use apt::{log, logged};
pub use found::{browser, is_there};
pub use system::System;
pub use table::Need;

/// For building the page.
pub const BUILD: &[Need] = &[Need::Node, Need::Npm];

/// For compiling the workloads.
pub const WORKLOADS: &[Need] = &[Need::Cc, Need::LibcHeaders];

/// For tests: real compilers and linkers, real peers, a real debuginfod, debug files of the libc that runs
/// here, what packs recordings, Go for its pprof, a machine to boot another kernel in, and a real
/// browser.
pub const TEST: &[Need] = &[
    Need::Rustfmt,
    Need::Clippy,
    Need::Binutils,
    Need::Lld,
    Need::Mold,
    Need::Patchelf,
    Need::Gcc,
    Need::Gxx,
    Need::LibcHeaders,
    Need::LibcDebug,
    Need::Perf,
    Need::Hotspot,
    Need::Elfutils,
    Need::Debuginfod,
    Need::Nginx,
    Need::Caddy,
    Need::Gzip,
    Need::Xz,
    Need::Zstd,
    Need::Bzip2,
    Need::Zip,
    Need::Dwz,
    Need::Clang,
    Need::Llvm,
    Need::Rpm,
    Need::Cpio,
    Need::Go,
    Need::Qemu,
    Need::Busybox,
    Need::Chromium,
    Need::Node20,
];

/// For the tests that are left to `--all`, besides.
pub const LONG_TEST: &[Need] = &[Need::Firefox];

/// Of these, what the tests need that run where perftab does not record: those of core, of the page
/// and of the WebAssembly.
pub const PORTABLE_TEST: &[Need] = &[Need::Rustfmt, Need::Clippy];

/// What was asked for and is not there. As text: “no perf, no hotspot (sudo dnf install perf hotspot)”.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    needs: Vec<Need>,
    system: System,
    /// Whether Rust and its parts are rustup's here.
    rustup: bool,
}

/// Installs what is missing of these, where it may, and says what is missing then.
pub fn ensure(needs: &[Need]) -> Missing {
    let missing = look(needs);
    if missing.rustup {
        missing.needs.iter().filter_map(|need| need.by_rustup()).for_each(ask_rustup);
    }
    if missing.system.has_apt() && have("apt-get") && is_root() {
        // Whoever runs tests wants no web server on port 80.
        let starts =
            |need: &&Need| need.is_web_server() && Path::new("/run/systemd/system").exists();
        let needs = missing.needs.iter().filter(|need| !starts(need));
        let packages: Vec<&str> = needs.flat_map(|need| need.packages(missing.system)).collect();
        if !packages.is_empty() {
            apt::install(&packages);
        }
    }
    look(needs)
}

/// Says what is missing of these; installs nothing.
pub fn look(needs: &[Need]) -> Missing {
    let needs = needs.iter().copied().filter(|need| !is_there(*need)).collect();
    Missing { needs, system: System::this(), rustup: have("rustup") }
}

impl Missing {
    /// Those of `needs` that are missing, or `None` if all of them are there.
    ///
    /// They must be among those that were asked for.
    pub fn of(&self, needs: &[Need]) -> Option<Self> {
        let needs: Vec<Need> =
            self.needs.iter().copied().filter(|need| needs.contains(need)).collect();
        (!needs.is_empty()).then_some(Self { needs, ..*self })
    }

    pub fn is_nothing(&self) -> bool {
        self.needs.is_empty()
    }

    /// An error where something is missing: for what cannot be done without it.
    pub fn none(&self) -> Result<()> {
        if self.is_nothing() {
            return Ok(());
        }
        bail!("{self}")
    }

    /// Prints what is missing, and the lines that bring it.
    pub fn print(&self) {
        if self.is_nothing() {
            return;
        }
        println!("==> Not on this machine: {}", self.names(""));
        for Remedy { of, line } in self.remedies() {
            match of {
                Some(need) => println!("    {}: {line}", need.name()),
                None => println!("    {line}"),
            }
        }
        println!("    What needs them is skipped; everything else is done.");
        if self.system != System::Debian {
            println!("    A container has all of it:");
            println!("    {}", container());
        }
    }

    fn names(&self, before_each: &str) -> String {
        let names = self.needs.iter().map(|need| format!("{before_each}{}", need.name()));
        names.collect::<Vec<_>>().join(", ")
    }

    /// What to do: one line for all packages, then the rest.
    fn remedies(&self) -> Vec<Remedy> {
        let mut packages: Vec<&str> = Vec::new();
        let mut rest: Vec<Remedy> = Vec::new();
        for &need in &self.needs {
            let named: Vec<&str> = need.packages(self.system).collect();
            let by_rustup = need.by_rustup().filter(|_| self.rustup || named.is_empty());
            if let Some(line) = by_rustup.or_else(|| need.otherwise(self.system)) {
                rest.push(Remedy { of: Some(need), line: line.to_owned() });
            } else {
                for name in named {
                    if !packages.contains(&name) {
                        packages.push(name);
                    }
                }
            }
        }
        if let Some(command) = install_command(self.system).filter(|_| !packages.is_empty()) {
            let line = format!("{command} {}", packages.join(" "));
            rest.insert(0, Remedy { of: None, line });
        }
        rest
    }
}

/// Something to do about what is missing.
struct Remedy {
    /// What it helps with; without, it is the line for all packages.
    of: Option<Need>,
    line: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names("no "))?;
        let lines: Vec<String> = self.remedies().into_iter().map(|remedy| remedy.line).collect();
        if lines.is_empty() { Ok(()) } else { write!(f, " ({})", lines.join("; ")) }
    }
}

/// How packages are installed by hand.
fn install_command(system: System) -> Option<&'static str> {
    match system {
        System::Debian | System::Ubuntu => Some("sudo apt-get install"),
        System::Fedora => Some("sudo dnf install"),
        System::Arch => Some("sudo pacman -S --needed"),
        System::MacOs => Some("brew install"),
        System::OtherLinux | System::Other => None,
    }
}

/// The line that does the same in a container with Debian. What is committed goes in through a pipe,
/// so that nothing in the checkout comes to belong to root; what is built stays in a volume. perftab
/// asks for `--privileged` to record, and serves on the machine's own loopback; Chromium asks for shared
/// memory.
pub fn container() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    container_with(
        "--network host --shm-size=2g ",
        &format!("exec cargo xtask {}", arguments.join(" ")),
    )
}

/// The same for any command in the checkout.
pub fn container_with(options: &str, command: &str) -> String {
    format!(
        "git archive HEAD | docker run --rm -i --init --privileged {options}\
         -v perftab-target:/perftab/target -w /perftab rust:1-bookworm \
         sh -c 'tar -xmf - && {command}'"
    )
}

fn ask_rustup(line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let asked = step(&format!("Ask rustup: {line}"), || {
        // Where there is no network to rustup's server, one refusal is enough.
        run(Command::new(words[0]).env("RUSTUP_MAX_RETRIES", "0").args(&words[1..]))
    });
    if let Err(error) = asked {
        println!("    {error:#}");
    }
}

#[cfg(test)]
mod tests {
    use super::{BUILD, LONG_TEST, Missing, Need, System, TEST};

    /// On a machine whose Rust is not rustup's.
    fn missing(system: System, needs: &[Need]) -> Missing {
        Missing { needs: needs.to_vec(), system, rustup: false }
    }

    #[test]
    fn each_system_has_its_line() {
        let line = |system, needs| missing(system, needs).to_string();
        assert_eq!(
            line(System::Debian, BUILD),
            "no Node.js 18, no npm (sudo apt-get install nodejs npm)"
        );
        assert_eq!(
            line(System::Fedora, BUILD),
            "no Node.js 18, no npm (sudo dnf install nodejs nodejs-npm)"
        );
        assert_eq!(
            line(System::Arch, BUILD),
            "no Node.js 18, no npm (sudo pacman -S --needed nodejs npm)"
        );
        // One package there, named once.
        assert_eq!(line(System::MacOs, BUILD), "no Node.js 18, no npm (brew install node)");
        assert_eq!(line(System::OtherLinux, BUILD), "no Node.js 18, no npm");
    }

    #[test]
    fn ubuntu_has_neither_perf_nor_chromium_as_debian_has_them() {
        let both = missing(System::Ubuntu, &[Need::Perf, Need::Chromium]);
        assert_eq!(
            both.to_string(),
            "no perf, no Chromium \
             (sudo apt-get install linux-tools-generic linux-tools-$(uname -r); \
             Google Chrome's .deb, from https://www.google.com/chrome)"
        );
        let chromium = both.of(&[Need::Chromium, Need::Node]).expect("it is missing");
        assert!(chromium.to_string().starts_with("no Chromium ("));
        assert!(both.of(&[Need::Node]).is_none());
    }

    #[test]
    fn parts_of_rust_come_from_where_rust_comes_from() {
        let clippy = [Need::Clippy];
        let text = |system, rustup| Missing { rustup, ..missing(system, &clippy) }.to_string();
        assert_eq!(text(System::Fedora, false), "no clippy (sudo dnf install clippy)");
        assert_eq!(text(System::Fedora, true), "no clippy (rustup component add clippy)");
        assert_eq!(text(System::Debian, false), "no clippy (rustup component add clippy)");
    }

    #[test]
    fn everything_that_tests_need_can_be_had_on_debian() {
        for need in TEST.iter().chain(LONG_TEST) {
            let text = missing(System::Debian, &[*need]).to_string();
            assert!(text.contains('('), "{text}: and how to get it?");
        }
    }
}
