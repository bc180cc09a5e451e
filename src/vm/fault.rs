//! Why a worker could not go on.

use crate::os::Errno;

/// An operation that failed, with what is needed to say so.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Index into the plan's operands; `None` outside of steps (layout, cleaning up).
    pub args: Option<u32>,
    /// The call, or what was being done.
    pub call: &'static str,
    /// Path relative to the run directory.
    pub path: Box<str>,
    /// Where in the file, in bytes.
    pub offset: Option<u64>,
    /// Bytes asked for.
    pub len: Option<u64>,
    /// The system's error number.
    pub errno: Option<Errno>,
    /// What is wrong where no error number says it.
    pub message: Option<Box<str>>,
    /// What can be done about it, where whatever failed says so itself.
    pub what_to_do: Option<&'static str>,
    /// Bytes this worker had written in the phase when it happened.
    pub written: u64,
}

/// What an operation means for the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on with the next instruction.
    Next,
    /// Leave the enclosing block.
    Skip,
    /// This worker is done with the phase.
    EndPhase,
    /// Look again at the stop flag and the deadline: they were met inside the operation.
    Over,
    /// See [`super::worker::Worker::fault`].
    Fault,
}
