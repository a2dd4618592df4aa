//! The page, as one file and as a site, and the binary that carries it.

use crate::steps::{output, root, run, step, step_once, target};
use crate::{apt, npm, steps, wasm};
use anyhow::{Context, Result};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is shipped before the first flame graph, gzip, WebAssembly included: the goal.
const GOAL_BYTES: u64 = 350_000;

#[derive(Args, Default)]
pub struct BuildOptions {
    /// Where the standard library for wasm32 comes from [default: what is there, else rustup, else
    /// Debian]
    #[arg(long, value_enum)]
    wasm_std: Option<wasm::Std>,
}

/// Builds what a static host serves; gives its folder.
pub fn site(options: &BuildOptions) -> Result<PathBuf> {
    apt::install(&[apt::BUILD])?;
    npm::install()?;
    let wasm = wasm::build(options.wasm_std)?;
    check_types()?;
    bundle(&wasm)?;
    let site = target("site");
    println!("    {}", site.display());
    Ok(site)
}

/// Builds everything that users get; gives the path of the binary.
pub fn build(options: &BuildOptions) -> Result<PathBuf> {
    site(options)?;
    step("Build the binary", || {
        run(steps::cargo().args(["build", "--quiet", "--locked", "--release", "--package=perftab"]))
    })?;
    // Not `target("release")`: Cargo may have been told to build elsewhere.
    let metadata = output(steps::cargo().args(["metadata", "--no-deps", "--format-version=1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let built_to = metadata["target_directory"].as_str().context("cargo metadata")?;
    let binary = Path::new(built_to).join("release/perftab");
    println!("    {}", binary.display());
    Ok(binary)
}

/// TypeScript, strict. One run for each world: page, worker and tests have different globals.
fn check_types() -> Result<()> {
    let www = root().join("www");
    let inputs = ["src", "test", "tsconfig.json", "tsconfig.base.json", "package-lock.json"]
        .map(|name| www.join(name));
    let inputs = inputs.each_ref().map(PathBuf::as_path);
    step_once("tsc", "Check the types of the page", &inputs, &[], || {
        for project in [".", "src/worker", "test"] {
            let tsc = "node_modules/.bin/tsc";
            run(Command::new(www.join(tsc)).args(["--project", project]).current_dir(&www))?;
        }
        Ok(())
    })
}

fn bundle(wasm: &Path) -> Result<()> {
    let www = root().join("www");
    let page = target("page/perftab.html");
    let site = target("site");
    let inputs = ["src", "sample", "site", "index.html", "build.mjs", "package-lock.json"]
        .map(|name| www.join(name));
    let mut inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    inputs.push(wasm);
    let index = site.join("index.html");
    let outputs = [&*page, &index];
    step_once("page", "Bundle the page into one file", &inputs, &outputs, || {
        let command = ["build.mjs", "page"];
        let sizes = output(npm::node().args(command).arg(&page).arg(wasm).arg(&site))?;
        report(&sizes)
    })
}

/// Prints `size NAME GZIP PLAIN` lines for people.
fn report(sizes: &str) -> Result<()> {
    for line in sizes.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let ["size", name, gzip, plain] = words[..] else { continue };
        let (gzip, plain): (u64, u64) = (gzip.parse()?, plain.parse()?);
        println!("    {name:7} {:>6.1} kB gzip, {:>7.1} kB plain", kb(gzip), kb(plain));
        if name == "page" && gzip > GOAL_BYTES {
            println!("    The page is over its goal of {:.0} kB gzip.", kb(GOAL_BYTES));
        }
    }
    Ok(())
}

fn kb(bytes: u64) -> f64 {
    bytes as f64 / 1000.0
}
