//! `web/`, `web/images/` and `web/listing/` → WebAssembly and the JavaScript and TypeScript around it.
//!
//! Two ways lead to the standard library for wasm32: rustup's target, or Debian's Rust with its
//! sources, which builds it. Both give the same façade; which one was taken is said.

use crate::finish::Finish;
use crate::packages::{self, Missing, Need, System};
use crate::steps::{cargo, named_cargo, output, quiet, root, run, step, step_once, target};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TRIPLE: &str = "wasm32-unknown-unknown";

/// What Cargo calls what it builds of `web/`, of `web/images/` and of `web/listing/`.
const FACADE: &str = "perftab_web";
const IMAGES: &str = "perftab_images_web";
const LISTING: &str = "perftab_listing_web";

/// Where the standard library for wasm32 comes from.
#[derive(Clone, Copy, ValueEnum)]
pub enum Std {
    /// `rustup target add`
    Rustup,
    /// Debian's rustc-web, cargo-web and rust-web-src
    Debian,
}

/// A module, ready for the page.
pub struct Module {
    /// The WebAssembly; its JavaScript lies beside it.
    pub wasm: PathBuf,
    /// The same as the page carries it.
    pub packed: PathBuf,
}

/// What the page carries.
pub struct Modules {
    /// The façade of core.
    pub facade: Module,
    /// What is loaded when the first file comes.
    pub images: Module,
    /// What is loaded when somebody looks at code.
    pub listing: Module,
}

/// Builds the modules. Their JavaScript and types go to `www/src/generated/`, too.
pub fn build(finish: Finish, std: Std) -> Result<Modules> {
    let folder = match std {
        Std::Rustup => with_rustup(finish)?,
        Std::Debian => with_debian(finish)?,
    };
    let module = |name: &str| {
        let module = bind(finish, &folder, name)?;
        lend_to_page(&module, name)?;
        anyhow::Ok(module)
    };
    Ok(Modules { facade: module(FACADE)?, images: module(IMAGES)?, listing: module(LISTING)? })
}

/// Sees to a standard library for wasm32; what is there wins over what can be had, and rustup is asked
/// before apt.
pub fn ensure_std(wanted: Option<Std>) -> Result<Std, Missing> {
    let ensure = |need, std| {
        let missing = packages::ensure(&[need]);
        if missing.is_nothing() { Ok(std) } else { Err(missing) }
    };
    match wanted {
        Some(Std::Rustup) => ensure(Need::WasmStd, Std::Rustup),
        Some(Std::Debian) => ensure(Need::RustWeb, Std::Debian),
        None if packages::is_there(Need::WasmStd) => Ok(Std::Rustup),
        None if packages::is_there(Need::RustWeb) => Ok(Std::Debian),
        None => ensure(Need::WasmStd, Std::Rustup).or_else(|missing| {
            if System::this() != System::Debian {
                return Err(missing);
            }
            println!("    there is no such target to be had; Debian's Rust builds it instead");
            ensure(Need::RustWeb, Std::Debian)
        }),
    }
}

fn with_rustup(finish: Finish) -> Result<PathBuf> {
    compile("rustup's target", &mut cargo(), "wasm-rustup", finish)
}

/// Debian's Rust is a stable release: RUSTC_BOOTSTRAP permits `-Zbuild-std`, and nothing else here
/// asks for more. The linker is rustup's, which carries one for wasm.
fn with_debian(finish: Finish) -> Result<PathBuf> {
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
    compile("Debian's Rust", &mut command, "wasm-debian", finish)
}

/// A target folder for each way, so that neither invalidates what the other, or the host, built.
fn compile(how: &str, command: &mut Command, folder: &str, finish: Finish) -> Result<PathBuf> {
    let profile = finish.wasm_profile();
    step(&format!("Build the WebAssembly with {how}"), || {
        command
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags()?)
            .arg("build")
            .args(quiet())
            .arg("--locked")
            .args(["--package=perftab-web", "--package=perftab-images-web"])
            .arg("--package=perftab-listing-web")
            .args(["--profile", profile, "--target", TRIPLE])
            .arg("--target-dir")
            .arg(target(folder));
        run(command)
    })?;
    Ok(target(folder).join(TRIPLE).join(profile))
}

/// Panic messages name source files. Those of this machine's folders mean nothing elsewhere, and
/// would make every machine's page another one. How little is inlined, Cargo.toml explains beside the
/// profile `wasm`.
fn flags() -> Result<String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let mut flags = vec![format!("--remap-path-prefix={}=perftab", root().display())];
    let sources = home.context("neither CARGO_HOME nor HOME is set")?.join("registry/src");
    for registry in fs::read_dir(&sources).into_iter().flatten() {
        flags.push(format!("--remap-path-prefix={}=crates", registry?.path().display()));
    }
    flags.sort();
    flags.push("-Cllvm-args=-inline-threshold=10".to_owned());
    Ok(flags.join(" "))
}

/// Runs `perftab-bundle`, which is compiled now, not with xtask: its libraries are large.
fn bind(finish: Finish, folder: &Path, name: &str) -> Result<Module> {
    let built = &folder.join(name).with_extension("wasm");
    let bound = finish.folder("wasm-bound");
    let wasm = bound.join(format!("{name}_bg.wasm"));
    let packed = wasm.with_extension("wasm.packed");
    let bundler = root().join("xtask/bundle/src");
    let inputs = [&**built, &bundler];
    let outputs = [&*wasm, &packed, &bound.join(format!("{name}.js"))];
    let title = format!("Write the JavaScript of {name}, and pack the WebAssembly");
    step_once(&finish.name(&format!("bind-{name}")), &title, &inputs, &outputs, || {
        run(cargo()
            .arg("run")
            .args(quiet())
            .args(["--locked", "--package=perftab-bundle", "--"])
            .args([&**built, &*bound]))
    })?;
    Ok(Module { wasm, packed })
}

/// Copies what the page imports to where it imports it from: that of the finish being built. What is
/// the same stays untouched.
fn lend_to_page(module: &Module, name: &str) -> Result<()> {
    let generated = root().join("www/src/generated");
    fs::create_dir_all(&generated)?;
    for ending in ["js", "d.ts"] {
        let name = format!("{name}.{ending}");
        let bound = fs::read(module.wasm.with_file_name(&name)).context(name.clone())?;
        let lent = generated.join(name);
        if fs::read(&lent).ok().as_deref() != Some(&bound) {
            fs::write(&lent, bound).with_context(|| lent.display().to_string())?;
        }
    }
    Ok(())
}

fn sysroot() -> Result<PathBuf> {
    Ok(output(Command::new("rustc").args(["--print", "sysroot"]))?.trim_end().into())
}

fn host() -> Result<String> {
    let version = output(Command::new("rustc").arg("-vV").stdin(Stdio::null()))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}
