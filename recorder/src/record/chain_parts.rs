//! `--user-callchains` and `--kernel-callchains`.

use anyhow::{Result, bail};

use super::options::{CallChains, SamplingArgs};

/// Which part of a call chain is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainParts {
    /// That of the kernel and that of user space.
    Both,
    /// That of user space.
    User,
    /// That of the kernel.
    Kernel,
}

impl ChainParts {
    /// What the options say of such call chains.
    pub fn of(sampling: &SamplingArgs, chains: CallChains) -> Result<Self> {
        Ok(match (sampling.user_callchains, sampling.kernel_callchains) {
            (true, _) => Self::User,
            (_, true) if chains.copy().is_some() => {
                bail!("--kernel-callchains: copies of stacks are of user space; use -g")
            }
            (_, true) => Self::Kernel,
            (false, false) => Self::Both,
        })
    }
}
