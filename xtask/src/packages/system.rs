//! Which system this is, as far as it decides how programs are got.

use crate::steps::output;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;

/// A system, or the one that it derives from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum System {
    Debian,
    /// Debian's packages, but for some: kernel, perf and Chromium come otherwise.
    Ubuntu,
    Fedora,
    Arch,
    /// A Linux whose packages are not known here.
    OtherLinux,
    MacOs,
    /// Not Linux, and nothing else that is known here.
    Other,
}

impl System {
    /// The one that this runs on.
    pub fn this() -> Self {
        static THIS: OnceLock<System> = OnceLock::new();
        *THIS.get_or_init(|| {
            let kernel = output(Command::new("uname").arg("-s")).unwrap_or_default();
            let os_release = ["/etc/os-release", "/usr/lib/os-release"]
                .iter()
                .find_map(|path| fs::read_to_string(path).ok());
            Self::named(kernel.trim(), &os_release.unwrap_or_default())
        })
    }

    /// By what `uname -s` says and what stands in `os-release`.
    fn named(kernel: &str, os_release: &str) -> Self {
        match kernel {
            "Linux" => {}
            "Darwin" => return Self::MacOs,
            _ => return Self::Other,
        }
        // Its own name first, then what it derives from, nearest first.
        let names = [value(os_release, "ID"), value(os_release, "ID_LIKE")];
        names
            .iter()
            .flat_map(|names| names.split_whitespace())
            .find_map(|name| match name {
                "debian" => Some(Self::Debian),
                "ubuntu" => Some(Self::Ubuntu),
                "fedora" | "rhel" => Some(Self::Fedora),
                "arch" => Some(Self::Arch),
                _ => None,
            })
            .unwrap_or(Self::OtherLinux)
    }

    /// Whether perftab records here: everything but the page and core needs Linux.
    pub fn is_linux(self) -> bool {
        !matches!(self, Self::MacOs | Self::Other)
    }

    /// Whether packages come from apt.
    pub fn has_apt(self) -> bool {
        matches!(self, Self::Debian | Self::Ubuntu)
    }
}

/// The value of `KEY=value` or `KEY="value"`; empty without one.
fn value<'a>(os_release: &'a str, key: &str) -> &'a str {
    os_release
        .lines()
        .filter_map(|line| line.split_once('='))
        .find(|(name, _)| *name == key)
        .map_or("", |(_, value)| value.trim().trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::System;

    const DEBIAN_12: &str = r#"PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
NAME="Debian GNU/Linux"
VERSION_ID="12"
VERSION="12 (bookworm)"
VERSION_CODENAME=bookworm
ID=debian
HOME_URL="https://www.debian.org/"
SUPPORT_URL="https://www.debian.org/support"
BUG_REPORT_URL="https://bugs.debian.org/"
"#;

    const UBUNTU_24_04: &str = r#"PRETTY_NAME="Ubuntu 24.04.3 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
VERSION="24.04.3 LTS (Noble Numbat)"
VERSION_CODENAME=noble
ID=ubuntu
ID_LIKE=debian
HOME_URL="https://www.ubuntu.com/"
SUPPORT_URL="https://help.ubuntu.com/"
BUG_REPORT_URL="https://bugs.launchpad.net/ubuntu/"
PRIVACY_POLICY_URL="https://www.ubuntu.com/legal/terms-and-policies/privacy-policy"
UBUNTU_CODENAME=noble
LOGO=ubuntu-logo
"#;

    const FEDORA_41: &str = r#"NAME="Fedora Linux"
VERSION="41 (Forty One)"
RELEASE_TYPE=stable
ID=fedora
VERSION_ID=41
VERSION_CODENAME=""
PLATFORM_ID="platform:f41"
PRETTY_NAME="Fedora Linux 41 (Forty One)"
ANSI_COLOR="0;38;2;60;110;180"
LOGO=fedora-logo-icon
CPE_NAME="cpe:/o:fedoraproject:fedora:41"
DEFAULT_HOSTNAME="fedora"
HOME_URL="https://fedoraproject.org/"
SUPPORT_END=2025-12-15
"#;

    const ARCH: &str = r#"NAME="Arch Linux"
PRETTY_NAME="Arch Linux"
ID=arch
BUILD_ID=rolling
ANSI_COLOR="38;2;23;147;209"
HOME_URL="https://archlinux.org/"
DOCUMENTATION_URL="https://wiki.archlinux.org/"
SUPPORT_URL="https://bbs.archlinux.org/"
LOGO=archlinux-logo
"#;

    const ROCKY_9: &str = "NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n";
    const MINT_22: &str = "NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n";
    const ALPINE: &str = "NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID=3.20.3\n";

    #[test]
    fn systems_are_known_by_their_names() {
        for (os_release, system) in [
            (DEBIAN_12, System::Debian),
            (UBUNTU_24_04, System::Ubuntu),
            (FEDORA_41, System::Fedora),
            (ARCH, System::Arch),
            (ALPINE, System::OtherLinux),
            ("", System::OtherLinux),
        ] {
            assert_eq!(System::named("Linux", os_release), system, "{os_release}");
        }
    }

    #[test]
    fn derivatives_are_known_by_what_they_derive_from() {
        assert_eq!(System::named("Linux", ROCKY_9), System::Fedora);
        assert_eq!(System::named("Linux", MINT_22), System::Ubuntu);
        assert_eq!(System::named("Linux", "ID=kali\nID_LIKE=debian\n"), System::Debian);
        assert_eq!(System::named("Linux", "ID=manjaro\nID_LIKE=arch\n"), System::Arch);
    }

    #[test]
    fn where_the_kernel_is_not_linux_no_file_is_believed() {
        assert_eq!(System::named("Darwin", ""), System::MacOs);
        assert_eq!(System::named("Darwin", DEBIAN_12), System::MacOs);
        assert_eq!(System::named("FreeBSD", ""), System::Other);
        assert!(!System::MacOs.is_linux() && !System::Other.is_linux());
        assert!(System::OtherLinux.is_linux());
    }
}
