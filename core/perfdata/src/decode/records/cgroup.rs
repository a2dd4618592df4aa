//! CGROUP: the path of a control group.

use std::borrow::Cow;

use super::body;
use crate::decode::ByteOrder;
use crate::error::DecodeError;

/// A control group that samples may name by its id. Since Linux 5.7.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupRecord<'a> {
    /// What samples have: the inode number of its directory.
    pub id: u64,
    /// Path below the mount point of cgroup2.
    pub path: Cow<'a, str>,
}

impl<'a> CgroupRecord<'a> {
    /// `struct { u64 id; char path[]; }`
    pub fn decode(bytes: &'a [u8], offset: u64, order: ByteOrder) -> Result<Self, DecodeError> {
        let mut cursor = body(bytes, offset, order, "a CGROUP record")?;
        let id = cursor.u64()?;
        Ok(Self { id, path: String::from_utf8_lossy(cursor.c_string()) })
    }
}
