//! The end of a recording: feature sections, the final header, and what the user is told.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use perftab_perfdata::format::feature::Feature;
use perftab_perfdata::format::perftab_section::{PerftabSection, RecorderState};
use perftab_perfdata::format::write::{CpuMode, EventDescription};
use perftab_perfdata::format::{perftab_section, write};

use super::clock::Clock;
use super::counters::Counters;
use super::embed::hit_files::{self, Added, HalfChanged};
use super::embed::{self, EmbedKind, Embedding, ProcessCode, SumOfCode};
use super::events::{self, EventSpec};
use super::explain;
use super::host::Machine;
use super::identify::{BUDGET, Identified, Identifier};
use super::kernel::{KERNEL_NAME, RunningKernel};
use super::mapped_files::changed_since;
use super::options::{BuildIdTable, CallChains, OffCpu, Plan};
use super::output_options::OutputPlan;
use super::packer::PackingLevel;
use super::part::{Destination, Part};
use super::recording_file::{EventHead, FileEnd, LeftOut};
use super::recording_stream;
use super::session::{Ending, Session};
use super::tally::{Tally, VdsoSeen};
use crate::output::{self, notice, printable};
use crate::result_file::{is_full, is_too_long, remedy};

/// A recording of so many bytes may surprise whoever has its stacks walked.
const MANY_COPIES: u64 = 16 << 20;

/// What came of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingOutcome {
    /// Every sample that was taken.
    All,
    /// The kernel had to drop some.
    WithLosses,
    /// Those before the disk was full.
    UntilFull,
}

