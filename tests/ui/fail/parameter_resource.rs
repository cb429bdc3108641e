//! Resources that no node would take.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "")]
async fn empty() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = b"")]
async fn empty_bytes() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "redlock:{id}")]
async fn reserved(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
{id}+"
)]
async fn too_long(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = [])]
async fn none() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = ["a:{id}", "", "a:{id}", id, "{}"])]
async fn several(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = [
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19",
    "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31", "32", "33", "34", "35", "36", "37", "38", "39",
    "40", "41", "42", "43", "44", "45", "46", "47", "48", "49", "50", "51", "52", "53", "54", "55", "56", "57", "58", "59",
    "60", "61", "62", "63", "64", "65", "66", "67", "68", "69", "70", "71", "72", "73", "74", "75", "76", "77", "78", "79",
    "80", "81", "82", "83", "84", "85", "86", "87", "88", "89", "90", "91", "92", "93", "94", "95", "96", "97", "98", "99",
    "100", "101", "102", "103", "104", "105", "106", "107", "108", "109", "110", "111", "112", "113", "114", "115", "116", "117", "118", "119",
    "120", "121", "122", "123", "124", "125", "126", "127", "128",
])]
async fn too_many() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (empty(), empty_bytes(), reserved(1), too_long(1), none(), several(1), too_many());
}
