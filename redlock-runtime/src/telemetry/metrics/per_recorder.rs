//! Handles that belong to the recorder which made them.

use std::sync::OnceLock;

/// One `T` for each recorder that was there when it was asked for.
///
/// A handle of the `metrics` facade belongs to the recorder of the moment. A handle that was made
/// before the program installed its exporter would count into nothing for ever. The owner of
/// handles therefore compares the recorder at each use; this reads a thread-local and a static. A
/// program has two recorders in its life, "none" and its exporter, so this list is short, and
/// reading it takes no lock.
pub(super) struct PerRecorder<T> {
    first: Link<T>,
}

type Link<T> = OnceLock<Box<Entry<T>>>;

struct Entry<T> {
    /// The recorder's address. A program's recorder is never freed. A test's recorder may be freed,
    /// and a new one at the same address is not told from it.
    recorder: usize,
    value: T,
    next: Link<T>,
}

impl<T> Default for PerRecorder<T> {
    fn default() -> Self {
        Self {
            first: OnceLock::new(),
        }
    }
}

impl<T> PerRecorder<T> {
    /// What belongs to the recorder that is there now.
    pub(super) fn get(&self, make: impl Fn() -> T) -> &T {
        let recorder =
            metrics::with_recorder(|recorder| std::ptr::from_ref(recorder).cast::<()>().addr());
        let mut link = &self.first;
        loop {
            let entry = link.get_or_init(|| {
                Box::new(Entry {
                    recorder,
                    value: make(),
                    next: OnceLock::new(),
                })
            });
            if entry.recorder == recorder {
                return &entry.value;
            }
            link = &entry.next;
        }
    }
}
