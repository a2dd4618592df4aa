//! Writes a recording of very many samples: what views are measured with where a real one of the size
//! takes too long to make. `many_samples OUT [SAMPLES [DEPTH]]`.
//!
//! A minute of eight CPUs; forty processes, whose stacks share their outermost functions and branch
//! towards the leaves, so that there are about a hundred thousand call nodes. What runs changes with
//! time, as a range that is dragged is to show. It has no names: each function is an address.

use std::fs;

use anyhow::{Context, Result};
use perf_event_open_sys::bindings as kernel;
use perftab_tests::synth::{
    At, Attr, Event, MappedFile, Mapping, Order, Recording, SAMPLE_TYPE, Sample, context,
};

/// `PERF_RECORD_FINISHED_ROUND` of perf.
const FINISHED_ROUND: u32 = 68;
const USER: u16 = kernel::PERF_RECORD_MISC_USER as u16;
const MINUTE: u64 = 60_000_000_000;
const CPUS: u64 = 8;
const PROCESSES: u64 = 40;
/// Functions that a function calls, near the root and near the leaves.
const CALLEES: u64 = 3;
const CODE: u64 = 0x1000_0000;

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let out = words.next().context("name a file to write")?;
    let samples: u64 = words.next().map_or(Ok(10_000_000), |word| word.parse())?;
    let depth: u64 = words.next().map_or(Ok(8), |word| word.parse())?;
    let attr = Attr::new(kernel::PERF_TYPE_SOFTWARE, 0, SAMPLE_TYPE);
    let mut it = Recording::new(Order::Little, vec![Event::new(0, "cpu-clock", attr, 1)]);
    it.feature_string(3, "host").nr_cpus(CPUS as u32, CPUS as u32);
    for number in 0..PROCESSES {
        let (pid, tid) = (100 + number as u32, 100 + number as u32);
        let at = At { pid, tid, time: 1, ..At::default() };
        it.comm(at, 0, &format!("worker-{number}"));
        let addresses = CODE..CODE + 0x1000_0000;
        let file = MappedFile::Inode(8, 1, 5, 0);
        let path = "/opt/service/bin/service";
        let mapping = Mapping { misc: USER, pid, tid, addresses, offset: 0, file, path };
        it.mmap2(at, &mapping);
    }
    let mut numbers = Numbers(7);
    for number in 0..samples {
        if number % 10_000 == 0 {
            it.record(FINISHED_ROUND, 0, &[]);
        }
        let time = 1_000 + number * MINUTE / samples;
        // One process after the other has its busy second.
        let busy = time * PROCESSES / MINUTE;
        let process = if numbers.below(2) == 0 { busy } else { numbers.below(PROCESSES) };
        let id = 100 + (process % PROCESSES) as u32;
        let mut chain = vec![context::USER];
        let mut function = 1;
        let mut way = vec![function];
        for level in 0..depth {
            // Some are called far more often than others.
            let callee = numbers.below(CALLEES).min(numbers.below(CALLEES));
            function = function * CALLEES + callee + level % 2;
            way.push(function);
        }
        let address = |function: &u64| CODE + 0x10 + function % 0x80_0000 * 16;
        chain.extend(way.iter().rev().map(address));
        it.sample(
            0,
            &Sample {
                misc: USER,
                ip: chain[1],
                pid: id,
                tid: id,
                time,
                cpu: numbers.below(CPUS) as u32,
                period: 4_000_000,
                chain,
                ..Sample::default()
            },
        );
    }
    fs::write(out, it.file())?;
    Ok(())
}
