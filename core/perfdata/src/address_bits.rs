//! What of a word is an address of user space.

/// How many bits addresses of user space have. arm64 signs return addresses in those above (`PAC`, in
/// arch/arm64/include/asm/pointer_auth.h), and kernels for phones have 39 of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressBits(u32);

impl AddressBits {
    /// Of a kernel that has no more than what this address of user space needs: libraries and the vdso are near the
    /// highest one.
    pub fn up_to(highest: u64) -> Self {
        Self((64 - highest.leading_zeros()).clamp(36, 52))
    }

    /// The address in a word that may be signed.
    pub fn of(self, word: u64) -> u64 {
        word & ((1 << self.0) - 1)
    }
}
