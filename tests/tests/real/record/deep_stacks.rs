//! Stacks that are larger than what a record has room for.

use std::process::Command;

use perftab_tests::child_process::LimitedCommand;
use perftab_tests::{perftab_binary, program};

use super::recorder::{Recorder, is_installed};

/// Takes one of eight ways down to the same function, which burns CPU 110 KiB further down, and up again, for 1.5 seconds of
/// CPU; each way for as many milliseconds as the argument says. What called the innermost function is told by its own name.
const WAYS: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <time.h>
static long milliseconds;
static long now(void) { return clock() / (CLOCKS_PER_SEC / 1000); }
static volatile char sink;
#define BURN(N) __attribute__((noinline)) void inner_##N(void) { \
    long end = now() + milliseconds; do for (volatile int i = 0; i < 5000; i++); while (now() < end); sink++; }
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
EACH(BURN)
#define NAME(N) inner_##N,
static void (*const burns[])(void) = { EACH(NAME) };
__attribute__((noinline)) void down(int way, int depth) {
    volatile char frame[1024];
    for (unsigned i = 0; i < sizeof frame; i++) frame[i] = (char)(way * 31 + depth);
    if (depth) down(way, depth - 1); else burns[way]();
    sink += frame[way];
}
#define OUTER(N) __attribute__((noinline)) void outer_##N(void) { down(N, 100); sink++; }
EACH(OUTER)
#define OUTER_NAME(N) outer_##N,
static void (*const outers[])(void) = { EACH(OUTER_NAME) };
int main(int argc, char **argv) {
    milliseconds = atol(argv[1]);
    for (int way = 0; now() < 1500; way = (way + 1) % 8) outers[way]();
    return 0;
}
"#;

/// By sample in the innermost functions, as perf reads it: its way, and that by which it was called.
fn ways(script: &str) -> Vec<(char, Option<char>)> {
    let way = |stack: &str, name: &str| stack.split_once(name)?.1.chars().next();
    let stacks = script.split("\n\n");
    stacks.filter_map(|it| Some((way(it, " inner_")?, way(it, " outer_")))).collect()
}

#[test]
fn stacks_beyond_a_record_lead_to_the_root_or_say_that_they_are_cut() {
    let test = "stacks_beyond_a_record_lead_to_the_root_or_say_that_they_are_cut";
    if !is_installed(test, "perf") {
        return;
    }
    for milliseconds in ["1500", "200", "3"] {
        let recorder = Recorder::new();
        let id = "d33b57ac".to_owned() + &"0".repeat(32);
        let program = program::compile(&recorder.folder, "ways", &id, WAYS);
        let how = ["-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf", "--"];
        let command = [program.to_str().expect("text"), milliseconds];
        let recorded = recorder.run(&[&how[..], &command].concat());
        assert_eq!(recorded.exit_code, Some(0), "{}", recorded.said);
        let script =
            recorder.perf(&["script", "-F", "ip,sym", "--no-inline", "--max-stack", "999"]);
        let ways = ways(&script);
        let whole = ways.iter().filter(|way| way.1.is_some()).count();
        let wrong = ways.iter().filter(|way| way.1.is_some_and(|outer| outer != way.0)).count();
        assert_eq!(wrong, 0, "of {whole} with {milliseconds} ms each");
        assert!(ways.len() > 300, "{}", ways.len());
        // Ways that are left at once are gone before they can be read. Where there is but one, samples from before it was read
        // have it too: those of the first round were a fifth.
        let enough = match milliseconds {
            "1500" => ways.len() * 19 / 20,
            "200" => ways.len() / 2,
            _ => 0,
        };
        assert!(whole >= enough, "{whole} of {} with {milliseconds} ms each", ways.len());
        let mut script = Command::new(perftab_binary());
        script.arg("script").arg(&recorder.file).env_remove("DEBUGINFOD_URLS");
        let output = script.ended().expect("perftab runs");
        let own = self::ways(&String::from_utf8_lossy(&output.stdout));
        assert_eq!(own, ways);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let says = |what: &str| said.contains(what);
        assert_eq!(says("larger than a record has room for"), whole > 0, "{said}");
        assert_eq!(says("truncated"), whole < ways.len(), "{said}");
    }
}
