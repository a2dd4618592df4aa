//! From a request's path to what it asks for. Pure: what is refused here has touched no file.

use axum::http::Method;
use perftab_core::{CompanionId, ContentHash, DsoId, Identity, Svma};
use perftab_perfdata::format::BuildId;

use super::page_part::PagePart;
use crate::debuginfod_client::Artifact;

/// What the server can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The viewer.
    Page,
    /// A part of it that the viewer asks for.
    PagePart(PagePart),
    /// What is served, as JSON.
    Profiles,
    /// A file of a recording.
    Profile {
        /// Its position among those named on the command line.
        index: usize,
        /// Which of its files: 0 is the only one, or of a folder `data`.
        part: usize,
    },
    /// Where the page leaves what it read of a profile's files, and learns what this machine says of
    /// build-ids that were read late, both as JSON.
    Files {
        /// As in [`Route::Profile`].
        index: usize,
    },
    /// Where the page says which processes of a profile made code, as JSON, and learns what they say of it.
    Code {
        /// As in [`Route::Profile`].
        index: usize,
    },
    /// Which files this machine has at the paths of what a profile recorded without a build-id, as JSON.
    Trusted {
        /// As in [`Route::Profile`].
        index: usize,
    },
    /// The jitdump in which that was found of a process.
    Jitdump {
        /// As in [`Route::Profile`].
        index: usize,
        /// The process, as it was recorded.
        pid: u32,
    },
    /// The source file that code of a build was made of, at an address of its file.
    Source(SourceKeeper, Identity, Svma),
    /// A file of a build, from this machine or a server.
    Debuginfod(BuildId, Artifact),
    /// A file of this machine. Nobody else is asked.
    Local(LocalFile),
}

/// Who is asked for a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKeeper {
    /// This machine. Nobody else is asked.
    ThisMachine,
    /// This machine, then the servers: the user has agreed to that.
    Servers,
}

/// What is looked for on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LocalFile {
    /// A file of a build.
    Build(BuildId, Artifact),
    /// The file that tells most of a build: the debug file, else the executable.
    Best(BuildId),
    /// A copy of the memory of a kernel of this build.
    Memory(BuildId),
    /// What the debug information of a build names by this id.
    Companion(BuildId, CompanionId),
    /// A file that has no build-id.
    Content(ContentHash),
    /// What is at the path of a DSO of a profile, both by number: [`Route::Trusted`] says that it may be used.
    Trusted(usize, DsoId),
}

/// Why a path leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteError {
    /// Nothing has this address: 404.
    Unknown,
    /// It can't be asked: 400, with the reason.
    Refused(&'static str),
}

impl Route {
    /// Reads the path of a request, still percent-encoded.
    pub fn parse(path: &str) -> Result<Self, RouteError> {
        if !is_harmless(path) {
            return Err(RouteError::Refused("a path with . or .. or control characters"));
        }
        if let Some(rest) = path.strip_prefix("/debuginfod/buildid/") {
            return build(rest).map(|(id, artifact)| Self::Debuginfod(id, artifact));
        }
        if let Some(rest) = path.strip_prefix("/debuginfod/source/") {
            return source(SourceKeeper::Servers, rest);
        }
        if let Some(rest) = path.strip_prefix("/local/") {
            return local(rest).map(Self::Local);
        }
        if let Some(rest) = path.strip_prefix("/source/") {
            return source(SourceKeeper::ThisMachine, rest);
        }
        match path {
            "/" => Ok(Self::Page),
            "/page/code" => Ok(Self::PagePart(PagePart::Code)),
            "/page/wasm" => Ok(Self::PagePart(PagePart::Wasm)),
            "/page/images" => Ok(Self::PagePart(PagePart::Images)),
            "/profiles" => Ok(Self::Profiles),
            _ => path.strip_prefix("/profile/").and_then(profile).ok_or(RouteError::Unknown),
        }
    }

    /// How it is asked. Only what takes something is posted, and changes nothing but what this server
    /// has in memory.
    pub fn allows(&self, method: &Method) -> bool {
        match self {
            Self::Files { .. } | Self::Code { .. } => method == Method::POST,
            _ => matches!(*method, Method::GET | Method::HEAD),
        }
    }
}

/// `N`, `N/PART`, `N/files`, `N/code`, `N/code/PID` or `N/trusted`.
fn profile(rest: &str) -> Option<Route> {
    let (index, part) = rest.split_once('/').unwrap_or((rest, "0"));
    if part == "files" {
        return Some(Route::Files { index: number(index)? });
    }
    if part == "code" {
        return Some(Route::Code { index: number(index)? });
    }
    if part == "trusted" {
        return Some(Route::Trusted { index: number(index)? });
    }
    if let Some(pid) = part.strip_prefix("code/") {
        let pid = u32::try_from(number(pid)?).ok()?;
        return Some(Route::Jitdump { index: number(index)?, pid });
    }
    Some(Route::Profile { index: number(index)?, part: number(part)? })
}

