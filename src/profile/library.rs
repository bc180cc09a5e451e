//! Where profiles and suites come from: files that are named, files beside a suite, and those
//! that come with the program.
//!
//! Gives structurally sound nodes; what is in them is not known here.

use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::check::{check_structure, what_of};
use super::definition::Profile;
use super::diagnostic::{Diagnostic, Severity};
use super::embedded;
use super::language::What;
use super::load::load_file;
use super::names::did_you_mean;
use super::node::{Node, Place};
use super::shape::Verb;
use super::source::Sources;
use super::suite::{Resolver, Suite, Test};

/// All files of one command.
pub struct Library {
    verbs: &'static [Verb],
    sources: RefCell<Sources>,
    /// What was found besides errors.
    warnings: RefCell<Vec<Diagnostic>>,
    /// Files that are read, by the name they were read under.
    read: RefCell<BTreeMap<String, Result<Node, Vec<Diagnostic>>>>,
    /// Profiles that were named by their file: they hide others of their id.
    given: RefCell<BTreeMap<String, Node>>,
    /// Ids of the files that are read, with their kind and file.
    ids: RefCell<BTreeMap<String, (What, String)>>,
    /// Where names are looked up before the embedded ones.
    beside: RefCell<Vec<PathBuf>>,
}

/// What an argument names.
#[derive(Debug)]
pub enum Found {
    /// A profile.
    Profile(Box<Profile>),
    /// A suite.
    Suite(Box<Suite>),
}

impl Library {
    /// A library that has read nothing yet; `verbs` is the step vocabulary.
    pub fn new(verbs: &'static [Verb]) -> Library {
        Library {
            verbs,
            sources: RefCell::default(),
            warnings: RefCell::default(),
            read: RefCell::default(),
            given: RefCell::default(),
            ids: RefCell::default(),
            beside: RefCell::default(),
        }
    }

