//! Tables as linkers wrote them for a program that calls four functions; of each the header, where it
//! has one, and two entries. What an entry reads is as `objdump -d` shows it.

use super::*;

/// A table of code at an address, and the entries in it: where each begins and ends, and its slot.
struct Case {
    name: &'static str,
    machine: Machine,
    address: u64,
    code: &'static str,
    entries: &'static [(u64, u64, u64)],
}

const CASES: &[Case] = &[
    Case {
        name: "ld.bfd",
        machine: elf::EM_X86_64,
        address: 0x40_1000,
        code: "ff35ea2f0000 ff25ec2f0000 0f1f4000
               ff25ea2f0000 6800000000 e9e0ffffff
               ff25e22f0000 6801000000 e9d0ffffff",
        entries: &[(0x40_1010, 0x40_1020, 0x40_4000), (0x40_1020, 0x40_1030, 0x40_4008)],
    },
    Case {
        name: "ld.bfd, .plt.got",
        machine: elf::EM_X86_64,
        address: 0x40_1040,
        code: "ff259a2f0000 6690",
        entries: &[(0x40_1040, 0x40_1048, 0x40_3fe0)],
    },
    Case {
        name: "ld.bfd -z ibtplt, .plt.sec",
        machine: elf::EM_X86_64,
        address: 0x40_1050,
        code: "f30f1efa f2ff25a52f0000 0f1f440000
               f30f1efa ff259e2f0000 660f1f440000",
        entries: &[(0x40_1050, 0x40_1060, 0x40_4000), (0x40_1060, 0x40_1070, 0x40_4008)],
    },
    Case {
        name: "ld.bfd -z ibtplt, .plt, which calls do not come to",
        machine: elf::EM_X86_64,
        address: 0x40_1000,
        code: "ff35ea2f0000 ff25ec2f0000 0f1f4000
               f30f1efa 6800000000 f2e9e1ffffff 90",
        entries: &[],
    },
    Case {
        name: "ld.bfd, what resolves TLS descriptors at the end",
        machine: elf::EM_X86_64,
        address: 0x40_1010,
        code: "ff25ea2f0000 6800000000 e9e0ffffff
               f30f1efa ff35d62f0000 ff25a82f0000",
        entries: &[(0x40_1010, 0x40_1020, 0x40_4000)],
    },
    Case {
        name: "lld -z retpolineplt",
        machine: elf::EM_X86_64,
        address: 0x20_1410,
        code: "ff35c2210000 4c8b1dc3210000 e80e000000 f390 0faee8 ebf9 cccccccccccccc
               4c891c24 c3 cccccccccccccccccccccc
               4c8b1da1210000 e8e4ffffff e9d1ffffff 6800000000 e9b5ffffff cccccccccc
               4c8b1d89210000 e8c4ffffff e9b1ffffff 6801000000 e995ffffff cccccccccc",
        entries: &[(0x20_1440, 0x20_1460, 0x20_35e8), (0x20_1460, 0x20_1480, 0x20_35f0)],
    },
    Case {
        name: "lld -z retpolineplt -z now",
        machine: elf::EM_X86_64,
        address: 0x20_1420,
        code: "e80b000000 f390 0faee8 ebf9 cccccccc
               4c891c24 c3 cccccccccccccccccccccc
               4c8b1d79110000 e9d4ffffff cccccccc
               4c8b1d71110000 e9c4ffffff cccccccc",
        entries: &[(0x20_1440, 0x20_1450, 0x20_25c0), (0x20_1450, 0x20_1460, 0x20_25c8)],
    },
    Case {
        name: "mold",
        machine: elf::EM_X86_64,
        address: 0x20_1410,
        code: "f30f1efa 4153 ff35e4210000 ff25e6210000 cccccccccccccccccccccccccccc
               f30f1efa 41bb00000000 ff25d0210000
               f30f1efa 41bb01000000 ff25c8210000",
        entries: &[(0x20_1430, 0x20_1440, 0x20_3610), (0x20_1440, 0x20_1450, 0x20_3618)],
    },
    Case {
        name: "ld.bfd",
        machine: elf::EM_386,
        address: 0x804_9000,
        code: "ff35f8bf0408 ff25fcbf0408 00000000
               ff2500c00408 6800000000 e9e0ffffff
               ff2504c00408 6808000000 e9d0ffffff",
        entries: &[(0x804_9010, 0x804_9020, 0x804_c000), (0x804_9020, 0x804_9030, 0x804_c004)],
    },
    Case {
        name: "ld.bfd -pie",
        machine: elf::EM_386,
        address: 0x1000,
        code: "ffb304000000 ffa308000000 00000000
               ffa30c000000 6800000000 e9e0ffffff
               ffa310000000 6808000000 e9d0ffffff",
        entries: &[(0x1010, 0x1020, 0x4000), (0x1020, 0x1030, 0x4004)],
    },
    Case {
        name: "lld -z retpolineplt",
        machine: elf::EM_386,
        address: 0x40_12f0,
        code: "ff352c344000 50 a130344000 e80f000000 f390 0faee8 ebf9 cccccccccccccccc
               890c24 8b4c2404 89442404 89c8 59 c3 cc
               50 a134344000 e8e5ffffff e9d1ffffff 6800000000 e9b6ffffff cccccccccccc
               50 a138344000 e8c5ffffff e9b1ffffff 6808000000 e996ffffff cccccccccccc",
        entries: &[(0x40_1320, 0x40_1340, 0x40_3434), (0x40_1340, 0x40_1360, 0x40_3438)],
    },
    Case {
        name: "lld -z retpolineplt -pie",
        machine: elf::EM_386,
        address: 0x12f0,
        code: "ffb304000000 50 8b8308000000 e80e000000 f390 0faee8 ebf9 cccccccccccccc
               890c24 8b4c2404 89442404 89c8 59 c3 cc
               50 8b830c000000 e8e4ffffff e9d1ffffff 6800000000 e9b5ffffff cccccccccc
               50 8b8310000000 e8c4ffffff e9b1ffffff 6808000000 e995ffffff cccccccccc",
        entries: &[(0x1320, 0x1340, 0x4000), (0x1340, 0x1360, 0x4004)],
    },
    Case {
        name: "mold",
        machine: elf::EM_386,
        address: 0x20_12c0,
        code: "f30f1efb 51 b90c342000 ff31 ff6104 cc
               f30f1efb b900000000 ff2514342000 cc
               f30f1efb b908000000 ff2518342000 cc",
        entries: &[(0x20_12d0, 0x20_12e0, 0x20_3414), (0x20_12e0, 0x20_12f0, 0x20_3418)],
    },
    Case {
        name: "ld.bfd",
        machine: elf::EM_AARCH64,
        address: 0x40_0360,
        code: "f07bbfa9 f00000f0 11fe47f9 10e23f91 20021fd6 1f2003d5 1f2003d5 1f2003d5
               10010090 110240f9 10020091 20021fd6
               10010090 110640f9 10220091 20021fd6",
        entries: &[(0x40_0380, 0x40_0390, 0x42_0000), (0x40_0390, 0x40_03a0, 0x42_0008)],
    },
    Case {
        name: "ld.bfd -z force-bti",
        machine: elf::EM_AARCH64,
        address: 0x40_03f0,
        code: "5f2403d5 f07bbfa9 f00000f0 11fe47f9 10e23f91 20021fd6 1f2003d5 1f2003d5
               5f2403d5 10010090 110240f9 10020091 20021fd6 1f2003d5
               5f2403d5 10010090 110640f9 10220091 20021fd6 1f2003d5",
        entries: &[(0x40_0410, 0x40_0428, 0x42_0000), (0x40_0428, 0x40_0440, 0x42_0008)],
    },
    Case {
        name: "lld -z pac-plt",
        machine: elf::EM_AARCH64,
        address: 0x21_0490,
        code: "f07bbfa9 10010090 112243f9 10021991 20021fd6 1f2003d5 1f2003d5 1f2003d5
               10010090 112643f9 10221991 9f2103d5 20021fd6 1f2003d5
               10010090 112a43f9 10421991 9f2103d5 20021fd6 1f2003d5",
        entries: &[(0x21_04b0, 0x21_04c8, 0x23_0648), (0x21_04c8, 0x21_04e0, 0x23_0650)],
    },
    Case {
        name: "mold, .plt.got",
        machine: elf::EM_AARCH64,
        address: 0x21_0460,
        code: "90000090 111243f9 20021fd6 1f2003d5",
        entries: &[(0x21_0460, 0x21_0470, 0x22_0620)],
    },
    Case {
        name: "ld.bfd",
        machine: elf::EM_ARM,
        address: 0x1_0250,
        code: "04e02de5 04e09fe5 0ee08fe0 08f0bee5 a01d0000
               00c68fe2 01ca8ce2 a0fdbce5
               00c68fe2 01ca8ce2 98fdbce5",
        entries: &[(0x1_0264, 0x1_0270, 0x1_200c), (0x1_0270, 0x1_027c, 0x1_2010)],
    },
    Case {
        name: "ld.bfd, for callers in Thumb state",
        machine: elf::EM_ARM,
        address: 0x1_0260,
        code: "78 47 c0 46 00c68fe2 01ca8ce2 a0fdbce5",
        entries: &[(0x1_0260, 0x1_0270, 0x1_200c)],
    },
    Case {
        name: "ld.bfd --long-plt",
        machine: elf::EM_ARM,
        address: 0x1_0254,
        code: "04e02de5 04e09fe5 0ee08fe0 08f0bee5 9c1d0000
               00c28fe2 00c68ce2 01ca8ce2 9cfdbce5
               00c28fe2 00c68ce2 01ca8ce2 90fdbce5",
        entries: &[(0x1_0268, 0x1_0278, 0x1_200c), (0x1_0278, 0x1_0288, 0x1_2010)],
    },
    Case {
        name: "ld.bfd",
        machine: elf::EM_RISCV,
        address: 0x1_03c0,
        code: "97230000 3303c341 03be03c4 130343fd 938203c4 13531300 83b28200 67000e00
               172e0000 033e0ec3 67030e00 13000000
               172e0000 033e8ec2 67030e00 13000000",
        entries: &[(0x1_03e0, 0x1_03f0, 0x1_2010), (0x1_03f0, 0x1_0400, 0x1_2018)],
    },
    Case {
        // As lld's LoongArch.cpp and the psABI have it: 0x10000 + (2 << 12) + 0x10.
        name: "lld",
        machine: elf::EM_LOONGARCH,
        address: 0x1_0000,
        code: "4f00001c ef41c028 ed01004c 00004003",
        entries: &[(0x1_0000, 0x1_0010, 0x1_2010)],
    },
    Case {
        name: "ld.bfd",
        machine: elf::EM_S390,
        address: 0x100_0380,
        code: "e310f0380024 c01000000e2d d207f0301008 e31010100004 07f1 0700 0700 0700
               c01000000e30 e31010000004 07f1 0d10 e310100c0014 c0f4ffffffe5 00000000
               c01000000e24 e31010000004 07f1 0d10 e310100c0014 c0f4ffffffd5 00000018",
        entries: &[(0x100_03a0, 0x100_03c0, 0x100_2000), (0x100_03c0, 0x100_03e0, 0x100_2008)],
    },
];

