//! One file a command over recordings; each is core's `Session`, printed.

use crate::output::Outcome;

/// Until core's `Session` is there.
pub fn unavailable(command: &str) -> anyhow::Result<Outcome> {
    anyhow::bail!("{command}: this build can't decode recordings yet")
}
