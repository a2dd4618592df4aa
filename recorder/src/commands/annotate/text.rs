//! Annotated code as text: source lines above the instructions that were made of them, each with its share.

use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroU32;

use super::super::report::file_name;
use super::{
    AnnotatedFunction, AnnotatedInstruction, AnnotatedLine, Annotation, FileCode, MOST_BETWEEN,
    RanInstruction, SourceFile, TakenBranch,
};
use crate::cli::{AnnotatedNumber, AnnotatedPart};
use perftab_core::without_parameters;
use perftab_listing::source::SourceCheck;

use crate::output::{Results, counted, grouped, percent, printable};

/// From these shares on, in percent, a row is red and green, as in `perf annotate`.
const HOT: f64 = 5.0;
const WARM: f64 = 0.5;

/// Longer instructions push what stands beside them to the right.
const TEXT_WIDTH: usize = 44;

/// How often an instruction ran.
const RAN_WIDTH: usize = 9;

/// How a row stands out on a terminal.
#[derive(Clone, Copy)]
enum Shade {
    Hot,
    Warm,
    Cold,
    /// A line of source, or a file.
    Source,
}

/// Whether the terminal is told colours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Colours {
    Shown,
    LeftOut,
}

/// Prints all functions, and of each what is asked for.
pub fn write(
    results: &mut Results,
    of: &Annotation,
    part: AnnotatedPart,
    number: AnnotatedNumber,
) -> io::Result<()> {
    let is_wanted =
        io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let colours = if is_wanted { Colours::Shown } else { Colours::LeftOut };
    let samples = counted(of.samples, "sample", "samples");
    let (event, weight) = (printable(&of.event), grouped(of.weight));
    writeln!(results, "# {event}: {samples}, weight {weight}")?;
    for function in &of.functions {
        let mut listing = Listing { results, function, number, colours };
        listing.head(of)?;
        match part {
            AnnotatedPart::Both => listing.instructions(Sources::Shown)?,
            AnnotatedPart::Assembly => listing.instructions(Sources::LeftOut)?,
            AnnotatedPart::Source => listing.lines()?,
        }
    }
    Ok(())
}

/// Whether lines of source stand between instructions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sources {
    Shown,
    LeftOut,
}

/// A function as perf calls it. `--json` has all of its name.
fn short(name: &str) -> Cow<'_, str> {
    printable(without_parameters(name))
}

/// What is known of a branch that was taken: as shares of how often it ran.
fn branch_text(ran: &RanInstruction, branch: &TakenBranch) -> String {
    let TakenBranch { taken, mispredicted, cycles, ipc } = *branch;
    let mut text = format!("taken {}", percent(taken as f64, ran.executions.max(taken) as f64));
    if mispredicted > 0 {
        text.push_str(&format!(", mispredicted {}", percent(mispredicted as f64, taken as f64)));
    }
    if let Some(cycles) = cycles {
        text.push_str(&format!(", {cycles:.1} cycles"));
    }
    if let Some(ipc) = ipc {
        text.push_str(&format!(", {ipc:.2} IPC"));
    }
    text
}

struct Listing<'a, 'r> {
    results: &'r mut Results,
    function: &'a AnnotatedFunction,
    number: AnnotatedNumber,
    colours: Colours,
}

