//! Binds and packs the WebAssembly for the page: `perftab-bundle IN.wasm OUT_DIR`.
//!
//! A package of its own because its libraries take long to compile: xtask runs it when a page is
//! bundled, and is itself there at once. Into OUT_DIR go the JavaScript and the types of the façade,
//! the bound WebAssembly, and the same in LZMA, which the page's worker unpacks.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, bail};
use lzma_rust2::{LzmaOptions, LzmaWriter};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [built, out_dir] = &arguments[..] else {
        bail!("usage: perftab-bundle IN.wasm OUT_DIR");
    };
    let (built, out_dir) = (Path::new(built), Path::new(out_dir));
    bind(built, out_dir)?;
    let name = built.file_stem().context("the WebAssembly has no name")?.to_string_lossy();
    let bound = out_dir.join(format!("{name}_bg.wasm"));
    pack(&bound).with_context(|| format!("packing {}", bound.display()))
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

/// As `xz --format=lzma` does, in a second.
///
/// Of 2,170 kB this leaves 648, gzip 848. binaryen's wasm-opt was tried in front of it and is not
/// used: -Oz and -Os take 10 % off the plain file, and add 8 % to the packed one, as does inlining alone.
/// Merging similar functions takes 14 % off the plain one and adds 1 % to the packed one; other passes
/// alone change less than 1 %. Packing opcodes, locals, offsets and so on each by itself takes off 5 %,
/// for which the page would have to know the whole instruction set.
fn pack(bound: &Path) -> Result<()> {
    let plain = fs::read(bound)?;
    let mut options = LzmaOptions::with_preset(9);
    // The page reads no other `lp` and `pb`; instructions of WebAssembly are not aligned.
    (options.lc, options.lp, options.pb) = (4, 0, 0);
    options.dict_size = 1 << 22;
    options.nice_len = LzmaOptions::NICE_LEN_MAX;
    let packed = BufWriter::new(File::create(bound.with_extension("wasm.lzma"))?);
    let mut writer = LzmaWriter::new_use_header(packed, &options, Some(plain.len() as u64))?;
    writer.write_all(&plain)?;
    writer.finish()?.flush()?;
    Ok(())
}
