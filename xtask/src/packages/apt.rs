//! apt: what it would do is said before it does it, and nothing is ever removed for it.

use crate::steps::{line, output, step, target};
use anyhow::{Context, Result};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// Everything that apt-get prints.
pub fn log() -> PathBuf {
    target("xtask/apt.log")
}

/// Installs these. What cannot be is said, and what can be is installed all the same.
pub fn install(packages: &[&str]) {
    let packages = expand(packages);
    let done = step(&format!("Install {}", packages.join(", ")), || {
        println!("    apt-get writes to {}", log().display());
        if !logged(apt_get(&["update", "-q"]))? {
            println!("    apt-get update fails; what it knew before counts");
        }
        if install_together(&packages)? || packages.len() == 1 {
            return Ok(());
        }
        println!("    not all of them at once, so one by one:");
        packages
            .iter()
            .try_for_each(|package| install_together(std::slice::from_ref(package)).map(|_| ()))
    });
    if let Err(error) = done {
        println!("    {error:#}");
    }
}

/// Names what would be downloaded, then installs; says so if apt-get refuses.
fn install_together(packages: &[String]) -> Result<bool> {
    let mut plan = apt_get(INSTALL);
    let plan = plan.args(["-qq", "--print-uris"]).args(packages).stderr(open_log()?).output()?;
    if !plan.status.success() {
        println!("    {}: not to be had, or only if others were removed", packages.join(", "));
        return Ok(false);
    }
    let download = Download::planned(&String::from_utf8_lossy(&plan.stdout));
    println!("    {} packages, {:.1} MB to download", download.packages, download.megabytes());
    let mut install = apt_get(INSTALL);
    install.arg("-q").args(packages);
    let installed = logged(install)?;
    if !installed {
        println!("    {}: apt-get fails", packages.join(", "));
    }
    Ok(installed)
}

/// A package may bring others; none may go.
const INSTALL: &[&str] = &["install", "-y", "--no-install-recommends", "--no-remove"];

/// Runs it with its output in the log; says whether it succeeded.
pub fn logged(mut command: Command) -> Result<bool> {
    let mut file = open_log()?;
    writeln!(file, "\n$ {}", line(&command))?;
    let status = command.stdout(file.try_clone()?).stderr(file).status();
    Ok(status.with_context(|| line(&command))?.success())
}

fn open_log() -> Result<File> {
    fs::create_dir_all(target("xtask"))?;
    let path = log();
    let file = OpenOptions::new().create(true).append(true).open(&path);
    file.with_context(|| path.display().to_string())
}

fn apt_get(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").args(arguments);
    command
}

/// Names of packages may ask for the kernel's release, as a shell would put it in.
fn expand(packages: &[&str]) -> Vec<String> {
    let release = output(Command::new("uname").arg("-r")).unwrap_or_default();
    let mut names: Vec<String> =
        packages.iter().map(|name| name.replace("$(uname -r)", release.trim())).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What `apt-get --print-uris` announces.
#[derive(PartialEq, Eq, Debug)]
struct Download {
    packages: usize,
    bytes: u64,
}

impl Download {
    /// A line each: `'URI' FILE BYTES HASH`. What lies in apt's cache already is not among them.
    fn planned(uris: &str) -> Self {
        let sizes = uris.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<u64>().ok());
        let (packages, bytes) = sizes.fold((0, 0), |(count, sum), size| (count + 1, sum + size));
        Self { packages, bytes }
    }

    fn megabytes(&self) -> f64 {
        self.bytes as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::Download;

    #[test]
    fn a_download_is_added_up() {
        let uris = "'http://deb.example/pool/main/d/dwz/dwz_0.15-1_amd64.deb' \
                    dwz_0.15-1_amd64.deb 110132 SHA256:5f\n\
                    'http://deb.example/pool/main/z/zip/zip_3.0-13_amd64.deb' \
                    zip_3.0-13_amd64.deb 230896 SHA256:a0\n";
        assert_eq!(Download::planned(uris), Download { packages: 2, bytes: 341_028 });
        assert_eq!(Download::planned(""), Download { packages: 0, bytes: 0 });
    }
}
