//! Import cycles between the modules of a crate.
//!
//! A module imports another if it names it in a `use` or in a path from `crate`, `super` or `self`. A module and
//! those below it count as one unit of meaning: imports between them are no cycle. Test code does not count.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::UseTree;
use syn::visit::{self, Visit};

use super::{Finding, Limits};
use crate::syntax;
use crate::tree::File;

/// The path of a module from the root of its crate.
type Module = Vec<String>;
type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// Each crate has at most as many cycles as `xtask/tidy.toml` permits; 0 if it names none.
pub(super) fn cycles(files: &[File], limits: &Limits) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, modules) in crates(files) {
        let graph = imports(&modules);
        let cycles = components(&graph);
        let max = limits.cycles.get(name).copied().unwrap_or(0);
        if cycles.len() > max {
            for cycle in cycles {
                let cycle: Vec<String> = cycle.iter().map(|module| module.join("::")).collect();
                let text = format!("modules import each other: {}", cycle.join(", "));
                findings.push(Finding::new(format!("crates/{name}/src"), text));
            }
        } else if cycles.len() < max {
            findings.push(super::lower("cycles", name, max, cycles.len()));
        }
    }
    findings
}

/// The modules of each crate.
fn crates(files: &[File]) -> BTreeMap<&str, BTreeMap<Module, &File>> {
    let mut crates: BTreeMap<&str, BTreeMap<Module, &File>> = BTreeMap::new();
    for file in files
        .iter()
        .filter(|file| file.is_rust() && !file.is_test())
    {
        let Some((name, path)) = file
            .path
            .strip_prefix("crates/")
            .and_then(|path| path.split_once("/src/"))
        else {
            continue;
        };
        let path = path.trim_end_matches(".rs");
        let mut module: Module = path.split('/').map(str::to_owned).collect();
        if matches!(path, "lib" | "main") || path.ends_with("/mod") {
            module.pop();
        }
        crates.entry(name).or_default().insert(module, file);
    }
    crates
}

fn imports(modules: &BTreeMap<Module, &File>) -> Graph {
    let mut graph = Graph::new();
    for (module, file) in modules {
        let imported = graph.entry(module.clone()).or_default();
        let Some(syntax) = file.syntax() else {
            continue;
        };
        let mut paths = Paths(Vec::new());
        paths.visit_file(syntax);
        for path in paths.0 {
            let Some(target) = target(module, &path, modules) else {
                continue;
            };
            if !target.starts_with(module) && !module.starts_with(&target) {
                imported.insert(target);
            }
        }
    }
    graph
}

/// The module that a path leads to, seen from `module`.
fn target(module: &Module, path: &[String], modules: &BTreeMap<Module, &File>) -> Option<Module> {
    let mut base = module.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            base.clear();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            while let Some((first, after)) = rest.split_first() {
                if first != "super" {
                    break;
                }
                base.pop();
                rest = after;
            }
        }
        _ => {
            let child = [&base[..], &path[..1]].concat();
            modules.get(&child)?;
        }
    }
    let whole = [&base[..], rest].concat();
    let prefixes = (0..=whole.len()).rev().map(|len| whole[..len].to_vec());
    prefixes.into_iter().find(|path| modules.contains_key(path))
}

/// Collects the paths that a file names.
struct Paths(Vec<Module>);

impl<'a> Visit<'a> for Paths {
    fn visit_item(&mut self, item: &'a syn::Item) {
        let attributes = syntax::attributes(item);
        if !attributes.iter().any(syntax::is_cfg_test) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.add_tree(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names = path.segments.iter().map(|part| part.ident.to_string());
        self.add(names.collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.add_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

impl Paths {
    /// Keeps a path outside `use` if it starts at a module.
    fn add(&mut self, path: Module) {
        let first = path.first().map_or("", String::as_str);
        if path.len() > 1 && matches!(first, "crate" | "super" | "self") {
            self.0.push(path);
        }
    }

    fn add_tree(&mut self, tree: &UseTree, before: &mut Module) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.add_tree(&path.tree, before);
                before.pop();
            }
            UseTree::Name(name) => {
                let path = [&before[..], &[name.ident.to_string()]].concat();
                self.0.push(path);
            }
            UseTree::Rename(name) => {
                let path = [&before[..], &[name.ident.to_string()]].concat();
                self.0.push(path);
            }
            UseTree::Glob(_) => self.0.push(before.clone()),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(tree, before);
                }
            }
        }
    }

    /// Paths in the arguments of a macro, which have no syntax of their own.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path = Module::new();
        for token in tokens {
            match token {
                TokenTree::Ident(name) => path.push(name.to_string()),
                TokenTree::Punct(mark) if mark.as_char() == ':' => {}
                TokenTree::Group(group) => {
                    self.add(std::mem::take(&mut path));
                    self.add_tokens(group.stream());
                }
                _ => self.add(std::mem::take(&mut path)),
            }
        }
        self.add(path);
    }
}

/// The groups of modules that import each other, directly or through others.
fn components(graph: &Graph) -> Vec<Vec<&Module>> {
    let reach: BTreeMap<&Module, BTreeSet<&Module>> = graph
        .keys()
        .map(|module| (module, reachable(graph, module)))
        .collect();
    let mut components: Vec<Vec<&Module>> = Vec::new();
    for module in graph.keys() {
        if components.iter().flatten().any(|known| *known == module) {
            continue;
        }
        let others = reach[module].iter().copied();
        let cycle: Vec<&Module> = others
            .filter(|other| reach.get(other).is_some_and(|back| back.contains(module)))
            .collect();
        if cycle.len() > 1 {
            components.push(cycle);
        }
    }
    components
}

/// The modules that `from` imports, directly or through others.
fn reachable<'a>(graph: &'a Graph, from: &Module) -> BTreeSet<&'a Module> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&Module> = graph[from].iter().collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(graph.get(module).into_iter().flatten());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files = files
            .iter()
            .map(|(path, text)| File::new(format!("crates/a/src/{path}"), *text));
        let files: Vec<File> = files.collect();
        let findings = cycles(&files, &Limits::default());
        findings.into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn modules_that_import_each_other_are_found() {
        let files = [
            ("lib.rs", "mod x;\nmod y;\nmod z;\n"),
            ("x.rs", "use crate::{y::Y, z};\n"),
            ("y.rs", "fn f() { g(super::z::Z); }\n"),
            ("z.rs", "fn f() { println!(\"{}\", crate::x::X); }\n"),
        ];
        assert_eq!(found(&files), ["modules import each other: x, y, z"]);
    }

    #[test]
    fn a_module_and_its_children_are_one() {
        let files = [
            ("lib.rs", "mod x;\n"),
            ("x/mod.rs", "mod y;\nuse y::Y;\n"),
            ("x/y.rs", "use super::X;\nuse crate::x;\n"),
        ];
        assert!(found(&files).is_empty());
    }

    #[test]
    fn imports_of_tests_and_of_the_root_do_not_count() {
        let files = [
            ("lib.rs", "pub use x::X;\n"),
            ("x.rs", "use crate::y::Y;\n"),
            (
                "y.rs",
                "use crate::X;\n#[cfg(test)]\nmod tests { use crate::x::X; }\n",
            ),
        ];
        assert!(found(&files).is_empty());
    }
}