impl<'a> Listing<'a, '_> {
    fn head(&mut self, of: &Annotation) -> io::Result<()> {
        let function = self.function;
        let samples = counted(function.self_samples, "sample", "samples");
        let share = percent(function.self_weight as f64, of.weight as f64);
        let (name, dso) = (short(&function.name), printable(&function.dso));
        writeln!(
            self.results,
            "#\n# {name} in {dso}: {samples}, {share}; {} below are of these",
            match self.number {
                AnnotatedNumber::Share => "shares",
                AnnotatedNumber::Samples => "samples",
            }
        )?;
        for SourceFile { path, checked_by, .. } in &function.sources {
            let what = match checked_by {
                Some(SourceCheck::Md5) => "checked against the MD5 in the debug information",
                Some(SourceCheck::Embedded) => "as it is in the debug information",
                Some(SourceCheck::Server) => {
                    "not checked: from a debuginfod server, and no MD5 in the debug information"
                }
                Some(SourceCheck::Place) => {
                    "not checked: changed after the binary was built, in the folder that was named"
                }
                Some(SourceCheck::Time) => "not checked: no MD5 in the debug information",
                None => "not shown",
            };
            writeln!(self.results, "# {}: {what}", printable(path))?;
        }
        let what = match function.code {
            FileCode::AsItRan => None,
            FileCode::InMemory => {
                Some("A kernel as it ran, by the copy of its memory in the build-id cache")
            }
            FileCode::BeforeBoot => Some(
                "A kernel: instructions are those of its file, some of which it changes as it boots",
            ),
            FileCode::Made => {
                Some("Made at run time: code and addresses are those that the process told first")
            }
        };
        if let Some(what) = what {
            writeln!(self.results, "# {what}")?;
        }
        let modifiers = of.event.rsplit_once(':').map_or("", |(_, modifiers)| modifiers);
        if !modifiers.contains('p') {
            let what = "an instruction may have what the one before it took";
            writeln!(self.results, "# The event is not precise: {what}")?;
        }
        if function.has_branches() {
            writeln!(
                self.results,
                "# Beside shares: how often it ran, by the branches of samples"
            )?;
        }
        writeln!(self.results, "#")
    }

    fn instructions(&mut self, sources: Sources) -> io::Result<()> {
        let last = self.function.instructions.last();
        let width = last.map_or(0, |last| format!("{:x}", last.address).len()).max(6);
        let (mut before, mut inlined_before) = (None, &None);
        for instruction in &self.function.instructions {
            let AnnotatedInstruction { address, text, refers_to, inlined, file, line, .. } =
                instruction;
            if inlined != inlined_before && sources == Sources::Shown {
                let (name, what) = match inlined {
                    Some(name) => (&**name, ", inlined"),
                    None => (&*self.function.name, ""),
                };
                let name = short(name);
                self.row(Shade::Source, "", &format!("{:width$}  {name}{what}:", ""))?;
                inlined_before = inlined;
            }
            let place = file.as_deref().zip(*line).filter(|_| sources == Sources::Shown);
            let mut beside = String::new();
            if let Some((file, line)) = place
                && before != place
            {
                match self.source(file).and_then(|source| source.line(line)) {
                    // What nobody knows the text of needs no row.
                    None => beside = format!("{}:{line}", printable(file_name(file))),
                    Some(text) => {
                        if before.is_none_or(|(before, _)| before != file) {
                            let path = printable(file);
                            self.row(Shade::Source, "", &format!("{:width$}  {path}:", ""))?;
                        }
                        let text = printable(text);
                        self.row(Shade::Source, "", &format!("{line:>width$}  {text}"))?;
                    }
                }
                before = place;
            }
            let text = printable(text.as_deref().unwrap_or("(bad)"));
            let text = match refers_to {
                Some(what) => Cow::Owned(format!("{text}  # {}", printable(what))),
                None => text,
            };
            let of_branch = instruction.ran.and_then(|ran| Some(branch_text(&ran, &ran.branch?)));
            let beside = [of_branch.unwrap_or_default(), beside].join("  ");
            let (share, shade) = self.number(instruction.samples, instruction.weight);
            let row =
                format!("{address:>width$x}:     {text:TEXT_WIDTH$}  {}", beside.trim_start());
            let executions = instruction.ran.map(|ran| ran.executions);
            self.row_that_ran(shade, &share, executions, &row)?;
        }
        Ok(())
    }

    /// Each file that the code is of, from the first line with code to the last.
    fn lines(&mut self) -> io::Result<()> {
        let function = self.function;
        let mut files: Vec<(&str, Vec<_>)> = Vec::new();
        for line in &function.lines {
            if files.last().is_none_or(|(file, _)| *file != line.file) {
                files.push((&line.file, Vec::new()));
            }
            files.last_mut().into_iter().for_each(|(_, lines)| lines.push(line));
        }
        // That of the function itself, before those of what is inlined.
        let own = function.own_file.as_deref();
        files.sort_by_key(|(file, _)| Some(*file) != own);
        for (file, lines) in files {
            self.row(Shade::Source, "", &format!("{:>6}  {}:", "", printable(file)))?;
            let source = self.source(file);
            let mut next: Option<NonZeroU32> = None;
            for &AnnotatedLine { line, samples, weight, executions, .. } in lines {
                let between = next.map_or(0, |next| line.get().saturating_sub(next.get()));
                if between > MOST_BETWEEN
                    || (between > 0 && source.is_none_or(|it| it.lines.is_empty()))
                {
                    self.row(Shade::Source, "", &format!("{:>6}", "…"))?;
                } else if let Some(first) = next {
                    for cold in (first.get()..line.get()).filter_map(NonZeroU32::new) {
                        self.line(cold, source, (Shade::Source, ""), None)?;
                    }
                }
                let (share, shade) = self.number(samples, weight);
                self.line(line, source, (shade, &share), executions)?;
                next = line.checked_add(1);
            }
        }
        Ok(())
    }

    fn line(
        &mut self,
        line: NonZeroU32,
        source: Option<&SourceFile>,
        (shade, share): (Shade, &str),
        executions: Option<u64>,
    ) -> io::Result<()> {
        let text = source.and_then(|source| source.line(line)).unwrap_or_default();
        let text = format!("{line:>6}  {}", printable(text));
        self.row_that_ran(shade, share, executions, &text)
    }

    fn source(&self, file: &str) -> Option<&'a SourceFile> {
        let sources = &self.function.sources;
        let place = sources.binary_search_by(|source| (*source.path).cmp(file)).ok()?;
        sources.get(place)
    }

    /// Nothing where nothing ended.
    fn number(&self, samples: u64, weight: u64) -> (String, Shade) {
        let whole = self.function.self_weight as f64;
        let share = 100.0 * weight as f64 / whole.max(1.0);
        let shade = match share {
            HOT.. => Shade::Hot,
            WARM.. => Shade::Warm,
            _ => Shade::Cold,
        };
        let text = match (self.number, weight) {
            (_, 0) => String::new(),
            (AnnotatedNumber::Share, _) => percent(weight as f64, whole),
            (AnnotatedNumber::Samples, _) => grouped(samples),
        };
        (text, shade)
    }

    fn row(&mut self, shade: Shade, share: &str, text: &str) -> io::Result<()> {
        self.row_that_ran(shade, share, None, text)
    }

    /// A row, how often it ran too: where branches were recorded, there is a column for that.
    fn row_that_ran(
        &mut self,
        shade: Shade,
        share: &str,
        executions: Option<u64>,
        text: &str,
    ) -> io::Result<()> {
        let text = text.trim_end();
        let ran = executions.filter(|&times| times > 0).map(grouped).unwrap_or_default();
        let ran = match self.function.has_branches() {
            true => format!("{ran:>RAN_WIDTH$}  "),
            false => String::new(),
        };
        let (begin, end) = match (self.colours, shade) {
            (Colours::LeftOut, _) | (_, Shade::Cold) => ("", ""),
            (Colours::Shown, Shade::Hot) => ("\x1b[31m", "\x1b[0m"),
            (Colours::Shown, Shade::Warm) => ("\x1b[32m", "\x1b[0m"),
            (Colours::Shown, Shade::Source) => ("\x1b[36m", "\x1b[0m"),
        };
        writeln!(self.results, "{begin}{share:>7}  {ran}{text}{end}")
    }
}
