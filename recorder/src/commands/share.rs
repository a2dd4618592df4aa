//! `perftab share`: a link that holds the profile in its fragment, which no server ever sees.

use std::env;
use std::fmt::Write;
use std::path::Path;

use anyhow::{anyhow, bail};
use perftab_core::session::{FidelityInfo, ScanStep, Session, SharedLink};
use perftab_core::{NamingDepth, Query, ShareOptions, SharedPart, SharedTexts, Times, TooSmall};
use serde::Serialize;

use super::{filter, finish_named, read_named};
use crate::cli::{FilterArgs, InputArgs, LinkContentArgs, LinkTimes, NameArgs, ShareArgs};
use crate::debuginfod_client::is_http;
use crate::input::file_name;
use crate::output::{self, Outcome, Progress, Readers, Unit, counted, grouped, percent};
use crate::page;
use crate::place_texts;

/// Where no page is known. The name never resolves (RFC 2606), so nobody can claim it; every
/// perftab page opens the link when it is pasted there.
const NO_PAGE: &str = "https://perftab.invalid/";
/// Rows of samples between two looks at the clock.
pub const ROWS_OF_A_STEP: usize = 1 << 17;
/// Longer links are only known to open in Chromium.
const OPENS_ANYWHERE: usize = 65_536;

/// Everything that `perftab share --json` prints.
#[derive(Serialize)]
struct Json<'a> {
    link: &'a str,
    characters: usize,
    fidelity: FidelityInfo,
}

/// Writes the link; what it keeps goes to standard error.
pub fn run(args: &ShareArgs) -> anyhow::Result<Outcome> {
    let base = base(args.base.as_deref())?;
    output::refuse_input(&args.output, args.input.path())?;
    let mut session = read_named(&args.input, &args.images, NamingDepth::Inlined)?;
    let before_payload = base.chars().count() + 1;
    let options = ShareOptions {
        characters: (args.budget as usize).saturating_sub(before_payload),
        ..options(&session, &args.content, &args.filters, args.input.path())?
    };
    place_texts::read(&mut session, &options, args.input.path(), &args.images.images);
    let shared = make(&mut session, &options).map_err(|too_small| {
        let needed = grouped((before_payload + too_small.needed) as u64);
        anyhow!("it does not fit into {} characters; use --budget {needed} or more", args.budget)
    })?;
    if shared.fidelity.total_nodes == 0 {
        output::notice("no samples are left: the profile in the link is empty");
    }
    let characters = before_payload + shared.payload.len();
    let link = format!("{base}#{}", shared.payload);
    let text = match args.json {
        _ if args.list_texts => list(&shared.texts),
        true => {
            serde_json::to_string(&Json { link: &link, characters, fidelity: shared.fidelity })?
        }
        false => link,
    };
    output::write(&args.output, Readers::All, &[text.as_bytes(), b"\n"])?;
    if args.list_texts {
        return Ok(finish_named(&session));
    }
    let (length, budget) = (grouped(characters as u64), grouped(args.budget.into()));
    output::notice(format_args!("{length} characters of {budget}; {}", keeps(&shared.fidelity)));
    if base == NO_PAGE {
        output::notice(
            "this address has no page: paste the link into any perftab page, or name one with --base",
        );
    }
    if characters > OPENS_ANYWHERE {
        output::notice("only Chromium is known to open a link this long");
    }
    Ok(finish_named(&session))
}

/// After a recording: prints a link that keeps all of it, or writes a page beside the recording where that would be
/// longer than [`OPENS_ANYWHERE`].
pub fn after_recording(recording: &Path) -> anyhow::Result<()> {
    let base = base(None)?;
    let (input, images) = (InputArgs::of(recording.to_owned()), NameArgs::default());
    let mut session = read_named(&input, &images, NamingDepth::Inlined)?;
    let content = LinkContentArgs::default();
    let whole = options(&session, &content, &FilterArgs::default(), recording)?;
    let before_payload = base.chars().count() + 1;
    let characters = OPENS_ANYWHERE.saturating_sub(before_payload);
    let short = ShareOptions { characters, ..whole.clone() };
    match make(&mut session, &short) {
        Ok(shared) if shared.fidelity.kept_nodes == shared.fidelity.total_nodes => {
            if shared.fidelity.total_nodes == 0 {
                output::notice("no samples: there is nothing to share");
                return Ok(());
            }
            let link = format!("{base}#{}", shared.payload);
            output::write(Path::new("-"), Readers::All, &[link.as_bytes(), b"\n"])?;
            say_what_opens(&base, &shared.fidelity);
        }
        Ok(_) | Err(TooSmall { .. }) => {
            let mut page = recording.as_os_str().to_owned();
            page.push(".html");
            let page = Path::new(&page);
            let shared = make(&mut session, &whole)?;
            output::write(page, Readers::Owner, &[page::with_profile(&shared.payload).as_bytes()])?;
            output::notice(format_args!(
                "a link would be long: the page {} {}; open it in a browser, or send it",
                page.display(),
                keeps(&shared.fidelity)
            ));
        }
    }
    finish_named(&session);
    Ok(())
}

