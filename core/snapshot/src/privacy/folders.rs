//! Takes folders out of texts: of a path only the file name stays.
//!
//! Where a path ends cannot always be told, since folders may have blanks and brackets in their
//! names. Folders that the profile knows are recognized whole; of others rather too much is taken
//! out than too little.

use perftab_perfdata::map::Set;
use std::borrow::Cow;
use std::ops::Range;

use perftab_views::label::is_system_path;

/// What stands for a path that is a folder itself.
const FOLDER: &str = "[folder]";

const QUOTES: [char; 3] = ['"', '\'', '`'];

/// Options of compilers that a folder follows without a blank.
const FOLDER_OPTIONS: [&str; 7] =
    ["-I", "-L", "-idirafter", "-iquote", "-isysroot", "-isystem", "-rpath"];

/// So many words of a file's name may stand behind a blank.
const MOST_WORDS: usize = 3;

/// What programs are made of, by the end of the file's name in lower case.
const SOURCES: [&str; 70] = [
    "asm", "bash", "c", "cc", "cjs", "clj", "cljs", "cpp", "cs", "cts", "cu", "cuh", "cxx", "dart",
    "dll", "dylib", "erl", "ex", "exe", "f90", "fs", "go", "groovy", "h", "hh", "hpp", "hs", "hxx",
    "inl", "ipp", "jar", "java", "jl", "js", "jsx", "ko", "kt", "ll", "lua", "m", "mjs", "ml",
    "mm", "mts", "nim", "php", "pl", "pm", "ps1", "py", "pyc", "pyx", "rb", "rs", "s", "scala",
    "scm", "sh", "so", "sql", "svelte", "swift", "tcc", "ts", "tsx", "vb", "vue", "wasm", "zig",
    "zsh",
];

/// What counts as a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathsIn {
    /// What begins as a path from the root, from home or from where one is (`/a/b`, `./a`), from a
    /// drive or server (`c:\a`, `\\a\b`), and what is called as a source file is: `a/b.c`. Other
    /// names of functions have slashes too.
    Names,
    /// All that has a slash: `a/b`.
    Arguments,
    /// As in names, but for `a/b.c`: of what may be the rest of a path.
    Rest,
}

/// Folders that a profile knows.
#[derive(Default)]
pub(crate) struct Folders<'p> {
    /// Each with its slash at the end, and all that it lies in.
    known: Set<&'p str>,
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

impl<'p> Folders<'p> {
    /// The folders of these files.
    pub fn of(paths: impl Iterator<Item = &'p str>) -> Self {
        let mut known = Set::new();
        for path in paths.filter(|path| path.starts_with('/')) {
            // From the longest on: where one is known, so are those that it lies in.
            for (slash, _) in path.rmatch_indices('/') {
                if !known.insert(&path[..=slash]) {
                    break;
                }
            }
        }
        Self { known }
    }

