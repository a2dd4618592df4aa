//! The folder of a cgroup, in the hierarchy that the kernel samples by: that of perf_event where there is one, else the
//! unified one (`kernel/events/core.c`, `perf_cgroup_connect`).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The folder of a cgroup that is named by its path, or by where it is below the mount.
pub fn folder(name: &Path) -> Result<PathBuf> {
    let mount = mounted("-G")?;
    let below = name.strip_prefix(&mount).or_else(|_| name.strip_prefix("/")).unwrap_or(name);
    let folder = mount.join(below);
    match folder.join("cgroup.procs").exists() {
        true => Ok(folder),
        false if name.to_string_lossy().contains(',') => bail!(
            "-G {}: perftab records one cgroup, with those below it; begin a recording for each, or name one above them",
            name.display()
        ),
        false => bail!("-G {}: there is no cgroup {}", name.display(), folder.display()),
    }
}

/// Where the hierarchy is mounted; `option` needs it.
pub fn mounted(option: &str) -> Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").context("/proc/self/mounts")?;
    mount(&mounts).with_context(|| {
        format!("{option}: no hierarchy of cgroups is mounted that the kernel samples by")
    })
}

/// Of the lines of /proc/self/mounts: `DEVICE FOLDER TYPE OPTIONS 0 0`, a space in a folder being `\040`.
fn mount(mounts: &str) -> Option<PathBuf> {
    let of = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        let (folder, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        let is_own = kind == "cgroup" && options.split(',').any(|option| option == "perf_event");
        (is_own || kind == "cgroup2").then(|| (is_own, PathBuf::from(folder.replace("\\040", " "))))
    };
    // The first, as perf has it: run times mount parts of it once more.
    mounts.lines().filter_map(of).min_by_key(|(is_own, _)| !is_own).map(|(_, folder)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_that_counts_is_found() {
        let unified = "none / ext4 rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";
        assert_eq!(mount(unified), Some("/sys/fs/cgroup".into()));
        let again = format!("{unified}cgroup2 /run/box/sys/fs/cgroup cgroup2 ro 0 0\n");
        assert_eq!(mount(&again), Some("/sys/fs/cgroup".into()));
        let hybrid = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup /sys/fs/my\\040cgroups cgroup rw,perf_event 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(mount(hybrid), Some("/sys/fs/my cgroups".into()));
        assert_eq!(mount("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\nbad line\n"), None);
    }
}
