//! Files that were replaced while perf recorded them without build-ids in its mmap events.
//!
//! perf then reads the ids when the recording has ended, or even later (`perf inject -b`), by path:
//! of what is there by then. In the recording nothing tells; but where it was made, the files do.
//! A DSO whose file became another between the making of the recording and its last write has no
//! identity, nor has one whose inode is not the one that was mapped and that has the id all the
//! same: then the id was read of it. Times and inodes speak against an id here, never for one; on
//! another machine, where neither means anything, nothing is found.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use perftab_core::session::{RecordedFile, RecordedFiles, Session};
use perftab_core::{DsoId, DsoKind, Identity, MappedBy, RecordedBy};
use perftab_perfdata::format::elf_note::build_id_of_elf;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use crate::file_source::FileSource;
use crate::images::answering;
use crate::images::local::open_regular;

/// What perf takes at most to begin and to read build-ids at the end.
const BEGIN_AND_END: Duration = Duration::from_secs(30);

/// Whether the files of this machine may speak against what was recorded. If they must not name
/// anything (`--no-local`), they do not: then everything is as in a page that was opened by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThisMachine {
    /// They may.
    Asked,
    /// Nobody looks at them.
    LeftAlone,
}

/// What the files of this machine say of build-ids that were read at the end.
#[derive(Debug, Default)]
pub struct Judgement {
    /// Another file was there then.
    pub replaced: Vec<DsoId>,
    /// The file that was mapped is there still, and did not change meanwhile.
    pub same: Vec<DsoId>,
}

/// Takes their identities away from DSOs whose file became another, and vouches for those whose
/// file is the same.
pub fn apply(session: &mut Session, recording: &File) {
    let Judgement { replaced, same } = judge(&session.recorded_files(), recording);
    session.vouch(same);
    session.distrust(&replaced);
}

/// Looks at the files of all DSOs.
pub fn judge(recorded: &RecordedFiles, recording: &File) -> Judgement {
    let mut judgement = Judgement::default();
    let Some(making) = Making::of(recorded, recording) else { return judgement };
    let files: Vec<LateFile> = recorded.files.iter().filter_map(LateFile::of).collect();
    // Where files have the inodes that were recorded, inodes mean something.
    let is_here = making.is_original() || files.iter().any(|file| file.inode == Inode::Mapped);
    for file in &files {
        if file.is_of_inject() {
            judgement.same.push(file.recorded.dso);
        } else if making.changed_meanwhile(file) || is_here && making.was_read_of_another(file) {
            judgement.replaced.push(file.recorded.dso);
        } else if file.is_of_the_end() && making.saw_no_change(file) {
            judgement.same.push(file.recorded.dso);
        }
    }
    judgement
}

/// When the file of the recording was made and last written, and how long what it tells of took.
struct Making {
    made: SystemTime,
    written: SystemTime,
    recorded: Duration,
}

/// The file that is at the path of a DSO whose build-id was read late.
struct LateFile<'a> {
    recorded: &'a RecordedFile,
    metadata: Metadata,
    inode: Inode,
}

/// How the inode of a file compares with the one that was mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inode {
    /// It is that one.
    Mapped,
    /// It is another.
    Another,
    /// Its file system tells programs of another device than the kernel writes into recordings.
    Unknown,
}

impl Inode {
    /// Of the file at a path; `recorded` is device and inode as they were mapped.
    pub fn compare(path: &Path, metadata: &Metadata, recorded: (u64, u64)) -> Self {
        let (device, inode) = recorded;
        match metadata.dev() == device {
            true if metadata.ino() == inode => Self::Mapped,
            true => Self::Another,
            false => {
                let mountinfo = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
                let mount = mount_id(path).and_then(|id| Mount::find(&mountinfo, id));
                mount.map_or(Self::Unknown, |mount| mount.compare(metadata, recorded))
            }
        }
    }
}

/// What /proc/self/mountinfo says of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mount<'a> {
    /// As the kernel has it, and as it writes it into recordings.
    device: u64,
    file_system: &'a str,
}

