//! A link that is made in slices is the one that is made at once.

use perftab_views::Query;
use perftab_views::transform::Transform;

use super::random_profile::{RandomProfile, random_profile};
use super::*;
use crate::density::part_of;

/// Makes it with so many rows a step; the steps that it took.
fn in_slices(
    made: &RandomProfile,
    options: &ShareOptions,
    link_cache: &mut LinkCache,
    rows: usize,
) -> (Result<EncodedSnapshot, TooSmall>, usize) {
    let mut builder = LinkBuilder::new(options);
    let mut before = 0;
    for steps in 1.. {
        match builder.step(&made.contents(), link_cache, rows) {
            LinkStep::Done(shared) => return (shared, steps),
            LinkStep::More { done, total } => {
                assert!(before < done && done <= total, "{before} {done} {total}");
                before = done;
            }
        }
    }
    unreachable!("it ends")
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
        for (rows, least_steps) in [(1_000, 21), (100_000, 1)] {
            let (shared, steps) = in_slices(&made, &options, &mut LinkCache::default(), rows);
            assert_eq!(shared, at_once, "{options:?}");
            assert!(steps >= least_steps, "{steps} steps");
        }
    }
}

#[test]
fn what_is_given_up_leaves_the_next_link_as_it_is() {
    let made = random_profile(5, 400);
    let mut kept = LinkCache::default();
    for options in part_of(all_options(), 3, "links") {
        for stopped in all_options() {
            let mut builder = LinkBuilder::new(&stopped);
            for _ in 0..10 {
                let _ = builder.step(&made.contents(), &mut kept, 2_000);
            }
        }
        let shared = in_slices(&made, &options, &mut kept, 50_000).0;
        assert_eq!(shared, encode(&made.contents(), &options), "{options:?}");
    }
}

#[test]
fn a_link_with_other_choices_takes_one_attempt() {
    let made = random_profile(7, 2_000);
    let mut kept = LinkCache::default();
    let of = |files| ShareOptions {
        characters: 3_000,
        privacy: Privacy { files, ..Privacy::default() },
        ..ShareOptions::default()
    };
    let (_, all) = in_slices(&made, &of(Disclosure::Included), &mut kept, 1_000);
    for files in [Disclosure::LeftOut, Disclosure::Included] {
        let (shared, steps) = in_slices(&made, &of(files), &mut kept, 1_000);
        let length = shared.unwrap().payload.len();
        assert!((2_910..=3_000).contains(&length), "{length} characters");
        assert!(steps < all / 2, "{steps} of {all} steps");
    }
}

#[test]
fn the_second_link_goes_on_from_what_the_first_was_made_of() {
    let made = random_profile(6, 400);
    let mut kept = LinkCache::default();
    let options = ShareOptions { characters: 1_500, ..ShareOptions::default() };
    let (_, first) = in_slices(&made, &options, &mut kept, 1_000);
    let (_, second) = in_slices(&made, &options, &mut kept, 1_000);
    assert!(second < first, "{second} steps, {first} the first time");
}
