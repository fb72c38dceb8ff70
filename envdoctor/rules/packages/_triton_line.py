"""The line of a report that says of Triton that it is missing, or not the one that is needed."""

from envdoctor.rules.rule import Facts, Pattern, messages

_SAYS = (
    Pattern(r"Value 'sm_\w+' is not defined for option 'gpu-name'"),
    Pattern(r"Cannot find a working triton installation"),
    Pattern(r"(?i)PTXAS error|ptxas fatal\s*:(?!\s*(?:Memory allocation|Unresolved extern))"),
    Pattern(r"PassManager::run failed"),
    Pattern(r"cannot import name '\w+' from 'triton"),
    Pattern(r"module 'triton[\w.]*' has no attribute"),
    Pattern(r"(?i)too old to be supported by the triton"),
    Pattern(r"(?i)Triton only supports (?:devices|GPUs|CUDA)"),
    Pattern(r"(?i)torch \d\S* (?:requires|needs|depends on) (?:pytorch-)?triton"),
    Pattern(r"(?i)module triton has no (?:attribute|name)|triton\S* has no name"),
)
_UNKNOWN_GPU = Pattern(r"(?i)gpu-name|PTXAS error|ptxas fatal")
_OF_XLA = Pattern(r"(?:Xla|Jax)RuntimeError|jaxlib|\bxla[/.]|stream_executor|tensorflow")
"""JAX and TensorFlow call the same assembler."""
MISSING = Pattern(r"(?i)No module named '?triton\b(?!\.\w)")
"""A part of it that is missing (triton.ops) is no proof: what is asked for may have moved or gone."""
_HARMLESS = "some optimizations will not be enabled"  # what xformers says of it on Windows, where nothing needs it
_COMPILES = Pattern(r"(?i)torch\.compile|inductor|dynamo|TritonMissing")
_OF_NVCC = Pattern(r"(?i)\bnvcc (?:fatal|error|warning)|Error compiling objects|\.cu\.o\b|\bcicc\b")


def of_report(facts: Facts) -> str | None:
    said = messages.in_report(facts, *_SAYS)
    if said is not None and _OF_XLA.search(said.string) and "triton" not in said.string.lower():
        said = None
    if said is None and not messages.line_with(facts, _HARMLESS):
        said = messages.in_report(facts, MISSING)
    return said.string if said else None


def is_of_the_assembler(line: str) -> bool:
    return _UNKNOWN_GPU.search(line) is not None


def is_of_nvcc(facts: Facts, line: str) -> bool:
    return is_of_the_assembler(line) and _OF_NVCC.search("\n".join(facts.messages)) is not None


def is_a_programs_word(facts: Facts, line: str) -> bool:
    """Does a program say in its own way that it has no Triton, while nothing compiles?"""
    return messages.is_retold(line) and not _COMPILES.search("\n".join(facts.messages))
