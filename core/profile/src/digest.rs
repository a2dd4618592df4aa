//! A number for all columns of a profile: two hosts that have read the same bytes have the same
//! columns, and say so without handing them out. It promises nothing between versions.

use super::{Profile, StackId};

/// FNV-1a, a word at a time.
struct Digest(u64);

impl Digest {
    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    }

    fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        text.bytes().for_each(|byte| self.word(u64::from(byte)));
    }
}

impl Profile {
    /// The number.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest(0xcbf2_9ce4_8422_2325);
        for event in &self.events {
            digest.text(&event.name);
            digest.word(event.samples);
            digest.word(event.weight);
        }
        for (name, &count) in self.records.sorted() {
            digest.text(name);
            digest.word(count);
        }
        self.digest_threads(&mut digest);
        for (_, dso) in self.dsos.iter() {
            digest.text(&dso.path);
            digest.word(dso.kind as u64);
            dso.build_id().iter().for_each(|id| digest.text(&id.to_string()));
        }
        for (_, frame) in self.frames.iter() {
            digest.word(u64::from(frame.dso.0));
            digest.word(frame.address);
        }
        for stack in 0..self.stacks.len() as u32 {
            if let Some((prefix, frame)) = self.stacks.get(StackId(stack)) {
                digest.word(u64::from(prefix.0));
                digest.word(u64::from(frame.0));
            }
        }
        self.digest_samples(&mut digest);
        digest.0
    }

    fn digest_threads(&self, digest: &mut Digest) {
        for process in &self.threads.processes {
            digest.word(u64::from(process.pid));
            digest.text(self.strings.get(process.name));
        }
        for thread in &self.threads.threads {
            digest.word(u64::from(thread.process.0));
            digest.word(u64::from(thread.tid));
            digest.text(self.strings.get(thread.name));
        }
    }

    fn digest_samples(&self, digest: &mut Digest) {
        for sample in (0..self.samples.len()).filter_map(|row| self.samples.get(row)) {
            digest.word(sample.time_nanos);
            digest.word(u64::from(sample.thread.0));
            digest.word(u64::from(sample.stack.0));
            digest.word(u64::from(sample.event.0));
            digest.word(u64::from(sample.cpu));
            digest.word(sample.weight);
        }
    }
}
