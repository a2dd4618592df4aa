use super::*;

const LITTLE: Producer = Producer { order: ByteOrder::Little, long_size: 8 };
const BIG_32: Producer = Producer { order: ByteOrder::Big, long_size: 4 };

const MIXED: &str = "name: mixed
ID: 4711
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:const char * filename;\toffset:28;\tsize:8;\tsigned:0;
\tfield:unsigned long args[3];\toffset:36;\tsize:24;\tsigned:0;
\tfield:__data_loc char[] path;\toffset:60;\tsize:4;\tsigned:0;
\tfield:__rel_loc unsigned short[] words;\toffset:64;\tsize:4;\tsigned:0;
\tfield:u8 mac[4];\toffset:68;\tsize:4;\tsigned:0;
\tfield:struct pair pair;\toffset:72;\tsize:3;\tsigned:0;

print fmt: \"field:int no_field; offset:0; size:4;\", REC->comm
";

fn format(text: &str, producer: Producer) -> EventFormat {
    EventFormat::parse("group", text, producer).expect("it has an id and a name")
}

fn shown(format: &EventFormat, name: &str, raw: &[u8]) -> Option<String> {
    format.field(name).expect("it is described").read(raw).map(|value| value.to_string())
}

#[test]
fn every_kind_of_field_is_read_where_its_description_says() {
    let format = format(MIXED, LITTLE);
    assert_eq!((format.id, format.event_name().as_str()), (4711, "group:mixed"));
    assert_eq!(format.fields.len(), 10);
    assert_eq!(format.own_fields().count(), 8);

    let mut raw = vec![0; 75];
    raw[8..13].copy_from_slice(b"bash\0");
    raw[24..28].copy_from_slice(&(-5i32).to_le_bytes());
    raw[28..36].copy_from_slice(&0xffff_8000_0000_0001u64.to_le_bytes());
    for (index, argument) in [1u64, 2, u64::MAX].into_iter().enumerate() {
        raw[36 + 8 * index..][..8].copy_from_slice(&argument.to_le_bytes());
    }
    raw[68..72].copy_from_slice(&[0xde, 0xad, 0xbe, 0xef]);
    raw[72..75].copy_from_slice(&[1, 2, 3]);
    // Offset in the low half, length in the high one; the second counts from its own end.
    raw[60..64].copy_from_slice(&(75u32 | 5 << 16).to_le_bytes());
    raw.extend_from_slice(b"/etc\0");
    raw[64..68].copy_from_slice(&((80u32 - 68) | 4 << 16).to_le_bytes());
    raw.extend_from_slice(&[7, 0, 0, 1]);

    let expected = [
        ("comm", "bash"),
        ("pid", "-5"),
        ("filename", "18446603336221196289"),
        ("args", "1,2,18446744073709551615"),
        ("path", "/etc"),
        ("words", "7,256"),
        ("mac", "deadbeef"),
        ("pair", "010203"),
    ];
    for (name, value) in expected {
        assert_eq!(shown(&format, name, &raw).as_deref(), Some(value), "{name}");
    }
    let types: Vec<&str> = format.own_fields().map(|field| field.type_name.as_str()).collect();
    let char_types = ["char[16]", "pid_t", "const char *", "unsigned long[3]"];
    assert_eq!(types[..4], char_types);
    assert_eq!(types[4..6], ["__data_loc char[]", "__rel_loc unsigned short[]"]);
}

#[test]
fn the_producer_decides_about_order_and_long() {
    let text = "name: f\nID: 1\n\
                field:int a; offset:0; size:4; signed:1;\n\
                field:__data_loc unsigned long[] mask; offset:4; size:4; signed:0;\n";
    let format = format(text, BIG_32);
    let mut raw = 0x0102_0304u32.to_be_bytes().to_vec();
    raw.extend_from_slice(&(8u32 | 8 << 16).to_be_bytes());
    raw.extend_from_slice(&[0, 0, 0, 9, 0, 0, 1, 0]);
    assert_eq!(shown(&format, "a", &raw).as_deref(), Some("16909060"));
    assert_eq!(shown(&format, "mask", &raw).as_deref(), Some("9,256"));
}

#[test]
fn values_outside_of_the_raw_data_are_not_there() {
    let format = format(MIXED, LITTLE);
    for length in 0..80 {
        let raw = vec![0xff; length];
        for field in &format.fields {
            let end = match field.name.as_str() {
                // Its word says 65535 bytes at 65535.
                "path" | "words" => usize::MAX,
                _ => (field.place.offset + field.place.size) as usize,
            };
            assert_eq!(field.read(&raw).is_some(), end <= length, "{} of {length}", field.name);
        }
    }
}

#[test]
fn old_and_odd_descriptions_are_read() {
    let text = "name: old\nID: 7\nformat:\n\
                field:unsigned char common_flags;\toffset:2;\tsize:1;\n\
                field special:int x;\toffset:4;\tsize:4;\n\
                field:char comm[TASK_COMM_LEN];\toffset:8;\tsize:16;\n\
                field:;\toffset:0;\tsize:0;\n\
                field:lonely;\toffset:0;\tsize:4;\n\
                field:int far;\toffset:99999999999;\tsize:4;\n";
    let format = format(text, LITTLE);
    let names: Vec<&str> = format.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["common_flags", "x", "comm"]);
    let mut raw = vec![0xff; 24];
    raw[8..11].copy_from_slice(b"sh\0");
    assert_eq!(shown(&format, "common_flags", &raw).as_deref(), Some("255"));
    assert_eq!(shown(&format, "x", &raw).as_deref(), Some("-1"));
    assert_eq!(shown(&format, "comm", &raw).as_deref(), Some("sh"));
}

#[test]
fn nothing_is_made_of_a_description_without_an_id_or_a_name() {
    for text in ["", "name: x\n", "ID: 4\n", "name: x\nID: many\n", "\u{fffd}\u{fffd}\n"] {
        assert_eq!(EventFormat::parse("group", text, LITTLE), None, "{text:?}");
    }
}

#[test]
fn a_switch_is_read_by_name_whatever_the_offsets() {
    let text = "name: sched_switch\nID: 372\n\
                field:pid_t next_pid;\toffset:0;\tsize:4;\tsigned:1;\n\
                field:long prev_state;\toffset:8;\tsize:8;\tsigned:1;\n\
                field:pid_t prev_pid;\toffset:16;\tsize:4;\tsigned:1;\n\
                field:char prev_comm[16];\toffset:20;\tsize:16;\tsigned:0;\n";
    let format = format(text, LITTLE);
    let fields = SchedSwitchFields::of(&format).expect("it is a switch");
    let mut raw = vec![0; 36];
    raw[0..4].copy_from_slice(&12u32.to_le_bytes());
    raw[8..16].copy_from_slice(&2u64.to_le_bytes());
    raw[16..20].copy_from_slice(&34u32.to_le_bytes());
    raw[20..24].copy_from_slice(b"gcc\0");
    let switch = fields.read(&raw).expect("it fits");
    assert_eq!((switch.prev_tid, switch.next_tid, switch.prev_state), (34, 12, 2));
    assert_eq!((switch.prev_comm.as_deref(), switch.next_comm), (Some("gcc"), None));
    assert_eq!(fields.read(&raw[..19]), None);
    assert!(SchedWakeupFields::of(&format).is_none());
}
