//! Samples broken down by what they were of: task, CPU, DSO, file, line, function, memory access, in any
//! combination.
//!
//! A row is what has the same value for each key. Keys of tasks, CPUs and accesses are those of the sample;
//! keys of code are those of each of its frames, so a sample ends in one row, and counts once in each
//! row that one of its frames is in. These are the sums that `perf report --sort` prints.
//!
//! A call node is of several lines. So where lines are asked for, each stack is gone through beside the call nodes
//! that it ends in: of each of these its line is that of the next frame of its function.

use std::num::NonZeroU64;

use perftab_perfdata::map::Map;

use perftab_names::{FileId, FunctionId, Level, Symbols};
use perftab_profile::{DsoId, Profile, StackId, StringId, ThreadId};

use crate::Inlines;
use crate::call_tree::{CallNodeId, CallTree, Label};
use crate::data_access::{AccessKey, AccessNames, AccessValue};
use crate::ends::Ends;
use crate::filter::Filter;
use crate::grouped::FilesOfFunctions;
use crate::hot_lines::SourceLine;
use crate::label::Labels;
use crate::weights::Sum;

/// What rows are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// The thread's name.
    Comm,
    /// The process.
    Pid,
    /// The thread.
    Tid,
    /// The CPU.
    Cpu,
    /// The package of the CPU.
    Socket,
    /// When it began, the time being cut into pieces of so many nanoseconds.
    Time(NonZeroU64),
    /// The DSO of a frame.
    Dso,
    /// The source file of a frame's function.
    File,
    /// The line of source that a frame is at.
    Line,
    /// The function of a frame, or its address.
    Function,
    /// What the memory access was.
    Access(AccessKey),
}

/// What samples count for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Their periods.
    Period,
    /// What their memory accesses cost, at least 1 each, as `perf report --mem-mode` has it.
    Cost,
}

impl Key {
    /// The member that rows have in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Comm => "comm",
            Self::Pid => "pid",
            Self::Tid => "tid",
            Self::Cpu => "cpu",
            Self::Socket => "socket",
            Self::Time(_) => "time",
            Self::Dso => "dso",
            Self::File => "file",
            Self::Line => "srcline",
            Self::Function => "name",
            Self::Access(key) => key.name(),
        }
    }

    fn subject(self) -> KeySubject {
        match self {
            Self::Comm | Self::Pid | Self::Tid | Self::Cpu | Self::Socket | Self::Time(_) => {
                KeySubject::Task
            }
            Self::Dso | Self::File | Self::Line | Self::Function => KeySubject::Code,
            Self::Access(_) => KeySubject::Access,
        }
    }
}

/// What has the values of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeySubject {
    Task,
    Code,
    Access,
}

/// What a row has for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Name of a thread.
    Comm(StringId),
    /// Number of a process.
    Pid(u32),
    /// Number of a thread.
    Tid(u32),
    /// Number of a CPU.
    Cpu(u16),
    /// Number of a package.
    Socket(u32),
    /// When a piece of time begins, in nanoseconds.
    Time(u64),
    /// A DSO.
    Dso(DsoId),
    /// A source file.
    File(FileId),
    /// A line of source, of which file and number are known.
    Line(SourceLine),
    /// A function, or an address without a name.
    Function(FunctionId),
    /// Something of a memory access.
    Access(AccessValue),
    /// Nothing: no mapping, no known file, no known CPU.
    Nothing,
}

/// Samples with the same values.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// One for each key.
    pub values: Vec<Value>,
    /// Samples that ended there.
    pub self_sum: Sum,
    /// Samples that were anywhere there.
    pub total: Sum,
}

/// Samples, and what is known of them and of their code.
#[derive(Clone, Copy)]
pub struct Observed<'a> {
    /// The columns.
    pub profile: &'a Profile,
    /// The names of code.
    pub symbols: &'a Symbols,
    /// The names of data, if keys of accesses ask for them.
    pub data: &'a AccessNames,
    /// The query's tree of callees, without groups.
    pub tree: &'a CallTree,
    /// Where in it samples end.
    pub ends: &'a Ends,
    /// Whether inlined functions are call nodes in it.
    pub inlines: Inlines,
}

