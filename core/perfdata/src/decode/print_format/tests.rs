use super::*;
use crate::decode::ByteOrder;
use crate::decode::event_format::Producer;

const LITTLE: Producer = Producer { order: ByteOrder::Little, long_size: 8 };

/// A tracepoint with a number of each kind, a text in place, one elsewhere, and this print format.
fn tracepoint(print: &str) -> EventFormat {
    let text = format!(
        "name: t\nID: 1\nformat:\n\
         \tfield:int number;\toffset:8;\tsize:4;\tsigned:1;\n\
         \tfield:unsigned int mask;\toffset:12;\tsize:4;\tsigned:0;\n\
         \tfield:unsigned long address;\toffset:16;\tsize:8;\tsigned:0;\n\
         \tfield:char comm[8];\toffset:24;\tsize:8;\tsigned:0;\n\
         \tfield:u8 bytes[4];\toffset:32;\tsize:4;\tsigned:0;\n\
         \tfield:__data_loc char[] path;\toffset:36;\tsize:4;\tsigned:0;\n\n\
         print fmt: {print}\n"
    );
    EventFormat::parse("group", &text, LITTLE).expect("it has an id and a name")
}

fn raw(number: i32, mask: u32, address: u64) -> Vec<u8> {
    let mut raw = vec![0; 8];
    raw.extend(number.to_le_bytes());
    raw.extend(mask.to_le_bytes());
    raw.extend(address.to_le_bytes());
    raw.extend(b"bash\0\0\0\0");
    raw.extend([0xde, 0xad, 0, 1]);
    raw.extend((40_u32 | 5 << 16).to_le_bytes());
    raw.extend(b"/etc\0");
    raw
}

fn said(print: &str, raw: &[u8]) -> Option<String> {
    let mut text = String::new();
    let function_at = |address| (address == 0xffff_8000).then(|| ("work".to_owned(), 0x1a));
    PrintFormat::of(&tracepoint(print))?.write(raw, &function_at, &mut text);
    Some(text)
}

