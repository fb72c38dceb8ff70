from envdoctor.rules.rule import NOTE, WARNING, Facts, Findings, Pattern, finding, need, remedies, rule

_FAMILIES = tuple(
    (module, Pattern(names))
    for module, names in (
        ("cupy", r"cupy(?:-cuda\d+x?|-rocm-[\d-]+)?"),
        ("onnxruntime", r"onnxruntime(?:-(?:gpu|directml|openvino|qnn|rocm|migraphx|training|windowsml))?"),
        ("faiss", r"faiss-(?:cpu|gpu(?:-cu\d+)?)"),
        ("tensorflow", r"tensorflow(?:-(?:cpu|gpu|rocm|directml))?|intel-tensorflow|tf-nightly(?:-cpu|-gpu)?"),
        ("xgboost", r"xgboost(?:-cpu)?"),
        ("dgl", r"dgl(?:-cu\d+)?"),
        ("paddle", r"paddlepaddle(?:-(?:gpu|xpu|dcu))?"),
        ("mxnet", r"mxnet(?:-(?:cu\d+(?:mkl)?|mkl|native))?"),
        ("spconv", r"spconv(?:-cu\d+)?"),
        ("cumm", r"cumm(?:-cu\d+)?"),
        ("bitsandbytes", r"bitsandbytes(?:-(?:windows|cuda\d+|rocm))?"),
        ("cudf", r"cudf-cu\d+"),
        ("cuml", r"cuml-cu\d+"),
        ("rmm", r"rmm-cu\d+"),
        ("nvidia.dali", r"nvidia-dali-cuda\d+"),
        ("decord", r"(?:eva-)?decord"),
        ("PIL", r"pillow(?:-simd)?"),
        ("cv2", r"opencv-(?:contrib-)?python(?:-headless)?"),
    )
)
"""The folder, and the distributions that fill it: read from the RECORD of their wheels, or said by their projects."""

_ALIKE = frozenset({"cv2", "tensorflow"})
"""Distributions of one release hold nearly the same files: they go together as long as their releases do."""


@rule(WARNING, kind="package-damaged", expected="one of them")
def shared_folder(facts: Facts) -> Findings:
    """Two packages that fill one folder are installed.

    Why: cupy-cuda11x and cupy-cuda12x, faiss-cpu and faiss-gpu, paddlepaddle and paddlepaddle-gpu write files of the
    same names into one folder, and no installer knows it: what came last counts, a part of it may be of the other, and
    removing one takes files of both along.
    Fix: remove all of a family, then install the one that is wanted.
    Source: https://docs.cupy.dev/en/stable/install.html https://github.com/opencv/opencv-python#installation-and-usage
    https://onnxruntime.ai/docs/install/#python-installs
    """
    present = {each.name: each.version for each in need(facts.packages).distributions}
    for module, names in _FAMILIES:
        found = sorted(name for name in present if names.fullmatch(name))
        if len(found) < 2 or set(found) == {"onnxruntime", "onnxruntime-gpu"}:  # packages/known-conflicts tells more
            continue
        listed = " and ".join(f"{name} {present[name]}" for name in found)
        alike = module in _ALIKE and len({present[name] for name in found}) == 1
        yield finding(
            subject=module,
            actual=listed,
            severity=NOTE if alike else None,
            message=f"{listed} fill one folder, {module}: the files of the one lie over those of the other.",
            fix=_REMOVE_ALL.format(module),
            run=remedies.uninstall(*found),
            certain=False,
        )


_REMOVE_ALL = (
    "Remove all of them, and what is left of the folder {}, then install the one that is wanted. What asks for another "
    "of them is installed before it, or without its requirements."
)
