//! What linux-perf-data takes to parse a recording and to put its samples in order: the peer that
//! `cargo xtask bench ingest` measures reading against.

use std::fs::File;
use std::io::BufReader;

use anyhow::{Context, Result, anyhow};
use linux_perf_data::linux_perf_event_reader::EventRecord;
use linux_perf_data::{PerfFileReader, PerfFileRecord};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).context("name a recording")?;
    let file = BufReader::with_capacity(1 << 18, File::open(path)?);
    let error = |error: linux_perf_data::Error| anyhow!("{error}");
    let PerfFileReader { mut perf_file, mut record_iter } =
        PerfFileReader::parse_file(file).map_err(error)?;
    let (mut samples, mut words) = (0u64, 0u64);
    while let Some(record) = record_iter.next_record(&mut perf_file).map_err(error)? {
        let PerfFileRecord::EventRecord { record, .. } = record else { continue };
        if let EventRecord::Sample(sample) = record.parse()? {
            samples += 1;
            words += sample.callchain.map_or(0, |chain| chain.len() as u64);
        }
    }
    println!("{samples} samples, {words} words of call chains");
    Ok(())
}