/// Expectations are those of the C that the kernel compiles these to.
#[test]
fn arguments_are_computed_as_c_does() {
    let raw = raw(-5, 0x8000_0003, 0xffff_8000);
    for (print, expected) in [
        (r#""plain 100%%""#, "plain 100%"),
        (
            r#""n=%d m=%u c=%s p=%s", REC->number, REC->mask, REC->comm, __get_str(path)"#,
            "n=-5 m=2147483651 c=bash p=/etc",
        ),
        (r#""%5d|%-5d|%05d|%+d|%03d", REC->number, 7, 7, 7, 1234"#, "   -5|7    |00007|+7|1234"),
        (
            r#""%x %#x %08lx %lX %o %#o", 255, 255, ((unsigned long)(REC->address)), 0xabUL, 8, 8"#,
            "ff 0xff ffff8000 AB 10 010",
        ),
        (r#""%lx %x", (long)REC->number, REC->number"#, "fffffffffffffffb fffffffb"),
        (r#""%hhu %hx %lld", 511, 0x12345, (long long)REC->number"#, "255 2345 -5"),
        (r#""%s", REC->number < 0 ? "below" : "above""#, "below"),
        (r#""%s", REC->mask - 1 > 0 && !REC->number ? "yes" : "n" "o""#, "no"),
        (r#""%d", 1 + 2 * 3 << 1 | 16"#, "30"),
        (r#""%d %d", -7 / 2, (0 - 7) % 4"#, "-3 -3"),
        (
            r#""%d,%d", ((unsigned int) ((REC->mask) >> 20)), ((unsigned int) ((REC->mask) & ((1U << 20) - 1)))"#,
            "2048,3",
        ),
        (r#""%lu", REC->address != -1UL ? REC->address : 0"#, "4294934528"),
        (r#""%x", (u8)REC->mask | ~0xffffff0f & 0xf0"#, "f3"),
        (
            r#""%pS %ps %p %p", (void *)REC->address, REC->address, (void *)0, REC->address"#,
            "work+0x1a work (nil) 0xffff8000",
        ),
        (r#""%pS", (void *)REC->mask"#, "0x80000003"),
        (r#""%.*s|%*d|%.2s", 3, REC->comm, 4, 9, REC->comm"#, "bas|   9|ba"),
        (r#""%d %02x", REC->bytes[1], REC->bytes[2]"#, "173 00"),
        (
            r#""%s %s", __print_hex(REC->bytes, 4), __print_hex_str(REC->bytes, 2)"#,
            "de ad 00 01 dead",
        ),
        (r#""%d", __get_dynamic_array_len(path)"#, "5"),
        (r#""%c%c", 'a', 98"#, "ab"),
    ] {
        assert_eq!(said(print, &raw).as_deref(), Some(expected), "{print}");
    }
}

#[test]
fn flags_and_symbols_have_names() {
    let flags = r#""%s", __print_flags(REC->mask, "|", { 1, "S" }, { 0x2UL, "D" }, { (1 << 4), "T" }, { 0, ((void *)0) })"#;
    let symbol = r#""%s", __print_symbolic(REC->mask, { 0, "FILE" }, { 1, "ANON" })"#;
    for (print, mask, expected) in [
        (flags, 0, ""),
        (flags, 3, "S|D"),
        (flags, 0x112, "D|T|0x100"),
        (symbol, 1, "ANON"),
        (symbol, 7, "0x7"),
    ] {
        assert_eq!(said(print, &raw(0, mask, 0)).as_deref(), Some(expected), "{print} {mask}");
    }
    let state = r#""%s%s", (REC->mask & ((1 << 8) - 1)) ? __print_flags(REC->mask & 255, "|", { 1, "S" }) : "R", REC->mask & 256 ? "+" : """#;
    assert_eq!(said(state, &raw(0, 0x100, 0)).as_deref(), Some("R+"));
    assert_eq!(said(state, &raw(0, 1, 0)).as_deref(), Some("S"));
}

#[test]
fn what_is_not_known_is_a_question_mark() {
    for (print, expected) in [
        (
            r#""page=%p pfn=%d", (((struct page *)vmemmap_base) + (REC->number)), REC->number"#,
            "page=? pfn=2",
        ),
        (r#""%d %s", jiffies_to_msecs(REC->number), REC->gone"#, "? ?"),
        (r#""%pI4 %pUb", REC->bytes, REC->bytes"#, "? ?"),
        (r#""%d %d", REC->number"#, "2 ?"),
        (r#""%d", REC->number / 0"#, "?"),
        (r#""%d", 1 << 64"#, "?"),
        (r#""%s", REC->gone ? "a" : "b""#, "?"),
    ] {
        assert_eq!(said(print, &raw(2, 0, 0)).as_deref(), Some(expected), "{print}");
    }
    // A sample that is too short.
    assert_eq!(said(r#""%d %s", REC->number, __get_str(path)"#, &[]).as_deref(), Some("? ?"));
}

#[test]
fn hostile_formats_are_refused_or_bounded() {
    let deep = |bracket: &str, count: usize| format!("\"%d\", {}1", bracket.repeat(count));
    for print in [
        "".to_owned(),
        "no text".to_owned(),
        r#""open"#.to_owned(),
        r#""%d", (1"#.to_owned(),
        r#""%d" 1"#.to_owned(),
        r#""%"#.to_owned(),
        r#""%d", 1 +"#.to_owned(),
        r#""%d", 99999999999999999999"#.to_owned(),
        r#""%s", __print_flags(1, "|", {"#.to_owned(),
        deep("(", 10_000),
        deep("!", 10_000),
        deep("1 ? ", 10_000),
        format!("\"{}\"", "a".repeat(MOST_FORMAT)),
    ] {
        assert_eq!(said(&print, &raw(1, 1, 1)), None, "{}", &print[..print.len().min(40)]);
    }
    // Long, and not deep.
    let sum = format!("\"%d\", 1{}", " + 1".repeat(10_000));
    assert_eq!(said(&sum, &raw(0, 0, 0)).as_deref(), Some("10001"));
    let wide =
        said(r#""%99999999d%099999999d%.99999999d%*d", 1, 2, 3, 1000000000, 4"#, &raw(0, 0, 0));
    assert!(wide.is_some_and(|text| text.len() <= 4096));
    let long = format!("\"{}\"{}", "%s".repeat(5_000), ", REC->comm".repeat(5_000));
    assert!(said(&long, &raw(0, 0, 0)).is_some_and(|text| text.len() <= MOST_TEXT + 3));
    // It cannot forge a line or move a cursor.
    assert_eq!(said(r#""a\nb\x1b[1m""#, &raw(0, 0, 0)).as_deref(), Some(r"a\nbx1b[1m"));
}
