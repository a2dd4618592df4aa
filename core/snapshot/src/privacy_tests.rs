//! What is left out or renamed is nowhere in a snapshot, and the rest shows the same.

use std::collections::BTreeSet;

use perftab_images::ImageContents;
use perftab_profile::{DsoId, DsoKind};
use perftab_views::Query;
use perftab_views::call_tree::{CallNodeId, CallTree};
use perftab_views::function_ref::DsoRef;

use super::random_profile::{RandomProfile, random_profile};
use super::*;
use crate::density::part_of;

/// A profile whose messages tell of everything else in it.
fn with_private_texts(seed: u64) -> RandomProfile {
    let mut made = random_profile(seed, 100);
    let host = &mut made.profile.host;
    host.hostname = Some("build-server-3".to_owned());
    host.os_release = Some("6.1.0-acme".to_owned());
    let arguments = ["perftab", "record", "--output=/home/me/secret-project/out.data", "src/tides"];
    host.cmdline = arguments.map(str::to_owned).to_vec();
    for message in [
        "kswapd0 of build-server-3 mapped /home/me/secret-project/server (0707070707070707).",
        "libwithout.so: in /opt/x and /home/me/other/ nothing was found.",
    ] {
        let warning = Warning { message: message.to_owned(), ..made.warnings[0].clone() };
        made.warnings.push(warning);
    }
    let dsos: Vec<_> = made.profile.dsos.iter().map(|(id, dso)| (id, dso.kind)).collect();
    for (dso, _) in dsos.iter().filter(|(_, kind)| *kind == DsoKind::User) {
        made.ledger.unplaced(*dso, "0808080808 is not /home/me/other/server of kswapd0");
    }
    made.ledger.matched(dsos[2].0, "/home/me/images/server.debug", ImageContents::default());
    made.symbols.named(dsos[2].0, "system_entry", perftab_names::Provenance::Matched);
    made
}

/// Everything that stands in a payload: its streams as they are before packing, and all texts as a
/// reader has them.
fn all_that_is_in(payload: &str) -> (Vec<u8>, BTreeSet<String>) {
    let streams = container::unpack(payload).expect("it is whole");
    let bytes: Vec<u8> = streams.iter().flat_map(|(_, bytes)| bytes).copied().collect();
    let Snapshot { profile, symbols, ledger, warnings, view, facts, title, .. } =
        decode(payload).expect("it opens");
    let mut texts = BTreeSet::from([view]);
    texts.extend(title.into_iter().chain(profile.recorder.version));
    texts.extend(facts.texts.lines().map(|(_, _, text)| text.to_owned()));
    texts.extend(facts.texts.instructions().map(|(_, _, text)| text.to_owned()));
    // What stands for no file is made anew by the reader.
    let written = profile.dsos.iter().filter(|(_, dso)| codes::DSO_KINDS.contains(&dso.kind));
    for (id, dso) in written {
        let row = ledger.row(id);
        texts.extend(
            [Some(dso.path.clone()), row.reason.clone(), row.image.clone()].into_iter().flatten(),
        );
        texts.extend(row.found.clone());
    }
    for function in symbols.function_ids() {
        texts.extend(symbols.function(function).name.map(str::to_owned));
    }
    for (frame, _) in profile.frames.iter() {
        let files = symbols.levels(frame).iter().filter_map(|level| level.file);
        texts.extend(files.map(|file| symbols.file(file).to_owned()));
    }
    let names = (0..profile.strings.len() as u32).map(perftab_profile::StringId);
    texts.extend(names.map(|name| profile.strings.get(name).to_owned()));
    texts.extend(profile.events.iter().map(|event| event.name.clone()));
    texts.extend(warnings.into_iter().map(|warning| warning.message));
    let host = profile.host;
    texts.extend([host.hostname, host.os_release, host.arch].into_iter().flatten());
    texts.extend(host.cmdline);
    (bytes, texts)
}

