//! Lifetimes that are missing or too short, in the words for a function without the attribute.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a")]
async fn missing(a: &str, b: &str) -> Result<&str, LockError> {
    Ok(if a.is_empty() { a } else { b })
}

#[redlock(resource = "a")]
async fn wrong<'a, 'b>(a: &'a str, b: &'b str) -> Result<&'a str, LockError> {
    Ok(if a.is_empty() { a } else { b })
}

#[redlock(resource = "a")]
async fn not_in_the_bounds<'a>(a: &'a str) -> Result<Box<dyn Fn() -> usize>, LockError> {
    Ok(Box::new(move || a.len()))
}

#[redlock(resource = "a")]
async fn undeclared(a: &'a str) -> Result<&'a str, LockError> {
    Ok(a)
}

struct Cache<'c>(&'c str);

impl<'c> Cache<'c> {
    #[redlock(resource = "{self.0}")]
    async fn swap(&mut self, with: &str) -> Result<&'c str, LockError> {
        Ok(std::mem::replace(&mut self.0, with))
    }
}

fn main() {
    let _ = (missing("", ""), wrong("", ""), not_in_the_bounds(""), undeclared(""), Cache("").swap(""));
}