/// Breaks the samples that a query takes down by `keys`.
pub fn rows(
    observed: Observed<'_>,
    filter: &Filter<'_>,
    measure: Measure,
    keys: &[Key],
) -> Vec<Row> {
    let Observed { profile, symbols, data, tree, ends, .. } = observed;
    let samples = &profile.samples;
    let mut tasks = Tasks::new(profile, keys);
    let mut accesses = Accesses::new(profile, data, keys);
    let has_lines = keys.contains(&Key::Line);
    // Samples of one task and access that end in one place are added up first: there are far fewer.
    let mut ended: Map<(u32, u32, CallNodeId, Option<StackId>), Sum> = Map::new();
    let passes = |row: &usize| filter.is_of_event(*row) && filter.removed_by(*row).is_none();
    for row in filter.rows().filter(passes) {
        let thread = samples.thread.at(row);
        let stack = samples.stack[row];
        if let Some(leaf) = ends.of(thread, stack) {
            let task = tasks.number(thread, samples.cpu.at(row), samples.time_nanos.at(row));
            let sum = match measure {
                Measure::Period => filter.sum(row),
                Measure::Cost => Sum { weight: data.cost(profile, row), ..filter.sum(row) },
            };
            let end = (task, accesses.number(row), leaf, has_lines.then_some(stack));
            ended.entry(end).or_default().add(sum);
        }
    }
    let mut codes = Codes::new(profile, symbols, tree, keys);
    let mut sums: Map<(u32, u32, u32), (Sum, Sum)> = Map::new();
    // By code: for which of `ended` it was met last.
    let mut met = vec![usize::MAX; codes.tuples.all.len()];
    let mut on_path = Vec::new();
    for (end, ((task, access, leaf, stack), sum)) in ended.into_iter().enumerate() {
        let mut lines = stack.map(|stack| LinesOfStack::new(observed, stack));
        let own = codes.of_leaf(leaf, lines.as_mut());
        sums.entry((task, access, own)).or_default().0.add(sum);
        let path = match measure {
            Measure::Period => Some(leaf),
            // perf does not count accesses for callers, and there would be a row for each caller of each.
            Measure::Cost => None,
        };
        on_path.clear();
        on_path.push(own);
        let callers = std::iter::successors(path, |&id| tree.parent(id)).skip(1);
        on_path.extend(callers.filter_map(|id| codes.of(id, lines.as_mut())));
        for &code in &on_path {
            met.resize(met.len().max(code as usize + 1), usize::MAX);
            if std::mem::replace(&mut met[code as usize], end) != end {
                sums.entry((task, access, code)).or_default().1.add(sum);
            }
        }
    }
    let row = |((task, access, code), (self_sum, total)): ((u32, u32, u32), (Sum, Sum))| {
        let mut of_task = tasks.tuples.all[task as usize].iter();
        let mut of_access = accesses.tuples.all[access as usize].iter();
        let mut of_code = codes.tuples.all[code as usize].iter();
        let values = keys.iter().filter_map(|key| match key.subject() {
            KeySubject::Task => of_task.next().copied(),
            KeySubject::Access => of_access.next().copied(),
            KeySubject::Code => of_code.next().copied(),
        });
        Row { values: values.collect(), self_sum, total }
    };
    sums.into_iter().map(row).collect()
}

/// Lists of values, numbered.
#[derive(Default)]
struct Tuples {
    numbers: Map<Vec<Value>, u32>,
    all: Vec<Vec<Value>>,
}

impl Tuples {
    fn number(&mut self, tuple: Vec<Value>) -> u32 {
        let all = &mut self.all;
        *self.numbers.entry(tuple).or_insert_with_key(|tuple| {
            all.push(tuple.clone());
            all.len() as u32 - 1
        })
    }
}

/// What samples have for the keys of tasks, CPUs and times.
struct Tasks<'a> {
    profile: &'a Profile,
    keys: Vec<Key>,
    has_cpus: bool,
    piece: Option<NonZeroU64>,
    tuples: Tuples,
    known: Map<(ThreadId, u16, u64), u32>,
}

impl<'a> Tasks<'a> {
    fn new(profile: &'a Profile, keys: &[Key]) -> Self {
        let of_task = keys.iter().copied().filter(|key| key.subject() == KeySubject::Task);
        let keys: Vec<Key> = of_task.collect();
        let has_cpus = keys.iter().any(|key| matches!(key, Key::Cpu | Key::Socket));
        let piece = keys.iter().find_map(|key| match key {
            Key::Time(piece) => Some(*piece),
            _ => None,
        });
        Self { profile, keys, has_cpus, piece, tuples: Tuples::default(), known: Map::new() }
    }

    fn number(&mut self, thread: ThreadId, cpu: u16, time: u64) -> u32 {
        let cpu = if self.has_cpus { cpu } else { NO_CPU };
        let time = self.piece.map_or(0, |piece| time - time % piece);
        let Self { profile, keys, tuples, known, .. } = self;
        *known.entry((thread, cpu, time)).or_insert_with(|| {
            let threads = &profile.threads;
            let task = threads.thread(thread);
            let value = |key: &Key| match key {
                Key::Comm => Value::Comm(task.name),
                Key::Pid => Value::Pid(threads.process(task.process).pid),
                Key::Tid => Value::Tid(task.tid),
                Key::Cpu if cpu != NO_CPU => Value::Cpu(cpu),
                Key::Socket => {
                    let socket = profile.machine.socket_of_cpu.get(usize::from(cpu));
                    socket.map_or(Value::Nothing, |&socket| Value::Socket(socket))
                }
                Key::Time(_) => Value::Time(time),
                _ => Value::Nothing,
            };
            tuples.number(keys.iter().map(value).collect())
        })
    }
}

/// What samples have for the keys of memory accesses.
struct Accesses<'a> {
    profile: &'a Profile,
    data: &'a AccessNames,
    keys: Vec<AccessKey>,
    tuples: Tuples,
    /// What all samples have if there is no key.
    none: Option<u32>,
}

