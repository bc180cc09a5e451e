//! The engines of one worker: their queues are made, one of them is in use at a time, and what went
//! through each is counted. What an engine does with a transfer is not known here.

use super::fault::Flow;
use super::flight::{Flight, Queue, Ring};
use super::worker::Worker;
use crate::os::{Errno, Os, QueueState};
use crate::plan::instr::*;

impl<O: Os> Worker<O> {
    /// Gives every engine of the plan that has a queue its slots; by the worker's own thread.
    ///
    /// # Errors
    /// The number of the engine that could not have one, and why.
    pub fn open_queues(&mut self) -> Result<(), (u8, Errno)> {
        let plan = std::sync::Arc::clone(&self.plan);
        self.queues = plan.engines.iter().map(|_| Queue::default()).collect();
        for (index, engine) in plan.engines.iter().enumerate() {
            let uses = |args: &&Args| usize::from(args.engine) == index && args.moves != Moves::Nothing;
            if !engine.has_queue() || !plan.args.iter().any(|args| uses(&args)) {
                continue;
            }
            let writes = plan.args.iter().any(|args| uses(&args) && args.moves == Moves::Writes);
            let len = (plan.largest_block as usize).next_multiple_of(super::buffers::PAGE);
            let (reading, writing) = Queue::slots(engine.depth, len, writes);
            self.os.use_engine(index as u8);
            let opened = self.os.open_queue(engine.depth, reading + writing, len);
            opened.map_err(|errno| (index as u8, errno))?;
            let all = (reading + writing) as usize;
            if let Some(queue) = self.queues.get_mut(index) {
                *queue = Queue {
                    depth: engine.depth,
                    reads: (0..reading).rev().collect(),
                    writes: Ring::new(reading, writing),
                    flights: vec![Flight::default(); all],
                    filled: vec![None; all],
                    batch: Vec::with_capacity(engine.depth as usize),
                    ended: Vec::with_capacity(engine.depth as usize),
                    ..Queue::default()
                };
            }
        }
        self.os.use_engine(0);
        self.engine = 0;
        self.queue = self.queues.first_mut().map(std::mem::take).unwrap_or_default();
        Ok(())
    }

    /// By engine of the plan: transfers queued in the measured part of the phase, and the sum over them
    /// of how many were then in flight.
    pub fn depths(&self) -> Vec<(u64, u64)> {
        (0..self.queues.len()).map(|engine| self.queue_of(engine).depth_sums()).collect()
    }

    /// What became of each queue, by the number of its engine. Another engine may be in use afterwards.
    pub fn queue_states(&mut self) -> Vec<(u8, QueueState)> {
        let mut states = Vec::new();
        for engine in 0..self.queues.len() {
            if self.queue_of(engine).is_none() {
                continue;
            }
            let repeated = self.queue_of(engine).retries;
            self.os.use_engine(engine as u8);
            let mut state = self.os.queue_state();
            state.retries += repeated;
            states.push((engine as u8, state));
        }
        states
    }

    /// The queue of an engine, be it the one in use or not.
    fn queue_of(&self, engine: usize) -> &Queue {
        match self.queues.get(engine) {
            Some(kept) if engine != usize::from(self.engine) => kept,
            _ => &self.queue,
        }
    }

    /// Begins to count anew how many transfers are in flight.
    pub(super) fn forget_depth(&mut self) {
        for queue in self.queues.iter_mut().chain([&mut self.queue]) {
            (queue.queued, queue.occupancy, queue.settled) = (0, 0, queue.in_flight);
        }
    }

    /// Further transfers go through another engine.
    fn switch_engine(&mut self, engine: u8) {
        for (index, swap) in [(self.engine, true), (engine, false)] {
            let Some(kept) = self.queues.get_mut(usize::from(index)) else { continue };
            match swap {
                true => *kept = std::mem::take(&mut self.queue),
                false => self.queue = std::mem::take(kept),
            }
        }
        self.engine = engine;
        self.os.use_engine(engine);
    }

    /// Before a step that may not begin while transfers of others are in flight, or goes through
    /// another engine than the last one.
    #[cold]
    #[inline(never)]
    pub fn make_way(&mut self, args: &Args, queues: bool) -> Flow {
        let other = args.engine != self.engine && args.moves != Moves::Nothing;
        if self.queue.is_busy() && (other || !queues) {
            match self.drain() {
                Flow::Next => {}
                flow => return flow,
            }
        }
        if other {
            self.switch_engine(args.engine);
        }
        Flow::Next
    }
}
