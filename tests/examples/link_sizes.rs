//! How large links of recordings are, beside the plain encoding of what they hold: what
//! `cargo xtask bench links` prints. `link_sizes PAGE…`: pages saved with all of a recording in them.
//!
//! Nothing of times is written: the plain encoding has none.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use perftab_core::session::{Session, SharedLink};
use perftab_snapshot::{ShareOptions, Times, find};
use perftab_tests::links::sizes::{BUDGETS, LinkSizes, down_to, within};

/// Shares of the weight down to which every call node is kept.
const THRESHOLDS: [f64; 3] = [0.005, 0.001, 0.0005];

fn main() -> Result<()> {
    println!(
        "| recording | link of | call nodes | of all | weight kept | link | plain | of plain | CPU s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for page in std::env::args().skip(1) {
        let source = fs::read(&page).with_context(|| page.clone())?;
        let carried = find(&source).with_context(|| format!("{page} has no profile in it"))?;
        let session = Session::from_carried(carried)?;
        let name = Path::new(&page).file_stem().unwrap_or_default().to_string_lossy();
        for threshold in THRESHOLDS {
            let link = down_to(&session, threshold);
            let title = format!("all from {} %", threshold * 100.0);
            print_row(&name, &title, &session, &link, link.payload.len())?;
        }
        for budget in BUDGETS {
            let options = within(budget, Times::None);
            let link = session.share(&options)?;
            print_row(&name, &budget.to_string(), &session, &link, options.characters)?;
        }
    }
    Ok(())
}

fn print_row(
    name: &str,
    title: &str,
    session: &Session,
    link: &SharedLink,
    characters: usize,
) -> Result<()> {
    let options = ShareOptions { characters, ..within(0, Times::None) };
    let before = cpu_seconds()?;
    session.share(&options)?;
    let seconds = cpu_seconds()? - before;
    let compared = LinkSizes::new(&link.payload);
    let fidelity = compared.opened.fidelity;
    println!(
        "| {name} | {title} | {} | {} | {:.2} % | {} | {} | {:.1} % | {seconds:.2} |",
        fidelity.kept_nodes,
        fidelity.total_nodes,
        fidelity.kept_weight_share * 100.0,
        compared.link,
        compared.plain,
        compared.ratio() * 100.0,
    );
    Ok(())
}

/// Processor time of this thread, which is the only one.
fn cpu_seconds() -> Result<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: u64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds as f64 / 1e9)
}
