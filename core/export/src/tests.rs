//! Small profiles as text ([`perftab_views::fixture`]) beside what each format says of them. What is
//! written is read by code that shares nothing with the writers; real consumers are in `tests/`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use perftab_names::Provenance;
use perftab_perfdata::slice::in_slices_of;
use perftab_profile::{Event, EventId, EventOrigin};
use perftab_views::Direction;
use perftab_views::fixture::{Fixture, fixture, lines};
use perftab_views::function_ref::FunctionRef;
use perftab_views::transform::Transform;
use serde_json::Value;

use super::*;

const TWO_PROCESSES: &str = "
    web: A B 3
    web: A B>H>I 4
    db: A c@lib 2
    web: A 1
";

fn request(format: Format) -> ExportRequest {
    let (query, events) = (Query::default(), Events::All);
    ExportRequest { format, query, events, name: "day & night".to_owned() }
}

/// Everything that a writer writes, before it is packed.
fn written(Fixture { profile, symbols }: &Fixture, request: &ExportRequest) -> Vec<u8> {
    let by = |rows: usize| {
        let written = Rc::<Cell<Vec<u8>>>::default();
        let source = Source::new(Arc::new(profile.clone()), Rc::new(symbols.clone()), None);
        in_slices_of(rows, async |slice| {
            write(request, &source, Out::new(Rc::clone(&written), slice.clone())).await;
        });
        written.take()
    };
    let whole = by(usize::MAX);
    assert!(by(1) == whole, "slices change nothing");
    whole
}

fn text(fixture: &Fixture, request: &ExportRequest) -> String {
    String::from_utf8(written(fixture, request)).expect("it is text")
}

fn json(fixture: &Fixture, request: &ExportRequest) -> Value {
    serde_json::from_str(&text(fixture, request)).expect("it is JSON")
}

/// A JSON column of numbers; `None` where it has null.
fn column(table: &Value, key: &str) -> Vec<Option<u64>> {
    let values = table[key].as_array().unwrap_or_else(|| panic!("no column {key} in {table}"));
    values.iter().map(Value::as_u64).collect()
}

/// `thread: outer inner weight`, one line a sample.
fn speedscope_lines(profile: &Value) -> String {
    let mut text = String::new();
    for of_thread in profile["profiles"].as_array().expect("a list") {
        let samples = of_thread["samples"].as_array().expect("a list").iter();
        for (sample, weight) in samples.zip(of_thread["weights"].as_array().expect("a list")) {
            text += of_thread["name"].as_str().expect("a name");
            text += ":";
            for frame in sample.as_array().expect("a stack") {
                let frame =
                    &profile["shared"]["frames"][frame.as_u64().expect("a number") as usize];
                text += &format!(" {}", frame["name"].as_str().expect("a name"));
            }
            text += &format!(" {weight}\n");
        }
    }
    text
}

/// `thread: outer inner>inlined weight at nanoseconds`, one line a sample.
fn firefox_lines(profile: &Value) -> String {
    let shared = &profile["shared"];
    let texts = |at: u64| shared["stringArray"][at as usize].as_str().expect("a text");
    let (prefix, frame) =
        (column(&shared["stackTable"], "prefix"), column(&shared["stackTable"], "frame"));
    let (function, depth) =
        (column(&shared["frameTable"], "func"), column(&shared["frameTable"], "inlineDepth"));
    let name = column(&shared["funcTable"], "name");
    let mut text = String::new();
    for thread in profile["threads"].as_array().expect("a list") {
        let samples = &thread["samples"];
        for (row, stack) in column(samples, "stack").into_iter().enumerate() {
            let mut stack = stack;
            let mut words = Vec::new();
            while let Some(at) = stack {
                let frame = frame[at as usize].expect("a frame") as usize;
                let before = if depth[frame] == Some(0) { " " } else { ">" };
                let function = function[frame].expect("a function") as usize;
                words.push(format!("{before}{}", texts(name[function].expect("a name"))));
                stack = prefix[at as usize];
            }
            words.reverse();
            let weight = &samples["weight"][row];
            let time = samples["time"][row].as_f64().expect("a time") * 1e6;
            text += thread["name"].as_str().expect("a name");
            text += &format!(":{} {weight} at {time:.0}\n", words.concat());
        }
    }
    text
}

