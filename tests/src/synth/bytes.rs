//! Numbers and texts as a recorder of either byte order lays them down.

/// Byte order of the machine that records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Least significant byte first: x86, arm64, riscv.
    Little,
    /// Most significant byte first: s390x, old PowerPC, MIPS.
    Big,
}

/// Bytes that grow.
#[derive(Clone, Debug)]
pub struct Bytes {
    order: Order,
    bytes: Vec<u8>,
}

macro_rules! numbers {
    ($($name:ident: $number:ty),*) => {
        $(
            /// A number in the recorder's byte order.
            pub fn $name(&mut self, number: $number) -> &mut Self {
                self.bytes.extend(match self.order {
                    Order::Little => number.to_le_bytes(),
                    Order::Big => number.to_be_bytes(),
                });
                self
            }
        )*
    };
}

impl Bytes {
    /// None yet.
    pub fn new(order: Order) -> Self {
        Self { order, bytes: Vec::new() }
    }

    numbers!(u16: u16, u32: u32, u64: u64, i32: i32, f64: f64);

    /// One byte.
    pub fn u8(&mut self, byte: u8) -> &mut Self {
        self.raw(&[byte])
    }

    /// Several numbers of eight bytes.
    pub fn u64s(&mut self, numbers: &[u64]) -> &mut Self {
        numbers.iter().for_each(|&number| _ = self.u64(number));
        self
    }

    /// Bytes that have no order.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }

    /// Zeros.
    pub fn zeros(&mut self, count: usize) -> &mut Self {
        self.bytes.resize(self.bytes.len() + count, 0);
        self
    }

    /// Zeros until the length is a multiple of `unit`.
    pub fn pad(&mut self, unit: usize) -> &mut Self {
        self.bytes.resize(self.bytes.len().next_multiple_of(unit), 0);
        self
    }

    /// A text with its NUL, then zeros to a multiple of eight.
    pub fn text(&mut self, text: &str) -> &mut Self {
        let length = (text.len() + 1).next_multiple_of(8);
        self.fixed(text, length)
    }

    /// A text in a field of `length` bytes.
    pub fn fixed(&mut self, text: &str, length: usize) -> &mut Self {
        assert!(text.len() <= length, "{text:?} is longer than {length}");
        self.raw(text.as_bytes()).zeros(length - text.len())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes so far; none are left.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// The byte order.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Bytes of the same order, none yet.
    pub fn fresh(&self) -> Self {
        Self::new(self.order)
    }
}
