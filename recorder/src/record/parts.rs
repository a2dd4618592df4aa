//! `--switch-output`: a recording of many files, each whole by itself, of which the oldest may go.
//!
//! As with perf, what is written at present has the name of `-o`, and gets its time behind it once it is complete:
//! `perf.data.YYYYMMDDHHMMSScc`, with hundredths of a second. (perf's is local time; here it is UTC, by which no hour of a
//! night comes twice.)
//!
//! A part begins with a description of what runs, like the first: time 0, so before all samples. Samples go into it from
//! before it is described, so that little ends between the two. What was before is completed only then.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use perftab_perfdata::format::perftab_section::RecorderState;
use perftab_perfdata::text::stamp;

use super::embed::{self, Complete, Embedding};
use super::identify::Identifier;
use super::options::Plan;
use super::output_options::{Rotation, SwitchAt};
use super::part::{Destination, Part};
use super::recording_file::{EventHead, RecordingFile};
use super::session::Session;
use super::tasks::RunningTasks;
use crate::output::{self, notice};

/// The files of a recording.
pub struct Parts {
    /// Where it is written at present.
    path: PathBuf,
    rotation: Rotation,
    /// What is complete, the oldest first.
    kept: VecDeque<PathBuf>,
    begun: Instant,
    /// Whether anything was lost before the part that is written at present.
    pub losses: Losses,
}

/// What the counters had lost by a moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Samples.
    pub samples: u64,
    /// Records of mappings and threads.
    pub sideband: u64,
}

impl Parts {
    /// Before the first is complete.
    pub fn new(path: &Path, rotation: Rotation) -> Self {
        Self {
            path: path.to_owned(),
            rotation,
            kept: VecDeque::new(),
            begun: Instant::now(),
            losses: Losses::default(),
        }
    }

    /// Whether another part has to begin, by its size and age.
    pub fn is_due(&self, size: u64) -> bool {
        match self.rotation.at {
            SwitchAt::Signal => false,
            SwitchAt::Size(most) => size >= most,
            SwitchAt::Time(most) => self.begun.elapsed() >= most,
        }
    }

    /// How long none is due, if that is known.
    pub fn patience(&self) -> Option<Duration> {
        match self.rotation.at {
            SwitchAt::Signal | SwitchAt::Size(_) => None,
            SwitchAt::Time(most) => Some(most.saturating_sub(self.begun.elapsed())),
        }
    }

    /// A name with the time, which nothing has.
    pub fn next_name(&self) -> PathBuf {
        let mut time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        loop {
            let mut name = self.path.as_os_str().to_owned();
            name.push(format!(".{}", stamp(time.as_nanos() as u64)));
            let name = PathBuf::from(name);
            if fs::symlink_metadata(&name).is_err() {
                return name;
            }
            time += Duration::from_millis(10);
        }
    }

    /// Gives what was written its own name. What somebody has removed needs none: that is said when it is completed.
    pub fn keep(&mut self) -> Result<PathBuf> {
        let name = self.next_name();
        match fs::rename(&self.path, &name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => {
                renamed.with_context(|| self.path.display().to_string())?;
                self.kept.push_back(name.clone());
            }
        }
        self.begun = Instant::now();
        Ok(name)
    }

    /// Counts a file among those that are kept, if it is there.
    fn add(&mut self, name: PathBuf) {
        if self.kept.back() != Some(&name) && fs::symlink_metadata(&name).is_ok() {
            self.kept.push_back(name);
        }
    }

    /// There is no other file: what was written under this name goes on.
    fn take_back(&mut self, name: &Path) {
        if self.kept.back().is_some_and(|last| last == name) {
            self.kept.pop_back();
            let _ = fs::rename(name, &self.path);
        }
    }

    /// Removes those that are too many. What is gone by now was removed by others.
    pub fn remove_oldest(&mut self) {
        let Some(most) = self.rotation.most else { return };
        while self.kept.len() > most.get()
            && let Some(oldest) = self.kept.pop_front()
        {
            let _ = fs::remove_file(oldest);
        }
    }
}

