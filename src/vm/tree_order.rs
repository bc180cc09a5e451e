//! The order in which the file system lists the files of a list: found by making them, empty, and
//! looking, before anything is measured.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::Arc;

use super::fault::Flow;
use super::tree_walk::Remove;
use super::trees::{DIRECTORY_BITS, Done, FILE_BITS, HANDLE, at};
use super::worker::Worker;
use crate::os::{Fd, Os};
use crate::plan::instr::*;

impl<O: Os> Worker<O> {
    /// Finds out in which order the file system lists the files of every list that follows it:
    /// makes them, empty, looks, and removes them. Before the first phase, off the clock.
    pub(super) fn find_orders(&mut self) -> Result<(), Flow> {
        let plan = Arc::clone(&self.plan);
        for (index, args) in plan.args.iter().enumerate() {
            let Detail::Tree(step) = args.detail else { continue };
            let Some(list) = plan.datasets.get(usize::from(step.dataset)) else { continue };
            let known = self.trees.orders.contains_key(&(step.dataset, args.set));
            let mine = plan
                .sets
                .get(usize::from(args.set))
                .is_some_and(|set| set.used_by.iter().any(|range| (range.0..range.1).contains(&self.id)));
            if list.order != ListOrder::Readdir || known || !mine || args.moves != Moves::Writes {
                continue;
            }
            self.running = index as u32;
            let order = self.find_order(list, args.set)?;
            self.trees.orders.insert((step.dataset, args.set), Arc::new(order));
        }
        Ok(())
    }

    fn find_order(&mut self, list: &Dataset, set: SetId) -> Result<Vec<u32>, Flow> {
        let numbers: HashMap<&[u8], u32> =
            (0..).zip(&list.files).map(|(number, file)| (list.path(file).as_bytes(), number)).collect();
        // Beside the trees, under a name that none of them has.
        let base = self.dirs.get(usize::from(set)).map_or(super::hand::CLOSED, |dirs| dirs.base);
        let base = if base == super::hand::CLOSED { self.os.root() } else { base };
        let name = CString::new(format!(".order-{}", self.id)).unwrap_or_default();
        let mut order = Vec::with_capacity(list.files.len());
        let found = (|| {
            at("mkdir", name.to_bytes(), self.os.mkdir(base, &name, DIRECTORY_BITS))?;
            let top = at("open", name.to_bytes(), self.os.open(base, &name, HANDLE, 0))?;
            for dir in 1..list.dirs.len() as u32 {
                self.make_dir(top, list.dir_path(dir))?;
            }
            for file in &list.files {
                let path = CString::new(list.path(file)).unwrap_or_default();
                let flags = libc::O_WRONLY | libc::O_CREAT;
                let fd = at("open", path.to_bytes(), self.os.open(top, &path, flags, FILE_BITS))?;
                at("close", path.to_bytes(), self.os.close(fd))?;
            }
            at("close", name.to_bytes(), self.os.close(top))
        })();
        found.map_err(|failed| self.failed(failed))?;
        let mut collect = Collect { prefixes: vec![Vec::new()], numbers: &numbers, order: &mut order };
        collect.walk(self, base, &name).map_err(|failed| self.failed(failed))?;
        self.walk(base, &name, &mut Remove)?;
        let removed = self.os.rmdir(base, &name);
        at("rmdir", name.to_bytes(), removed).map_err(|failed| self.failed(failed))?;
        Ok(order)
    }
}

/// Notes the numbers of files in the order in which a walk from the top meets them.
struct Collect<'a> {
    prefixes: Vec<Vec<u8>>,
    numbers: &'a HashMap<&'a [u8], u32>,
    order: &'a mut Vec<u32>,
}

impl Collect<'_> {
    fn walk<O: Os>(&mut self, worker: &mut Worker<O>, above: Fd, name: &CStr) -> Done<()> {
        let (fd, entries) = worker.list_directory(above, name)?;
        let prefix = self.prefixes.last().cloned().unwrap_or_default();
        let below = |name: &CStr| [prefix.as_slice(), name.to_bytes()].concat();
        for (name, _) in entries.iter().filter(|entry| !entry.1) {
            if let Some(number) = self.numbers.get(below(name).as_slice()) {
                self.order.push(*number);
            }
        }
        let mut result = Ok(());
        for (name, _) in entries.iter().filter(|entry| entry.1) {
            self.prefixes.push([below(name).as_slice(), b"/"].concat());
            result = self.walk(worker, fd, name);
            self.prefixes.pop();
            if result.is_err() {
                break;
            }
        }
        let _ = worker.os.close(fd);
        result
    }
}
