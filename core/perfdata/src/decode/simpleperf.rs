//! What simpleperf (Android's recorder) puts into a recording beyond perf's own features: symbols
//! of the files that were hit, and facts by name.
//!
//! Layouts are those of simpleperf's `record_file_format.h` and `record_file.proto`.

use crate::decode::Cursor;
use crate::decode::cursor::until_nul;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::machine::{Property, Recorder};
use crate::text::printable;

/// Symbols of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolFile {
    /// Its path, as mappings have it.
    pub path: String,
    /// How the addresses of its symbols count.
    pub kind: SymbolFileKind,
    /// Address (SVMA) of the first executable byte.
    pub min_vaddr: u64,
    /// Where that byte is: offset in an ELF file, or in memory from the start of a kernel module.
    /// Not recorded before Android 10.
    pub offset_of_min_vaddr: Option<u64>,
    /// The symbols that were hit, or all.
    pub symbols: Vec<FileSymbol>,
}

/// What symbols were read from, by simpleperf's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SymbolFileKind {
    /// 0: the kernel. Addresses are those at run time.
    Kernel,
    /// 1: a kernel module.
    Module,
    /// 2: an ELF file, also one that the Java run time made for code that it compiled.
    Elf,
    /// 3: Dalvik bytecode. Addresses are file offsets.
    Dex,
    /// 4: a list of symbols in memory. Addresses are those at run time.
    SymbolMap,
    /// 5 and above.
    #[default]
    Unknown,
}

/// A symbol in the file's own addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSymbol {
    /// Where it begins.
    pub vaddr: u64,
    /// Bytes that it covers.
    pub size: u64,
    /// Its name, mangled as it was.
    pub name: String,
}

impl SymbolFileKind {
    fn of(number: u64) -> Self {
        match number {
            0 => Self::Kernel,
            1 => Self::Module,
            2 => Self::Elf,
            3 => Self::Dex,
            4 => Self::SymbolMap,
            _ => Self::Unknown,
        }
    }
}

/// The FILE feature; what came before an error stays.
///
/// ```text
/// until the end:
///   u32  size of what follows
///   char path[]; u32 type; u64 min_vaddr
///   u32  n; n × { u64 vaddr; u32 size; char name[] }
///   type 3:       u32 m; u64 offsets of dex files[m]
///   type 1 and 2: u64 offset of min_vaddr             // where there is room
/// ```
pub(super) fn files(
    files: &mut Vec<SymbolFile>,
    cursor: &mut Cursor<'_>,
) -> Result<(), DecodeError> {
    each(files, cursor, SymbolFile::read)
}

/// The FILE2 feature: each entry is a message of Protocol Buffers; what came before an error stays.
pub(super) fn files2(
    files: &mut Vec<SymbolFile>,
    cursor: &mut Cursor<'_>,
) -> Result<(), DecodeError> {
    each(files, cursor, SymbolFile::read_message)
}

/// Entries of a u32 size and that many bytes, until the end.
fn each(
    files: &mut Vec<SymbolFile>,
    cursor: &mut Cursor<'_>,
    read: fn(&mut Cursor<'_>) -> Result<SymbolFile, DecodeError>,
) -> Result<(), DecodeError> {
    files.clear();
    while !cursor.rest().is_empty() {
        let size = cursor.u32()?;
        let offset = cursor.offset();
        let bytes = cursor.take_u64(size.into())?;
        let what = "a file in simpleperf's list";
        files.push(read(&mut Cursor::new(bytes, offset, cursor.order(), what))?);
    }
    Ok(())
}

/// The META_INFO feature: names and values in turn, each ending in a NUL.
pub(super) fn meta_info(recorder: &mut Recorder, cursor: &mut Cursor<'_>) {
    recorder.properties.clear();
    let text = |bytes: &[u8]| printable(&String::from_utf8_lossy(bytes)).into_owned();
    let mut strings = cursor.rest().split(|&byte| byte == 0);
    while let (Some(name), Some(value)) = (strings.next(), strings.next()) {
        let value = match name {
            // Lines, read by [`event_names`].
            b"event_type_info" => String::from_utf8_lossy(value).into_owned(),
            _ => text(value),
        };
        match name {
            b"simpleperf_version" => recorder.version = Some(format!("simpleperf {value}")),
            b"clockid" => recorder.clock = clock(&value),
            _ => {}
        }
        recorder.properties.push(Property { name: text(name), value });
    }
}

fn clock(name: &str) -> Option<&'static str> {
    let known = ["realtime", "monotonic", "monotonic_raw", "boottime"];
    known.into_iter().find(|&known| known == name)
}

/// An event as simpleperf's META_INFO names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventTypeName {
    /// As the user wrote it.
    pub name: String,
    /// Type of its attr.
    pub event_type: u32,
    /// Config of its attr.
    pub config: u64,
}

