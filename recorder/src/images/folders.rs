//! What is in folders.

use std::fs;
use std::path::{Path, PathBuf};

use crate::output;

/// All files below a folder, without following links to folders.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                output::notice(format_args!("{} is skipped: {error}", folder.display()));
                continue;
            }
        };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(_) => files.push(entry.path()),
                Err(_) => {}
            }
        }
    }
    // Which file is shown as the source of names must not depend on the order on disk.
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn a_folder_is_searched_to_its_end_and_links_are_not_followed() {
        let folder = std::env::temp_dir().join(format!("perftab-{}", scratch::unique_suffix()));
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(folder.join("a/b/file"), "").unwrap();
        fs::write(folder.join("file"), "").unwrap();
        std::os::unix::fs::symlink(&folder, folder.join("a/loop")).unwrap();
        let found = files_below(&folder);
        let expected = ["a/b/file", "a/loop", "file"].map(|name| folder.join(name));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, expected);
    }
}
