//! Call nodes are found again after names changed: what a page has selected stays selected.

use std::path::Path;

use perftab_core::session::{Place, Session};
use perftab_perfdata::decode::SliceSource;
use perftab_tests::folder::TestFolder;
use perftab_tests::perf;
use perftab_tests::program::compile;
use perftab_views::{Direction, Query};

const ID: &str = "5e1ec7ed5e1ec7ed5e1ec7ed5e1ec7ed5e1ec7ed";
const SOURCE: &str = "
static volatile unsigned long sum;
static void *volatile frame;
static inline __attribute__((always_inline)) void inner(unsigned long n) { while (n--) sum += n; }
__attribute__((noinline)) void leaf(unsigned long n) {
    frame = __builtin_frame_address(0); // gcc gives it a frame, which leads to its caller
    inner(n);
}
static inline __attribute__((always_inline)) void between(unsigned long n) { leaf(n); sum++; }
__attribute__((noinline)) void outer(unsigned long n) { between(n); sum++; }
int main(void) { outer(60000000); return 0; }
";

fn open(recording: &Path) -> Session {
    let bytes = std::fs::read(recording).expect("the recording is there");
    perftab_tests::open::open(&bytes).expect("it is a recording")
}

/// The heaviest way down within the program's own code: texts, and what finds the end again.
fn hottest(session: &mut Session, query: &Query) -> (Vec<String>, Place) {
    let mut detail = session.call_node_detail(query, 0).expect("the root");
    while let Some(child) = detail.heaviest_child {
        let child = session.call_node_detail(query, child).expect("it is there");
        // An interrupt may have been the hottest.
        if child.path.last().is_some_and(|text| text.starts_with("0xffff")) {
            break;
        }
        detail = child;
    }
    let place = Place { path: detail.path.clone(), path_frames: detail.path_frames };
    (detail.path, place)
}

#[test]
fn places_outlive_names() {
    let folder = TestFolder::new();
    let program = compile(&folder, "spinner", ID, SOURCE);
    let test = "places_outlive_names";
    let Some(recording) = perf::record(test, &program, &folder.join("perf.data")) else { return };
    let mut session = open(&recording);
    for direction in [Direction::Callees, Direction::Inverted] {
        let query = Query { direction, ..Query::default() };
        let (path, place) = hottest(&mut session, &query);
        let again = session.find_call_node(&query, &place);
        let detail = session.call_node_detail(&query, again).expect("it is there");
        assert_eq!(detail.path, path, "nothing changed, nothing moves");
    }

    let query = Query::default();
    let (path, place) = hottest(&mut session, &query);
    let (generation, selected) = (session.generation(), session.find_call_node(&query, &place));
    assert!(path.last().is_some_and(|leaf| leaf.starts_with("0x")), "no names yet: {path:?}");
    let image = std::fs::read(&program).expect("the program is there");
    session.admit("spinner", Box::new(SliceSource::new(image))).expect("it is the program");
    session.name_all_frames();
    let found = session.find_call_node(&query, &place);
    let detail = session.call_node_detail(&query, found).expect("it is there");
    // Past `between`, which came with the names and stands between two steps of the old path.
    let named = ["main", "outer", "between", "leaf"];
    assert!(detail.path.ends_with(&named.map(str::to_owned)), "{:?}", detail.path);
    assert!(detail.total_weight > 0.0);
    // Also where nothing is known of it but its number then.
    assert_ne!(session.generation(), generation);
    assert_eq!(session.find_moved(&query, generation, selected), found);
    assert_eq!(session.find_moved(&query, session.generation(), found), found);
    assert_eq!(session.find_moved(&query, generation.wrapping_sub(1), selected), 0);
    assert_eq!(session.find_moved(&query, generation, u32::MAX), 0);

    let unknown = Place { path: vec!["nowhere".to_owned()], path_frames: vec![Some(u32::MAX)] };
    assert_eq!(session.find_call_node(&query, &unknown), 0, "what is nowhere is the root");
}
