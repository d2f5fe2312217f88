//! Tidy's checks of Rust files: a header, functions that fit a screen, documented public items, nothing unfinished.
//! It reads tokens rather than text, so it distinguishes strings, comments and macro bodies.

use super::{TextFile, Violation};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::BTreeSet;

const FUNCTION_LINES_MAX: usize = 70;

/// The folders whose files need a header.
const WITH_HEADER: [&str; 3] = ["crates/", "xtask/", "bench/"];

/// Macros that stand for work to be done.
const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// Items that need documentation where they are public.
const ITEMS: [&str; 6] = ["fn", "struct", "enum", "trait", "type", "static"];

/// A function that may be longer than the others, with the reason.
pub(super) struct LongFunction {
    pub(super) path: &'static str,
    pub(super) name: &'static str,
    pub(super) reason: &'static str,
}

/// The exceptions. An exception that is no longer needed is a violation.
pub(super) const LONG_FUNCTIONS: &[LongFunction] = &[];

/// Finds violations in the Rust files, and exceptions that are no longer needed.
pub(super) fn check(files: &[TextFile], exceptions: &[LongFunction]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut needed = BTreeSet::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        violations.extend(check_header(file));
        let Ok(tokens) = file.text.parse::<TokenStream>() else {
            violations.push(file.violation(1, "this is not Rust", "fix it, or rename it"));
            continue;
        };
        let mut findings = Findings::default();
        findings.read(tokens);
        for (line, leftover) in findings.leftovers {
            let what = format!("`{leftover}` is left over");
            violations.push(file.violation(line, what, "finish the work, or remove it"));
        }
        if is_library_source(&file.path) {
            violations.extend(findings.undocumented.iter().map(|(line, name)| {
                let what = format!("`{name}` is public and has no documentation");
                file.violation(*line, what, "describe its purpose, or make it private")
            }));
        }
        for function in findings.functions.iter().filter(|f| f.lines > FUNCTION_LINES_MAX) {
            let is_meant = |e: &&LongFunction| e.path == file.path && e.name == function.name;
            match exceptions.iter().find(is_meant) {
                Some(exception) => {
                    needed.insert((exception.path, exception.name));
                }
                None => violations.push(too_long(file, function)),
            }
        }
    }
    let stale = exceptions.iter().filter(|e| !needed.contains(&(e.path, e.name)));
    violations.extend(stale.map(|exception| Violation {
        path: exception.path.to_owned(),
        line: 1,
        problem: format!("`{}` is no longer too long ({})", exception.name, exception.reason),
        advice: "remove it from LONG_FUNCTIONS",
    }));
    violations
}

fn check_header(file: &TextFile) -> Option<Violation> {
    let belongs = WITH_HEADER.iter().any(|folder| file.path.starts_with(folder));
    let header = file.text.lines().next().and_then(|line| line.strip_prefix("//!"));
    let says_something = header.is_some_and(|header| !header.trim().is_empty());
    (belongs && !says_something).then(|| {
        file.violation(
            1,
            "no `//!` header",
            "describe in one line what the file contains and who calls it",
        )
    })
}

/// Returns whether a file belongs to a library crate. Its public types and functions need docs; fields
/// and variants need them only if their name is not enough, so no lint requires them.
fn is_library_source(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/")
}

fn too_long(file: &TextFile, function: &Function) -> Violation {
    let Function { name, line, lines } = function;
    let what = format!("`{name}` has {lines} lines; the maximum is {FUNCTION_LINES_MAX}");
    file.violation(*line, what, "split it, or add it to LONG_FUNCTIONS")
}

struct Function {
    name: String,
    line: usize,
    lines: usize,
}

#[derive(Default)]
struct Findings {
    functions: Vec<Function>,
    leftovers: Vec<(usize, String)>,
    undocumented: Vec<(usize, String)>,
}

