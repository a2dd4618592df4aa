//! Compiles programs, makes profiles of their code and names them.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::Command;

use perftab_images::{AddedImage, DsoImages, Image, MatchedImage, RecordedIdentities, Rejection};
use perftab_names::{Function, Symbols};
use perftab_perfdata::decode::SliceSource;
use perftab_profile::{DsoId, DsoKind, Frame, FrameId, Identity, MappedFrom, Profile, RecordedBy};
use perftab_tests::child_process::LimitedCommand;

/// Runs a command and returns what it prints; it must succeed.
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .ended()
        .unwrap_or_else(|error| panic!("{program} does not run: {error}"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// As an argument of a command.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("the path is UTF-8")
}

/// Writes `source` to `folder/file` and compiles it with `compiler` to `folder/program`.
pub fn compile(folder: &Path, compiler: &str, flags: &[&str], file: &str, source: &str) -> PathBuf {
    let source_file = folder.join(file);
    std::fs::write(&source_file, source).expect("the source is written");
    let program = folder.join("program");
    let mut arguments = flags.to_vec();
    arguments.extend(["-o", text(&program), text(&source_file)]);
    run(compiler, &arguments);
    program
}

/// The image of a file on disk.
pub fn image(file: &Path) -> Image {
    let bytes = std::fs::read(file).expect("the file is there");
    Image::open(text(file), Box::new(SliceSource::new(bytes))).expect("it is an image")
}

/// A profile of one DSO, and what names it.
pub struct Bench {
    pub profile: Profile,
    pub dso: DsoId,
    pub images: DsoImages,
    pub symbols: Symbols,
}

impl Bench {
    /// A profile that recorded `identity` for a file, with a frame at each of these file offsets.
    pub fn new(identity: Option<Identity>, offsets: &[u64]) -> Self {
        let mut profile = Profile::default();
        let path = "/usr/bin/program";
        let dso = profile.dsos.intern(path, DsoKind::User, MappedFrom::Nothing, None);
        let recorded = profile.dsos.get_mut(dso);
        recorded.identity = identity;
        recorded.recorded_by = identity.map(|_| RecordedBy::Mmap);
        for &address in offsets {
            profile.frames.intern(Frame { dso, address });
        }
        let symbols = Symbols::new(&profile);
        Self { profile, dso, images: DsoImages::default(), symbols }
    }

    /// Offers a file to the gate; if it passes, names all frames again.
    pub fn admit(&mut self, image: Image) -> Result<AddedImage, Rejection> {
        let recorded = RecordedIdentities::new(&self.profile.dsos);
        let matched = MatchedImage::admit(&recorded, image)?;
        let added = self.images.add(matched).expect("the symbols are readable");
        for &dso in &added.dsos {
            self.symbols.resolve(&self.profile, dso, &self.images);
        }
        Ok(added)
    }

    /// All frames with their file offsets.
    pub fn frames(&self) -> Vec<(u64, FrameId)> {
        self.profile.frames.iter().map(|(id, frame)| (frame.address, id)).collect()
    }

    /// The function that the linker knows at a frame.
    pub fn merged(&self, frame: FrameId) -> Function<'_> {
        self.symbols.function(self.symbols.merged(frame))
    }

    /// How many frames have a name.
    pub fn named(&self) -> usize {
        self.frames().iter().filter(|&&(_, frame)| self.merged(frame).name.is_some()).count()
    }

    /// Functions and lines of a frame, outermost first.
    pub fn levels(&self, frame: FrameId) -> Vec<(Option<&str>, Option<&str>, Option<u32>)> {
        let symbols = &self.symbols;
        let level = |level: &perftab_names::Level| {
            let file = level.file.map(|file| symbols.file(file));
            (symbols.function(level.function).name, file, level.line.map(NonZeroU32::get))
        };
        symbols.levels(frame).iter().map(level).collect()
    }
}
