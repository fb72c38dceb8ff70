"""What an exception's kind and the place where it was raised tell, where no sentence of a library does."""

from __future__ import annotations

import pytest

from envdoctor.rules.diagnose import Diagnosis
from envdoctor.rules.finding import Finding, Severity
from tests.rules.packages.test_known_errors import judged


def said(text: str) -> list[Finding]:
    found = judged(text).findings
    return [each for each in found if each.severity in (Severity.WARNING, Severity.ERROR)]


def only(text: str) -> Finding:
    (found,) = said(text)
    return found


def told(found: Finding, *words: str) -> None:
    for word in words:
        assert word in f"{found.message} {found.remedy.text}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("AttributeError: 'TreeNet' object has no attribute 'module'\n", (".module", "DataParallel", "Usually")),
        ("AttributeError: 'MatmulLtState' object has no attribute 'use_pool'\n", ("bitsandbytes", "upgraded alone")),
        ("AttributeError: 'PlanSampler' object has no attribute 'get_steps'\n", ("PlanSampler", "another release")),
        ("AttributeError: type object 'TreeNet' has no attribute 'from_plan'\n", ("from_plan", "slip")),
        ("AttributeError: can't set attribute\n", ("without a setter", "another release")),
        ("AttributeError: property 'rate' of 'Plan' object has no setter\n", ("without a setter",)),
        ("NotImplementedError\n", ("not written", "misspelt")),
        ("StopIteration\n", ("next element", "empty")),
        ("RuntimeError: generator raised StopIteration\n", ("next element",)),
        ("EOFError\n", ("at its end", "pipe")),
        ("KeyboardInterrupt\n", ("SIGINT", "Ctrl-C")),
        ("ZeroDivisionError: division by zero\n", ("by 0", "empty data set")),
        ("IndexError: list index out of range\n", ("fewer elements", "found nothing")),
        (
            "SystemError: <built-in function step> returned NULL without setting an error\n",
            ("compiled package", "too old"),
        ),
        (
            "subprocess.CalledProcessError: Command '['nvidia-smi', '-L']' returned non-zero exit status 12.\n",
            ("exit status 12", "not found (12)"),
        ),
        ("terminate called after throwing an instance of 'std::out_of_range'\n", ("std::out_of_range", "what()")),
        ("terminate called without an active exception\n", ("threads still ran",)),
        ("thread 'main' panicked at src/plan.rs:12:5:\n", ("Rust", "damaged")),
        ('Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\n', ("Java", "heap")),
        ("OSError: [WinError 126] The specified module could not be found\n", ("Windows", "Visual C++")),
        ("Process finished with exit code -1073740791 (0xC0000409)\n", ("abort()", "faulthandler")),
        ("Process finished with exit code -1073741571 (0xC00000FD)\n", ("stack", "without end")),
        ("The program exited with code 3221225477\n", ("not its own", "faulthandler")),
        ("container trainer exited with code 135\n", ("/dev/shm",)),
        ("Floating point exception (core dumped)\n", ("division",)),
        ("run.sh: line 9: 4711 Killed     python run.py\n", ("SIGKILL", "memory")),
        ("cuda error 719\n", ("719", "outside of its memory")),
        ("munmap_chunk(): invalid pointer\n", ("damaged its own memory", "two libraries of one kind")),
        ("*** stack smashing detected ***: terminated\n", ("damaged its own memory",)),
        ("Fatal Python error: Segmentation fault\n", ("no exception of Python's", "another torch")),
        ("Windows fatal exception: access violation\n", ("crashed", "faulthandler")),
        ("zsh: killed     python plan.py\n", ("SIGKILL", "memory")),
        ("RuntimeError: vector::_M_range_check: __n (which is 3) >= this->size() (which is 3)\n", ("C++",)),
        ("struct.error: unpack requires a buffer of 4 bytes\n", ("shorter", "cut")),
        ("ImportError: attempted relative import with no known parent package\n", ("no package", "python -m")),
        ("OverflowError: Python int too large to convert to C long\n", ("too large", "32 bits")),
        ("locale.Error: unsupported locale setting\n", ("locale", "C.UTF-8")),
        ("ValueError: cannot reshape array of size 10 into shape (3,4)\n", ("another number of elements",)),
        ("numpy.linalg.LinAlgError: Singular matrix\n", ("inverted", "NaN")),
        ("RuntimeError: dictionary changed size during iteration\n", ("list(d)",)),
        ("TypeError: Can't instantiate abstract class Plan with abstract methods grow\n", ("Plan lacks",)),
        ("collect2: error: ld returned 1 exit status\n", ("Linking failed", "cannot find -l")),
        (
            'docker: Error response from daemon: exec: "python": executable file not found in $PATH: unknown.\n',
            ("no program python", "python3"),
        ),
        ("RuntimeError: cuSolver internal error\n", ("cuSOLVER", "memory is full")),
        ("TimeoutError\n", ("in the time that was set",)),
        ("queue.Empty\n", ("in the time that was set",)),
    ],
)
def test_the_kind_of_an_exception_names_what_is_likely(text: str, words: tuple[str, ...]) -> None:
    told(said(text)[0], *words)
    assert judged(text).unexplained is None


