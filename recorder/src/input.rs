//! What a command reads: a recording, or a profile that was shared as a link or as a page.
//!
//! Constraint: nothing is fetched. A link carries its profile behind the `#`; an address without one
//! is an error.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, bail};
use perftab_core::session::{RecordedFiles, Session};
use perftab_core::{CarriedPayload, Carrier, PackedText};

use crate::debuginfod_client::is_http;
use crate::late_ids::{Judgement, ThisMachine};
use crate::output::shortened;
use crate::recording::Recording;

/// So much of a file says whether it is a text.
const HEAD: u64 = 4096;
/// Packed bytes that are read at once.
const BLOCK: u64 = 64 << 10;
/// No page and no link is larger: what a snapshot inflates to has a cap.
const MOST_TEXT: u64 = 256 << 20;
/// Characters of an address that are shown.
const SHOWN: usize = 60;

/// A recording or a shared profile.
pub enum Input {
    /// What a recorder wrote.
    Recording(Recording),
    /// What somebody made of one.
    Shared(SharedProfile),
}

/// The payload of a link or page, not looked at yet.
pub struct SharedProfile {
    name: String,
    carrier: Carrier,
    payload: String,
}

impl Input {
    /// Opens a recording, a saved page, a text with a link in it, or a link that is `given` itself;
    /// `-` is standard input.
    pub fn open(given: &Path) -> anyhow::Result<Self> {
        if let Some(link) = given.to_str().filter(|text| is_link(text)) {
            return Ok(Self::Shared(SharedProfile::of_argument(link)?));
        }
        let recording = Recording::open(given)?;
        let text = text_of(&recording).with_context(|| recording.name.clone())?;
        let Some(text) = text else { return Ok(Self::Recording(recording)) };
        match perftab_core::find_payload(&text) {
            Some(carried) => Ok(Self::Shared(SharedProfile::new(recording.name, carried))),
            None if perftab_core::is_page(&text) => {
                bail!("{} is a page without a profile", recording.name)
            }
            // Reading it says what it begins with.
            None => Ok(Self::Recording(recording)),
        }
    }

    /// Name for humans.
    pub fn name(&self) -> &str {
        match self {
            Self::Recording(recording) => &recording.name,
            Self::Shared(shared) => &shared.name,
        }
    }

    /// The recording; `None` of what was shared.
    pub fn recording(&self) -> Option<&Recording> {
        match self {
            Self::Recording(recording) => Some(recording),
            Self::Shared(_) => None,
        }
    }

    /// Reads the whole of it, with a progress bar. What is damaged of a recording is passed over
    /// with warnings, and build-ids that this machine speaks against are none if it is asked.
    pub fn read(&self, machine: ThisMachine) -> anyhow::Result<Session> {
        match self {
            Self::Recording(recording) => recording.read(machine),
            Self::Shared(shared) => shared.read(),
        }
    }

    /// The same with every build-id that was written down: for lists of them.
    pub fn read_as_written(&self) -> anyhow::Result<Session> {
        match self {
            Self::Recording(recording) => recording.read_as_written(),
            Self::Shared(shared) => shared.read(),
        }
    }

    /// What this machine says of the build-ids of its files, which were read as they were written.
    /// Of what was shared its sender's machine has decided.
    pub fn late_ids(&self, recorded: &RecordedFiles) -> Judgement {
        match self {
            Self::Recording(recording) => recording.late_ids(recorded),
            Self::Shared(_) => Judgement::default(),
        }
    }

    /// The recording, for commands that need what no link has: `lacks` says what.
    pub fn into_recording(self, lacks: &str) -> anyhow::Result<Recording> {
        match self {
            Self::Recording(recording) => Ok(recording),
            Self::Shared(SharedProfile { name, carrier, .. }) => {
                let carrier = match carrier {
                    Carrier::Link => "link",
                    Carrier::Page => "page",
                };
                bail!("{name}: a {carrier} has no {lacks}; use the recording instead")
            }
        }
    }
}

