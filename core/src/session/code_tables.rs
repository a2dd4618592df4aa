//! What processes say themselves of the code that they made: which tables are used, and what becomes of the
//! profile.
//!
//! A table has no identity, so nothing of it matches. It is used if its process was recorded, if its times are by
//! the recording's clock, and if what ran is in it. Its code is a DSO of its own then, one for each process, and
//! frames in memory without a file become frames of that ([`Profile::place_code`]). So do those of stacks that are
//! unwound later.
//!
//! [`Profile::place_code`]: perftab_profile::Profile::place_code

use std::num::NonZeroU32;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use perftab_dsos::{MadeCode, pid_of_jitdump, pid_of_perf_map};
use perftab_images::{
    AdmittedFile, Clock, CodeLine, CodeOrigin, CodeTable, DsoNaming, Image, LeftOut, MAX_CODE,
    Machine, MadeCodeRules, NamingDepth, OfferReport, RecordedIdentities, Rejection, Svma,
    UnwoundMachine,
};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::format::perftab_section::PerfMap;
use perftab_perfdata::map::{Map, Set};
use perftab_perfdata::text::{counted, grouped, printable};
use perftab_profile::{CodeMet, DsoId, DsoKind, FrameId, MappedFrom, ProcessId, RunTime};
use perftab_snapshot::Facts;
use perftab_views::coverage::Uses;

use super::Session;
use super::times::Times;
use super::unwinding::RuledCode;

/// One in so many addresses has to be in code that is told of: else it is that of another run.
const LEAST_KNOWN: u64 = 10;

/// Tables that are kept until stacks have been unwound.
const MAX_WAITING: usize = 256;

/// A table that is used.
pub(super) struct PlacedTable {
    table: Rc<CodeTable>,
    /// How callers of its code are found, if it tells.
    rules: Option<Rc<MadeCodeRules>>,
    process: ProcessId,
    dso: DsoId,
}

/// Where the code is that a process made, by its jitdump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeCodePlace {
    /// What the host calls the jitdump.
    pub file: String,
    /// Whose it is, by the number that was recorded.
    pub pid: Option<u32>,
    /// What it is encoded for.
    pub machine: Machine,
    /// Where its bytes are in the jitdump, which is how frames count.
    pub bytes: Range<u64>,
    /// Where it was made in the process; it may have been moved since.
    pub made_at: Svma,
}

/// Whose a table is.
enum Owner<'a> {
    /// Of the process that the recording says mapped it.
    Mapped(&'a RunTime),
    /// Of the one that has its number.
    Numbered(&'a RunTime),
}

/// What processes say in a recording.
pub(super) fn recorded(perf_maps: Vec<PerfMap>) -> Vec<CodeTable> {
    let mut pids = Set::new();
    let table = |PerfMap { pid, text }| {
        // A process has one.
        pids.insert(pid).then_some(())?;
        let name = format!("/tmp/perf-{pid}.map");
        let image = Image::open(&name, Box::new(SliceSource::new(text))).ok()?;
        let mut table = image.code_table()?.ok()?;
        table.name = format!("{name} in the recording");
        Some(table)
    };
    perf_maps.into_iter().filter_map(table).collect()
}

/// What a table tells, in words.
fn sentence(table: &CodeTable) -> &'static str {
    match table.has_lines() {
        true => "function names and source lines",
        false => "function names only",
    }
}

/// What of a table is not used, in words that follow others; empty if there is nothing.
fn left_out(table: &CodeTable) -> String {
    let LeftOut { of_others, too_large, no_lines } = table.left_out;
    let records = |count| counted(count, "record", "records");
    let mut words = String::new();
    if of_others > 0 {
        words += &format!("; {} of other processes left out", records(of_others));
    }
    if too_large > 0 {
        words +=
            &format!("; {} of lines or unwind tables left out, as too large", records(too_large));
    }
    if no_lines > 0 {
        let lines = counted(no_lines, "line", "lines");
        words += &format!("; {lines} left out, as not of the form START SIZE NAME");
    }
    words
}

/// A table that is to be used: whose it is, and what was checked, in words.
type Decided = (CodeTable, ProcessId, String);

