//! Questions as the page asks them, a step at a time: steps change nothing, turns are taken while trees
//! are made, and what is no question is refused.

use perf_event_open_sys::bindings as kernel;
use perftab_core::DsoId;
use perftab_core::session::{Arguments, Asked, Question, ScanStep, Session};
use perftab_images::{AddressNames, ForcedAddresses, ForcedFile, FunctionNumber, NamedLevel};
use perftab_tests::open::open;
use perftab_tests::synth::{
    At, Attr, Event, MappedFile, Mapping, Order, Recording, SAMPLE_TYPE, Sample, context,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const USER: u16 = kernel::PERF_RECORD_MISC_USER as u16;
const SAMPLES: u64 = 60;

/// Two threads, with calls four deep, and what data they access.
fn session() -> Session {
    let access = kernel::PERF_SAMPLE_ADDR | kernel::PERF_SAMPLE_DATA_SRC;
    let attr = Attr::new(kernel::PERF_TYPE_SOFTWARE, 0, SAMPLE_TYPE | access);
    let mut it = Recording::new(Order::Little, vec![Event::new(0, "cpu-clock", attr, 1)]);
    let at = At { pid: 7, tid: 7, time: 1, ..At::default() };
    let file = MappedFile::Inode(8, 1, 5, 0);
    let (misc, pid, tid, offset, path) = (USER, 7, 7, 0, "/opt/seven");
    let addresses = 0x1000..0x2000;
    it.mmap2(at, &Mapping { misc, pid, tid, addresses, offset, file, path });
    for number in 0..SAMPLES {
        let calls = (0..4).map(|depth| 0x1100 + 16 * depth + number % (depth + 1));
        let chain = [context::USER].into_iter().chain(calls).collect();
        let (time, tid, ip) = (100 + number * 10, 7 + (number % 2) as u32, 0x1100);
        let addr = 0x1800 + number % 7;
        let of = Sample { misc: USER, ip, pid, tid, time, ..Sample::default() };
        it.sample(0, &Sample { period: 100, addr, chain, ..of });
    }
    open(&it.file()).expect("it opens")
}

/// Arguments as JSON.
struct Json<'a>(&'a Value);

impl Arguments for Json<'_> {
    type Argument = Value;
    type Error = String;

    fn argument(&self, name: &str) -> Value {
        self.0.get(name).cloned().unwrap_or_default()
    }

    fn read<T: DeserializeOwned>(argument: Value) -> Result<T, String> {
        serde_json::from_value(argument).map_err(|error| error.to_string())
    }

    fn refused(what: &str, why: &str) -> String {
        format!("{what}: {why}")
    }
}

fn read(question: &Value) -> Result<Question, String> {
    Question::read(name_of(question), &Json(&question[name_of(question)]))
}

/// What is answered, and of each step whether it took a turn. Between two of them something happens.
pub fn answer(
    session: &mut Session,
    question: Value,
    rows: usize,
    mut between: impl FnMut(&mut Session),
) -> (Value, Vec<bool>) {
    let (mut asked, mut turns) = (Asked::new(read(&question).expect("a question")), Vec::new());
    loop {
        turns.push(asked.takes_turn(session));
        if let ScanStep::Done(answer) = asked.step(session, rows) {
            let answer = answer.expect("there is room");
            return (serde_json::to_value(answer).expect("it is JSON"), turns);
        }
        assert!(turns.len() < 100_000, "it never ends");
        between(session);
    }
}

/// Those that take more than one step.
fn questions() -> Vec<Value> {
    let query = json!({ "event": 0 });
    let inverted = json!({ "event": 0, "direction": "inverted" });
    // It gets its name while they are answered.
    let mut function = asked_function();
    function["name"] = json!("seven1");
    function["address"] = Value::Null;
    let dropping = json!({ "event": 0, "steps": [{ "kind": "drop", "function": function }] });
    let window = json!({ "root": 0, "widthPx": 500.0, "minPx": 0.1, "search": "seven" });
    let range = json!({ "start": 20, "end": 300, "side": "inside" });
    let timeline = json!({
        "by": "thread", "sort": "weight", "open": [], "start": 0.0, "end": 0.0, "bins": 20,
    });
    let heat = json!({ "period": 1e9, "rows": 100, "start": 0.0, "end": 0.0 });
    let order = json!({ "key": "total", "direction": "descending" });
    let occurrence = json!({ "subject": { "kind": "call-node", "id": 2 }, "bins": 10 });
    vec![
        json!({ "filteredCoverage": { "query": dropping } }),
        json!({ "dsoUsers": { "dsos": [0] } }),
        json!({ "flameGraph": { "query": query, "window": window } }),
        json!({ "flameGraph": { "query": inverted, "window": window } }),
        json!({ "callNode": { "query": inverted, "callNode": 1, "most": 4 } }),
        json!({ "occurrence": { "query": query, "request": occurrence } }),
        json!({ "functions": { "query": inverted, "order": order, "from": 0, "to": 9 } }),
        json!({ "accesses": {
            "query": dropping, "groupBy": "object", "order": { "key": "mean" }, "from": 0, "to": 9,
        } }),
        json!({ "search": { "query": query, "text": "11" } }),
        json!({ "timeline": { "query": dropping, "request": timeline } }),
        json!({ "heatMap": { "query": dropping, "request": heat } }),
        json!({ "rangePreview": { "query": query, "range": range, "window": window } }),
        json!({ "share": { "options": { "characters": 4000 } } }),
    ]
}

