//! Feature sections: what the recorder says of the machine, of itself, of the events and of the
//! build-ids. They stand in a table after the records, come as HEADER_FEATURE records in a pipe,
//! or are simpleperf's own; the payload is the same, and it may come at any time.
//!
//! A bad one is an error of its own, of which what could be read before it is kept. Lists grow as
//! they are read, so nothing is allocated for what a section merely claims.
//!
//! Passed over on purpose, because nothing that is shown depends on them: MEM_TOPOLOGY,
//! CPU_DOMAIN_INFO, BPF_BTF (names of programs come with BPF_PROG_INFO), AUXTRACE (an index of
//! records that are found anyway), BRANCH_STACK and STAT (marks of what samples say themselves),
//! CLN_SIZE, and simpleperf's debugging of its own unwinder, ETM branches and init map.

mod build_ids;
mod event_desc;
mod machine;
mod recorder;
mod text;

use crate::decode::header::{Form, Header, Section, read};
use crate::decode::simpleperf::{self, SymbolFile};
use crate::decode::tracing_data::TracingData;
use crate::decode::{ByteOrder, ByteSource, Cursor};
use crate::error::DecodeError;
use crate::format::attr::event_type;
use crate::format::feature::Feature;
use crate::format::footer::Footer;
use crate::format::perftab_section::{self, PerftabSection, SectionError};
use crate::machine::{Clocks, Host, Machine, Recorder};

pub use build_ids::{BuildIdEntry, read_build_id_entry};
pub use event_desc::EventName;
pub use recorder::clock_name;

/// A feature section larger than this is passed over: the largest real ones (tracing data of all
/// events, simpleperf's symbols) have a few MB.
const MAX_FEATURE_SIZE: u64 = 256 << 20;

/// What the feature sections say.
#[derive(Clone, Debug, Default)]
pub struct Features {
    /// The machine.
    pub host: Host,
    /// More of the machine.
    pub machine: Machine,
    /// What recorded and how.
    pub recorder: Recorder,
    /// Its clocks.
    pub clocks: Clocks,
    /// Names of events, with the ids under which their records come.
    pub event_names: Vec<EventName>,
    /// The build-id table.
    pub build_ids: Vec<BuildIdEntry>,
    /// Descriptions of tracepoints.
    pub tracing: TracingData,
    /// Symbols of files that simpleperf wrote into the recording.
    pub symbol_files: Vec<SymbolFile>,
    /// The recorder's compression: type (1: zstd), level and ratio.
    pub compression: Option<Compression>,
    /// The version of the directory form.
    pub directory: Option<u64>,
    /// perftab's own section.
    pub perftab: Option<Result<PerftabSection, SectionError>>,
    /// Sections that could not be read, and why.
    pub unreadable: Vec<(Feature, DecodeError)>,
}

/// How records were compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// [`Self::ZSTD`], or 0 for none.
    pub algorithm: u32,
    /// Higher is smaller.
    pub level: u32,
    /// Bytes before for each byte after.
    pub ratio: u32,
}

impl Compression {
    /// The only algorithm that perf has (`PERF_COMP_ZSTD`).
    pub const ZSTD: u32 = 1;
}

impl Features {
    /// Reads the sections of a file. Each that cannot be read is passed over and said.
    pub fn read(source: &dyn ByteSource, header: &Header) -> Self {
        let mut features = Self::default();
        for (feature, section) in &header.features {
            let feature = *feature;
            let taken = section.clone().and_then(|Section { offset, size }| {
                if !is_wanted(feature) || size == 0 || size > MAX_FEATURE_SIZE {
                    return Ok(());
                }
                let payload = read(source, offset, size, "a feature section")?;
                features.take(feature, &payload, offset, header.order)
            });
            if let Err(error) = taken {
                features.unreadable.push((feature, error));
            }
        }
        if header.form == Form::File
            && let Some(section) = section_at_the_end(source)
        {
            features.perftab = Some(section);
        }
        features
    }