/// The fields of a protobuf message: numbers, and the bytes of texts and messages.
#[derive(Default)]
struct Fields {
    numbers: BTreeMap<u64, Vec<u64>>,
    bytes: BTreeMap<u64, Vec<Vec<u8>>>,
}

impl Fields {
    fn read(mut bytes: &[u8]) -> Self {
        let mut fields = Self::default();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let value = varint(&mut bytes);
            if key & 7 == 0 {
                fields.numbers.entry(key >> 3).or_default().push(value);
            } else {
                let (field, rest) = bytes.split_at(value as usize);
                fields.bytes.entry(key >> 3).or_default().push(field.to_vec());
                bytes = rest;
            }
        }
        fields
    }

    fn number(&self, field: u64) -> usize {
        self.numbers.get(&field).map_or(0, |numbers| numbers[0] as usize)
    }

    fn messages(&self, field: u64) -> Vec<Self> {
        let messages = self.bytes.get(&field).map_or(&[][..], |messages| messages);
        messages.iter().map(|message| Self::read(message)).collect()
    }

    fn packed(&self, field: u64) -> Vec<u64> {
        let mut bytes = self.bytes.get(&field).map_or(&[][..], |packed| &packed[0]);
        let mut numbers = Vec::new();
        while !bytes.is_empty() {
            numbers.push(varint(&mut bytes));
        }
        numbers
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (&byte, rest) = bytes.split_first().expect("a varint ends");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

/// `thread: outer inner>inlined values`, one line a sample; code without a name as `dso+address`.
fn pprof_lines(bytes: &[u8]) -> String {
    let profile = Fields::read(bytes);
    let texts: Vec<String> = profile.bytes[&6]
        .iter()
        .map(|text| String::from_utf8(text.clone()).expect("a text"))
        .collect();
    let (locations, functions) = (profile.messages(4), profile.messages(5));
    let mappings = profile.messages(3);
    let mut text = String::new();
    for sample in profile.messages(2) {
        let labels = sample.messages(3);
        let thread = labels.iter().find(|label| texts[label.number(1)] == "thread");
        text += &texts[thread.expect("it has a thread").number(2)];
        text += ":";
        for &id in sample.packed(1).iter().rev() {
            let location = locations.iter().find(|it| it.number(1) == id as usize);
            let location = location.expect("it is there");
            let lines = location.messages(4);
            for (place, line) in lines.iter().rev().enumerate() {
                let function = functions.iter().find(|it| it.number(1) == line.number(1));
                let name = &texts[function.expect("it is there").number(2)];
                text += &format!("{}{name}", if place == 0 { " " } else { ">" });
            }
            if lines.is_empty() {
                let mapping = mappings.iter().find(|it| it.number(1) == location.number(2));
                let mapping = mapping.expect("it is there");
                assert!((mapping.number(2)..mapping.number(3)).contains(&location.number(3)));
                text += &format!(" {}+{:#x}", texts[mapping.number(5)], location.number(3));
            }
        }
        let values: Vec<String> = sample.packed(2).iter().map(u64::to_string).collect();
        text += &format!(" {}\n", values.join("/"));
    }
    text
}

#[test]
fn collapsed_stacks_are_a_line_each_heaviest_first() {
    let expected = "
        web;A 1
        web;A;B 3
        web;A;B;H;I 4
        db;A;lib+0x63000000 2
    ";
    assert_eq!(text(&fixture(TWO_PROCESSES), &request(Format::Collapsed)), lines(expected));
}

#[test]
fn inverted_trees_begin_with_what_ran() {
    let expected = "
        web;I;H;B;A 4
        web;B;A 3
        web;A 1
        db;lib+0x63000000;A 2
    ";
    let of = |format| {
        let query = Query { direction: Direction::Inverted, ..Query::default() };
        ExportRequest { query, ..request(format) }
    };
    let fixture = fixture(TWO_PROCESSES);
    assert_eq!(text(&fixture, &of(Format::Collapsed)), lines(expected));
    let svg = text(&fixture, &of(Format::Svg));
    let place = |name: &str| svg.find(&format!("<title>{name}")).expect("a box");
    assert!(place("I") < place("H") && place("I") < place("A"), "the innermost comes first");
}

#[test]
fn pictures_have_the_colours_of_the_page() {
    let picture = text(&fixture(TWO_PROCESSES), &request(Format::Svg));
    let (light, dark) = picture.split_once("prefers-color-scheme:dark").expect("both themes");
    let sheet = include_str!("../../../www/src/style/tokens.css");
    let token = |name: &str| {
        let value = sheet.split_once(&format!("--{name}: light-dark(")).expect("a token").1;
        value.split_once(");").and_then(|(value, _)| value.split_once(", ")).expect("two colours")
    };
    for (class, name) in [
        ("text", "ink"),
        (".facts", "ink-2"),
        (".paper", "panel"),
        (".hatch", "hatch"),
        (".banner", "guru-soft"),
        (".warning", "guru"),
        (".k0s0", "g-proc"),
        (".k1s0", "g-own"),
        (".k1s2+text", "frame-ink"),
        (".k2s0", "g-sys"),
        (".k3s0", "g-ker"),
        (".k4s0", "g-jit"),
        (".k5s0", "g-unk"),
        (".k6s0", "line-2"),
    ] {
        for (rules, colour) in [(light, token(name).0), (dark, token(name).1)] {
            let rule = format!(".perftab {class}{{fill:{colour}}}");
            assert!(rules.contains(&rule), "{rule} of --{name}");
        }
    }
}

#[test]
fn speedscope_has_a_profile_for_each_thread_in_order_of_time() {
    let profile = json(&fixture(TWO_PROCESSES), &request(Format::Speedscope));
    let expected = "
        web 1: A B 3
        web 1: A B H I 4
        web 1: A 1
        db 2: A lib+0x63000000 2
    ";
    assert_eq!(speedscope_lines(&profile), lines(expected));
    assert_eq!(profile["profiles"][0]["endValue"], 8);
    assert_eq!(profile["profiles"][0]["unit"], "none");
    assert_eq!(profile["name"], "day & night");
    let lib = profile["shared"]["frames"].as_array().expect("a list").iter();
    assert!(lib.map(|frame| &frame["file"]).any(|file| file == "lib"));
}

#[test]
fn samples_of_speedscope_that_follow_each_other_in_one_stack_are_one() {
    let profile = json(&fixture("A 1\nA 2\nA B 4\nA 8"), &request(Format::Speedscope));
    assert_eq!(speedscope_lines(&profile), "proc 1: A 3\nproc 1: A B 4\nproc 1: A 8\n");
}

#[test]
fn firefox_has_samples_with_times_and_inline_frames() {
    let profile = json(&fixture(TWO_PROCESSES), &request(Format::Firefox));
    let expected = "
        web: A B 3 at 0
        web: A B>H>I 4 at 1
        web: A 1 at 3
        db: A lib+0x63000000 2 at 2
    ";
    assert_eq!(firefox_lines(&profile), lines(expected));
    let libs = profile["libs"].as_array().expect("a list");
    let ids: Vec<&str> = libs.iter().filter_map(|lib| lib["codeId"].as_str()).collect();
    assert_eq!(
        ids,
        ["6170700707070707070707070707070707070707", "6c69620707070707070707070707070707070707"]
    );
    // Every column is as long as its table.
    for table in
        ["stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources"]
    {
        let table = profile["shared"][table].as_object().expect("a table");
        for (key, column) in table.iter().filter(|(key, _)| *key != "length") {
            let length = column.as_array().expect("a column").len() as u64;
            assert_eq!(Some(length), table["length"].as_u64(), "{key}");
        }
    }
}

#[test]
fn pprof_has_a_sample_for_each_thread_and_stack() {
    let fixture = fixture(&format!("{TWO_PROCESSES}\nweb: A 5"));
    let bytes = written(&fixture, &request(Format::Pprof));
    let expected = "
        web: A B 1/3
        web: A B>H>I 1/4
        web: A 2/6
        db: A lib+0x63000000 1/2
    ";
    assert_eq!(pprof_lines(&bytes), lines(expected));
    let profile = Fields::read(&bytes);
    let texts = &profile.bytes[&6];
    assert_eq!(texts[0], b"");
    let types = profile.messages(1);
    let types: Vec<&[u8]> = types.iter().map(|it| &texts[it.number(1)][..]).collect();
    assert_eq!(types, [&b"cycles samples"[..], b"cycles"]);
    assert_eq!(texts[profile.number(14)], b"cycles");
    let ids: Vec<&[u8]> =
        profile.messages(3).iter().map(|mapping| &texts[mapping.number(6)][..]).collect();
    assert_eq!(ids.len(), 2);
    assert!(ids.contains(&&b"6c69620707070707070707070707070707070707"[..]));
}

#[test]
fn steps_act_in_every_format() {
    let fixture = fixture(TWO_PROCESSES);
    let mut ids = fixture.symbols.function_ids();
    let h = ids.find(|&id| fixture.symbols.function(id).name == Some("H")).expect("it is there");
    let function = FunctionRef::of(&fixture.profile, &fixture.symbols, h);
    let of = |format| {
        let mut request = request(format);
        request.query.steps = vec![Transform::Merge { function: function.clone() }];
        request
    };
    assert!(text(&fixture, &of(Format::Collapsed)).contains("web;A;B;I 4\n"));
    assert!(
        speedscope_lines(&json(&fixture, &of(Format::Speedscope))).contains("web 1: A B I 4\n")
    );
    let firefox = firefox_lines(&json(&fixture, &of(Format::Firefox)));
    assert!(firefox.contains("web: A B>I 4 at 1\n"), "{firefox}");
    let pprof = pprof_lines(&written(&fixture, &of(Format::Pprof)));
    assert!(pprof.contains("web: A B I 1/4\n"), "{pprof}");
    assert!(!text(&fixture, &of(Format::Svg)).contains("<title>H"));
}

#[test]
fn what_filters_take_away_is_in_no_file() {
    let fixture = fixture("web: Seen 1\ndepot: Secret hidden@vault 2");
    for format in Format::ALL {
        let mut request = request(format);
        request.query.processes = vec![1];
        let file = written(&fixture, &request);
        let file = String::from_utf8_lossy(&file);
        assert!(file.contains("Seen"), "{format:?}");
        for secret in ["Secret", "vault", "depot"] {
            assert!(!file.contains(secret), "{format:?} has {secret}");
        }
    }
}

#[test]
fn several_events_stand_side_by_side() {
    let mut fixture = fixture("A 1\nA B 2");
    let mut sample = fixture.profile.samples.get(1).expect("it has two");
    (sample.event, sample.weight, sample.time_nanos) = (EventId(1), 2_500_000, 9);
    fixture.profile.samples.push(sample);
    let name = "cpu-clock".to_owned();
    let (origin, samples, weight) = (EventOrigin::Recorded, 1, 2_500_000);
    fixture.profile.events.push(Event { name, origin, samples, weight, ..Event::default() });

    let speedscope = json(&fixture, &request(Format::Speedscope));
    let expected = "
        proc 1, cycles: A 1
        proc 1, cycles: A B 2
        proc 1, cpu-clock: A B 2500000
    ";
    assert_eq!(speedscope_lines(&speedscope), lines(expected));
    assert_eq!(speedscope["profiles"][1]["unit"], "nanoseconds");

    let firefox = json(&fixture, &request(Format::Firefox));
    let expected = "
        proc (cycles): A 1 at 0
        proc (cycles): A B 2 at 1
        proc (cpu-clock): A B 2.5 at 8
    ";
    assert_eq!(firefox_lines(&firefox), lines(expected));
    let threads = &firefox["threads"];
    assert_eq!([&threads[0]["tid"], &threads[1]["tid"]], ["1", "1.1"]);
    assert_eq!(threads[1]["samples"]["weightType"], "tracing-ms");

    let pprof = pprof_lines(&written(&fixture, &request(Format::Pprof)));
    assert_eq!(pprof, "proc: A 1/1/0/0\nproc: A B 1/2/0/0\nproc: A B 0/0/1/2500000\n");

    let one = ExportRequest { events: Events::One, ..request(Format::Pprof) };
    assert_eq!(pprof_lines(&written(&fixture, &one)), "proc: A 1/1\nproc: A B 1/2\n");
}

#[test]
fn forced_names_say_so() {
    let mut fixture = fixture("A b 3");
    let frame = fixture.profile.stacks.frames(fixture.profile.samples.stack[0]).next();
    let frame = frame.expect("it has two");
    let dso = fixture.profile.frames.get(frame).dso;
    let function = fixture.symbols.named(dso, "Guess", Provenance::Forced);
    let mut level = fixture.symbols.levels(frame)[0];
    level.function = function;
    fixture.symbols.set_levels(frame, &[level]);
    assert_eq!(text(&fixture, &request(Format::Collapsed)), "proc;A;[forced] Guess 3\n");
    for format in [Format::Firefox, Format::Speedscope, Format::Pprof] {
        let file = written(&fixture, &request(format));
        assert!(String::from_utf8_lossy(&file).contains("[forced] Guess"), "{format:?}");
    }
    let picture = text(&fixture, &request(Format::Svg));
    assert!(picture.contains("<title>≠ Guess\n") && picture.contains("class=\"forced\""));
    assert!(picture.contains("names with ≠ are of another build"));
    let limits = limits(&request(Format::Svg), &fixture.profile, ForcedNames::Some);
    assert!(limits.contains(&"Names of another build are marked with ≠.".to_owned()));
}

#[test]
fn what_is_kept_is_that_of_the_profile_and_its_steps() {
    let mut fixture = fixture("A B 3");
    let kept = |fixture: &Fixture, request: &ExportRequest, addresses: Addresses| {
        kept(request, &fixture.profile, addresses).join(", ")
    };
    let pprof = request(Format::Pprof);
    assert_eq!(
        kept(&fixture, &pprof, Addresses::Known),
        "stacks, processes and threads, source lines, addresses, build-ids"
    );
    let of_a_link = kept(&fixture, &pprof, Addresses::LeftOut);
    assert_eq!(of_a_link, "stacks, processes and threads, source lines, build-ids");
    let mut transformed = pprof;
    transformed.query.steps.push(Transform::CollapseRecursion);
    let of_functions = kept(&fixture, &transformed, Addresses::Known);
    assert_eq!(of_functions, "stacks, processes and threads, build-ids");
    let firefox = request(Format::Firefox);
    assert!(kept(&fixture, &firefox, Addresses::Known).contains("sample times"));
    fixture.profile.samples.time_nanos.set(0, 0);
    assert!(!kept(&fixture, &firefox, Addresses::Known).contains("sample times"));
}

#[test]
fn addresses_that_a_link_made_up_are_not_written() {
    let mut fixture = fixture("A B 3");
    let addresses = |fixture: &Fixture| -> Vec<usize> {
        let profile = Fields::read(&written(fixture, &request(Format::Pprof)));
        profile.messages(4).iter().map(|location| location.number(3)).collect()
    };
    assert_eq!(addresses(&fixture), [0x4200_0000, 0x4100_0000]);
    let frame = fixture.profile.stacks.frames(fixture.profile.samples.stack[0]).next();
    let frame = frame.expect("it has two");
    let levels = fixture.symbols.levels(frame).to_vec();
    fixture.symbols.set_known(frame, &levels);
    assert_eq!(addresses(&fixture), [0, 0x4100_0000]);
}

#[test]
fn hostile_names_stay_texts() {
    let name = "X<script&\"';\u{1b}[31m\u{202e}\u{fffe}";
    let fixture = fixture(&format!("{name}: A {name} 7"));
    let collapsed = text(&fixture, &request(Format::Collapsed));
    assert_eq!(collapsed.lines().count(), 1);
    assert_eq!(collapsed.matches(';').count(), 2, "{collapsed}");
    let shown = "X<script&\"';\\u{1b}[31m\\u{202e}\u{fffe}";
    let speedscope = speedscope_lines(&json(&fixture, &request(Format::Speedscope)));
    assert_eq!(speedscope, format!("{shown} 1: A {shown} 7\n"));
    let picture = text(&fixture, &request(Format::Svg));
    assert!(picture.contains("X&lt;script&amp;&quot;"));
    assert!(!picture.contains("<script") && !picture.contains('\u{fffe}'));
    for format in Format::ALL {
        let file = written(&fixture, &request(format));
        let file = String::from_utf8_lossy(&file);
        assert!(!file.contains(['\u{1b}', '\u{202e}']), "{format:?}");
    }
}

#[test]
fn nothing_is_still_a_file() {
    let fixture = fixture("A 1");
    for format in Format::ALL {
        let mut request = request(format);
        request.query.processes = vec![99];
        let file = written(&fixture, &request);
        match format {
            Format::Collapsed => assert!(file.is_empty()),
            Format::Firefox | Format::Speedscope => {
                serde_json::from_slice::<Value>(&file).expect("it is JSON");
            }
            Format::Pprof => assert_eq!(pprof_lines(&file), ""),
            Format::Svg => assert!(file.ends_with(b"</svg>\n")),
        }
    }
}
