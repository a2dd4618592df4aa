//! A link that is made in slices is the one that is made at once.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use perftab_perfdata::slice::in_slices_of;
use perftab_profile::{
    DsoKind, Event, EventId, Frame, MappedFrom, Process, Sample, Stacks, Thread,
};
use perftab_views::Query;
use perftab_views::transform::Transform;

use super::random_profile::{RandomProfile, random_profile};
use super::*;
use crate::density::part_of;

/// Makes it in slices of so many rows, but in no more slices than these; and those that it took.
fn in_slices(
    made: &RandomProfile,
    options: &ShareOptions,
    tools: &LinkTools,
    rows: usize,
    most: usize,
) -> (Option<Result<EncodedSnapshot, TooSmall>>, usize) {
    let mut slices = 0;
    let shared = in_slices_of(rows, async |slice| {
        let mut work = pin!(async {
            let contents = made.contents();
            let context = LinkContext::of(&contents, &LinkKey::of(options), slice).await;
            link(&contents, options, &context, tools, slice).await
        });
        poll_fn(|cx| {
            slices += 1;
            match work.as_mut().poll(cx) {
                Poll::Pending if slices == most => Poll::Ready(None),
                step => step.map(Some),
            }
        })
        .await
    });
    (shared, slices)
}

/// All of it with what was kept of those before.
fn whole(
    made: &RandomProfile,
    options: &ShareOptions,
    tools: &LinkTools,
    rows: usize,
) -> (Result<EncodedSnapshot, TooSmall>, usize) {
    let (shared, slices) = in_slices(made, options, tools, rows, usize::MAX);
    (shared.expect("it ends"), slices)
}

/// What differs from link to link, and of it what they are made of. Each has a budget of its own if it has
/// one: a search begins where one for the same budget has ended.
fn all_options() -> Vec<ShareOptions> {
    let hidden = Privacy { own_functions: Disclosure::LeftOut, ..Privacy::default() };
    let bare = Privacy { addresses: Disclosure::LeftOut, ..Privacy::default() };
    let query = Query { steps: vec![Transform::CollapseRecursion], ..Query::default() };
    let whole = ShareOptions::default();
    vec![
        ShareOptions { characters: 1_500, ..whole.clone() },
        ShareOptions { privacy: hidden.clone(), characters: 1_600, ..whole.clone() },
        ShareOptions { privacy: hidden, times: Times::None, ..whole.clone() },
        ShareOptions { privacy: bare, characters: 3_000, ..whole.clone() },
        ShareOptions { query: Some(query), characters: 2_000, ..whole.clone() },
        ShareOptions { characters: 10, ..whole.clone() },
        whole,
    ]
}

#[test]
fn slices_make_the_same_link() {
    let seeds = [3, 4].into_iter();
    let links =
        seeds.flat_map(|seed| all_options().into_iter().map(move |options| (seed, options)));
    for (seed, options) in part_of(links, 4, "links") {
        let made = random_profile(seed, 400);
        let at_once = encode(&made.contents(), &options);
        for (rows, least_slices) in [(1_000, 21), (100_000, 1)] {
            let (shared, slices) = whole(&made, &options, &LinkTools::default(), rows);
            assert_eq!(shared, at_once, "{options:?}");
            assert!(slices >= least_slices, "{slices} slices");
        }
    }
}

#[test]
fn what_is_given_up_leaves_the_next_link_as_it_is() {
    let made = random_profile(5, 400);
    let tools = LinkTools::default();
    for options in part_of(all_options(), 3, "links") {
        for stopped in all_options() {
            for slices in [10, 20, 40] {
                in_slices(&made, &stopped, &tools, 2_000, slices);
            }
        }
        let shared = whole(&made, &options, &tools, 50_000).0;
        assert_eq!(shared, encode(&made.contents(), &options), "{options:?}");
    }
}

#[test]
fn a_link_with_other_choices_takes_one_attempt() {
    let made = random_profile(7, 2_000);
    let tools = LinkTools::default();
    let of = |files| ShareOptions {
        characters: 3_000,
        privacy: Privacy { files, ..Privacy::default() },
        ..ShareOptions::default()
    };
    let (_, all) = whole(&made, &of(Disclosure::Included), &tools, 1_000);
    for files in [Disclosure::LeftOut, Disclosure::Included] {
        let (shared, slices) = whole(&made, &of(files), &tools, 1_000);
        let length = shared.unwrap().payload.len();
        assert!((2_910..=3_000).contains(&length), "{length} characters");
        assert!(slices < all / 2, "{slices} of {all} slices");
    }
}

/// No link tells of so many DSOs, however long it may be.
#[test]
fn what_nobody_could_read_is_not_attempted_without_end() {
    let mut profile = Profile::default();
    let name = profile.strings.intern("app");
    let process = profile.threads.add_process(Process { pid: 1, name });
    let thread = profile.threads.add_thread(Thread { process, tid: 1, name });
    let count = MAX_DSOS as u64 + 3;
    profile.events.push(Event { samples: count, weight: count, ..Event::default() });
    for number in 0..count {
        let path = format!("/{number}");
        let dso = profile.dsos.intern(&path, DsoKind::User, MappedFrom::Nothing, None);
        let frame = profile.frames.intern(Frame { dso, address: 0x1000 });
        let stack = profile.stacks.intern(Stacks::EMPTY, frame);
        let (event, cpu, weight) = (EventId(0), 0, 1);
        profile.samples.push(Sample { time_nanos: 1 + number, thread, stack, event, cpu, weight });
    }
    let (symbols, ledger) = (Symbols::new(&profile), Ledger::new(&profile.dsos));
    let facts = Facts::of(&profile);
    let contents = Contents {
        profile: &profile,
        symbols: &symbols,
        ledger: &ledger,
        facts: &facts,
        warnings: &[],
    };
    let made = encode(&contents, &ShareOptions::default()).expect("no limit");
    assert_eq!(decode(&made.payload).expect("it opens").fidelity, made.fidelity);
}
