//! Packed recordings against the tools that pack them: every byte of output, however the packed
//! bytes are cut into blocks, and what is said of those that are damaged.

use std::io::Write;
use std::process::{Command, Stdio};

use perftab_perfdata::decode::compressed::ZstdStream;
use perftab_perfdata::decode::unpack::UnpackErrorKind;
use perftab_perfdata::decode::wrapper::{UnpackError, Unwrap, Wrapper};
use perftab_tests::child_process::end_of;

/// `input` through a tool; `None`, said loudly, where there is no such tool.
fn pack(test: &str, command: &str, input: &[u8]) -> Option<Vec<u8>> {
    let mut words = command.split(' ');
    let child = Command::new(words.next().expect("a tool"))
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        println!("SKIPPED: {test}: there is no `{command}` here");
        return None;
    };
    let mut stdin = child.stdin.take().expect("piped");
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).expect("the tool reads"));
        end_of(child, command)
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {said}");
    Some(output.stdout)
}

/// What comes out before the first error, and that.
fn unpack(packed: &[u8], block: usize) -> (Vec<u8>, Result<(), UnpackError>) {
    let mut out = Vec::new();
    let mut take = |piece: &[u8]| {
        assert!(!piece.is_empty() && piece.len() <= 1 << 20, "{}", piece.len());
        out.extend_from_slice(piece);
    };
    let mut unwrap = Unwrap::new(Wrapper::detect(packed).expect("packed"));
    let pushed = packed.chunks(block).try_for_each(|block| unwrap.push(block, &mut take));
    let end = pushed.and_then(|()| unwrap.finish(&mut take));
    (out, end)
}

/// A little of everything: text that repeats near and far, numbers that count, noise, zeros.
fn mixture(length: usize) -> Vec<u8> {
    let mut noise = 0x2545_f491_4f6c_dd1d_u64;
    let mut out = Vec::with_capacity(length + 4096);
    while out.len() < length {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        match noise % 7 {
            0 => out.extend_from_slice(&noise.to_le_bytes()),
            1 => out.extend_from_slice(&[0; 700][..noise as usize >> 7 & 511]),
            2 => (0..noise >> 8 & 63).for_each(|n| {
                out.extend_from_slice(&(0xffff_8000_1234_0000_u64 + 8 * n).to_le_bytes());
            }),
            3 => out.extend_from_slice(format!("/usr/bin/{:x}.so ", noise >> 56).as_bytes()),
            4 => {
                let back = (noise >> 8) as usize % (out.len() + 1);
                let end = (back + (noise >> 40) as usize % 3000).min(out.len());
                out.extend_from_within(back..end);
            }
            5 => out.extend((0..(noise >> 20) % 200).map(|n| (noise >> (n % 57)) as u8 & 0x1f)),
            _ => out.extend_from_slice(b"what is said again and again, and again"),
        }
    }
    out.truncate(length);
    out
}

const GZIP: [&str; 3] = ["gzip -1", "gzip -9", "gzip -n"];
const XZ: [&str; 4] = ["xz -0", "xz -9e", "xz -C crc32", "xz --block-size=30000 -C none"];
const ZSTD: [&str; 9] = [
    "zstd --fast=5",
    "zstd -1",
    "zstd -3",
    "zstd -9 --no-check",
    "zstd -13",
    "zstd -19",
    "zstd --ultra -22",
    "zstd -5 --long=27",
    "zstd -1 --zstd=wlog=10",
];

#[test]
fn what_the_tools_pack_comes_out_at_every_cut() {
    for length in [0, 1, 5, 300, 70_000] {
        let bytes = mixture(length);
        for command in GZIP.into_iter().chain(XZ).chain(ZSTD) {
            let Some(packed) = pack("packed", command, &bytes) else { continue };
            for block in [1, 7, 4096, packed.len()] {
                let (out, end) = unpack(&packed, block);
                assert_eq!(end, Ok(()), "{command}, {length} in blocks of {block}");
                assert!(out == bytes, "{command}, {length} in blocks of {block}");
            }
        }
    }
}

#[test]
fn what_is_larger_than_windows_and_blocks_comes_out() {
    for bytes in [mixture(9 << 20), vec![7; 5 << 20]] {
        for command in ["gzip", "xz -1", "zstd -1", "zstd -7", "zstd -18 --zstd=wlog=17"] {
            let Some(packed) = pack("large packed", command, &bytes) else { continue };
            let (out, end) = unpack(&packed, 65_536);
            assert_eq!(end, Ok(()), "{command}");
            assert!(out == bytes, "{command}");
        }
    }
}

