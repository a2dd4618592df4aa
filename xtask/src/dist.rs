//! What users download: one static binary for each architecture, with what belongs to it.
//!
//! musl instead of glibc, so that it runs on any Linux, also in a container that has nothing else. Its debug file
//! has the same build-id, so perftab can be profiled like everything else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::finish::Finish;
use crate::packages::{self, Need};
use crate::page::{self, BuildOptions};
use crate::steps::{cargo, is_root, output, quiet, root, run, step, target};

#[derive(Args)]
pub struct DistOptions {
    /// Which processors it is for [default: this machine's]
    #[arg(long, value_enum)]
    arch: Vec<Arch>,
    #[command(flatten)]
    build: BuildOptions,
}

/// A processor that perftab records on.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Arch {
    #[value(name = "x86_64")]
    X86,
    #[value(name = "aarch64")]
    Arm,
}

/// Builds, packs and tries each.
pub fn dist(options: &DistOptions) -> Result<()> {
    let here = Arch::here().context("perftab records on x86-64 and aarch64")?;
    let wanted = if options.arch.is_empty() { vec![here] } else { options.arch.clone() };
    page::site(Finish::Shipped, &options.build)?;
    // Whatever architecture a binary is for, it is this machine's that writes its manual.
    let own = build(here)?;
    for arch in wanted {
        let built = if arch == here { own.clone() } else { build(arch)? };
        let folder = pack(arch, &built, &own)?;
        if arch == here {
            try_alone(&folder.join("perftab"))?;
        }
    }
    Ok(())
}

impl Arch {
    fn here() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::X86),
            "aarch64" => Some(Self::Arm),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::X86 => "x86_64",
            Self::Arm => "aarch64",
        }
    }

    fn triple(self) -> String {
        format!("{}-unknown-linux-musl", self.name())
    }

    fn std(self) -> Need {
        match self {
            Self::X86 => Need::MuslX86Std,
            Self::Arm => Need::MuslArmStd,
        }
    }

    /// What compiles the C that there is in it, for TLS and zstd, and what links it. The compiler need not know musl: of
    /// any libc's headers, zstd takes what is the same in all, unless checks of glibc's (`_FORTIFY_SOURCE`, which Ubuntu
    /// turns on) come in.
    fn tools(self) -> Vec<(String, &'static str)> {
        let triple = self.triple();
        let (cc, linker) = match (Self::here() == Some(self), self) {
            (true, _) => ("cc", "cc"),
            (false, Self::X86) => ("x86_64-linux-gnu-gcc", "rust-lld"),
            (false, Self::Arm) => ("aarch64-linux-gnu-gcc", "rust-lld"),
        };
        let of_cargo = triple.to_uppercase().replace('-', "_");
        vec![
            (format!("CC_{}", triple.replace('-', "_")), cc),
            (format!("CFLAGS_{}", triple.replace('-', "_")), "-U_FORTIFY_SOURCE"),
            (format!("CARGO_TARGET_{of_cargo}_LINKER"), linker),
        ]
    }

    fn needs(self) -> Vec<Need> {
        let compiler = match (Self::here() == Some(self), self) {
            (true, _) => Need::Cc,
            (false, Self::X86) => Need::CcForX86,
            (false, Self::Arm) => Need::CcForArm,
        };
        vec![self.std(), compiler, Need::Llvm, Need::Xz]
    }
}

/// Builds the binary, and gives where it is.
fn build(arch: Arch) -> Result<PathBuf> {
    packages::ensure(&arch.needs()).none()?;
    let triple = arch.triple();
    let tools = arch.tools();
    let build_id =
        if tools.iter().any(|(_, tool)| *tool == "cc") { "-Wl,--build-id" } else { "--build-id" };
    step(&format!("Build the static binary for {}", arch.name()), || {
        let mut command = cargo();
        command.args(["build", "--locked", "--release", "--package=perftab", "--target", &triple]);
        command.args(quiet());
        command.env("RUSTFLAGS", format!("-C link-arg={build_id}"));
        run(command.envs(tools))
    })?;
    Ok(page::built_to()?.join(triple).join("release/perftab"))
}

/// `target/dist/perftab-VERSION-ARCH-linux/`, and the same as an archive with its sum.
fn pack(arch: Arch, built: &Path, own: &Path) -> Result<PathBuf> {
    let name = format!("perftab-{}-{}-linux", env!("CARGO_PKG_VERSION"), arch.name());
    let dist = target("dist");
    let folder = dist.join(&name);
    step(&format!("Pack {name}"), || {
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let (binary, debug) = (folder.join("perftab"), dist.join(format!("{name}.debug")));
        run(Command::new("llvm-objcopy").arg("--only-keep-debug").arg(built).arg(&debug))?;
        run(Command::new("llvm-objcopy").arg("--strip-all").arg(built).arg(&binary))?;
        run(Command::new(own).args(["help-files"]).arg(&folder))?;
        for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            fs::copy(root().join(file), folder.join(file)).with_context(|| file.to_owned())?;
        }
        let archive = format!("{name}.tar.xz");
        // The same files make the same archive, whenever and by whomever it is packed.
        let stable = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"];
        let mut tar = Command::new("tar");
        tar.args(stable).args(["-cJf", &archive, &name]).current_dir(&dist).env("XZ_OPT", "-9");
        run(&mut tar)?;
        let sums = output(Command::new("sha256sum").args([&archive]).current_dir(&dist))?;
        fs::write(dist.join(format!("{archive}.sha256")), sums)?;
        for path in [&binary, &dist.join(&archive)] {
            let size = fs::metadata(path)?.len() as f64 / 1e6;
            println!("    {size:>5.1} MB {}", path.display());
        }
        Ok(())
    })?;
    Ok(folder)
}

/// Records and reports where there is nothing but the binary, /proc and /sys.
fn try_alone(binary: &Path) -> Result<()> {
    let root = target("dist-root");
    step("Try it where there is nothing else", || {
        if root.exists() {
            // What a run that was killed has mounted is not to be removed.
            bail!(
                "{} is in the way: see that nothing is mounted there, and remove it",
                root.display()
            );
        }
        fs::create_dir_all(&root)?;
        let done = alone(binary, &root);
        fs::remove_dir_all(&root)?;
        done
    })
}

fn alone(binary: &Path, root: &Path) -> Result<()> {
    for folder in ["proc", "sys"] {
        fs::create_dir(root.join(folder))?;
    }
    fs::copy(binary, root.join("perftab"))?;
    let script =
        "mount --rbind /proc proc && mount --rbind /sys sys && exec chroot . /perftab \"$@\"";
    let alone = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        // The mounts are gone with the namespace.
        command.args(["--mount", "--propagation=private"]);
        command.args((!is_root()).then_some("--map-root-user"));
        command.args(["sh", "-c", script, "sh"]).args(arguments).current_dir(root);
        output(&mut command)
    };
    alone(&["record", "-F", "9999", "-o", "/perf.data", "--", "/perftab", "help-files", "/help"])?;
    let report = alone(&["report", "--stdio", "/perf.data"])?;
    if !report.contains("perftab") {
        bail!("the report of a recording of perftab does not have it:\n{report}");
    }
    Ok(())
}
