//! Links that were written once open, and hold what they held.
//! `cargo run -p perftab-tests --example write_link_vectors` writes those that are not there.

use std::fs;

use perftab_snapshot::decode;
use perftab_tests::links::vectors::{described, folder};

#[test]
fn links_of_every_version_open_and_hold_what_they_held() {
    let mut read = 0;
    for file in fs::read_dir(folder()).expect("a folder") {
        let path = file.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("text");
        let (payload, expected) = text.split_once('\n').expect("a payload and what it holds");
        let opened = decode(payload).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(described(&opened), expected, "{}", path.display());
        read += 1;
    }
    assert!(read >= 8, "{read} vectors");
}
