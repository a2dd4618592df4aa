//! Binds and packs the WebAssembly for the page: `perftab-bundle IN.wasm OUT_DIR`. `perftab-bundle lzma` packs
//! what it reads, for the page's script, worker and style sheet.
//!
//! A package of its own because its libraries take long to compile: xtask runs it when a page is
//! bundled, and is itself there at once. Into OUT_DIR go the JavaScript and the types of the façade,
//! the bound WebAssembly, and the same packed, which the page's worker unpacks.
#![forbid(unsafe_code)]

mod order;

use anyhow::{Context, Result, bail, ensure};
use lzma_rust2::{LzmaOptions, LzmaWriter};
use perftab_streams::Stream;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [built, out_dir] => bundle(Path::new(built), Path::new(out_dir)),
        ["lzma"] => pack_input(),
        _ => bail!("usage: perftab-bundle IN.wasm OUT_DIR | lzma"),
    }
}

fn bundle(built: &Path, out_dir: &Path) -> Result<()> {
    bind(built, out_dir)?;
    let name = built.file_stem().context("the WebAssembly has no name")?.to_string_lossy();
    let bound = out_dir.join(format!("{name}_bg.wasm"));
    fs::write(&bound, order::by_name(&fs::read(&bound)?)?)?;
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
        // By them functions are put in order, which drops them.
        .remove_name_section(false)
        .remove_producers_section(true)
        .generate(out_dir)?;
    // Node takes the JavaScript for a module: tests import it from here, beside its WebAssembly.
    fs::write(out_dir.join("package.json"), "{ \"type\": \"module\" }\n")?;
    Ok(())
}

/// The size of the module, then each of its streams in LZMA, with the size of that before it.
///
/// Of 2,206 kB this leaves 576. A module of 2,170 kB was 648 as a whole in LZMA, 674 in brotli, 848 in gzip; zpaq
/// left 559, in seconds. Streams of whole instructions took off 53 kB, the tables that the page knows 23, constants by
/// their length 3. Of the 2,206 kB, distances between offsets take off 7, opcodes that tell alignments and blocks
/// without type 5, variables and constants by the instruction that follows 4 and 2, long constants in four bytes 2,
/// labels by the instruction that they are of 1. Models of our own, which mix five contexts for each bit, left more
/// than LZMA of the streams does, and would take as long as zpaq; with 14 contexts they left 4 % less than it. Odds
/// that move faster at first left as much. Nothing was gained by other streams: 64-bit constants or called functions
/// by themselves, distances between constants or labels, variables that are set; nor by numbering variables as they are
/// met or by how lately they were used, by opcodes whose upper bits tell more apart, or by those for pairs of others.
///
/// binaryen's wasm-opt was tried in front of it and is not used: -Os takes 6 % off the plain file, and adds
/// 1 % to the packed one; its order of functions adds 1.5 %, other passes alone change less than 1 %.
fn pack(bound: &Path) -> Result<()> {
    let module = fs::read(bound)?;
    let mut packed = u32::try_from(module.len())?.to_le_bytes().to_vec();
    let streams = perftab_streams::split(&module)?;
    let joined = perftab_streams::join(&streams, module.len())?;
    ensure!(joined == module, "the streams are not those of the module");
    for (kind, stream) in Stream::ALL.into_iter().zip(streams) {
        let known = matches!(kind, Stream::Rest).then(perftab_streams::known_tables);
        let stream = lzma(&stream, kind.context_bits(), known)?;
        packed.extend(u32::try_from(stream.len())?.to_le_bytes());
        packed.extend(stream);
    }
    fs::write(bound.with_extension("wasm.packed"), packed)?;
    Ok(())
}

/// From standard input to standard output: the page's script, worker and style sheet.
fn pack_input() -> Result<()> {
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text)?;
    io::stdout().write_all(&lzma(&text, 3, None)?)?;
    Ok(())
}

/// As `xz --format=lzma` does, which knows nothing before it begins.
fn lzma(plain: &[u8], context_bits: u32, known: Option<Vec<u8>>) -> Result<Vec<u8>> {
    let mut options = LzmaOptions::with_preset(9);
    // The page reads no other `lp` and `pb`; nothing here is aligned.
    (options.lc, options.lp, options.pb) = (context_bits, 0, 0);
    options.dict_size = 1 << 22;
    options.nice_len = LzmaOptions::NICE_LEN_MAX;
    options.preset_dict = known;
    let mut header = vec![options.get_props()];
    header.extend(options.dict_size.to_le_bytes());
    header.extend((plain.len() as u64).to_le_bytes());
    let mut writer = LzmaWriter::new_no_header(header, &options, false)?;
    writer.write_all(plain)?;
    Ok(writer.finish()?)
}
