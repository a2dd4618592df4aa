//! Records of the tool that records: `enum perf_user_event_type` in
//! tools/lib/perf/include/perf/event.h.

use super::Recording;

const HEADER_ATTR: u32 = 64;
const EVENT_TYPE: u32 = 65;
const HEADER_TRACING_DATA: u32 = 66;
const FINISHED_ROUND: u32 = 68;
const ID_INDEX: u32 = 69;
const AUXTRACE_INFO: u32 = 70;
const AUXTRACE: u32 = 71;
const AUXTRACE_ERROR: u32 = 72;
const THREAD_MAP: u32 = 73;
const CPU_MAP: u32 = 74;
const STAT_CONFIG: u32 = 75;
const STAT: u32 = 76;
const STAT_ROUND: u32 = 77;
const EVENT_UPDATE: u32 = 78;
const TIME_CONV: u32 = 79;
const HEADER_FEATURE: u32 = 80;
const FINISHED_INIT: u32 = 82;
const BPF_METADATA: u32 = 84;
const SCHEDSTAT_CPU: u32 = 85;
const SCHEDSTAT_DOMAIN: u32 = 86;

impl Recording {
    /// HEADER_ATTR: an event, where the header has no place for it.
    pub fn header_attr(&mut self, event: usize) -> &mut Self {
        let event = &self.events[event];
        let attr = event.attr.encode(self.order);
        let body = self.bytes().raw(&attr).u64s(&event.ids).take();
        self.record(HEADER_ATTR, 0, &body)
    }

    /// EVENT_TYPE, until Linux 3.10: the name of a config.
    pub fn event_type(&mut self, config: u64, name: &str) -> &mut Self {
        let body = self.bytes().u64(config).fixed(name, 64).take();
        self.record(EVENT_TYPE, 0, &body)
    }

    /// HEADER_TRACING_DATA, and after the record its data.
    pub fn header_tracing_data(&mut self, data: &[u8]) -> &mut Self {
        let data = self.bytes().raw(data).pad(8).take();
        let body = self.bytes().u32(data.len() as u32).take();
        self.record(HEADER_TRACING_DATA, 0, &body).outside_of_records(&data)
    }

    /// FINISHED_ROUND: every ring has been read once more.
    pub fn round(&mut self) -> &mut Self {
        self.record(FINISHED_ROUND, 0, &[])
    }

    /// FINISHED_INIT: what was there before has been told.
    pub fn finished_init(&mut self) -> &mut Self {
        self.record(FINISHED_INIT, 0, &[])
    }

    /// ID_INDEX: id, index, CPU and thread of each counter.
    pub fn id_index(&mut self, entries: &[[u64; 4]]) -> &mut Self {
        let mut body = self.bytes();
        body.u64(entries.len() as u64);
        entries.iter().for_each(|entry| _ = body.u64s(entry));
        self.record(ID_INDEX, 0, &body.take())
    }

    /// AUXTRACE_INFO: the kind of trace (1 PT, 3 CoreSight, 4 SPE), and words of that kind's own.
    pub fn auxtrace_info(&mut self, kind: u32, words: &[u64]) -> &mut Self {
        let body = self.bytes().u32(kind).u32(0).u64s(words).take();
        self.record(AUXTRACE_INFO, 0, &body)
    }

    /// AUXTRACE, and after the record its data.
    pub fn auxtrace(&mut self, offset: u64, data: &[u8], tid: u32, cpu: u32) -> &mut Self {
        let mut body = self.bytes();
        body.u64s(&[data.len() as u64, offset, 0]).u32(0).u32(tid).u32(cpu).u32(0);
        self.record(AUXTRACE, 0, &body.take()).outside_of_records(data)
    }

    /// AUXTRACE_ERROR of format 1, with a time.
    pub fn auxtrace_error(
        &mut self,
        (cpu, pid, tid): (u32, u32, u32),
        time: u64,
        message: &str,
    ) -> &mut Self {
        let mut body = self.bytes();
        body.u32(1).u32(5).u32(cpu).u32(pid).u32(tid).u32(1).u64(0).u64(time).fixed(message, 64);
        self.record(AUXTRACE_ERROR, 0, &body.take())
    }

