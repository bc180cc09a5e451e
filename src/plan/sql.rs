//! What a plan says to databases: which sets they are, their settings, their statements. Part of the
//! contract of [`super::instr`], which hands it on. Knows no SQL.

use super::instr::SetId;
use super::sets::Segment;

/// One statement, without the semicolon at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Its text in pieces, filled as those of names are.
    pub pieces: Vec<Segment>,
    /// The line its text begins in, from 1, in a file of statements; 0 where it stands in the profile.
    pub line: u32,
}

/// Everything about databases in a case.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SqlPlan {
    /// Sets whose files are databases: opening one makes a connection.
    pub databases: Vec<SetId>,
    /// Settings of every connection, set in this order when it is opened.
    pub pragmas: Vec<(String, String)>,
    /// What each `sql` or `sql_file` step performs ([`super::instr::Detail::Script`]).
    pub scripts: Vec<Vec<Statement>>,
}