impl Session {
    /// Completes the file and says what is in it.
    pub fn finish(
        mut self,
        ending: &Ending,
        exit_code: Option<u8>,
        plan: &Plan,
    ) -> Result<RecordingOutcome> {
        let path = match (&plan.output, &mut self.parts) {
            (OutputPlan::Flight(path, _), _) => path.clone(),
            // From now on it has the name that it keeps.
            (_, Some(parts)) => parts.keep()?,
            (OutputPlan::File(path) | OutputPlan::Parts(path, _), None) => path.clone(),
            (OutputPlan::Stream, None) => recording_stream::NAME.into(),
        };
        if let Some(flight) = &self.flight {
            if !flight.writes_at_end(exit_code) {
                if !self.is_quiet {
                    notice("the command did not fail: nothing is written");
                }
                return Ok(RecordingOutcome::All);
            }
            self.part = self.recall(&path, plan)?;
        }
        self.write_late_losses();
        let mut identifier = self.identifier.take();
        let finish = |identifier: &mut Identifier| identifier.finish(Instant::now() + BUDGET);
        let identified = identifier.as_mut().map(finish).unwrap_or_default();
        let changed = match self.build_ids {
            BuildIdTable::Written => changed_since(self.clock.read_at(), &self.part.tally),
            BuildIdTable::LeftOut | BuildIdTable::MappingsOnly => BTreeSet::new(),
        };
        let code = self.code_of_processes();
        let of_code = code.sum();
        let end = self.file_end(&identified, RecorderState::Ended, code);
        let Self {
            part,
            kernel,
            counters,
            parts,
            lost_before,
            is_quiet,
            embed,
            unwinder,
            embedding,
            ..
        } = self;
        let fared = unwinder.map(|unwinder| unwinder.fared());
        let skipped = fared.map_or(0, |fared| fared.skipped);
        let Part { to, tally, failure, .. } = part;
        let lost = tally.lost();
        let is_stream = matches!(to, Destination::Stream(_));
        let (mut size, left_out) = to.finish(end)?;
        let failure = match ending {
            Ending::WriteFailed(error) => Some(error),
            _ => failure.as_ref(),
        };
        let hit_files = match failure {
            None => embed::parts_of_files(&embed),
            Some(_) => Vec::new(),
        };
        // It reads the same open files.
        let left_out_before = embedding.map_or(0, Embedding::finish);
        let mut added = match hit_files.is_empty() {
            true => Added::default(),
            // Without them it is as whole as any other recording.
            false => {
                let open = identifier.as_ref().map(Identifier::files).unwrap_or_default();
                match hit_files::add(&path, &hit_files, &open) {
                    Ok(added) => added,
                    Err(error) if error.is::<HalfChanged>() => return Err(error),
                    Err(error) => {
                        output::failure(&error);
                        Added::default()
                    }
                }
            }
        };
        added.left_out += left_out_before;
        size += added.growth;
        if let Some(mut parts) = parts {
            parts.remove_oldest();
        }
        warn_of_replaced(&tally, &changed, &identified, &embed);
        // On a disk that is full there was no room, however few samples there are.
        let advice = match failure.is_some_and(is_full) {
            true => Advice::LeftOut,
            false => Advice::Given,
        };
        warn(&tally, kernel.as_ref(), lost, &counters, advice);
        if skipped > 0 && failure.is_none() {
            notice(format_args!(
                "{} keep copies of their stacks, as there was no time to walk these; readers do, \
                 and a lower -F needs less",
                output::counted(skipped, "sample", "samples")
            ));
        }

        let unfinished = fared.map_or(tally.samples, |fared| fared.unfinished);
        if matches!(plan.chains, CallChains::Unwound { .. })
            && unfinished > 0
            && size > MANY_COPIES
            && failure.is_none()
        {
            notice(format_args!(
                "{} keep copies of their stacks, which were not walked to the root; -z packs them, \
                 and --call-graph dwarf,8192 makes them smaller",
                output::counted(unfinished, "sample", "samples")
            ));
        }

        let (word, path) = (output::shell_word(&path), path.display());
        let samples = output::counted(tally.samples, "sample", "samples");
        if let Some(error) = failure {
            let without = match left_out {
                LeftOut::Nothing => "",
                LeftOut::Something => ", without build-ids or symbols",
            };
            let remedy = match remedy(error) {
                Some(remedy) if is_too_long(error) && !is_stream => {
                    format!("; {remedy}, or stay below it with --switch-output=SIZE")
                }
                Some(remedy) => format!("; {remedy}"),
                None => String::new(),
            };
            let reason = output::reason(error);
            let holds = if is_stream { "there are" } else { "it holds" };
            notice(format_args!(
                "writing {path} stopped: {reason}; {holds} the {samples} until then{without}{remedy}"
            ));
            return Ok(RecordingOutcome::UntilFull);
        }
        if !is_quiet {
            say_what_is_embedded(&of_code, added);
            let size = output::size(size);
            let next = match is_stream {
                true => String::new(),
                false => format!("; next: perftab report {word}, or perftab view {word}"),
            };
            let losses = match (lost, tally.lost_sideband) {
                (0, 0) => "none lost".to_owned(),
                (0, records) => {
                    let records = output::counted(records, "record", "records");
                    format!("{records} of mappings and threads lost")
                }
                _ => format!("{} lost", output::grouped(lost)),
            };
            notice(match (tally.samples, lost) {
                (0, 0) if plan.off_cpu == OffCpu::Recorded => format!(
                    "no samples, {size} in {path}: all of it waited, and waiting counts from when \
                     it is seen to begin; record longer"
                ),
                (0, 0)
                    if plan.events.iter().all(EventSpec::is_sampled_each_time)
                        && !plan.events.is_empty() =>
                {
                    format!("no samples, {size} in {path}: nothing of this occurred")
                }
                (0, 0) => format!(
                    "no samples, {size} in {path}: nothing ran long enough; raise -F, or record longer"
                ),
                _ => format!("{samples}, {losses}, {size} in {path}{next}"),
            });
        }
        let has_losses = lost > 0 || tally.lost_sideband > 0 || lost_before > 0;
        Ok(if has_losses { RecordingOutcome::WithLosses } else { RecordingOutcome::All })
    }

    /// What sampled processes say of the code that they made, if it is wanted.
    pub(super) fn code_of_processes(&self) -> ProcessCode {
        let tally = &self.part.tally;
        match self.embed.contains(&EmbedKind::Jit) && self.part.to.has_section() {
            true => ProcessCode::read(&tally.run_times(), self.clock.read_at(), tally.jitdumps()),
            false => ProcessCode::default(),
        }
    }

    /// What stands behind the records, as far as it is known by now.
    pub(super) fn file_end(
        &mut self,
        files: &Identified,
        recorder: RecorderState,
        code: ProcessCode,
    ) -> FileEnd {
        let machine = self.machine.get_or_init(Machine::read);
        let mut features = features_of_start(machine, &self.counters, self.clock);
        features.push((Feature::TRACING_DATA, self.tracing_data.clone()));
        if self.build_ids == BuildIdTable::Written {
            features.push((Feature::BUILD_ID, self.build_id_table(files)));
        }
        features.push((Feature::COMPRESSED, self.part.compression()));
        let (first, last) = self.part.tally.times.unwrap_or((0, 0));
        let mut times = Vec::new();
        write::sample_time(&mut times, first, last);
        features.push((Feature::SAMPLE_TIME, times));
        let has_place = self.embed.contains(&EmbedKind::Kernel) && self.part.to.has_section();
        let kernel = self.kernel.as_ref().filter(|_| has_place);
        let of_kernel = kernel.map(|kernel| self.part.tally.kernel_hits.functions(kernel));
        let section = PerftabSection {
            kernel: of_kernel.unwrap_or_default(),
            os_release: machine.os_release.clone(),
            files: files.identities.clone(),
            sideband: self.counters.sideband.ids.clone(),
            perf_maps: code.perf_maps,
            embedded: code.jitdumps,
            recorder,
        };
        features.retain(|(_, payload)| !payload.is_empty());
        let section = match recorder {
            RecorderState::Ended => perftab_section::encode(&section),
            RecorderState::AtWork => self.encoded_once(section),
        };
        FileEnd { features, section }
    }