impl<'a> Mount<'a> {
    /// proc_pid_mountinfo(5): `ID parent major:minor root point options [tags] - type source …`.
    fn find(mountinfo: &'a str, id: u64) -> Option<Self> {
        mountinfo.lines().find_map(|line| {
            let (before, behind) = line.split_once(" - ")?;
            let mut fields = before.split(' ');
            fields.next()?.parse().ok().filter(|it: &u64| *it == id)?;
            let (major, minor) = fields.nth(1)?.split_once(':')?;
            let device = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
            Some(Self { device, file_system: behind.split(' ').next()? })
        })
    }

    /// For a file of which stat(2) tells another device than was recorded.
    fn compare(self, metadata: &Metadata, (device, inode): (u64, u64)) -> Inode {
        match self.file_system {
            // What is mapped is a file of a file system below.
            "overlay" => Inode::Unknown,
            // stat(2) tells of a device for each subvolume of btrfs, and each numbers its own.
            _ if self.device == device && metadata.ino() == inode => Inode::Unknown,
            _ => Inode::Another,
        }
    }
}

/// Which mount a path leads to; `None` before Linux 5.8.
fn mount_id(path: &Path) -> Option<u64> {
    let wanted = StatxFlags::MNT_ID;
    let found = statx(CWD, path, AtFlags::empty(), wanted).ok()?;
    (found.stx_mask & wanted.bits() != 0).then_some(found.stx_mnt_id)
}

impl<'a> LateFile<'a> {
    fn of(recorded: &'a RecordedFile) -> Option<Self> {
        let is_late = matches!(recorded.recorded_by, Some(RecordedBy::Table | RecordedBy::Stream));
        let mapped = recorded.inode.filter(|mapped| mapped.inode != 0)?;
        if !is_late || recorded.kind != DsoKind::User {
            return None;
        }
        let path = Path::new(&recorded.path);
        let metadata = answering::metadata(path)?;
        let device = rustix::fs::makedev(mapped.major, mapped.minor);
        let inode = Inode::compare(path, &metadata, (device, mapped.inode));
        Some(Self { recorded, metadata, inode })
    }

    /// True of code that a process made and `perf inject --jit` has put into a file: while it writes the recording, and
    /// with the inode of that file. Nothing else was mapped there.
    fn is_of_inject(&self) -> bool {
        self.inode == Inode::Mapped && self.recorded.mapped_by == MappedBy::Inject
    }

    /// True of an id that was written with the recording. `perf inject` writes a file of its own, and
    /// when that was made says nothing of when the recording began.
    fn is_of_the_end(&self) -> bool {
        self.recorded.recorded_by == Some(RecordedBy::Table)
    }
}

impl Making {
    fn of(recorded: &RecordedFiles, recording: &File) -> Option<Self> {
        let metadata = recording.metadata().ok()?;
        // perf makes the file before it starts what it records.
        let (made, written) = (metadata.created().ok()?, metadata.modified().ok()?);
        let recorded = Duration::from_nanos(recorded.sampled_nanos?);
        Some(Self { made, written, recorded })
    }

    fn length(&self) -> Duration {
        self.written.duration_since(self.made).unwrap_or_default()
    }

    /// False of a copy, which is younger than what it tells of.
    fn is_original(&self) -> bool {
        self.length() >= self.recorded && !self.is_of_an_older_file()
    }

    /// One that was copied over an older file seems to have been made long ago.
    fn is_of_an_older_file(&self) -> bool {
        self.length() > self.recorded + BEGIN_AND_END
    }

    fn changed_meanwhile(&self, file: &LateFile) -> bool {
        let meanwhile = |time: SystemTime| (self.made..=self.written).contains(&time);
        // A link to the file changes only the second time: perf makes one for its cache. Whoever
        // copies with the times of the original sets the first.
        let may_be_linked = file.inode == Inode::Mapped && file.metadata.nlink() > 1;
        let modified = file.metadata.modified().is_ok_and(meanwhile);
        !self.is_of_an_older_file()
            && (modified || !may_be_linked && meanwhile(changed(&file.metadata)))
    }

    /// True if the file was there when ids were read and has the one that was recorded, but is not
    /// the one that was mapped: a folder was renamed, or a process saw another file under this
    /// path. (Of a build that was made afterwards the id was not read.)
    fn was_read_of_another(&self, file: &LateFile) -> bool {
        // When it changed last says less: permissions and links do that, too.
        let born = file.metadata.created().unwrap_or_else(|_| changed(&file.metadata));
        if file.inode != Inode::Another || born > self.written {
            return false;
        }
        let opened = open_regular(Path::new(&file.recorded.path));
        let source = opened.and_then(|it| FileSource::new(it).ok());
        let found = source.and_then(|it| build_id_of_elf(&it));
        found.is_some_and(|found| Identity::Gnu(found) == file.recorded.identity)
    }

