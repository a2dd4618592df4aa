//! TRACING_DATA: the kernel's own descriptions of its tracepoints, copied from tracefs by the
//! recorder, with byte order and width of its own; `tracing_data_get` in
//! tools/perf/util/trace-event-info.c.

use super::{Bytes, Order};

/// A field of a tracepoint.
#[derive(Clone, Debug)]
pub struct Field {
    /// Type and name as C declares them: `char prev_comm[16]`.
    pub declaration: String,
    /// Bytes, and whether they are a signed number.
    pub size: usize,
    /// Whether it is a signed number.
    pub signed: bool,
}

impl Field {
    /// An unsigned field.
    pub fn new(declaration: &str, size: usize) -> Self {
        Self { declaration: declaration.to_owned(), size, signed: false }
    }

    /// A signed field.
    pub fn signed(declaration: &str, size: usize) -> Self {
        Self { signed: true, ..Self::new(declaration, size) }
    }
}

/// A tracepoint: fields follow each other, each at a multiple of its alignment.
#[derive(Clone, Debug)]
pub struct Tracepoint {
    /// `sched`.
    pub system: String,
    /// `sched_switch`.
    pub name: String,
    /// What attrs have as config, and raw data in its first field.
    pub id: u16,
    /// Fields after those that all have.
    pub fields: Vec<Field>,
}

impl Tracepoint {
    /// A tracepoint.
    pub fn new(system: &str, name: &str, id: u16, fields: Vec<Field>) -> Self {
        Self { system: system.to_owned(), name: name.to_owned(), id, fields }
    }

    /// `/sys/kernel/tracing/events/SYSTEM/NAME/format`.
    pub fn format(&self) -> String {
        let mut text = format!("name: {}\nID: {}\nformat:\n", self.name, self.id);
        for (declaration, offset, size, signed) in [
            ("unsigned short common_type", 0, 2, 0),
            ("unsigned char common_flags", 2, 1, 0),
            ("unsigned char common_preempt_count", 3, 1, 0),
            ("int common_pid", 4, 4, 1),
        ] {
            text += &field_line(declaration, offset, size, signed);
        }
        text.push('\n');
        for (field, offset) in self.offsets() {
            text += &field_line(&field.declaration, offset, field.size, field.signed.into());
        }
        text + "\nprint fmt: \"%d\", REC->common_pid\n"
    }

    fn offsets(&self) -> impl Iterator<Item = (&Field, usize)> {
        let mut offset = 8usize;
        self.fields.iter().map(move |field| {
            let alignment = if field.declaration.contains("char ") { 1 } else { field.size.min(8) };
            let at = offset.next_multiple_of(alignment.max(1));
            offset = at + field.size;
            (field, at)
        })
    }

    /// Raw data of a sample: the fields' bytes, in the recorder's order, padded as the kernel pads.
    pub fn raw(&self, order: Order, pid: i32, fields: &[Vec<u8>]) -> Vec<u8> {
        let mut raw = Bytes::new(order);
        raw.u16(self.id).u8(0).u8(0).i32(pid);
        for ((field, offset), bytes) in self.offsets().zip(fields) {
            assert_eq!(bytes.len(), field.size, "{}", field.declaration);
            raw.zeros(offset - raw.len()).raw(bytes);
        }
        let padded = (raw.len() + 4).next_multiple_of(8) - 4;
        raw.zeros(padded - raw.len());
        raw.take()
    }
}

fn field_line(declaration: &str, offset: usize, size: usize, signed: u8) -> String {
    format!("\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n")
}

/// All of it.
#[derive(Clone, Debug)]
pub struct TracingData {
    /// The machine's byte order.
    pub order: Order,
    /// Bytes of its `long`.
    pub long: u8,
    /// Its tracepoints.
    pub tracepoints: Vec<Tracepoint>,
    /// pid and comm of processes seen.
    pub cmdlines: Vec<(u32, String)>,
}

impl TracingData {
    /// The payload of feature 1, and what follows HEADER_TRACING_DATA in a pipe.
    pub fn encode(&self) -> Vec<u8> {
        let mut data = Bytes::new(self.order);
        data.raw(&[23, 8, 68]).raw(b"tracing").raw(b"0.6\0");
        data.u8((self.order == Order::Big).into()).u8(self.long).u32(4096);
        self.header_files(&mut data);
        // Formats of ftrace's own events: none.
        data.u32(0);
        self.event_formats(&mut data);
        // kallsyms is not copied any more: a length of 0.
        data.u32(0);
        let printk = "0xffffffff81000000 : \"%s\"\n";
        data.u32(printk.len() as u32).raw(printk.as_bytes());
        let cmdlines = self.cmdlines.iter().map(|(pid, comm)| format!("{pid} {comm}\n"));
        let cmdlines: String = cmdlines.collect();
        data.u64(cmdlines.len() as u64).raw(cmdlines.as_bytes());
        data.take()
    }

    fn header_files(&self, data: &mut Bytes) {
        let page = [
            field_line("u64 timestamp", 0, 8, 0),
            field_line("local_t commit", 8, self.long.into(), 1),
            field_line("int overwrite", 8, 1, 1),
            field_line("char data", 8 + usize::from(self.long), 4080, 1),
        ]
        .concat();
        data.raw(b"header_page\0").u64(page.len() as u64).raw(page.as_bytes());
        let event = "# compressed entry header\n\ttype_len    :    5 bits\n";
        data.raw(b"header_event\0").u64(event.len() as u64).raw(event.as_bytes());
    }

    fn event_formats(&self, data: &mut Bytes) {
        let mut systems: Vec<&str> = self.tracepoints.iter().map(|t| t.system.as_str()).collect();
        systems.dedup();
        data.u32(systems.len() as u32);
        for system in systems {
            let of_system: Vec<_> =
                self.tracepoints.iter().filter(|tracepoint| tracepoint.system == system).collect();
            data.raw(system.as_bytes()).u8(0).u32(of_system.len() as u32);
            for tracepoint in of_system {
                let format = tracepoint.format();
                data.u64(format.len() as u64).raw(format.as_bytes());
            }
        }
    }
}