impl<'a> Accesses<'a> {
    fn new(profile: &'a Profile, data: &'a AccessNames, keys: &[Key]) -> Self {
        let of_access = |key: &Key| match key {
            Key::Access(key) => Some(*key),
            _ => None,
        };
        let keys: Vec<AccessKey> = keys.iter().filter_map(of_access).collect();
        let mut tuples = Tuples::default();
        let none = keys.is_empty().then(|| tuples.number(Vec::new()));
        Self { profile, data, keys, tuples, none }
    }

    fn number(&mut self, row: usize) -> u32 {
        let Self { profile, data, keys, tuples, none } = self;
        none.unwrap_or_else(|| {
            let value = |&key| Value::Access(data.value(profile, row, key));
            tuples.number(keys.iter().map(value).collect())
        })
    }
}

/// The CPU of samples without one.
const NO_CPU: u16 = u16::MAX;

/// What call nodes have for the keys of code.
struct Codes<'a> {
    tree: &'a CallTree,
    keys: Vec<Key>,
    tuples: Tuples,
    /// By call node; `None` for what is no code. As of no line.
    of: Vec<Option<u32>>,
    /// What samples without a frame have.
    none: u32,
    /// By what is known without the line.
    with_lines: Map<(u32, SourceLine), u32>,
}

impl<'a> Codes<'a> {
    fn new(profile: &Profile, symbols: &Symbols, tree: &'a CallTree, keys: &[Key]) -> Self {
        let is_of_code = |key: &Key| key.subject() == KeySubject::Code;
        let keys: Vec<Key> = keys.iter().copied().filter(is_of_code).collect();
        let labels = Labels::new(profile, symbols);
        let files = keys.contains(&Key::File).then(|| FilesOfFunctions::new(profile, symbols));
        let mut tuples = Tuples::default();
        let none = tuples.number(vec![Value::Nothing; keys.len()]);
        let of = tree.ids().map(|id| {
            let label = tree.label(id);
            let value = |key: &Key| {
                let value = match key {
                    Key::Function => label.function().map(Value::Function),
                    Key::File => label
                        .function()
                        .and_then(|function| files.as_ref()?.of(function))
                        .map(Value::File),
                    Key::Line => None,
                    _ => labels.dso(label).map(Value::Dso),
                };
                value.unwrap_or(Value::Nothing)
            };
            let is_code = !label.is_group();
            is_code.then(|| tuples.number(keys.iter().map(value).collect()))
        });
        let of = of.collect();
        Self { tree, keys, tuples, of, none, with_lines: Map::new() }
    }

    /// Call nodes of a path are asked for from the leaf on, if there are lines.
    fn of(&mut self, id: CallNodeId, lines: Option<&mut LinesOfStack>) -> Option<u32> {
        let code = self.of[id.0 as usize]?;
        let Some(line) = lines.and_then(|lines| lines.next_of(self.tree.label(id))) else {
            return Some(code);
        };
        let Self { keys, tuples, with_lines, .. } = self;
        Some(*with_lines.entry((code, line)).or_insert_with(|| {
            let of_code = keys.iter().zip(&tuples.all[code as usize]);
            let value = |(key, value): (&Key, &Value)| match key {
                Key::Line => Value::Line(line),
                _ => *value,
            };
            let values = of_code.map(value).collect();
            tuples.number(values)
        }))
    }

    fn of_leaf(&mut self, id: CallNodeId, lines: Option<&mut LinesOfStack>) -> u32 {
        self.of(id, lines).unwrap_or(self.none)
    }
}

/// The lines that the frames of a stack are at.
struct LinesOfStack {
    /// Of each level of its frames, the innermost first.
    levels: Vec<(FunctionId, Option<SourceLine>)>,
    /// The first that was not met yet.
    next: usize,
}

impl LinesOfStack {
    fn new(observed: Observed<'_>, stack: StackId) -> Self {
        let Observed { profile, symbols, inlines, .. } = observed;
        let mut levels = Vec::new();
        for frame in profile.stacks.frames(stack) {
            // What a link tells of a frame is the line of some call of the function.
            let is_told = !symbols.came_with_a_link(frame);
            let line = |level: &Level| {
                let line = SourceLine { file: level.file, line: level.line };
                let is_known = is_told && line.file.is_some() && line.line.is_some();
                (level.function, is_known.then_some(line))
            };
            let of_frame = symbols.levels(frame);
            match inlines {
                Inlines::Shown => levels.extend(of_frame.iter().rev().map(line)),
                // The line of the instruction, as in perf, and not that of a call which was inlined.
                Inlines::Merged => levels.extend(
                    of_frame
                        .first()
                        .zip(of_frame.last())
                        .map(|(own, innermost)| (own.function, line(innermost).1)),
                ),
            }
        }
        Self { levels, next: 0 }
    }

    /// That of the next frame of what a call node is called, further out than the last one.
    fn next_of(&mut self, label: Label) -> Option<SourceLine> {
        let function = label.function()?;
        let mut rest = self.levels.iter().enumerate().skip(self.next);
        let (place, (_, line)) = rest.find(|(_, (it, _))| *it == function)?;
        self.next = place + 1;
        *line
    }
}
