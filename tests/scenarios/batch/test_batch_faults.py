"""What can go wrong with a batch, and the tests that let it go wrong: to be read first by whoever changes the runner.

Files without a folder are of this one; `scripts/sweep` runs them whole, every other run a slice with fixed seeds.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HERE = "tests/scenarios/batch"
FAULTS = {
    "kill -9 at random times": {
        "test_batch_kills.py": ["test_kills_at_random_times", "test_what_a_killed_run_left_is_told_by_the_next"],
        "tests/batch/test_interrupting.py": [
            "test_br_163_a_run_that_is_killed_early_hides_nothing_of_a_fuller_one",
            "test_br_165_a_killed_run_is_gone_on_with",
        ],
    },
    "kill -9 at the n-th write, fsync or rename": {
        "test_batch_kills.py": ["test_kills_at_system_calls"],
        "tests/batch/test_rows.py": ["test_a_kill_at_any_step_leaves_a_whole_output_and_the_next_time_mends_it"],
    },
    "ENOSPC and EIO": {
        "test_batch_disks.py": [
            "test_br_176_a_disk_that_takes_no_more_ends_the_run_and_the_next_goes_on",
            "test_a_file_that_may_not_grow_ends_the_run_and_the_next_goes_on",
            "test_br_176_a_small_file_system_that_fills_up_ends_the_run_and_a_larger_one_goes_on",
            "test_a_store_that_cannot_be_read_ends_the_run_and_nothing_is_asked_again",
        ],
        "tests/batch/test_rows.py": ["test_br_176_a_full_disk_is_said_and_what_was_there_stays"],
        "tests/batch/test_runner.py": ["test_a_full_disk_ends_the_run_with_what_the_store_says"],
    },
    "torn tails: input, partial output, manifest, ledger, store": {
        "test_batch_inputs.py": [
            "test_an_input_cut_at_any_byte_has_the_rows_of_its_whole_lines",
            "test_what_an_earlier_run_left_is_never_read",
            "test_a_manifest_cut_at_any_byte_is_told_and_made_again",
            "test_a_log_of_a_killed_run_cut_at_any_byte_costs_what_was_cut_and_no_more",
        ],
        "tests/batch/test_ledger.py": ["test_a_ledger_that_was_cut_is_said_or_read"],
    },
    "odd lines: duplicate, reordered, inserted, deleted, 10 MB, empty, BOM, CRLF, NUL, U+2028, invalid UTF-8": {
        "test_batch_inputs.py": [
            "test_odd_lines_have_a_row_each",
            "test_an_empty_input_is_an_empty_output",
            "test_records_that_move_ask_nobody_and_new_ones_alone_are_asked",
            "test_an_input_that_grows_gives_an_output_that_grows",
        ],
        "tests/batch/test_rows.py": ["test_any_input_gives_a_row_a_line"],
        "tests/batch/test_records.py": ["test_br_175_lines_end_at_line_feeds_alone"],
    },
    "clock jumps": {
        "test_batch_disks.py": ["test_wall_clocks_that_jump_change_no_row_and_ask_nothing_again"],
        "tests/batch/test_limits.py": ["test_a_clock_that_goes_back_gives_nothing_and_takes_nothing"],
    },
    "a storm of 429 in every form of Retry-After, and 429 for want of money": {
        "test_batch_providers.py": [
            "test_a_rate_limit_is_waited_for_by_the_whole_run",
            "test_nothing_is_sent_after_the_money_is_gone_and_the_run_can_go_on",
        ],
        "tests/batch/test_provider_waits.py": ["test_retry_after_in_its_three_forms"],
        "tests/batch/test_runner.py": ["test_a_storm_of_429_uses_up_no_attempts_and_spaces_the_calls"],
    },
    "reset, short body, stall, 200 with HTML or an error, a reply after the time limit": {
        "test_batch_providers.py": ["test_what_fails_on_its_way_is_asked_again_and_never_stored"],
        "tests/batch/test_sending.py": ["test_an_answer_after_the_time_limit_is_never_the_next_requests"],
    },
    "a stream that is cut, in the middle of a character, or only kept alive": {
        "test_batch_providers.py": ["test_a_stream_counts_with_its_terminal_event_alone"],
        "tests/batch/test_sending.py": ["test_a_stream_without_its_terminal_event_is_cut"],
    },
    "bad answers: no JSON, twice a name, NaN, fenced, text behind it, bad then good, always bad, cut, refused": {
        "test_batch_providers.py": [
            "test_dead_letters_are_stored_each_with_its_class",
            "test_a_bad_answer_is_repaired_and_the_chain_is_replayed",
            "test_json_with_something_around_it_is_one_answer_now_and_later",
        ],
        "tests/batch/test_runner.py": [
            "test_always_bad_ends_in_a_dead_letter",
            "test_spending_includes_every_answer_that_was_paid_for",
        ],
    },
    "two runners of one store": {
        "test_batch_kills.py": [
            "test_kills_of_two_runners_of_one_store",
            "test_a_second_run_with_the_same_output_is_refused",
        ],
        "tests/batch/test_interrupting.py": ["test_two_runners_of_one_store_ask_each_key_once"],
    },
    "a run and a prune": {
        "test_batch_prunes.py": [
            "test_nothing_is_pruned_under_a_run_and_nothing_that_an_output_needs_after_it",
            "test_of_a_run_and_a_prune_that_begin_at_once_one_waits_or_is_refused",
            "test_a_run_in_the_middle_of_a_prune_is_refused_until_that_is_killed",
            "test_a_prune_that_is_killed_leaves_a_whole_store_and_another_takes_the_rest",
        ],
        "tests/batch/test_pruning.py": ["test_a_limit_takes_the_oldest_and_never_what_is_needed"],
    },
    "each byte of the store flipped": {
        "test_batch_disks.py": [
            "test_each_byte_of_the_store_that_is_flipped_is_told_or_changes_nothing",
            "test_a_damaged_reply_is_named_and_asked_once_after_it_was_taken_out",
        ],
    },
    "SIGTERM, SIGINT twice, SIGSTOP": {
        "test_batch_kills.py": [
            "test_a_run_that_is_drained_loses_nothing",
            "test_a_second_interrupt_stops_at_once_and_loses_no_more_than_was_in_flight",
            "test_a_run_that_was_stopped_and_goes_on_asks_nothing_again",
        ],
    },
    "what no repetition helps: access refused, a request refused, twenty refused at the start": {
        "test_batch_providers.py": [
            "test_three_alike_that_concern_every_request_stop_the_run",
            "test_a_refused_record_is_stored_and_never_asked_again",
            "test_a_run_whose_first_twenty_are_refused_stops",
        ],
        "tests/batch/test_retrying.py": ["test_every_row_of_the_table"],
    },
    "no network": {
        "test_batch_disks.py": ["test_verify_and_a_finished_run_connect_to_nobody"],
        "tests/batch/test_verifying.py": ["test_what_was_published_is_the_same_with_no_network"],
    },
    "a million stored replies": {
        "test_batch_millions.py": ["test_a_hundred_thousand_stored_replies_take_the_memory_of_a_thousand"],
        "bench/resuming.py": ["main"],  # at full size, with its seconds
    },
    "mutants: no fsync, acknowledged before the commit, a field out of the key, rows appended, a clock in a row": {
        "test_batch_mutants.py": [
            "everything_is_on_disk_before_it_counts",
            "a_kill_costs_no_more_than_what_was_in_flight",
            "an_edit_of_what_is_asked_asks_anew",
            "running_again_changes_nothing",
            "rows_come_of_the_store_alone",
            "test_mutant_is_killed",
        ],
    },
}
"""Each fault, and where it is tried: files, and their functions."""


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_tried_by_a_test_that_is_there(fault):
    for file, names in FAULTS[fault].items():
        tree = ast.parse((ROOT / (file if "/" in file else f"{HERE}/{file}")).read_bytes())
        there = {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}
        assert set(names) <= there, file
