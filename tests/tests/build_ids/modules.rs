//! Kernel modules: packed, out of tree, loaded, unloaded and replaced while recorded, in a guest
//! whose kernel has some.

use perftab_tests::guest::{Guest, Snapshot};

#[test]
fn b07_modules_that_run_already_are_recorded_with_their_ids() {
    let Some(guest) = Guest::get("b07_modules_that_run_already_are_recorded_with_their_ids") else {
        return;
    };
    let at_rest = Snapshot::read(guest, "at-rest");
    assert!(at_rest.module("wp512").is_some());
}
