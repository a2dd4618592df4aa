//! Word from the kernel that modules came or went: kobject uevents on a netlink socket, which any
//! user may listen to. Tracepoints (`module:module_load`) would need root and tracefs, and a slot
//! in every ring.
//!
//! An event only says that it is time to look: by then the module may be gone again.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};

/// The group that the kernel itself sends to; udev sends to another.
const FROM_KERNEL: u32 = 1;
/// The kernel's limit for one event (`UEVENT_BUFFER_SIZE`) and its head.
const MESSAGE_SIZE: usize = 4096;

/// A socket that hears of modules.
pub struct ModuleEvents(OwnedFd);

/// What was heard since the last time.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ModuleChanges {
    /// Whether anything was said of modules, or some events were lost.
    pub anything: bool,
    /// Modules that came, as /proc/modules names them.
    pub came: BTreeSet<String>,
}

impl ModuleEvents {
    /// `None` where there is no such socket to be had.
    pub fn listen() -> Option<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let kind = SocketType::DGRAM;
        let socket = socket_with(AddressFamily::NETLINK, kind, flags, Some(KOBJECT_UEVENT)).ok()?;
        bind(&socket, &SocketAddrNetlink::new(0, FROM_KERNEL)).ok()?;
        Some(Self(socket))
    }

    /// Readable once there is something to hear.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Takes all that has come.
    pub fn take(&self) -> ModuleChanges {
        let mut heard = ModuleChanges::default();
        let mut message = [0; MESSAGE_SIZE];
        loop {
            match recv(&self.0, &mut message, RecvFlags::empty()) {
                Ok((length, _)) => heard.note(&message[..length.min(MESSAGE_SIZE)]),
                // More came than the socket holds: it goes on with what comes next.
                Err(Errno::NOBUFS) => heard.anything = true,
                Err(Errno::INTR) => {}
                Err(_) => return heard,
            }
        }
    }
}

impl ModuleChanges {
    /// A message is `ACTION@PATH`, a NUL, and lines that say the same once more.
    fn note(&mut self, message: &[u8]) {
        let head = message.split(|byte| *byte == 0).next().unwrap_or_default();
        let Ok(head) = std::str::from_utf8(head) else { return };
        let Some((action, name)) = head.split_once("@/module/") else { return };
        // Parameters and drivers of a module have paths below its own.
        if name.contains('/') {
            return;
        }
        self.anything = true;
        if action == "add" {
            self.came.insert(name.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_modules_are_heard_of() {
        let mut heard = ModuleChanges::default();
        heard.note(b"add@/devices/virtual/block/loop0\0ACTION=add\0");
        heard.note(b"add@/module/nf_nat/drivers\0ACTION=add\0");
        heard.note(b"libudev\0\xfe\xed\xca\xfe");
        heard.note(b"");
        assert_eq!(heard, ModuleChanges::default());
        heard.note(b"remove@/module/ext4\0ACTION=remove\0DEVPATH=/module/ext4\0");
        assert!(heard.anything && heard.came.is_empty());
        heard.note(b"add@/module/btrfs\0ACTION=add\0DEVPATH=/module/btrfs\0");
        assert_eq!(heard.came, BTreeSet::from(["btrfs".to_owned()]));
    }
}
