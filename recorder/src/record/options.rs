//! The options of `perftab record` and what they ask for. Names and meanings as in `perf record`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use rustix::thread::CapabilitySet;

use super::chain_mode;
use super::chain_parts::ChainParts;
use super::control::ControlPlaces;
use super::embed::{self, EmbedKind};
use super::event_options::EventOptions;
use super::events::{EventNames, EventSpec, Privilege};
use super::host;
use super::output_options::{OutputArgs, OutputPlan};
use super::packer::PackingLevel;
use super::probed_files::ProbedFiles;
use super::ring_size::{RING_MAX, RingOrigin, RingSize};
use super::sampled_data::{DataArgs, SampledData};
use super::target::{Target, TargetArgs};
use super::tasks::{DescribedMappings, NamespaceRecords};
use super::trigger::Trigger;
use crate::perfconfig::{PerfConfig, RecordBuildIds};

/// Samples per second unless `-F` or `-c` says otherwise. perf's default is 4000; a quarter of it
/// costs a quarter, and an odd number does not keep step with timers of 1000 Hz.
const DEFAULT_FREQUENCY: u64 = 999;

/// Which samples are taken, and how.
#[derive(Clone, Debug, Default, Args)]
pub struct SamplingArgs {
    /// What is counted
    #[command(flatten)]
    pub events: EventOptions,
    /// Samples per second and CPU, or max [default: 999]
    #[arg(short = 'F', long = "freq", value_name = "HZ", conflicts_with = "count")]
    pub frequency: Option<String>,
    /// Fail if the kernel does not allow as many.
    #[arg(long, hide = true)]
    pub strict_freq: bool,
    /// Leave out threads and processes that begin meanwhile.
    #[arg(short = 'i', long, hide = true)]
    pub no_inherit: bool,
    /// One sample every COUNT events
    #[arg(short, long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Record call chains; the same as --call-graph fp
    #[arg(short = 'g')]
    pub chains: bool,
    /// Walk stacks by fp[,N|,defer], dwarf[,SIZE], dwarf-dump[,SIZE], lbr
    #[arg(long, value_name = "MODE")]
    pub call_graph: Option<String>,
    /// Addresses of a call chain, as in perf report and perf script; of perf record it is `--call-graph fp,N`.
    #[arg(long, hide = true, value_name = "N")]
    pub max_stack: Option<String>,
    /// Only the user part of call chains.
    #[arg(long, hide = true, conflicts_with = "kernel_callchains")]
    pub user_callchains: bool,
    /// Only the kernel's part of call chains.
    #[arg(long, hide = true)]
    pub kernel_callchains: bool,
    /// Ring buffer per CPU, in pages or as 2M [default: 512K or more]
    #[arg(short, long, value_name = "SIZE")]
    pub mmap_pages: Option<String>,
    /// All events in user space only, as with :u.
    #[arg(long, hide = true, conflicts_with = "all_kernel")]
    pub all_user: bool,
    /// All events in the kernel only, as with :k.
    #[arg(long, hide = true)]
    pub all_kernel: bool,
}