/// Makes links of two sizes and looks for texts that may not be there, and for some that must.
fn check(privacy: Privacy, secrets: &[&str], present: &[&str]) {
    let made = with_private_texts(2);
    let view = "view=tree&search=kswapd0&comms=kswapd0&files=/home/me/secret-project/server;0707";
    for characters in [usize::MAX, 4000] {
        let options = ShareOptions {
            characters,
            privacy: privacy.clone(),
            view: view.to_owned(),
            title: "kswapd0 of build-server-3, /home/me/secret-project/server 0707070707070707"
                .into(),
            ..ShareOptions::default()
        };
        let shared = encode(&made.contents(), &options).expect("it fits");
        let (bytes, texts) = all_that_is_in(&shared.payload);
        for secret in secrets {
            let is_in =
                |bytes: &[u8]| bytes.windows(secret.len()).any(|at| at == secret.as_bytes());
            assert!(!is_in(&bytes), "{secret} is in the bytes, {privacy:?}");
            let found = texts.iter().find(|text| is_in(text.as_bytes()));
            assert_eq!(found, None, "{secret}, {privacy:?}");
        }
        // The list says all of it.
        let listed: BTreeSet<&str> =
            shared.texts.parts.iter().flat_map(|part| &part.texts).map(String::as_str).collect();
        let ours = [FOLDED, ""];
        for text in texts.iter().filter(|text| !ours.contains(&text.as_str())) {
            assert!(listed.contains(text.as_str()), "{text:?} is not listed");
        }
        if characters == usize::MAX {
            for text in present {
                assert!(listed.iter().any(|listed| listed.contains(text)), "{text}: {listed:?}");
            }
            let opened = decode(&shared.payload).expect("it opens");
            assert_eq!(opened.profile.events.len(), made.profile.events.len());
            let weight = |profile: &Profile, symbols: &Symbols| {
                CallTree::new(profile, symbols, &Query::default()).total(CallNodeId::ROOT)
            };
            let sent = weight(&made.profile, &made.symbols);
            assert_eq!(weight(&opened.profile, &opened.symbols), sent, "{privacy:?}");
        }
    }
}

#[test]
fn a_link_says_what_it_is_called_and_what_recorded_it() {
    let mut made = random_profile(3, 50);
    made.profile.recorder.version = Some("perftab 1.2".to_owned());
    let about = |title: &str| {
        let options = ShareOptions { title: title.to_owned(), ..ShareOptions::default() };
        let opened = decode(&encode(&made.contents(), &options).expect("it fits").payload);
        let opened = opened.expect("it opens");
        assert_eq!(opened.profile.recorder.version.as_deref(), Some("perftab 1.2"));
        opened.title
    };
    assert_eq!(about(" web-07 at 3:00 ").as_deref(), Some("web-07 at 3:00"));
    // Every recording is called that.
    assert_eq!(about("perf.data"), None);
    assert_eq!(about(""), None);
    let long = "é".repeat(1000);
    assert_eq!(about(&long), Some("é".repeat(200)));
}

fn with(change: impl Fn(&mut Privacy)) -> Privacy {
    let mut privacy = Privacy::everything();
    change(&mut privacy);
    privacy
}

#[test]
fn by_default_nothing_tells_of_the_machine() {
    let secrets = ["/home", "secret-project", "/opt", "images", "build-server-3", "acme", "tides"];
    check(Privacy::default(), &secrets, &["ƒ1(int)", "libwithout.so", "[host]", "[folder]"]);
}

#[test]
fn each_part_is_left_out_wherever_it_stands() {
    let out = Disclosure::LeftOut;
    check(with(|it| it.folders = out), &["/home", "secret-project", "/opt", "src/"], &["tides"]);
    check(
        with(|it| (it.own_functions, it.system_functions) = (out, out)),
        &["basket", "ƒ"],
        &["function-1", "kswapd0"],
    );
    check(
        with(|it| it.dsos = out),
        &["libwithout", "libc", "/server"],
        &["dso-1", "/usr/lib/dso-"],
    );
    let mut processes = ["kswapd0", "ünïcode", "worker"].to_vec();
    check(with(|it| it.processes = out), &processes, &["process-1", "process-4"]);
    processes.push("/home");
    check(with(|it| (it.processes, it.folders) = (out, out)), &processes, &["process-1"]);
    check(
        with(|it| it.build_ids = out),
        &["07070707", "0808080808", "\x07\x07\x07\x07"],
        &["[build-id]"],
    );
    check(with(|it| it.files = out), &["1.c", "2.c", "0.c"], &["ƒ1(int)"]);
    check(with(|it| it.host = out), &["build-server-3", "6.1.0-acme"], &["tides"]);
    check(with(|it| it.command_line = out), &["out.data", "tides"], &["6.1.0-acme"]);
    check(with(|it| it.warnings = out), &["mapped", "nothing was found"], &["The sender left out"]);
}

#[test]
fn what_a_pattern_matches_is_nowhere() {
    let rename = |written: &str| written.parse::<Rename>().expect("a pattern");
    for (patterns, secrets, present) in [
        (&["basket"][..], &["basket"][..], &["shop::hidden<int>::ƒ1(int)"][..]),
        (
            &["b[a-z]sket=cart", "secret=open"],
            &["basket", "secret"],
            &["/home/me/open-project/server"],
        ),
        (&[r"ƒ\d+", "kswapd0"], &["ƒ", "kswapd0"], &["shop::basket<int>::hidden-13(int)"]),
        // Front coding cuts texts: what is left of one must not add up with the rest of another.
        (
            &["shop::basket<int>::ƒ1=x"],
            &["basket<int>::ƒ1("],
            &["x(int)", "shop::basket<int>::ƒ2(int)"],
        ),
        (&["^.*server.*$"], &["server"], &["hidden-1"]),
    ] {
        let renames: Vec<_> = patterns.iter().map(|written| rename(written)).collect();
        check(with(|it| it.renames = renames.clone()), secrets, present);
    }
}

