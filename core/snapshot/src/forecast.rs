//! What single samples are expected to be, from those before them. Writer and reader expect the same, so
//! only what is otherwise is written.

/// A sample as it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub event: u16,
    pub cpu: u16,
    /// Number of the thread.
    pub thread: u32,
    /// When, in nanoseconds since the first of the recording, modulo 2^64.
    pub time: Option<u64>,
    /// Number of the call node.
    pub node: u32,
    pub weight: u64,
}

/// Call nodes of a thread that are told apart by when they were met.
const RECENT: usize = 64;

/// What is known of the rows so far.
pub(super) struct Forecast {
    /// By event: how far samples of a thread usually are from each other.
    distances: Vec<u64>,
    /// By event: the last weight.
    weights: Vec<u64>,
    /// By thread: its last row.
    threads: Vec<Row>,
    /// By thread: the call nodes that it was in last, each once, the last one first.
    recent: Vec<Vec<u32>>,
    /// By CPU: which CPU was sampled after it, and the thread that it ran.
    cpus: Vec<(u16, u32)>,
    last: Row,
}

impl Forecast {
    pub fn new(distances: Vec<u64>, threads: usize) -> Self {
        let unseen = Row { time: None, ..Row::default() };
        Self {
            weights: vec![0; distances.len()],
            distances,
            threads: vec![unseen; threads],
            recent: vec![Vec::new(); threads],
            cpus: vec![(u16::MAX, 0); 1 + usize::from(u16::MAX)],
            last: Row { cpu: u16::MAX, time: Some(0), ..Row::default() },
        }
    }

    /// CPUs that are busy are sampled in turn.
    pub fn cpu(&self) -> u16 {
        self.cpus[usize::from(self.last.cpu)].0
    }

    /// A CPU runs the same thread as before.
    pub fn thread(&self, cpu: u16) -> u32 {
        self.cpus[usize::from(cpu)].1
    }

    /// The time of the row before.
    pub fn same_time(&self) -> u64 {
        self.last.time.unwrap_or_default()
    }

    /// A thread goes on running for as long as it usually does between two samples.
    pub fn time(&self, event: u16, thread: u32) -> u64 {
        let distance = self.distances.get(usize::from(event)).copied().unwrap_or_default();
        let last = self.threads.get(thread as usize).and_then(|row| row.time);
        last.map_or(self.same_time(), |last| last.wrapping_add(distance))
    }

    /// Where a call node stands among those that a thread was in last. Programs go round in circles: a place
    /// among the last 64 instead of a distance makes call nodes a seventh shorter.
    pub fn place(&self, thread: u32, node: u32) -> Option<usize> {
        self.recent.get(thread as usize)?.iter().position(|&known| known == node)
    }

    /// The call node at such a place.
    pub fn recent(&self, thread: u32, place: usize) -> Option<u32> {
        self.recent.get(thread as usize)?.get(place).copied()
    }

    /// A call node that is new to a thread is near the one that it was in.
    pub fn node(&self, thread: u32) -> u32 {
        self.threads.get(thread as usize).map_or(0, |row| row.node)
    }

    pub fn weight(&self, event: u16) -> u64 {
        self.weights.get(usize::from(event)).copied().unwrap_or_default()
    }

    /// This is what came.
    pub fn note(&mut self, row: Row) {
        self.cpus[usize::from(self.last.cpu)].0 = row.cpu;
        self.cpus[usize::from(row.cpu)].1 = row.thread;
        if let Some(weight) = self.weights.get_mut(usize::from(row.event)) {
            *weight = row.weight;
        }
        let time = row.time.or(self.last.time);
        if let Some(thread) = self.threads.get_mut(row.thread as usize) {
            *thread = row;
        }
        let place = self.place(row.thread, row.node);
        if let Some(recent) = self.recent.get_mut(row.thread as usize) {
            match place {
                Some(place) => recent[..=place].rotate_right(1),
                None => {
                    recent.truncate(RECENT - 1);
                    recent.insert(0, row.node);
                }
            }
        }
        self.last = Row { time, ..row };
    }
}