impl Session {
    /// Whether what is written at present has to be completed.
    pub(super) fn part_is_due(&self) -> bool {
        self.parts.as_ref().is_some_and(|parts| parts.is_due(self.part.to.data_size()))
    }

    /// Goes on in another file, and completes what was written. Rings have just been emptied.
    pub(super) fn begin_next_part(&mut self, plan: &Plan) -> Result<()> {
        let Some(parts) = &mut self.parts else { return Ok(()) };
        let (name, path) = (parts.keep()?, parts.path.clone());
        // What is later than that goes into the next one.
        self.write_all_unwound(0);
        let to = match self.new_file(&path) {
            Ok(to) => to,
            Err(error) => {
                if let Some(parts) = &mut self.parts {
                    parts.take_back(&name);
                }
                return Err(error);
            }
        };
        let before = self.begin_part(to, plan)?;
        self.complete(before, name);
        Ok(())
    }

    pub(super) fn new_file(&self, path: &Path) -> Result<Destination> {
        let described: Vec<_> = self.counters.described().collect();
        let heads: Vec<_> =
            described.iter().map(|(_, attr, ids)| EventHead { attr, ids }).collect();
        Ok(Destination::File(Box::new(RecordingFile::create(
            path,
            &heads,
            self.counters.rings_fill(),
        )?)))
    }

    /// Has records go elsewhere, with a description of what runs before them. Returns what there was.
    pub(super) fn begin_part(&mut self, to: Destination, plan: &Plan) -> Result<Part> {
        let packing = plan.packing.filter(|_| matches!(to, Destination::File(_)));
        let next = Part::begin(to, self.part.tally.of_next_part(), packing)?;
        // What is known of files is by inode, which may be of another file by now.
        self.tasks =
            RunningTasks::new(self.trailer, plan.chains.described_mappings(), plan.namespaces);
        let before = std::mem::replace(&mut self.part, next);
        self.describe_once_more(plan);
        Ok(before)
    }

    /// Completes a file that is not the last, and says what is in it.
    pub(super) fn complete(&mut self, part: Part, name: PathBuf) {
        let present = std::mem::replace(&mut self.part, part);
        self.write_late_losses();
        let identified = self.identifier.as_mut().map(Identifier::so_far).unwrap_or_default();
        let of_code = self.code_of_processes();
        let end = self.file_end(&identified, RecorderState::Ended, of_code);
        let Part { to, tally, failure, .. } = std::mem::replace(&mut self.part, present);
        let lost = tally.lost() + tally.lost_sideband;
        self.lost_before += lost;
        let losses = Losses {
            samples: self.counters.lost_samples().unwrap_or(0),
            sideband: self.counters.lost_sideband().unwrap_or(0),
        };
        // On a disk that is full, what is written at present will say so, too.
        let finished = failure.map_or(Ok(()), |error| Err(error.into())).and(to.finish(end));
        match finished.with_context(|| name.display().to_string()) {
            Ok((size, _)) => {
                let (path, samples, is_quiet) = (name.clone(), tally.samples, self.is_quiet);
                let say = move |growth| {
                    if !is_quiet {
                        notice(format_args!(
                            "{}, {} lost, {} in {}",
                            output::counted(samples, "sample", "samples"),
                            if lost == 0 { "none".to_owned() } else { output::grouped(lost) },
                            output::size(size + growth),
                            path.display()
                        ));
                    }
                };
                self.embed_in(&name, say);
            }
            Err(error) => output::failure(&error),
        }
        if let Some(parts) = &mut self.parts {
            parts.losses = losses;
            parts.add(name);
            parts.remove_oldest();
        }
    }

    /// Has parts of the files that samples hit added to a file that is complete, if it is wanted; `say` says that it is
    /// whole, and by how much it has grown.
    fn embed_in(&mut self, name: &Path, say: impl FnOnce(u64) + Send + 'static) {
        let asked = embed::parts_of_files(&self.embed);
        if asked.is_empty() {
            return say(0);
        }
        let open = self.identifier.as_ref().map(Identifier::files).unwrap_or_default();
        let file = Complete { path: name.to_owned(), open, say: Box::new(say) };
        self.embedding.get_or_insert_with(|| Embedding::start(asked)).add(file);
    }
}
