//! How far the streams of a recording have come in time: which one is read next, and up to which
//! time no record can come any more.
//!
//! One stream is ordered by rounds: the recorder reads one ring buffer after the other, each of
//! which is in order, and then writes FINISHED_ROUND. Nothing that comes later is older than the
//! newest record of the round *before* (`perf_evlist__mmap_read_all` in
//! `tools/perf/builtin-record.c`).
//!
//! A recording in a folder has a stream for each thread of the recorder, without rounds. Mostly a
//! thread reads one ring buffer, so that its stream is in order; where it reads several, these are
//! no further apart than they are large. So some MB of a stream count as a round.

/// Bytes of a stream of several that count as a round.
const ROUND_BYTES: usize = 4 << 20;

/// The streams of a recording.
pub(super) struct Merge {
    streams: Vec<Progress>,
}

#[derive(Clone, Copy, Default)]
struct Progress {
    /// Newest time met.
    newest: u64,
    /// Newest time when the last round ended.
    before: u64,
    /// No record that is older than this comes any more; `u64::MAX` if none comes.
    settled: u64,
    /// Bytes since the last round ended.
    bytes: usize,
}

impl Merge {
    pub(super) fn new(streams: usize) -> Self {
        Self { streams: vec![Progress::default(); streams] }
    }

    /// The stream that is to be read next, of those that are `wanted`: the one that has come
    /// least far.
    pub(super) fn next(&self, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let wanted = (0..self.streams.len()).filter(|&stream| wanted(stream));
        wanted.min_by_key(|&stream| self.streams[stream].newest)
    }

    /// A record with a time came. The answer is the time that all streams have come to, if that
    /// is to be asked for.
    #[inline]
    pub(super) fn record(&mut self, stream: usize, time: u64, size: usize) -> Option<u64> {
        let several = self.streams.len() > 1;
        let progress = &mut self.streams[stream];
        progress.newest = progress.newest.max(time);
        if !several {
            return None;
        }
        progress.bytes += size;
        if progress.bytes < ROUND_BYTES { None } else { Some(self.finish_round(stream)) }
    }

    /// A round ended in a stream; the answer is the time that all streams have come to.
    pub(super) fn finish_round(&mut self, stream: usize) -> u64 {
        let progress = &mut self.streams[stream];
        progress.settled = progress.settled.max(progress.before);
        progress.before = progress.newest;
        progress.bytes = 0;
        self.settled()
    }

    /// A stream ended; the answer is the time that the others have come to.
    pub(super) fn finish(&mut self, stream: usize) -> u64 {
        self.streams[stream].settled = u64::MAX;
        self.settled()
    }

    fn settled(&self) -> u64 {
        self.streams.iter().map(|progress| progress.settled).min().unwrap_or(u64::MAX)
    }
}
