//! Moments of a recording that are worth a mark on its axis of time.
//!
//! Their number is bounded, whatever the file: when there are too many, those of one kind that lie
//! close together become one, which counts them.

use super::StringId;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarkKind {
    /// The recorder lost records.
    Lost,
    /// A process began to run another program.
    Exec,
    /// A process began.
    Fork,
}

/// Something that happened at a time, or several of its kind close together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When, in nanoseconds of the recorder's clock; the first of several.
    pub time_nanos: u64,
    /// What.
    pub kind: MarkKind,
    /// How many: of lost records those that were lost, of others how often it happened.
    pub count: u64,
    /// The process, for what happens to one; the first of several.
    pub process: Option<StringId>,
}

/// Marks in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    marks: Vec<Mark>,
    /// Marks of one kind in one of these spans have become one; 0: none have.
    span_nanos: u64,
}

impl Marks {
    /// More than this are not kept apart.
    pub const MOST: usize = 8192;
    /// The first span; a microsecond is less than any pixel.
    const FIRST_SPAN: u64 = 1000;

    /// Adds a mark. Those that come late stand in their place all the same.
    pub fn push(&mut self, mark: Mark) {
        let at = match self.marks.last() {
            Some(last) if last.time_nanos > mark.time_nanos => {
                self.marks.partition_point(|known| known.time_nanos <= mark.time_nanos)
            }
            _ => self.marks.len(),
        };
        self.marks.insert(at, mark);
        if self.marks.len() > Self::MOST {
            self.merge();
        }
    }

    /// Merges until half the room is free, so that it is not done again at once.
    fn merge(&mut self) {
        while self.marks.len() > Self::MOST / 2 {
            self.span_nanos = match self.span_nanos {
                0 => Self::FIRST_SPAN,
                u64::MAX => return,
                span => span.saturating_mul(2),
            };
            let span = self.span_nanos;
            // By kind: where the last one stands, since others may lie between two of a span.
            let mut last: [Option<usize>; 3] = [None; 3];
            let mut kept: Vec<Mark> = Vec::with_capacity(Self::MOST);
            for mark in self.marks.drain(..) {
                let last = &mut last[mark.kind as usize];
                match last.map(|at| &mut kept[at]) {
                    Some(known) if known.time_nanos / span == mark.time_nanos / span => {
                        known.count = known.count.saturating_add(mark.count);
                    }
                    _ => {
                        *last = Some(kept.len());
                        kept.push(mark);
                    }
                }
            }
            self.marks = kept;
        }
    }

    /// Those from a time on and before another.
    pub fn between(&self, start_nanos: u64, end_nanos: u64) -> &[Mark] {
        let from = self.marks.partition_point(|mark| mark.time_nanos < start_nanos);
        let to = self.marks.partition_point(|mark| mark.time_nanos < end_nanos);
        &self.marks[from..to.max(from)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(time_nanos: u64, kind: MarkKind, count: u64) -> Mark {
        Mark { time_nanos, kind, count, process: None }
    }

    #[test]
    fn marks_come_back_by_time() {
        let mut marks = Marks::default();
        for time in [10, 30, 20, 40] {
            marks.push(mark(time, MarkKind::Fork, 1));
        }
        let times = |start, end| -> Vec<u64> {
            marks.between(start, end).iter().map(|mark| mark.time_nanos).collect()
        };
        assert_eq!(times(0, u64::MAX), [10, 20, 30, 40]);
        assert_eq!(times(20, 40), [20, 30]);
        assert!(times(40, 20).is_empty());
    }

    /// However many there are, few are kept, and none is forgotten.
    #[test]
    fn too_many_marks_become_fewer_that_count_them() {
        let mut marks = Marks::default();
        let all = 5 * Marks::MOST as u64;
        for number in 0..all {
            let kind = if number % 3 == 0 { MarkKind::Exec } else { MarkKind::Lost };
            marks.push(mark(number * 700, kind, 2));
        }
        let kept = marks.between(0, u64::MAX);
        assert!(kept.len() <= Marks::MOST && kept.len() >= Marks::MOST / 16, "{}", kept.len());
        assert!(kept.is_sorted_by_key(|mark| mark.time_nanos));
        let count = |kind| kept.iter().filter(|it| it.kind == kind).map(|it| it.count).sum::<u64>();
        let execs = all.div_ceil(3);
        assert_eq!((count(MarkKind::Exec), count(MarkKind::Lost)), (2 * execs, 2 * (all - execs)));
    }

    #[test]
    fn marks_at_one_time_are_bounded_too() {
        let mut marks = Marks::default();
        for _ in 0..3 * Marks::MOST {
            marks.push(mark(u64::MAX - 1, MarkKind::Lost, u64::MAX));
        }
        assert!(marks.between(0, u64::MAX).len() <= Marks::MOST);
    }
}