impl Findings {
    fn read(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        for (index, tree) in trees.iter().enumerate() {
            self.functions.extend(function_at(&trees[index..]));
            if let Some(leftover) = leftover_at(&trees[index..]) {
                self.leftovers.push((tree.span().start().line, leftover));
            }
            if let Some(name) = public_item_at(&trees[index..])
                && !is_documented(&trees[..index])
            {
                self.undocumented.push((tree.span().start().line, name));
            }
            if let TokenTree::Group(group) = tree {
                self.read(group.stream());
            }
        }
    }
}

/// Returns the name of the public type, function or constant that begins here.
fn public_item_at(trees: &[TokenTree]) -> Option<String> {
    let mut words = trees.iter().map_while(|tree| match tree {
        TokenTree::Ident(word) => Some(word.to_string()),
        TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    });
    if words.next()? != "pub" {
        return None;
    }
    let is_qualifier = |word: &String| ["const", "async", "unsafe"].contains(&word.as_str());
    let (qualifiers, words): (Vec<_>, Vec<_>) = words.partition(is_qualifier);
    match words.as_slice() {
        [keyword, name, ..] if ITEMS.contains(&keyword.as_str()) => Some(name.clone()),
        [name] if qualifiers.iter().any(|word| word == "const") => Some(name.clone()),
        _ => None,
    }
}

/// Returns whether the attributes at the end of these tokens, right before an item, have documentation.
fn is_documented(before: &[TokenTree]) -> bool {
    let attributes = before.rchunks_exact(2).map_while(|pair| match pair {
        [TokenTree::Punct(mark), TokenTree::Group(attribute)] if mark.as_char() == '#' => {
            Some(attribute.stream().into_iter().next())
        }
        _ => None,
    });
    attributes.flatten().any(|first| matches!(first, TokenTree::Ident(word) if word == "doc"))
}

/// The function that begins here, from `fn` to its closing brace. Types such as `fn(u8)` have no
/// name, and the methods that a trait only declares have no body.
fn function_at(trees: &[TokenTree]) -> Option<Function> {
    let [TokenTree::Ident(keyword), TokenTree::Ident(name), rest @ ..] = trees else {
        return None;
    };
    if keyword != "fn" {
        return None;
    }
    let body = rest.iter().find_map(body_or_end)??;
    let line = keyword.span().start().line;
    let lines = body.span_close().end().line - line + 1;
    Some(Function { name: name.to_string(), line, lines })
}

/// Returns the body, or `Some(None)` where a semicolon ends the declaration without one.
fn body_or_end(tree: &TokenTree) -> Option<Option<&Group>> {
    match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(Some(group)),
        TokenTree::Punct(mark) if mark.as_char() == ';' => Some(None),
        TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Ident(_) | TokenTree::Literal(_) => {
            None
        }
    }
}

/// Returns an unfinished macro or an ignored test that begins here.
fn leftover_at(trees: &[TokenTree]) -> Option<String> {
    match trees {
        [TokenTree::Ident(name), TokenTree::Punct(mark), TokenTree::Group(_), ..] => {
            let unfinished = UNFINISHED.iter().any(|word| name == word);
            (unfinished && mark.as_char() == '!').then(|| format!("{name}!"))
        }
        [TokenTree::Punct(mark), TokenTree::Group(attribute), ..] => {
            (mark.as_char() == '#' && ignores(attribute)).then(|| "#[ignore]".to_owned())
        }
        _ => None,
    }
}

/// Returns whether an attribute is `ignore`, also a conditional one.
fn ignores(attribute: &Group) -> bool {
    let mut trees = attribute.stream().into_iter();
    match trees.next() {
        Some(TokenTree::Ident(name)) if name == "ignore" => true,
        Some(TokenTree::Ident(name)) if name == "cfg_attr" => trees.any(|tree| {
            let TokenTree::Group(arguments) = tree else {
                return false;
            };
            arguments
                .stream()
                .into_iter()
                .any(|t| matches!(t, TokenTree::Ident(i) if i == "ignore"))
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
