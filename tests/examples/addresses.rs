//! Writes a recording with a sample at each of many addresses of this very program, and a file with these
//! addresses as `addr2line` reads them: what naming is measured with. `addresses OUT.data OUT.txt [COUNT]`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use perftab_images::Image;
use perftab_perfdata::decode::SliceSource;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::fixtures::story;
use perftab_tests::synth::{MappedFile, Mapping, Order, Recording, context};

const START: u64 = 0x5555_5555_0000;
const PAGE: u64 = 0x1000;

fn main() -> Result<()> {
    // All of core, so that it is a large program.
    std::hint::black_box(perftab_tests::open::open_path as fn(_) -> _);
    let mut words = std::env::args().skip(1).map(PathBuf::from);
    let mut next = |what| words.next().context(what);
    let (recording, text) = (next("name a recording to write")?, next("name a text to write")?);
    let count: u64 = words.next().map_or(Ok(10_000), |word| word.to_string_lossy().parse())?;

    let program = std::env::current_exe()?;
    let bytes = SliceSource::new(fs::read(&program)?);
    let image = Image::open("itself", Box::new(bytes)).map_err(|_| anyhow::anyhow!("no image"))?;
    let id = image.build_id().context("it was linked without a build-id")?;
    let code = image.section_range(".text").context("it has no code")?;
    let address = address_of_text(&program)?;
    let first = code.start & !(PAGE - 1);
    let mut it = Recording::new(Order::Little, story::usual_events());
    let mapping = Mapping {
        misc: 2,
        pid: 10,
        tid: 10,
        addresses: START..START + (code.end - first).next_multiple_of(PAGE),
        offset: first,
        file: MappedFile::BuildId(id.as_bytes()),
        path: program.to_str().context("its path is not UTF-8")?,
    };
    it.mmap2(story::at(10, 1_000, 0), &mapping);
    let mut addresses = String::new();
    let step = (code.end - code.start) / count;
    ensure!(step > 0, "it has less code than that");
    for number in 0..count {
        let offset = number * step;
        let chain = [context::USER, START + (code.start - first) + offset];
        it.sample(0, &story::sample(story::at(10, 2_000 + number, 0), 100, 1, &chain));
        addresses.push_str(&format!("{:#x}\n", address + offset));
    }
    it.round();
    fs::write(recording, it.file())?;
    Ok(fs::write(text, addresses)?)
}

/// By `readelf`, whose output is `[15] .text PROGBITS ADDRESS …`.
fn address_of_text(program: &std::path::Path) -> Result<u64> {
    let output = Command::new("readelf").args(["-SW"]).arg(program).ended()?;
    let listing = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = listing.lines().find_map(|line| line.split_once("] .text "));
    let (_, fields) = line.context("readelf lists no code")?;
    let address = fields.split_whitespace().nth(1).context("readelf lists no address")?;
    Ok(u64::from_str_radix(address, 16)?)
}
