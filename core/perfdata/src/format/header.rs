//! The file header: magic, sections and the feature bitmap.
//!
//! ```c
//! struct perf_file_header {           // tools/perf/util/header.h
//!     u64 magic;                      //   0
//!     u64 size;                       //   8  104 in file mode, 16 in pipe mode
//!     u64 attr_size;                  //  16  stride of the attr array
//!     struct perf_file_section attrs; //  24  { u64 offset, u64 size }
//!     struct perf_file_section data;  //  40
//!     struct perf_file_section event_types; // 56  obsolete
//!     u64 adds_features[4];           //  72  bit n: feature n is present
//! };                                  // 104
//! ```

/// `PERFILE2`: version 2, written by a little-endian machine.
pub const MAGIC_LITTLE: [u8; 8] = *b"PERFILE2";
/// Version 2, written by a big-endian machine.
pub const MAGIC_BIG: [u8; 8] = *b"2ELIFREP";
/// Version 1, before 2012; its byte order has to be guessed.
pub const MAGIC_V1: [u8; 8] = *b"PERFFILE";

/// Size of the header of a file that can be seeked in.
pub const FILE_HEADER_SIZE: u64 = 104;
/// Size of the header before it had the feature bitmap.
pub const FILE_HEADER_SIZE_WITHOUT_FEATURES: u64 = 72;
/// Size of the header of a stream; everything else comes as records.
pub const PIPE_HEADER_SIZE: u64 = 16;
/// Offset of `data.size`, which a recorder fills in when it ends.
pub const DATA_SIZE_OFFSET: u64 = 48;
/// Bytes of a `{ u64 offset, u64 size }` pair.
pub const SECTION_SIZE: u64 = 16;