    /// The step vocabulary.
    pub fn verbs(&self) -> &'static [Verb] {
        self.verbs
    }

    /// Texts of the files read so far; no file may be read while this is held.
    pub fn sources(&self) -> Ref<'_, Sources> {
        self.sources.borrow()
    }

    /// Takes what was found besides errors so far.
    pub fn take_warnings(&self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.warnings.borrow_mut())
    }

    /// A profile or suite by its file or id. What follows the last colon of an argument that names
    /// no file are case patterns: `fio:randread-*`.
    pub fn open(&self, argument: &str) -> Result<(Found, Vec<String>), Vec<Diagnostic>> {
        if let Some(node) = self.by_file_or_id(argument)? {
            return Ok((self.understand(node)?, Vec::new()));
        }
        if let Some((name, pattern)) = argument.rsplit_once(':')
            && !pattern.is_empty()
            && let Some(node) = self.by_file_or_id(name)?
        {
            return Ok((self.understand(node)?, vec![pattern.to_string()]));
        }
        let name = argument.split(':').next().unwrap_or(argument);
        Err(vec![self.nothing_called(name)])
    }

    /// A suite that stands in no file, under the name it is shown by.
    pub fn add_suite(&self, name: &str, text: &str) -> Result<Suite, Vec<Diagnostic>> {
        let node = self.text(name, text.as_bytes(), Some(What::Suite))?;
        Suite::from_node(node).map(|(suite, _)| suite)
    }

    fn nothing_called(&self, name: &str) -> Diagnostic {
        if looks_like_path(name) {
            let message = format!("there is no file {name}");
            return Diagnostic::general("no-such-file", message).help(
                "name a YAML file that exists, or the id of a profile or suite; `ioscore list` shows them",
            );
        }
        let mut known = self.profile_ids();
        known.extend(self.suite_ids());
        Diagnostic::general("unknown-profile", format!("there is no profile and no suite {name}"))
            .help(did_you_mean(name, &known))
            .help("a file is named with its path: ./my-test.yaml")
    }

    fn by_file_or_id(&self, name: &str) -> Result<Option<Node>, Vec<Diagnostic>> {
        let path = Path::new(name);
        // A directory `fio` must not hide the profile of that name; a file of that name does.
        if path.is_file() || (looks_like_path(name) && path.exists()) {
            return self.file(path, None).map(Some);
        }
        for (files, what) in [(embedded::PROFILES, What::Profile), (embedded::SUITES, What::Suite)] {
            if let Some(text) = embedded::text(files, name) {
                return self.text(&shown(what, name), text.as_bytes(), Some(what)).map(Some);
            }
        }
        Ok(None)
    }

    fn understand(&self, node: Node) -> Result<Found, Vec<Diagnostic>> {
        match what_of(&node) {
            What::Suite => {
                let (suite, warnings) = Suite::from_node(node)?;
                self.warnings.borrow_mut().extend(warnings);
                Ok(Found::Suite(Box::new(suite)))
            }
            What::Profile => {
                let (profile, warnings) = Profile::from_node(node, self.verbs)?;
                self.warnings.borrow_mut().extend(warnings);
                self.given.borrow_mut().insert(profile.id.clone(), profile.node.clone());
                Ok(Found::Profile(Box::new(profile)))
            }
        }
    }

    /// One suite of several arguments, in their order.
    pub fn suite_of(&self, arguments: &[String]) -> Result<Suite, Vec<Diagnostic>> {
        let mut tests = Vec::new();
        let mut names = Vec::new();
        let mut first: Option<Node> = None;
        for argument in arguments {
            match self.open(argument)? {
                (Found::Suite(mut suite), patterns) => {
                    for test in &mut suite.tests {
                        if let (Test::Profile { cases, .. }, false) = (test, patterns.is_empty()) {
                            cases.clone_from(&patterns);
                        }
                    }
                    if arguments.len() == 1 {
                        return Ok(*suite);
                    }
                    first.get_or_insert_with(|| suite.node.clone());
                    names.push(suite.id.clone());
                    tests.extend(suite.tests);
                }
                (Found::Profile(profile), cases) => {
                    let node = profile.node.clone();
                    first.get_or_insert_with(|| node.clone());
                    names.push(profile.id.clone());
                    let mut one = Suite::of_profile(&profile.id, cases, node);
                    one.title.clone_from(&profile.title);
                    if arguments.len() == 1 {
                        return Ok(one);
                    }
                    tests.append(&mut one.tests);
                }
            }
        }
        let Some(node) = first else {
            return Err(vec![Diagnostic::general("nothing-to-run", "name a profile or a suite")]);
        };
        names.dedup();
        let id = names.join("+");
        Ok(Suite {
            tests,
            title: names.join(", "),
            id: id.clone(),
            ..Suite::of_profile(&id, Vec::new(), node)
        })
    }

    /// Reads a file. `what` says which kind it must be.
    fn file(&self, path: &Path, what: Option<What>) -> Result<Node, Vec<Diagnostic>> {
        let name = path.display().to_string();
        let bytes = read(path).map_err(|why| {
            vec![Diagnostic::general("unreadable-file", format!("cannot read {name}: {why}"))]
        })?;
        if let Some(dir) = path.parent() {
            let mut beside = self.beside.borrow_mut();
            let sibling = |name: &str| match dir.file_name() {
                Some(_) => dir.with_file_name(name),
                None => dir.join("..").join(name),
            };
            for place in [sibling("profiles"), sibling("suites"), dir.to_path_buf()] {
                if !beside.contains(&place) {
                    beside.push(place);
                }
            }
        }
        let node = self.text(&name, &bytes, what)?;
        self.apart(&node, &name)?;
        Ok(node)
    }

    fn text(&self, name: &str, bytes: &[u8], what: Option<What>) -> Result<Node, Vec<Diagnostic>> {
        if let Some(known) = self.read.borrow().get(name) {
            return known.clone();
        }
        let result = self.checked(name, bytes, what);
        self.read.borrow_mut().insert(name.to_string(), result.clone());
        result
    }

    fn checked(&self, name: &str, bytes: &[u8], what: Option<What>) -> Result<Node, Vec<Diagnostic>> {
        let (node, warnings) = load_file(&mut self.sources.borrow_mut(), name, bytes)?;
        self.warnings.borrow_mut().extend(warnings);
        let is = what_of(&node);
        if let Some(what) = what.filter(|what| *what != is) {
            let place = Place { file: node.place.file, pointer: "".into() };
            let message = format!("this is a {}, and a {} is asked for", is.word(), what.word());
            return Err(vec![Diagnostic::error("other-kind", &place, message)]);
        }
        let mut found = check_structure(&node, is, self.verbs);
        if found.iter().any(|found| found.severity == Severity::Error) {
            return Err(found);
        }
        self.warnings.borrow_mut().append(&mut found);
        Ok(node)
    }

    /// Refuses files of a suite and a profile with one id: of the two, its name would reach one only.
    fn apart(&self, node: &Node, file: &str) -> Result<(), Vec<Diagnostic>> {
        let is = what_of(node);
        let Some(named) = node.get(is.word()) else { return Ok(()) };
        let Some(id) = named.text() else { return Ok(()) };
        let mut ids = self.ids.borrow_mut();
        let (other, there) = ids.entry(id.to_string()).or_insert_with(|| (is, file.to_string()));
        if *other == is {
            return Ok(());
        }
        let message = format!("this {} and the {} in {there} have the same id {id}", is.word(), other.word());
        let help = "give one of them another id: results and commands name both by it";
        Err(vec![Diagnostic::error("shared-id", &named.place, message).help(help)])
    }

    /// A profile or suite that a suite names: by a path beside it, by its id beside it, embedded.
    fn named(
        &self,
        name: &str,
        what: What,
        files: &[embedded::File],
    ) -> Result<Option<Node>, Vec<Diagnostic>> {
        let beside = self.beside.borrow().clone();
        for place in &beside {
            let path =
                if looks_like_path(name) { place.join(name) } else { place.join(format!("{name}.yaml")) };
            // A file beside a suite may well be something else of the same name.
            if path.is_file() {
                let node = self.file(&path, None)?;
                if what_of(&node) == what {
                    return Ok(Some(node));
                }
            }
        }
        match embedded::text(files, name) {
            Some(text) => self.text(&shown(what, name), text.as_bytes(), Some(what)).map(Some),
            None => Ok(None),
        }
    }

    fn ids(&self, files: &[embedded::File], what: What) -> Vec<String> {
        let mut ids: Vec<String> = files.iter().map(|file| file.0.to_string()).collect();
        for place in self.beside.borrow().iter() {
            let wanted = match what {
                What::Profile => !place.ends_with("suites"),
                What::Suite => !place.ends_with("profiles"),
            };
            let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            ids.extend(
                names.filter_map(|name| name.strip_suffix(".yaml").map(str::to_string)).filter(|_| wanted),
            );
        }
        ids.sort();
        ids.dedup();
        ids
    }
}

