//! Boxes that stand for several call nodes.

use perftab_perfdata::slice::in_slices_of;
use perftab_profile::{DsoId, DsoKind};

use super::call_tree::{CallNodeId, CallTree};
use super::fixture::{fixture, lines, ungrouped};
use super::flame_graph::{NONE, Window, layout, layout_in_slices};
use super::function_ref::DsoRef;
use super::label::{Kind, OwnCode};
use super::{Query, Unnamed};

fn window(min_width: f64) -> Window {
    let own = OwnCode::default();
    Window { root: CallNodeId::ROOT, width: 100.0, min_width, search: None, own }
}

/// A layout of 100 pixels as text: a row a line, of each box its text, or what it is, and edges.
fn rows(stacks: &str, min_width: f64, unnamed: Unnamed) -> String {
    let stacks = fixture(stacks);
    let query = Query { unnamed, ..ungrouped() };
    let tree = CallTree::new(&stacks.profile, &stacks.symbols, &query);
    let window = window(min_width);
    let graph = layout(&stacks.profile, &stacks.symbols, &tree, &window);
    for call_nodes in 1..4 {
        let in_slices = in_slices_of(call_nodes, async |slice| {
            layout_in_slices(&stacks.profile, &stacks.symbols, &tree, &window, slice).await
        });
        assert_eq!(format!("{in_slices:?}"), format!("{graph:?}"));
    }
    let mut text = String::new();
    for row in graph.row_start.windows(2) {
        for index in row[0] as usize..row[1] as usize {
            let name = match graph.labels.get(graph.label[index] as usize) {
                Some(label) => label.as_str(),
                None if graph.kind[index] == Kind::Folded as u8 => "folded",
                None => "narrow",
            };
            assert_eq!(graph.call_node[index] == NONE, graph.folded[index] > 0);
            text += &format!("{name} {}-{}; ", graph.start[index], graph.end[index]);
        }
        text = format!("{}\n", text.trim_end_matches("; "));
    }
    text
}

#[test]
fn narrow_unnamed_siblings_of_one_dso_are_one_box() {
    // a to j have addresses only and are 3 wide each; K is as narrow and has a name.
    let unnamed: String = ('a'..='j').map(|name| format!("A {name} 3\n")).collect();
    let stacks = format!("A B 60\n{unnamed}A K 3\nA L 7");
    assert_eq!(
        rows(&stacks, 0.5, Unnamed::EachAddress),
        lines(
            "
            all 0-100
            A 0-100
            B 0-60; app, 10 addresses 60-90; narrow 90-97; narrow 97-100
            "
        )
    );
}

#[test]
fn one_address_is_no_group_and_wide_ones_stay_apart() {
    let stacks = "A B 37\nA c 30\nA d 30\nA e 3";
    assert_eq!(
        rows(stacks, 0.5, Unnamed::EachAddress),
        lines(
            "
            all 0-100
            A 0-100
            B 0-37; 0x63000000 in app 37-67; 0x64000000 in app 67-97; narrow 97-100
            "
        )
    );
    assert_eq!(
        rows(stacks, 0.5, Unnamed::OnePerDso),
        lines(
            "
            all 0-100
            A 0-100
            app, 3 addresses 0-63; B 63-100
            "
        )
    );
}

#[test]
fn what_lies_below_merged_addresses_is_drawn_together() {
    let stacks = "a K L 20\nb K 30\nc K L 10\nd 40";
    assert_eq!(
        rows(stacks, 0.5, Unnamed::OnePerDso),
        lines(
            "
            all 0-100
            app, 4 addresses 0-100
            K 0-60
            L 0-30
            "
        )
    );
}

#[test]
fn a_group_too_narrow_for_a_box_is_folded_with_its_number() {
    let stacks = "A B 94\nA c 1\nA d 1\nA E 4";
    assert_eq!(
        rows(stacks, 5.0, Unnamed::EachAddress),
        lines(
            "
            all 0-100
            A 0-100
            B 0-94; folded 94-100
            "
        )
    );
}

#[test]
fn a_library_counts_as_own_code_where_the_user_says_so() {
    let mut stacks = fixture("A 1");
    let library = stacks.profile.dsos.get_mut(DsoId(0));
    library.kind = DsoKind::User;
    library.path = "/usr/lib/liba.so.1".to_owned();
    let here = DsoRef::of(stacks.profile.dsos.get(DsoId(0)));
    let elsewhere = DsoRef { path: "/usr/lib/libb.so.1".to_owned(), ..here.clone() };
    let other_build = DsoRef { build_id: Some("07".to_owned()), ..here.clone() };
    let kind_as = |own: &[&DsoRef]| {
        let own = own.iter().copied().cloned().collect();
        let own = OwnCode::of(&stacks.profile, &Query { own, ..ungrouped() });
        let tree = CallTree::new(&stacks.profile, &stacks.symbols, &ungrouped());
        let window = Window { own, ..window(0.5) };
        layout(&stacks.profile, &stacks.symbols, &tree, &window).kind[1]
    };
    for own in [&[][..], &[&elsewhere, &other_build]] {
        assert_eq!(kind_as(own), Kind::System as u8, "{own:?}");
    }
    assert_eq!(kind_as(&[&elsewhere, &here]), Kind::Own as u8);
}
