import pytest

from envdoctor.facts.model import Distribution, Facts, Interpreter, Packages
from envdoctor.facts.pasted import read
from envdoctor.rules.interpreter.unsupported import unsupported
from envdoctor.rules.rule import Severity
from tests.rules.judging import findings, installed, locked, silent, skipped


def python(version: str, **more: object) -> Facts:
    return Facts(interpreter=Interpreter(version=version), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "line",
    [
        "trl needs another Python: 3.8.17 does not satisfy >=3.9",
        "ERROR: Package 'trl' requires a different Python: 3.8.17 not in '>=3.9'",
        "ERROR: Ignored the following versions that require a different python version: 1.0 Requires-Python >=3.10",
    ],
)
def test_an_installer_says_so(line: str) -> None:
    (finding,) = findings(unsupported, python("3.8.17", messages=(line,)), locked())
    assert (finding.kind, finding.severity) == ("python-unsupported", Severity.ERROR)
    assert "packages/import-mismatch" in finding.explains
    assert finding.remedy.commands[1].startswith("envdoctor fix --env .venv --target h100")


def test_a_package_that_demands_another_python() -> None:
    row = Distribution(name="transformers", version="5.23.0", requires_python=">=3.10")
    (finding,) = findings(unsupported, python("3.9.18", packages=Packages(distributions=(row,))))
    assert finding.severity is Severity.ERROR
    assert "transformers 5.23.0 needs Python >=3.10" in finding.message


def test_a_torch_without_wheels_for_this_python_is_noted() -> None:
    (finding,) = findings(unsupported, python("3.13.0", packages=installed(torch="2.4.1")))
    assert finding.severity is Severity.NOTE
    assert finding.expected == "Python 3.8 to 3.12"


def test_other_implementations() -> None:
    facts = Facts(interpreter=Interpreter(version="3.10.14", implementation="pypy"), packages=installed())
    (finding,) = findings(unsupported, facts)
    assert finding.actual == "pypy 3.10.14"


def test_healthy_and_unknown() -> None:
    row = Distribution(name="transformers", version="5.23.0", requires_python=">=3.10")
    assert silent(unsupported, python("3.11.7", packages=Packages(distributions=(row,))))
    assert silent(unsupported, python("3.12.1", packages=installed(torch="2.13.0")))
    assert silent(unsupported, python("3.12", packages=installed(torch="not a version")))
    assert skipped(unsupported, Facts())
    assert skipped(unsupported, python("3.12.1"))


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)",
        "ERROR: Could not find a version that satisfies the requirement torch==1.10.0+cu113 (from versions: 0.1.2)",
        "Could not find a version that satisfies the requirement torch==1.12.0 (from versions: 2.2.0, 2.3.1)",
    ],
)
def test_pip_offers_no_wheel_that_would_do(line: str) -> None:
    for facts in (python("3.10.1", messages=(line,)), Facts(messages=(line,))):
        (finding,) = findings(unsupported, facts)
        assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: Could not find a version that satisfies the requirement torch==9.9 (from versions: 2.2.0, 2.3.1)",
        "ERROR: Could not find a version that satisfies the requirement wandb (from versions: none)",
        "No connection: could not find a version that satisfies the requirement torch (from versions: none)",
    ],
)
def test_other_refusals_of_pip_are_not_the_python_s(line: str) -> None:
    assert silent(unsupported, python("3.11.7", messages=(line,)))


def test_another_package_that_is_not_found_is_only_likely_the_python_s() -> None:
    line = "ERROR: Could not find a version that satisfies the requirement open3d"
    (finding,) = findings(unsupported, python("3.14.1", messages=(line,)))
    assert (finding.severity, finding.certain) == (Severity.WARNING, False)
    assert finding.likely
    assert finding.title == "No wheel fits this Python and this system"
    assert "no wheels for this system or on the index" in finding.message
    assert silent(unsupported, python("3.11.7", messages=(line,)))


def test_a_launcher_that_could_not_have_torch_installed() -> None:
    said = ("RuntimeError: Couldn't install torch.",)
    command = {"Command": '"C:\\ui\\venv\\python.exe" -m pip install torch==1.12.1+cu113 torchvision==0.13.1+cu113'}
    (finding,) = findings(unsupported, python("3.11.0", messages=said, remarks=command))
    assert "torch 1.12 has wheels for Python 3.7 to 3.10" in finding.message
    assert finding.remedy.commands[0] == "uv venv --python 3.10 .venv"
    assert silent(unsupported, python("3.10.6", messages=said, remarks=command))


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("Python 3.11 is not supported by numpy==1.19.3", "3.9"),
        ("Python 3.14 is not supported by numba 0.60.0", "3.12"),
    ],
)
def test_the_python_that_is_prescribed_has_what_is_missing(line: str, version: str) -> None:
    (finding,) = findings(unsupported, python("3.13.7", messages=(line,)))
    assert finding.remedy.commands[0] == f"uv venv --python {version} .venv"