#[test]
fn what_counts_as_own_code_is_left_out_with_own_code() {
    let made = random_profile(3, 4000);
    let user: Vec<_> =
        made.profile.dsos.iter().filter(|(_, dso)| dso.kind == DsoKind::User).collect();
    let names_of = |is_wanted: &dyn Fn(DsoId) -> bool| {
        let functions = made.symbols.function_ids().map(|id| made.symbols.function(id));
        let wanted = functions.filter(|function| is_wanted(function.dso));
        wanted.filter_map(|function| function.name.map(str::to_owned)).collect::<BTreeSet<_>>()
    };
    let is_user = |dso| user.iter().any(|(id, _)| *id == dso);
    let all = &names_of(&is_user) - &names_of(&|dso| !is_user(dso));
    let privacy = Privacy { own_functions: Disclosure::LeftOut, ..Privacy::default() };
    let told = |own| {
        let options = ShareOptions { own, privacy: privacy.clone(), ..ShareOptions::default() };
        let shared = encode(&made.contents(), &options).expect("no limit");
        let (_, texts) = all_that_is_in(&shared.payload);
        texts.intersection(&all).count()
    };
    assert!(told(Vec::new()) > 0);
    assert_eq!(told(user.iter().map(|(_, dso)| DsoRef::of(dso)).collect()), 0);
}

#[test]
fn a_name_is_called_the_same_in_every_link() {
    let made = random_profile(3, 4000);
    let privacy = Privacy {
        renames: vec![r"ƒ\d+".parse().expect("a pattern")],
        system_functions: Disclosure::LeftOut,
        ..Privacy::default()
    };
    let renamed = |characters| {
        let options =
            ShareOptions { characters, privacy: privacy.clone(), ..ShareOptions::default() };
        let shared = encode(&made.contents(), &options).expect("it fits");
        let parts = shared.texts.parts.into_iter();
        let names = parts.flat_map(|part| {
            let text = move |it: RenamedText| (part.texts[it.index as usize].clone(), it.was);
            part.renamed.into_iter().map(text).collect::<Vec<_>>()
        });
        names.collect::<BTreeSet<_>>()
    };
    let (small, large) = (renamed(2000), renamed(usize::MAX));
    assert!(!small.is_empty() && small.is_subset(&large), "{small:?} and {large:?}");
    let names: BTreeSet<_> = large.iter().map(|(text, _)| text).collect();
    assert_eq!(names.len(), large.len(), "what was different stays different");
}

#[test]
fn without_addresses_code_without_a_name_is_one_in_each_dso() {
    let made = with_private_texts(4);
    let privacy = Privacy {
        addresses: Disclosure::LeftOut,
        clock: Disclosure::LeftOut,
        ..Privacy::default()
    };
    let options = ShareOptions { privacy, ..ShareOptions::default() };
    let shared = encode(&made.contents(), &options).expect("no limit");
    let Snapshot { profile, symbols, facts, .. } = decode(&shared.payload).expect("it opens");
    let sent: BTreeSet<u64> = made.profile.frames.iter().map(|(_, frame)| frame.address).collect();
    let is_mapped = |dso| profile.dsos.get(dso).kind != DsoKind::Unmapped;
    for (_, frame) in profile.frames.iter().filter(|(_, frame)| is_mapped(frame.dso)) {
        assert!(!sent.contains(&frame.address), "{:#x}", frame.address);
    }
    let places =
        profile.dsos.iter().map(|(_, dso)| (dso.executable_offset(), dso.kernel_place.reference));
    assert!(places.into_iter().all(|place| place == (None, None)));
    let (first, last) = made.facts.time.expect("there are times");
    assert_eq!(facts.time, Some((1, 1 + last - first)));
    assert!(symbols.function_ids().next().is_some());
}

/// Several functions of a DSO become one below each caller: their weight adds up.
#[test]
fn without_addresses_no_weight_is_lost() {
    for seed in part_of(0..8, 3, "profiles") {
        let made = random_profile(seed, 300);
        for times in [Times::None, Times::Threads, Times::Samples] {
            let privacy = Privacy { addresses: Disclosure::LeftOut, ..Privacy::default() };
            let options = ShareOptions { privacy, times, ..ShareOptions::default() };
            let shared = encode(&made.contents(), &options).expect("no limit");
            let opened = decode(&shared.payload).expect("it opens");
            for event in 0..made.profile.events.len() as u32 {
                let query = Query { event, ..Query::default() };
                let total = |profile: &Profile, symbols: &Symbols| {
                    CallTree::new(profile, symbols, &query).total(CallNodeId::ROOT)
                };
                let sent = total(&made.profile, &made.symbols);
                assert_eq!(total(&opened.profile, &opened.symbols), sent, "{seed} {times:?}");
            }
        }
    }
}