    /// THREAD_MAP: names of threads.
    pub fn thread_map(&mut self, threads: &[(u64, &str)]) -> &mut Self {
        let mut body = self.bytes();
        body.u64(threads.len() as u64);
        threads.iter().for_each(|(tid, name)| _ = body.u64(*tid).fixed(name, 16));
        self.record(THREAD_MAP, 0, &body.take())
    }

    /// CPU_MAP as a list, of a size that is no multiple of eight, as until Linux 4.x.
    pub fn cpu_map_list(&mut self, cpus: &[u16]) -> &mut Self {
        let mut body = self.bytes();
        body.u16(0).u16(cpus.len() as u16);
        cpus.iter().for_each(|&cpu| _ = body.u16(cpu));
        self.record(CPU_MAP, 0, &body.take())
    }

    /// CPU_MAP as a range.
    pub fn cpu_map_range(&mut self, first: u16, last: u16) -> &mut Self {
        let body = self.bytes().u16(2).u8(0).u8(0).u16(first).u16(last).take();
        self.record(CPU_MAP, 0, &body)
    }

    /// STAT_CONFIG, STAT and STAT_ROUND, as `perf stat record` writes them.
    pub fn stat(&mut self, id: u64, value: u64) -> &mut Self {
        let config = self.bytes().u64(1).u64(1).u64(1000).take();
        let stat = self.bytes().u64(id).u32(0).u32(0).u64s(&[value, 10, 10]).take();
        let round = self.bytes().u64(0).u64(5).take();
        self.record(STAT_CONFIG, 0, &config).record(STAT, 0, &stat).record(STAT_ROUND, 0, &round)
    }

    /// EVENT_UPDATE of the unit (0) or name (2) of the event with this id.
    pub fn event_update(&mut self, kind: u64, id: u64, text: &str) -> &mut Self {
        let body = self.bytes().u64(kind).u64(id).text(text).take();
        self.record(EVENT_UPDATE, 0, &body)
    }

    /// EVENT_UPDATE of the scale.
    pub fn event_update_scale(&mut self, id: u64, scale: f64) -> &mut Self {
        let body = self.bytes().u64(1).u64(id).f64(scale).take();
        self.record(EVENT_UPDATE, 0, &body)
    }

    /// TIME_CONV: shift, multiplier, zero, cycles, mask, capabilities.
    pub fn time_conv(&mut self) -> &mut Self {
        let body = self.bytes().u64s(&[31, 1_117_189_000, 17, 0, 0]).u8(1).u8(1).pad(8).take();
        self.record(TIME_CONV, 0, &body)
    }

    /// HEADER_FEATURE; the last one of a pipe has no payload.
    pub fn header_feature(&mut self, feature: u8, payload: &[u8]) -> &mut Self {
        let body = self.bytes().u64(u64::from(feature)).raw(payload).take();
        self.record(HEADER_FEATURE, 0, &body)
    }

    /// BPF_METADATA of one program.
    pub fn bpf_metadata(&mut self, program: &str, pairs: &[(&str, &str)]) -> &mut Self {
        let mut body = self.bytes();
        body.fixed(program, 512).u64(pairs.len() as u64);
        pairs.iter().for_each(|(key, value)| _ = body.fixed(key, 64).fixed(value, 256));
        self.record(BPF_METADATA, 0, &body.take())
    }

    /// SCHEDSTAT_CPU and SCHEDSTAT_DOMAIN of version 17, with counters.
    pub fn schedstat(&mut self, time: u64, counters: &[u64]) -> &mut Self {
        let body = self.bytes().u64(time).u32(0).u16(17).u16(0).u64s(counters).take();
        self.record(SCHEDSTAT_CPU, 0, &body).record(SCHEDSTAT_DOMAIN, 0, &body)
    }
}
