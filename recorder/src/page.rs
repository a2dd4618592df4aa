//! The viewer, one HTML file, built into the binary by `build.rs`.

/// The page's source.
pub static PAGE: &str = include_str!(env!("PERFTAB_PAGE_FILE"));

/// Whether there is one: what stands in its place in a build without it is a few lines.
pub fn is_there() -> bool {
    PAGE.len() > 64 << 10
}

/// Where a profile goes that the page carries: once in every page.
const PROFILE_MARK: &str = "<!--perftab:profile-->";

/// The page with a profile inside. `payload` is that of a link, base64url, so it can't end the
/// element that it stands in.
pub fn with_profile(payload: &str) -> String {
    debug_assert!(payload.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)));
    let element =
        format!("<script type=\"application/octet-stream\" id=\"profile\">{payload}</script>");
    PAGE.replacen(PROFILE_MARK, &element, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_one_place_for_a_profile() {
        assert_eq!(PAGE.matches(PROFILE_MARK).count(), 1);
        let page = with_profile("p1.abc-_");
        assert!(page.contains("id=\"profile\">p1.abc-_</script>"));
        assert!(!page.contains(PROFILE_MARK));
    }
}
