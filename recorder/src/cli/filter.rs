//! Which samples a command counts, and how: options named as in `perf report`, and meaning the same.

use clap::Args;

/// Filters and steps; those given all apply.
#[derive(Debug, Clone, Default, Args)]
pub struct FilterArgs {
    /// Filters.
    #[command(flatten)]
    pub samples: SampleFilterArgs,
    /// Only stacks with this function, starting at it; NAME or DSO:NAME
    #[arg(long, value_name = "NAME")]
    pub focus: Option<String>,
    /// Drop samples with this function on the stack
    #[arg(long, value_name = "NAME")]
    pub drop: Vec<String>,
    /// Merge this function into its caller
    #[arg(long, value_name = "NAME")]
    pub merge: Vec<String>,
    /// Only samples with a match on the stack; same syntax as on the page
    #[arg(long, value_name = "TEXT")]
    pub search: Vec<String>,
}

/// Functions that rows or samples are printed of; none: any.
#[derive(Debug, Clone, Default, Args)]
pub struct SymbolArgs {
    /// Only these functions.
    #[arg(
        short = 'S',
        long,
        alias = "symbol",
        value_name = "NAME,…",
        value_delimiter = ',',
        hide = true
    )]
    pub symbols: Vec<String>,
}

/// Filters, each of which decides about single samples.
#[derive(Debug, Clone, Default, Args)]
pub struct SampleFilterArgs {
    /// Only threads with these names
    #[arg(long, alias = "comms", value_name = "NAME,…", value_delimiter = ',')]
    pub comm: Vec<String>,
    /// Only these processes
    #[arg(long, value_name = "PID,…", value_delimiter = ',')]
    pub pid: Vec<u32>,
    /// Only these threads
    #[arg(long, value_name = "TID,…", value_delimiter = ',')]
    pub tid: Vec<u32>,
    /// Only these CPUs, such as 0-3,6
    #[arg(long, value_name = "CPU,…", value_delimiter = ',', value_parser = cpu_range)]
    pub cpu: Vec<CpuRange>,
    /// Only these times, in seconds as in script, or 10%-20%,50%-60%
    #[arg(long, value_name = "START,STOP …", value_parser = time_spans)]
    pub time: Option<TimeSpans>,
    /// Only samples taken in these DSOs
    #[arg(long, alias = "dsos", value_name = "DSO,…", value_delimiter = ',')]
    pub dso: Vec<String>,
}

impl FilterArgs {
    /// True if none is given.
    pub fn is_empty(&self) -> bool {
        let Self { samples, focus, drop, merge, search } = self;
        samples.is_empty()
            && focus.is_none()
            && [drop, merge, search].iter().all(|names| names.is_empty())
    }
}

impl SampleFilterArgs {
    /// True if none is given.
    pub fn is_empty(&self) -> bool {
        let Self { comm, pid, tid, cpu, time, dso } = self;
        let are_empty = [comm.is_empty(), pid.is_empty(), tid.is_empty(), cpu.is_empty()];
        are_empty == [true; 4] && time.is_none() && dso.is_empty()
    }
}

/// CPUs from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuRange {
    /// The first.
    pub first: u16,
    /// The last, itself included.
    pub last: u16,
}

fn cpu_range(text: &str) -> Result<CpuRange, &'static str> {
    let number =
        |text: &str| text.trim().parse().map_err(|_| "not a CPU number or a range such as 0-3");
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = CpuRange { first: number(first)?, last: number(last)? };
    if range.first <= range.last { Ok(range) } else { Err("the range ends before it begins") }
}

/// Parts of a recording's time, at least one.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeSpans(pub Vec<TimeSpan>);

/// A part of a recording's time; both ends are in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TimeSpan {
    /// Nanoseconds of the recorder's clock; `None` is the recording's own end.
    Clock {
        /// When it begins.
        start: Option<u64>,
        /// When it ends.
        stop: Option<u64>,
    },
    /// Parts of the recording, 0 to 1.
    Part {
        /// Where it begins.
        start: f64,
        /// Where it ends.
        stop: f64,
    },
}

/// Spans between spaces, or parts between commas, as in perf. Parts may be in any order and overlap there, spans may not.
fn time_spans(text: &str) -> Result<TimeSpans, &'static str> {
    let is_of_parts = text.contains('%');
    let spans: Vec<TimeSpan> = match text.matches(',').count() {
        _ if is_of_parts => {
            text.split(',').map(|text| part(text.trim())).collect::<Result<_, _>>()?
        }
        // A space may stand behind its comma.
        0 | 1 => vec![time_span(text)?],
        _ => text.split_whitespace().map(time_span).collect::<Result<_, _>>()?,
    };
    match &spans[..] {
        [_] => Ok(TimeSpans(spans)),
        // Somebody may mean 10%-20%.
        _ if is_of_parts && text.split(',').any(|part| !part.contains(['-', '/'])) => {
            Err(NOT_A_PART)
        }
        several if several.is_sorted_by(|before, next| before.is_before(next)) => {
            Ok(TimeSpans(spans))
        }
        _ => Err("of several spans each has to begin after the one before has ended"),
    }
}

impl TimeSpan {
    fn is_before(&self, next: &Self) -> bool {
        match (self, next) {
            (Self::Clock { stop: Some(stop), .. }, Self::Clock { start: Some(start), .. }) => {
                stop < start
            }
            (Self::Clock { .. }, Self::Clock { .. }) => false,
            _ => true,
        }
    }
}

