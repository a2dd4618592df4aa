//! Work that is let go of in the middle and goes on where it was: a future that waits for nothing but
//! its next slice, polled by whoever wants it done.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// How much more may be done before work rests. The worker and who polls it share one.
#[derive(Clone, Default)]
pub(super) struct Slice(Rc<Cell<usize>>);

impl Slice {
    /// Work that is done at once.
    pub fn endless() -> Self {
        Self(Rc::new(Cell::new(usize::MAX)))
    }

    /// So much may be done.
    pub fn begin(&self, count: usize) {
        self.0.set(count.max(1));
    }

    /// One more was done.
    pub fn count(&self) {
        self.0.set(self.0.get().saturating_sub(1));
    }

    /// Waits for the next slice if this one is over.
    pub async fn rest(&self) {
        let is_over = || self.0.get() == 0;
        poll_fn(|_| if is_over() { Poll::Pending } else { Poll::Ready(()) }).await;
    }
}

/// Goes on until the slice is over; what came of it, when it is done.
pub(super) fn poll<T>(work: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Option<T> {
    // Nobody has to be woken: who began a slice polls.
    match work.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}
