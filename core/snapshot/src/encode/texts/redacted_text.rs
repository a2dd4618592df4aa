//! A text as it may be written, and the list of all of them.

use perftab_perfdata::map::Map;

use perftab_perfdata::text::printable;
use serde::Serialize;

use crate::fields;
use crate::privacy::Line;

/// What a text of a snapshot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Name of a process or thread.
    Process,
    /// Name of a function of the system's libraries or the kernel.
    SystemFunction,
    /// Name of another function.
    OwnFunction,
    /// Name of a DSO.
    Dso,
    /// Source file.
    File,
    /// A line of source.
    Source,
    /// An instruction.
    Assembly,
    /// Name of an event.
    Event,
    /// What is said of a DSO: why it has no names, which file gave them.
    Note,
    /// Words of a warning.
    Warning,
    /// Host name, kernel release, architecture.
    Host,
    /// An argument of the recorder's.
    CommandLine,
    /// How the sender looked at it.
    View,
    /// What the sender calls it.
    Title,
    /// What recorded it.
    Recorder,
}

impl Part {
    /// The word that lists have for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::SystemFunction => "system-function",
            Self::OwnFunction => "own-function",
            Self::Dso => "dso",
            Self::File => "file",
            Self::Source => "source",
            Self::Assembly => "assembly",
            Self::Event => "event",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Host => "host",
            Self::CommandLine => "command-line",
            Self::View => "view",
            Self::Title => "title",
            Self::Recorder => "recorder",
        }
    }
}

/// A text that may be written. Only [`super::Texts`] makes them, so no other gets into a snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RedactedText<'a> {
    part: Part,
    text: &'a str,
    was: Option<&'a str>,
}

/// A text that was asked for of another profile.
impl Default for RedactedText<'_> {
    fn default() -> Self {
        Self { part: Part::Note, text: "", was: None }
    }
}

impl<'a> RedactedText<'a> {
    pub(super) fn new(part: Part, line: &'a Line<'_>) -> Self {
        Self { part, text: fields::cut(&line.text), was: line.was.as_deref() }
    }

    /// The text as it is written.
    pub fn text(self) -> &'a str {
        self.text
    }
}

/// All texts that a snapshot holds, as they are shown: what cannot be seen is an escape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct SharedTexts {
    /// Those parts that have any, in the order of [`Part`].
    pub parts: Vec<SharedPart>,
    /// What the profile has, told or not.
    pub profile: ProfileTextCounts,
}

/// How much a profile has of what is no name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct ProfileTextCounts {
    /// Folders of DSOs and sources, the system's apart.
    pub folders: u32,
    /// DSOs with an identity.
    pub identities: u32,
    /// Arguments of the recorder.
    pub arguments: u32,
    /// Lines of source that were read.
    pub lines: u32,
    /// Instructions that were read.
    pub instructions: u32,
    /// Of host name, kernel release, architecture and CPUs those that are known.
    pub host: u32,
}

/// The texts of one part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct SharedPart {
    /// What they are.
    pub part: Part,
    /// Each once, by alphabet.
    pub texts: Vec<String>,
    /// Those that are called otherwise.
    pub renamed: Vec<RenamedText>,
}

/// A text that is called otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct RenamedText {
    /// Position in [`SharedPart::texts`].
    pub index: u32,
    /// What it was; of several that are called the same, one.
    pub was: String,
}

impl SharedTexts {
    /// The list of what was written.
    pub(crate) fn of(written: &[RedactedText<'_>], profile: ProfileTextCounts) -> Self {
        let mut parts: Map<Part, Map<&str, Option<&str>>> = Map::new();
        for redacted in written.iter().filter(|redacted| !redacted.text.is_empty()) {
            parts.entry(redacted.part).or_default().insert(redacted.text, redacted.was);
        }
        let shown = |text: &str| printable(text).into_owned();
        let part = |(part, texts): (Part, Map<&str, Option<&str>>)| {
            let texts = texts.into_sorted();
            let was = (0..).zip(&texts);
            let renamed = was
                .filter_map(|(index, (_, was))| Some(RenamedText { index, was: shown((*was)?) }));
            let renamed = renamed.collect();
            SharedPart { part, texts: texts.iter().map(|(text, _)| shown(text)).collect(), renamed }
        };
        Self { parts: parts.into_sorted().into_iter().map(part).collect(), profile }
    }
}
