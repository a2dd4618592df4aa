//! `--control fifo:CTL[,ACK]`: what others want of a recording while it runs, a line each, and `ack` once it is so.
//!
//! As perf's (`evlist__ctlfd_process` in `tools/perf/util/evlist.c`): enable and disable, of all events or of one by its
//! name, evlist, ping, stop and snapshot. Both are
//! opened for reading and writing, so that whoever writes may come and go. Descriptors (`fd:`) are opened once more, by
//! their place in /proc.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result};
use rustix::fs::OFlags;

use crate::output::{notice, printable};

/// No request is longer.
const LINE_MAX: usize = 256;

/// Where requests come from, and where it is said that they are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlPlaces {
    requests: PathBuf,
    done: Option<PathBuf>,
}

impl FromStr for ControlPlaces {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "give fifo:CTL[,ACK] or fd:CTL[,ACK]";
        let (kind, places) = text.split_once(':').ok_or(WRONG)?;
        let (requests, done) = places
            .split_once(',')
            .map_or((places, None), |(requests, done)| (requests, Some(done)));
        let place = |name: &str| match kind {
            "fifo" if !name.is_empty() => Ok(PathBuf::from(name)),
            "fd" if name.parse::<u32>().is_ok() => {
                Ok(PathBuf::from(format!("/proc/self/fd/{name}")))
            }
            _ => Err(WRONG),
        };
        Ok(Self { requests: place(requests)?, done: done.map(place).transpose()? })
    }
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Take samples; of one event, if it is named.
    Enable(Option<String>),
    /// Take none.
    Disable(Option<String>),
    /// Say on standard error which events there are.
    Evlist,
    /// Write what is kept, or go on in another file: as SIGUSR2.
    Snapshot,
    /// End the recording.
    Stop,
    /// Say that the recorder is there.
    Ping,
}

/// Both places, open.
pub struct Control {
    requests: File,
    done: Option<File>,
    begun: Vec<u8>,
}

impl Control {
    /// Opens them.
    pub fn open(places: &ControlPlaces) -> Result<Self> {
        let open = |path: &PathBuf| {
            let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
            let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
            opened.with_context(|| format!("--control: {}", path.display()))
        };
        let done = places.done.as_ref().map(open).transpose()?;
        Ok(Self { requests: open(&places.requests)?, done, begun: Vec::new() })
    }

    /// Readable once a request has come.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.requests.as_fd()
    }

    /// What has come.
    pub fn take(&mut self) -> Vec<Request> {
        let mut bytes = [0; 4096];
        let mut taken = Vec::new();
        while let Ok(count) = self.requests.read(&mut bytes)
            && count > 0
        {
            for &byte in &bytes[..count] {
                match byte {
                    b'\n' | 0 => taken.extend(request(&std::mem::take(&mut self.begun))),
                    _ if self.begun.len() < LINE_MAX => self.begun.push(byte),
                    _ => {}
                }
            }
        }
        taken
    }

    /// Says that a request is done, with the zero behind it that perf writes: programs read five bytes and compare them as
    /// a string of C. Who does not read it does not want to know.
    pub fn acknowledge(&mut self) {
        if let Some(done) = &mut self.done {
            let _ = done.write_all(b"ack\n\0");
        }
    }
}

fn request(line: &[u8]) -> Option<Request> {
    let line = line.trim_ascii();
    let (word, event) = match line.iter().position(u8::is_ascii_whitespace) {
        Some(end) if line.starts_with(b"enable ") || line.starts_with(b"disable ") => {
            let event = String::from_utf8_lossy(line[end..].trim_ascii_start());
            (&line[..end], Some(event.into_owned()))
        }
        _ => (line, None),
    };
    match word {
        b"enable" => Some(Request::Enable(event)),
        b"disable" => Some(Request::Disable(event)),
        b"evlist" => Some(Request::Evlist),
        b"snapshot" => Some(Request::Snapshot),
        b"stop" => Some(Request::Stop),
        b"ping" => Some(Request::Ping),
        b"" => None,
        other => {
            let other = String::from_utf8_lossy(other);
            notice(format_args!(
                "--control: '{}' is not known: there are enable and disable [EVENT], evlist, snapshot, stop and ping",
                printable(&other)
            ));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_written_as_in_perf() {
        let places = |text: &str| text.parse::<ControlPlaces>();
        let both = places("fifo:/tmp/ctl,/tmp/ack").unwrap();
        assert_eq!(both.requests, PathBuf::from("/tmp/ctl"));
        assert_eq!(both.done, Some(PathBuf::from("/tmp/ack")));
        assert_eq!(places("fd:7").unwrap().requests, PathBuf::from("/proc/self/fd/7"));
        for bad in ["", "fifo", "fifo:", "fifo:ctl,", "fd:ctl", "pipe:ctl", "fd:1,-2"] {
            assert!(places(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn requests_are_lines_however_they_come() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        let places = ControlPlaces { requests: path.into(), done: None };
        let mut control = Control::open(&places).unwrap();
        assert_eq!(control.take(), []);
        writer.write_all(b"ping\nena").unwrap();
        assert_eq!(control.take(), [Request::Ping]);
        writer.write_all(b"ble\n\nlist\nstop\0disable  cs:u \nevlist\nsnapshot\n").unwrap();
        let of_one = Request::Disable(Some("cs:u".to_owned()));
        let expected =
            [Request::Enable(None), Request::Stop, of_one, Request::Evlist, Request::Snapshot];
        assert_eq!(control.take(), expected);
        writer.write_all(&[b'x'; 3 * LINE_MAX]).unwrap();
        writer.write_all(b"\nping\n").unwrap();
        assert_eq!(control.take(), [Request::Ping]);
    }

    /// `char ack[5]; read(fd, ack, 5); assert(strcmp(ack, "ack\n") == 0)`
    #[test]
    fn what_is_done_is_acknowledged_as_a_string_of_c() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        let places = ControlPlaces { requests: path.clone().into(), done: Some(path.into()) };
        Control::open(&places).unwrap().acknowledge();
        let mut ack = [1; 5];
        reader.read_exact(&mut ack).unwrap();
        assert_eq!(&ack, b"ack\n\0");
    }
}
