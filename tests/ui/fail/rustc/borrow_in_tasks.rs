//! What a body borrows does not outlive it in a task.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a")]
async fn argument(text: &str) -> Result<(), LockError> {
    let _ = tokio::spawn(async move { println!("{text}") });
    Ok(())
}

struct Job {
    name: String,
}

impl Job {
    #[redlock(resource = "{self.name}")]
    async fn receiver(&self) -> Result<(), LockError> {
        std::thread::spawn(|| println!("{}", self.name));
        Ok(())
    }
}

#[redlock(resource = "a")]
async fn local() -> Result<usize, LockError> {
    let text = String::new();
    let task = tokio::spawn(async { text.len() });
    Ok(task.await.unwrap_or(0))
}

#[redlock(resource = "a")]
async fn mutable(text: &mut String) -> Result<(), LockError> {
    let first = &mut *text;
    text.push('a');
    first.push('b');
    Ok(())
}

fn main() {
    let _ = (argument(""), Job { name: String::new() }.receiver(), local(), mutable(&mut String::new()));
}