def test_an_assertion_without_a_word_ends_its_traceback() -> None:
    diagnosis: Diagnosis = judged(
        'Traceback (most recent call last):\n  File "plan.py", line 4, in <module>\n    check(tree)\nAssertionError\n'
    )
    (found,) = diagnosis.findings
    told(found, "its condition is not in the text", "last frame")
    assert found.severity is Severity.WARNING


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError\n",
        "ValueError\n",
        "It fails on my machine, and I cannot tell why.\n",
        "subprocess.CalledProcessError: Command '['python', 'plan.py']' returned non-zero exit status 1.\n",
    ],
)
def test_what_says_nothing_stays_unexplained(text: str) -> None:
    assert judged(text).unexplained is not None


@pytest.mark.parametrize(
    "text",
    [
        # a value of a kind that Python has itself is another matter
        "AttributeError: 'NoneType' object has no attribute 'module'\n",
        "AttributeError: 'dict' object has no attribute 'lower'\n",
        "AttributeError: 'DataParallel' object has no attribute 'generate'\n",
        "AttributeError: 'Namespace' object has no attribute 'lr'\n",
        # an error with words of its own speaks
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\nKeyboardInterrupt\n",
    ],
)
def test_another_row_speaks_where_there_is_one(text: str) -> None:
    subjects = {found.subject for found in said(text)}
    assert subjects
    assert not subjects & {"a name that is not there", "who ended it"}


def test_hparams_are_told_by_the_line_that_sets_them() -> None:
    found = only(
        'Traceback (most recent call last):\n  File "plan.py", line 9, in __init__\n    self.hparams = hparams\n'
        '  File "/opt/py/lib/python3.9/site-packages/torch/nn/modules/module.py", line 1178, in __setattr__\n'
        "    object.__setattr__(self, name, value)\nAttributeError: can't set attribute\n"
    )
    told(found, "hparams", "save_hyperparameters")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("build/src/tree_kernel.cu.o: No such file or directory\n", ("build/src/tree_kernel.cu.o", "nvcc")),
        ("x86_64-linux-gnu-gcc: error: csrc/points.o: No such file or directory\n", ("csrc/points.o", "half full")),
        ("LINK : fatal error LNK1181: cannot open input file 'D:\\plan\\points.obj'\n", ("D:\\plan\\points.obj",)),
        (
            "gcc-7.4: No such file or directory\nerror: command 'nvcc' failed with exit status 1\n",
            ("gcc-7.4", "-ccbin"),
        ),
        ("/bin/sh: 1: g++-6: not found\n", ("g++-6", "not there under that name")),
        ("nvcc fatal   : Failed to preprocess host compiler properties.\n", ("C++ compiler", "-ccbin")),
        ("nvcc fatal: Unsupported gpu architecture compute89\n", ("compute89", "89 and 90 11.8")),
    ],
)
def test_a_build_that_lacks_a_compiler_or_its_work(text: str, words: tuple[str, ...]) -> None:
    told(said(text)[0], *words)
    assert said(text)[0].severity is Severity.ERROR