impl SharedProfile {
    fn new(name: String, CarriedPayload { carrier, payload }: CarriedPayload<'_>) -> Self {
        Self { name, carrier, payload: payload.to_owned() }
    }

    /// A link that stands on the command line.
    fn of_argument(link: &str) -> anyhow::Result<Self> {
        let name = shortened(link, SHOWN);
        match perftab_core::find_payload(link.as_bytes()) {
            Some(carried) => Ok(Self::new(name, carried)),
            None => bail!(
                "{name} has no profile after a #, and perftab fetches nothing; download the file and name it"
            ),
        }
    }

    /// What carried it.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// `p1.…`
    pub fn payload(&self) -> &str {
        &self.payload
    }

    fn read(&self) -> anyhow::Result<Session> {
        let carried = CarriedPayload { carrier: self.carrier, payload: &self.payload };
        Session::from_carried(carried).with_context(|| self.name.clone())
    }
}

/// Whether an argument is a link, not the name of a file: an address, or a bare payload, or a link
/// between other characters as messages have them, where no file has that name.
fn is_link(given: &str) -> bool {
    let holds_payload = || {
        let bare = given.strip_prefix('#').unwrap_or(given);
        let found = perftab_core::find_payload(bare.as_bytes());
        found.is_some_and(|found| found.payload == bare || given.contains("://"))
    };
    is_http(given) || (holds_payload() && !Path::new(given).exists())
}

/// Whether [`Input::open`] takes this argument for a link, so that no file is named like it.
pub fn is_link_argument(given: &OsStr) -> bool {
    given.to_str().is_some_and(is_link)
}

/// What a file is called; standard input and links have no name.
pub fn file_name(given: &Path) -> Option<String> {
    let is_file = given != Path::new("-") && !is_link_argument(given.as_os_str());
    given.file_name().filter(|_| is_file).map(|name| name.to_string_lossy().into_owned())
}

/// The whole of a file that is a text, packed or not; `None` for all that is none.
fn text_of(recording: &Recording) -> io::Result<Option<Vec<u8>>> {
    let Some(mut file) = recording.reopen(0).transpose()? else { return Ok(None) };
    let mut text = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut text)?;
    if let Some(packed) = PackedText::begin(&text) {
        return unpacked(packed, (&text[..]).chain(file));
    }
    if text.is_empty() || !perftab_core::may_be_text(&text) || recording.size > MOST_TEXT {
        return Ok(None);
    }
    file.take(MOST_TEXT).read_to_end(&mut text)?;
    Ok(Some(text))
}

/// `None` if neither link nor page is in it, which the first blocks of recordings tell.
fn unpacked(mut text: PackedText, mut packed: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut block = Vec::new();
    loop {
        block.clear();
        packed.by_ref().take(BLOCK).read_to_end(&mut block)?;
        if block.is_empty() {
            return Ok(Some(text.finish()));
        }
        if !text.push(&block) {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_told_from_files() {
        for link in [
            "https://host/page#p1.AA",
            "http://host/",
            "#p1.AA",
            "p1.AAAA-_",
            "<https://host/page#p1.AA>",
            "  \"https://host/page#p1.AA\"",
            "[it](https://host/page#p1.AA)",
            "> https://host/page#p1.AA\n> BB",
        ] {
            assert!(is_link(link), "{link}");
        }
        for file in ["perf.data", "p1", "p1.data/perf.data", "-", "profile.html", "#p1", "a#p1.AA"]
        {
            assert!(!is_link(file), "{file}");
        }
    }

    #[test]
    fn an_address_without_a_profile_is_said_to_be_one() {
        let error =
            SharedProfile::of_argument("https://host/page").err().expect("nothing is in it");
        assert!(error.to_string().contains("perftab fetches nothing"), "{error}");
        let long = format!("https://host/#p1.{}", "A".repeat(100));
        let shared = SharedProfile::of_argument(&long).expect("a payload");
        assert_eq!((shared.name.chars().count(), shared.payload.len()), (SHOWN + 1, 103));
    }
}
