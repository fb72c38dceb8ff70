"""The twenty frictions of the first user's forty-five minutes: what was typed, what came of it then, and what to type
to see what comes of it now."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.minute.place import Place, Said

TINY = "--model_config model.json --tokenizer tokenizer --data chats.jsonl --tokens_per_row 128 --precision float32"
SFT = f"envdoctor train --env ./env sft {TINY}"
SMALL = "--target ./locks/targets/small.toml --select packages --ignore packages/no-pip"
MEASURE = "envdoctor run --env ./env --target cpu --measure -- python"


class Friction(NamedTuple):
    """``keep``: the lines of the answer that are shown, by what they hold; ``hidden``: what goes before, not shown."""

    title: str
    was: str
    typed: str
    keep: str
    held: tuple[str, ...]
    hidden: str = ""
    code: int = 0

    def run(self, place: Place) -> Said:
        """What it says now, as far as it is shown."""
        if self.hidden:
            place.type(self.hidden)
        said = place.type(self.typed)
        wanted = re.compile(self.keep)
        lines = [line.rstrip() for line in said.text.splitlines() if line.strip() and wanted.search(line)]
        return Said("\n".join(line.replace(TINY, "...") for line in lines), said.code)

    @property
    def shown(self) -> str:
        """The line to type, without the settings of a tiny model."""
        return self.typed.replace(f" {TINY}", " ...").replace(SMALL, "-t small")


FRICTIONS = (
    Friction(
        "A finished run was handed out as the result of a new one",
        'continuing from run1/checkpoints/step-00000024 (step 24)\n{"outcome": "finished", ...}\n-> exit 0',
        f"{SFT} --output run1 --learning_rate 1e-4",
        "run1|--output|resume",
        ("tests/trainer/checkpoints/test_folder.py::test_a_finished_run_is_not_handed_out_as_another",),
        hidden=f"{SFT} --output run1 --learning_rate 1e-3",
        code=1,
    ),
    Friction(
        "`fix` changed an environment without a yes where there is no terminal",
        "✓ ENV changed in 3.0 s (exchange)\n-> exit 0",
        f"echo n | envdoctor fix --env ./old {SMALL}",
        "→|nobody",
        ("tests/commands/test_asking.py::test_a_pipe_can_say_nothing",),
        code=2,
    ),
    Friction(
        "The first command after the README's install line accused the clone",
        "✗ A file of yours hides a module of Python or of an installed package\n-> exit 1",
        ". ./tool/bin/activate; cd clone && envdoctor",
        "",
        ("tests/facts/test_environment.py::test_our_own_environment_without_torch_is_never_meant",),
        code=3,
    ),
    Friction(
        "A GPU user never got the verdict that the title promises",
        "(trains chat-135m on the CPU for 100 s and more)\n? not-comparable: there is no baseline for this workload",
        "envdoctor verify -t h100 --env ./env",
        "",
        (
            "tests/speed/test_without_timing.py::test_no_gpu_target_is_trained_for_on_a_machine_without_a_gpu",
            "tests/speed/test_without_timing.py::test_a_known_card_is_timed_without_a_baseline",
        ),
        code=3,
    ),
    Friction(
        "No CI snippet worked as printed",
        "- pip install gpu-envdoctor\n- envdoctor fix ...\n- envdoctor verify --target h100\n(no such distribution; "
        "verify exits 3 on every GPU)",
        "envdoctor ci gitlab --target h100 --source git+https://git.example/envdoctor@v0.1.0",
        "pip install|preflight|key",
        ("tests/commands/test_ci.py::test_a_good_machine_trains_after_one_preflight",),
    ),
    Friction(
        "`python -m trainer` does not exist after `pip install`, and `envdoctor train sft -h` had the wrapper's help",
        "No module named trainer\nUsage: envdoctor train [OPTIONS] TASK ...",
        "envdoctor train sft --help | head -4",
        "",
        ("tests/commands/test_train.py::test_the_help_of_a_task_is_the_trainers",),
    ),
    Friction(
        "Names of the Hub did not work, and the answer misled",
        "error: Qwen/Qwen2.5-0.5B: no such folder\nSet tokenizer to a folder with tokenizer.json.",
        "HF_HUB_OFFLINE=1 envdoctor train --env ./env sft --model Qwen/Qwen2.5-0.5B --data chats.jsonl",
        "Qwen|hf |HF_",
        ("tests/trainer/data/test_hub.py::test_a_model_and_a_data_set_by_name_and_offline_afterwards",),
        code=1,
    ),
    Friction(
        "No validation loss, no early stopping, no sample",
        "unknown option --eval_data",
        f"{SFT} --output run8 --epochs 4 --eval_share 0.2 --eval_every 20 --early_stopping 2",
        "validation|stopp|best",
        ("tests/trainer/validation/test_evaluation.py::test_the_best_weights_are_the_models_and_the_run_stops_early",),
    ),
    Friction(
        "The log showed the loss of another step, and never the last",
        'row 1: "loss": null; row 2: the loss of step 1; the last line: {"outcome": "finished", ...} without one',
        f"{SFT} --output run9 --log_every 4 >/dev/null; cut -d, -f1,2 run9/metrics.jsonl",
        "step",
        (
            "tests/trainer/measure/test_progress.py::test_rows_have_the_loss_of_their_step_and_go_on_without_repeating",
        ),
    ),
    Friction(
        "The headline of `run --measure` was \"? not-comparable\"",
        "? not-comparable: no baseline\n  93% of the time is forward and backward: the computation itself",
        f"{MEASURE} padded.py fixed",
        "padding",
        (
            "tests/speed/measured_run/test_advice.py::test_the_headline_is_the_cure_and_no_sentence_stands_twice",
            "tests/speed/measured_run/test_losses_named.py::test_padding_is_counted_and_told_apart",
        ),
    ),
    Friction(
        "Advice from too short a run, and wrong advice for short steps",
        "`1 windows in 0 s` ... waits 30 % ... `num_workers=1` (2.5 s became 3.7 s)",
        f"{MEASURE} short.py",
        "Too short",
        (
            "tests/speed/measured_run/test_advice.py::test_a_run_of_less_than_a_second_gets_no_advice",
            "tests/speed/measured_run/test_advice.py::test_no_worker_is_advised_where_a_step_is_shorter_than_its_hand_over",
        ),
    ),
    Friction(
        "A typo in the user's command was \"a bug of envdoctor\"",
        "internal error: FileNotFoundError ... Please report it with LOG\n-> exit 2",
        "envdoctor run --env ./env -- pythn train.py",
        "pythn",
        ("tests/commands/test_mistyped.py::test_a_mistake_is_named",),
        code=127,
    ),
    Friction(
        "Typos in the names of rules passed",
        "--ignore torch/import-fial: accepted in silence\n"
        "--select packges: ? Not known: rules failed to judge, so this is no clean bill of health",
        "envdoctor check --no-torch --env ./env --ignore torch/import-fial; "
        "envdoctor check --no-torch --env ./env --select packges; envdoctor explain precision | head -2",
        "",
        ("tests/commands/test_mistyped.py::test_a_mistake_is_named",),
    ),
    Friction(
        "The trainer's command line was unreadable",
        "318 lines of help; a wrong option prints 65 lines of usage and no suggestion",
        "envdoctor train sft --help | wc -l; envdoctor train --env ./env sft --modle x",
        "",
        ("tests/trainer/terminal/test_command_line.py::test_a_wrong_option_is_answered_with_what_was_meant",),
        code=2,
    ),
    Friction(
        "Times counted the person who was asked",
        "(answered after 100 s)\n✓ env created in 107.4 s (create)",
        f"typing y 20 envdoctor fix --env ./old {SMALL}",
        "✓ ",
        ("tests/commands/test_asking.py::test_the_time_that_somebody_takes_to_answer_is_not_counted",),
    ),
    Friction(
        "The progress line broke at 80 columns and began late",
        "(nothing up to step 10, then a line of more than 80 columns, that leaves half a bar at each log)",
        f"typing y 0 {SFT} --output run16 --epochs 4 | tr '\\r' '\\n' | grep -o '[0-9]*/[0-9]*[ ━].*it/s' | tail -1",
        "/",
        ("tests/trainer/measure/test_progress.py::test_the_bar_fits_the_terminal_from_the_first_step_on",),
    ),
    Friction(
        "Commands of minutes did not say so; `fetch` without a network took 100 s to say it",
        "(nothing for more than 100 s at \"choosing the stack\")",
        "UV_OFFLINE=0 http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 "
        "timeout 20 envdoctor fetch --target cpu --folder wheelhouse",
        r"^\.\.\.|fails|Check",
        ("tests/real/test_fresh_boxes.py::test_no_network_and_no_wheels",),
        code=3,
    ),
    Friction(
        "One's own locks were awkward to share, and a broken environment was locked",
        "! datasets needs huggingface-hub<3.0,>=1.31.0, and the lock holds 0.36.2\n✓ (exit 0)\n"
        "-t https://host/team.toml: https:/host/team.toml: No such file",
        "envdoctor targets | grep small; envdoctor check --no-torch --env ./old -t small | head -1; "
        "envdoctor check --no-torch --env ./old -t https://host.example/team.toml",
        "",
        (
            "tests/commands/test_lock.py::test_a_broken_environment_is_not_locked",
            "tests/commands/test_lock.py::test_a_lock_of_ones_own_is_found_by_its_name_and_shared_by_its_hash",
        ),
        code=2,
    ),
    Friction(
        "One letter had six meanings; no suggestion for a mistyped command",
        "Error: No such command 'chek'.",
        "envdoctor chek; envdoctor stf; envdoctor check ./env; envdoctor help | head -1",
        "",
        (
            "tests/commands/test_words.py::test_every_letter_is_short_for_one_word",
            "tests/commands/test_mistyped.py::test_a_mistake_is_named",
        ),
    ),
    Friction(
        "Words",
        "no stack (target none lists no stacks), no baseline for this stack",
        "printf 'torch 2.6.0+cpu\\n' | envdoctor diagnose -",
        "",
        (
            "tests/speed/test_verdict_sentences.py::test_the_first_line_is_a_sentence_and_the_figures_stand_beside_it",
        ),
        code=3,
    ),
)  # fmt: skip
