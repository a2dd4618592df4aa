//! Names of kernel modules, which differ between records, tables and files.

/// True if a kernel-mode entry of the build-id table is a module: `[name]` other than the
/// well-known brackets, or `.ko` and perhaps a compression's suffix.
pub fn is_module_name(name: &str) -> bool {
    if name.starts_with('[') {
        let known = ["[kernel.kallsyms]", "[guest.kernel.kallsyms", "[vdso", "[vsyscall]"];
        return !known.iter().any(|known| name.starts_with(known));
    }
    let file = name.rsplit('/').next().unwrap_or(name);
    let plain = [".gz", ".xz", ".zst"].iter().find_map(|suffix| file.strip_suffix(suffix));
    plain.unwrap_or(file).ends_with(".ko")
}

/// The name under which a module is known: `xt_nat` for `/lib/…/xt-nat.ko.xz` and `[xt_nat]`.
pub fn module_name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let file = file.trim_start_matches('[').trim_end_matches(']');
    let plain = [".gz", ".xz", ".zst"].iter().find_map(|suffix| file.strip_suffix(suffix));
    let file = plain.unwrap_or(file);
    file.strip_suffix(".ko").unwrap_or(file).replace('-', "_")
}
