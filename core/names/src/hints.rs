//! Where the image of a DSO can be had: packages, public debuginfod servers, the machine that was
//! recorded.
//!
//! Everything here follows from what was recorded: the build-id, the kernel's release, the
//! distribution. A hint decides nothing; what it leads to passes the gate like any file. Its
//! commands are there to be copied into a shell, and a recording may come from a stranger: so
//! whatever goes into one is checked by [`is_plain`], and left out otherwise.

use perftab_perfdata::format::package_note::PackageNote;
use perftab_perfdata::text::printable;
use perftab_profile::{Dso, DsoKind, Host, Identity};
use serde::Serialize;

/// A place where the image of a DSO can be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
pub struct Hint {
    /// What is to be had where, a sentence.
    pub text: String,
    /// A line for a shell that gets it.
    pub command: Option<String>,
    /// Where a debuginfod has it, if it does.
    pub url: Option<String>,
}

/// Distributions that differ in how debug files are had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Debian,
    Ubuntu,
    Fedora,
    CentOs,
    RedHat,
    Suse,
    Arch,
}

/// A public debuginfod that asks those of many distributions.
const FEDERATED: &str = "https://debuginfod.elfutils.org";

impl Family {
    /// As os-release has it, else as the kernel's release suggests.
    fn of(host: &Host) -> Option<Self> {
        match &host.distribution {
            Some(it) => std::iter::once(&it.id).chain(&it.like).find_map(|id| Self::of_id(id)),
            None => host.os_release.as_deref().and_then(Self::of_release),
        }
    }

    fn of_id(id: &str) -> Option<Self> {
        Some(match id {
            "debian" => Self::Debian,
            "ubuntu" => Self::Ubuntu,
            "fedora" => Self::Fedora,
            "centos" => Self::CentOs,
            "rhel" => Self::RedHat,
            "suse" | "opensuse" | "sles" | "opensuse-leap" | "opensuse-tumbleweed" => Self::Suse,
            "arch" => Self::Arch,
            _ => return None,
        })
    }

    /// Whose kernel it is: a container of one distribution may run on the kernel of another, and
    /// a kernel that somebody built is nobody's.
    fn of_kernel(host: &Host) -> Option<Self> {
        let release = host.os_release.as_deref()?;
        match (Self::of_release(release), Self::of(host)) {
            (Some(Self::RedHat), Some(Self::CentOs)) => Some(Self::CentOs),
            (Some(family), _) => Some(family),
            // Others end their kernels so too.
            (None, Some(Self::Arch)) => arch_flavour(release).map(|_| Self::Arch),
            (None, _) => None,
        }
    }

    /// By how distributions end the release of their kernels: `6.1.0-18-amd64`,
    /// `6.12.43+deb13-arm64`, `5.15.0-91-generic`, `6.5.6-300.fc39.x86_64`,
    /// `5.14.0-362.el9.x86_64`, `6.4.0-150600.21-default`, `6.6.8-arch1-1`.
    fn of_release(release: &str) -> Option<Self> {
        let ends = |ends: &[&str]| ends.iter().any(|end| release.ends_with(end));
        let numbered = |mark: &str| {
            let mut after = release.match_indices(mark).map(|(at, _)| &release[at + mark.len()..]);
            after.any(|rest| rest.starts_with(|it: char| it.is_ascii_digit()))
        };
        let debian = ["-amd64", "-arm64", "-armmp", "-686", "-686-pae", "-powerpc64le", "-riscv64"];
        match () {
            () if numbered("+deb") || ends(&debian) => Some(Self::Debian),
            () if ends(&["-generic", "-lowlatency", "-aws", "-azure", "-gcp", "-oracle"]) => {
                Some(Self::Ubuntu)
            }
            () if numbered(".fc") => Some(Self::Fedora),
            () if numbered(".el") => Some(Self::RedHat),
            () if numbered("-arch") => Some(Self::Arch),
            () if ends(&["-default"]) => Some(Self::Suse),
            () => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Debian => "Debian",
            Self::Ubuntu => "Ubuntu",
            Self::Fedora => "Fedora",
            Self::CentOs => "CentOS",
            Self::RedHat => "Red Hat",
            Self::Suse => "SUSE",
            Self::Arch => "Arch",
        }
    }