impl Session {
    /// Places what waits for stacks that lead to its code, as far as they do: what the recording has, and what was offered.
    pub(super) fn take_waiting_code(&mut self) {
        if self.waiting_code.is_empty() {
            return;
        }
        let run_times = self.profile.run_times();
        let mut decided = Vec::<Decided>::new();
        for table in std::mem::take(&mut self.waiting_code) {
            match self.decide(&table, &run_times) {
                // Of several files of a process the first tells most.
                Ok((process, _)) if decided.iter().any(|(_, of, _)| *of == process) => {}
                Ok((process, checked)) => decided.push((table, process, checked)),
                Err(_) => self.waiting_code.push(table),
            }
        }
        self.place(decided);
    }

    /// Decides on tables that were in a file which was offered, and says so in its report.
    pub fn settle(&mut self, tables: Vec<CodeTable>, report: &mut OfferReport) {
        let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
        for (name, decided) in names.iter().zip(self.take_code_tables(tables)) {
            report.settle(name, decided);
        }
    }

    /// Takes in what processes say of their code, or tells of each why it is not used. Each name is marked as the
    /// process's own.
    pub fn take_code_tables(
        &mut self,
        tables: Vec<CodeTable>,
    ) -> Vec<Result<AdmittedFile, Rejection>> {
        if tables.is_empty() {
            return Vec::new();
        }
        let run_times = self.profile.run_times();
        let (mut answers, mut decided) = (Vec::new(), Vec::<Decided>::new());
        for table in tables {
            answers.push(match self.decide(&table, &run_times) {
                Ok((process, _)) if decided.iter().any(|(_, of, _)| *of == process) => {
                    // Of several files of a process the first tells most.
                    let message = "another file has the names of its process".to_owned();
                    Some(Rejection::CodeTable { message })
                }
                Ok((process, checked)) => {
                    decided.push((table, process, checked));
                    None
                }
                Err(message) => {
                    for dso in self.of_code_table(&table.name) {
                        self.ledger.note(dso, &table.name, &message);
                    }
                    self.wait_for_stacks(table);
                    Some(Rejection::CodeTable { message })
                }
            });
        }
        let gives: Vec<&str> = decided.iter().map(|(table, ..)| sentence(table)).collect();
        let mut placed = self.place(decided).into_iter().zip(gives);
        let answer = |refused: Option<Rejection>| match refused {
            Some(refused) => Err(refused),
            None => {
                let (dso, gives) = placed.next().unzip();
                Ok(AdmittedFile { dsos: Vec::from_iter(dso), gives: gives.unwrap_or_default() })
            }
        };
        answers.into_iter().map(answer).collect()
    }

    /// Keeps a table to which stacks may lead that are unwound later.
    fn wait_for_stacks(&mut self, table: CodeTable) {
        self.waiting_code.retain(|known| known.name != table.name);
        if self.profile.asks_for_unwind_tables() && self.waiting_code.len() < MAX_WAITING {
            self.waiting_code.push(table);
        }
    }

    /// Whose code it is, and what was checked; or why it is of none that was recorded.
    fn decide(
        &self,
        table: &CodeTable,
        run_times: &[RunTime],
    ) -> Result<(ProcessId, String), String> {
        let owner = self.owner(table, run_times)?;
        let (Owner::Mapped(run_time) | Owner::Numbered(run_time)) = owner;
        let process = run_time.process;
        let clock = self.check_clock(table.clock)?;
        let arch = self.profile.host.arch.as_deref().unwrap_or_default();
        if !table.may_run_on(arch) {
            return Err(format!("its code is of another machine than {}", printable(arch)));
        }
        let CodeMet { addresses, known } = self.profile.code_met(run_time, table.changes());
        let twice = match table.clock {
            Clock::Absent => table.names_twice(&known),
            _ => 0,
        };
        let replaced = match twice {
            0 => String::new(),
            _ => format!(
                "; {} of these had other code before, and {} the last name all along (a jitdump \
                 tells which it was when)",
                grouped(twice),
                if twice == 1 { "has" } else { "have" }
            ),
        };
        let known = known.len() as u64;
        let pid = self.profile.threads.process(process).pid;
        let of = format!(
            "{} of {} in code {clock}{replaced}{}",
            grouped(known),
            counted(addresses, "address", "addresses"),
            left_out(table)
        );
        if known == 0 || known < addresses / LEAST_KNOWN {
            return Err(format!(
                "it is of another run, or was written before its process made the code that was \
                 recorded: {of}; force it if you know better"
            ));
        }
        let whose = match owner {
            Owner::Mapped(_) => "pid, mapped by it",
            Owner::Numbered(_) => "pid",
        };
        let by = match table.clock {
            Clock::Absent => "no clock",
            _ => "clock monotonic",
        };
        Ok((process, format!("named by process {pid} itself, checked: {whose}, {by}, {of}")))
    }

