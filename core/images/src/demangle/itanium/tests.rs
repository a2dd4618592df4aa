//! What `c++filt --no-verbose` of binutils 2.40 writes for each form of the grammar; the names of real libraries are
//! in the tests beside perf.

use super::{ReturnType, demangle};

const LIMIT: usize = 4096;

fn shown(mangled: &str) -> Option<String> {
    demangle(mangled, ReturnType::Shown, LIMIT).map(|(text, _)| text)
}

#[test]
fn each_form_reads_as_cppfilt_writes_it() {
    for (mangled, expected) in [
        ("_ZN3FoocvT_IiEEv", "Foo::operator int<int>()"),
        ("_ZN3FooIcEcvT_IiEEv", "Foo<char>::operator int<int>()"),
        ("_Z1fRA10_Kc", "f(char const (&) [10])"),
        ("_Z1fPFPFviEcE", "f(void (*(*)(char))(int))"),
        ("_Z1fM3FooKFivE", "f(int (Foo::*)() const)"),
        ("_Z1fA2_A3_i", "f(int [2][3])"),
        ("_Z1fPA3_i", "f(int (*) [3])"),
        ("_Z1fIiEPFvT_Ei", "void (*f<int>(int))(int)"),
        ("_Z1fIJicEEvDpT_", "void f<int, char>(int, char)"),
        ("_Z1fIJicEEvDpRKT_", "void f<int, char>(int const&, char const&)"),
        ("_Z1fIJEEvDpT_", "void f<>()"),
        ("_Z1fILj8EEvv", "void f<8u>()"),
        (
            "_ZZ4mainENKUlT_E_clIiEEDaS_",
            "auto main::{lambda(auto:1)#1}::operator()<int>(int) const",
        ),
        ("_ZUt_", "{unnamed type#1}"),
        ("_Z1fDv4_f", "f(float __vector(4))"),
        ("_Z1fU9enable_ifi", "f(int enable_if)"),
        ("_ZlsRSoRKSs", "operator<<(std::ostream&, std::string const&)"),
        (
            "_ZNSsC1EPKc",
            "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::basic_string(char const*)",
        ),
        ("_Zli2_sPKcm", "operator\"\" _s(char const*, unsigned long)"),
        ("_Z1fILi3EEvRAplT_Li1E_i", "void f<3>(int (&) [(3)+(1)])"),
        ("_ZSt4swapIiEvRT_S1_", "void std::swap<int>(int&, int&)"),
        ("_ZTCN1DE0_1B", "construction vtable for B-in-D"),
        ("_ZThn16_N1D1fEv", "non-virtual thunk to D::f()"),
        ("_ZTv0_n24_N1D1fEv", "virtual thunk to D::f()"),
        ("_ZTchn16_v0_n24_N1D1fEv", "covariant return thunk to D::f()"),
        ("_ZGVZ1fvE1x", "guard variable for f()::x"),
        ("_ZZ1fvE1x_0", "f()::x"),
        ("_ZZ1fvEs", "f()::string literal"),
        ("_ZZ1fiENKUlvE_clEv", "f(int)::{lambda()#1}::operator()() const"),
        ("_ZZ1fiEd_NKUlvE_clEv", "f(int)::{default arg#1}::{lambda()#1}::operator()() const"),
        ("_GLOBAL__I__Z3foov", "global constructors keyed to foo()"),
        ("_GLOBAL__D_a", "global destructors keyed to a"),
        ("_Z1fDn", "f(decltype(nullptr))"),
        ("_Z1fDi", "f(char32_t)"),
        ("_Z1fDF16_", "f(_Float16)"),
        ("_Z1fDF16b", "f(std::bfloat16_t)"),
        ("_ZN1fB5cxx11Ev", "f[abi:cxx11]()"),
        ("_ZNKR1A1fEv", "A::f() const &"),
        ("_ZNO1A1fEv", "A::f() &&"),
        ("_Z1fPDoFvvE", "f(void (*)() noexcept)"),
        ("_Z1fCf", "f(float _Complex)"),
        ("_Z1fz", "f(...)"),
        ("_Z1fIiEDTcvT_fp_ET_", "decltype ((int){parm#1}) f<int>(int)"),
        ("_ZNSt8ios_base4InitC1Ev", "std::ios_base::Init::Init()"),
        ("_ZNSt3mapIKiSsE1fEv", "std::map<int const, std::string>::f()"),
        ("_Z1fILb1ELc97ELm3EE1xv", "x f<true, (char)97, 3ul>()"),
        ("_Z1fIL_Z1gvEEvv", "void f<g()>()"),
        ("_Z1fIXadL_Z1gvEEEvv", "void f<&(g())>()"),
        ("_Z1fIXadL_ZN1A1gEvEEEvv", "void f<&A::g>()"),
        ("_ZN1AIJiEE1BIJcEE1fEv", "A<int>::B<char>::f()"),
        ("_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()"),
        ("_Z3fooIiEvT_.constprop.0.cold", "void foo<int>(int) [clone .constprop.0] [clone .cold]"),
        ("_ZDC1a1bE", "[a, b]"),
        ("_Z1fILd3ff0000000000000EEvv", "void f<(double)[3ff0000000000000]>()"),
        ("_Z1fIJicEEvDpPFvT_E", "void f<int, char>(void (*)(int), void (*)(char))"),
        ("_Z1fPKPVi", "f(int volatile* const*)"),
        ("_Z1fPrKi", "f(int const restrict*)"),
        ("_Z1fILin3EEvv", "void f<-3>()"),
        ("_ZNSaIcED1Ev", "std::allocator<char>::~allocator()"),
        (
            "_Z1fIiEvNSt9enable_ifIXsr3fooIT_EE3barEiE4typeE",
            "void f<int>(std::enable_if<foo<int>::bar, int>::type)",
        ),
        (
            "_Z1fIiEvNSt9enable_ifIXntsr3std11is_integralIT_EE5valueEiE4typeE",
            "void f<int>(std::enable_if<!std::is_integral<int>::value, int>::type)",
        ),
    ] {
        assert_eq!(shown(mangled).as_deref(), Some(expected), "{mangled}");
    }
}

