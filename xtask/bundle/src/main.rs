//! Binds and packs the WebAssembly for the page: `perftab-bundle PACKING IN.wasm OUT_DIR`.
//!
//! A package of its own because its libraries take long to compile: xtask runs it when a page is
//! bundled, and is itself there at once. Into OUT_DIR go the JavaScript and the types of the façade,
//! the bound WebAssembly, and the same in gzip. PACKING is `zopfli`, small and slow, or `gzip`.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use wasm_bindgen_cli_support::Bindgen;

/// How the WebAssembly is packed: gzip either way.
#[derive(Clone, Copy)]
enum Packing {
    /// 5 % smaller than `gzip -9`, in seconds. binaryen's wasm-opt was tried and is not used: at -O2
    /// to -Oz it takes 5 to 9 % off the plain file, and makes the packed one 1 to 4 % larger.
    Zopfli,
    /// In a fraction of a second, for tests.
    Gzip,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [packing, built, out_dir] = &arguments[..] else {
        bail!("usage: perftab-bundle zopfli|gzip IN.wasm OUT_DIR");
    };
    let packing = match &**packing {
        "zopfli" => Packing::Zopfli,
        "gzip" => Packing::Gzip,
        other => bail!("no packing is called {other}"),
    };
    let (built, out_dir) = (Path::new(built), Path::new(out_dir));
    bind(built, out_dir)?;
    let name = built.file_stem().context("the WebAssembly has no name")?.to_string_lossy();
    let bound = out_dir.join(format!("{name}_bg.wasm"));
    pack(&bound, packing).with_context(|| format!("packing {}", bound.display()))
}

/// wasm-bindgen as a library: its version is locked to the crate's, so they cannot disagree.
fn bind(built: &Path, out_dir: &Path) -> Result<()> {
    Bindgen::new()
        .input_path(built)
        .web(true)?
        .typescript(true)
        // The page hands in the bytes; there is no file beside it to fetch.
        .omit_default_module_path(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(out_dir)?;
    // Node takes the JavaScript for a module: tests import it from here, beside its WebAssembly.
    fs::write(out_dir.join("package.json"), "{ \"type\": \"module\" }\n")?;
    Ok(())
}

fn pack(bound: &Path, packing: Packing) -> Result<()> {
    let plain = fs::read(bound)?;
    let packed = File::create(bound.with_extension("wasm.gz"))?;
    match packing {
        Packing::Zopfli => {
            zopfli::compress(zopfli::Options::default(), zopfli::Format::Gzip, &plain[..], packed)?;
        }
        Packing::Gzip => {
            let mut encoder = GzEncoder::new(packed, Compression::default());
            encoder.write_all(&plain)?;
            encoder.finish()?;
        }
    }
    Ok(())
}
