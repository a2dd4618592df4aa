//! The call tree as it is written: its shape, what each call node is, and its line.

use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::sort_by_key;
use std::num::NonZeroU32;

use perftab_views::call_tree::Label;
use perftab_views::weights::Sum;

use super::body::Body;
use super::dsos::Tables;
use super::texts::RedactedText;
use crate::codes;
use crate::fields::{Field, Writer, zigzag};

/// A call node as it is written.
pub(super) struct Entry {
    /// In the tree; `None` for what was folded.
    pub node: Option<u32>,
    code: u64,
    pub label: Label,
    children: u64,
    line: Option<NonZeroU32>,
    /// One for each event.
    pub own: Vec<Sum>,
}

impl<'a> Body<'_, 'a> {
    /// Kept call nodes, callers before what they call, all of one's before the next one's. The
    /// first is the root; what it calls are processes, by name.
    pub fn entries(&self, out: &mut Writer<'a>, tables: &Tables) -> Vec<Entry> {
        let name = |node: u32| match self.tree.nodes[node as usize].label {
            Label::Group(name) => self.texts.task(name),
            _ => RedactedText::default(),
        };
        let mut groups = self.selection.children(0).to_vec();
        sort_by_key(&mut groups, |&node| name(node).text());
        out.texts(Field::GROUPS, groups.iter().map(|&node| name(node)));

        let mut entries = vec![self.entry(0, groups.len(), codes::CODE_GROUP)];
        // What was not kept below the root is the root's own.
        for (event, own) in entries[0].own.iter_mut().enumerate() {
            own.add(self.selection.folded(0, event));
        }
        let mut open: Vec<u32> = groups.into_iter().rev().collect();
        while let Some(node) = open.pop() {
            let index = node as usize;
            let children = self.selection.children(index);
            let folded = self.selection.has_folded(index);
            let code = match self.tree.nodes[index].label {
                Label::All | Label::Group(_) | Label::Family(_) => codes::CODE_GROUP,
                Label::NoMapping => codes::CODE_NO_MAPPING,
                Label::Dso(dso) => {
                    tables.dso_codes.get(&dso).copied().unwrap_or(codes::CODE_NO_MAPPING)
                }
                Label::Function(function) | Label::Inlined(function) => {
                    tables.codes.get(&function).copied().unwrap_or(codes::CODE_NO_MAPPING)
                }
            };
            entries.push(self.entry(index, children.len() + usize::from(folded), code));
            if folded {
                let own =
                    (0..self.tree.events()).map(|e| self.selection.folded(index, e)).collect();
                let (code, label) = (codes::CODE_FOLDED, Label::NoMapping);
                entries.push(Entry { node: None, code, label, children: 0, line: None, own });
            }
            open.extend(children.iter().rev());
        }
        entries
    }

    fn entry(&self, node: usize, children: usize, code: u64) -> Entry {
        let own = (0..self.tree.events()).map(|event| self.tree.own(node, event)).collect();
        let (label, line) = (self.tree.nodes[node].label, self.tree.nodes[node].line);
        Entry { node: Some(node as u32), code, label, children: children as u64, line, own }
    }

    /// The shape of the tree, what each call node is, and the line.
    ///
    /// A call that was met before under the same function, anywhere in the tree, is written as
    /// its number there; that is one byte, and mostly the same one.
    pub fn write_entries(&self, out: &mut Writer<'a>, tables: &Tables, entries: &[Entry]) {
        let mut met: Map<u64, Map<u64, u64>> = Map::new();
        let mut lines: Map<u64, i64> = Map::new();
        let mut callers: Vec<(u64, u64)> = Vec::new();
        for entry in entries {
            out.number(Field::NodeChildren, entry.children);
            let caller = callers.last_mut().map(|(code, left)| {
                *left -= 1;
                *code
            });
            if let Some(caller) = caller.filter(|_| entry.code != codes::CODE_GROUP) {
                let call = entry.code << 1 | u64::from(matches!(entry.label, Label::Inlined(_)));
                let calls = met.entry(caller).or_default();
                let next = calls.len() as u64 + 1;
                match calls.get(&call) {
                    Some(&number) => out.number(Field::NodePairs, number),
                    None => {
                        calls.insert(call, next);
                        out.number(Field::NodePairs, 0);
                        out.number(Field::NodeFunctions, call);
                    }
                }
                if tables.with_file.contains(&entry.code) {
                    let line = entry.line.map_or(0, |line| i64::from(line.get()));
                    let before = lines.entry(entry.code).or_default();
                    out.number(Field::NodeLines, zigzag(line - *before));
                    *before = line;
                }
            }
            while callers.last().is_some_and(|&(_, left)| left == 0) {
                callers.pop();
            }
            if entry.children > 0 {
                callers.push((entry.code, entry.children));
            }
        }
    }
}
