//! The programs that are needed, and how each system calls the packages that have them.

use super::system::System;

/// A program that is needed, or a part of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// For building.
    Node,
    /// For driving a browser: playwright-core asks for more.
    Node20,
    Npm,
    WasmStd,
    RustWeb,
    MuslX86Std,
    MuslArmStd,
    CcForX86,
    CcForArm,
    Rustfmt,
    Clippy,
    Cc,
    Gcc,
    Gxx,
    LibcHeaders,
    LibcDebug,
    Binutils,
    Lld,
    Mold,
    Patchelf,
    Perf,
    Hotspot,
    Elfutils,
    Debuginfod,
    Nginx,
    Caddy,
    Gzip,
    Xz,
    Zstd,
    Bzip2,
    Zip,
    Dwz,
    Clang,
    Llvm,
    Rpm,
    Cpio,
    Go,
    Qemu,
    Busybox,
    Chromium,
    Firefox,
    Time,
    Perl,
}

use Need::*;

/// Packages of apt on Debian and on Ubuntu, of dnf, pacman and Homebrew. Empty: there is none, or
/// nothing that is done there needs it.
type Names = [&'static str; 5];

/// What people call it, and its packages.
///
/// Debian's Rust is older than perftab needs, so Rust's parts are rustup's there.
#[rustfmt::skip] // A table, a line each.
fn row(need: Need) -> (&'static str, Names) {
    match need {
        Node =>        ("Node.js 18",         ["nodejs", "nodejs", "nodejs", "nodejs", "node"]),
        Node20 =>      ("Node.js 20",        ["", "", "nodejs", "nodejs", "node"]),
        Npm =>         ("npm",                ["npm", "npm", "nodejs-npm", "npm", "node"]),
        WasmStd =>     ("std for wasm32-unknown-unknown",
                        ["", "", "rust-std-static-wasm32-unknown-unknown", "rust-wasm", "rust-wasm"]),
        RustWeb =>     ("Debian's Rust",      ["rustc-web cargo-web rust-web-src", "", "", "", ""]),
        MuslX86Std =>  ("std for x86_64-unknown-linux-musl",  ["", "", "rust-std-static-x86_64-unknown-linux-musl", "rust-musl", ""]),
        MuslArmStd =>  ("std for aarch64-unknown-linux-musl", ["", "", "rust-std-static-aarch64-unknown-linux-musl", "", ""]),
        CcForX86 =>    ("C compiler for x86-64",  ["gcc-x86-64-linux-gnu libc6-dev-amd64-cross", "gcc-x86-64-linux-gnu libc6-dev-amd64-cross", "gcc-x86_64-linux-gnu", "", ""]),
        CcForArm =>    ("C compiler for aarch64", ["gcc-aarch64-linux-gnu libc6-dev-arm64-cross", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross", "gcc-aarch64-linux-gnu", "aarch64-linux-gnu-gcc", ""]),
        Rustfmt =>     ("rustfmt",            ["", "", "rustfmt", "rust", "rust"]),
        Clippy =>      ("clippy",             ["", "", "clippy", "rust", "rust"]),
        Cc =>          ("C compiler",         ["gcc", "gcc", "gcc", "gcc", ""]),
        Gcc =>         ("gcc",                ["gcc", "gcc", "gcc", "gcc", ""]),
        Gxx =>         ("g++",                ["g++", "g++", "gcc-c++", "gcc", ""]),
        LibcHeaders => ("libc's headers",     ["libc6-dev", "libc6-dev", "glibc-devel", "glibc", ""]),
        LibcDebug =>   ("libc's debug files", ["libc6-dbg", "libc6-dbg", "", "", ""]),
        Binutils =>    ("binutils",           ["binutils", "binutils", "binutils", "binutils", ""]),
        Lld =>         ("lld",                ["lld", "lld", "lld", "lld", ""]),
        Mold =>        ("mold",               ["mold", "mold", "mold", "mold", ""]),
        Patchelf =>    ("patchelf",           ["patchelf", "patchelf", "patchelf", "patchelf", ""]),
        Perf =>        ("perf",               ["linux-perf", "linux-tools-generic linux-tools-$(uname -r)", "perf", "perf", ""]),
        Hotspot =>     ("hotspot",            ["hotspot", "hotspot", "hotspot", "", ""]),
        Elfutils =>    ("elfutils",           ["elfutils", "elfutils", "elfutils", "elfutils", ""]),
        Debuginfod =>  ("debuginfod",         ["debuginfod", "debuginfod", "elfutils-debuginfod", "debuginfod", ""]),
        Nginx =>       ("nginx",              ["nginx-light", "nginx-light", "nginx-core", "nginx", ""]),
        Caddy =>       ("Caddy",              ["caddy", "caddy", "caddy", "caddy", ""]),
        Gzip =>        ("gzip",               ["gzip", "gzip", "gzip", "gzip", ""]),
        Xz =>          ("xz",                 ["xz-utils", "xz-utils", "xz", "xz", ""]),
        Zstd =>        ("zstd",               ["zstd", "zstd", "zstd", "zstd", ""]),
        Bzip2 =>       ("bzip2",              ["bzip2", "bzip2", "bzip2", "bzip2", ""]),
        Zip =>         ("zip",                ["zip", "zip", "zip", "zip", ""]),
        Dwz =>         ("dwz",                ["dwz", "dwz", "dwz", "", ""]),
        Clang =>       ("clang",              ["clang", "clang", "clang", "clang", ""]),
        Llvm =>        ("LLVM's tools",       ["llvm", "llvm", "llvm", "llvm", ""]),
        Rpm =>         ("rpmbuild",           ["rpm", "rpm", "rpm-build", "rpm-tools", ""]),
        Cpio =>        ("cpio",               ["cpio", "cpio", "cpio", "cpio", ""]),
        Go =>          ("Go",                 ["golang-go", "golang-go", "golang", "go", ""]),
        Qemu =>        ("qemu-system-x86_64", ["qemu-system-x86", "", "", "", ""]),
        Busybox =>     ("busybox",            ["busybox-static", "", "", "", ""]),
        Chromium =>    ("Chromium",           ["chromium", "", "chromium", "chromium", "google-chrome"]),
        Firefox =>     ("Firefox",            ["firefox-esr", "", "firefox", "firefox", "firefox"]),
        Time =>        ("GNU time",           ["time", "time", "time", "time", ""]),
        Perl =>        ("perl",               ["perl", "perl", "perl-interpreter", "perl", ""]),
    }
}

/// Where a line other than that of packages is to be said.
const OTHERWISE: &[(Need, System, &str)] = &[
    (Node20, System::Debian, "https://nodejs.org/en/download; Debian 12 has 18"),
    (Node20, System::Ubuntu, "https://nodejs.org/en/download; Ubuntu 24.04 has 18"),
    (Cc, System::MacOs, "xcode-select --install"),
    (LibcDebug, System::Fedora, "sudo dnf debuginfo-install glibc"),
    // Its browsers are snaps, which see none of the files that tests make.
    (Chromium, System::Ubuntu, "Google Chrome's .deb, from https://www.google.com/chrome"),
    (Firefox, System::Ubuntu, "Mozilla's .deb, from https://packages.mozilla.org"),
    (Qemu, System::Ubuntu, "the kernel that tests boot is Debian's"),
    (Qemu, System::Fedora, "the kernel that tests boot is Debian's"),
    (Qemu, System::Arch, "the kernel that tests boot is Debian's"),
];

impl Need {
    /// As people call it.
    pub fn name(self) -> &'static str {
        row(self).0
    }

    /// Its packages on a system, as its package manager calls them.
    pub fn packages(self, system: System) -> impl Iterator<Item = &'static str> {
        let (_, names) = row(self);
        let column = match system {
            System::Debian => names[0],
            System::Ubuntu => names[1],
            System::Fedora => names[2],
            System::Arch => names[3],
            System::MacOs => names[4],
            System::OtherLinux | System::Other => "",
        };
        column.split(' ').filter(|name| !name.is_empty())
    }

    /// Whether Debian's package starts it as a service.
    pub fn is_web_server(self) -> bool {
        matches!(self, Nginx | Caddy)
    }

    /// What to do instead where rustup is, or where there is no package.
    pub fn by_rustup(self) -> Option<&'static str> {
        match self {
            WasmStd => Some("rustup target add wasm32-unknown-unknown"),
            MuslX86Std => Some("rustup target add x86_64-unknown-linux-musl"),
            MuslArmStd => Some("rustup target add aarch64-unknown-linux-musl"),
            Rustfmt => Some("rustup component add rustfmt"),
            Clippy => Some("rustup component add clippy"),
            _ => None,
        }
    }

    /// What to do, or to know, where there is no package.
    pub fn otherwise(self, system: System) -> Option<&'static str> {
        let found = OTHERWISE.iter().find(|(need, on, _)| (*need, *on) == (self, system));
        found.map(|(_, _, line)| *line)
    }
}