    /// `text` with file names in place of paths.
    pub fn cut<'t>(&self, text: &'t str, paths: PathsIn) -> Cow<'t, str> {
        if !text.contains(['/', '\\']) {
            return Cow::Borrowed(text);
        }
        let mut redacted = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            // One character that ends a path, or all up to the next one.
            let end = end_of(rest).max(rest.chars().next().map_or(0, char::len_utf8));
            let start = start_of(&rest[..end], paths, redacted.ends_with(':'));
            let goes_on = || paths == PathsIn::Names && goes_on_as_source(rest, end);
            match start.or_else(|| goes_on().then_some(0)) {
                Some(start) => {
                    redacted.push_str(&rest[..start]);
                    let quote = redacted.chars().next_back().filter(|it| QUOTES.contains(it));
                    let (name, after) = self.cut_path(&rest[start..], quote);
                    let is_folder = FOLDER_OPTIONS.contains(&&rest[..start]);
                    let is_cut = !name.contains(['/', '\\']);
                    redacted.push_str(if is_folder && is_cut { FOLDER } else { name });
                    rest = after;
                }
                None => {
                    redacted.push_str(&rest[..end]);
                    rest = &rest[end..];
                }
            }
        }
        Cow::Owned(redacted)
    }

    /// The same of a line of source: what begins and ends comments is no path.
    pub fn cut_source<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut redacted = String::new();
        let mut rest = text;
        while let Some(mark) = comment_mark(rest) {
            redacted.push_str(&self.cut(&rest[..mark.start], PathsIn::Names));
            redacted.push_str(&rest[mark.clone()]);
            rest = &rest[mark.end..];
        }
        match rest.len() == text.len() {
            true => self.cut(text, PathsIn::Names),
            false => Cow::Owned(redacted + &self.cut(rest, PathsIn::Names)),
        }
    }

    /// The name that stays of the path at the beginning of `text`, and what follows the path. What
    /// stands in quotes ends with them.
    fn cut_path<'t>(&self, text: &'t str, quote: Option<char>) -> (&'t str, &'t str) {
        let slashes = text.match_indices('/').map(|(slash, _)| slash + 1);
        let known = slashes.take_while(|&end| self.known.contains(&text[..end])).last();
        let known = known.unwrap_or_default();
        let mut end = known + end_of(&text[known..]);
        let path = &text[..end];
        if parts(path) == 0 || is_system_path(path) {
            return (path, &text[end..]);
        }
        if path.ends_with('/') || self.is_folder(path) {
            return (FOLDER, &text[end..]);
        }
        // What ends paths may be part of a folder's name, too: then more slashes follow.
        let mut next = end;
        while let Some(ender) = text[next..].chars().next() {
            let word = &text[next + ender.len_utf8()..];
            let length = end_of(word);
            // A quote in a folder's name is followed by more of it.
            let is_new = start_of(&word[..length], PathsIn::Rest, ender == ':') == Some(0);
            let is_new = is_new || option_of(&word[..length]).is_some();
            let is_end = Some(ender) == quote || !")]}".contains(ender);
            if length == 0 || is_new && is_end {
                break;
            }
            next += ender.len_utf8() + length;
            if word[..length].contains(['/', '\\']) {
                end = next;
            }
        }
        match &text[..end] {
            path if path.ends_with('/') => (FOLDER, &text[end..]),
            path if parts(path) < 2 => (path, &text[end..]),
            path => (file_name(path), &text[end..]),
        }
    }

    fn is_folder(&self, path: &str) -> bool {
        self.known.contains(format!("{path}/").as_str())
    }
}

/// Where the path at the beginning of `text` ends, blanks in names apart.
fn end_of(text: &str) -> usize {
    text.find(ends_path).unwrap_or(text.len())
}

fn ends_path(c: char) -> bool {
    c.is_whitespace() || "\"'`<>|;,:=()[]{}".contains(c)
}

/// Where a comment begins or ends: `//`, `///`, `/*`, `*/` that stand by themselves, unlike in `/a/*/b` and
/// `//a/b`.
fn comment_mark(text: &str) -> Option<Range<usize>> {
    let is_end = |end: usize, others: &[char]| {
        let next = text[end..].chars().next();
        next.is_none_or(|next| ends_path(next) || others.contains(&next))
    };
    let is_mark = |at: usize| {
        let before = text[..at].chars().next_back();
        if before == Some('*') && is_end(at + 1, &[]) {
            return Some(at - 1..at + 1);
        }
        if before.is_some_and(|before| !ends_path(before)) {
            return None;
        }
        let slashes = text[at..].len() - text[at..].trim_start_matches('/').len();
        let is_line = slashes > 1 && is_end(at + slashes, &['!']);
        let is_block = text[at..].starts_with("/*") && is_end(at + 2, &['*', '!']);
        (is_line || is_block).then(|| at..at + slashes.max(2))
    };
    text.match_indices('/').find_map(|(at, _)| is_mark(at))
}

/// Where a path begins in a stretch of text without blanks.
fn start_of(token: &str, paths: PathsIn, follows_colon: bool) -> Option<usize> {
    if !token.contains(['/', '\\']) {
        return None;
    }
    if let Some(option) = option_of(token) {
        return Some(option);
    }
    if paths == PathsIn::Arguments
        || token.starts_with('~')
        || token.starts_with('\\') && follows_colon
        || token.starts_with("\\\\")
        || paths == PathsIn::Names && is_source(token)
    {
        return Some(0);
    }
    let is_start = |at: usize| {
        let begins = ["/", "./", "../"].iter().any(|start| token[at..].starts_with(start));
        // What divides words of names, as `/` itself does in some.
        let is_part = |c: char| c.is_alphanumeric() || "_.-/+%#~".contains(c);
        begins && !token[..at].chars().next_back().is_some_and(is_part)
    };
    token.match_indices(['/', '.']).map(|(at, _)| at).find(|&at| is_start(at))
}

