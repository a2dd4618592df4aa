//! The page, as one file and as a site, and the binary that carries it.

use crate::bench::Row;
use crate::finish::Finish;
use crate::packages::{self, Missing};
use crate::steps::{output, quiet, root, run, step, step_once};
use crate::{npm, steps, wasm};
use anyhow::{Context, Result, anyhow};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What of the page a first graph needs, as it is sent, in gzip, WebAssembly included: the goal.
const GOAL_BYTES: u64 = 700_000;

#[derive(Args, Default)]
pub struct BuildOptions {
    /// Where the standard library for wasm32 comes from [default: what is there, else rustup, else
    /// Debian]
    #[arg(long, value_enum)]
    wasm_std: Option<wasm::Std>,
}

#[derive(Args)]
pub struct BuildCommand {
    /// How much work goes into it
    #[arg(long, value_enum, default_value_t = Finish::Shipped)]
    pub finish: Finish,
    #[command(flatten)]
    pub options: BuildOptions,
}

/// The page, built.
pub struct Page {
    /// The page in one file.
    pub html: PathBuf,
    /// The folder with what a static host serves.
    pub site: PathBuf,
    /// The WebAssembly, with its JavaScript beside it.
    pub wasm: PathBuf,
}

/// Sees to what building the page needs.
pub fn ensure(options: &BuildOptions) -> Result<wasm::Std, Missing> {
    let missing = packages::ensure(packages::BUILD);
    if missing.is_nothing() { wasm::ensure_std(options.wasm_std) } else { Err(missing) }
}

/// Builds the page, which needs Node and no more.
///
/// The quick one is for tests: the same page around WebAssembly that is hardly optimised. What each
/// makes lies apart, and neither undoes what the other did.
pub fn site(finish: Finish, options: &BuildOptions) -> Result<Page> {
    let std = ensure(options).map_err(|missing| anyhow!("the page cannot be built: {missing}"))?;
    npm::install()?;
    let modules = wasm::build(finish, std)?;
    check_types(finish)?;
    let wasm = modules.facade.wasm.clone();
    let page = Page { html: finish.page(), site: finish.folder("site"), wasm };
    bundle(finish, &modules, &page)?;
    println!("    {}", page.site.display());
    Ok(page)
}

/// Builds the page, and the binary that carries it; gives the path of the binary.
pub fn build(finish: Finish, options: &BuildOptions) -> Result<PathBuf> {
    site(finish, options)?;
    build_binary(finish)
}

/// Builds the binary, with the page of this finish inside if it was built, and else with a page that
/// says that it was not.
///
/// [`Finish::Shipped`] is what users get: `target/release/perftab`. [`Finish::Quick`] is for tests: a
/// debug build, `target/debug/perftab`. Nothing has to be set for `cargo test` and the like to keep
/// the same page: a debug build finds it by itself (`recorder/build.rs`).
pub fn build_binary(finish: Finish) -> Result<PathBuf> {
    let (profile, folder) = finish.binary_profile();
    step("Build the binary", || {
        run(steps::cargo()
            .arg("build")
            .args(quiet())
            .args(["--locked", "--package=perftab", "--profile"])
            .arg(profile))
    })?;
    let binary = built_to()?.join(folder).join("perftab");
    println!("    {}", binary.display());
    Ok(binary)
}

/// The folder that Cargo builds to, which it may have been told to have elsewhere than in `target`.
pub fn built_to() -> Result<PathBuf> {
    let metadata = output(steps::cargo().args(["metadata", "--no-deps", "--format-version=1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    Ok(metadata["target_directory"].as_str().context("cargo metadata")?.into())
}

/// TypeScript, strict. One run for each world: page, worker and tests have different globals.
fn check_types(finish: Finish) -> Result<()> {
    let www = root().join("www");
    let inputs = ["src", "test", "tsconfig.json", "tsconfig.base.json", "package-lock.json"]
        .map(|name| www.join(name));
    let inputs = inputs.each_ref().map(PathBuf::as_path);
    step_once(&finish.name("tsc"), "Check the types of the page", &inputs, &[], || {
        for project in [".", "src/worker", "test"] {
            let tsc = "node_modules/.bin/tsc";
            run(Command::new(www.join(tsc)).args(["--project", project]).current_dir(&www))?;
        }
        Ok(())
    })
}

fn bundle(finish: Finish, modules: &wasm::Modules, page: &Page) -> Result<()> {
    let www = root().join("www");
    let inputs = ["src", "sample", "site", "index.html", "build.mjs", "package-lock.json"]
        .map(|name| www.join(name));
    let mut inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    let wasm::Modules { facade, images, listing } = modules;
    inputs.extend([&*facade.packed, &images.packed, &listing.packed]);
    let index = page.site.join("index.html");
    let outputs = [&*page.html, &index];
    step_once(&finish.name("page"), "Bundle the page into one file", &inputs, &outputs, || {
        let command = ["build.mjs", "page"];
        let parts = [&page.html, &facade.packed, &images.packed, &listing.packed, &page.site];
        let sizes = output(npm::node().args(command).args(parts))?;
        report(finish, &sizes)
    })
}

/// Prints `size NAME PACKED PLAIN` lines for people.
fn report(finish: Finish, sizes: &str) -> Result<()> {
    for line in sizes.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let ["size", name, packed, plain] = words[..] else { continue };
        let (packed, plain): (u64, u64) = (packed.parse()?, plain.parse()?);
        println!("    {name:9} {:>6.1} kB packed, {:>7.1} kB plain", kb(packed), kb(plain));
        if finish == Finish::Shipped && name == "first" && packed > GOAL_BYTES {
            println!(
                "    What a first graph needs is over its goal of {:.0} kB gzip.",
                kb(GOAL_BYTES)
            );
        }
    }
    Ok(())
}

/// The size of what a first graph needs of the page that was built, and the goal.
pub fn goal() -> Result<Row> {
    let gzip = "
        const html = require('fs').readFileSync(process.argv[1], 'utf8');
        const first = html.slice(0, html.indexOf('id=\"sample\"'));
        console.log(require('zlib').gzipSync(first, { level: 9 }).length)";
    let page = Finish::Shipped.page();
    let bytes: u64 = output(npm::node().args(["-e", gzip]).arg(page))?.trim().parse()?;
    Ok(Row::number(
        "page in gzip up to what a first graph needs, WebAssembly included",
        kb(bytes),
        kb(GOAL_BYTES),
        "kB",
    ))
}

fn kb(bytes: u64) -> f64 {
    bytes as f64 / 1000.0
}