/// The function that is named by the first number.
fn asked_function() -> Value {
    let question = json!({ "functionRef": { "functionId": 0 } });
    let (answer, _) = answer(&mut session(), question, 1, |_| {});
    answer
}

fn name_of(question: &Value) -> &str {
    question.as_object().and_then(|it| it.keys().next()).expect("it has a name")
}

#[test]
fn steps_of_any_size_give_the_same_answer() {
    for question in questions() {
        let name = name_of(&question);
        let (whole, _) = answer(&mut session(), question.clone(), usize::MAX, |_| {});
        assert!(!whole.is_null(), "{question} is answered with {whole}");
        let (small, turns) = answer(&mut session(), question.clone(), 1, |_| {});
        assert!(turns.len() > 1, "{name} takes one step");
        assert_eq!(small, whole, "{name}");
    }
}

#[test]
fn names_that_change_meanwhile_are_those_of_the_answer() {
    for question in questions() {
        let name = name_of(&question);
        // Numbers of functions and call nodes are others then, and nobody waits for such an answer.
        if name == "occurrence" {
            continue;
        }
        let (_, turns) = answer(&mut session(), question.clone(), 1, |_| {});
        let mut fresh = session();
        change_names(&mut fresh);
        let (expected, _) = answer(&mut fresh, question.clone(), usize::MAX, |_| {});
        let expected = without_generation(expected);
        for when in (0..turns.len() - 1).step_by(turns.len() / 12 + 1) {
            let (mut changed, mut steps) = (session(), 0..);
            let change = |session: &mut Session| {
                if steps.next() == Some(when) {
                    change_names(session);
                }
            };
            let (meanwhile, _) = answer(&mut changed, question.clone(), 1, change);
            assert_eq!(without_generation(meanwhile), expected, "{name} {when}");
            // Nothing that was kept is of the names before.
            let (afterwards, _) = answer(&mut changed, question.clone(), usize::MAX, |_| {});
            assert_eq!(without_generation(afterwards), expected, "{name} {when}");
        }
    }
}

#[test]
fn an_inverted_tree_that_others_open_or_forget_meanwhile_is_drawn_all_the_same() {
    let inverted = json!({ "event": 0, "direction": "inverted" });
    let window = json!({ "root": 0, "widthPx": 500.0, "minPx": 0.1, "search": "seven" });
    let question = json!({ "flameGraph": { "query": inverted, "window": window } });
    let (whole, turns) = answer(&mut session(), question.clone(), 1, |_| {});
    let at_once = |session: &mut Session, question: Value| {
        answer(session, question, usize::MAX, |_| {});
    };
    let open = |session: &mut Session| {
        for id in 0..6 {
            let question = json!({ "callNode": { "query": inverted, "callNode": id, "most": 4 } });
            at_once(session, question);
        }
    };
    // More than a session keeps.
    let forget = |session: &mut Session| {
        for cpu in 0..8 {
            let query = json!({ "event": 0, "cpus": [cpu] });
            at_once(session, json!({ "flameGraph": { "query": query, "window": window } }));
        }
    };
    let forget_and_open = |session: &mut Session| {
        forget(session);
        open(session);
    };
    let others: [&dyn Fn(&mut Session); 3] = [&open, &forget, &forget_and_open];
    for (which, other) in others.into_iter().enumerate() {
        for when in 0..turns.len() - 1 {
            let mut steps = 0..;
            let between = |session: &mut Session| {
                if steps.next() == Some(when) {
                    other(session);
                }
            };
            let (drawn, _) = answer(&mut session(), question.clone(), 1, between);
            assert_eq!(without_numbers(drawn), without_numbers(whole.clone()), "{which} {when}");
        }
    }
}

/// Call nodes of inverted trees are numbered as they are opened.
fn without_numbers(mut graph: Value) -> Value {
    let numbers = graph.as_object_mut().and_then(|graph| graph.remove("callNode"));
    assert!(numbers.is_some_and(|numbers| numbers.is_array()));
    graph
}

