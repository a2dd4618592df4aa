//! Embeds the page into the binary: `include_bytes!(env!("PERFTAB_PAGE_FILE"))`.
//!
//! The page is `target/page/perftab.html`, which `cargo xtask build` writes, or the file that the
//! environment variable `PERFTAB_PAGE` names. Without either, as in a plain `cargo build` of a
//! fresh clone, a small page takes its place that says so.

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
    let page = match env::var_os("PERFTAB_PAGE") {
        Some(named) => PathBuf::from(named),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/page/perftab.html"),
    };
    // A path that is missing counts as changed, so the page is found once it is there.
    println!("cargo::rerun-if-changed={}", page.display());

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
