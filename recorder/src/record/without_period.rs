//! Samples that lack the period which those of other events have.

use std::collections::HashSet;
use std::sync::Arc;

/// Bytes of the field.
const PERIOD_SIZE: usize = 8;

/// Ids of the counters of events without it.
#[derive(Clone, Debug, Default)]
pub struct WithoutPeriod(Arc<HashSet<u64>>);

impl WithoutPeriod {
    /// Bytes by which what stands behind the period is earlier in a sample, whose first field is its id.
    pub fn shift(&self, id: impl FnOnce() -> Option<u64>) -> usize {
        let lacks_it = !self.0.is_empty() && id().is_some_and(|id| self.0.contains(&id));
        if lacks_it { PERIOD_SIZE } else { 0 }
    }
}

impl FromIterator<u64> for WithoutPeriod {
    fn from_iter<I: IntoIterator<Item = u64>>(ids: I) -> Self {
        Self(Arc::new(ids.into_iter().collect()))
    }
}
