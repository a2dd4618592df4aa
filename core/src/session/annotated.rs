//! The code of a function with what it was made of and what ended in it, by instruction and by line.

use std::num::NonZeroU32;
use std::rc::Rc;

use perftab_images::{CodeLine, CodeOrigin, Images};
use perftab_perfdata::map::Map;
use perftab_profile::DsoId;

use super::{Amount, Session};

/// Code of a DSO, and where its instructions begin: a host decodes them.
#[derive(Clone, Copy, Debug)]
pub struct DecodedCode<'a> {
    /// Whose it is.
    pub dso: DsoId,
    /// Where it begins, as frames have it.
    pub start: u64,
    /// Its bytes.
    pub length: u64,
    /// Where each instruction begins in it, ascending.
    pub starts: &'a [u32],
}

/// Code with what ended in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnotatedCode {
    /// What ended in all of it.
    pub all: Amount,
    /// What of the heat was of this code: places from the first on.
    pub taken: usize,
    /// Each instruction.
    pub instructions: Vec<(CodeOrigin, Amount)>,
    /// Each line that there is code of, by file and number.
    pub lines: Vec<(CodeLine, Amount)>,
    /// The files that these are of, in order, and where code begins that is of each. All code of a function is of one
    /// unit, which was compiled from one content of each file.
    pub files: Vec<(Rc<str>, u64)>,
}

impl DecodedCode<'_> {
    /// Says what the code was made of, and sums heat: amounts by address, ascending from one that is in the code.
    pub fn annotated(&self, images: &Images, heat: &[(u64, Amount)]) -> AnnotatedCode {
        let addresses = self.addresses();
        let origins = images.code_origins(self.dso, &addresses);
        self.made_of(&addresses, origins, heat)
    }

    fn addresses(&self) -> Vec<u64> {
        let place = |&start: &u32| self.start.saturating_add(start.into());
        self.starts.iter().map(place).collect()
    }

    fn made_of(
        &self,
        addresses: &[u64],
        origins: Vec<CodeOrigin>,
        heat: &[(u64, Amount)],
    ) -> AnnotatedCode {
        let unknown = Amount::default();
        let mut code = AnnotatedCode {
            instructions: origins.into_iter().map(|origin| (origin, unknown)).collect(),
            ..AnnotatedCode::default()
        };
        let is_in =
            |address: u64| address.checked_sub(self.start).is_some_and(|at| at < self.length);
        for &(address, amount) in heat.iter().take_while(|(address, _)| is_in(*address)) {
            code.taken += 1;
            code.all.add(amount);
            // That of a call is behind its start.
            let behind = addresses.partition_point(|&start| start <= address);
            let around = behind.checked_sub(1).and_then(|at| code.instructions.get_mut(at));
            if let Some((_, sum)) = around {
                sum.add(amount);
            }
        }
        code.sum_lines(addresses);
        code
    }
}

impl AnnotatedCode {
    /// The file that the function itself stands in: that of the first instruction which is of nothing inlined, else the one
    /// with most weight.
    pub fn own_file(&self) -> Option<&Rc<str>> {
        let own = self.instructions.iter().filter(|(origin, _)| origin.inlined.is_none());
        let first = own.filter_map(|(origin, _)| Some(&origin.line.as_ref()?.file)).next();
        first.or_else(|| {
            let mut heaviest: Option<(u64, &Rc<str>)> = None;
            for of_file in self.lines.chunk_by(|(one, _), (other, _)| one.file == other.file) {
                let weights = of_file.iter().map(|(_, amount)| amount.weight);
                let weight = weights.fold(0, u64::saturating_add);
                if heaviest.is_none_or(|(most, _)| weight > most) {
                    heaviest = of_file.first().map(|(line, _)| (weight, &line.file));
                }
            }
            heaviest.map(|(_, file)| file)
        })
    }

    fn sum_lines(&mut self, addresses: &[u64]) {
        let mut lines: Map<(&Rc<str>, NonZeroU32), Amount> = Map::new();
        let mut files: Map<&Rc<str>, u64> = Map::new();
        for ((origin, amount), &address) in self.instructions.iter().zip(addresses) {
            let Some(CodeLine { file, line }) = &origin.line else { continue };
            lines.entry((file, *line)).or_default().add(*amount);
            files.entry(file).or_insert(address);
        }
        let line = |((file, line), amount): ((&Rc<str>, NonZeroU32), Amount)| {
            (CodeLine { file: Rc::clone(file), line }, amount)
        };
        self.lines = lines.into_sorted().into_iter().map(line).collect();
        let file = |(file, address): (&Rc<str>, u64)| (Rc::clone(file), address);
        self.files = files.into_sorted().into_iter().map(file).collect();
    }
}

impl Session {
    /// The same of code that a process made, by what it says of it; `None` of any other.
    pub fn annotated_made(
        &self,
        code: DecodedCode<'_>,
        heat: &[(u64, Amount)],
    ) -> Option<AnnotatedCode> {
        let addresses = code.addresses();
        let origins = self.made_origins(code.dso, &addresses)?;
        Some(code.made_of(&addresses, origins, heat))
    }
}
