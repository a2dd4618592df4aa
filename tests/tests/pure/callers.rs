//! Functions with what called them: all ways, or the heaviest of them in the memory that they may take.

use perftab_core::session::{Caller, CallersExtent};
use perftab_tests::fixtures::recordings;
use perftab_tests::open::{open_parts, read_parts};
use perftab_views::Query;

/// A call with the calls that it was reached by, innermost first, and its weight.
type Call = (Vec<(Option<String>, Option<String>)>, u64);

fn calls(callers: &[Caller]) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut open: Vec<(Vec<_>, &Caller)> = callers.iter().map(|it| (Vec::new(), it)).collect();
    while let Some((mut way, caller)) = open.pop() {
        way.push((caller.name.clone(), caller.address.clone()));
        open.extend(caller.callers.iter().map(|it| (way.clone(), it)));
        calls.push((way, caller.weight));
    }
    calls
}

#[test]
fn callers_are_the_heaviest_of_all_that_fit_into_memory() {
    let mut cut = 0;
    for path in recordings() {
        let parts = read_parts(&path);
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let Ok(mut session) = open_parts(&parts, 1 << 20) else { continue };
        let query = Query::default();
        let whole = session.callers(&query, usize::MAX, usize::MAX);
        assert_eq!(whole.extent, CallersExtent::Whole);
        let all = calls(&whole.functions);
        for most in [0, 1000, 100_000] {
            let some = session.callers(&query, usize::MAX, most);
            let kept = calls(&some.functions);
            assert!(kept.len() * size_of::<Caller>() <= most, "{}", path.display());
            let lightest = kept.iter().map(|call| call.1).min().unwrap_or(u64::MAX);
            let heavier = all.iter().filter(|call| call.1 > lightest).count();
            assert!(heavier <= kept.len(), "{}: a heavier call is left out", path.display());
            assert!(kept.iter().all(|call| all.contains(call)), "{}", path.display());
            match some.extent {
                CallersExtent::Whole => assert_eq!(some, whole, "{}", path.display()),
                CallersExtent::Heaviest => {
                    assert!(kept.len() < all.len(), "{}", path.display());
                    cut += 1;
                }
            }
        }
    }
    assert!(cut > 10, "{cut} were cut");
}
