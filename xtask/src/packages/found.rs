//! What is there: programs on the path, wherever they come from, and a few things beside them.

use super::Need;
use super::system::System;
use crate::steps::{have, output, starts};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Whether it is there, and of use.
pub fn is_there(need: Need) -> bool {
    match need {
        Need::Node => node_version().is_some_and(|major| major >= 18),
        Need::Node20 => node_version().is_some_and(|major| major >= 20),
        Need::Npm => have("npm"),
        Need::WasmStd => has_std("wasm32-unknown-unknown"),
        Need::MuslX86Std => has_std("x86_64-unknown-linux-musl"),
        Need::MuslArmStd => has_std("aarch64-unknown-linux-musl"),
        Need::CcForX86 => compiles("x86_64-linux-gnu-gcc"),
        Need::CcForArm => compiles("aarch64-linux-gnu-gcc"),
        Need::RustWeb => installed("rustc-web") && installed("rust-web-src"),
        Need::Rustfmt => starts(Command::new("cargo").args(["fmt", "--version"])),
        Need::Clippy => starts(Command::new("cargo").args(["clippy", "--version"])),
        Need::Cc => have("cc"),
        Need::Gcc => have("gcc"),
        Need::Gxx => have("g++"),
        Need::LibcHeaders => Path::new("/usr/include/stdio.h").exists(),
        Need::LibcDebug if System::this().has_apt() => installed("libc6-dbg"),
        Need::LibcDebug => Path::new("/usr/lib/debug/.build-id").exists(),
        Need::Binutils => have("readelf") && have("objcopy"),
        Need::Lld => have("ld.lld"),
        Need::Mold => have("ld.mold"),
        Need::Patchelf => have("patchelf"),
        // Ubuntu's is a script that finds none for a kernel whose tools are not installed.
        Need::Perf => starts(Command::new("perf").arg("--version")),
        Need::Hotspot => have("hotspot"),
        Need::Elfutils => have("eu-readelf"),
        Need::Debuginfod => have("debuginfod"),
        Need::Nginx => have("nginx"),
        Need::Caddy => have("caddy"),
        Need::Gzip => have("gzip"),
        Need::Xz => have("xz"),
        Need::Zstd => have("zstd"),
        Need::Bzip2 => have("bzip2"),
        Need::Zip => have("zip"),
        Need::Dwz => have("dwz"),
        Need::Clang => have("clang++"),
        Need::Llvm => have("llvm-dwp") && have("llvm-symbolizer"),
        Need::Rpm => have("rpmbuild"),
        Need::Cpio => have("cpio"),
        Need::Go => have("go"),
        Need::Qemu => have("qemu-system-x86_64"),
        Need::Busybox => have("busybox"),
        Need::Chromium => browser().is_some(),
        Need::Firefox => have("firefox") || have("firefox-esr"),
        Need::Time => Path::new("/usr/bin/time").exists(),
        Need::Perl => have("perl"),
    }
}

/// Whether a compiler is there, and a libc's headers for it.
fn compiles(compiler: &str) -> bool {
    let source = ["-fsyntax-only", "-include", "stdlib.h", "-x", "c", "/dev/null"];
    starts(Command::new(compiler).args(source))
}

/// “v18.20.4” → 18.
fn node_version() -> Option<u32> {
    if !have("node") {
        return None;
    }
    let version = output(Command::new("node").arg("--version")).ok()?;
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

fn has_std(triple: &str) -> bool {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]));
    sysroot.is_ok_and(|sysroot| {
        Path::new(sysroot.trim_end()).join("lib/rustlib").join(triple).is_dir()
    })
}

/// Whether dpkg has installed this package.
fn installed(package: &str) -> bool {
    let query = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status}", package])
        .stderr(Stdio::null())
        .output();
    query.is_ok_and(|answer| answer.stdout == b"installed")
}

/// What Chromium and its relatives are called on the path.
const BROWSERS: &[&str] =
    &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// Where macOS has applications: in `/`, and in one's home.
const MAC_BROWSERS: &[&str] = &[
    "Applications/Chromium.app/Contents/MacOS/Chromium",
    "Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/// A Chromium that starts: `$CHROMIUM`, or else the first one found. Every script that drives a browser
/// gets it as `$CHROMIUM`.
pub fn browser() -> Option<PathBuf> {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    // Not remembered while there is none: it may yet be installed.
    if FOUND.get().is_none()
        && let Some(found) = candidates().into_iter().find(|candidate| is_browser(candidate))
    {
        FOUND.get_or_init(|| found);
    }
    FOUND.get().cloned()
}

fn candidates() -> Vec<PathBuf> {
    // Who names one means it.
    if let Some(named) = env::var_os("CHROMIUM") {
        return vec![named.into()];
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let named = BROWSERS.iter().flat_map(|name| folders.iter().map(move |dir| dir.join(name)));
    let roots = [Some(PathBuf::from("/")), env::var_os("HOME").map(PathBuf::from)];
    let apps =
        MAC_BROWSERS.iter().flat_map(|app| roots.iter().flatten().map(move |root| root.join(app)));
    named.filter(|candidate| !is_snap(candidate)).chain(apps).collect()
}

/// A snap sees neither what tests write below `/tmp` nor hidden folders, and opens empty pages instead.
fn is_snap(candidate: &Path) -> bool {
    let real = candidate.canonicalize().unwrap_or_default();
    candidate.starts_with("/snap") || real.starts_with("/snap") || real.ends_with("usr/bin/snap")
}

/// Whether it is more than a file: Ubuntu's `chromium-browser` only says how to get the snap.
fn is_browser(candidate: &Path) -> bool {
    candidate.is_file() && starts(Command::new(candidate).arg("--version"))
}
