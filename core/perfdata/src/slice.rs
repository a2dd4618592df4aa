//! Work that is let go of in the middle and goes on where it was: a future that waits for nothing but
//! its next slice, polled by whoever wants it done.
//!
//! What takes long is written as an `async fn` that is given a [`Slice`], and goes through what is much in
//! parts: `while let Some(part) = slice.part(&mut rows).await`. Who wants all of it at once calls it by
//! [`at_once`]; who wants to stop it, or to do something else in between, makes a [`Work`] of it. A part is
//! what is left of a slice, so that inner loops know nothing of all this and are as fast as any.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::pin::{Pin, pin};
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

/// How much more may be done before work rests. The worker and who polls it share one.
#[derive(Clone)]
pub struct Slice {
    shared: Rc<Counts>,
    /// What counts as one to the worker, in what slices are measured in.
    unit: usize,
}

#[derive(Default)]
struct Counts {
    /// Of this slice.
    left: Cell<usize>,
    /// In slices before this one.
    done: Cell<usize>,
    /// All that there is to do, as far as that is known; else 0.
    total: Cell<usize>,
    /// Of this slice at first.
    begun: Cell<usize>,
}

impl Default for Slice {
    fn default() -> Self {
        Self { shared: Rc::default(), unit: 1 }
    }
}

impl Slice {
    /// Work that is done at once.
    pub fn endless() -> Self {
        let slice = Self::default();
        slice.begin(usize::MAX);
        slice
    }

    /// The same slice for work of which one takes as long as so many of what it is measured in.
    pub fn in_units_of(&self, unit: usize) -> Self {
        Self { shared: Rc::clone(&self.shared), unit: self.unit.saturating_mul(unit) }
    }

    /// So much may be done.
    fn begin(&self, count: usize) {
        let Counts { left, done, begun, .. } = &*self.shared;
        done.set(done.get().saturating_add(begun.get() - left.get()));
        begun.set(count.max(1));
        left.set(count.max(1));
    }

    /// One more was done.
    pub fn count(&self) {
        self.count_all(1);
    }

    /// So many more were done.
    pub fn count_all(&self, count: usize) {
        let left = &self.shared.left;
        left.set(left.get().saturating_sub(count.saturating_mul(self.unit)));
    }

    /// Ends this slice and waits for the next one: what follows is done in one go, and takes as long as one.
    pub fn next(&self) -> Rest<'_> {
        let Counts { left, begun, .. } = &*self.shared;
        // What was left is not done.
        begun.set(begun.get() - left.replace(0));
        self.rest()
    }

    /// How much may still be done, at least one.
    pub fn left(&self) -> usize {
        (self.shared.left.get() / self.unit).max(1)
    }

    /// Waits for the next slice if this one is over.
    pub fn rest(&self) -> Rest<'_> {
        Rest(self)
    }

    /// Whether nothing may be done any more before the next one.
    pub fn is_over(&self) -> bool {
        self.shared.left.get() == 0
    }

    /// Takes from the front of `all` what is next, as much as this slice has room for, and counts it;
    /// waits for the next slice first if this one is over. `None` if nothing is left.
    pub fn part<'a>(&'a self, all: &'a mut Range<usize>) -> Part<'a> {
        Part { slice: self, all }
    }

    /// Calls `step` slice after slice until it returns true. It counts down how much it may still do.
    pub async fn until(&self, mut step: impl FnMut(&mut usize) -> bool) {
        loop {
            let all = self.left();
            let mut left = all;
            let is_done = step(&mut left);
            self.count_all(all - left);
            if is_done {
                return;
            }
            self.rest().await;
        }
    }

    /// So much is still to be done, as far as that is known.
    pub fn expect(&self, count: usize) {
        let total = count.saturating_mul(self.unit).saturating_add(self.done());
        self.shared.total.set(total);
    }

    fn done(&self) -> usize {
        let Counts { left, done, begun, .. } = &*self.shared;
        done.get().saturating_add(begun.get() - left.get())
    }
}

/// [`Slice::rest`]. These two are written by hand, since each `.await` has all of what it waits for in it: as
/// `async fn`s they made a page that is a few kilobytes larger.
pub struct Rest<'a>(&'a Slice);

impl Future for Rest<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0.is_over() { Poll::Pending } else { Poll::Ready(()) }
    }
}

/// [`Slice::part`].
pub struct Part<'a> {
    slice: &'a Slice,
    all: &'a mut Range<usize>,
}