/// `12.5,13.25`, `12.5,`, `,13.25`.
fn time_span(text: &str) -> Result<TimeSpan, &'static str> {
    let (start, stop) = text.split_once(',').unwrap_or((text, ""));
    let (start, stop) = (seconds(start)?, seconds(stop)?);
    match start.zip(stop) {
        Some((start, stop)) if stop < start => Err("it ends before it begins"),
        _ if start.is_none() && stop.is_none() => Err("no time is given"),
        _ => Ok(TimeSpan::Clock { start, stop }),
    }
}

/// `10%-20%`, `10%` (the first tenth), `10%/2` (the second).
fn part(text: &str) -> Result<TimeSpan, &'static str> {
    let (start, stop) = if let Some((share, number)) = text.split_once('/') {
        let number: u32 = number.trim().parse().map_err(|_| NOT_A_PART)?;
        let number = number.checked_sub(1).ok_or(NOT_A_PART)?;
        let share = percent(share)?;
        (share * f64::from(number), share * f64::from(number + 1))
    } else if let Some((start, stop)) = text.split_once('-') {
        (percent(start)?, percent(stop)?)
    } else {
        (0.0, percent(text)?)
    };
    // Ten times 10 % is a little more than everything.
    let is_within = start >= 0.0 && stop <= 1.0 + 1e-9 && start < stop;
    if is_within { Ok(TimeSpan::Part { start, stop: stop.min(1.0) }) } else { Err(NOT_A_PART) }
}

const NOT_A_PART: &str = "not a part of the time such as 10%, 10%/2 (the second tenth) or 10%-20%";

fn percent(text: &str) -> Result<f64, &'static str> {
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    number.filter(|number| number.is_finite()).map(|number| number / 100.0).ok_or(NOT_A_PART)
}

/// Seconds as perf prints them: digits after the point may be fewer than nine. `None` for nothing.
fn seconds(text: &str) -> Result<Option<u64>, &'static str> {
    const NOT_SECONDS: &str =
        "not START,STOP in seconds with up to nine decimals, or a part such as 10%-20%";
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 9 || !is_number(whole) || !is_number(decimals) {
        return Err(NOT_SECONDS);
    }
    let whole: u64 = whole.parse().map_err(|_| NOT_SECONDS)?;
    let decimals: u64 = format!("{decimals:0<9}").parse().map_err(|_| NOT_SECONDS)?;
    let nanos = whole.checked_mul(1_000_000_000).and_then(|nanos| nanos.checked_add(decimals));
    nanos.map(Some).ok_or(NOT_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_parts() {
        let clock = |start, stop| one(TimeSpan::Clock { start, stop });
        assert_eq!(time_spans("12.5,13.25"), clock(Some(12_500_000_000), Some(13_250_000_000)));
        assert_eq!(time_spans(" 12, 13 "), clock(Some(12_000_000_000), Some(13_000_000_000)));
        assert_eq!(time_spans("12,"), clock(Some(12_000_000_000), None));
        assert_eq!(time_spans("12"), clock(Some(12_000_000_000), None));
        assert_eq!(time_spans(",0.000000001"), clock(None, Some(1)));
        for text in
            ["", ",", "a,b", "2,1", "1.0000000001,2", "-1,2", ".5,1", "99999999999999,", "1,2,3"]
        {
            assert!(time_spans(text).is_err(), "{text}");
        }
        let part = |start, stop| one(TimeSpan::Part { start, stop });
        assert_eq!(time_spans("10%-20%"), part(0.1, 0.2));
        assert_eq!(time_spans("25%"), part(0.0, 0.25));
        assert_eq!(time_spans("25%/4"), part(0.75, 1.0));
        assert!(time_spans("10%/10").is_ok());
        for text in
            ["%", "20%-10%", "10%/0", "10%/11", "101%", "10%,20%", "-5%-10%", "nan%", "5%-5%"]
        {
            assert!(time_spans(text).is_err(), "{text}");
        }
    }

    fn one(span: TimeSpan) -> Result<TimeSpans, &'static str> {
        Ok(TimeSpans(vec![span]))
    }

    /// perf refuses the same, but for the last, of which it takes the first part alone.
    #[test]
    fn several_spans_follow_each_other() {
        let clock = |start: Option<u64>, stop: Option<u64>| {
            let nanos = |seconds: u64| seconds * 1_000_000_000;
            TimeSpan::Clock { start: start.map(nanos), stop: stop.map(nanos) }
        };
        let several = [clock(None, Some(1)), clock(Some(2), Some(3)), clock(Some(4), None)];
        assert_eq!(time_spans(" ,1 2,3  4, "), Ok(TimeSpans(several.into())));
        for text in ["3,4 1,2", "1,3 2,4", "1,2 2,3", "1, 3,4", "1,2 ,4", "1,2 3", "1,2 10%-20%"] {
            assert!(time_spans(text).is_err(), "{text}");
        }
        let part = |start, stop| TimeSpan::Part { start, stop };
        let parts = [part(0.25, 0.5), part(0.0, 0.25)];
        assert_eq!(time_spans("25%/2, 0%-25%"), Ok(TimeSpans(parts.into())));
        for text in ["10%/2,", "10%/2 10%/3", "0%-10% 30%-40%"] {
            assert!(time_spans(text).is_err(), "{text}");
        }
    }

    #[test]
    fn cpus_are_numbers_and_ranges() {
        assert_eq!(cpu_range("7"), Ok(CpuRange { first: 7, last: 7 }));
        assert_eq!(cpu_range("0-3"), Ok(CpuRange { first: 0, last: 3 }));
        for text in ["", "a", "3-1", "1-", "-1", "70000"] {
            assert!(cpu_range(text).is_err(), "{text}");
        }
    }
}
