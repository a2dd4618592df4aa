//! Names of real files: what core makes of them, held against binutils.
//!
//! Each test compiles its own program, makes a profile with a frame for every few bytes of its
//! code, and compares with `nm`, `addr2line` and `readelf` run on the same file.

mod debug_files;
mod embedded;
mod gate;
mod go;
mod hostile;
mod inlines;
mod instructions;
mod links;
mod names;
mod not_there;
mod oracle;
mod split_units;
mod tables;
mod workbench;