/// `perftab record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Which samples are taken.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// What samples say of data and branches.
    #[command(flatten)]
    pub data: DataArgs,
    /// Also the namespaces of threads.
    #[arg(long, hide = true)]
    pub namespaces: bool,
    /// Also record where threads wait, and how long
    #[arg(long)]
    pub off_cpu: bool,
    /// What is recorded.
    #[command(flatten)]
    pub target: TargetArgs,
    /// What is written.
    #[command(flatten)]
    pub to: OutputArgs,
    /// At the end, print a link, or write a page where that would be long
    #[arg(long, conflicts_with_all = ["switch_output", "overwrite"])]
    pub share: bool,
    /// Samples only after so many milliseconds; -1: by --control
    #[arg(short = 'D', long, value_name = "MS", allow_negative_numbers = true,
        value_parser = clap::value_parser!(i64).range(-1..))]
    pub delay: Option<i64>,
    /// Obey fifo:CTL[,ACK]: enable, disable [EVENT], evlist, stop…
    #[arg(long, value_name = "WHERE")]
    pub control: Option<ControlPlaces>,
    /// Stop after this time: 10, 10s, 500ms, 2m
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub duration: Option<Duration>,
    /// Omit the build-id table; since Linux 5.12 mappings have build-ids
    #[arg(short = 'B', long, hide = true)]
    pub no_buildid: bool,
    /// Like -B, and fail if mappings cannot have build-ids
    #[arg(long, hide = true)]
    pub buildid_mmap: bool,
    /// The clock of samples: perftab always takes the one that jitdumps have.
    #[arg(short = 'k', long, hide = true, value_parser = ["mono", "monotonic", "CLOCK_MONOTONIC"])]
    pub clockid: Option<String>,
    /// As perf: nothing is copied to ~/.debug; perftab copies nothing anyway
    #[arg(short = 'N', long, hide = true)]
    pub no_buildid_cache: bool,
    /// As perf: ids of what no sample hit too; perftab lists them anyway
    #[arg(long, hide = true)]
    pub buildid_all: bool,
    /// Embed kernel, jit, unwind, symbols, or none
    #[arg(
        long,
        value_name = "KINDS",
        value_delimiter = ',',
        default_value = "kernel,jit",
        hide_possible_values = true
    )]
    pub embed: Vec<EmbedKind>,
    /// Print only errors and warnings
    #[arg(short, long)]
    pub quiet: bool,
    /// Internal: stop, then become the command once this recorder continues it.
    #[arg(long, hide = true, value_name = "PID")]
    pub exec_when_continued: Option<i32>,
    /// Internal: wait until standard input ends, then remove what it told from this list.
    #[arg(long, hide = true, value_name = "FILE")]
    pub remove_probes: Option<PathBuf>,
    /// Internal: look at this file and end.
    #[arg(long, hide = true, value_name = "FILE")]
    pub look_at: Option<PathBuf>,
    /// The command to record; with -a, -C, -p or -t: record those until it ends
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// When a sample is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// So many a second, the kernel adjusting the period.
    Frequency(u64),
    /// Whenever the counter has advanced by so much.
    Period(u64),
}

/// Whether samples carry the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallChains {
    /// Only the address.
    None,
    /// Walked by the kernel along frame pointers, up to so many addresses, or as many as the machine is set to.
    FramePointers(Option<u16>),
    /// The same, the user part only when the thread returns to user space, once for all samples that wait for it.
    FramePointersDeferred,
    /// The kernel's part as before; of user space the registers, and a copy of the stack from its top on. Who reads
    /// the recording walks it.
    Copied(StackCopy),
    /// The same, and the recorder walks it: only of stacks whose root it does not reach, the copy is kept.
    Unwound {
        /// What is copied.
        copy: StackCopy,
        /// What is kept of a copy of which nobody can walk more: where the stack goes through code that a process made.
        of_made_code: StackCopy,
    },
    /// As by frame pointers, and with samples of the CPU's events the calls that it keeps itself (LBR).
    KeptByCpu,
}

impl CallChains {
    /// Which mappings whoever walks the stacks has to know.
    pub fn described_mappings(self) -> DescribedMappings {
        match self.copy() {
            None => DescribedMappings::Executable,
            Some(_) => DescribedMappings::OfFiles,
        }
    }

    /// How much of a stack is copied, if any.
    pub fn copy(self) -> Option<StackCopy> {
        match self {
            Self::None | Self::FramePointers(_) | Self::FramePointersDeferred | Self::KeptByCpu => {
                None
            }
            Self::Copied(copy) | Self::Unwound { copy, .. } => Some(copy),
        }
    }

    /// Addresses of a chain, of events that say nothing of it themselves.
    pub fn most(self) -> Option<u16> {
        match self {
            Self::FramePointers(most) => most,
            _ => None,
        }
    }
}

/// How many bytes of a stack are copied at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackCopy(pub u32);

impl StackCopy {
    /// perf's.
    pub const DEFAULT: Self = Self(8192);
    /// A record has at most 64 KiB; the kernel takes what is left of that.
    pub const MOST: u32 = 65_528;

    /// Of stacks that are walked at once, so copies do not stay. The rings of others than root hold few that are larger.
    pub fn to_walk() -> Self {
        match rustix::process::geteuid().is_root() {
            true => Self(Self::MOST),
            false => Self::DEFAULT,
        }
    }

