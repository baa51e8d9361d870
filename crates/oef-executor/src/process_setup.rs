//! What a daemon sets for itself before it starts anything.

use rustix::process::{DumpableBehavior, Resource, getrlimit, set_dumpable_behavior, setrlimit};

/// Raises the number of descriptors that this process may have to what the system allows it; the number after that,
/// where there is one.
pub fn raise_descriptor_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

/// The first descriptor after input, output and errors.
const FIRST_OWN: i32 = 3;

/// Keeps other processes of the same user, jobs among them, from this one's memory and environment; and what is started from
/// here, jobs among it, from descriptors that whoever started the daemon had left open.
pub fn close_to_others() {
    close_fds::set_fds_cloexec(FIRST_OWN, &[]);
    // Where that is not possible nothing is worse than before.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
