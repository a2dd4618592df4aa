//! What simpleperf, Android's profiler, writes in its own way: records of more than 64 KiB and
//! features from 128 on (`record.h`, `record_file.proto` in platform/system/extras/simpleperf).

use super::Recording;

/// A file with its symbols, for FILE (128) and FILE2 (132).
#[derive(Clone, Copy, Debug)]
pub struct SimpleperfFile<'a> {
    /// Path.
    pub path: &'a str,
    /// 0 kernel, 1 module, 2 ELF, 3 dex, 4 symbol map, 5 unknown.
    pub kind: u32,
    /// Address of the first executable byte in the ELF.
    pub min_vaddr: u64,
    /// File offset of that byte.
    pub min_vaddr_offset: u64,
    /// Address, length, name.
    pub symbols: &'a [(u64, u32, &'a str)],
}

impl Recording {
    /// A record of simpleperf's own, whose size is 32 bits: the upper half where others have misc.
    pub fn simpleperf_record(&mut self, kind: u32, body: &[u8]) -> &mut Self {
        assert!(kind >= 1 << 15, "smaller types are the kernel's and perf's");
        let size = body.len() as u32 + 8;
        let header = self.bytes().u32(kind).u16((size >> 16) as u16).u16(size as u16).take();
        self.outside_of_records(&header).outside_of_records(body)
    }

    /// META_INFO 129: pairs of texts.
    pub fn simpleperf_meta_info(&mut self, pairs: &[(&str, &str)]) -> &mut Self {
        let mut payload = self.bytes();
        for (key, value) in pairs {
            payload.fixed(key, key.len() + 1).fixed(value, value.len() + 1);
        }
        self.feature(129, payload.take())
    }

    /// FILE 128, until 2021: structs.
    pub fn simpleperf_files(&mut self, files: &[SimpleperfFile]) -> &mut Self {
        let mut payload = self.bytes();
        for file in files {
            let mut one = payload.fresh();
            one.fixed(file.path, file.path.len() + 1).u32(file.kind).u64(file.min_vaddr);
            one.u32(file.symbols.len() as u32);
            for (address, length, name) in file.symbols {
                one.u64(*address).u32(*length).fixed(name, name.len() + 1);
            }
            if file.kind == 2 {
                one.u64(file.min_vaddr_offset);
            }
            let one = one.take();
            payload.u32(one.len() as u32).raw(&one);
        }
        self.feature(128, payload.take())
    }

    /// FILE2 132: protobuf.
    pub fn simpleperf_files2(&mut self, files: &[SimpleperfFile]) -> &mut Self {
        let mut payload = self.bytes();
        for file in files {
            let one = protobuf_file(file);
            payload.u32(one.len() as u32).raw(&one);
        }
        self.feature(132, payload.take())
    }
}

/// `message FileFeature`: path 1, type 2, min_vaddr 3, symbols 4, elf_file 6 { offset 1 }.
fn protobuf_file(file: &SimpleperfFile) -> Vec<u8> {
    let mut message = Vec::new();
    text(&mut message, 1, file.path.as_bytes());
    number(&mut message, 2, u64::from(file.kind));
    number(&mut message, 3, file.min_vaddr);
    for (address, length, name) in file.symbols {
        let mut symbol = Vec::new();
        number(&mut symbol, 1, *address);
        number(&mut symbol, 2, u64::from(*length));
        text(&mut symbol, 3, name.as_bytes());
        text(&mut message, 4, &symbol);
    }
    if file.kind == 2 {
        let mut elf = Vec::new();
        number(&mut elf, 1, file.min_vaddr_offset);
        text(&mut message, 6, &elf);
    }
    message
}

/// A field of variable length (wire type 2).
fn text(message: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    varint(message, field << 3 | 2);
    varint(message, bytes.len() as u64);
    message.extend(bytes);
}

/// A number (wire type 0).
fn number(message: &mut Vec<u8>, field: u64, number: u64) {
    varint(message, field << 3);
    varint(message, number);
}

/// Seven bits a byte, least significant first, the top bit set but in the last.
fn varint(message: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        message.push(number as u8 | 0x80);
        number >>= 7;
    }
    message.push(number as u8);
}