    /// Takes what a feature says: the content of a section, or of a HEADER_FEATURE record, at
    /// `offset` in the file. One that comes again takes the place of what it said before.
    pub fn take(
        &mut self,
        feature: Feature,
        payload: &[u8],
        offset: u64,
        order: ByteOrder,
    ) -> Result<(), DecodeError> {
        let cursor = &mut Cursor::new(payload, offset, order, feature.name());
        let Self { host, machine, recorder, clocks, .. } = self;
        match feature {
            _ if payload.is_empty() => {}
            Feature::TRACING_DATA => return self.take_tracing_data(payload, offset),
            Feature::BUILD_ID => {
                let (entries, read) = build_ids::read_table(payload, offset, order);
                self.build_ids = entries;
                return read;
            }
            Feature::HOSTNAME => host.hostname = Some(cursor.sized_string()?),
            Feature::OSRELEASE => host.os_release = Some(cursor.sized_string()?),
            Feature::ARCH => host.arch = Some(cursor.sized_string()?),
            Feature::CMDLINE => host.cmdline = text::raw_list(cursor)?,
            Feature::NRCPUS => {
                machine.cpus_available = Some(cursor.u32()?);
                host.cpus = Some(cursor.u32()?);
            }
            Feature::CPUDESC => machine.cpu = Some(text::text(cursor)?),
            Feature::CPUID => machine.cpu_id = Some(text::text(cursor)?),
            Feature::TOTAL_MEM => machine::total_mem(machine, cursor)?,
            Feature::CPU_TOPOLOGY => machine::cpu_topology(machine, cursor)?,
            Feature::NUMA_TOPOLOGY => machine::numa(machine, cursor)?,
            Feature::CACHE => machine::caches(machine, cursor)?,
            Feature::HYBRID_TOPOLOGY => machine::hybrid(machine, cursor)?,
            Feature::PMU_MAPPINGS => machine::pmu_mappings(machine, cursor)?,
            Feature::CPU_PMU_CAPS => machine::cpu_pmu_caps(machine, cursor)?,
            Feature::PMU_CAPS => machine::pmu_caps(machine, cursor)?,
            Feature::E_MACHINE => machine.e_machine = Some(cursor.u32()?),
            Feature::VERSION => recorder.version = Some(text::text(cursor)?),
            Feature::GROUP_DESC => recorder::groups(recorder, cursor)?,
            Feature::BPF_PROG_INFO => recorder::bpf_programs(recorder, cursor)?,
            Feature::SAMPLE_TIME => clocks.sample_time = Some((cursor.u64()?, cursor.u64()?)),
            Feature::CLOCK_DATA => recorder::clock_data(recorder, clocks, cursor)?,
            Feature::EVENT_DESC => event_desc::read(&mut self.event_names, cursor)?,
            Feature::COMPRESSED => {
                let _version = cursor.u32()?;
                let (algorithm, level, ratio) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
                self.compression = Some(Compression { algorithm, level, ratio });
            }
            Feature::DIR_FORMAT => self.directory = Some(cursor.u64()?),
            Feature::SIMPLEPERF_FILE => simpleperf::files(&mut self.symbol_files, cursor)?,
            Feature::SIMPLEPERF_FILE2 => simpleperf::files2(&mut self.symbol_files, cursor)?,
            Feature::SIMPLEPERF_META_INFO => simpleperf::meta_info(recorder, cursor),
            Feature::PERFTAB => self.perftab = Some(perftab_section::decode(payload)),
            _ => {}
        }
        Ok(())
    }

    /// True if simpleperf recorded: its own features say so.
    pub fn is_of_simpleperf(&self) -> bool {
        !self.recorder.properties.is_empty() || !self.symbol_files.is_empty()
    }

    /// Name of a tracepoint, by its id: from its description, or as simpleperf noted it.
    pub fn tracepoint(&self, id: u64) -> Option<String> {
        let described = self.tracing.formats.by_id(id).map(|format| format.event_name());
        described.or_else(|| {
            let noted = simpleperf::event_names(&self.recorder).into_iter();
            let mut noted = noted.filter(|it| it.event_type == event_type::TRACEPOINT);
            noted.find(|it| it.config == id).map(|it| it.name)
        })
    }

    /// Takes tracing data, which a pipe has in a record of its own, as simpleperf has.
    pub fn take_tracing_data(&mut self, payload: &[u8], offset: u64) -> Result<(), DecodeError> {
        let (tracing, read) = TracingData::read(payload, offset);
        self.tracing = tracing;
        read
    }
}

/// perftab's section in front of the footer; `None` if the file ends with anything else.
fn section_at_the_end(source: &dyn ByteSource) -> Option<Result<PerftabSection, SectionError>> {
    let footer_at = source.len().checked_sub(Footer::SIZE)?;
    let footer = Footer::decode(&source.read_vec(footer_at, Footer::SIZE).ok()?)?;
    let payload = match footer_at.checked_sub(footer.length) {
        Some(begin) if footer.length <= MAX_FEATURE_SIZE => {
            source.read_vec(begin, footer.length).map_err(|_| SectionError::Damaged)
        }
        _ => Err(SectionError::Damaged),
    };
    Some(payload.and_then(|payload| footer.open(&payload)))
}

/// True for a feature that something is made of; the others are not even read.
fn is_wanted(feature: Feature) -> bool {
    !matches!(
        feature,
        Feature::BRANCH_STACK
            | Feature::AUXTRACE
            | Feature::STAT
            | Feature::MEM_TOPOLOGY
            | Feature::BPF_BTF
            | Feature::CPU_DOMAIN_INFO
            | Feature::CLN_SIZE
    ) && feature.is_known()
}