/// What a link keeps, and where it opens.
fn say_what_opens(base: &str, fidelity: &FidelityInfo) {
    output::notice(keeps(fidelity));
    if base == NO_PAGE {
        output::notice(
            "this address has no page: paste the link into any perftab page, or name one with $PERFTAB_BASE_URL",
        );
    }
}

/// Makes it, and says how far that is: of millions of samples it takes seconds.
pub fn make(session: &mut Session, options: &ShareOptions) -> Result<SharedLink, TooSmall> {
    let mut work = session.begin_share(options.clone());
    let mut progress = Progress::begin("Making the link", Unit::Parts, Some(0));
    loop {
        match work.step(session, ROWS_OF_A_STEP) {
            ScanStep::More { done, total } => progress.update_of(done, total),
            ScanStep::Done(made) => return made,
        }
    }
}

/// What of a profile is written into a link or page, as large as it gets.
pub fn options(
    session: &Session,
    content: &LinkContentArgs,
    filters: &FilterArgs,
    file: &Path,
) -> anyhow::Result<ShareOptions> {
    let times = match content.times {
        LinkTimes::None => Times::None,
        LinkTimes::Processes => Times::Processes,
        LinkTimes::Threads => Times::Threads,
        LinkTimes::Samples => Times::Samples,
    };
    let mut query = Query::default();
    filter::apply(filters, session, &mut query)?;
    let query = (!filters.is_empty()).then_some(query);
    let privacy = content.privacy.privacy();
    // Whoever passes a link on passes on what it is called.
    let known = || session.title().map(str::to_owned).or_else(|| file_name(file));
    let title = content.title.clone().or_else(known).unwrap_or_default();
    Ok(ShareOptions { query, times, privacy, title, ..ShareOptions::default() })
}

/// One text a line: what it is, a tab, the text, and what it was if it is called otherwise.
fn list(texts: &SharedTexts) -> String {
    let mut list = String::new();
    for SharedPart { part, texts, renamed } in &texts.parts {
        let mut renamed = renamed.iter().peekable();
        for (index, text) in (0..).zip(texts) {
            let _ = write!(list, "{}\t{text}", part.name());
            if let Some(renamed) = renamed.next_if(|it| it.index == index) {
                let _ = write!(list, "\twas {}", renamed.was);
            }
            list.push('\n');
        }
    }
    list.pop();
    list
}

/// What a link or page keeps of the profile, in one line.
pub fn keeps(fidelity: &FidelityInfo) -> String {
    let share = percent(fidelity.kept_weight_share, 1.0);
    let (kept, total) = (grouped(fidelity.kept_nodes), grouped(fidelity.total_nodes));
    let times = match fidelity.times {
        Times::Samples => "every sample, with its time",
        Times::Threads => "when each thread ran",
        Times::Processes => "when each process ran",
        Times::None => "no times",
    };
    if fidelity.kept_nodes == fidelity.total_nodes {
        let all = counted(fidelity.total_nodes, "call", "calls");
        return format!("keeps all {all}, and {times}");
    }
    let above = above(fidelity.threshold_share);
    format!(
        "keeps {share} of the weight, in {kept} of {total} calls (all those ≥ {above} and some \
         lighter ones; the others are folded into their callers), and {times}"
    )
}

/// The least hundredth of a percent that is larger than a threshold, so that what is true of all that is
/// above it stays true of all that is at least as said.
fn above(threshold: f64) -> String {
    format!("{:.2}\u{2009}%", ((threshold * 1e4).floor() + 1.0) / 100.0)
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
            times: Times::Processes,
        };
        let said = keeps(&fidelity);
        assert!(said.contains("96.2\u{2009}%") && said.contains("412 of 5,120"), "{said}");
        assert!(said.contains("all those ≥ 0.12\u{2009}%"), "{said}");
        assert_eq!(above(0.001_149), "0.12\u{2009}%");
        assert_eq!(above(0.0), "0.01\u{2009}%");
        assert!(said.ends_with("and when each process ran"), "{said}");
        fidelity.kept_nodes = 5_120;
        fidelity.times = Times::Samples;
        assert_eq!(keeps(&fidelity), "keeps all 5,120 calls, and every sample, with its time");
    }
}