    /// Rounded up to words, as the kernel wants it and perf does it.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let bytes: Option<u32> = text.parse().ok();
        let rounded = bytes.and_then(|bytes| bytes.checked_next_multiple_of(8));
        match rounded.filter(|bytes| (1..=Self::MOST).contains(bytes)) {
            Some(bytes) => Ok(Self(bytes)),
            None => {
                bail!("--call-graph {name},{text}: give a number of bytes up to {}", Self::MOST)
            }
        }
    }
}

/// When samples are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// From the command's first instruction, or as soon as counters are open.
    AtOnce,
    /// So much later.
    After(Duration),
    /// When `--control` says so.
    OnRequest,
}

/// Which samples are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptSamples {
    /// They are written as they come.
    All,
    /// As many as rings hold: the kernel writes over what is oldest.
    Latest,
}

/// Whether what a thread or process begins is recorded with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// It is.
    Recorded,
    /// It is not.
    LeftOut,
}

/// Whether time off the CPU can be worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffCpu {
    /// Only what runs is recorded.
    LeftOut,
    /// Each context switch is, too.
    Recorded,
}

/// Where build-ids are written besides the mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildIdTable {
    /// In the table that every version of perf reads; files without an id are looked at.
    Written,
    /// Nowhere: nothing is looked at when the recording ends.
    LeftOut,
    /// Nowhere, and the mappings must have them.
    MappingsOnly,
}

/// The options, checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is recorded.
    pub target: Target,
    /// The command, if one is to run.
    pub command: Vec<OsString>,
    /// Empty: find one by trying.
    pub events: Vec<EventSpec>,
    /// Whose execution is counted by events that say nothing of it themselves.
    pub privilege: Privilege,
    /// When a sample is taken.
    pub rate: Rate,
    /// Whether samples carry the stack.
    pub chains: CallChains,
    /// Which part of it.
    pub chain_parts: ChainParts,
    /// What else of the hardware they carry.
    pub data: SampledData,
    /// What threads and processes begin.
    pub children: Children,
    /// Whether context switches are recorded.
    pub off_cpu: OffCpu,
    /// Whether namespaces are.
    pub namespaces: NamespaceRecords,
    /// Ring of each CPU.
    pub ring: RingSize,
    /// What travels in the recording.
    pub embed: Vec<EmbedKind>,
    /// Where build-ids are written.
    pub build_ids: BuildIdTable,
    /// Where the recording goes.
    pub output: OutputPlan,
    /// When the first sample is taken.
    pub start: Start,
    /// Where others say what they want.
    pub control: Option<ControlPlaces>,
    /// Which samples are kept until the end.
    pub samples: KeptSamples,
    /// When a flight recorder writes.
    pub triggers: Vec<Trigger>,
    /// How records are packed, if they are.
    pub packing: Option<PackingLevel>,
    /// Limit of the recording's length.
    pub duration: Option<Duration>,
    /// Limit of its size.
    pub max_size: Option<u64>,
    /// Every CPU that is online.
    pub online_cpus: Vec<u32>,
    /// What the user should know before it begins.
    pub notices: Vec<String>,
}

