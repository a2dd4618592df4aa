//! Links of real recordings: each is as long as it may be and no longer, has the numbers of the
//! recording, says truly what it holds, and is shorter than the plain encoding of it.

use std::sync::OnceLock;

use perftab_core::session::Session;
use perftab_perfdata::decode::SliceSource;
use perftab_snapshot::Times;
use perftab_tests::child_process::LimitedCommand;
use perftab_tests::folder::TestFolder;
use perftab_tests::links::calls::{check_fidelity, check_kept};
use perftab_tests::links::sizes::{BASE, BUDGETS, LinkSizes, down_to, within};
use perftab_tests::links::{Calls, crowd};
use perftab_tests::open::open_path;
use perftab_tests::tier::part_of;
use perftab_tests::{perftab_at, program};

/// Shares of the weight down to which every call node is kept.
const THRESHOLDS: [f64; 3] = [0.005, 0.001, 0.0005];
/// Hundredths of the plain encoding that a link may have at most.
const OF_PLAIN: usize = 75;
/// Hundredths of a budget that are used where there is more to keep.
const USED: usize = 97;

/// A recording of a program with a thousand functions, named by it.
fn recorded() -> Session {
    static FOLDER: OnceLock<TestFolder> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = TestFolder::new();
        let source = crowd::source(1_500);
        let program = program::compile(&folder, "crowd", "c0d0c0d0", &source);
        let status = perftab_at(&folder, &["record", "-q", "-g", "-F", "4999", "-o", "perf.data"])
            .arg("--")
            .arg(program)
            .exit_status();
        assert!(status.expect("perftab runs").success(), "perftab record fails");
        folder
    });
    let mut session = open_path(&folder.join("perf.data")).expect("it opens");
    let program = std::fs::read(folder.join("crowd")).expect("the program");
    session.admit("crowd", Box::new(SliceSource::new(program))).expect("the build recorded");
    session.name_all_frames();
    session
}

/// What to make: every length that has a name, those between them, each longer by the same factor,
/// and one that nobody named.
fn wanted() -> Vec<(usize, Times)> {
    let named = BUDGETS.map(|budget| (budget, Times::Samples));
    let factor = (BUDGETS[3] as f64 / BUDGETS[0] as f64).powf(1.0 / 11.0);
    let between = (0..12).map(|step| (BUDGETS[0] as f64 * factor.powi(step)) as usize);
    let between = between.chain([1_777]).map(|budget| (budget, Times::None));
    named.into_iter().chain(between).collect()
}

#[test]
fn a_link_of_any_length_is_full_exact_and_says_what_it_holds() {
    let session = recorded();
    let source = Calls::of(&session);
    let (mut links, mut folded) = (0, 0);
    for (budget, times) in part_of(wanted(), 5, "lengths") {
        let name = format!("{budget} characters, {times:?}");
        links += 1;
        let shared = session.share(&within(budget, times)).expect(&name);
        let length = BASE.len() + shared.payload.len();
        assert!(length <= budget, "{name}: {length}");
        let link = Session::from_snapshot(&shared.payload).expect(&name);
        let fidelity = link.fidelity().expect("a link");
        assert_eq!(fidelity.kept_nodes, shared.fidelity.kept_nodes, "{name}");
        let opened = Calls::of(&link);
        check_fidelity(&name, &fidelity, &opened, &source);
        check_kept(&name, fidelity.threshold_share, &opened, &source);
        let (kept, total) = (fidelity.kept_nodes, fidelity.total_nodes);
        println!("{name}: {length} used for {kept} of {total} calls");
        if kept < total {
            assert!(length * 100 >= budget * USED, "{name}: {length} used");
            folded += 1;
        }
    }
    assert!(2 * folded + 1 >= links, "{folded} of {links} had to leave calls out");
}

#[test]
#[ignore = "left to --all: makes each link many times"]
fn a_link_is_shorter_than_the_plain_encoding_of_what_it_holds() {
    let session = recorded();
    let of_budgets = BUDGETS.map(|budget| {
        let link = session.share(&within(budget, Times::None)).expect("it fits");
        (format!("{budget} characters"), link.payload)
    });
    let of_thresholds = THRESHOLDS.map(|threshold| {
        let link = down_to(&session, threshold);
        assert!(link.fidelity.threshold_share <= threshold);
        (format!("all from {threshold}"), link.payload)
    });
    for (name, payload) in of_budgets.into_iter().chain(of_thresholds) {
        let compared = LinkSizes::new(&payload);
        let LinkSizes { link, plain, .. } = compared;
        println!("{name}: {link} of {plain} characters");
        assert!(link * 100 <= plain * OF_PLAIN, "{name}: {link} of {plain} characters");
    }
}