#[test]
fn joined_files_come_out_one_behind_the_other() {
    let (one, two) = (mixture(10_000), b"the second".to_vec());
    let whole = [one.clone(), two.clone()].concat();
    let skippable = [0x5a_u8, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    for (command, between) in
        [("gzip", &[][..]), ("xz", &[]), ("xz", &[0; 8]), ("zstd", &[]), ("zstd", &skippable)]
    {
        let (Some(first), Some(second)) =
            (pack("joined", command, &one), pack("joined", command, &two))
        else {
            continue;
        };
        let packed = [&first, between, &second].concat();
        for block in [1, 7, packed.len()] {
            let (out, end) = unpack(&packed, block);
            assert_eq!(end, Ok(()), "{command} in blocks of {block}");
            assert!(out == whole, "{command} in blocks of {block}");
        }
    }
}

#[test]
fn a_cut_anywhere_is_said_and_what_came_before_stays() {
    let bytes = mixture(3_000);
    for command in ["gzip", "xz", "zstd", "zstd --no-check"] {
        let Some(packed) = pack("cut", command, &bytes) else { continue };
        for cut in Wrapper::MAGIC_LENGTH..packed.len() {
            let (out, end) = unpack(&packed[..cut], 64);
            let error = end.expect_err("it is cut");
            assert_eq!(error.kind, UnpackErrorKind::Truncated, "{command}, cut at {cut}");
            assert!(bytes.starts_with(&out), "{command}, cut at {cut}");
        }
    }
}

/// The last bytes of a gzip member and of a zstd frame say nothing of the contents.
#[test]
fn a_cut_inside_the_checksum_costs_nothing_of_the_contents() {
    let bytes = mixture(3_000);
    for command in ["gzip", "zstd"] {
        let Some(packed) = pack("cut checksum", command, &bytes) else { continue };
        for missing in 1..=4 {
            let (out, end) = unpack(&packed[..packed.len() - missing], 64);
            assert_eq!(end.expect_err("it is cut").kind, UnpackErrorKind::Truncated, "{command}");
            assert!(out == bytes, "{command}, {missing} bytes cut");
        }
    }
}

#[test]
fn a_checksum_that_does_not_fit_is_said_after_what_came_out() {
    let bytes = mixture(3_000);
    // Where the checksum of the contents lies, from the end.
    for (command, from_end) in [("gzip", 8), ("zstd", 4)] {
        let Some(mut packed) = pack("checksum", command, &bytes) else { continue };
        let at = packed.len() - from_end;
        packed[at] ^= 1;
        let (out, end) = unpack(&packed, 512);
        assert_eq!(end.expect_err("it is wrong").kind, UnpackErrorKind::Checksum, "{command}");
        assert!(out == bytes, "{command}");
    }
}

#[test]
fn every_byte_changed_is_survived_and_mostly_noticed() {
    let bytes = mixture(2_000);
    for command in ["gzip", "xz", "zstd -1", "zstd -19"] {
        let Some(good) = pack("changed", command, &bytes) else { continue };
        let mut unnoticed = 0;
        for at in Wrapper::MAGIC_LENGTH..good.len() {
            for change in [1, 0x80, 0xff] {
                let mut packed = good.clone();
                packed[at] ^= change;
                let (out, end) = unpack(&packed, 512);
                assert!(out.len() <= 40 << 20, "{command}, changed at {at}");
                if end.is_ok() {
                    // Times and names in headers mean nothing to the contents.
                    assert!(out == bytes, "{command}, changed at {at}");
                    unnoticed += 1;
                }
            }
        }
        assert!(unnoticed < 40, "{command}: {unnoticed}");
    }
}

#[test]
fn what_follows_on_the_end_is_said_apart() {
    let bytes = mixture(500);
    for command in ["gzip", "xz", "zstd"] {
        let Some(mut packed) = pack("trailing", command, &bytes) else { continue };
        packed.extend_from_slice(b"[ perf record: Woken up 1 times ]\n");
        let (out, end) = unpack(&packed, 100);
        assert_eq!(end.expect_err("text").kind, UnpackErrorKind::Trailing, "{command}");
        assert!(out == bytes, "{command}");
    }
}

#[test]
fn windows_of_gigabytes_are_refused_before_they_are_made() {
    let Some(packed) = pack("window", "zstd --long=31 --ultra -1", &mixture(10_000)) else {
        return;
    };
    let (out, end) = unpack(&packed, 100);
    assert_eq!(end.expect_err("too large").kind, UnpackErrorKind::Window { bytes: 1 << 31 });
    assert!(out.is_empty());
}

/// perf's form: one frame that goes on, of which each chunk was flushed; made by hand here.
#[test]
fn chunks_of_an_endless_frame_come_out_and_are_counted() {
    let mut stream = ZstdStream::default();
    let (mut whole, mut out) = (Vec::new(), Vec::new());
    let window = 1 << 17;
    // Magic, no flags, that window.
    let header = [0x28, 0xb5, 0x2f, 0xfd, 0, (17 - 10) << 3];
    for (number, length) in [3_000, 1, 120_000, 40_000, 100, 90_000].into_iter().enumerate() {
        let bytes = mixture(length);
        // Raw blocks, not the last.
        let mut chunk: Vec<u8> = if number == 0 { header.to_vec() } else { Vec::new() };
        chunk.extend_from_slice(&((bytes.len() as u32) << 3).to_le_bytes()[..3]);
        chunk.extend_from_slice(&bytes);
        whole.extend_from_slice(&bytes);
        assert_eq!(stream.push(&chunk, &mut out), Ok(()));
        assert!(whole.starts_with(&out), "chunk {number}");
        assert!(whole.len() - out.len() <= window, "chunk {number}: no more than a window is held");
        let known = (whole.len() > window).then_some(whole.len() as u64);
        assert_eq!(stream.decoded(), known, "chunk {number}");
    }
    stream.finish(&mut out);
    assert!(out == whole, "what was held back comes at the end");
}

#[test]
fn a_chunk_that_claims_gigabytes_is_refused() {
    let mut chunk = vec![0x28, 0xb5, 0x2f, 0xfd, 0, (19 - 10) << 3];
    for _ in 0..10_000 {
        // 128 KiB of one byte, not the last block.
        chunk.extend_from_slice(&((128_u32 << 10) << 3 | 1 << 1).to_le_bytes()[..3]);
        chunk.push(b'x');
    }
    let mut stream = ZstdStream::default();
    let mut out = Vec::new();
    let error = stream.push(&chunk, &mut out).expect_err("more than a gigabyte");
    assert_eq!(error.kind, UnpackErrorKind::TooLong);
    assert!(out.len() <= perftab_perfdata::decode::compressed::CHUNK_OUTPUT_MAX + (1 << 20));
    assert_eq!(stream.push(&[], &mut out), Err(error), "it stays so");
}