impl Plan {
    /// Checks the options against each other and against this machine.
    pub fn new(args: &RecordArgs) -> Result<Self> {
        let output = OutputPlan::new(&args.to)?;
        if args.share && output == OutputPlan::Stream {
            bail!("-o -: --share needs a file; or pipe the stream into perftab share -");
        }
        let online_cpus = host::online_cpus()?;
        let embed = embed::checked(&args.embed, &output)?;
        let (target, chosen) = match args.target.target(&online_cpus)? {
            Some(target) => (target, None),
            None if !args.command.is_empty() => (Target::Command, None),
            None => {
                let said = "recording all CPUs: neither -- CMD nor -p PID is given".to_owned();
                (Target::Cpus(online_cpus.clone()), Some(said))
            }
        };
        let samples = match output {
            OutputPlan::Flight(..) => KeptSamples::Latest,
            OutputPlan::File(_) | OutputPlan::Parts(..) | OutputPlan::Stream => KeptSamples::All,
        };
        let mut plan = Self::begin(&args.sampling, samples, target, &args.command, online_cpus)?;
        plan.notices.extend(args.target.overridden().or(chosen));
        if let (OutputPlan::Parts(_, rotation), Some(most)) = (&output, args.to.max_size) {
            plan.notices.extend(rotation.said_of(most).map(str::to_owned));
        }
        Ok(Self {
            data: args.data.checked(plan.chains)?,
            off_cpu: if args.off_cpu { OffCpu::Recorded } else { OffCpu::LeftOut },
            namespaces: match args.namespaces {
                true if !host::has_any(CapabilitySet::PERFMON | CapabilitySet::SYS_ADMIN) => bail!(
                    "--namespaces: record as root, or with CAP_PERFMON (setcap cap_perfmon=ep on perftab)"
                ),
                true => NamespaceRecords::Written,
                false => NamespaceRecords::LeftOut,
            },
            ring: match plan.ring {
                // All that a flight recorder has.
                RingSize { origin: RingOrigin::Default, .. } if args.to.overwrite => {
                    RingSize { bytes: RING_MAX, origin: RingOrigin::Default }
                }
                ring => ring,
            },
            embed,
            build_ids: build_ids(args, PerfConfig::of_user().record_build_ids()),
            packing: args.to.packing(),
            duration: args.duration,
            max_size: args.to.max_size,
            start: match args.delay {
                None | Some(0) => Start::AtOnce,
                Some(millis) => match u64::try_from(millis) {
                    Ok(millis) => Start::After(Duration::from_millis(millis)),
                    Err(_) if args.control.is_none() => {
                        bail!("-D -1: name --control, by which it begins")
                    }
                    Err(_) => Start::OnRequest,
                },
            },
            control: args.control.clone(),
            triggers: checked_triggers(&args.to.trigger)?,
            output,
            ..plan
        })
    }

    /// What is recorded to be read at once: all of the system, unless a target is named.
    pub fn of_live(
        sampling: &SamplingArgs,
        target: &TargetArgs,
        duration: Option<Duration>,
    ) -> Result<Self> {
        let online_cpus = host::online_cpus()?;
        let overridden = target.overridden();
        let target =
            target.target(&online_cpus)?.unwrap_or_else(|| Target::Cpus(online_cpus.clone()));
        let mut plan = Self::begin(sampling, KeptSamples::All, target, &[], online_cpus)?;
        plan.notices.extend(overridden);
        if matches!(plan.chains, CallChains::Copied(_)) {
            bail!(
                "--call-graph dwarf-dump: such copies are walked once all is recorded; use dwarf or -g"
            );
        }
        Ok(Self { duration, ..plan })
    }

    /// By the options that say which samples are taken.
    fn begin(
        sampling: &SamplingArgs,
        samples: KeptSamples,
        target: Target,
        command: &[OsString],
        online_cpus: Vec<u32>,
    ) -> Result<Self> {
        let mut notices = Vec::new();
        let files = ProbedFiles { target: &target, command };
        let names = EventNames { root: Path::new("/"), files };
        let mut events = names.parse_options(&sampling.events.0)?;
        let target = target.settled(sampling.events.cgroups_stand(), &mut events, &mut notices)?;
        let chains = chain_mode::call_chains(sampling, &events, samples, &mut notices)?;
        if sampling.frequency.is_some() || sampling.count.is_some() {
            events = events.into_iter().map(EventSpec::at_given_rate).collect();
        }
        let rate = rate(sampling, &events, &mut notices)?;
        Ok(Self {
            target,
            command: command.to_vec(),
            events,
            privilege: match (sampling.all_user, sampling.all_kernel) {
                (true, _) => Privilege::UserOnly,
                (_, true) => Privilege::KernelOnly,
                (false, false) => Privilege::Any,
            },
            rate,
            chains,
            data: SampledData::default(),
            chain_parts: ChainParts::of(sampling, chains)?,
            children: match sampling.no_inherit {
                true => Children::LeftOut,
                false => Children::Recorded,
            },
            off_cpu: OffCpu::LeftOut,
            namespaces: NamespaceRecords::LeftOut,
            ring: RingSize::of(sampling.mmap_pages.as_deref(), rate, chains, online_cpus.len())?,
            build_ids: BuildIdTable::LeftOut,
            embed: Vec::new(),
            output: OutputPlan::Stream,
            start: Start::AtOnce,
            control: None,
            samples,
            triggers: Vec::new(),
            packing: None,
            duration: None,
            max_size: None,
            online_cpus,
            notices,
        })
    }
}