    /// The distribution's public debuginfod, as elfutils lists them.
    fn server(self) -> Option<&'static str> {
        Some(match self {
            Self::Debian => "https://debuginfod.debian.net",
            Self::Ubuntu => "https://debuginfod.ubuntu.com",
            Self::Fedora => "https://debuginfod.fedoraproject.org",
            Self::CentOs => "https://debuginfod.centos.org",
            Self::Suse => "https://debuginfod.opensuse.org",
            Self::Arch => "https://debuginfod.archlinux.org",
            Self::RedHat => return None,
        })
    }
}

/// Where an image of `dso` can be had, best first; `package` is what a file that was given for it
/// says of the package that it is from.
pub fn hints(dso: &Dso, host: &Host, package: Option<&PackageNote>) -> Vec<Hint> {
    let id = match (dso.kind, dso.identity) {
        (
            DsoKind::Unmapped | DsoKind::Folded | DsoKind::Pseudo | DsoKind::Anon | DsoKind::Jit,
            _,
        ) => return Vec::new(),
        (_, None) => return vec![record_again()],
        (_, Some(Identity::Content(_))) => return vec![archive(host)],
        (_, Some(Identity::Gnu(id))) => id.to_string(),
    };
    let is_kernel = matches!(dso.kind, DsoKind::Kernel | DsoKind::Module | DsoKind::Vdso);
    let family = if is_kernel { Family::of_kernel(host) } else { Family::of(host) };
    let of_package = package.and_then(of_package_note);
    // What was built on the machine or brought there no distribution has.
    let is_of_distribution = is_kernel || is_of_package(&dso.path);
    let of_distribution = match family {
        Some(family) if is_kernel => kernel_package(family, host, &id),
        Some(family) if is_of_distribution => file_package(family, dso, &id),
        _ => None,
    };
    let server = family.and_then(|family| Some((family.name(), family.server()?)));
    let mut hints: Vec<Hint> = of_package.into_iter().chain(of_distribution).collect();
    if let Some(url) = package.and_then(|package| package.debug_info_url.as_deref())
        && is_url(url)
    {
        hints.push(debuginfod("the server that its package names", url.trim_end_matches('/'), &id));
    } else if is_of_distribution {
        hints.extend(
            server.map(|(name, url)| debuginfod(&format!("the server of {name}"), url, &id)),
        );
    }
    if is_of_distribution {
        hints.push(debuginfod("a server for many distributions", FEDERATED, &id));
    }
    // The machine has the very file, as long as nobody upgrades it.
    let first = if dso.kind == DsoKind::User { 0 } else { hints.len() };
    hints.insert(first, archive(host));
    hints
}

/// The public debuginfod of the distribution that was recorded, by the kernel where nothing else tells which that is.
pub fn public_debuginfod(host: &Host) -> Option<Hint> {
    let family = Family::of(host)?;
    let (name, server) = (family.name(), family.server()?);
    let recorded = match &host.distribution {
        Some(it) => printable(it.name.as_ref().unwrap_or(&it.id)),
        None => format!("a kernel of {name}").into(),
    };
    Some(Hint {
        text: format!(
            "Recorded on {recorded}. The public server of {name} may have what its packages brought."
        ),
        command: Some(format!("export DEBUGINFOD_URLS={server}")),
        url: Some(server.to_owned()),
    })
}

fn record_again() -> Hint {
    Hint {
        text: "Record again with build-ids: `perftab record`, or `perf record --buildid-mmap`. If \
               a file has none, link it with --build-id."
            .to_owned(),
        command: Some("perf record --buildid-mmap".to_owned()),
        url: None,
    }
}

fn archive(host: &Host) -> Hint {
    let machine = match host.hostname.as_deref() {
        Some(name) if !name.is_empty() => printable(name).into_owned(),
        _ => "the machine that was recorded".to_owned(),
    };
    Hint {
        text: format!(
            "On {machine}, pack the binaries that have samples, and add the archive here."
        ),
        command: Some("perftab buildid archive perf.data".to_owned()),
        url: None,
    }
}

fn debuginfod(which: &str, server: &str, id: &str) -> Hint {
    Hint {
        text: format!("A debuginfod server may have it: {which}."),
        command: Some(format!("export DEBUGINFOD_URLS={server}")),
        url: Some(format!("{server}/buildid/{id}/debuginfo")),
    }
}

