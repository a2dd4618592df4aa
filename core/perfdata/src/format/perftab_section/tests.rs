use super::*;

const HEADER_SIZE: usize = 24;

fn example() -> PerftabSection {
    let symbol = |address, size, name: &str| KernelSymbol { address, size, name: name.into() };
    let kernel = vec![
        KernelSymbols {
            image: KernelImage::Kernel,
            build_id: BuildId::new(&[0xab; 20]).unwrap(),
            name: "[kernel.kallsyms]".into(),
            symbols: vec![
                symbol(0xffff_ffff_8100_0000, 0x40, "_text"),
                symbol(0xffff_ffff_8100_0040, 0x400, "do_syscall_64"),
            ],
        },
        KernelSymbols {
            image: KernelImage::Module,
            build_id: BuildId::new(&[0xcd; 16]).unwrap(),
            name: "ext4".into(),
            symbols: vec![symbol(0xffff_ffff_c000_0000, 0x10, "ext4_file_read_iter")],
        },
    ];
    let os_release = OsRelease {
        id: "debian".into(),
        version_id: "12".into(),
        name: "Debian GNU/Linux".into(),
        ..OsRelease::default()
    };
    let file = |inode, identity| MappedFile {
        inode: InodeKey { major: 8, minor: 1, inode, generation: 7 },
        identity,
    };
    let files = vec![
        file(5, FileIdentity::Gnu(BuildId::new(&[0xee; 8]).unwrap())),
        file(6, FileIdentity::Content([0xcc; 16])),
    ];
    let recorder = RecorderState::AtWork;
    let sideband = vec![7, 9];
    let perf_maps = vec![PerfMap { pid: 4711, text: b"7f00 10 f\n".to_vec() }];
    let embedded = vec![EmbeddedFile { name: "libx.so".into(), bytes: (*b"\x7fELF").into() }];
    let os_release = Some(os_release);
    PerftabSection { kernel, os_release, files, sideband, perf_maps, embedded, recorder }
}

#[test]
fn what_is_encoded_is_decoded() {
    assert_eq!(decode(&encode(&example())), Ok(example()));
    assert_eq!(decode(&encode(&ended())), Ok(ended()));
    let nothing = PerftabSection::default();
    assert_eq!(decode(&encode(&nothing)), Ok(nothing));
}

#[test]
fn symbols_keyed_by_no_id_are_passed_over() {
    let mut entries = entries_of(&example());
    entries[8 + 2] = 0;
    let mut expected = example();
    expected.kernel.remove(0);
    assert_eq!(decode(&section_of(&entries)), Ok(expected));
}

/// The entries behind an uncompressed header.
fn section_of(entries: &[u8]) -> Vec<u8> {
    let mut section = MAGIC.to_vec();
    section.extend_from_slice(&VERSION.to_le_bytes());
    section.extend_from_slice(&COMPRESSION_NONE.to_le_bytes());
    section.extend_from_slice(&(entries.len() as u64).to_le_bytes());
    section.extend_from_slice(entries);
    section
}

/// Those of a recorder at work are not deflated.
fn entries_of(section: &PerftabSection) -> Vec<u8> {
    assert_eq!(section.recorder, RecorderState::AtWork);
    encode(section)[HEADER_SIZE..].to_vec()
}

fn ended() -> PerftabSection {
    PerftabSection { recorder: RecorderState::Ended, ..example() }
}

#[test]
fn unknown_entries_are_passed_over() {
    let mut entries = vec![99, 0, 0, 0, 5, 0, 0, 0, 1, 2, 3, 4, 5];
    entries.extend_from_slice(&entries_of(&example()));
    assert_eq!(decode(&section_of(&entries)), Ok(example()));
}

#[test]
fn unknown_keys_of_os_release_are_passed_over() {
    let mut entries = Vec::new();
    let lines = b"HOME_URL=https://x\nID=arch\nnothing\nNAME=Arch=Linux\n";
    add_entry(&mut entries, KIND_OS_RELEASE, lines);
    let read = decode(&section_of(&entries)).unwrap().os_release.unwrap();
    assert_eq!((read.id.as_str(), read.name.as_str()), ("arch", "Arch=Linux"));
    assert_eq!((read.version_id.as_str(), read.id_like.as_str()), ("", ""));
}

#[test]
fn foreign_newer_and_unknown_are_told_apart() {
    let good = encode(&example());
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        decode(&bytes)
    };
    assert_eq!(with(0, b'P'), Err(SectionError::NotOurs));
    assert_eq!(with(8, 2), Err(SectionError::Version(2)));
    assert_eq!(with(12, 7), Err(SectionError::Compression(7)));
    assert_eq!(decode(b""), Err(SectionError::NotOurs));
}

#[test]
fn every_truncation_is_an_error() {
    for good in [encode(&example()), encode(&ended())] {
        for cut in 0..good.len() {
            assert!(decode(&good[..cut]).is_err(), "cut at {cut} of {}", good.len());
        }
    }
}

#[test]
fn every_flipped_byte_is_survived() {
    let plain = section_of(&entries_of(&example()));
    for at in 0..plain.len() {
        for byte in [0, 1, 0x7f, 0xff] {
            let mut bytes = plain.clone();
            bytes[at] = byte;
            let _ = decode(&bytes);
        }
    }
}

#[test]
fn a_deflate_bomb_is_refused_at_its_stated_size() {
    let mut bomb = encode(&ended());
    let zeros = deflate(&vec![0; 1 << 20]).unwrap();
    bomb.truncate(HEADER_SIZE);
    bomb.extend_from_slice(&zeros);
    assert_eq!(decode(&bomb), Err(SectionError::Damaged));
}
