//! What is said of the files and folders that the user named.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use perftab_core::Rejection;
use perftab_core::session::{NotUsed, OfferReport};

/// Of a file that the user named, so many of those in it that are not used are said.
const SAID_OF_A_FILE: usize = 5;

/// What came of a file or folder that the user named.
pub struct NamedFile {
    /// Whether anything of it is used.
    pub is_used: bool,
    /// What is not, and why: a line each.
    pub notices: Vec<String>,
}

/// A file or folder that the user named, and what came of it so far.
pub struct NamedReport {
    /// Its path.
    pub path: PathBuf,
    /// What came of it.
    pub offered: Offered,
}

/// What came of it.
pub enum Offered {
    /// It is a file.
    File(OfferReport),
    /// It is a folder: of all files in it together.
    Folder(OfferReport),
    /// It is the same file as another.
    Before,
    /// It is a device, say.
    Unreadable,
}

impl NamedReport {
    /// What is of no use is said of a file, not of each file of a folder. `waiting` has what still
    /// waits for another file: the rest of what did is used. So is `used_code`, which may have waited for stacks.
    pub fn named(&self, waiting: &HashSet<&str>, used_code: &HashSet<&str>) -> NamedFile {
        let name = self.path.display();
        let came = |report: &OfferReport| {
            let mut report = report.clone();
            let not_used = report.not_used.len();
            report.not_used.retain(|refused| {
                let waits = waiting.contains(&*refused.name);
                let was_used = used_code.contains(&*refused.name);
                (refused.reason != Rejection::NotNamedYet || waits) && !was_used
            });
            (not_used > report.not_used.len() || !report.used.is_empty(), report)
        };
        let (is_used, notices) = match &self.offered {
            Offered::File(report) => {
                let (is_used, report) = came(report);
                let is_nothing_else = is_used && report.not_used.is_empty();
                let not_used = || not_used_of_named(&self.path, &report);
                (is_used, if is_nothing_else { Vec::new() } else { not_used() })
            }
            Offered::Folder(report) => {
                let (is_used, report) = came(report);
                let of_folder = || nothing_used(&self.path, &counted(&report));
                (is_used, if is_used { Vec::new() } else { vec![of_folder()] })
            }
            Offered::Before => (false, Vec::new()),
            Offered::Unreadable => {
                (false, vec![format!("--image {name} is not used: it is not a regular file")])
            }
        };
        NamedFile { is_used, notices }
    }
}

/// How many of a folder's files are of no use: images, and others.
fn counted(report: &OfferReport) -> (u32, u32) {
    let is_other = |refused: &&NotUsed| matches!(refused.reason, Rejection::NotAnImage { .. });
    let others = report.not_used.iter().filter(is_other).count() as u32;
    let images = report.not_used.len() as u32 - others;
    (report.unrelated + images, report.others + others)
}

fn nothing_used(path: &Path, (unrelated, others): &(u32, u32)) -> String {
    format!(
        "--image {}: nothing in it is used (images of other builds: {unrelated}, other files: \
         {others})",
        path.display()
    )
}

/// What is not used of a file that the user named: a line each.
fn not_used_of_named(path: &Path, report: &OfferReport) -> Vec<String> {
    let name = path.to_string_lossy();
    let mut notices = Vec::new();
    for refused in report.not_used.iter().take(SAID_OF_A_FILE) {
        let shown = if refused.name == name { "" } else { &refused.name };
        let separator = if shown.is_empty() { "" } else { ": " };
        let message = &refused.message;
        notices.push(format!("--image {name}{separator}{shown} is not used: {message}"));
    }
    if let Some(more) = report.not_used.len().checked_sub(SAID_OF_A_FILE).filter(|&n| n > 0) {
        notices.push(format!("--image {name}: {more} more are not used"));
    }
    if report.used.is_empty() && report.not_used.is_empty() {
        notices.push(nothing_used(path, &(report.unrelated, report.others)));
    }
    notices
}