fn checked_triggers(triggers: &[Trigger]) -> Result<Vec<Trigger>> {
    for trigger in triggers {
        if let Trigger::Machine(condition) = trigger {
            condition.check().map_err(anyhow::Error::msg)?;
        }
    }
    Ok(triggers.to_vec())
}

/// What the options say, else what users have set for perf.
fn build_ids(args: &RecordArgs, config: Option<RecordBuildIds>) -> BuildIdTable {
    match (args.buildid_mmap, args.no_buildid, config) {
        (true, ..) => BuildIdTable::MappingsOnly,
        (_, true, _) => BuildIdTable::LeftOut,
        (.., Some(RecordBuildIds::Mmap)) => BuildIdTable::MappingsOnly,
        (.., Some(RecordBuildIds::Skip)) => BuildIdTable::LeftOut,
        (.., Some(RecordBuildIds::Cache | RecordBuildIds::NoCache) | None) => BuildIdTable::Written,
    }
}

/// How often events are sampled that say nothing of it themselves.
fn rate(args: &SamplingArgs, events: &[EventSpec], notices: &mut Vec<String>) -> Result<Rate> {
    if let Some(count) = args.count {
        return Ok(Rate::Period(count));
    }
    let limit = host::sysctl_number("kernel/perf_event_max_sample_rate");
    let wanted = match args.frequency.as_deref() {
        None => DEFAULT_FREQUENCY,
        Some("max") => {
            limit.context("-F max: /proc/sys/kernel/perf_event_max_sample_rate is not readable")?
        }
        Some(number) => match number.parse() {
            Ok(wanted) if wanted > 0 => wanted,
            _ => bail!("-F {number}: give a number of samples per second, or max"),
        },
    };
    match limit {
        Some(limit) if wanted > limit && limit > 0 && args.strict_freq => bail!(
            "-F {wanted} is more than the {limit} Hz that the kernel allows; raise them with \
             sysctl kernel.perf_event_max_sample_rate={wanted}, or leave --strict-freq out"
        ),
        Some(limit) if wanted > limit && limit > 0 => {
            let rate = Rate::Frequency(limit);
            if events.is_empty() || events.iter().any(|event| event.rate(rate) == rate) {
                notices.push(format!(
                    "-F {wanted} is more than the kernel allows: using {limit} Hz; \
                     raise it with sysctl kernel.perf_event_max_sample_rate={wanted}"
                ));
            }
            Ok(rate)
        }
        _ => Ok(Rate::Frequency(wanted)),
    }
}

/// Seconds, or a number with ms, s, m or h; fractions too.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("units are ms, s, m and h".into()),
    };
    let number: f64 = digits.parse().map_err(|_| "give a number: 10, 10s, 500ms")?;
    Duration::try_from_secs_f64(number * unit)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "give a time above zero".into())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: RecordArgs,
    }

    #[test]
    fn an_option_that_is_none_is_no_command() {
        let parse = |line: &str| Line::try_parse_from(line.split(' ')).map(|it| it.options.command);
        assert!(parse("record --grain -g ./mill").is_err());
        for line in ["record -g ./mill --grain -x", "record -g -- ./mill --grain -x"] {
            assert_eq!(parse(line).unwrap(), ["./mill", "--grain", "-x"], "{line}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1.5m"), Ok(Duration::from_secs(90)));
        for bad in ["", "s", "0", "-1", "1d", "nan", "inf", "1e400"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_of_copies_are_words_and_fit_into_a_record() {
        let sizes =
            ["1", "8192", "8193", "65528"].map(|text| StackCopy::parse("dwarf", text).unwrap().0);
        assert_eq!(sizes, [8, 8192, 8200, 65_528]);
        for bad in ["", "0", "-8", "65529", "4294967295", "8k"] {
            assert!(StackCopy::parse("dwarf", bad).is_err(), "{bad}");
        }
    }
}
