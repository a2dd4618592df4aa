//! A kernel with loadable modules, for tests that boot it: Debian's own, with its debug files.
//!
//! Nothing is installed. Which version it is apt says, so that it can be had when the test runs.
//! What is kept lies below `target/guest-kernel/` as Debian lays it out; only what tests use of it,
//! as the debug package alone unpacks to several gigabytes.

use crate::packages::{self, Need, System, logged};
use crate::steps::{output, run, step_once, target};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Depends on the newest kernel for virtual machines.
const NEWEST: &str = "linux-image-cloud-amd64";

/// Of the image: the kernel, and the modules that are loaded.
const OF_IMAGE: &[&str] = &[
    "./boot/vmlinuz-*",
    "./lib/modules/*/kernel/crypto/*",
    "./lib/modules/*/kernel/drivers/virtio/*",
    "./lib/modules/*/kernel/drivers/block/virtio_blk.ko",
];

/// Of the debug files: those of the kernel, and of the modules that are sampled.
const OF_DEBUG: &[&str] =
    &["./usr/lib/debug/boot/vmlinux-*", "./usr/lib/debug/lib/modules/*/kernel/crypto/*"];

/// Fetches and unpacks it, once. Where it cannot be had, or nothing is there to boot it in, tests that
/// need it say that they skip.
pub fn fetch() -> Result<()> {
    let folder = target("guest-kernel");
    let title = "Fetch a kernel with loadable modules (300 MB)";
    if !cfg!(target_arch = "x86_64") || System::this() != System::Debian {
        println!("==> {title}: only on Debian, on x86-64; tests that boot it say that they skip");
        return Ok(());
    }
    let missing = packages::ensure(&[Need::Qemu, Need::Busybox]);
    if missing.none().is_err() {
        println!("==> {title}: nothing to boot it in, {missing}; tests that do say that they skip");
        return Ok(());
    }
    let this = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guest_kernel.rs");
    let outputs = [folder.join("boot"), folder.join("lib"), folder.join("usr/lib/debug")];
    let outputs: Vec<&Path> = outputs.iter().map(|path| path.as_path()).collect();
    let fetched = step_once("guest-kernel", title, &[&this], &outputs, || unpack(&folder));
    if let Err(error) = fetched {
        println!("    not to be had ({error:#}); tests that need it say that they skip");
    }
    Ok(())
}

fn unpack(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let downloaded = folder.join("packages");
    fs::create_dir_all(&downloaded)?;
    let image = newest_image()?;
    let names = [image.clone(), format!("{image}-dbg")];
    let mut download = Command::new("apt-get");
    download
        .args(["download", "-q"])
        // The unprivileged user that apt would download as cannot write here.
        .args(["-o", "APT::Sandbox::User=root"])
        .args(&names)
        .current_dir(&downloaded);
    if !logged(download)? {
        bail!("apt-get download fails; see {}", packages::log().display());
    }
    for entry in fs::read_dir(&downloaded)? {
        let package = entry?.path();
        let is_debug = package.to_string_lossy().contains("-dbg_");
        extract(&package, folder, if is_debug { OF_DEBUG } else { OF_IMAGE })?;
    }
    fs::remove_dir_all(&downloaded)?;
    Ok(())
}

/// The package that holds the newest kernel, as the dependency of an empty one.
fn newest_image() -> Result<String> {
    let depends = output(Command::new("apt-cache").args(["depends", "--important", NEWEST]))?;
    let dependency = |line: &str| Some(line.split_once("Depends: ")?.1.trim().to_owned());
    depends
        .lines()
        .filter_map(dependency)
        .find(|name| name.starts_with("linux-image-"))
        .with_context(|| format!("apt knows no {NEWEST}; run apt-get update"))
}

fn extract(package: &Path, folder: &Path, files: &[&str]) -> Result<()> {
    let mut contents = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .context("starting dpkg-deb")?;
    let Some(tar) = contents.stdout.take() else { bail!("dpkg-deb has no output") };
    run(Command::new("tar")
        .args(["--extract", "--wildcards", "--directory"])
        .arg(folder)
        .args(files)
        .stdin(tar))?;
    let status = contents.wait()?;
    if !status.success() {
        bail!("dpkg-deb ended with {status} on {}", package.display());
    }
    Ok(())
}
