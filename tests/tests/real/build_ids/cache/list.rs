//! What is listed of a recording, beside what perf lists of it.

use super::home::{Home, ID, lines};

/// perf writes the vdso into its table whether it was hit or not.
fn without_vdso(text: &str) -> Vec<String> {
    lines(text).into_iter().filter(|line| !line.ends_with(" [vdso]")).collect()
}

#[test]
fn b27_lists_agree_on_a_recording_of_hit_dsos() {
    let Some(home) = Home::new("b27_lists_agree_on_a_recording_of_hit_dsos") else { return };
    let (plain, hit) = (home.done(&["list"]), home.done(&["list", "-H"]));
    assert_eq!(without_vdso(&plain), without_vdso(&hit));
    assert!(plain.contains(&format!("{ID} {}\n", home.program.display())), "{plain}");

    let perf =
        |option: &[&str]| home.perf(&[&["buildid-list", "-i", "perf.data"], option].concat());
    assert_eq!(without_vdso(&plain), without_vdso(&perf(&[])));
    assert_eq!(without_vdso(&hit), without_vdso(&perf(&["-H"])));
    assert_eq!(home.done(&["list", "-H", "-i", "perf.data"]), hit, "-i is perf's way to name it");
}

#[test]
fn b34_the_running_kernels_id_alone_where_there_is_no_recording() {
    let test = "b34_the_running_kernels_id_alone_where_there_is_no_recording";
    let Some(home) = Home::new(test) else { return };
    let recorded = home.done(&["list", "--kernel", "perf.data"]);
    assert_eq!(recorded.trim_end().len(), 40, "one id and nothing else: {recorded}");
    std::fs::remove_file(&home.recording).expect("the recording was there");
    assert_eq!(home.done(&["list", "-k"]), home.perf(&["buildid-list", "-k"]));
    assert_eq!(home.done(&["list", "-k"]), recorded, "it was recorded here");
}