impl Resolver for Library {
    fn profile(&self, id: &str) -> Result<Option<Node>, Vec<Diagnostic>> {
        if let Some(node) = self.given.borrow().get(id) {
            return Ok(Some(node.clone()));
        }
        self.named(id, What::Profile, embedded::PROFILES)
    }

    fn suite(&self, id: &str) -> Result<Option<Node>, Vec<Diagnostic>> {
        self.named(id, What::Suite, embedded::SUITES)
    }

    fn profile_ids(&self) -> Vec<String> {
        self.ids(embedded::PROFILES, What::Profile)
    }

    fn suite_ids(&self) -> Vec<String> {
        self.ids(embedded::SUITES, What::Suite)
    }
}

/// The name under which an embedded file is shown.
fn shown(what: What, id: &str) -> String {
    format!("{}s/{id}.yaml", what.word())
}

fn looks_like_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".yaml") || name.ends_with(".yml")
}

/// The bytes of a profile or suite, and one more than is allowed where there are too many: the
/// loader then says so. A device or a pipe might never end.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let plain = std::fs::metadata(path).map_err(|error| error.kind().to_string())?;
    if !plain.is_file() {
        return Err("it is no regular file".into());
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(super::decode::LARGEST_FILE_BYTES as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| error.kind().to_string())?;
    Ok(bytes)
}
