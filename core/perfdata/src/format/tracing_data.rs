//! Writes TRACING_DATA: what ftrace says of the tracepoints of a recording.
//!
//! `decode/tracing_data.rs` has the layout, from `tools/perf/util/trace-event-info.c`.

use std::collections::BTreeMap;

/// Files of tracefs, as the kernel gives them.
#[derive(Clone, Debug, Default)]
pub struct TracingFiles {
    /// `events/header_page`.
    pub header_page: Vec<u8>,
    /// `events/header_event`.
    pub header_event: Vec<u8>,
    /// `events/SYSTEM/NAME/format` of each tracepoint, by system.
    pub formats: BTreeMap<String, Vec<Vec<u8>>>,
    /// `printk_formats`: texts that tracepoints name by their address.
    pub printk_formats: Vec<u8>,
}

/// The system whose formats stand apart.
const FTRACE: &str = "ftrace";

impl TracingFiles {
    /// As a feature section. Symbols of the kernel and names of threads, for which it has a place
    /// too, are elsewhere in a recording. (perf leaves out the symbols as well, since Linux 4.2.)
    pub fn encode(&self, page_size: u32) -> Vec<u8> {
        let mut out = b"\x17\x08\x44tracing0.6\0".to_vec();
        out.push(u8::from(cfg!(target_endian = "big")));
        out.push(size_of::<usize>() as u8);
        number(&mut out, page_size);
        for (name, text) in
            [(&b"header_page\0"[..], &self.header_page), (b"header_event\0", &self.header_event)]
        {
            out.extend_from_slice(name);
            sized(&mut out, text);
        }
        list(&mut out, self.formats.get(FTRACE).map_or(&[], Vec::as_slice));
        let systems = || self.formats.iter().filter(|(system, _)| *system != FTRACE);
        number(&mut out, systems().count() as u32);
        for (system, formats) in systems() {
            out.extend_from_slice(system.as_bytes());
            out.push(0);
            list(&mut out, formats);
        }
        let no_symbols = 0;
        number(&mut out, no_symbols);
        number(&mut out, self.printk_formats.len() as u32);
        out.extend_from_slice(&self.printk_formats);
        let no_threads = &[];
        sized(&mut out, no_threads);
        out
    }
}

fn list(out: &mut Vec<u8>, texts: &[Vec<u8>]) {
    number(out, texts.len() as u32);
    texts.iter().for_each(|text| sized(out, text));
}

fn number(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_ne_bytes());
}

fn sized(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u64).to_ne_bytes());
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::tracing_data::TracingData;

    #[test]
    fn what_is_written_is_read() {
        let format = |name: &str, id: u32| {
            format!(
                "name: {name}\nID: {id}\nformat:\n\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
            )
            .into_bytes()
        };
        let mut formats = BTreeMap::from([
            ("sched".to_owned(), vec![format("sched_switch", 372), format("sched_wakeup", 374)]),
            ("syscalls".to_owned(), vec![format("sys_enter_openat", 782)]),
            ("ftrace".to_owned(), vec![format("print", 5)]),
        ]);
        let names = |formats: &BTreeMap<_, _>| {
            let files = TracingFiles {
                header_page: b"page\n".to_vec(),
                printk_formats: b"0xffffffff82000000 : \"hi\"\n".to_vec(),
                formats: formats.clone(),
                ..TracingFiles::default()
            };
            let (data, read) = TracingData::read(&files.encode(4096), 0);
            assert_eq!((read, &data.comms), (Ok(()), &vec![]));
            data.formats.iter().map(|format| format.event_name()).collect::<Vec<_>>()
        };
        let sched = ["sched:sched_switch", "sched:sched_wakeup", "syscalls:sys_enter_openat"];
        assert_eq!(names(&formats), [&["ftrace:print"][..], &sched].concat());
        formats.remove("ftrace");
        assert_eq!(names(&formats), sched);
    }
}
