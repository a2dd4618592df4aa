// As shadow_stack.cpp, with what Rust adds: async functions, trait objects, panics that are caught. An async function is
// entered anew by each poll of who waits for it, so what runs inside of it notes both. Closures are those that async functions
// are made of, no others.

use std::cell::Cell;
use std::future::Future;
use std::hint::black_box;
use std::panic;
use std::pin::{Pin, pin};
use std::ptr::{read_volatile, write_volatile};
use std::sync::atomic::{Ordering, compiler_fence};
use std::task::{Context, Poll, Waker};

#[repr(C)]
struct Shadow {
    magic: u64,
    depth: u64,
    ids: [u8; 1024],
}

thread_local! {
    static SHADOW: Cell<*mut Shadow> = const { Cell::new(std::ptr::null_mut()) };
}

struct Here(u64);

impl Here {
    #[inline(always)]
    fn new(id: u8) -> Self {
        let shadow = SHADOW.get();
        // The list of this thread lives as long as its outermost function.
        unsafe {
            let before = read_volatile(&raw const (*shadow).depth);
            write_volatile((&raw mut (*shadow).ids).cast::<u8>().add(before as usize), id);
            compiler_fence(Ordering::SeqCst);
            write_volatile(&raw mut (*shadow).depth, before + 1);
            compiler_fence(Ordering::SeqCst);
            Self(before)
        }
    }
}

impl Drop for Here {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        unsafe { write_volatile(&raw mut (*SHADOW.get()).depth, self.0) };
        compiler_fence(Ordering::SeqCst);
    }
}

#[inline(never)]
fn fn_1(mut seed: u32) -> u32 {
    let _here = Here::new(1);
    for _ in 0..1500 {
        seed = black_box(seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    }
    seed
}

#[inline(never)]
fn fn_2(depth: u32, a: u32, b: u32) -> u32 {
    let _here = Here::new(2);
    if depth == 0 {
        return fn_1(a ^ b).wrapping_add(fn_1(a));
    }
    fn_2(depth - 1, b.wrapping_add(depth), a.wrapping_mul(3)).wrapping_add(a.wrapping_mul(b))
}

#[inline(never)]
fn fn_3(numbers: &mut [u32]) {
    let _here = Here::new(3);
    numbers.sort_by(fn_4);
}

#[inline(never)]
fn fn_4(a: &u32, b: &u32) -> std::cmp::Ordering {
    let _here = Here::new(4);
    fn_1(*a).cmp(&fn_1(*b))
}

trait Shape {
    fn fn_5(&self, seed: u32) -> u32;
}

struct Round;

impl Shape for Round {
    #[inline(never)]
    fn fn_5(&self, seed: u32) -> u32 {
        let _here = Here::new(5);
        fn_2(seed % 20, seed, 2)
    }
}

#[inline(never)]
fn fn_6(shape: &dyn Shape, seed: u32) -> u32 {
    let _here = Here::new(6);
    shape.fn_5(seed).wrapping_add(1)
}

#[inline(never)]
fn fn_7() -> u32 {
    let _here = Here::new(7);
    if fn_1(7) != black_box(1) {
        panic!("thrown");
    }
    7
}

#[inline(never)]
fn fn_8(seed: u32) -> u32 {
    let _here = Here::new(8);
    fn_1(panic::catch_unwind(fn_7).unwrap_or(seed))
}

struct Later(bool);

impl Future for Later {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

async fn fn_9(seed: u32) -> u32 {
    let now = {
        let _waiting = Here::new(10);
        let _here = Here::new(9);
        fn_1(seed)
    };
    Later(false).await;
    let _waiting = Here::new(10);
    let _here = Here::new(9);
    fn_2(3, now, 2)
}

async fn fn_10(seed: u32) -> u32 {
    let mut sum = 0_u32;
    for part in 0..3 {
        let waiting: Pin<Box<dyn Future<Output = u32>>> = Box::pin(fn_9(seed + part));
        sum = sum.wrapping_add(waiting.await);
        let _here = Here::new(10);
        sum = fn_1(sum);
    }
    sum
}

#[inline(never)]
fn fn_11(seed: u32) -> u32 {
    let _here = Here::new(11);
    let mut task = pin!(fn_10(seed));
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = task.as_mut().poll(&mut context) {
            return value;
        }
    }
}

#[inline(never)]
fn fn_12(rounds: u32) {
    let _here = Here::new(12);
    for round in 0..rounds {
        fn_2(if round % 2 == 0 { 300 } else { round % 7 }, round, 2);
        let mut numbers: Vec<u32> = (0..12).map(|i| round * 31 + i * 17).collect();
        fn_3(&mut numbers);
        black_box(fn_6(&Round, round));
        black_box(fn_8(round));
        black_box(fn_11(round));
    }
}

#[inline(never)]
fn fn_13() {
    let mut mine = Shadow { magic: 0x005a_d05a_c4e5_5ad0, depth: 0, ids: [0; 1024] };
    SHADOW.set(black_box(&mut mine));
    let _here = Here::new(13);
    fn_12(2000);
}

fn main() {
    panic::set_hook(Box::new(|_| ()));
    let other = std::thread::spawn(fn_13);
    fn_13();
    other.join().expect("it ends");
    black_box(SHADOW.get());
}
