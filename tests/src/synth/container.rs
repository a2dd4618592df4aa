//! A recording and the forms it is written in: file, pipe, directory; `struct perf_file_header` and
//! `struct perf_pipe_file_header` in tools/perf/util/header.h.

use std::collections::BTreeMap;

use perf_event_open_sys::bindings as kernel;

use super::{Bytes, Event, Order, Sample};

/// A recording that is being made.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The recorder's byte order.
    pub order: Order,
    /// What is recorded.
    pub events: Vec<Event>,
    /// Records so far.
    pub data: Vec<u8>,
    /// Payloads by feature.
    pub features: BTreeMap<u8, Vec<u8>>,
}

/// Magic of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `PERFFILE`, the same bytes in both orders.
    One,
    /// `PERFILE2` as a number in the recorder's order.
    Two,
}

/// Where the attrs lie in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrsAt {
    /// Before the records, as `perf record` has them.
    Front,
    /// After the records, as `perf inject` from a pipe has them.
    Back,
}

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub struct FileForm {
    /// Magic.
    pub version: Version,
    /// 104, or 72: without feature bits.
    pub header_size: u64,
    /// Where the attrs lie.
    pub attrs: AttrsAt,
    /// Bytes of an attr in the header's list, at least its size; `None`: its size.
    pub attr_room: Option<usize>,
    /// Bytes of the recorder's `long`, 8 or 4, of which the feature bits are made.
    pub long: usize,
    /// `None`: as many bytes as there are; a recorder that died leaves `Some(0)`.
    pub data_size: Option<u64>,
}

impl Default for FileForm {
    fn default() -> Self {
        Self {
            version: Version::Two,
            header_size: 104,
            attrs: AttrsAt::Front,
            attr_room: None,
            long: 8,
            data_size: None,
        }
    }
}

impl Recording {
    /// Without records.
    pub fn new(order: Order, events: Vec<Event>) -> Self {
        Self { order, events, data: Vec::new(), features: BTreeMap::new() }
    }

