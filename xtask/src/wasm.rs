//! `web/` → WebAssembly and the JavaScript and TypeScript around it.
//!
//! Two ways lead to the standard library for wasm32: rustup's target, or Debian's Rust with its
//! sources, which builds it. Both give the same façade; which one was taken is said.

use crate::apt;
use crate::steps::{cargo, named_cargo, output, root, run, step, step_once, target};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TRIPLE: &str = "wasm32-unknown-unknown";

/// Where the standard library for wasm32 comes from.
#[derive(Clone, Copy, ValueEnum)]
pub enum Std {
    /// `rustup target add`
    Rustup,
    /// Debian's rustc-web, cargo-web and rust-web-src
    Debian,
}

/// Builds the façade; gives the WebAssembly for the page, in gzip.
///
/// Its JavaScript and types go to `www/src/generated/`.
pub fn build(wanted: Option<Std>) -> Result<PathBuf> {
    let built = match choose(wanted)? {
        Std::Rustup => with_rustup()?,
        Std::Debian => with_debian()?,
    };
    compress(&bind(&built)?)
}

/// What is there wins over what can be had; rustup is asked before apt.
fn choose(wanted: Option<Std>) -> Result<Std> {
    if let Some(Std::Debian) = wanted {
        apt::install(&[apt::WASM])?;
        return Ok(Std::Debian);
    }
    if sysroot()?.join("lib/rustlib").join(TRIPLE).is_dir() {
        return Ok(Std::Rustup);
    }
    if wanted.is_none() && apt::installed(apt::WASM) {
        return Ok(Std::Debian);
    }
    let added = step(&format!("Add the target {TRIPLE}"), || {
        // Where there is no network to rustup's server, one refusal is enough.
        let mut rustup = Command::new("rustup");
        let status = rustup.env("RUSTUP_MAX_RETRIES", "0").args(["target", "add", TRIPLE]).status();
        Ok(status.is_ok_and(|status| status.success()))
    })?;
    match (added, wanted) {
        (true, _) => Ok(Std::Rustup),
        (false, Some(_)) => bail!("rustup has no target {TRIPLE} to give"),
        (false, None) => {
            println!("    rustup has no such target to give; Debian's Rust builds it instead");
            apt::install(&[apt::WASM])?;
            Ok(Std::Debian)
        }
    }
}

fn with_rustup() -> Result<PathBuf> {
    let mut command = cargo();
    compile("rustup's target", &mut command, "wasm-rustup")
}

/// Debian's Rust is a stable release: RUSTC_BOOTSTRAP permits `-Zbuild-std`, and nothing else here
/// asks for more. The linker is rustup's, which carries one for wasm.
fn with_debian() -> Result<PathBuf> {
    let linker = sysroot()?.join(format!("lib/rustlib/{}/bin/rust-lld", host()?));
    if !linker.exists() {
        bail!("{} is not there; a Rust toolchain from rustup has it", linker.display());
    }
    let mut command = named_cargo("/usr/bin/cargo".as_ref());
    command
        .env("RUSTC", "/usr/bin/rustc")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)
        .arg("-Zbuild-std=std,panic_abort");
    compile("Debian's Rust", &mut command, "wasm-debian")
}

/// A target folder for each way, so that neither invalidates what the other, or the host, built.
fn compile(how: &str, command: &mut Command, folder: &str) -> Result<PathBuf> {
    step(&format!("Build the WebAssembly with {how}"), || {
        command
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", forget_paths()?)
            .args(["build", "--quiet", "--locked", "--package=perftab-web", "--profile=wasm"])
            .args(["--target", TRIPLE])
            .arg("--target-dir")
            .arg(target(folder));
        run(command)
    })?;
    Ok(target(folder).join(TRIPLE).join("wasm/perftab_web.wasm"))
}

/// Panic messages name source files. Those of this machine's folders mean nothing elsewhere, and
/// would make every machine's page another one.
fn forget_paths() -> Result<String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let mut flags = vec![format!("--remap-path-prefix={}=perftab", root().display())];
    let sources = home.context("neither CARGO_HOME nor HOME is set")?.join("registry/src");
    for registry in fs::read_dir(&sources).into_iter().flatten() {
        flags.push(format!("--remap-path-prefix={}=crates", registry?.path().display()));
    }
    flags.sort();
    Ok(flags.join(" "))
}

/// wasm-bindgen as a library: its version is locked to the crate's, so they cannot disagree.
fn bind(built: &Path) -> Result<PathBuf> {
    let bound = target("wasm-bound");
    let generated = root().join("www/src/generated");
    let wasm = bound.join("perftab_web_bg.wasm");
    let outputs = [&*wasm, &generated.join("perftab_web.d.ts")];
    step_once("bind", "Write the JavaScript and types of the façade", &[built], &outputs, || {
        wasm_bindgen_cli_support::Bindgen::new()
            .input_path(built)
            .web(true)?
            .typescript(true)
            // The page hands in the bytes; there is no file beside it to fetch.
            .omit_default_module_path(true)
            .remove_name_section(true)
            .remove_producers_section(true)
            .generate(&bound)?;
        fs::create_dir_all(&generated)?;
        for name in ["perftab_web.js", "perftab_web.d.ts"] {
            fs::copy(bound.join(name), generated.join(name)).with_context(|| name.to_owned())?;
        }
        Ok(())
    })?;
    Ok(wasm)
}

/// Zopfli's gzip is 5 % smaller than `gzip -9`. binaryen's wasm-opt was tried and is not used: at -O2
/// to -Oz it takes 5 to 9 % off the plain file, and makes the compressed one 1 to 4 % larger.
fn compress(wasm: &Path) -> Result<PathBuf> {
    let compressed = wasm.with_extension("wasm.gz");
    step_once("compress", "Compress the WebAssembly", &[wasm], &[&compressed], || {
        let plain = fs::read(wasm)?;
        let mut file = fs::File::create(&compressed)?;
        zopfli::compress(zopfli::Options::default(), zopfli::Format::Gzip, &plain[..], &mut file)?;
        Ok(())
    })?;
    Ok(compressed)
}

fn sysroot() -> Result<PathBuf> {
    Ok(output(Command::new("rustc").args(["--print", "sysroot"]))?.trim_end().into())
}

fn host() -> Result<String> {
    let version = output(Command::new("rustc").arg("-vV").stdin(Stdio::null()))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}
