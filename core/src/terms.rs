//! What questions and answers of a session are put in: types of core's parts that hosts name.

pub use perftab_dsos::{module_name, pid_of_jitdump, pid_of_perf_map};
pub use perftab_export::script::{Field, SourcePath, Traces, write_flags};
pub use perftab_export::script_fields::{Chains, Choice, Column, Layout, Times as TimeDigits};
pub use perftab_export::{Events, ExportRequest, Format};
pub use perftab_images::{
    Clock, CodeLine, CodeOrigin, CodeTable, Companion, CompanionId, DataReference, ForceError,
    FoundFunctions, FunctionCode, FunctionPlace, Image, ImageContents, Kallsyms, Loads, Machine,
    MissingUnits, NamedCompanion, NamingDepth, NotAnImage, RecordedIdentities, ReferenceWay,
    Rejection, StaticProbe, SupplementaryLink, Svma, check_whole, content_hash, is_jitdump,
    is_perf_map, lines_left_out, stamp_of_kallsyms, stamped_kallsyms, without_parameters,
};
pub use perftab_names::{FileId, FunctionId, Status};
pub use perftab_perfdata::decode::attr::Attr;
pub use perftab_perfdata::decode::data_source::AccessPart;
pub use perftab_profile::{
    ContentHash, Dso, DsoId, DsoKind, EventGroup, Identity, MappedBy, RecordedBy,
};
pub use perftab_snapshot::{
    CarriedPayload, Carrier, Disclosure, HotPlace, PackedText, Privacy, Rename, ShareOptions,
    SharedPart, SharedTexts, SnapshotError, Times, TooSmall, find as find_payload, is_page,
    may_be_text,
};
pub use perftab_views::accesses::AccessGroup;
pub use perftab_views::branches::rows::BranchKey;
pub use perftab_views::branches::{BranchDetail, BranchSums, history::History};
pub use perftab_views::breakdown::{Key, Measure};
pub use perftab_views::compare::{
    Basis, ChangeKey, ChangeOrder, ComparedGraph, ComparedSide, Relation,
};
pub use perftab_views::data_access::AccessKey;
pub use perftab_views::filter::{RangeSide, TimeRange};
pub use perftab_views::flame_graph::FlameGraph;
pub use perftab_views::function_ref::{DsoRef, FunctionRef};
pub use perftab_views::functions::{FunctionKey, FunctionOrder, SortDirection};
pub use perftab_views::grouped::GroupBy;
pub use perftab_views::heat_map::{HeatMap, HeatRequest};
pub use perftab_views::label::mark;
pub use perftab_views::place_texts::{PlaceTexts, TextCheck};
pub use perftab_views::search::Pattern;
pub use perftab_views::time_order::TimeOrder;
pub use perftab_views::timeline::{KINDS, Timeline, TimelineRequest};
pub use perftab_views::transform::Transform;
pub use perftab_views::weights::Sum;
pub use perftab_views::{Direction, Group, Inlines, Query};
