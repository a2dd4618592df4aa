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
        self.load_of(self.pid, time, address, name, code)
    }

    /// The same of another process.
    pub fn load_of(
        &mut self,
        pid: u32,
        time: u64,
        address: u64,
        name: &str,
        code: &[u8],
    ) -> (u64, u64) {
        let number = self.bodies;
        self.bodies += 1;
        let mut body = Bytes::new(Order::Little);
        body.u32(pid).u32(pid).u64s(&[address, address, code.len() as u64, number]);
        body.raw(name.as_bytes()).raw(&[0]).raw(code);
        self.record(0, time, &body.take());
        (number, (self.bytes.len() - code.len()) as u64)
    }

    /// JIT_CODE_DEBUG_INFO: address, line and file of each, of the code that is loaded next.
    pub fn lines(&mut self, time: u64, code: u64, lines: &[(u64, u32, &str)]) {
        let mut body = Bytes::new(Order::Little);
        body.u64s(&[code, lines.len() as u64]);
        for (address, line, file) in lines {
            body.u64(*address).u32(*line).u32(0).raw(file.as_bytes()).raw(&[0]);
        }
        self.record(2, time, &body.take());
    }

    /// JIT_CODE_UNWINDING_INFO: an `.eh_frame` of the code that is loaded next, which has so many bytes; call frame
    /// instructions from its beginning.
    pub fn rules(&mut self, time: u64, code_size: u64, instructions: &[u8]) {
        // Version 1, "zR", alignments of 1 and -8, the return address in 16, addresses relative in four bytes; the frame
        // is at rsp + 8, the return address at its end.
        let common = [1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x80 | 16, 1, 0, 0];
        let mut frames = Bytes::new(Order::Little);
        frames.u32(4 + common.len() as u32).u32(0).raw(&common);
        // The frames are behind the code, at a multiple of eight bytes, and the address is in their 33rd byte.
        let back = code_size.next_multiple_of(8) as u32 + 32;
        let mut own = instructions.to_vec();
        own.resize((own.len() + 1).next_multiple_of(8) - 1, 0);
        frames.u32(13 + own.len() as u32).u32(28).u32(back.wrapping_neg());
        frames.u32(code_size as u32).raw(&[0]).raw(&own);
        let (frames, header) = (frames.take(), [1, 0xff, 0xff, 0xff]);
        let size = (frames.len() + header.len()) as u64;
        let mut body = Bytes::new(Order::Little);
        body.u64s(&[size, header.len() as u64, 0]).raw(&frames).raw(&header);
        self.record(4, time, &body.take());
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
