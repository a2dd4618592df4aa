//! KSYMBOL: code that the kernel made at run time.

use std::borrow::Cow;

use super::body;
use crate::decode::ByteOrder;
use crate::error::DecodeError;

/// Code that the kernel made at run time came or went: a BPF program, or code "out of line" (copied
/// instructions of kprobes, trampolines of ftrace). Since Linux 5.1, out of line since 5.8.
///
/// A BPF program has a BPF_EVENT record beside this one, with its id and tag. It is not decoded:
/// the name has the tag in it (`bpf_prog_TAG_NAME`), and the kernel writes a KSYMBOL for each
/// function of a program whenever it writes a BPF_EVENT (`perf_event_bpf_event` in
/// `kernel/events/core.c`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSymbolRecord<'a> {
    /// First address.
    pub address: u64,
    /// Bytes.
    pub length: u32,
    /// Whether the code is there from now on.
    pub change: KernelSymbolChange,
    /// Name of the code as in kallsyms.
    pub name: Cow<'a, str>,
}

/// What happened to code of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelSymbolChange {
    /// It is there now.
    Registered,
    /// It is gone.
    Unregistered,
}

/// `PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER`.
const UNREGISTER: u16 = 1;

impl<'a> KernelSymbolRecord<'a> {
    /// `struct { u64 addr; u32 len; u16 ksym_type, flags; char name[]; }`
    pub fn decode(bytes: &'a [u8], offset: u64, order: ByteOrder) -> Result<Self, DecodeError> {
        let mut cursor = body(bytes, offset, order, "a KSYMBOL record")?;
        let address = cursor.u64()?;
        let length = cursor.u32()?;
        // BPF (1), out of line (2), or a kind to come: the same to readers.
        let _kind = cursor.u16()?;
        let change = match cursor.u16()? & UNREGISTER {
            0 => KernelSymbolChange::Registered,
            _ => KernelSymbolChange::Unregistered,
        };
        let name = String::from_utf8_lossy(cursor.c_string());
        Ok(Self { address, length, change, name })
    }
}
