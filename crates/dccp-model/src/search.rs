//! Breadth-first search over the states of a model.

use crate::action::Action;
use crate::checks;
use crate::models::Model;
use crate::property::Violation;
use crate::world::{Fingerprint, World};
use core::fmt;
use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

/// Violations after which a search ends.
const VIOLATIONS_MAX: usize = 5;

/// A property that did not hold, and the shortest trace to the state.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The property and what was seen.
    pub violation: Violation,
    /// From the first state.
    pub trace: Vec<Action>,
}

/// The result of a search.
#[derive(Debug)]
pub struct Report {
    /// The model's name.
    pub model: &'static str,
    /// Steps taken: each led to a state, which may have been known.
    pub steps: u64,
    /// Different states.
    pub states: u64,
    /// Length of the longest trace.
    pub depth: usize,
    /// Every state within the model's bounds was visited.
    pub is_complete: bool,
    /// Violations, those with the shortest traces first.
    pub findings: Vec<Finding>,
    /// Situations that the model must reach and did not: it would show nothing about them.
    pub unreached: Vec<&'static str>,
    /// Time that the search took.
    pub time: Duration,
}

impl Report {
    /// Whether all properties hold and all situations were reached.
    pub fn holds(&self) -> bool {
        self.findings.is_empty() && self.unreached.is_empty()
    }
}

impl fmt::Display for Report {
    /// The violations with their traces, and what was not reached. Empty if the model holds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{}: {}", self.model, finding.violation)?;
            for (n, action) in (1..).zip(&finding.trace) {
                writeln!(f, "  {n:2}. {action}")?;
            }
        }
        for situation in &self.unreached {
            writeln!(f, "{}: never reached: {situation}", self.model)?;
        }
        Ok(())
    }
}

/// A visited state: its parent and the step from there.
#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    action: Action,
}

/// The states visited so far.
#[derive(Default)]
struct Tree {
    nodes: Vec<Node>,
    known: HashSet<Fingerprint>,
}

/// The parent of states that are one step from the first.
const ROOT: u32 = u32::MAX;

impl Tree {
    fn trace(&self, mut at: u32) -> Vec<Action> {
        let mut trace = Vec::new();
        while let Some(node) = self.nodes.get(at as usize) {
            trace.push(node.action);
            at = node.parent;
        }
        trace.reverse();
        trace
    }
}

/// A step to a state, and what was seen on the way.
struct Step {
    node: Node,
    fingerprint: Fingerprint,
    violations: Vec<Violation>,
}

/// Explores a model with `threads` threads. The result does not depend on their number. The search ends after
/// `states_max` states, or after the level on which properties are violated.
///
/// # Panics
/// If there are 2^32 states or more.
pub fn explore(model: &Model, threads: usize, states_max: usize) -> Report {
    let begin = now();
    let mut tree = Tree::default();
    tree.known.insert(World::new(&model.scenario).fingerprint());
    let mut reached = vec![false; model.situations.len()];
    let mut report = Report {
        model: model.name,
        steps: 0,
        states: 1,
        depth: 0,
        is_complete: false,
        findings: Vec::new(),
        unreached: Vec::new(),
        time: Duration::ZERO,
    };
    let mut level = vec![ROOT];
    while !level.is_empty() && report.findings.len() < VIOLATIONS_MAX {
        let steps = in_parallel(&level, threads, |&at| expand(model, &tree, at));
        let mut next = Vec::new();
        for step in steps.into_iter().flatten() {
            report.steps += 1;
            let is_new = tree.known.insert(step.fingerprint);
            if !step.violations.is_empty() {
                let mut trace = tree.trace(step.node.parent);
                trace.push(step.node.action);
                report.note(step.violations, &trace);
            } else if is_new {
                next.push(u32::try_from(tree.nodes.len()).expect("fewer states"));
                tree.nodes.push(step.node);
            }
        }
        let checked = in_parallel(&next, threads, |&at| {
            let trace = tree.trace(at);
            let violations = checks::check(&model.scenario, &trace);
            (situations(model, &trace), violations)
        });
        for (&at, (situations, violations)) in next.iter().zip(checked) {
            for (reached, is_here) in reached.iter_mut().zip(situations) {
                *reached |= is_here;
            }
            report.note(violations, &tree.trace(at));
        }
        report.states += next.len() as u64;
        report.depth += usize::from(!next.is_empty());
        level = next;
        if tree.nodes.len() >= states_max {
            break;
        }
    }
    report.is_complete = level.is_empty();
    let situations = model.situations.iter().zip(reached);
    let unreached = situations.filter(|(_, is_reached)| !is_reached);
    report.unreached = unreached.map(|(situation, _)| situation.name).collect();
    report.time = begin.elapsed();
    report
}

impl Report {
    fn note(&mut self, violations: Vec<Violation>, trace: &[Action]) {
        for violation in violations {
            if self.findings.len() < VIOLATIONS_MAX {
                self.findings.push(Finding {
                    violation,
                    trace: trace.to_vec(),
                });
            }
        }
    }
}

/// All steps from a state.
fn expand(model: &Model, tree: &Tree, at: u32) -> Vec<Step> {
    let trace = tree.trace(at);
    let mut actions = Vec::new();
    World::after(&model.scenario, &trace).enabled(&mut actions);
    let step = |&action: &Action| {
        let mut fingerprint = Fingerprint(0);
        let violations = checks::without_panic(|| {
            let mut world = World::after(&model.scenario, &trace);
            world.apply(action);
            fingerprint = world.fingerprint();
            world.take_violations()
        });
        let node = Node { parent: at, action };
        Step {
            node,
            fingerprint,
            violations,
        }
    };
    actions.iter().map(step).collect()
}

fn situations(model: &Model, trace: &[Action]) -> Vec<bool> {
    let world = World::after(&model.scenario, trace);
    let situations = model.situations.iter();
    situations.map(|s| (s.is_here)(&world)).collect()
}

/// Maps `items` in order, on several threads.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    map: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let part = items.len().div_ceil(threads.max(1)).max(1);
    thread::scope(|scope| {
        let map = &map;
        let parts = items.chunks(part);
        let running: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().map(map).collect::<Vec<R>>()))
            .collect();
        let results = running.into_iter().map(thread::ScopedJoinHandle::join);
        results
            .flat_map(|r| r.expect("a panic of a model is caught"))
            .collect()
    })
}

#[expect(clippy::disallowed_methods, reason = "a tool reports its run time")]
fn now() -> Instant {
    Instant::now()
}