/// The kernel's debug package; that of its modules and of the vdso is the same.
fn kernel_package(family: Family, host: &Host, id: &str) -> Option<Hint> {
    let release = host.os_release.as_deref().filter(|release| is_plain(release))?;
    let (package, install) = match family {
        Family::Debian => (format!("linux-image-{release}-dbg"), "apt install"),
        Family::Ubuntu => (format!("linux-image-{release}-dbgsym"), "apt install"),
        Family::Fedora | Family::CentOs | Family::RedHat => {
            // Variants of the kernel stand behind a plus: 5.14.0-362.el9.x86_64+rt.
            let package = match release.split_once('+') {
                Some((release, variant)) => format!("kernel-{variant}-debuginfo-{release}"),
                None => format!("kernel-debuginfo-{release}"),
            };
            (package, "dnf install --enablerepo='*debug*'")
        }
        Family::Suse => return Some(by_zypper(id)),
        // There is no debug package; the headers come with a vmlinux that has the symbols.
        Family::Arch => {
            let flavour = arch_flavour(release).unwrap_or("");
            (format!("linux{flavour}-headers"), "pacman -S")
        }
    };
    let archive = match family {
        Family::Ubuntu => " from ddebs.ubuntu.com",
        _ => "",
    };
    let name = family.name();
    Some(Hint {
        text: format!("{name} has it in the package {package}{archive}, for kernel {release}."),
        command: Some(format!("{install} {package}")),
        url: None,
    })
}

/// How Arch ends the release of a kernel that is not the plain one: `6.6.8-1-lts`.
fn arch_flavour(release: &str) -> Option<&'static str> {
    ["-lts", "-zen", "-hardened"].into_iter().find(|end| release.ends_with(end))
}

/// The debug package of a file that a package brought.
fn file_package(family: Family, dso: &Dso, id: &str) -> Option<Hint> {
    let name = family.name();
    match family {
        Family::Debian | Family::Ubuntu => Some(Hint {
            text: format!(
                "{name} has it in the -dbgsym or -dbg package of the package that the file is from."
            ),
            command: is_plain(&dso.path).then(|| format!("dpkg -S {}", dso.path)),
            url: None,
        }),
        // The package lists the file by build-id, and dnf takes the names of files.
        Family::Fedora | Family::CentOs | Family::RedHat => {
            let (folder, rest) = id.split_at_checked(2)?;
            let file = format!("/usr/lib/debug/.build-id/{folder}/{rest}.debug");
            Some(Hint {
                text: format!("{name} has it in the debuginfo package of this build-id."),
                command: Some(format!("dnf install --enablerepo='*debug*' {file}")),
                url: None,
            })
        }
        Family::Suse => Some(by_zypper(id)),
        Family::Arch => None,
    }
}

/// SUSE's debuginfo packages provide the build-ids that they are for.
fn by_zypper(id: &str) -> Hint {
    Hint {
        text: "SUSE has it in the debuginfo package of this build-id.".to_owned(),
        command: Some(format!("zypper install -C 'debuginfo(build-id)={id}'")),
        url: None,
    }
}

fn of_package_note(package: &PackageNote) -> Option<Hint> {
    let name = package.name.as_deref()?;
    let of = |text: &Option<String>, before: &str| {
        text.as_deref().map(|text| format!("{before}{}", printable(text))).unwrap_or_default()
    };
    Some(Hint {
        text: format!(
            "A file of this name that you added is from the package {}{}{}.",
            printable(name),
            of(&package.version, " "),
            of(&package.os, " of "),
        ),
        command: None,
        url: None,
    })
}

/// True for paths below which only the package manager writes.
fn is_of_package(path: &str) -> bool {
    let folders = ["/usr/", "/lib/", "/lib32/", "/lib64/", "/bin/", "/sbin/"];
    folders.iter().any(|folder| path.starts_with(folder)) && !path.starts_with("/usr/local/")
}

/// True for text that a shell and a package manager take as one word and as no option.
fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._+-~:@,=".contains(&byte);
    !text.starts_with(['-', '~', '=']) && !text.is_empty() && text.bytes().all(plain)
}

fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(is_plain)
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::format::BuildId;
    use perftab_profile::{Distribution, Dsos, MappedFrom};

    use super::*;

    const ID: [u8; 20] = [0xab; 20];

    fn dso(path: &str, kind: DsoKind, mapped_from: MappedFrom) -> Dso {
        let mut dsos = Dsos::default();
        let id = dsos.intern(path, kind, mapped_from, None);
        dsos.get(id).clone()
    }

    fn identified(path: &str, kind: DsoKind) -> Dso {
        dso(path, kind, MappedFrom::BuildId(BuildId::new(&ID).unwrap()))
    }

    fn host(release: &str, distribution: Option<&str>) -> Host {
        Host {
            os_release: Some(release.to_owned()),
            distribution: distribution
                .map(|id| Distribution { id: id.to_owned(), ..Distribution::default() }),
            ..Host::default()
        }
    }

    fn commands(dso: &Dso, host: &Host) -> Vec<String> {
        hints(dso, host, None).into_iter().filter_map(|hint| hint.command).collect()
    }

    #[test]
    fn b33_the_kernels_package_is_that_of_its_release() {
        let hex = "ab".repeat(20);
        let by_id = format!("zypper install -C 'debuginfo(build-id)={hex}'");
        let dnf = "dnf install --enablerepo='*debug*'";
        for (release, distribution, expected) in [
            ("6.1.0-18-amd64", None, "apt install linux-image-6.1.0-18-amd64-dbg"),
            ("6.12.43+deb13-arm64", None, "apt install linux-image-6.12.43+deb13-arm64-dbg"),
            // A container's distribution is not that of the kernel.
            (
                "5.15.0-91-generic",
                Some("debian"),
                "apt install linux-image-5.15.0-91-generic-dbgsym",
            ),
            ("5.15.0-91-generic", None, "apt install linux-image-5.15.0-91-generic-dbgsym"),
            (
                "6.5.6-300.fc39.x86_64",
                None,
                &format!("{dnf} kernel-debuginfo-6.5.6-300.fc39.x86_64"),
            ),
            (
                "5.14.0-362.el9.x86_64+rt",
                None,
                &format!("{dnf} kernel-rt-debuginfo-5.14.0-362.el9.x86_64"),
            ),
            ("6.4.0-150600.21-default", None, &by_id),
            ("6.6.8-arch1-1", None, "pacman -S linux-headers"),
            ("6.6.8-1-lts", Some("arch"), "pacman -S linux-lts-headers"),
        ] {
            let kernel = identified("[kernel.kallsyms]", DsoKind::Kernel);
            let commands = commands(&kernel, &host(release, distribution));
            assert_eq!(commands.first().map(String::as_str), Some(expected), "{release}");
            assert!(commands.last().unwrap().contains("buildid archive"), "{commands:?}");
        }
    }

    #[test]
    fn a_kernel_that_somebody_built_is_in_no_package() {
        let kernel = identified("[kernel.kallsyms]", DsoKind::Kernel);
        let commands = commands(&kernel, &host("6.1.0-mine", Some("debian")));
        let is_package = |command: &&String| command.starts_with("apt");
        assert_eq!(commands.iter().find(is_package), None);
    }

    #[test]
    fn b33_a_debuginfod_is_asked_by_build_id() {
        let urls = |dso: &Dso, host: &Host| -> Vec<String> {
            hints(dso, host, None).into_iter().filter_map(|hint| hint.url).collect()
        };
        let libc = identified("/usr/lib/x86_64-linux-gnu/libc.so.6", DsoKind::User);
        let hex = "ab".repeat(20);
        assert_eq!(
            urls(&libc, &host("6.18.0-mine", Some("debian"))),
            [
                format!("https://debuginfod.debian.net/buildid/{hex}/debuginfo"),
                format!("https://debuginfod.elfutils.org/buildid/{hex}/debuginfo")
            ]
        );
        // No distribution has what was built on the machine.
        let own = identified("/home/a/program", DsoKind::User);
        assert_eq!(urls(&own, &host("6.1.0-18-amd64", None)), [""; 0]);
        assert_eq!(
            commands(&own, &host("6.1.0-18-amd64", None)),
            ["perftab buildid archive perf.data"]
        );
    }

    #[test]
    fn the_public_server_is_that_of_the_distribution() {
        let of = |release: &str, distribution: Option<&str>| {
            let found = public_debuginfod(&host(release, distribution));
            found.map(|it| (it.text.split(". ").next().unwrap().to_owned(), it.url.unwrap()))
        };
        for (release, distribution, recorded, server) in [
            ("6.18.0-mine", Some("debian"), "debian", "debian.net"),
            ("6.8.0-45-generic", Some("fedora"), "fedora", "fedoraproject.org"),
            ("6.1.0-18-amd64", None, "a kernel of Debian", "debian.net"),
            ("6.8.0-45-generic", None, "a kernel of Ubuntu", "ubuntu.com"),
            ("6.5.6-300.fc39.x86_64", None, "a kernel of Fedora", "fedoraproject.org"),
            ("6.6.8-arch1-1", None, "a kernel of Arch", "archlinux.org"),
            ("6.4.0-150600.21-default", None, "a kernel of SUSE", "opensuse.org"),
        ] {
            let expected =
                (format!("Recorded on {recorded}"), format!("https://debuginfod.{server}"));
            assert_eq!(of(release, distribution), Some(expected), "{release} {distribution:?}");
        }
        for (release, distribution) in [("6.18.0", None), ("6.1.0-18-amd64", Some("gentoo"))] {
            assert_eq!(of(release, distribution), None, "{release} {distribution:?}");
        }
        // Whoever wrote the recording does not choose the server.
        let mut host = host("6.1.0", Some("debian"));
        host.distribution.as_mut().unwrap().name =
            Some("a\u{1b}[31m https://evil.example".to_owned());
        let hint = public_debuginfod(&host).unwrap();
        assert!(!hint.text.contains('\u{1b}'), "{}", hint.text);
        assert_eq!(hint.url.as_deref(), Some("https://debuginfod.debian.net"));
    }

    #[test]
    fn what_derives_from_a_distribution_has_its_packages() {
        let mut host = host("6.1.0", Some("linuxmint"));
        host.distribution.as_mut().unwrap().like = vec!["ubuntu".into(), "debian".into()];
        assert_eq!(Family::of(&host), Some(Family::Ubuntu));
        host.distribution.as_mut().unwrap().like.clear();
        assert_eq!(Family::of(&host), None, "the release is asked only where nothing else tells");
    }

    #[test]
    fn b31_without_an_id_only_another_recording_helps() {
        let program = dso("/usr/bin/a", DsoKind::User, MappedFrom::Nothing);
        let hints = hints(&program, &host("6.1.0-18-amd64", None), None);
        assert_eq!(hints.len(), 1);
        assert!(hints[0].command.as_deref().unwrap().contains("--buildid-mmap"));
        let anonymous = dso("//anon", DsoKind::Anon, MappedFrom::Nothing);
        assert_eq!(super::hints(&anonymous, &Host::default(), None), []);
    }

    /// A command is copied into a shell; nothing in the recording may add to it.
    #[test]
    fn no_command_holds_what_a_stranger_wrote() {
        for evil in
            ["6.1-amd64; rm -rf ~", "$(id)-amd64", "-o-amd64", "6.1`id`+deb12", "a\nb-amd64"]
        {
            let kernel = identified("[kernel.kallsyms]", DsoKind::Kernel);
            let path = format!("/usr/lib/{evil}");
            let file = identified(&path, DsoKind::User);
            for commands in [
                commands(&kernel, &host(evil, Some("debian"))),
                commands(&file, &host(evil, Some("debian"))),
            ] {
                for command in commands.iter().filter(|it| !it.starts_with("dpkg -S /usr/lib/-o")) {
                    assert!(!command.contains(evil), "{command}");
                }
            }
        }
        let package = PackageNote {
            name: Some("a\u{1b}[31m".to_owned()),
            debug_info_url: Some("https://a.example/;id".to_owned()),
            ..PackageNote::default()
        };
        let file = identified("/opt/a", DsoKind::User);
        let hints = hints(&file, &Host::default(), Some(&package));
        assert!(hints.iter().all(|hint| hint.url.is_none() && !hint.text.contains('\u{1b}')));
    }

    #[test]
    fn the_package_of_a_file_names_a_server() {
        let package = PackageNote {
            name: Some("coreutils".to_owned()),
            version: Some("9.1-3".to_owned()),
            os: Some("fedora 39".to_owned()),
            debug_info_url: Some("https://debuginfod.example.org/".to_owned()),
        };
        let file = identified("/opt/a", DsoKind::User);
        let hints = hints(&file, &Host::default(), Some(&package));
        assert!(hints[1].text.contains("coreutils 9.1-3 of fedora 39"), "{hints:?}");
        let url = format!("https://debuginfod.example.org/buildid/{}/debuginfo", "ab".repeat(20));
        assert_eq!(hints[2].url.as_ref(), Some(&url));
    }
}