/// Length of an option that a path follows without a blank.
fn option_of(token: &str) -> Option<usize> {
    let known = FOLDER_OPTIONS.into_iter().find(|option| token.starts_with(option));
    let is_letter =
        |start: &str| start.starts_with('-') && start.as_bytes()[1].is_ascii_alphabetic();
    let letter = || token.get(..2).filter(|start| is_letter(start));
    let option = known.or_else(letter)?;
    // `-init/1-fun` is no option.
    let is_path = known.is_some_and(|it| it.len() == 2) || token[option.len()..].starts_with('/');
    is_path.then_some(option.len())
}

/// True for the name of a source file or a library, as far as its extension tells.
fn is_source(path: &str) -> bool {
    let name = file_name(path);
    // Behind `.so` the version follows.
    let version = |c: char| c.is_ascii_digit() || c == '.';
    let name = if name.contains(".so.") { name.trim_end_matches(version) } else { name };
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|it| SOURCES.binary_search(&&*it).is_ok())
}

/// True if the first `end` bytes of `text` and some words more are the name of a source file: `a/my b.c`.
fn goes_on_as_source(text: &str, end: usize) -> bool {
    // Not a quotient.
    let is_word = |part: &str| part.len() > 1 && !part.bytes().all(|it| it.is_ascii_digit());
    if !text[..end].contains(['/', '\\']) || !text[..end].split(['/', '\\']).any(is_word) {
        return false;
    }
    let mut rest = &text[end..];
    for _ in 0..MOST_WORDS {
        let Some(word) = rest.strip_prefix(' ') else { return false };
        let length = end_of(word);
        if length == 0 || is_source(&word[..length]) {
            return length > 0;
        }
        rest = &word[length..];
    }
    false
}