/// The names of events among simpleperf's facts: lines `name,type,config`.
pub fn event_names(recorder: &Recorder) -> Vec<EventTypeName> {
    let info = recorder.properties.iter().find(|property| property.name == "event_type_info");
    let parse = |line: &str| {
        // A name may have commas of its own, as raw events of a PMU do.
        let mut parts = line.rsplitn(3, ',');
        let (config, event_type) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let name = printable(parts.next()?).into_owned();
        Some(EventTypeName { name, event_type, config })
    };
    info.map_or_else(Vec::new, |info| info.value.lines().filter_map(parse).collect())
}

impl SymbolFile {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let path = c_string(cursor)?;
        let kind = SymbolFileKind::of(cursor.u32()?.into());
        let min_vaddr = cursor.u64()?;
        let mut symbols = Vec::new();
        for _ in 0..cursor.u32()? {
            let (vaddr, size) = (cursor.u64()?, cursor.u32()?.into());
            symbols.push(FileSymbol { vaddr, size, name: c_string(cursor)? });
        }
        let has_offset = matches!(kind, SymbolFileKind::Elf | SymbolFileKind::Module);
        let has_room = cursor.rest().len() >= 8;
        let offset_of_min_vaddr = match has_offset && has_room {
            true => Some(cursor.u64()?),
            false => None,
        };
        Ok(Self { path, kind, min_vaddr, offset_of_min_vaddr, symbols })
    }

    /// ```text
    /// message FileFeature {
    ///   string path = 1; DsoType type = 2; uint64 min_vaddr = 3; repeated Symbol symbol = 4;
    ///   oneof { DexFile dex_file = 5; ElfFile elf_file = 6; KernelModule kernel_module = 7; }
    /// }
    /// message Symbol       { uint64 vaddr = 1; uint32 len = 2; string name = 3; }
    /// message ElfFile      { uint64 file_offset_of_min_vaddr = 1; }
    /// message KernelModule { uint64 memory_offset_of_min_vaddr = 1; }
    /// ```
    fn read_message(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        // A number that is not there is 0: so the kernel's kind, and the offset in its message.
        let mut file = Self { kind: SymbolFileKind::Kernel, ..Self::default() };
        while let Some(field) = Field::read(cursor)? {
            match field {
                Field { number: 1, bytes, .. } => file.path = text(bytes),
                Field { number: 2, value, .. } => file.kind = SymbolFileKind::of(value),
                Field { number: 3, value, .. } => file.min_vaddr = value,
                Field { number: 4, .. } => {
                    file.symbols.push(FileSymbol::read_message(&mut field.message(cursor))?);
                }
                Field { number: 6 | 7, .. } => {
                    let mut offset = 0;
                    let mut message = field.message(cursor);
                    while let Some(Field { number, value, .. }) = Field::read(&mut message)? {
                        if number == 1 {
                            offset = value;
                        }
                    }
                    file.offset_of_min_vaddr = Some(offset);
                }
                _ => {}
            }
        }
        Ok(file)
    }
}

impl FileSymbol {
    fn read_message(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut symbol = Self::default();
        while let Some(field) = Field::read(cursor)? {
            match field.number {
                1 => symbol.vaddr = field.value,
                2 => symbol.size = field.value,
                3 => symbol.name = text(field.bytes),
                _ => {}
            }
        }
        Ok(symbol)
    }
}

/// A field of a message of Protocol Buffers; of numbers the bytes are empty, of others the value
/// is 0.
#[derive(Clone, Copy)]
struct Field<'a> {
    number: u64,
    value: u64,
    bytes: &'a [u8],
    /// Where the bytes are in the file.
    offset: u64,
}

impl<'a> Field<'a> {
    /// The next field; `None` at the end of the message.
    fn read(cursor: &mut Cursor<'a>) -> Result<Option<Self>, DecodeError> {
        if cursor.rest().is_empty() {
            return Ok(None);
        }
        let at = cursor.offset();
        let key = varint(cursor)?;
        let (mut value, mut bytes) = (0, &[][..]);
        match key & 7 {
            0 => value = varint(cursor)?,
            1 => bytes = cursor.take(8)?,
            2 => {
                let length = varint(cursor)?;
                bytes = cursor.take_u64(length)?;
            }
            5 => bytes = cursor.take(4)?,
            value => {
                let what = "the type of a field in simpleperf's list of symbols";
                return Err(DecodeErrorKind::Invalid { what, value }.at(at));
            }
        }
        let offset = cursor.offset() - bytes.len() as u64;
        Ok(Some(Self { number: key >> 3, value, bytes, offset }))
    }

    /// The message in the field's bytes.
    fn message(&self, around: &Cursor<'_>) -> Cursor<'a> {
        Cursor::new(self.bytes, self.offset, around.order(), "a message in simpleperf's list")
    }
}

/// Seven bits a byte, the lowest first; the highest bit of a byte says that more follow.
fn varint(cursor: &mut Cursor<'_>) -> Result<u64, DecodeError> {
    let offset = cursor.offset();
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = cursor.u8()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(DecodeErrorKind::Invalid { what: "a number in simpleperf's list", value }.at(offset))
}

fn c_string(cursor: &mut Cursor<'_>) -> Result<String, DecodeError> {
    let bytes = until_nul(cursor.rest());
    let length = bytes.len();
    let string = text(bytes);
    cursor.take(length + 1)?;
    Ok(string)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::ByteOrder;

    fn cursor(bytes: &[u8]) -> Cursor<'_> {
        Cursor::new(bytes, 0, ByteOrder::Little, "a test")
    }