/// `usize::from_str` would take a sign.
fn number(digits: &str) -> Option<usize> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// `ID/executable`, `ID/debuginfo`, `ID/source/PATH`, `ID/section/NAME`: debuginfod(8), "WEBAPI".
fn build(rest: &str) -> Result<(BuildId, Artifact), RouteError> {
    let (id, artifact) = rest.split_once('/').ok_or(RouteError::Unknown)?;
    let id = build_id(id)?;
    let artifact = match artifact.split_once('/') {
        None if artifact == "executable" => Artifact::Executable,
        None if artifact == "debuginfo" => Artifact::DebugInfo,
        Some(("section", name)) if !name.is_empty() && !name.contains('/') => {
            Artifact::Section(name.to_owned())
        }
        // An absolute path, its first slash being the separator.
        Some(("source", path)) if !path.is_empty() => Artifact::Source(format!("/{path}")),
        _ => return Err(RouteError::Unknown),
    };
    Ok((id, artifact))
}

/// `ID/ADDRESS` or, of a file without a build-id, `content/HASH/ADDRESS`, all in hex digits.
fn source(from: SourceKeeper, rest: &str) -> Result<Route, RouteError> {
    let (file, address) = rest.rsplit_once('/').ok_or(RouteError::Unknown)?;
    let is_hex = !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit());
    let address = u64::from_str_radix(address, 16).ok().filter(|_| is_hex);
    let address = address.ok_or(RouteError::Refused("an address is up to 16 hex digits"))?;
    let identity = match file.strip_prefix("content/") {
        Some(digits) => Identity::Content(content_hash(digits)?),
        None => Identity::Gnu(build_id(file)?),
    };
    Ok(Route::Source(from, identity, Svma(address)))
}

fn build_id(digits: &str) -> Result<BuildId, RouteError> {
    let refused = RouteError::Refused("a build-id is 1 to 20 bytes in hex digits");
    BuildId::from_hex(digits).ok_or(refused)
}

/// `buildid/…` as for a debuginfod, `buildid/ID`, `buildid/ID/unit/ID`, `buildid/ID/shared/ID`, or `content/HASH`.
fn local(rest: &str) -> Result<LocalFile, RouteError> {
    if let Some(rest) = rest.strip_prefix("buildid/") {
        let Some((id, what)) = rest.split_once('/') else {
            return build_id(rest).map(LocalFile::Best);
        };
        if what == "memory" {
            return build_id(id).map(LocalFile::Memory);
        }
        return match what.parse() {
            Ok(companion) => Ok(LocalFile::Companion(build_id(id)?, companion)),
            Err(()) => build(rest).map(|(id, artifact)| LocalFile::Build(id, artifact)),
        };
    }
    if let Some(rest) = rest.strip_prefix("trusted/") {
        let (index, dso) = rest.split_once('/').ok_or(RouteError::Unknown)?;
        let dso = number(dso).and_then(|dso| u32::try_from(dso).ok());
        let numbers = number(index).zip(dso).ok_or(RouteError::Unknown)?;
        return Ok(LocalFile::Trusted(numbers.0, DsoId(numbers.1)));
    }
    let digits = rest.strip_prefix("content/").ok_or(RouteError::Unknown)?;
    content_hash(digits).map(LocalFile::Content)
}

fn content_hash(digits: &str) -> Result<ContentHash, RouteError> {
    ContentHash::from_hex(digits).ok_or(RouteError::Refused("a hash is 32 hex digits"))
}

/// Whether no segment, however encoded, could climb out of a folder or cut a name short.
fn is_harmless(path: &str) -> bool {
    let Some(decoded) = percent_decoded(path) else { return false };
    !decoded.iter().any(u8::is_ascii_control)
        && decoded.split(|&byte| byte == b'/' || byte == b'\\').all(|part| !is_dots(part))
        // Twice encoded: what passes it on may decode once more.
        && percent_decoded(&String::from_utf8_lossy(&decoded))
            .is_none_or(|twice| !twice.split(|&byte| byte == b'/').any(is_dots))
}

fn is_dots(part: &[u8]) -> bool {
    matches!(part, b"." | b"..")
}

fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                (high * 16 + low) as u8
            }
            other => other,
        });
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "9f31c07ad05e";

    fn artifact(path: &str) -> Result<Artifact, RouteError> {
        match Route::parse(&format!("/debuginfod/buildid/{path}"))? {
            Route::Debuginfod(id, artifact) => {
                assert_eq!(id.to_string(), ID);
                Ok(artifact)
            }
            other => panic!("{path} is {other:?}"),
        }
    }

    #[test]
    fn what_is_served() {
        assert_eq!(Route::parse("/"), Ok(Route::Page));
        assert_eq!(Route::parse("/profiles"), Ok(Route::Profiles));
        assert_eq!(Route::parse("/profile/12"), Ok(Route::Profile { index: 12, part: 0 }));
        assert_eq!(Route::parse("/profile/12/3"), Ok(Route::Profile { index: 12, part: 3 }));
        assert_eq!(Route::parse("/profile/12/files"), Ok(Route::Files { index: 12 }));
        assert_eq!(Route::parse("/profile/12/code"), Ok(Route::Code { index: 12 }));
        assert_eq!(Route::parse("/profile/12/trusted"), Ok(Route::Trusted { index: 12 }));
        let trusted = LocalFile::Trusted(12, DsoId(3));
        assert_eq!(Route::parse("/local/trusted/12/3"), Ok(Route::Local(trusted)));
        let jitdump = Route::Jitdump { index: 12, pid: 7 };
        assert_eq!(Route::parse("/profile/12/code/7"), Ok(jitdump));
        let hash = "00ff00ff00ff00ff00ff00ff00ff00ff";
        let content = LocalFile::Content(ContentHash::from_hex(hash).expect("32 digits"));
        assert_eq!(Route::parse(&format!("/local/content/{hash}")), Ok(Route::Local(content)));
        let build = LocalFile::Build(BuildId::from_hex(ID).expect("an id"), Artifact::DebugInfo);
        let path = format!("/local/buildid/{ID}/debuginfo");
        assert_eq!(Route::parse(&path), Ok(Route::Local(build)));
        let best = LocalFile::Best(BuildId::from_hex(ID).expect("an id"));
        assert_eq!(Route::parse(&format!("/local/buildid/{ID}")), Ok(Route::Local(best)));
        let memory = LocalFile::Memory(BuildId::from_hex(ID).expect("an id"));
        assert_eq!(Route::parse(&format!("/local/buildid/{ID}/memory")), Ok(Route::Local(memory)));
        for companion in ["unit/00ff00ff00ff00ff", "shared/9f31c07ad05e"] {
            let build = BuildId::from_hex(ID).expect("an id");
            let id = companion.parse().expect("an id");
            let route = Route::parse(&format!("/local/buildid/{ID}/{companion}"));
            assert_eq!(route, Ok(Route::Local(LocalFile::Companion(build, id))));
        }
        assert_eq!(artifact("9f31c07ad05e/executable"), Ok(Artifact::Executable));
        assert_eq!(artifact("9F31C07AD05E/debuginfo"), Ok(Artifact::DebugInfo));
        let section = Artifact::Section(".debug_line".to_owned());
        assert_eq!(artifact("9f31c07ad05e/section/.debug_line"), Ok(section));
        let source = Artifact::Source("/usr/src/a%20b.c".to_owned());
        assert_eq!(artifact("9f31c07ad05e/source/usr/src/a%20b.c"), Ok(source));
    }

    #[test]
    fn nothing_else_is() {
        let none = [
            "",
            "-1",
            "1/",
            "1/code/",
            "1/code/+7",
            "1/+2",
            "1/2/3",
            "/1",
            "/files",
            "99999999999999999999",
        ];
        for path in none.map(|rest| format!("/profile/{rest}")) {
            assert_eq!(Route::parse(&path), Err(RouteError::Unknown), "{path}");
        }
        for path in ["/index.html", "/debuginfod/metrics", "//", "/etc/passwd", ""] {
            assert_eq!(Route::parse(path), Err(RouteError::Unknown), "{path}");
        }
        for rest in [ID.to_owned(), format!("{ID}/"), format!("{ID}/source/")] {
            assert_eq!(artifact(&rest), Err(RouteError::Unknown), "{rest}");
        }
        assert_eq!(artifact(&format!("{ID}/section/a/b")), Err(RouteError::Unknown));
        let units = ["", "ff", "+0ff00ff00ff00ff", "00ff00ff00ff00ff/a.dwo", "tmp/a.dwo"];
        for unit in units.map(|unit| format!("/local/buildid/{ID}/unit/{unit}")) {
            assert_eq!(Route::parse(&unit), Err(RouteError::Unknown), "{unit}");
        }
    }

    #[test]
    fn ids_are_hex() {
        let long = "ab".repeat(21);
        for id in ["xyz", "abc", "", "g0", "0000", "%61b", long.as_str()] {
            let refused = artifact(&format!("{id}/executable"));
            assert!(matches!(refused, Err(RouteError::Refused(_))), "{id}: {refused:?}");
        }
    }

    #[test]
    fn no_path_climbs() {
        let climbing = ["..", "%2e%2e", "%2E.", ".", "..%2f..", "..%5c..", "a%00b", "%252e%252e"];
        for part in climbing.into_iter().chain(["%zz", "%", "a%0ab"]) {
            for path in [
                format!("/debuginfod/buildid/{ID}/source/{part}/etc/passwd"),
                format!("/debuginfod/buildid/{part}/executable"),
                format!("/profile/{part}"),
                format!("/{part}"),
            ] {
                let refused = Route::parse(&path);
                assert!(matches!(refused, Err(RouteError::Refused(_))), "{path}: {refused:?}");
            }
        }
    }
}
