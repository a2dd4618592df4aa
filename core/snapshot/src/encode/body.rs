//! One attempt: all streams of a snapshot that keeps a given selection, and what it holds.

use perftab_perfdata::map::Set;

use perftab_profile::DsoId;

use super::dsos::is_written;
use super::texts::{RedactedText, Texts};
use super::times::Room;
use crate::codes::{self, code};
use crate::fields::{Field, Streams, Writer};
use crate::scope::Scope;
use crate::selection::Selection;
use crate::tree::Tree;
use crate::{
    BILLION, Contents, Disclosure, Fidelity, LeftOut, MAX_COUNTED, MAX_WARNINGS, ShareOptions,
    Times,
};

/// Everything that one attempt is made of.
pub(super) struct Body<'s, 'a> {
    pub contents: &'s Contents<'s>,
    pub options: &'s ShareOptions,
    pub scope: &'s Scope,
    pub texts: &'a Texts,
    pub tree: &'s Tree,
    pub selection: &'s Selection,
    pub room: Room<'s>,
}

impl<'a> Body<'_, 'a> {
    /// The bytes, what they hold, and every text in them.
    pub fn write(&self, total_nodes: usize) -> (Streams, Fidelity, Vec<RedactedText<'a>>) {
        let mut out = Writer::default();
        let tables = self.write_dsos_and_functions(&mut out);
        let left_out = self.left_out(&tables.dsos);
        let kept_dsos = tables.dsos.len() as u64;
        let fidelity = Fidelity {
            kept_dsos,
            total_dsos: kept_dsos.saturating_add(left_out.dsos),
            ..self.since_recording(self.selection.fidelity(self.scope, total_nodes))
        };
        self.write_facts(&mut out, &fidelity, &left_out);
        self.write_host(&mut out);
        self.write_part_of(&mut out);
        out.text(Field::View, self.texts.view());
        self.write_warnings(&mut out);
        self.write_about(&mut out);
        let entries = self.entries(&mut out, &tables);
        self.write_entries(&mut out, &tables, &entries);
        let (units, times) = match self.room.most {
            Times::Samples => (self.write_samples(&mut out, &entries), Times::Samples),
            _ => {
                let units = self.write_sums(&mut out, &entries);
                let times = self.write_bins(&mut out, &entries, &units);
                (units, times)
            }
        };
        self.write_heat(&mut out, &tables, &units);
        let texts = out.take_texts();
        (out.finish(), Fidelity { times, ..fidelity }, texts)
    }

    /// Of a snapshot of a snapshot: what both kept of what was recorded.
    fn since_recording(&self, fidelity: Fidelity) -> Fidelity {
        let Some(before) = self.contents.facts.before else { return fidelity };
        Fidelity {
            total_nodes: fidelity.total_nodes.max(before.nodes),
            threshold_share: fidelity.threshold_share.max(before.threshold()),
            ..fidelity
        }
    }

    /// DSOs that samples pass through and that are not written, nor were before.
    fn left_out(&self, written: &[DsoId]) -> LeftOut {
        let Contents { profile, ledger, .. } = self.contents;
        let facts = &self.scope.facts;
        let mut left_out = facts.left_out;
        let written: Set<DsoId> = written.iter().copied().collect();
        for (id, dso) in profile.dsos.iter() {
            let used = facts.uses.get(id.index()).copied().unwrap_or_default();
            if is_written(dso) && used.samples > 0 && !written.contains(&id) {
                left_out.add(ledger.row(id).status, used.leaf_samples);
            }
        }
        left_out
    }

    fn write_facts(&self, out: &mut Writer<'a>, fidelity: &Fidelity, left_out: &LeftOut) {
        let facts = &self.scope.facts;
        let coverage = self.scope.coverage;
        let lost = self.contents.profile.lost;
        let threshold = match self.contents.facts.before {
            Some(before) if fidelity.threshold_share <= before.threshold() => before.threshold,
            // What is heavier than this is kept, so it is never rounded down.
            _ => (fidelity.threshold_share * BILLION as f64).ceil() as u64,
        };
        let (first, last) = facts.time.unwrap_or_default();
        let written_first = match self.options.privacy.clock {
            Disclosure::Included => first,
            // No sample is at 0: that stands for no time.
            Disclosure::LeftOut => first.min(1),
        };
        for number in [u64::from(facts.time.is_some()), written_first, last.saturating_sub(first)] {
            out.number(Field::Facts, number);
        }
        let counted = |number: u64| number.min(MAX_COUNTED);
        for number in [
            facts.processes,
            facts.threads,
            lost.events,
            lost.samples,
            fidelity.kept_nodes,
            fidelity.total_nodes,
            billionths(fidelity.kept_weight_share),
            threshold,
            fidelity.folded_weight,
            coverage.frames,
            coverage.named,
            coverage.named_leaves,
            left_out.dsos,
        ] {
            out.number(Field::Facts, counted(number));
        }
        left_out.leaf_samples().for_each(|(_, samples)| out.number(Field::Facts, counted(samples)));
        if coverage.forced > 0 {
            out.number(Field::Facts, coverage.forced);
            out.number(Field::Facts, coverage.forced_leaves);
        }
    }

    fn write_part_of(&self, out: &mut Writer<'a>) {
        for all in &self.scope.facts.part_of {
            out.number(Field::PartOf, all.samples);
            out.number(Field::PartOf, all.weight);
        }
    }

    /// Empty, unless something of it is told.
    fn write_host(&self, out: &mut Writer<'a>) {
        let host = &self.contents.profile.host;
        let is_included = self.options.privacy.host == Disclosure::Included;
        if !is_included && self.options.privacy.command_line == Disclosure::LeftOut {
            return;
        }
        for text in self.texts.host() {
            out.optional_text(Field::Host, text);
        }
        let cpus = host.cpus.filter(|_| is_included);
        out.number(Field::HostNumbers, cpus.map_or(0, |cpus| u64::from(cpus) + 1));
        out.number(Field::HostNumbers, self.texts.command_line().count() as u64);
        self.texts.command_line().for_each(|argument| out.text(Field::Host, argument));
    }

    /// Empty, unless something of it is told.
    fn write_about(&self, out: &mut Writer<'a>) {
        let about = self.texts.about();
        if about.iter().any(Option::is_some) {
            about.into_iter().for_each(|text| out.optional_text(Field::About, text));
        }
    }

    fn write_warnings(&self, out: &mut Writer<'a>) {
        let warnings = &self.contents.warnings[..self.contents.warnings.len().min(MAX_WARNINGS)];
        out.number(Field::WarningNumbers, warnings.len() as u64);
        for (index, warning) in warnings.iter().enumerate() {
            out.byte(Field::WarningNumbers, code(&codes::WARNING_KINDS, &warning.kind));
            let offset = warning.offset.map_or(0, |offset| offset.saturating_add(1));
            out.number(Field::WarningNumbers, offset);
            out.number(Field::WarningNumbers, warning.count);
            let samples = warning.samples.map_or(0, |samples| samples.saturating_add(1));
            out.number(Field::WarningSamples, samples);
            out.text(Field::Warnings, self.texts.warning(index));
        }
    }
}

fn billionths(share: f64) -> u64 {
    (share * BILLION as f64).round() as u64
}