    /// The bytes of a section, which most of the time has nothing new.
    fn encoded_once(&mut self, section: PerftabSection) -> Vec<u8> {
        let encoded = self.section.take().filter(|(last, _)| *last == section);
        let encoded = encoded.unwrap_or_else(|| {
            let bytes = perftab_section::encode(&section);
            (section, bytes)
        });
        self.section.insert(encoded).1.clone()
    }

    /// Every file that was mapped executable with an id: also those that no sample hit, so that
    /// nothing needs to be read again to know which were.
    fn build_id_table(&self, files: &Identified) -> Vec<u8> {
        let mut table = Vec::new();
        if let Some(id) = self.kernel.as_ref().and_then(|kernel| kernel.build_id) {
            write::build_id_entry(&mut table, CpuMode::Kernel, id, KERNEL_NAME.as_bytes());
        }
        for (name, id, mode) in self.part.tally.mapped_files() {
            // The kernel's mapping names a symbol too; its entry stands above.
            if !name.starts_with(KERNEL_NAME.as_bytes()) {
                write::build_id_entry(&mut table, mode, id, &name);
            }
        }
        let mapped = self.part.tally.mapped_files();
        for (path, id) in &files.build_ids {
            if !mapped.contains(&(path.clone(), *id, CpuMode::User)) {
                write::build_id_entry(&mut table, CpuMode::User, *id, path);
            }
        }
        // A table entry goes by name, so it must hold for every process.
        if let (VdsoSeen::Native, Some(id)) = (self.part.tally.vdso, self.tasks.vdso_build_id()) {
            write::build_id_entry(&mut table, CpuMode::User, id, b"[vdso]");
        }
        table
    }
}

/// What comes before the records of a stream.
pub(super) fn stream_head(counters: &Counters, packing: Option<PackingLevel>) -> Result<Vec<u8>> {
    let mut features = features_of_start(&Machine::read(), counters, Clock::now());
    // How much smaller they will be, nobody knows yet. perf writes 1 as well.
    features.extend(packing.map(|level| (Feature::COMPRESSED, level.feature(1))));
    let tracing_data = events::tracing_data(Path::new("/"), &counters.tracepoints())?;
    features.push((Feature::TRACING_DATA, tracing_data));
    features.retain(|(_, payload)| !payload.is_empty());
    let described: Vec<_> = counters.described().collect();
    let heads: Vec<_> = described.iter().map(|(_, attr, ids)| EventHead { attr, ids }).collect();
    recording_stream::head(&heads, &features)
}

/// What is known before anything was recorded.
fn features_of_start(
    machine: &Machine,
    counters: &Counters,
    clock: Clock,
) -> Vec<(Feature, Vec<u8>)> {
    let mut features = machine.features.clone();
    features.push((Feature::EVENT_DESC, event_descriptions(counters)));
    let groups = events::groups(counters.events.iter().map(|event| &event.spec));
    if !groups.is_empty() {
        let mut payload = Vec::new();
        write::group_desc(&mut payload, &groups);
        features.push((Feature::GROUP_DESC, payload));
    }
    if counters.run_by_clock() {
        features.extend(clock.features());
    }
    features
}

fn event_descriptions(counters: &Counters) -> Vec<u8> {
    let described: Vec<_> = counters.described().collect();
    let descriptions: Vec<_> = described
        .iter()
        .map(|(spec, attr, ids)| EventDescription { attr, name: &spec.name, ids })
        .collect();
    let mut payload = Vec::new();
    write::event_desc(&mut payload, &descriptions);
    payload
}