    /// A copy says nothing for an id: what changed before it was made did so before `made`.
    fn saw_no_change(&self, file: &LateFile) -> bool {
        let was_there = file.metadata.modified().is_ok_and(|modified| modified < self.made);
        self.is_original() && file.inode == Inode::Mapped && was_there
    }
}

/// When content or inode last changed: nobody can set that time.
pub fn changed(metadata: &Metadata) -> SystemTime {
    let seconds = u64::try_from(metadata.ctime()).unwrap_or(0);
    let nanos = u64::try_from(metadata.ctime_nsec()).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTINFO: &str = "\
22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw
31 1 0:40 / / rw,relatime - overlay overlay rw,lowerdir=/a:/b
32 31 0:32 /@home /home rw,relatime shared:1 master:2 - btrfs /dev/sda2 rw,subvolid=257
33 31 8:1 / /data rw - ext4 /dev/sda1 rw
";

    /// The kernel records the device of the file system; stat tells of one for each subvolume, and
    /// for what is laid over others.
    #[test]
    fn another_device_is_another_file_only_where_devices_mean_something() {
        let file = std::fs::metadata("/proc/self/exe").unwrap();
        let inode = file.ino();
        let compare = |mount: u64, device: (u32, u32), inode: u64| {
            let mount = Mount::find(MOUNTINFO, mount).unwrap();
            mount.compare(&file, (rustix::fs::makedev(device.0, device.1), inode))
        };
        assert_eq!(compare(31, (8, 1), inode), Inode::Unknown);
        assert_eq!(compare(31, (8, 1), inode + 1), Inode::Unknown);
        assert_eq!(compare(32, (0, 32), inode), Inode::Unknown);
        assert_eq!(compare(32, (0, 32), inode + 1), Inode::Another);
        assert_eq!(compare(33, (8, 2), inode), Inode::Another);
        assert_eq!(Mount::find(MOUNTINFO, 99), None);
        // This machine's list has the mount of a file of its.
        let here = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let id = mount_id(Path::new("/proc/self/status")).expect("Linux 5.8");
        assert_eq!(Mount::find(&here, id).unwrap().file_system, "proc");
    }

    /// Its permissions and links may change whenever: it was there when the id was read.
    #[test]
    fn a_file_that_was_there_was_read_whatever_became_of_its_permissions() {
        use std::fs::Permissions;
        use std::os::unix::fs::PermissionsExt;
        let id_of = |path: &Path| build_id_of_elf(&FileSource::new(File::open(path).ok()?).ok()?);
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut mapped = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
        let with_id = mapped.find(|path| id_of(Path::new(path)).is_some()).expect("libc has an id");
        let path = std::env::temp_dir().join(format!("perftab-late-{}", std::process::id()));
        std::fs::copy(with_id, &path).unwrap();
        let tick = Duration::from_millis(30);
        let written = changed(&path.metadata().unwrap()) + tick;
        while SystemTime::now() < written + tick {
            std::thread::yield_now();
        }
        std::fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        let metadata = path.metadata().unwrap();
        assert!(changed(&metadata) > written);
        let Ok(born) = metadata.created() else {
            println!("SKIPPED: a_file_that_was_there: this file system keeps no time of birth");
            return;
        };
        let making = |written: SystemTime| Making {
            made: written - Duration::from_secs(1),
            written,
            recorded: Duration::from_secs(1),
        };
        let recorded = RecordedFile {
            dso: DsoId(0),
            kind: DsoKind::User,
            path: path.to_str().expect("a text").to_owned(),
            listed_as: None,
            identity: Identity::Gnu(id_of(&path).expect("as before")),
            recorded_by: Some(RecordedBy::Table),
            inode: None,
            mapped_by: MappedBy::Kernel,
        };
        let file = LateFile { recorded: &recorded, metadata, inode: Inode::Another };
        assert!(making(written).was_read_of_another(&file));
        // One that came later was not.
        assert!(!making(born - tick).was_read_of_another(&file));
        std::fs::remove_file(path).unwrap();
    }
}
