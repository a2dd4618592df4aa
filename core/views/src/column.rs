//! Columns that cross to the page as typed arrays.

use std::ops::{Deref, DerefMut};

/// Values of one kind, one for each row. To the page they cross as one block, a typed array; where there is
/// no page they are a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column<T>(Vec<T>);

// Named as what they are in TypeScript, since types that are generated for it have the names of fields' types.

/// Flags, kinds.
pub type Uint8Array = Column<u8>;
/// Depths.
pub type Uint16Array = Column<u16>;
/// Numbers of call nodes, functions, DSOs.
pub type Uint32Array = Column<u32>;
/// Addresses.
pub type BigUint64Array = Column<u64>;
/// Steps of a scale with two sides.
pub type Int8Array = Column<i8>;
/// Pixels, and weights that are only drawn.
pub type Float32Array = Column<f32>;
/// Weights, counts, times.
pub type Float64Array = Column<f64>;

impl<T> Deref for Column<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Column<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Self {
        Self(values)
    }
}

impl<T> FromIterator<T> for Column<T> {
    fn from_iter<Values: IntoIterator<Item = T>>(values: Values) -> Self {
        Self(values.into_iter().collect())
    }
}

#[cfg(not(all(feature = "typescript", target_family = "wasm")))]
impl<T: serde::Serialize> serde::Serialize for Column<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

#[cfg(all(feature = "typescript", target_family = "wasm"))]
mod page {
    use super::Column;
    use wasm_bindgen::JsCast;

    /// What there are typed arrays of.
    pub trait Element: Sized {
        type Array: JsCast + for<'a> From<&'a [Self]>;
    }

    impl Element for u8 {
        type Array = js_sys::Uint8Array;
    }

    impl Element for u16 {
        type Array = js_sys::Uint16Array;
    }

    impl Element for u32 {
        type Array = js_sys::Uint32Array;
    }

    impl Element for u64 {
        type Array = js_sys::BigUint64Array;
    }

    impl Element for i8 {
        type Array = js_sys::Int8Array;
    }

    impl Element for f32 {
        type Array = js_sys::Float32Array;
    }

    impl Element for f64 {
        type Array = js_sys::Float64Array;
    }

    /// A copy: a view of WebAssembly's memory would be torn away when that memory grows.
    impl<T: Element> serde::Serialize for Column<T> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serde_wasm_bindgen::preserve::serialize(&T::Array::from(&self.0[..]), serializer)
        }
    }
}
