//! `-u USER`: the processes of a user, as they are when the recording begins, with everything they start.

use std::fs;
use std::os::unix::fs::MetadataExt;

use anyhow::{Context, Result, bail};

use super::tasks;

/// Of a user by name or number.
pub fn processes_of(user: &str) -> Result<Vec<i32>> {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let number = user.parse().ok().or_else(|| number_of(&passwd, user));
    let number: u32 = number.with_context(|| format!("-u {user}: there is no such user"))?;
    let is_theirs = |pid: &i32| {
        fs::metadata(format!("/proc/{pid}")).is_ok_and(|process| process.uid() == number)
    };
    // Ourselves we do not record: writing would have samples of its own.
    let ours = i32::try_from(std::process::id()).unwrap_or(0);
    let mut all = tasks::all_processes();
    all.retain(|pid| *pid != ours && is_theirs(pid));
    if all.is_empty() {
        bail!("-u {user}: no process of this user is running");
    }
    Ok(all)
}

/// Of lines `name:password:number:…`.
fn number_of(passwd: &str, name: &str) -> Option<u32> {
    let fields = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let mut found = fields.filter(|fields| fields.first() == Some(&name));
    found.find_map(|fields| fields.get(2)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_numbers() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\nbroken\nmill:x:1001:1001::/home:/bin/sh\n";
        assert_eq!(number_of(passwd, "mill"), Some(1001));
        assert_eq!(number_of(passwd, "mil"), None);
        assert_eq!(number_of(passwd, "broken"), None);
    }
}