impl Future for Part<'_> {
    type Output = Option<Range<usize>>;

    #[inline(never)]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Range<usize>>> {
        let Self { slice, all } = self.get_mut();
        if all.start >= all.end {
            return Poll::Ready(None);
        }
        if slice.is_over() {
            return Poll::Pending;
        }
        let count = slice.left().min(all.len());
        slice.count_all(count);
        let from = all.start;
        all.start += count;
        Poll::Ready(Some(from..all.start))
    }
}

/// What an `async fn` works out, without a rest.
pub fn at_once<T>(work: impl AsyncFnOnce(&Slice) -> T) -> T {
    in_slices_of(usize::MAX, work)
}

/// The same in slices of so many, one after the other.
pub fn in_slices_of<T>(count: usize, work: impl AsyncFnOnce(&Slice) -> T) -> T {
    let slice = Slice::default();
    let mut work = pin!(work(&slice));
    loop {
        slice.begin(count);
        if let Some(done) = poll(work.as_mut()) {
            return done;
        }
    }
}

/// Work that is done a slice at a time. Whoever wants no more of it drops it.
pub struct Work<T> {
    /// `None` when it is done or was let go of.
    future: Rc<RefCell<Option<BoxedWork<'static, T>>>>,
    slice: Slice,
}

/// What an `async fn` that is awaited in several crates returns: else each of them has a copy of its code.
pub type BoxedWork<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Work for whoever needs back what it holds.
pub trait LetGo {
    /// Lets go of all that it holds. It is not done, and never will be.
    fn let_go(&self);
}

impl<T> LetGo for RefCell<Option<BoxedWork<'_, T>>> {
    fn let_go(&self) {
        self.take();
    }
}

impl<T: 'static> Work<T> {
    /// Nothing of it is done yet.
    pub fn new<F: Future<Output = T> + 'static>(work: impl FnOnce(Slice) -> F) -> Self {
        let slice = Slice::default();
        let future: BoxedWork<'_, T> = Box::pin(work(slice.clone()));
        Self { future: Rc::new(RefCell::new(Some(future))), slice }
    }

    /// Goes on for so much; what came of it, when that was all, and once.
    pub fn step(&mut self, count: usize) -> Option<T> {
        let mut future = self.future.borrow_mut();
        self.slice.begin(count);
        let done = poll(future.as_mut()?.as_mut())?;
        *future = None;
        Some(done)
    }

    /// True as long as it can go on.
    pub fn goes_on(&self) -> bool {
        self.future.borrow().is_some()
    }

    /// Lets others let go of it.
    pub fn handle(&self) -> Weak<dyn LetGo> {
        let future: Rc<dyn LetGo> = self.future.clone();
        Rc::downgrade(&future)
    }

    /// How much was done, and how much there is; no more than that is known of some work.
    pub fn progress(&self) -> (usize, usize) {
        match self.slice.shared.total.get() {
            0 => (0, 1),
            total => (self.slice.done(), total.max(self.slice.done())),
        }
    }
}

/// Goes on until the slice is over; what came of it, when it is done.
fn poll<T>(work: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Option<T> {
    // Nobody has to be woken: who began a slice polls.
    match work.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn parts(mut all: Range<usize>, slice: &Slice) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        slice.expect(all.len());
        while let Some(part) = slice.part(&mut all).await {
            parts.push(part);
        }
        parts
    }

    #[test]
    fn what_is_done_at_once_has_one_part() {
        assert_eq!(at_once(async |slice| parts(3..10, slice).await), vec![3..10]);
        assert_eq!(at_once(async |slice| parts(3..3, slice).await), Vec::new());
    }

    #[test]
    fn a_part_is_what_is_left_of_a_slice() {
        let mut work = Work::new(async |slice| {
            let mut before = 0..2;
            slice.part(&mut before).await;
            parts(0..10, &slice).await
        });
        assert_eq!(work.progress(), (0, 1));
        assert_eq!(work.step(4), None);
        assert_eq!(work.progress(), (4, 12));
        assert_eq!(work.step(5), None);
        assert_eq!(work.progress(), (9, 12));
        assert_eq!(work.step(5), Some(vec![0..2, 2..7, 7..10]));
        assert_eq!(work.step(5), None);
    }

    #[test]
    fn what_takes_longer_has_smaller_parts_and_at_least_one() {
        let in_units =
            |unit| Work::new(async move |slice: Slice| parts(0..5, &slice.in_units_of(unit)).await);
        let mut work = in_units(4);
        assert_eq!(work.step(9), None);
        assert_eq!(work.progress(), (9, 20));
        assert_eq!(work.step(100), Some(vec![0..2, 2..3, 3..5]));
        let mut work = in_units(50);
        let parts = std::iter::repeat_with(|| work.step(9)).take(5).last().flatten();
        assert_eq!(parts, Some((0..5).map(|at| at..at + 1).collect()));
    }
}
