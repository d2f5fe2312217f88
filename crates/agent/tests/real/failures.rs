//! A failure of the service gets the right error class, whichever program made the request.

use tertulia_dialect::stream::ErrorClass;
use tertulia_fake_models::Step;

use crate::program::Program;
use crate::trial::Trial;

crate::for_each_program![
    a_wrong_key_is_a_matter_of_auth,
    a_prompt_that_is_too_large_is_an_overflow,
    an_answer_without_a_word_is_empty,
];

mod without_retries {
    use super::*;

    crate::for_first_programs![
        a_forbidden_key_is_a_matter_of_auth,
        too_many_requests_are_a_matter_of_quota,
        a_service_in_trouble_is_a_matter_of_network,
        a_service_that_is_overloaded_is_a_matter_of_network,
        a_connection_that_is_cut_is_a_matter_of_network,
    ];
}

#[track_caller]
fn check(program: Program, step: Step, expected: ErrorClass) {
    let outcome = Trial::new(program, [step]).run("Are you there?");
    assert_eq!(outcome.class(), expected, "{:#?}", outcome.report);
    assert_eq!(outcome.report.output.final_text, None);
    assert!(!outcome.asked.is_empty());
}

fn a_wrong_key_is_a_matter_of_auth(program: Program) {
    check(program, Step::Status(401), ErrorClass::Auth);
}

fn a_forbidden_key_is_a_matter_of_auth(program: Program) {
    check(program, Step::Status(403), ErrorClass::Auth);
}

fn too_many_requests_are_a_matter_of_quota(program: Program) {
    check(program, Step::Status(429), ErrorClass::Quota);
}

fn a_service_in_trouble_is_a_matter_of_network(program: Program) {
    check(program, Step::Status(500), ErrorClass::Network);
}

fn a_service_that_is_overloaded_is_a_matter_of_network(program: Program) {
    let status = if program == Program::Claude { 529 } else { 503 };
    check(program, Step::Status(status), ErrorClass::Network);
}

fn a_prompt_that_is_too_large_is_an_overflow(program: Program) {
    check(program, Step::Overflow, ErrorClass::Overflow);
}

fn a_connection_that_is_cut_is_a_matter_of_network(program: Program) {
    check(program, Step::DropMidStream("Half of an ans".into()), ErrorClass::Network);
}

fn an_answer_without_a_word_is_empty(program: Program) {
    check(program, Step::Empty, ErrorClass::Empty);
}
