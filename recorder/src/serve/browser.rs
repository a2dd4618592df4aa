//! Opens the user's browser without telling anybody else where.
//!
//! The arguments of a process are readable by every user of the machine, and whoever has the token
//! has the recordings. So the browser is given a page of the owner's alone, which leads on.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::guard::Token;
use crate::output;

/// The page that leads on; removed when dropped.
pub struct OpeningPage(PathBuf);

/// Opens `url` where there is a display for a browser. Keep what it returns while it may be slow.
pub fn open(url: &str) -> Option<OpeningPage> {
    let has_display = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    if !has_display("DISPLAY") && !has_display("WAYLAND_DISPLAY") {
        return None;
    }
    let opened = OpeningPage::write(url).and_then(|page| {
        let mut command = Command::new("xdg-open");
        command.arg(&page.0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(|_| page)
    });
    match opened {
        Ok(page) => Some(page),
        Err(error) => {
            output::notice(format_args!(
                "no browser opened (xdg-open: {error}); open the URL above"
            ));
            None
        }
    }
}

impl OpeningPage {
    /// In the folder that only this user can enter, or where temporary files are.
    fn write(url: &str) -> io::Result<Self> {
        let folder = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let folder = folder.filter(|it| it.is_dir()).unwrap_or_else(env::temp_dir);
        let random = Token::generate().map_err(io::Error::other)?;
        let path = folder.join(format!("perftab-view-{random}.html"));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let page = Self(path);
        write!(
            file,
            "<!doctype html><meta charset=\"utf-8\"><title>perftab</title>\
             <meta http-equiv=\"refresh\" content=\"0;url={url}\"><a href=\"{url}\">Open perftab</a>"
        )?;
        Ok(page)
    }
}

impl Drop for OpeningPage {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