    /// Which process a table is of.
    fn owner<'a>(&self, table: &CodeTable, run_times: &'a [RunTime]) -> Result<Owner<'a>, String> {
        let pid = table
            .pid
            .ok_or("nothing tells whose code it is of: a perf map must be called perf-PID.map")?;
        if let Some(owner) = self.mapped_by(table, run_times) {
            return Ok(owner);
        }
        let has_pid = |it: &&RunTime| self.profile.threads.process(it.process).pid == pid;
        let of_pid: Vec<&'a RunTime> = run_times.iter().filter(has_pid).collect();
        let found = match (table.clock, &of_pid[..]) {
            (_, []) if let Some(known) = self.table_of_pid(pid) => {
                return Err(format!(
                    "the code of process {pid} that was recorded has names already, from {}",
                    printable(&known.name)
                ));
            }
            (_, []) => {
                let so_far = match self.profile.asks_for_unwind_tables() {
                    false => "",
                    true => " so far: it waits for stacks that are unwound and lead there",
                };
                return Err(format!(
                    "it is of process {pid}, of which no code in memory without a file was recorded{so_far} \
                     (in a container a process has another number than outside, where it was \
                     recorded)"
                ));
            }
            (Clock::Absent, [only]) if self.is_last_of_pid(only.process) => only,
            (Clock::Absent, [_]) => {
                return Err(format!(
                    "process {pid} ran another program after the code that was recorded, and it does \
                     not tell which it is of; force it if you know"
                ));
            }
            (_, [only]) => only,
            (Clock::Monotonic { begun }, _) => {
                let goes_on = |it: &&&RunTime| it.sampled.1 >= begun;
                of_pid
                    .iter()
                    .find(goes_on)
                    .ok_or("its process ended before it tells of any code")?
            }
            _ => {
                return Err(format!(
                    "{} had the number {pid} while it was recorded, and it does not tell which it is \
                     of; force it if you know",
                    counted(of_pid.len() as u64, "process", "processes")
                ));
            }
        };
        Ok(Owner::Numbered(found))
    }

    /// Whether no process has had its number since, nor another program it.
    fn is_last_of_pid(&self, process: ProcessId) -> bool {
        let processes = &self.profile.threads.processes;
        let pid = self.profile.threads.process(process).pid;
        processes.iter().skip(process.index() + 1).all(|later| later.pid != pid)
    }

    fn table_of_pid(&self, pid: u32) -> Option<&CodeTable> {
        let is_its = |it: &&PlacedTable| self.profile.threads.process(it.process).pid == pid;
        self.code_tables.iter().find(is_its).map(|it| &*it.table)
    }

    /// The process that mapped a jitdump of this name, as run times do to have it in the recording.
    fn mapped_by<'a>(&self, table: &CodeTable, run_times: &'a [RunTime]) -> Option<Owner<'a>> {
        let Clock::Monotonic { begun } = table.clock else { return None };
        let dsos = self.profile.dsos.iter();
        let pid = |process| Some(self.profile.threads.process(process).pid);
        let by = dsos.filter_map(|(_, dso)| {
            let (process, named) = (dso.process?, pid_of_jitdump(&dso.path)?);
            [Some(named), pid(process)].contains(&table.pid).then_some(process)
        });
        let by: Vec<ProcessId> = by.collect();
        let mut mapped = run_times.iter().filter(|it| by.contains(&it.process));
        mapped.find(|it| it.sampled.1 >= begun).map(Owner::Mapped)
    }

    /// Whether its times are those of the recording, in words that follow "code".
    fn check_clock(&self, clock: Clock) -> Result<&'static str, String> {
        let recorded = self.profile.recorder.clock;
        match (clock, recorded) {
            (Clock::Absent, _) => Ok("of its process"),
            (Clock::Processor, _) => Err("its times are those of the processor's counter, which \
                                          tell nothing of the recording's: let the run time use \
                                          CLOCK_MONOTONIC, and record with -k mono"
                .to_owned()),
            (Clock::Monotonic { .. }, Some("monotonic")) if self.profile.samples.is_in_order() => {
                Ok("of its time")
            }
            (Clock::Monotonic { .. }, Some("monotonic")) => {
                Err("the samples of the recording are not in the order of time".to_owned())
            }
            (Clock::Monotonic { .. }, other) => Err(format!(
                "its times are by CLOCK_MONOTONIC, and those of the recording by {}: record with \
                 `perf record -k mono` or `perftab record`",
                other.unwrap_or("perf's own clock")
            )),
        }
    }

    /// Places the code of tables. Tells which DSOs it is.
    fn place(&mut self, decided: Vec<Decided>) -> Vec<DsoId> {
        if decided.is_empty() {
            return Vec::new();
        }
        self.symbols.let_go_of_readers();
        let (known_frames, known_tables) = (self.profile.frames.len(), self.code_tables.len());
        for (table, process, checked) in decided {
            let path = self.table_path(&table, process);
            let dsos = &mut Arc::make_mut(&mut self.profile).dsos;
            let dso = dsos.intern(&path, DsoKind::Jit, MappedFrom::Nothing, Some(process));
            self.ledger.extend(&self.profile.dsos);
            self.ledger.self_named(dso, &table.name, checked, sentence(&table));
            let table = Rc::new(table);
            let rules = self.rules_of(&table);
            if rules.is_some() {
                self.unwound.code_has_rules(&self.profile.dsos, process);
            }
            self.code_tables.push(PlacedTable { table, rules, process, dso });
        }
        self.recorded = RecordedIdentities::new(&self.profile.dsos);
        self.frames_changed(known_frames, known_tables);
        self.code_tables[known_tables..].iter().map(|it| it.dso).collect()
    }

    /// How callers of a table's code are found, where there are stacks for it.
    fn rules_of(&self, table: &Rc<CodeTable>) -> Option<Rc<MadeCodeRules>> {
        let machine = UnwoundMachine::of(self.profile.host.arch.as_deref()?)?;
        let has_use = self.profile.stack_dumps > 0 && table.has_rules();
        has_use.then(|| MadeCodeRules::of(Rc::clone(table), machine).into())
    }

    /// The code that processes made and say how its callers are found.
    pub(super) fn code_with_rules(&self) -> Map<ProcessId, RuledCode> {
        let mut ruled = Map::new();
        for PlacedTable { table, rules, process, dso } in &self.code_tables {
            if let Some(rules) = rules {
                ruled.insert(*process, RuledCode::new(*dso, Rc::clone(table), Rc::clone(rules)));
            }
        }
        ruled
    }

    /// What the DSO of a table is called.
    fn table_path(&self, table: &CodeTable, process: ProcessId) -> String {
        match table.clock {
            Clock::Absent => format!("/tmp/perf-{}.map", self.profile.threads.process(process).pid),
            _ => table.name.rsplit(['/', '\\']).next().unwrap_or(&table.name).to_owned(),
        }
    }

    /// Samples have other frames, new ones from that number on: places the code of the tables from that one on, and
    /// makes anew whatever was made of the frames before.
    pub(super) fn frames_changed(&mut self, known_frames: usize, known_tables: usize) {
        self.symbols.let_go_of_readers();
        let tables = std::mem::take(&mut self.code_tables);
        let profile = Arc::make_mut(&mut self.profile);
        let run_times = if tables.is_empty() { Vec::new() } else { profile.run_times() };
        let mut place = |placed: &PlacedTable| {
            let run_time = run_times.iter().find(|it| it.process == placed.process)?;
            Some(profile.place_code(run_time, placed.dso, placed.table.changes()))
        };
        let named = tables[known_tables..].iter().filter_map(|it| Some((it, place(it)?)));
        let named: Vec<_> = named.collect();
        let Uses { frames, dsos, .. } = Uses::of(&self.profile);
        self.frame_uses = frames;
        self.facts = Facts::with_uses(&self.profile, dsos).into();
        let symbols = self.symbols.change();
        symbols.extend(&self.profile);
        for (PlacedTable { table, dso, .. }, placed) in named {
            let frames: Vec<FrameId> = placed.iter().map(|&(frame, _)| frame).collect();
            let code = placed.iter().map(|&(frame, name)| {
                let offset = self.profile.frames.get(frame).address;
                MadeCode { offset, name }
            });
            let code: Vec<MadeCode> = code.collect();
            let mut naming = DsoNaming::new(*dso, NamingDepth::Functions);
            symbols.self_named(*dso, &frames, &naming.by_code_table(table, &code));
        }
        for embedded in &self.embedded {
            symbols.embedded(&self.profile, embedded);
        }
        self.code_tables = tables;
        self.name_again(known_frames);
        self.times = Times::default();
        self.names_changed();
    }

    /// Where the code is that a frame of a jitdump's DSO lies in. `None` for any other, and for a perf map, which has no code.
    pub fn made_code(&self, dso: DsoId, address: u64) -> Option<MadeCodePlace> {
        let table = self.table_of(dso)?;
        let (Range { start, end }, made_at) = table.code_around(address)?;
        let bytes = start..end.min(start.saturating_add(MAX_CODE));
        let arch = self.profile.host.arch.as_deref();
        let machine = match table.machine {
            Some(machine) => Machine::from_elf(machine),
            None => Machine::from_uname(arch.unwrap_or_default()),
        };
        Some(MadeCodePlace {
            file: table.name.clone(),
            pid: table.pid,
            machine: machine?,
            bytes,
            made_at: Svma(made_at),
        })
    }

    /// Whether the code of a DSO is in a jitdump.
    pub fn has_jitdump(&self, dso: DsoId) -> bool {
        self.table_of(dso).is_some_and(|table| table.clock != Clock::Absent)
    }

    /// What a jitdump says that its code was made of, if the DSO is one's.
    pub(super) fn made_origins(&self, dso: DsoId, addresses: &[u64]) -> Option<Vec<CodeOrigin>> {
        let table = self.table_of(dso)?;
        let mut files: Map<&str, Rc<str>> = Map::new();
        let mut origin = |&address: &u64| {
            let (file, line) = table.line_at(address).unzip();
            let line = file.zip(line.and_then(NonZeroU32::new)).map(|(file, line)| {
                let file = files.entry(file).or_insert_with(|| file.into());
                CodeLine { file: Rc::clone(file), line }
            });
            CodeOrigin { inlined: None, line }
        };
        Some(addresses.iter().map(&mut origin).collect())
    }

    fn table_of(&self, dso: DsoId) -> Option<&CodeTable> {
        self.code_tables.iter().find(|it| it.dso == dso).map(|it| &*it.table)
    }

    /// What the tables are called that are used.
    pub fn used_code_tables(&self) -> impl Iterator<Item = &str> {
        self.code_tables.iter().map(|it| &*it.table.name)
    }

    /// Memory without a file in the processes that would write a perf map or a jitdump of this name; nothing for
    /// another name. A process in a container names it by its pid in there, which is not recorded.
    pub(super) fn of_code_table(&self, name: &str) -> Vec<DsoId> {
        let Some(pid) = pid_of_perf_map(name).or_else(|| pid_of_jitdump(name)) else {
            return Vec::new();
        };
        let threads = &self.profile.threads;
        let dsos = self.profile.dsos.iter().filter(|(_, dso)| dso.kind == DsoKind::Anon);
        let is_its = |process: ProcessId| threads.process(process).pid == pid;
        dsos.filter(|(_, dso)| dso.process.is_some_and(is_its)).map(|(id, _)| id).collect()
    }
}
