//! jitdump, from tools/perf/Documentation/jitdump-specification.txt (Linux 6.12): little-endian, of x86-64.

use super::{Bytes, Order};

/// A jitdump that is being made.
pub struct Jitdump {
    bytes: Vec<u8>,
    pid: u32,
    bodies: u64,
}

impl Jitdump {
    /// Without code; `flags` 1: times are those of the processor's counter.
    pub fn new(pid: u32, begun: u64, flags: u64) -> Self {
        let mut header = Bytes::new(Order::Little);
        header.u32(0x4a69_5444).u32(1).u32(40).u32(62).u32(0).u32(pid).u64(begun).u64(flags);
        Self { bytes: header.take(), pid, bodies: 0 }
    }

    fn record(&mut self, kind: u32, time: u64, body: &[u8]) {
        let mut head = Bytes::new(Order::Little);
        head.u32(kind).u32(16 + body.len() as u32).u64(time);
        self.bytes.extend(head.take());
        self.bytes.extend(body);
    }

    /// JIT_CODE_LOAD. Tells the number of the code, and where its bytes are in the file.
    pub fn load(&mut self, time: u64, address: u64, name: &str, code: &[u8]) -> (u64, u64) {
        let number = self.bodies;
        self.bodies += 1;
        let mut body = Bytes::new(Order::Little);
        body.u32(self.pid).u32(self.pid).u64s(&[address, address, code.len() as u64, number]);
        body.raw(name.as_bytes()).raw(&[0]).raw(code);
        self.record(0, time, &body.take());
        (number, (self.bytes.len() - code.len()) as u64)
    }

    /// JIT_CODE_MOVE.
    pub fn moved(&mut self, time: u64, from: u64, to: u64, size: u64, number: u64) {
        let mut body = Bytes::new(Order::Little);
        body.u32(self.pid).u32(self.pid).u64s(&[to, from, to, size, number]);
        self.record(1, time, &body.take());
    }

    /// A record of any kind.
    pub fn other(&mut self, kind: u32, time: u64, body: &[u8]) {
        self.record(kind, time, body);
    }

    /// The file.
    pub fn file(self) -> Vec<u8> {
        self.bytes
    }
}
