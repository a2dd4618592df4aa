//! The binary under test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::child_process::end_within;

/// Where nothing is built yet, on a machine that has much else to do.
const LONGEST_BUILD: Duration = Duration::from_secs(3600);

/// The `perftab` binary: `$PERFTAB_BIN`, which `cargo xtask test` sets, else what `cargo build`
/// makes, once for the test program.
pub fn perftab_binary() -> PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY
        .get_or_init(|| match std::env::var_os("PERFTAB_BIN") {
            Some(named) => PathBuf::from(named),
            None => build(),
        })
        .clone()
}

/// `perftab` with a home folder of its own, in which it runs, and no servers.
pub fn perftab_at(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(perftab_binary());
    command.args(arguments).env("HOME", home).current_dir(home);
    for variable in ["XDG_CACHE_HOME", "DEBUGINFOD_CACHE_PATH", "DEBUGINFOD_URLS", "PERF_CONFIG"] {
        command.env_remove(variable);
    }
    command
}

fn build() -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    // What cargo told this test of its package would have build scripts run again for nothing.
    for (name, _) in std::env::vars_os() {
        let of_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_"];
        if name.to_str().is_some_and(|name| of_package.iter().any(|p| name.starts_with(p))) {
            cargo.env_remove(name);
        }
    }
    let building = cargo
        .args(["build", "--quiet", "--package", "perftab", "--message-format", "json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("cargo runs");
    let output = end_within(building, "cargo build", LONGEST_BUILD);
    assert!(output.status.success(), "perftab does not build");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "perftab")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .expect("cargo names the executable")
}
