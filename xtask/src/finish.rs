//! How much work goes into a build: what users get, or the same code sooner, for tests.
//!
//! Everything that the two differ in is here. Their outputs and stamps stand side by side, so that
//! going from one to the other and back builds nothing again.

use crate::steps::target;
use clap::ValueEnum;
use std::path::PathBuf;

/// How much work goes into a build.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Finish {
    /// What users get: small and fast, minutes to build
    Shipped,
    /// For tests: the same, hardly optimised, sooner built
    Quick,
}

impl Finish {
    /// `name` for the first, `name-quick` for the second.
    pub fn name(self, name: &str) -> String {
        match self {
            Self::Shipped => name.to_owned(),
            Self::Quick => format!("{name}-quick"),
        }
    }

    /// A folder of this finish in `target`.
    pub fn folder(self, name: &str) -> PathBuf {
        target(&self.name(name))
    }

    /// The page. That of tests lies below the other's folder, where a debug build of the binary sees it
    /// come (`recorder/build.rs`).
    pub fn page(self) -> PathBuf {
        match self {
            Self::Shipped => target("page/perftab.html"),
            Self::Quick => target("page/quick/perftab.html"),
        }
    }

    /// The Cargo profile of the WebAssembly; the folder that Cargo builds it to has the same name.
    pub fn wasm_profile(self) -> &'static str {
        match self {
            Self::Shipped => "wasm",
            Self::Quick => "wasm-quick",
        }
    }

    /// The Cargo profile of the binary, which carries the page of this finish, and the folder that
    /// Cargo builds it to.
    pub fn binary_profile(self) -> (&'static str, &'static str) {
        match self {
            Self::Shipped => ("release", "release"),
            Self::Quick => ("dev", "debug"),
        }
    }
}