    /// Bytes in the recorder's order.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.order)
    }

    /// A record of any type.
    pub fn record(&mut self, kind: u32, misc: u16, body: &[u8]) -> &mut Self {
        let size = u16::try_from(body.len() + 8).expect("a record is less than 64 KiB");
        let header = self.bytes().u32(kind).u16(misc).u16(size).take();
        self.data.extend(header);
        self.data.extend(body);
        self
    }

    /// Bytes between records: those that the record before them announced, or damage.
    pub fn outside_of_records(&mut self, bytes: &[u8]) -> &mut Self {
        self.data.extend(bytes);
        self
    }

    /// SAMPLE of an event.
    pub fn sample(&mut self, event: usize, sample: &Sample) -> &mut Self {
        let body = sample.encode(&self.events[event].attr, self.order);
        self.record(kernel::PERF_RECORD_SAMPLE, sample.misc, &body)
    }

    /// A feature's payload.
    pub fn feature(&mut self, feature: u8, payload: Vec<u8>) -> &mut Self {
        self.features.insert(feature, payload);
        self
    }

    /// A file as `perf record` writes it today.
    pub fn file(&self) -> Vec<u8> {
        self.file_as(FileForm::default())
    }

    /// A file.
    pub fn file_as(&self, form: FileForm) -> Vec<u8> {
        let room = self.attr_room(form);
        let attrs_size = self.events.len() as u64 * (room as u64 + 16);
        let ids_size: u64 = self.events.iter().map(|event| 8 * event.ids.len() as u64).sum();
        let data_size = self.data.len() as u64;
        let (ids_at, attrs_at, data_at) = match form.attrs {
            AttrsAt::Front => {
                let ids = form.header_size;
                (ids, ids + ids_size, ids + ids_size + attrs_size)
            }
            AttrsAt::Back => {
                // The table of features follows the records at once, so the attrs follow it.
                let data = form.header_size;
                let ids = data + data_size + self.features_size(form);
                (ids, ids + ids_size, data)
            }
        };
        let mut file = self.bytes();
        file.raw(&self.magic(form.version)).u64(form.header_size).u64(room as u64 + 16);
        file.u64(attrs_at).u64(attrs_size).u64(data_at).u64(form.data_size.unwrap_or(data_size));
        file.u64(0).u64(0);
        if form.header_size >= 104 {
            file.raw(&self.feature_bits(form));
        }
        if form.attrs == AttrsAt::Front {
            self.write_attrs(&mut file, ids_at, room);
        }
        file.raw(&self.data);
        if form.data_size != Some(0) {
            self.write_features(&mut file, form);
        }
        if form.attrs == AttrsAt::Back {
            self.write_attrs(&mut file, ids_at, room);
        }
        file.take()
    }

    fn attr_room(&self, form: FileForm) -> usize {
        let largest = self.events.iter().map(|event| event.attr.size as usize).max();
        form.attr_room.unwrap_or(largest.unwrap_or(0))
    }

    fn magic(&self, version: Version) -> Vec<u8> {
        match version {
            Version::One => b"PERFFILE".to_vec(),
            Version::Two => self.bytes().u64(u64::from_le_bytes(*b"PERFILE2")).take(),
        }
    }

    /// Ids of all events, then the attrs with where their ids are.
    fn write_attrs(&self, file: &mut Bytes, ids_at: u64, room: usize) {
        self.events.iter().for_each(|event| _ = file.u64s(&event.ids));
        let mut ids_at = ids_at;
        for event in &self.events {
            let attr = event.attr.encode(self.order);
            let ids_size = 8 * event.ids.len() as u64;
            file.raw(&attr).zeros(room - attr.len()).u64(ids_at).u64(ids_size);
            ids_at += ids_size;
        }
    }

    /// 256 bits, in words of the recorder's `long`.
    fn feature_bits(&self, form: FileForm) -> Vec<u8> {
        let width = 8 * form.long as u32;
        let mut bits = self.bytes();
        for word in 0..256 / width {
            let of_word = self.features.keys().map(|&feature| u32::from(feature));
            let of_word = of_word.filter(|feature| feature / width == word);
            let number = of_word.fold(0u64, |number, feature| number | 1 << (feature % width));
            match form.long {
                4 => bits.u32(number as u32),
                _ => bits.u64(number),
            };
        }
        bits.take()
    }

    fn features_size(&self, form: FileForm) -> u64 {
        if form.header_size < 104 {
            return 0;
        }
        self.features.values().map(|payload| 16 + payload.len() as u64).sum()
    }

    fn write_features(&self, file: &mut Bytes, form: FileForm) {
        if form.header_size < 104 {
            return;
        }
        let mut at = file.len() as u64 + 16 * self.features.len() as u64;
        for payload in self.features.values() {
            file.u64(at).u64(payload.len() as u64);
            at += payload.len() as u64;
        }
        self.features.values().for_each(|payload| _ = file.raw(payload));
    }

    /// A stream that needs no seeking: what the header of a file holds comes in records.
    pub fn pipe(&self) -> Vec<u8> {
        let mut stream = Self { data: Vec::new(), features: BTreeMap::new(), ..self.clone() };
        for event in 0..self.events.len() {
            stream.header_attr(event);
        }
        // TRACING_DATA and BUILD_ID have records of their own.
        let features = self.features.iter().filter(|(feature, _)| !matches!(feature, 1 | 2));
        for (&feature, payload) in features {
            stream.header_feature(feature, payload);
        }
        if !self.features.is_empty() {
            stream.header_feature(LAST_FEATURE, &[]);
        }
        if let Some(tracing) = self.features.get(&1) {
            stream.header_tracing_data(tracing);
        }
        let header = self.bytes().raw(&self.magic(Version::Two)).u64(16).take();
        [header, stream.data, self.data.clone()].concat()
    }

    /// A folder's files by name: `data` with what this recording holds, and a stream of records for
    /// each other recording.
    pub fn directory(&self, streams: &[Self]) -> Vec<(String, Vec<u8>)> {
        let mut data = self.clone();
        data.dir_format();
        let mut files = vec![("data".to_owned(), data.file())];
        for (number, stream) in streams.iter().enumerate() {
            files.push((format!("data.{number}"), stream.data.clone()));
        }
        files
    }
}

/// `HEADER_LAST_FEATURE` of perf 6.1; newer ones have more, none has so few that it is in use.
const LAST_FEATURE: u8 = 32;