/// Where `ebx` points in the cases that use it.
const GOT_386: u64 = 0x3ff4;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

fn jumps(machine: Machine, address: u64, code: &[u8]) -> Vec<Jump> {
    let elf = Elf {
        class: match machine {
            elf::EM_386 | elf::EM_ARM => Class::Elf32,
            _ => Class::Elf64,
        },
        endian: object::Endianness::Little,
        kind: elf::ET_DYN,
        machine,
        entry: 0,
        segments: Vec::new(),
        sections: Vec::new(),
        end: 0,
    };
    Table { elf: &elf, code, address }.jumps(Some(GOT_386))
}

#[test]
fn an_entry_reads_its_own_slot_whatever_the_linker() {
    for Case { name, machine, address, code, entries } in CASES {
        let mut jumps = jumps(*machine, *address, &bytes(code));
        // Headers read slots too, but no relocation writes into those.
        jumps.retain(|jump| !is_of_header(entries, jump));
        let found: Vec<_> = jumps.iter().map(|jump| (jump.start, jump.end, jump.slot)).collect();
        assert_eq!(found, *entries, "{machine:?} {name}: {found:x?}");
    }
}

/// What a header or a trampoline reads lies in front of the slots of all entries.
fn is_of_header(entries: &[(u64, u64, u64)], jump: &Jump) -> bool {
    entries.iter().all(|&(_, _, slot)| jump.slot < slot)
}

#[test]
fn what_is_not_understood_ends_a_table_for_x86() {
    // An entry, an instruction that no linker writes, an entry.
    let code = bytes("ff25ea2f0000 6800000000 e9e0ffffff 0f0b ff25e22f0000");
    let found = jumps(elf::EM_X86_64, 0x40_1010, &code);
    assert_eq!(found.iter().map(|jump| jump.end).collect::<Vec<_>>(), [0x40_1020]);
    // A slot that is loaded, and not jumped to.
    assert_eq!(jumps(elf::EM_X86_64, 0x40_1010, &bytes("4c8b1d79110000 cccccccc")), []);
}

#[test]
fn no_code_is_read_past_its_end() {
    for Case { machine, address, code, .. } in CASES {
        let code = bytes(code);
        for length in 0..code.len() {
            let end = address + length as u64;
            assert!(jumps(*machine, *address, &code[..length]).iter().all(|jump| jump.end <= end));
        }
        // At the end of the address space nothing overflows.
        jumps(*machine, u64::MAX - 20, &code);
    }
}