/// Others have written `AnalysisManager<llvm::Function, >`. c++filt 2.40 leaves the comma behind a first
/// pack, and the space in front of a last one.
#[test]
fn an_empty_pack_leaves_no_comma() {
    for (mangled, expected) in [
        (
            "_ZN4llvm15AnalysisManagerINS_8FunctionEJEE5clearEv",
            "llvm::AnalysisManager<llvm::Function>::clear()",
        ),
        ("_ZN1AIJEiE1fEv", "A<int>::f()"),
        ("_ZN1AIiJEcE1fEv", "A<int, char>::f()"),
        ("_ZN1AI1BIiEJEE1fEv", "A<B<int> >::f()"),
        ("_Z1fIJEEviDpT_", "void f<>(int)"),
    ] {
        assert_eq!(shown(mangled).as_deref(), Some(expected), "{mangled}");
    }
}

#[test]
fn what_cppfilt_cannot_read_follows_the_abi() {
    for (mangled, expected) in [
        ("_Z1fDB8_", "f(_BitInt(8))"),
        ("_Z1fIiQsr3stdE10integral_vIT_EEvS0_", "void f<int>(int)"),
        ("_Z1fITnDaLi3EEvv", "void f<3>()"),
        ("_ZZ1fvENKUlTyT_E_clIiEEDaS_", "auto f()::{lambda(auto:1)#1}::operator()<int>(int) const"),
        ("_ZL4data.llvm.123", "data [clone .llvm.123]"),
    ] {
        assert_eq!(shown(mangled).as_deref(), Some(expected), "{mangled}");
    }
}

#[test]
fn what_is_no_name_stays() {
    for text in [
        "",
        "_",
        "_Z",
        "_ZZ",
        "_ZN",
        "_ZNE",
        "_Z1",
        "_Z2a",
        "_Z1a!",
        "_Z1fT_",
        "_Z1fS_",
        "_Z1fS0_",
        "_Z1fi.",
        "_ZTV",
        "_ZGR",
        "_ZSt",
        "_Z18446744073709551616f",
        "_ZZ1fvE1x_é",
        "_Z1f\u{e9}v",
        "_ZUlvE18446744073709551614_",
        "_Z1fIXfLplEEvv",
        "main",
        "_GLOBAL_",
        "_GLOBAL__I",
    ] {
        assert_eq!(shown(text), None, "{text}");
    }
}

#[test]
fn hostile_names_end() {
    let pairs: String = (0..60).map(|n| format!("St4pairIS{0}_S{0}_E", base36(n))).collect();
    let names = [
        // Each pair refers twice to the one before: 2^60.
        format!("_Z1fSt4pairIiiE{pairs}"),
        format!("_Z1f{}i", "P".repeat(16_000)),
        format!("_Z1f{}i{}", "1aI".repeat(5_000), "E".repeat(5_000)),
        format!("_Z{}1fvE1x", "Z".repeat(16_000)),
        // Each `sr` can be read in two ways.
        format!("_Z1fIXsrN{}EEvv", "srN".repeat(5_000)),
        format!("_Z1fIiEDT{}EvT_", "srT_".repeat(4_000)),
        format!("_ZN1Acv{}IiEEv", "T_I".repeat(5_000)),
        // Packs in packs.
        format!("_Z1fIJ{}EEv{}T_", "i".repeat(5_000), "Dp".repeat(100)),
        format!("_Z1fIJ{}EEv{}", "i".repeat(2_000), "DpSt4pairIT_T_E".repeat(900)),
        // Arguments that mention parameters of the template that they are for.
        format!("_Z1fI{}EvT_", "T_".repeat(5_000)),
        format!("_Z1fIPT_ES0_{}", "T_".repeat(5_000)),
    ];
    for name in names {
        let text = demangle(&name, ReturnType::Shown, LIMIT).map(|(text, _)| text);
        assert!(text.is_none_or(|text| text.len() <= LIMIT + "…".len()));
    }
}

/// `n`th of `_`, `0_`, … `9_`, `A_`, ….
fn base36(number: u32) -> String {
    let digit = |n: u32| char::from_digit(n, 36).unwrap().to_ascii_uppercase();
    match number {
        0 => String::new(),
        n if n <= 36 => digit(n - 1).to_string(),
        n => format!("{}{}", digit((n - 1) / 36), digit((n - 1) % 36)),
    }
}
