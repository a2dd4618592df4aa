//! Embeds the page into the binary: `include_bytes!(env!("PERFTAB_PAGE_FILE"))`.
//!
//! The page is `target/page/perftab.html`, which `cargo xtask build` writes. A debug build carries the
//! one that tests are run with instead, if there is one: `target/page/quick/perftab.html`. So each of
//! the two builds keeps its page, and no release carries the page of tests.
//!
//! The environment variable `PERFTAB_PAGE` may name another file. Without any, as in a plain
//! `cargo build` of a fresh clone, a small page takes its place that says so.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const NO_PAGE: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>perftab</title>
<p>This perftab was built without the page. Run <code>cargo xtask build</code>.</p>
<!--perftab:profile-->
</html>
";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=PERFTAB_PAGE");
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/page");
    let (shipped, quick) = (pages.join("perftab.html"), pages.join("quick/perftab.html"));
    let is_debug = env::var_os("PROFILE").is_some_and(|profile| profile == "debug");
    let (page, watched) = match env::var_os("PERFTAB_PAGE").map(PathBuf::from) {
        Some(named) => (named.clone(), named),
        None if is_debug && quick.exists() => (quick.clone(), quick),
        // The whole folder: the page of tests may come.
        None if is_debug => (shipped, pages),
        None => (shipped.clone(), shipped),
    };
    // A path that is missing counts as changed, so the page is found once it is there.
    println!("cargo::rerun-if-changed={}", watched.display());

    let page = if page.exists() {
        page.canonicalize()?
    } else {
        let out_dir = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no OUT_DIR"))?;
        let substitute = Path::new(&out_dir).join("no-page.html");
        fs::write(&substitute, NO_PAGE)?;
        substitute
    };
    println!("cargo::rustc-env=PERFTAB_PAGE_FILE={}", page.display());
    Ok(())
}
