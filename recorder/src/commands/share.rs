//! `perftab share`: a link that holds the profile in its fragment, which no server ever sees.

use std::env;
use std::io::Write;

use anyhow::{anyhow, bail};
use perftab_core::session::{FidelityInfo, ShareOptions};
use perftab_core::snapshot::{HostFields, Paths};
use perftab_core::symbolize::NamingDepth;

use super::{finish_named, read_named};
use crate::cli::ShareArgs;
use crate::debuginfod_client::is_http;
use crate::output::{self, Outcome, Results, grouped, percent};

/// Where no page is known. The name never resolves (RFC 2606), so nobody can claim it; every
/// perftab page opens the link when it is pasted there.
const NO_PAGE: &str = "https://perftab.invalid/";
/// Longer links are only known to open in Chromium.
const OPENS_ANYWHERE: usize = 65_536;

/// Prints the link; what it keeps goes to standard error.
pub fn run(args: &ShareArgs) -> anyhow::Result<Outcome> {
    let base = base(args.base.as_deref())?;
    let session = read_named(&args.input, &args.images, NamingDepth::Inlined)?;
    let before_payload = base.chars().count() + 1;
    let options = ShareOptions {
        characters: (args.budget as usize).saturating_sub(before_payload),
        paths: Paths::Names,
        host: HostFields::None,
    };
    let shared = session.share(&options).map_err(|too_small| {
        let needed = grouped((before_payload + too_small.needed) as u64);
        anyhow!("no link of {} characters can hold it; give --budget {needed} or more", args.budget)
    })?;
    let characters = before_payload + shared.payload.len();

    let mut results = Results::new();
    writeln!(results, "{base}#{}", shared.payload)?;
    results.flush()?;
    let (length, budget) = (grouped(characters as u64), grouped(args.budget.into()));
    output::notice(format_args!("{length} characters of {budget}; {}", keeps(&shared.fidelity)));
    if base == NO_PAGE {
        output::notice(
            "no page is at this address: paste the link into any perftab page, or name one with --base",
        );
    }
    if characters > OPENS_ANYWHERE {
        output::notice("only Chromium is known to open a link this long");
    }
    Ok(finish_named(&session))
}

/// What a link or page keeps of the profile, in one line.
pub fn keeps(fidelity: &FidelityInfo) -> String {
    let share = percent(fidelity.kept_weight_share, 1.0);
    let (kept, total) = (grouped(fidelity.kept_nodes), grouped(fidelity.total_nodes));
    if fidelity.kept_nodes == fidelity.total_nodes {
        return format!("all {total} calls are kept");
    }
    let threshold = format!("{:.2}\u{2009}%", fidelity.threshold_share * 100.0);
    format!(
        "keeps {share} of the weight under its own name, in {kept} of {total} calls; \
         calls under {threshold} are folded into their callers"
    )
}

/// The page that the link names: `--base`, else `$PERFTAB_BASE_URL`.
fn base(named: Option<&str>) -> anyhow::Result<String> {
    let from_environment = env::var("PERFTAB_BASE_URL").ok().filter(|url| !url.is_empty());
    let base = named.map(str::to_owned).or(from_environment).unwrap_or_else(|| NO_PAGE.to_owned());
    if !is_http(&base) || base.contains(char::is_whitespace) || base.contains(char::is_control) {
        bail!("{base} is not the http or https URL of a page");
    }
    // A link copied from a page that shows another profile.
    Ok(base.split_once('#').map_or(base.clone(), |(page, _)| page.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_a_page() {
        let given = |text| base(Some(text)).map_err(|error| error.to_string());
        assert_eq!(given("https://host/a").as_deref(), Ok("https://host/a"));
        assert_eq!(given("https://host/a#p1.x").as_deref(), Ok("https://host/a"));
        for wrong in ["javascript:alert(1)", "host", "", "http://a b/", "http://a\nb/"] {
            assert!(given(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn fidelity_is_said_in_one_line() {
        let mut fidelity = FidelityInfo {
            kept_nodes: 412,
            total_nodes: 5_120,
            kept_weight_share: 0.962,
            threshold_share: 0.0011,
            folded_weight: 38,
            kept_dsos: 10,
            total_dsos: 38,
        };
        let said = keeps(&fidelity);
        assert!(said.contains("96.2\u{2009}%") && said.contains("412 of 5,120"), "{said}");
        assert!(said.contains("0.11\u{2009}%"), "{said}");
        fidelity.kept_nodes = 5_120;
        assert_eq!(keeps(&fidelity), "all 5,120 calls are kept");
    }
}
