//! Takes out of texts what may not be told.

use std::borrow::Cow;

use super::folders::{Folders, PathsIn, file_name};
use super::{Draft, Rename};

/// Hexadecimal digits that may be a part of a build-id.
const SHORTEST_ID: usize = 8;
/// What stands for a build-id.
const ID: &str = "[build-id]";

/// What may not be told, and what is called otherwise.
pub(crate) struct Redactor<'c, 'o> {
    /// None: folders are told.
    folders: Option<Folders<'c>>,
    /// Names that are not told, and what stands for them in messages.
    hidden: Vec<(Cow<'c, str>, String)>,
    /// Identities that are not told, in hex.
    ids: Vec<String>,
    renames: &'o [Rename],
}

impl<'c, 'o> Redactor<'c, 'o> {
    /// `folders` are those that are taken out; `None` to tell them.
    pub fn new(folders: Option<Folders<'c>>, renames: &'o [Rename]) -> Self {
        Self { folders, hidden: Vec::new(), ids: Vec::new(), renames }
    }

    /// Takes a name out of messages.
    pub fn hide(&mut self, name: impl Into<Cow<'c, str>>, alias: &str) {
        self.hidden.push((name.into(), alias.to_owned()));
    }

    /// Takes identities out of messages and names of files.
    pub fn hide_ids(&mut self, ids: impl Iterator<Item = String>) {
        self.ids.extend(ids);
    }

    /// The file name of a path, or all of it if folders are told.
    pub fn file_name<'t>(&self, path: &'t str) -> &'t str {
        if self.folders.is_some() { file_name(path) } else { path }
    }

    /// A name of code, a process or an event: folders may stand in it.
    pub fn name<'t>(&self, text: &'t str) -> Draft<'t> {
        self.marked(Draft::new(self.cut(text, PathsIn::Names)))
    }

    /// What [`Self::file_name`] gave.
    pub fn file<'t>(&self, name: &'t str) -> Draft<'t> {
        let mut draft = Draft::new(Cow::Borrowed(name));
        self.mark_ids(&mut draft);
        self.marked(draft)
    }

    /// A sentence: it may name anything.
    pub fn message<'t>(&self, text: &'t str) -> Draft<'t> {
        self.any(self.cut(text, PathsIn::Names))
    }

    /// A line of source: it may name anything, too.
    pub fn source<'t>(&self, text: &'t str) -> Draft<'t> {
        let folders = self.folders.as_ref();
        self.any(folders.map_or(Cow::Borrowed(text), |folders| folders.cut_source(text)))
    }

    /// An argument of a command: all that has a slash may be a path.
    pub fn argument<'t>(&self, text: &'t str) -> Draft<'t> {
        self.any(self.cut(text, PathsIn::Arguments))
    }

    fn any<'t>(&self, text: Cow<'t, str>) -> Draft<'t> {
        let mut draft = Draft::new(text);
        self.mark_ids(&mut draft);
        for (name, alias) in &self.hidden {
            let found: Vec<_> = whole_words(draft.text(), name).collect();
            found.into_iter().for_each(|at| draft.replace(at..at + name.len(), alias));
        }
        self.marked(draft)
    }

    fn cut<'t>(&self, text: &'t str, paths: PathsIn) -> Cow<'t, str> {
        self.folders.as_ref().map_or(Cow::Borrowed(text), |folders| folders.cut(text, paths))
    }

    fn marked<'t>(&self, mut draft: Draft<'t>) -> Draft<'t> {
        draft.mark(self.renames);
        draft
    }

    /// Build-ids are also written shortened, and as folder and rest in names of files.
    fn mark_ids(&self, draft: &mut Draft<'_>) {
        if self.ids.is_empty() {
            return;
        }
        let text = draft.text().to_owned();
        let mut next = 0;
        for run in text.split(|c: char| !c.is_ascii_hexdigit()) {
            let is_id = |id: &String| id.contains(run) || run.contains(id.as_str());
            if run.len() >= SHORTEST_ID && self.ids.iter().any(is_id) {
                draft.replace(next..next + run.len(), ID);
            }
            // Those that end a run are of more bytes than one only outside of ASCII.
            next += run.len();
            next += text[next..].chars().next().map_or(0, char::len_utf8);
        }
    }
}

/// Where `name` stands in `text` by itself.
fn whole_words<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).map(|(at, _)| at).filter(move |&at| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !name.is_empty() && !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Aliases;

    fn redacted(redactor: &Redactor<'_, '_>, draft: Draft<'_>) -> String {
        Aliases::new(redactor.renames, [&draft].into_iter()).line(draft).text.into_owned()
    }

    #[test]
    fn messages_hold_no_name_that_is_left_out() {
        let mut redactor = Redactor::new(Some(Folders::default()), &[]);
        redactor.hide("pay-server", "process-1");
        redactor.hide("pay", "process-2");
        let said = redactor.message("pay-server (pay) repays /srv/pay/log of pay.");
        assert_eq!(redacted(&redactor, said), "process-1 (process-2) repays log of process-2.");
        // Names are taken out as a whole, where they stand.
        assert_eq!(redacted(&redactor, redactor.name("pay")), "pay");
    }

    #[test]
    fn messages_hold_no_build_id_that_is_left_out() {
        let mut redactor = Redactor::new(None, &[]);
        redactor.hide_ids(["3f9a0c1122334455".to_owned()].into_iter());
        for (said, is) in [
            (
                "No kernel with build-id 3f9a0c1122334455 was found",
                "No kernel with build-id [build-id] was found",
            ),
            ("3f9a0c11…", "[build-id]…"),
            ("é9a0c1122334455.debug", "é[build-id].debug"),
            ("at 0xdeadbeef01 facade", "at 0xdeadbeef01 facade"),
        ] {
            assert_eq!(redacted(&redactor, redactor.message(said)), is);
        }
    }
}