/// Names every address by force, each time by another of three names.
fn change_names(session: &mut Session) {
    let before = session.generation();
    let addresses = session.forceable(DsoId(0)).expect("it is there").len();
    let level =
        |number| NamedLevel { function: Some(FunctionNumber(number)), file: None, line: None };
    let names = AddressNames {
        functions: (0..addresses as u32)
            .map(|number| format!("seven{}", (number + before) % 3))
            .collect(),
        lengths: vec![1; addresses],
        levels: (0..addresses as u32).map(level).collect(),
        ..AddressNames::default()
    };
    let names = ForcedAddresses { names };
    let file = ForcedFile { name: "seven".to_owned(), found: None, names };
    session.take_forced(DsoId(0), &file).expect("it names something");
    assert_ne!(session.generation(), before);
}

/// It counts names that changed.
fn without_generation(mut answer: Value) -> Value {
    if let Some(answer) = answer.as_object_mut() {
        answer.remove("generation");
    }
    answer
}

#[test]
fn turns_are_taken_while_trees_are_made() {
    let turns_of = |session: &mut Session, name: &str| {
        let question = questions().into_iter().find(|it| name_of(it) == name).expect("a question");
        answer(session, question, 1, |_| {}).1
    };
    for name in ["flameGraph", "functions", "search", "timeline", "heatMap", "filteredCoverage"] {
        let turns = turns_of(&mut session(), name);
        assert!(turns.iter().all(|&turn| turn), "{name}: {turns:?}");
    }
    for name in ["dsoUsers", "share"] {
        let turns = turns_of(&mut session(), name);
        assert!(turns.iter().all(|&turn| !turn), "{name}: {turns:?}");
    }
    // These go through samples for long when they have their trees.
    for name in ["occurrence", "rangePreview"] {
        let turns = turns_of(&mut session(), name);
        assert!(turns[0] && !turns[turns.len() - 1], "{name}: {turns:?}");
        assert!(turns.is_sorted_by(|before, after| before >= after), "{name}: {turns:?}");
    }
    // Once samples are placed, ranges are drawn at once.
    let mut session = session();
    turns_of(&mut session, "rangePreview");
    assert_eq!(turns_of(&mut session, "rangePreview"), [false]);
}

/// The page asks for both at once: what one has summed, the other goes on with.
#[test]
fn tasks_and_timeline_go_through_the_rows_together() {
    let request = json!({
        "by": "thread", "sort": "weight", "open": [], "start": 0.0, "end": 0.0, "bins": 20,
    });
    let tasks = json!({ "tasks": { "event": 0 } });
    let timeline = json!({ "timeline": { "query": { "event": 0 }, "request": request } });
    let steps = |session: &mut Session, question: &Value| {
        let (answer, turns) = answer(session, question.clone(), 1, |_| {});
        (answer, turns.len())
    };
    let mut session_of_both = session();
    let (of_tasks, alone) = steps(&mut session_of_both, &tasks);
    let (of_timeline, behind) = steps(&mut session_of_both, &timeline);
    assert!(alone as u64 >= SAMPLES, "{alone} steps");

    let mut session_of_turns = session();
    let asked = |question| Asked::new(read(question).expect("a question"));
    let mut both = [asked(&tasks), asked(&timeline)];
    let (mut answers, mut count) = ([Value::Null, Value::Null], 0);
    while answers.contains(&Value::Null) {
        for (asked, answer) in both.iter_mut().zip(&mut answers).filter(|it| it.1.is_null()) {
            count += 1;
            if let ScanStep::Done(found) = asked.step(&mut session_of_turns, 1) {
                let found = found.expect("there is room");
                *answer = serde_json::to_value(found).expect("it is JSON");
            }
        }
    }
    assert_eq!(answers, [of_tasks, of_timeline]);
    // Whoever did not do the last step of the sums is told of them in one of its own.
    assert!(count <= alone + behind + 1, "{count} steps, {alone} and {behind} one after the other");
}

#[test]
fn what_is_no_question_is_refused() {
    for (question, why) in [
        (json!({ "nothing": {} }), "nothing: there is no such question"),
        (json!({ "Tasks": { "event": 0 } }), "Tasks: there is no such question"),
        (json!({ "tasks": {} }), "event: invalid type: null"),
        (json!({ "tasks": 0 }), "event: invalid type: null"),
        (json!({ "tasks": { "event": -1 } }), "event: invalid value: integer `-1`"),
        (json!({ "tasks": { "event": 1u64 << 32 } }), "event: invalid value: integer"),
        (json!({ "tasks": { "event": "0" } }), "event: invalid type: string"),
        (json!({ "shown": { "query": { "direction": "up" } } }), "query: unknown variant `up`"),
    ] {
        let error = read(&question).expect_err("it is no question");
        assert!(error.contains(why), "{question}: {error}");
    }
}