@pytest.mark.parametrize(
    "text",
    ["/usr/bin/ld: cannot find crt1.o: No such file or directory\n", "gcc: error: plan.c: No such file or directory\n"],
)
def test_no_other_file_is_an_object_of_the_build(text: str) -> None:
    assert not {"a compiled part", "the C++ compiler"} & {found.subject for found in said(text)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Number of GPUs requested (2) is more than number of GPUs (0) in the system, exiting\n", ("--nv", "--gres")),
        ("Mumber of PUs requested (1) is more than number of PUs (0) in the system, exiting\n", ("counts none",)),
        ("ERROR: requested 2 GPUs but 0 are available\n", ("counts none",)),
        ("ERROR: requested 8 GPUs but only 2 are available\n", ("more GPUs than it counts", "nvidia-smi -L")),
        ("number of GPUs requested (4) exceeds the number of GPUs (2)\n", ("more GPUs than it counts",)),
    ],
)
def test_more_gpus_are_asked_for_than_are_there(text: str, words: tuple[str, ...]) -> None:
    told(only(text), *words, *(("nvidia-smi",)))


_CUT = (
    "ValueError                                Traceback (most recent call last)\n"
    "<ipython-input-5-353caef774a4> in <cell line: 0>()\n     10 import plan\n---> 12 plan.run()\n"
)


@pytest.mark.parametrize(
    ("prose", "subject"),
    [
        ("The notebook removes numpy 2.0 and installs 1.26 in its first cell.\n", "numpy"),
        ("It worked before I upgraded pandas.\n", "an upgrade"),
        ("The update of Colab to NumPy 2 broke it: numpy 2 was already imported.\n", "numpy"),
    ],
)
def test_the_prose_around_a_cut_traceback_names_a_cause(prose: str, subject: str) -> None:
    found = only(f"{prose}\n{_CUT}")
    assert (found.subject, found.severity) == (subject, Severity.WARNING)


@pytest.mark.parametrize(
    ("text", "certain", "not_said"),
    [
        (
            "ModuleNotFoundError: No module named 'triton.ops'\n",
            "asks for triton.ops, which triton 3.2 and later do not have",
            "not installed",
        ),
        ("_pickle.UnpicklingError: invalid load key, 'v'.\n", "no whole pickle", "only a pointer"),
        ("ninja: build stopped: subcommand failed.\n", "could not be compiled", "stands above"),
        ("ImportError: cannot import name 'make_tree'\n", "make_tree is not in what it is imported from", "last lines"),
        (
            "RuntimeError: Expected all tensors to be on the same device\n",
            "One of the tensors that an operation takes",
            "of the batch or a part of the model lies",
        ),
    ],
)
def test_the_certain_part_says_no_more_than_the_text(text: str, certain: str, not_said: str) -> None:
    proved = [found.message.partition(" Usually ")[0] for found in said(text) if found.severity is Severity.ERROR]
    assert any(certain in each for each in proved)
    assert not any(not_said in each for each in proved)


def test_a_cut_traceback_alone_stays_unexplained() -> None:
    assert judged(f"It fails on my machine.\n\n{_CUT}").unexplained is not None


def test_a_frame_of_compiled_code_is_not_quoted_as_the_error() -> None:
    diagnosis = judged(
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1) ran for 600029 milliseconds before "
        "timing out.\nframe #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x7f in libc10.so)\n"
    )
    assert diagnosis.unexplained is None or "Watchdog" in diagnosis.unexplained.line
