//! `--control fifo:CTL[,ACK]`: what others want of a recording while it runs, a line each, and `ack` once it is so.
//!
//! As perf's (`evlist__ctlfd_process` in `tools/perf/util/evlist.c`): enable and disable, of all events or of one by its
//! name, evlist, ping, stop and snapshot. Both are
//! opened for reading and writing, so that whoever writes may come and go. Descriptors (`fd:`) are opened once more, by
//! their place in /proc: they may be others' too, who want to wait. A socket cannot be, and is asked without waiting.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::sockopt::socket_type;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::sys;
use crate::output::{self, notice, printable};

/// No request is longer.
const LINE_MAX: usize = 256;

/// Where requests come from, and where it is said that they are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlPlaces {
    requests: ControlPlace,
    done: Option<ControlPlace>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ControlPlace {
    Fifo(PathBuf),
    Descriptor(RawFd),
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
            "fifo" if !name.is_empty() => Ok(ControlPlace::Fifo(PathBuf::from(name))),
            "fd" => {
                let number = name.parse().ok().filter(|number| *number >= 0).ok_or(WRONG)?;
                Ok(ControlPlace::Descriptor(number))
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

impl ControlPlace {
    fn path(&self) -> PathBuf {
        match self {
            Self::Fifo(path) => path.clone(),
            Self::Descriptor(number) => PathBuf::from(format!("/proc/self/fd/{number}")),
        }
    }

    fn open(&self) -> Result<Line> {
        let path = self.path();
        let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path);
        let line = match (opened, self) {
            (Err(error), Self::Descriptor(number)) if may_be_socket(&error) => {
                socket(*number).map(Line::Socket)
            }
            (opened, _) => opened.map(Line::File),
        };
        line.with_context(|| format!("--control: {}", path.display()))
    }
}

/// Whether that may be why a descriptor cannot be opened once more. Of an eventfd and others it is, too.
fn may_be_socket(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NXIO.raw_os_error())
}

/// A socket that we have, by its number, with a descriptor of our own.
fn socket(number: RawFd) -> io::Result<OwnedFd> {
    let ours = sys::duplicate(number)?;
    socket_type(&ours)?;
    Ok(ours)
}

/// A place, open. Nothing waits for it.
enum Line {
    File(File),
    Socket(OwnedFd),
}

impl Line {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(bytes),
            Self::Socket(socket) => Ok(recv(socket, bytes, RecvFlags::DONTWAIT)?.0),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => (&mut &*file).write_all(bytes),
            Self::Socket(socket) => {
                send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?;
                Ok(())
            }
        }
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::File(file) => file.as_fd(),
            Self::Socket(socket) => socket.as_fd(),
        }
    }
}

/// Where it is said that requests are done, if anywhere. Other threads may say it, too.
#[derive(Clone)]
pub struct Done(Option<Arc<Line>>);

/// Both places, open.
pub struct Control {
    /// `None` once nobody can ask any more.
    requests: Option<Line>,
    done: Done,
    begun: Vec<u8>,
}

impl Control {
    /// Opens them.
    pub fn open(places: &ControlPlaces) -> Result<Self> {
        let done = Done(places.done.as_ref().map(ControlPlace::open).transpose()?.map(Arc::new));
        Ok(Self { requests: Some(places.requests.open()?), done, begun: Vec::new() })
    }

    /// Readable once a request has come, or nobody can ask any more.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.requests.as_ref().map(Line::as_fd)
    }

    /// What has come.
    pub fn take(&mut self) -> Vec<Request> {
        let mut bytes = [0; 4096];
        let mut taken = Vec::new();
        while let Some(line) = &mut self.requests {
            let count = match line.read(&mut bytes) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    // So a socket is closed whose other end did not read all.
                    if error.kind() != ErrorKind::ConnectionReset {
                        let reason = output::reason(&error);
                        notice(format_args!("--control: no more requests are taken: {reason}"));
                    }
                    0
                }
            };
            // Nobody can ask any more: it would be readable for ever.
            if count == 0 {
                self.requests = None;
            }
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

    /// Where it is said that a request is done.
    pub fn done(&self) -> &Done {
        &self.done
    }
}

