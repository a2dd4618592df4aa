//! The note in which distributions say what package a file is from.
//!
//! A note of type 0xcafe1a7e and owner `FDO` holds a JSON object
//! (systemd.io/ELF_PACKAGE_METADATA). Fedora has it since version 36, Ubuntu since 24.10; Debian
//! has it not.
//!
//! ```json
//! {"type":"rpm","name":"coreutils","version":"9.1-3","os":"fedora","osVersion":"39",
//!  "osCpe":"cpe:/o:fedoraproject:fedora:39","debugInfoUrl":"https://debuginfod…"}
//! ```

use serde::{Deserialize, Serialize};

use super::elf_note::{Endian, find_note};

const NT_FDO_PACKAGING_METADATA: u32 = 0xcafe_1a7e;

/// What a file says of its package. Text of strangers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageNote {
    /// The source package.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The distribution and its version: "fedora 39"; or its CPE.
    pub os: Option<String>,
    /// The debuginfod of the distribution.
    pub debug_info_url: Option<String>,
}

/// The package among `notes`; `None` if there is no such note, or nothing in it.
pub fn package_in_notes(notes: &[u8], endian: Endian) -> Option<PackageNote> {
    let json = find_note(notes, endian, NT_FDO_PACKAGING_METADATA, b"FDO\0")?;
    // It is padded with zeros.
    let end = json.iter().rposition(|byte| *byte != 0)? + 1;
    let fields: serde_json::Value = serde_json::from_slice(json.get(..end)?).ok()?;
    let text = |key: &str| {
        let text = fields.get(key)?.as_str()?;
        (!text.is_empty()).then(|| text.to_owned())
    };
    let os = match (text("os"), text("osVersion")) {
        (Some(os), Some(version)) => Some(format!("{os} {version}")),
        (os, _) => os.or_else(|| text("osCpe")),
    };
    let debug_info_url = text("debugInfoUrl");
    let package = PackageNote { name: text("name"), version: text("version"), os, debug_info_url };
    (package != PackageNote::default()).then_some(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(json: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        for word in [4, json.len() as u32, NT_FDO_PACKAGING_METADATA] {
            note.extend_from_slice(&word.to_le_bytes());
        }
        note.extend_from_slice(b"FDO\0");
        note.extend_from_slice(json);
        note
    }

    #[test]
    fn a_package_is_read_from_its_note() {
        let json =
            br#"{"type":"deb","os":"ubuntu","osVersion":"25.04","name":"gzip","version":"1"}"#;
        let mut padded = json.to_vec();
        padded.resize(json.len().next_multiple_of(4) + 4, 0);
        for json in [&json[..], &padded] {
            let package = package_in_notes(&note(json), Endian::Little).unwrap();
            assert_eq!(package.name.as_deref(), Some("gzip"));
            assert_eq!(package.os.as_deref(), Some("ubuntu 25.04"));
            assert_eq!(package.debug_info_url, None);
        }
    }

    #[test]
    fn what_is_no_such_object_is_none() {
        for json in [&b""[..], b"\0\0", b"{", b"[]", b"{}", br#"{"name":1}"#, br#"{"name":""}"#] {
            assert_eq!(package_in_notes(&note(json), Endian::Little), None);
        }
        let whole = note(br#"{"name":"a"}"#);
        for cut in 0..whole.len() {
            assert_eq!(package_in_notes(&whole[..cut], Endian::Little), None);
        }
    }
}
