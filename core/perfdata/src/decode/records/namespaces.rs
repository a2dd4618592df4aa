//! NAMESPACES: where the names that a thread uses count.

use super::body;
use crate::decode::ByteOrder;
use crate::error::DecodeError;

/// The namespaces of a thread. Since Linux 4.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamespacesRecord {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Where its process ids count: those that a run time writes into the name of a perf map.
    pub pid_namespace: Option<u64>,
    /// Where its paths count.
    pub mount_namespace: Option<u64>,
}

/// Place of the pid namespace in the list: net, uts, ipc, pid, user, mnt, cgroup
/// (`enum` of `NET_NS_INDEX` in `include/uapi/linux/perf_event.h`).
const PID: u64 = 3;
/// Place of the mount namespace in the list.
const MOUNT: u64 = 5;

impl NamespacesRecord {
    /// `struct { u32 pid, tid; u64 count; struct { u64 dev, inode; } links[count]; }`
    pub fn decode(bytes: &[u8], offset: u64, order: ByteOrder) -> Result<Self, DecodeError> {
        let mut cursor = body(bytes, offset, order, "a NAMESPACES record")?;
        let (pid, tid) = (cursor.u32()?, cursor.u32()?);
        let count = cursor.u64()?;
        let mut record = Self { pid, tid, pid_namespace: None, mount_namespace: None };
        for place in 0..count.min(MOUNT + 1) {
            let _device = cursor.u64()?;
            let inode = Some(cursor.u64()?).filter(|&inode| inode != 0);
            match place {
                PID => record.pid_namespace = inode,
                MOUNT => record.mount_namespace = inode,
                _ => {}
            }
        }
        Ok(record)
    }
}