impl Done {
    /// Says that a request is done, with the zero behind it that perf writes: programs read five bytes and compare them as
    /// a string of C. Who does not read it does not want to know.
    pub fn acknowledge(&self) {
        if let Some(line) = &self.0 {
            let _ = line.write(b"ack\n\0");
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
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use rustix::event::EventfdFlags;
    use rustix::net::{AddressFamily, SocketType};

    use super::*;

    #[test]
    fn places_are_written_as_in_perf() {
        let places = |text: &str| text.parse::<ControlPlaces>();
        let both = places("fifo:/tmp/ctl,/tmp/ack").unwrap();
        assert_eq!(both.requests, ControlPlace::Fifo(PathBuf::from("/tmp/ctl")));
        assert_eq!(both.done, Some(ControlPlace::Fifo(PathBuf::from("/tmp/ack"))));
        assert_eq!(places("fd:7").unwrap().requests, ControlPlace::Descriptor(7));
        for bad in ["", "fifo", "fifo:", "fifo:ctl,", "fd:ctl", "pipe:ctl", "fd:1,-2"] {
            assert!(places(bad).is_err(), "{bad}");
        }
    }

    fn descriptor(of: &impl AsRawFd) -> ControlPlace {
        ControlPlace::Descriptor(of.as_raw_fd())
    }

    /// As perf takes it.
    #[test]
    fn a_socket_is_asked_until_its_other_end_is_closed() {
        let (mut theirs, ours) = UnixStream::pair().unwrap();
        let requests = descriptor(&ours);
        let places = ControlPlaces { done: Some(requests.clone()), requests };
        let mut control = Control::open(&places).unwrap();
        drop(ours);
        assert_eq!(control.take(), []);
        theirs.write_all(b"enable\nsto").unwrap();
        assert_eq!(control.take(), [Request::Enable(None)]);
        control.done().acknowledge();
        let mut ack = [1; 5];
        theirs.read_exact(&mut ack).unwrap();
        assert_eq!(&ack, b"ack\n\0");
        theirs.write_all(b"p\n").unwrap();
        drop(theirs);
        assert!(control.as_fd().is_some());
        assert_eq!(control.take(), [Request::Stop]);
        assert!(control.as_fd().is_none(), "it would be polled for ever");
        control.done().acknowledge();
    }

    #[test]
    fn what_can_ask_nothing_is_polled_no_more() {
        let unconnected = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None);
        let unconnected = unconnected.unwrap();
        let places = ControlPlaces { requests: descriptor(&unconnected), done: None };
        let mut control = Control::open(&places).unwrap();
        assert_eq!(control.take(), []);
        assert!(control.as_fd().is_none());

        let event = rustix::event::eventfd(0, EventfdFlags::empty()).unwrap();
        let places = ControlPlaces { requests: descriptor(&event), done: None };
        let error = Control::open(&places).err().map(|error| format!("{error:#}"));
        assert!(error.as_ref().is_some_and(|it| it.contains("socket")), "{error:?}");
    }

    #[test]
    fn requests_are_lines_however_they_come() {
        let (reader, mut writer) = io::pipe().unwrap();
        let places = ControlPlaces { requests: descriptor(&reader), done: None };
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
        let (mut reader, writer) = io::pipe().unwrap();
        let requests = descriptor(&writer);
        let places = ControlPlaces { done: Some(requests.clone()), requests };
        Control::open(&places).unwrap().done().acknowledge();
        let mut ack = [1; 5];
        reader.read_exact(&mut ack).unwrap();
        assert_eq!(&ack, b"ack\n\0");
    }
}
