//! Processes and threads that have samples, under their own numbers and names.

use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::{sort, sort_by_key};

use perftab_profile::{ProcessId, StringId, ThreadId};
use perftab_views::call_tree::Label;

use super::body::Body;
use super::calls::Entry;
use super::texts::RedactedText;
use crate::fields::{Field, Writer, zigzag};

/// By thread of the profile, the number that it has in the snapshot.
pub(super) type ThreadNumbers = Map<ThreadId, u32>;

impl<'a> Body<'_, 'a> {
    /// Writes these threads, which are in order, and their processes.
    pub fn write_tasks(
        &self,
        out: &mut Writer<'a>,
        entries: &[Entry],
        threads: &[ThreadId],
    ) -> ThreadNumbers {
        let known = &self.contents.profile.threads;
        let groups = group_numbers(entries);
        let mut processes: Vec<ProcessId> =
            threads.iter().map(|&thread| known.thread(thread).process).collect();
        sort(&mut processes);
        processes.dedup();
        out.number(Field::Tasks, processes.len() as u64);
        let mut before = 0;
        for &process in &processes {
            let process = known.process(process);
            out.number(Field::Tasks, groups.get(&process.name).copied().unwrap_or_default());
            before = write_number(out, process.pid, before);
        }

        let process_of = |thread: ThreadId| {
            processes.binary_search(&known.thread(thread).process).unwrap_or_default() as u64
        };
        let placed: Vec<_> = threads.iter().map(|&thread| (process_of(thread), thread)).collect();
        self.write_threads(out, &placed);
        threads.iter().copied().zip(0..).collect()
    }

    /// Writes threads, each with the number of what it is of.
    pub fn write_threads(&self, out: &mut Writer<'a>, threads: &[(u64, ThreadId)]) {
        let known = &self.contents.profile.threads;
        let names = self.thread_names(threads);
        out.texts(Field::THREADS, names.iter().copied());
        out.number(Field::Tasks, threads.len() as u64);
        let (mut of_before, mut tid_before, mut name_before) = (0, 0, 0);
        for &(of, thread) in threads {
            let thread = known.thread(thread);
            of_before = write_number(out, of as u32, of_before);
            tid_before = write_number(out, thread.tid, tid_before);
            let name = self.texts.task(thread.name).text();
            let name = names.binary_search_by_key(&name, |name| name.text()).unwrap_or_default();
            name_before = write_number(out, name as u32, name_before);
        }
    }

    /// Sorted.
    fn thread_names(&self, threads: &[(u64, ThreadId)]) -> Vec<RedactedText<'a>> {
        let known = &self.contents.profile.threads;
        let names = threads.iter().map(|&(_, thread)| self.texts.task(known.thread(thread).name));
        let mut names: Vec<_> = names.collect();
        sort_by_key(&mut names, |name| name.text());
        names.dedup_by_key(|name| name.text());
        names
    }
}

/// Processes of the tree by name, in the order in which they are written.
pub(super) fn group_numbers(entries: &[Entry]) -> Map<StringId, u64> {
    let groups = entries.iter().filter_map(|entry| match entry.label {
        Label::Group(name) => Some(name),
        _ => None,
    });
    groups.zip(0..).collect()
}

/// A number as its distance from the one before.
pub(super) fn write_number(out: &mut Writer<'_>, number: u32, before: u32) -> u32 {
    out.number(Field::Tasks, zigzag(i64::from(number) - i64::from(before)));
    number
}
