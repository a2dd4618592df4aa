//! What stands between the slashes of an event: `event=0x3c,umask=1,period=1000`.

use anyhow::{Context, Result, bail};

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// What it sets, or an event's name.
    pub key: String,
    /// What it sets it to.
    pub value: Option<String>,
}

impl Term {
    /// Reads terms between commas; there may be none.
    pub fn parse_list(text: &str) -> Vec<Self> {
        let terms = text.split(',').filter(|term| !term.is_empty());
        let own = |term: &str| {
            let (key, value) = term.split_once('=').map_or((term, None), |(k, v)| (k, Some(v)));
            Self { key: key.to_owned(), value: value.map(str::to_owned) }
        };
        terms.map(own).collect()
    }

    /// Its value, in decimal or as `0x3c`. What is only named is 1, as in perf.
    pub fn number(&self) -> Result<u64> {
        let Some(text) = &self.value else { return Ok(1) };
        number(text).with_context(|| format!("{}={text}: give a number, as 60 or 0x3c", self.key))
    }

    /// Its value, which has to be above zero.
    pub fn positive(&self) -> Result<u64> {
        match self.number()? {
            0 => bail!("{}=0: give a number above zero", self.key),
            number => Ok(number),
        }
    }

    /// Its value as text, without the quotes that may be around it.
    pub fn text(&self) -> Result<&str> {
        let text = self.value.as_deref().unwrap_or_default();
        let unquoted = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
        match unquoted('\'').or_else(|| unquoted('"')).unwrap_or(text) {
            "" => bail!("{}: give a text, as {}=mine", self.key, self.key),
            text => Ok(text),
        }
    }
}

/// A number in decimal or as `0x3c`.
pub fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
