"""Which shell does not know conda, and why: by what stands beside the line."""

from __future__ import annotations

from tests.rules.told import errors, root

ACTIVATE = "CondaError: Run 'conda init' before 'conda activate'"


def test_which_shell_does_not_know_conda() -> None:
    policy = root("I open a fresh PowerShell window, and conda activate work says", ACTIVATE)
    assert "execution policy" in policy.message
    assert "Set-ExecutionPolicy -Scope CurrentUser RemoteSigned" in policy.remedy.commands
    script = root("bash setup.sh", "no change     /opt/conda/bin/activate", "No action taken.", ACTIVATE)
    assert "a shell of its own" in script.message
    assert not any("conda init" in command for command in script.remedy.commands)
    assert "never run" in root(ACTIVATE).message


SHELLS = ("Currently supported shells are:", "  - bash", "  - fish", "  - xonsh", "  - zsh", "  - powershell")
PROPERLY = "CommandNotFoundError: Your shell has not been properly configured to use 'conda activate'."


def test_conda_s_list_of_shells_names_none_that_runs() -> None:
    assert "never run" in root(PROPERLY, "To initialize your shell, run", "", *SHELLS).message
    assert "execution policy" in root("PS C:\\Users\\me> conda activate work", PROPERLY, *SHELLS).message
    assert "never run" in root("Neither PowerShell nor my zsh knows it.", PROPERLY, *SHELLS).message


def test_a_policy_that_is_printed_comes_before_conda() -> None:
    refused = "profile.ps1 cannot be loaded because running scripts is disabled on this system."
    found = root(refused, ACTIVATE)
    assert found.subject == "PowerShell"


def test_an_error_that_names_nothing_has_no_slip() -> None:
    line = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized"
    assert not any("slip" in found.message for found in errors(line))
