//! Tests of the checks of Rust files, each on a small text at `crates/a/src/lib.rs`.

use super::*;

const PATH: &str = "crates/a/src/lib.rs";

fn check_at(path: &str, text: &str, exceptions: &[LongFunction]) -> Vec<String> {
    let file = TextFile { path: path.to_owned(), text: text.to_owned() };
    check(&[file], exceptions).iter().map(ToString::to_string).collect()
}

/// Returns tidy's violations in code below a valid header, so that its first line is line 2.
fn found(code: &str) -> Vec<String> {
    check_at(PATH, &format!("//! A file.\n{code}"), &[])
}

fn function_of(lines: usize) -> String {
    format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
}

#[test]
fn a_file_without_a_header_is_reported() {
    let expected = "crates/a/src/lib.rs:1: no `//!` header; \
                    describe in one line what the file contains and who calls it";
    for text in ["", "fn f() {}\n", "// A comment.\n", "//!\n//! Too late.\n"] {
        assert_eq!(check_at(PATH, text, &[]), [expected], "{text:?}");
    }
}

#[test]
fn files_outside_the_workspace_need_no_header() {
    assert!(check_at("fuzz/fuzz_targets/a.rs", "fn f() {}\n", &[]).is_empty());
}

#[test]
fn seventy_lines_fit_and_one_more_does_not() {
    assert!(found(&function_of(70)).is_empty());
    assert_eq!(
        found(&function_of(71)),
        ["crates/a/src/lib.rs:2: `long` has 71 lines; the maximum is 70; split it, or add it to \
             LONG_FUNCTIONS"]
    );
}

#[test]
fn methods_and_functions_in_modules_are_measured() {
    assert_eq!(found(&format!("impl A {{\n{}}}\n", function_of(71))).len(), 1);
    assert_eq!(found(&format!("mod a {{\n{}}}\n", function_of(71))).len(), 1);
}

#[test]
fn functions_in_macros_are_measured() {
    let property = function_of(71).replace("()", "(x in 0..9)");
    assert_eq!(found(&format!("proptest! {{\n{property}}}\n")).len(), 1);
}

#[test]
fn documentation_above_a_function_does_not_count() {
    assert!(found(&format!("{}{}", "/// A line.\n".repeat(9), function_of(70))).is_empty());
}

#[test]
fn declarations_and_types_have_no_length() {
    let long = format!("mod a {{\n{}}}\n", "use b;\n".repeat(80));
    assert!(found(&format!("trait T {{ fn f(&self); }}\n{long}")).is_empty());
    assert!(found(&format!("type F = fn(u8) -> u8;\n{long}")).is_empty());
}

#[test]
fn braces_in_strings_and_comments_end_nothing() {
    let tricky = "fn f() {\n    let _ = ('{', \"}\", r#\"{\"#); // }\n}\n";
    assert!(found(tricky).is_empty());
}

#[test]
fn a_named_exception_may_be_long() {
    let exception = LongFunction { path: PATH, name: "long", reason: "one match" };
    let text = format!("//! A file.\n{}", function_of(71));
    assert!(check_at(PATH, &text, &[exception]).is_empty());
}

#[test]
fn an_exception_that_is_not_needed_any_more_is_reported() {
    let exception = LongFunction { path: PATH, name: "long", reason: "one match" };
    let text = format!("//! A file.\n{}", function_of(70));
    assert_eq!(
        check_at(PATH, &text, &[exception]),
        ["crates/a/src/lib.rs:1: `long` is no longer too long (one match); \
          remove it from LONG_FUNCTIONS"]
    );
}

#[test]
fn unfinished_macros_are_reported_where_they_stand() {
    assert_eq!(
        found("fn f() {\n    todo!()\n}\n"),
        ["crates/a/src/lib.rs:3: `todo!` is left over; finish the work, or remove it"]
    );
    assert_eq!(found("fn f() { unimplemented!(\"later\") }").len(), 1);
    assert_eq!(found("fn f() { vec![dbg!(1)] }").len(), 1);
}

#[test]
fn ignored_tests_are_reported() {
    assert_eq!(found("#[test]\n#[ignore]\nfn f() {}\n").len(), 1);
    assert_eq!(found("#[ignore = \"slow\"]\nfn f() {}\n").len(), 1);
    assert_eq!(found("#[cfg_attr(windows, ignore)]\nfn f() {}\n").len(), 1);
}

#[test]
fn words_in_strings_comments_and_other_macros_are_fine() {
    assert!(found("// todo!() and #[ignore]\nconst A: &str = \"dbg!(1)\";\n").is_empty());
    assert!(found("#[must_use]\nfn todo() -> bool { ignore != dbg }\n").is_empty());
}

#[test]
fn text_that_is_not_rust_is_reported() {
    assert_eq!(found("fn f( {"), ["crates/a/src/lib.rs:1: this is not Rust; fix it, or rename it"]);
}

#[test]
fn public_types_and_functions_need_documentation() {
    let cases = [
        ("pub fn f() {}", "f"),
        ("pub const fn g() {}", "g"),
        ("pub const LIMIT: usize = 1;", "LIMIT"),
        ("#[derive(Debug)]\npub struct S;", "S"),
        ("impl A {\n    pub fn h(&self) {}\n}", "h"),
    ];
    for (code, name) in cases {
        let found = found(code);
        assert_eq!(found.len(), 1, "{code}");
        assert!(found[0].contains(&format!("`{name}` is public")), "{found:?}");
    }
}

#[test]
fn documented_private_and_nested_names_need_nothing_more() {
    let documented = "/// A type.\n#[derive(Debug)]\npub struct S {\n    pub field: u8,\n}";
    for code in [documented, "fn f() {}", "pub(crate) fn f() {}", "pub use a::b;", "pub mod a;"] {
        assert_eq!(found(code), [""; 0], "{code}");
    }
    assert!(check_at("xtask/src/a.rs", "//! A file.\npub fn f() {}\n", &[]).is_empty());
}