    /// An entry of the FILE feature.
    fn entry(path: &str, kind: u32, symbols: &[(u64, u32, &str)], tail: &[u8]) -> Vec<u8> {
        let mut body = [path.as_bytes(), b"\0"].concat();
        body.extend(kind.to_le_bytes());
        body.extend(0x1000u64.to_le_bytes());
        body.extend((symbols.len() as u32).to_le_bytes());
        for (vaddr, size, name) in symbols {
            body.extend(vaddr.to_le_bytes());
            body.extend(size.to_le_bytes());
            body.extend([name.as_bytes(), b"\0"].concat());
        }
        body.extend(tail);
        [&(body.len() as u32).to_le_bytes()[..], &body].concat()
    }

    #[test]
    fn files_of_all_versions_are_read() {
        let bytes = [
            entry("/old.so", 2, &[(0x1200, 8, "_Z1fv"), (0x1300, 4, "@plt")], &[]),
            entry("/new.so", 2, &[(0x1200, 8, "g")], &0x800u64.to_le_bytes()),
            entry("/a.vdex", 3, &[], &[1, 0, 0, 0, 0x28, 0, 0, 0, 0, 0, 0, 0]),
            entry("[kernel.kallsyms]", 0, &[], &[]),
        ]
        .concat();
        let mut read = Vec::new();
        files(&mut read, &mut cursor(&bytes)).expect("whole");
        let facts = |file: &SymbolFile| {
            (file.path.clone(), file.kind, file.min_vaddr, file.offset_of_min_vaddr)
        };
        let expected = [
            ("/old.so".to_owned(), SymbolFileKind::Elf, 0x1000, None),
            ("/new.so".to_owned(), SymbolFileKind::Elf, 0x1000, Some(0x800)),
            ("/a.vdex".to_owned(), SymbolFileKind::Dex, 0x1000, None),
            ("[kernel.kallsyms]".to_owned(), SymbolFileKind::Kernel, 0x1000, None),
        ];
        assert_eq!(read.iter().map(facts).collect::<Vec<_>>(), expected);
        let symbol = FileSymbol { vaddr: 0x1200, size: 8, name: "_Z1fv".to_owned() };
        assert_eq!((&read[0].symbols[0], read[0].symbols.len()), (&symbol, 2));
        for length in 0..bytes.len() {
            let mut kept = Vec::new();
            let _ = files(&mut kept, &mut cursor(&bytes[..length]));
            assert_eq!(kept[..], read[..kept.len()], "{length}");
        }
    }

    #[test]
    fn messages_are_read_and_unknown_fields_passed_over() {
        let symbol = b"\x08\x80\x20\x10\x91\x01\x1a\x04main\x25\0\0\0\0";
        let message = [
            &b"\x0a\x07/bin/sh\x10\x02\x18\x80\x18\x22"[..],
            &[symbol.len() as u8],
            symbol,
            b"\x32\x03\x08\x80\x10\x7a\x02hi\x79\x01\x02\x03\x04\x05\x06\x07\x08",
        ]
        .concat();
        let bytes = [&(message.len() as u32).to_le_bytes()[..], &message].concat();
        let mut read = Vec::new();
        files2(&mut read, &mut cursor(&bytes)).expect("whole");
        let expected = SymbolFile {
            path: "/bin/sh".to_owned(),
            kind: SymbolFileKind::Elf,
            min_vaddr: 0xc00,
            offset_of_min_vaddr: Some(0x800),
            symbols: vec![FileSymbol { vaddr: 0x1000, size: 145, name: "main".to_owned() }],
        };
        assert_eq!(read, [expected]);
        for length in 1..bytes.len() {
            assert!(files2(&mut read, &mut cursor(&bytes[..length])).is_err(), "{length}");
            assert_eq!(read, []);
        }
    }

    #[test]
    fn facts_have_the_names_of_the_events() {
        let bytes = b"event_type_info\0cpu-clock,1,0\nraw-a,b,4,27\nsched:sched_switch,2,91\0\
                      simpleperf_version\x001.2\0clockid\0monotonic\0odd";
        let mut recorder = Recorder::default();
        meta_info(&mut recorder, &mut cursor(bytes));
        assert_eq!(recorder.version.as_deref(), Some("simpleperf 1.2"));
        assert_eq!(recorder.clock, Some("monotonic"));
        let names = event_names(&recorder);
        let names: Vec<_> =
            names.iter().map(|it| (it.name.as_str(), it.event_type, it.config)).collect();
        let expected = [("cpu-clock", 1, 0), ("raw-a,b", 4, 27), ("sched:sched_switch", 2, 91)];
        assert_eq!(names, expected);
    }
}
