//! What servers did not have a short while ago, as debuginfod's clients keep it among their files
//! (elfutils, debuginfod/debuginfod-client.c): a file without bytes in the place of the one that is
//! missing, and in `cache_miss_s` for how many seconds that counts.
//!
//! Which server it was is not kept. So this is asked, and told, only where the servers are those of
//! the environment, which other clients ask too; who names a server wants that one asked.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::time::Duration;

const SECONDS_FILE: &str = "cache_miss_s";
const SECONDS: u64 = 600;

/// Whether `file`, in the cache `folder`, says that servers did not have it. One that has become
/// too old is removed.
pub fn is_known(folder: &Path, file: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(file) else { return false };
    if !metadata.is_file() || metadata.len() > 0 {
        return false;
    }
    // A clock that was set back makes it young.
    let age = metadata.modified().ok().and_then(|time| time.elapsed().ok()).unwrap_or_default();
    let counts = age <= Duration::from_secs(seconds(folder));
    if !counts {
        let _ = fs::remove_file(file);
    }
    counts
}

/// Keeps in mind that no server has what would be kept as `file`.
pub fn remember(file: &Path) {
    // A home that can't be written to is no reason to say anything.
    if let Some(folder) = file.parent()
        && fs::create_dir_all(folder).is_ok()
    {
        let _ = OpenOptions::new().write(true).create_new(true).open(file);
    }
}

fn seconds(folder: &Path) -> u64 {
    let text = fs::read_to_string(folder.join(SECONDS_FILE)).ok();
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(SECONDS)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;
    use crate::scratch;

    #[test]
    fn a_miss_counts_for_as_long_as_the_cache_says() {
        let folder = std::env::temp_dir().join(format!("perftab-{}", scratch::unique_suffix()));
        let file = folder.join("9f31/debuginfo");
        assert!(!is_known(&folder, &file));
        remember(&file);
        let aged = |seconds: u64| {
            remember(&file);
            let then = SystemTime::now() - Duration::from_secs(seconds);
            File::options().write(true).open(&file).unwrap().set_modified(then).unwrap();
            is_known(&folder, &file)
        };
        let (young, old) = (aged(500), aged(700));
        let is_gone = !file.exists();
        fs::write(folder.join(SECONDS_FILE), "60\n").unwrap();
        let old_here = aged(500);
        // What has bytes is no miss.
        fs::write(&file, "x").unwrap();
        let has_bytes = is_known(&folder, &file);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((young, old, is_gone, old_here, has_bytes), (true, false, true, false, false));
    }
}