/// Folders and the name; what lies in the root has none to hide.
fn parts(path: &str) -> usize {
    path.split(['/', '\\']).filter(|part| !part.is_empty()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> String {
        let known = ["/home/me/my project (copy)/src/x.cpp", "/opt/acme/lib/libpay.so"];
        Folders::of(known.into_iter()).cut(text, PathsIn::Names).into_owned()
    }

    #[test]
    fn of_a_path_the_name_stays() {
        for (text, redacted) in [
            ("/home/me/secret/app", "app"),
            (
                "main::{lambda at /home/me/x.cpp:3:5}::operator()",
                "main::{lambda at x.cpp:3:5}::operator()",
            ),
            ("{closure@/home/me/a b/x.rs:1:2}", "{closure@x.rs:1:2}"),
            ("LazyCompile:*go file:///home/me/app.js:12:3", "LazyCompile:*go file:app.js:12:3"),
            ("py::run:/srv/shop/run.py", "py::run:run.py"),
            ("../secret/x and ~/secret/y", "x and y"),
            ("C:\\Users\\me\\x.dll", "C:x.dll"),
            ("PATH=/home/a/bin:/home/b/bin", "PATH=bin:bin"),
            ("go /home/me/node_modules/@acme/pay/x.js", "go x.js"),
            ("f:/home/me/a'b/SEK/x", "f:x"),
            ("f:/home/me/a,b/SEK/x:7", "f:x:7"),
            ("f:/home/me/a:b/c;d/e|f/SEK/x", "f:x"),
            ("f:/home/me/a(b)/[c]/{d}/SEK/x", "f:x"),
            ("open('/home/me/x', 3/4)", "open('x', 3/4)"),
            ("c:\\Users\\My Name\\SEK\\x", "c:x"),
            ("\\\\server\\share\\SEK\\x.dll", "x.dll"),
            ("\\\\server\\share\\SEK\\x", "x"),
            ("run src/SEK/app.js:12:3", "run app.js:12:3"),
            ("src\\SEK\\app.py", "app.py"),
            ("build/SEK/libx.so.6", "libx.so.6"),
            ("build/SEK/libx.so.6.0.12 (deleted)", "libx.so.6.0.12 (deleted)"),
            ("src/SEK/a.scala", "a.scala"),
            ("src/SEK/b.vue", "b.vue"),
            ("src/SEK/a.cjs:3", "a.cjs:3"),
            ("src/SEK/a.mm", "a.mm"),
            ("src/SEK/a.sh", "a.sh"),
            ("src/SEK/a.CPP:7", "a.CPP:7"),
            ("run src/SEK/my file.js:3", "run my file.js:3"),
            ("src/SEK/my new/file.js", "file.js"),
            ("'/home/me/a'b/SEK/x'", "'x'"),
            ("'/home/me/x' and 'y'", "'x' and 'y'"),
            ("'/home/me/x'/3", "'x'/3"),
            ("cc -I/home/me/SEK -Isrc/SEK -I. x.c", "cc -I[folder] -I[folder] -I. x.c"),
            ("cc -isystem/home/me/SEK -o/home/me/SEK/x", "cc -isystem[folder] -ox"),
            ("github.com/acme/pay.(*Till).Run", "github.com/acme/pay.(*Till).Run"),
            ("App\\Http\\Kernel::handle", "App\\Http\\Kernel::handle"),
            ("java/util/HashMap.get", "java/util/HashMap.get"),
        ] {
            assert_eq!(cut(text), redacted);
        }
    }

    #[test]
    fn comments_in_source_are_no_paths() {
        let known = ["/home/me/my project (copy)/src/x.cpp"];
        let folders = Folders::of(known.into_iter());
        for (text, redacted) in [
            ("x += 3; /* of a and b */", "x += 3; /* of a and b */"),
            ("/* a/b */ y = n / 2; // c", "/* a/b */ y = n / 2; // c"),
            ("f(); /// of f", "f(); /// of f"),
            ("f(); //! of /srv/f/f.c", "f(); //! of f.c"),
            ("f(); /** see /home/me/my project (copy)/src/x.cpp */", "f(); /** see x.cpp */"),
            ("open(\"/srv/a b/x\"); // x", "open(\"x\"); // x"),
            ("glob(\"/srv/shop/*/pay\");", "glob(\"pay\");"),
            ("glob(\"/srv/shop/*/\");", "glob(\"[folder]*/\");"),
            ("get(\"//srv/shop/pay\");", "get(\"pay\");"),
            ("get(\"file:///srv/shop/pay\");", "get(\"file:pay\");"),
            ("/*/srv/pay*//srv/shop", "shop"),
            ("//", "//"),
            ("*/", "*/"),
        ] {
            assert_eq!(folders.cut_source(text), redacted, "{text}");
        }
    }

    #[test]
    fn names_of_functions_stay() {
        for name in [
            "ns::operator/(int, int)",
            "github.com/acme/shop/pay.(*Card).charge",
            "Ljava/util/List;::add",
            "'-init/1-fun-0-'/2",
            "kworker/0:1-events",
            "//anon",
            "/SYSV00000000",
            "a / b",
            "3/4 of a.c",
            "50 %",
        ] {
            assert_eq!(cut(name), name);
        }
    }

    #[test]
    fn folders_that_are_known_are_recognized_whole() {
        for (text, redacted) in [
            ("/home/me/my project (copy)/src/x.cpp:7", "x.cpp:7"),
            ("/home/me/my project (copy)/other/y.cpp", "y.cpp"),
            ("in /opt/acme/lib there", "in [folder] there"),
            ("in /opt/acme/lib/", "in [folder]"),
            ("/home/other/big secret project/y.cpp", "y.cpp"),
            ("/home/a/x /home/b/y", "x y"),
        ] {
            assert_eq!(cut(text), redacted);
        }
    }

    #[test]
    fn an_argument_with_a_slash_is_a_path() {
        let folders = Folders::default();
        assert_eq!(folders.cut("secret/tides", PathsIn::Arguments), "tides");
        assert_eq!(folders.cut("--out=secret/tides", PathsIn::Arguments), "--out=tides");
        assert_eq!(folders.cut("-F", PathsIn::Arguments), "-F");
    }

    #[test]
    fn system_objects_keep_their_folders() {
        assert_eq!(
            cut("/usr/lib/x86_64-linux-gnu/libc.so.6"),
            "/usr/lib/x86_64-linux-gnu/libc.so.6"
        );
    }
}