def test_an_old_pkg_resources_is_upgraded_where_it_runs() -> None:
    line = "AttributeError: module 'pkgutil' has no attribute 'ImpImporter'. Did you mean: 'zipimporter'?"
    (finding,) = findings(unsupported, python("3.13.7", messages=(line,)))
    assert finding.remedy.commands == ("python -m pip install --upgrade 'setuptools<81'",)
    assert finding.remedy.instead == ("uv venv --python 3.11 .venv",)


def test_an_old_pkg_resources_of_a_build_is_not_the_one_of_the_environment() -> None:
    line = "AttributeError: module 'pkgutil' has no attribute 'ImpImporter'"
    built = "× Getting requirements to build wheel did not run successfully."
    (finding,) = findings(unsupported, python("3.12.2", messages=(built, line)))
    assert finding.remedy.commands == ("uv venv --python 3.11 .venv",)
    assert finding.remedy.instead == ()


@pytest.mark.parametrize("line", ["Requires-Python: >=3.10", "shelf requires Python 3.10 or later and needs a GPU."])
def test_what_a_package_asks_for_is_no_error_of_a_python_that_has_it(line: str) -> None:
    assert silent(unsupported, python("3.12.4", messages=(line,), packages=installed()))
    assert skipped(unsupported, Facts(messages=(line,)))
    (finding,) = findings(unsupported, python("3.9.2", messages=(line,), packages=installed()))
    assert finding.severity is Severity.ERROR


def test_a_package_with_wheels_for_one_system_alone_says_nothing_of_the_python() -> None:
    line = "ERROR: Could not find a version that satisfies the requirement triton==3.1.0 (from versions: none)"
    assert skipped(unsupported, python("3.11.9", messages=(line,)))


def test_an_index_of_pytorch_that_there_is_not() -> None:
    def index(line: str) -> str:
        return (
            f"$ pip install torch==2.10.0 --index-url https://example.org/whl/{line}\n"
            "ERROR: Could not find a version that satisfies the requirement torch==2.10.0 (from versions: none)\n"
            "Python version: 3.13.1\n"
        )

    (finding,) = findings(unsupported, read(index("cu131")))
    assert (finding.actual, finding.expected) == ("cu131", "cu130")
    assert all(one.subject != "the index" for one in findings(unsupported, read(index("cu130"))))


def test_torch_compile_tells_of_its_torch_and_not_of_the_python() -> None:
    assert silent(unsupported, python("3.12.1", messages=("RuntimeError: Dynamo is not supported on Python 3.12+",)))


MISSING = "ERROR: Could not find a version that satisfies the requirement torch==2.0.1 (from versions: {})"


@pytest.mark.parametrize(
    ("offered", "pips"),
    [("2.2.0, 2.2.1", "3.12"), ("2.6.0, 2.7.0", "3.13"), ("2.5.0, 2.5.1", "3.13"), ("2.9.0", "3.14")],
)
def test_the_python_of_pip_is_told_by_the_oldest_torch_that_it_is_offered(offered: str, pips: str) -> None:
    (found,) = findings(unsupported, python("3.9.7", messages=(MISSING.format(offered),)))
    proved, _, usual = found.message.partition(" Usually ")
    assert "3.9.7" not in proved
    assert f"belongs to Python {pips}" in usual
    assert found.remedy.commands[0] == "python -m pip --version"


def test_a_python_that_has_wheels_of_the_release_is_not_to_blame() -> None:
    (found,) = findings(unsupported, python("3.9.7", messages=(MISSING.format("none"),)))
    proved, _, usual = found.message.partition(" Usually ")
    assert "3.9.7" not in proved
    assert "another Python than the 3.9.7" in usual


def test_an_index_of_pytorch_tells_no_python() -> None:
    """Each begins with another release, and marks its own by a label."""
    (found,) = findings(unsupported, python("3.9.7", messages=(MISSING.format("2.2.0+cu121, 2.2.1+cu121"),)))
    assert "3.12" not in found.message


def test_an_isolated_build_of_uv_has_its_own_setuptools() -> None:
    lines = ("The build backend returned an error", "AttributeError: module 'pkgutil' has no attribute 'ImpImporter'")
    (found,) = findings(unsupported, python("3.12.4", messages=lines))
    assert "build in one of their own" in found.remedy.text
    assert not any("setuptools" in command for command in found.remedy.commands)


@pytest.mark.parametrize(
    ("asked", "newest"),
    [
        ("torch==1.2.0", "3.7"),
        ("torch==0.4.1", "3.7"),
        ("torchvision==0.5.0", "3.8"),
        ("torchvision==0.4.2", "3.7"),
        ("torchaudio==0.13.1", "3.11"),
        ("torch==2.6.0", "3.12"),
    ],
)
def test_the_python_to_take_is_of_the_releases_time(asked: str, newest: str) -> None:
    said = f"ERROR: Could not find a version that satisfies the requirement {asked} (from versions: none)"
    (finding,) = findings(unsupported, Facts(messages=(said,)))
    assert asked in finding.message
    assert finding.remedy.commands == (f"uv venv --python {newest} .venv",)
