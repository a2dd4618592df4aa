//! Boots a kernel in an emulated machine of two CPUs, and returns what it wrote to its disk.
//!
//! Emulated and not virtualised: it works wherever the tests run, and a boot takes two seconds.
//! Bounded by a time limit: a guest that hangs ends, and its console says where it was.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::child_process::{LimitedCommand, bound_to_this_thread, status_within};

/// A boot and all that is done in it must be over by then; it takes 15 s where nothing else runs.
const PATIENCE: Duration = Duration::from_secs(600);
/// Room for what the guest writes; sparse.
const DISK: u64 = 1 << 30;

/// Boots `kernel` into `initramfs`. The result is the folder with the files that the guest left,
/// `folder/out`; the error is why there is none, with the end of the console.
pub fn boot(kernel: &Path, initramfs: &[u8], folder: &Path) -> Result<PathBuf, String> {
    let [archive, disk, console] = ["initramfs", "disk", "console"].map(|name| folder.join(name));
    fs::write(&archive, initramfs).map_err(|error| error.to_string())?;
    let made = File::create(&disk).and_then(|file| file.set_len(DISK));
    made.map_err(|error| error.to_string())?;
    let mut guest = bound_to_this_thread("qemu-system-x86_64")
        .args(["-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max"])
        .args(["-smp", "2", "-m", "1500", "-net", "none", "-display", "none", "-no-reboot"])
        // On a busy host the emulated timer may not tick while the kernel tests it, for a hundredth of a
        // second, and a kernel that finds no timer panics (timer_irq_works, arch/x86/kernel/apic/io_apic.c).
        .args(["-append", "console=ttyS0 quiet panic=-1 no_timer_check"])
        .arg("-kernel")
        .arg(kernel)
        .arg("-initrd")
        .arg(&archive)
        .arg("-drive")
        .arg(format!("file={},if=virtio,format=raw", disk.display()))
        .arg("-serial")
        .arg(format!("file:{}", console.display()))
        .spawn()
        .map_err(|error| format!("qemu does not start: {error}"))?;
    let status = status_within(&mut guest, PATIENCE);
    let failed = |why: String| {
        let console = fs::read(&console).unwrap_or_default();
        let console = String::from_utf8_lossy(&console);
        let lines: Vec<&str> = console.lines().collect();
        let last = lines.len().saturating_sub(60);
        Err(format!("{why}; the end of its console:\n{}", lines[last..].join("\n")))
    };
    match status {
        None => return failed(format!("the guest has not ended after {} s", PATIENCE.as_secs())),
        Some(status) if !status.success() => {
            return failed(format!("the guest ended with {status}"));
        }
        Some(_) => {}
    }
    let out = folder.join("out");
    fs::create_dir_all(&out).map_err(|error| error.to_string())?;
    let unpacked = Command::new("tar").arg("-xf").arg(&disk).arg("-C").arg(&out).exit_status();
    if !unpacked.is_ok_and(|status| status.success()) {
        return failed("the guest left nothing on its disk".into());
    }
    let _ = fs::remove_file(&disk);
    let _ = fs::remove_file(&archive);
    match fs::read_to_string(out.join("status")) {
        Ok(status) if status.trim() == "0" => Ok(out),
        status => failed(format!("what the guest ran ended with {status:?}")),
    }
}
