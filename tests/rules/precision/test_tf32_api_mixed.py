from envdoctor.facts.model import Facts, Flag
from envdoctor.rules.precision.tf32_api_mixed import tf32_api_mixed
from envdoctor.rules.rule import SetFlag, Severity
from tests.rules.judging import asking, findings, silent, skipped, torch

# What torch 2.13 raises after torch.backends.cuda.matmul.fp32_precision = "tf32" alone.
ERROR = (
    "RuntimeError: PyTorch is checking whether allow_tf32 is enabled for cuBlas matmul,Current status indicate that "
    "you have used mix of the legacy and new APIs to set the TF32 status for cublas matmul. "
)


def test_a_read_that_raises() -> None:
    facts = Facts(torch=torch(float32_matmul_precision=Flag(error=ERROR)))
    (finding,) = findings(tf32_api_mixed, facts, asking(float32_matmul_precision="highest"))
    assert (finding.kind, finding.severity, finding.actual) == ("tf32-api-mixed", Severity.ERROR, ERROR)
    assert finding.repair == (SetFlag(name="float32-matmul-precision", value="highest"),)
    assert "precision/float32-matmul" in finding.explains


def test_the_line_of_a_report() -> None:
    (finding,) = findings(tf32_api_mixed, Facts(messages=("something", ERROR)))
    assert finding.actual == ERROR
    assert finding.repair == (SetFlag(name="float32-matmul-precision", value="high"),)


def test_readable_flags_and_other_errors_are_healthy() -> None:
    assert silent(tf32_api_mixed, Facts(torch=torch(float32_matmul_precision="high")))
    assert silent(tf32_api_mixed, Facts(torch=torch(sdp=Flag(error="AttributeError: no such thing"))))


def test_unknown_is_skipped() -> None:
    assert skipped(tf32_api_mixed, Facts(messages=("something else",))) == "torch's flags were not read"