fn say_what_is_embedded(of_code: &SumOfCode, added: Added) {
    let SumOfCode { processes, size, too_large, no_lines } = *of_code;
    if processes > 0 {
        notice(format_args!(
            "it contains the perf maps and jitdumps of {}, {} before packing",
            output::counted(processes as u64, "process", "processes"),
            output::size(size)
        ));
    }
    if no_lines > 0 {
        notice(format_args!(
            "{} of perf maps left out, as not of the form START SIZE NAME; a name may have no line break",
            output::counted(no_lines, "line", "lines"),
        ));
    }
    if added.files > 0 {
        notice(format_args!(
            "it contains parts of {}, {} before packing",
            output::counted(added.files as u64, "file", "files"),
            output::size(added.size as u64)
        ));
    }
    let without = too_large + added.left_out;
    if without > 0 {
        notice(format_args!(
            "{} too large to be embedded; keep what they are, too",
            output::counted(without as u64, "file was", "files were"),
        ));
    }
}

impl Session {
    /// Ends a recording that was read while it was made, and says what its reader cannot know.
    pub fn end(mut self) {
        self.write_late_losses();
        let lost = self.part.tally.lost();
        warn(&self.part.tally, self.kernel.as_ref(), lost, &self.counters, Advice::Given);
    }
}

/// Files that changed while they were recorded, each once.
fn warn_of_replaced(
    tally: &Tally,
    changed: &BTreeSet<Vec<u8>>,
    files: &Identified,
    embed: &[EmbedKind],
) {
    let replaced = tally.replaced_files();
    let path = |path: &[u8]| printable(&String::from_utf8_lossy(path)).into_owned();
    for name in &replaced {
        notice(format_args!("{} was replaced while it was recorded: two build-ids", path(name)));
    }
    for name in changed.iter().filter(|name| !replaced.contains(name)) {
        notice(format_args!(
            "{} was replaced while it was recorded: another build is there now; names need the \
             file from before",
            path(name)
        ));
    }
    for name in &files.written {
        notice(format_args!(
            "{} was written to while it was recorded, and has no build-id to show what \
             ran: it gets no names",
            path(name)
        ));
    }
    // Of a whole system there may be many.
    let some = |names: &BTreeSet<Vec<u8>>| {
        let first = path(names.first()?);
        Some(match names.len() - 1 {
            0 => first,
            others => format!("{first} and {others} more"),
        })
    };
    let kept = if embed.contains(&EmbedKind::Symbols) { None } else { some(&files.removed) };
    if let Some(removed) = kept {
        notice(format_args!(
            "removed, without a build-id: {removed}; names are there only as long as it runs, or with --embed symbols"
        ));
    }
    if let Some(unread) = some(&files.too_large) {
        let have = output::counted(files.too_large.len() as u64, "file has", "files have");
        notice(format_args!(
            "{have} no build-id and could not be read in {} s, so no names: {unread}",
            BUDGET.as_secs()
        ));
    }
}

/// Whether it is said how fewer samples are lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Advice {
    Given,
    /// There was no room.
    LeftOut,
}

/// What the user should know of the recording and can do about it.
fn warn(
    tally: &Tally,
    kernel: Option<&RunningKernel>,
    lost: u64,
    counters: &Counters,
    advice: Advice,
) {
    let fewer = match counters.take_each_time() {
        // Tracepoints, of which -F would choose some.
        true => "sample one in N with -c N, or leave some out with --filter",
        false => "use a lower -F",
    };
    for name in kernel.into_iter().flat_map(|kernel| kernel.modules.missed()) {
        notice(format_args!(
            "module {} was unloaded before it could be read: its frames have no names",
            printable(name)
        ));
    }
    if kernel.is_some_and(RunningKernel::addresses_are_hidden) {
        notice(explain::hidden_addresses());
    }
    if tally.lost_sideband > 0 {
        notice(format_args!(
            "{} of mappings and threads lost: what began or was mapped then may have no \
             names, or those of the program before",
            output::counted(tally.lost_sideband, "record", "records")
        ));
    }
    if lost > 0 {
        let share = output::percent(lost as f64, (lost + tally.samples) as f64);
        let kib = 4 * counters.ring_bytes / 1024;
        let larger = match kib % 1024 {
            0 => format!("{}M", kib / 1024),
            _ => format!("{kib}K"),
        };
        let lost = output::counted(lost, "sample", "samples");
        match advice {
            Advice::LeftOut => notice(format_args!("{lost} lost ({share})")),
            Advice::Given => notice(format_args!(
                "{lost} lost ({share}): {fewer}, or use larger buffers with -m {larger}"
            )),
        }
    }
    if tally.throttled > 0 {
        notice(format_args!(
            "the kernel throttled sampling {}; {fewer}",
            output::counted(tally.throttled, "time", "times")
        ));
    }
}
