//! One test for every role.

use crate::harness::{kept, run};

#[test]
fn twenty_kills_of_four_writers_lose_nothing() {
    let Some(figures) = kept("kills --kills 20 --seed 1") else { return };
    assert!(figures.count("faults injected") >= 40);
    assert!(figures.count("acknowledged") > 0);
    assert_eq!((figures.count("lost"), figures.count("half")), (0, 0));
}

#[test]
fn twenty_kills_of_a_postgresql_server_lose_nothing() {
    let Some(figures) = kept("postgres-kills --kills 20 --seed 1") else { return };
    assert_eq!((figures.count("faults injected"), figures.count("lost")), (20, 0));
}

#[test]
fn power_cuts_lose_nothing_and_the_control_does() {
    let Some(figures) = kept("images --images 800 --seed 1") else { return };
    assert_eq!(figures.count("lost"), 0);
    assert!(figures.count("entries lost by the control") > 0);
    assert!(figures.count("failed syncs") > 0);
}

#[test]
fn disk_errors_are_reported_and_lose_nothing() {
    let Some(figures) = kept("errors --stride 13 --seed 1") else { return };
    assert_eq!(figures.count("lost"), 0);
    assert!(figures.count("errors with outcome unknown") > 0);
}

#[test]
fn no_process_of_a_hostile_tree_survives_its_turn_and_the_control_s_do() {
    let Some(figures) = kept("trees --count 20 --seed 1") else { return };
    assert!(figures.count("survivors of the control") > 0);
    assert_eq!((figures.count("trees as a user"), figures.count("kills as a user")), (16, 4));
}

#[test]
fn a_full_disk_is_reported_and_freed_space_is_used_again() {
    let Some(figures) = kept("disk-full --rounds 2 --seed 1") else { return };
    assert_eq!(figures.count("lost"), 0);
}

#[test]
fn a_read_only_store_can_be_read() {
    // Only root can mount, and run as another user.
    kept("read-only --seed 1");
}

#[test]
fn a_hanging_writer_blocks_no_reader() {
    let Some(figures) = kept("locked --seed 1") else { return };
    assert_eq!(figures.count("reads meanwhile"), 200);
}

#[test]
fn damage_is_detected_and_never_returned() {
    let Some(figures) = kept("damage --stride 2003 --cuts 40 --seed 1") else { return };
    assert!(figures.count("bits") > 400);
    assert!(figures.count("on reading") > 0);
}

#[test]
fn a_clock_that_runs_backwards_changes_no_order() {
    let Some(figures) = kept("clock --jumps 4 --seed 1") else { return };
    assert!(figures.count("times that went back") > 0);
}

#[test]
fn of_two_writers_that_expect_the_same_tail_one_wins() {
    let Some(figures) = kept("race --rounds 300 --seed 1") else { return };
    assert_eq!(figures.count("faults injected"), 300);
}

#[test]
fn a_role_that_causes_no_fault_fails() {
    let (is_kept, figures) = run("race --rounds 0 --seed 1");
    assert!(!is_kept && figures.says("no fault occurred"));
}

#[test]
fn an_unknown_role_prints_the_usage() {
    let (is_kept, figures) = run("kill --kills 20");
    assert!(!is_kept && figures.says("Usage: tertulia-faults"));
}
