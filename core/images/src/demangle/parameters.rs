//! The name of a function of C++ without its parameters, as perf prints it.

/// `ns::box<int>::spin` of `ns::box<int>::spin(std::vector<int> const&) const [clone .cold]`. What has no parameters stays
/// as it is. Only the last pair of parentheses counts that nothing follows which belongs to the name.
pub fn without_parameters(name: &str) -> &str {
    let bytes = name.as_bytes();
    let (mut at, mut angles, mut depth, mut open) = (0, 0_u32, 0_u32, None);
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        match byte {
            _ if rest.starts_with(b"operator") && !is_of_word(bytes, at) => {
                // What is behind is a name: `operator()`, `operator<<`, `operator->`.
                let sign = rest[8..].iter().take_while(|sign| b"<>=-+*/%^&|~![],".contains(*sign));
                let signs = sign.count();
                at += 8 + if rest[8..].starts_with(b"()") { 2 } else { signs };
                continue;
            }
            b'-' if rest.starts_with(b"->") => at += 1,
            b'<' => angles += 1,
            b'>' => angles = angles.saturating_sub(1),
            b'(' if angles == 0 => {
                if depth == 0 {
                    open = Some(at);
                }
                depth += 1;
            }
            b')' if angles == 0 => {
                depth = depth.saturating_sub(1);
                let behind = bytes.get(at + 1);
                if depth == 0
                    && let Some(open) = open.filter(|&open| open > 0)
                    && behind.is_none_or(|next| b" @".contains(next))
                    && bytes[open - 1] != b' '
                {
                    return &name[..open];
                }
            }
            _ => {}
        }
        at += 1;
    }
    name
}

fn is_of_word(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    before.is_some_and(|before| before.is_ascii_alphanumeric() || *before == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_left_out_and_nothing_else() {
        let cases = [
            ("main", "main"),
            ("spin(int)", "spin"),
            ("ns::box<f(int)>::spin(std::vector<int> const&) const", "ns::box<f(int)>::spin"),
            ("spin(int) [clone .isra.0]", "spin"),
            ("(anonymous namespace)::spin(void (*)(int))", "(anonymous namespace)::spin"),
            (
                "run(int)::{lambda(int)#1}::operator()(int) const",
                "run(int)::{lambda(int)#1}::operator()",
            ),
            ("ns::operator<<(ns::out&, int)", "ns::operator<<"),
            ("ns::iterator::operator->() const", "ns::iterator::operator->"),
            ("my_operator(int)", "my_operator"),
            ("puts(char const*)@plt", "puts"),
            // Of Rust and Go.
            ("<(A, B) as core::fmt::Debug>::fmt", "<(A, B) as core::fmt::Debug>::fmt"),
            ("main.(*Tree).Walk", "main.(*Tree).Walk"),
            ("main.(*Tree).Walk.func1", "main.(*Tree).Walk.func1"),
            ("spin(", "spin("),
            (")((", ")(("),
        ];
        for (name, wanted) in cases {
            assert_eq!(without_parameters(name), wanted);
        }
    }
}
