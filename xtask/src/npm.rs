//! npm packages, as locked.

use crate::packages;
use crate::steps::{root, run, step_once};
use anyhow::Result;
use std::process::Command;

/// Installs exactly what `package-lock.json` names.
///
/// Without install scripts: none of the packages needs one, and none gets to run one.
pub fn install() -> Result<()> {
    let www = root().join("www");
    let inputs = [&*www.join("package.json"), &www.join("package-lock.json")];
    step_once(
        "npm",
        "Install npm packages",
        &inputs,
        &[&www.join("node_modules/.package-lock.json")],
        || run(Command::new("npm").args(["ci", "--ignore-scripts", "--silent"]).current_dir(&www)),
    )
}

/// Node in the page's folder; what drives a browser finds it as `$CHROMIUM`.
pub fn node() -> Command {
    let mut command = Command::new("node");
    command.current_dir(root().join("www"));
    if let Some(browser) = packages::browser() {
        command.env("CHROMIUM", browser);
    }
    command
}
