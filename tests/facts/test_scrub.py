"""Nothing secret, personal or harmful to a terminal leaves through a report."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts import scrub
from envdoctor.facts.model import Facts, Gpu, Gpus, Interpreter, Origin, Script, Torch
from envdoctor.knowledge import variables
from envdoctor.knowledge.table import Rows
from tests.change.conftest import make_environment
from tests.commands.test_check import envdoctor

BASE64 = "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MFFXRVJUWXVpb3A"
PLANTED = {
    "hugging face": ("hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz01234567", "{}"),
    "openai": ("sk-proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2", "key {}"),
    "anthropic": ("sk-ant-api03-" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7", "{}"),
    "stripe": ("sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc", "{}"),
    "github": ("ghp_" + "1234567890abcdefghijABCDEFGHIJ123456", "fatal: {} rejected"),
    "github app": ("ghs_" + "16C7e42F292c6912E7710c838347Ae178B4a", "{}"),
    "github fine-grained": ("github_pat_" + "11ABCDEFG0abcdefghijkl_ABCDEFGHIJKLMNOP", "{}"),
    "gitlab": ("glpat-" + "AbCdEfGh1234567890Xy", "{}"),
    "aws key": ("AKIA" + "IOSFODNN7EXAMPLE", "id={}"),
    "aws temporary key": ("ASIA" + "Y34FZKBOKMUTVV7A", "{}"),
    "aws secret": ("wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY12", "AWS_SECRET_ACCESS_KEY={}"),
    "google": ("AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", "{}"),
    "slack": ("xoxb-" + "123456789012-1234567890123-AbCdEfGhIjKl", "{}"),
    "npm": ("npm_" + "abcdefghijklmnopqrstuvwxyz0123456789", "{}"),
    "package index": ("pypi-" + "AgEIcHlwaS5vcmcCJDAwMDAwMDAw", "password = {}"),
    "nvidia": ("nvapi-" + "abcDEF123456-ghiJKL7890mnoPQR", "{}"),
    "replicate": ("r8_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789a", "{}"),
    "runpod": ("rpa_" + "ABCDEF1234567890ABCDEF1234567890", "{}"),
    "groq": ("gsk_" + "AbCdEfGhIjKlMnOpQrSt1234", "{}"),
    "databricks": ("dapi-" + "0123456789abcdef0123456789abcdef", "{}"),
    "wandb": ("0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", "wandb login {}"),
    "web token": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.SflKxwRJSMeKKF2QT4fw", "Cookie: {}"),
    "url password": ("hunter2pass", "https://me:{}@host.example/simple"),
    "url user": ("tokenuser123", "https://{}@host.example/simple/"),
    "url query": ("sig-value-1", "https://bucket.example/x?X-Amz-Signature={}&b=1"),
    "proxy": ("pr0xyS3cret", "http_proxy=http://user:{}@10.0.0.1:3128"),
    "git remote": ("oauth2pass", "fetch git+https://oauth2:{}@git.example/a.git@main"),
    "bearer": ("abcdefgh12345678", "Authorization: Bearer {}"),
    "basic": ("dXNlcjpwYXNzd29yZA==", "authorization: Basic {}"),
    "netrc": ("netrcpassw0rd", "machine host.example login me password {}"),
    "assignment": ("correcthorse", "db_password: '{}'"),
    "json": ("s3cr3tvalue", '{{"api_key": "{}"}}'),
    "flag": ("f1agvalue", "--token={}"),
    "base64": (BASE64, "blob {} end"),
    "private key": ("MIIEowIBAAKCAQEA", "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----"),
    "gpu": ("GPU-8d3a2f6b-1c4e-4f7a-9b0d-5e6f7a8b9c0d", "CUDA_VISIBLE_DEVICES={}"),
}


def test_there_are_thirty_and_more() -> None:
    assert len(PLANTED) >= 30


@pytest.mark.parametrize("name", PLANTED)
def test_planted_secrets_do_not_pass(name: str) -> None:
    secret, around = PLANTED[name]
    assert secret not in scrub.text(around.format(secret))


@pytest.mark.parametrize("name", PLANTED)
def test_nor_do_they_pass_in_facts(name: str) -> None:
    secret, around = PLANTED[name]
    planted = around.format(secret)
    facts = Facts(
        variables=scrub.variables({"LD_LIBRARY_PATH": planted, "TORCH_LOGS": planted}),
        torch=Torch(version="2.9", cuda_error=planted, warnings=(planted,)),
        scripts=(Script(path="x.py", source=planted),),
        messages=(planted,),
        remarks={planted: planted},
    )
    assert secret not in repr(scrub.shareable(facts))


@pytest.mark.parametrize(
    "text",
    [
        "undefined symbol: _ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb",
        "_ZN2at4_ops5zeros4callEN3c108ArrayRefINS2_6SymIntEEENS2_8optionalINS2_10ScalarTypeEEE",
        "flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp311-cp311-linux_x86_64.whl",
        "torch-2.9.0+cu130-cp311-cp311-manylinux_2_28_x86_64",
        "expandable_segments:True,max_split_size_mb:128,garbage_collection_threshold:0.8",
        "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05",
        "0000000000000000000000000000000000000000",
        "https://docs.pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "tokenizer = AutoTokenizer.from_pretrained(model)",
        "max_tokens: 4096, pad_token_id=0",
        "TOKENIZERS_PARALLELISM=false",
        "[W1120 10:00:00.000000000 init.cpp:1] Warning: x",
    ],
)
def test_what_a_reader_needs_stays(text: str) -> None:
    assert scrub.text(text) == text


def test_home_user_and_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/data/people/alice")
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(nodename="gpu-node-17.cluster"))
    scrub._personal.cache_clear()
    try:
        assert scrub.text("/data/people/alice/env:/data/people/alice") == "~/env:~"
        assert scrub.text("/data/people/alicesmith") == "/data/people/alicesmith"
        assert scrub.text("file:///data/people/alice/x") == "file://~/x"
        assert scrub.text("/home/bob/.cache") == "/home/[user]/.cache"
        told = scrub.text("connect to GPU-NODE-17.cluster:29500 failed")
        assert "NODE-17" not in told
        assert re.fullmatch(r"connect to host-[0-9a-f]{8}:29500 failed", told)
    finally:
        scrub._personal.cache_clear()


def test_variables_pass_by_name() -> None:
    environ = {
        "CUDA_VISIBLE_DEVICES": "0,1",
        "TORCH_CUDNN_BENCHMARK": "true",
        "NCCL_P2P_DISABLE": "1",
        "PYTORCH_ALLOC_CONF": "expandable_segments:True",
        "HF_TOKEN": "hf_secret",
        "HUGGING_FACE_HUB_TOKEN": "x",
        "WANDB_API_KEY": "x",
        "OPENAI_API_KEY": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "PIP_INDEX_URL": "x",
        "UV_INDEX_URL": "x",
        "http_proxy": "x",
        "MASTER_ADDR": "10.0.0.1",
        "TORCH_SECRET_TOKEN": "x",
        "CUDA_API_KEY": "x",
        "ACCELERATE_PASSWORD": "x",
        "PATH": "/bin",
        "USER": "alice",
    }
    told = scrub.variables(environ)
    assert set(told) == {"CUDA_VISIBLE_DEVICES", "TORCH_CUDNN_BENCHMARK", "NCCL_P2P_DISABLE", "PYTORCH_ALLOC_CONF"}
    assert set(scrub.variables(environ, ["USER"])) == {*told, "USER"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TORCH_HOME", "s3://KEY12345:{}@bucket/x"),
        ("TORCH_HOME", "s3:/KEY12345:{}@bucket/x"),
        ("CUDA_ARGS", "token {}"),
        ("CUDA_ARGS", "{}"),
        ("KMP_HIDDEN", "--api-key {}"),
        ("NVIDIA_REQUIRE_CUDA", "pw={}"),
        ("NVIDIA_REQUIRE_CUDA", "cuda>=12.4 pw={} brand=tesla"),
        ("NCCL_DEBUG_FILE", "/f?sig={}"),
        ("OMP_X", "-p {}"),
        ("TORCH_LOGS", "+dynamo --token {}"),
        ("XLA_FLAGS", "--xla_secret {}"),
        ("PYTHONPATH", "https://me:{}@host/x"),
        ("PYTHONPATH", "/srv/token={}/lib"),
        ("TRITON_ANYTHING", "Basic {}"),
    ],
)
def test_odd_names_and_values_hide_no_secret(name: str, value: str) -> None:
    for secret in ("hunter2", "correcthorse", "Tr0ub4dor&3"):
        told = scrub.variables({name: value.format(secret)})
        assert set(told) == {name}
        assert secret not in told[name]
        assert secret.partition("&")[0] not in told[name]


FORMATS = ("text", "json", "junit", "sarif", "github", "markdown", "svg")


@pytest.mark.parametrize("form", ["/hf_AbCdEfGhIjKlMnOpQrStUvWxYz01234567", "/token=hunter2AbCdEf"])
def test_a_secret_in_a_search_path_reaches_no_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    folder = Path(f"{tmp_path}{form}")
    folder.mkdir()
    (folder / "colorsys.py").write_text("")  # hides a module, which is reported by its path
    path = f"{folder}{os.pathsep}{Path(__file__).parents[2]}"
    make_environment(tmp_path / "env")
    words = ("check", "--no-torch", "-v", "--env", tmp_path / "env")
    told = [*(envdoctor(*words, "--format", name, PYTHONPATH=path) for name in FORMATS)]
    told.append(envdoctor("facts", "--env", tmp_path / "env", "--no-torch", PYTHONPATH=path))
    for outcome in told:
        assert outcome.code in (0, 1, 3), outcome.err
        assert "AbCdEf" not in outcome.out + outcome.err
    assert "hides the module colorsys" in " ".join(told[0].out.split())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TORCH_CUDNN_BENCHMARK", "true"),
        ("TORCH_NUM_THREADS", "8"),
        ("NCCL_BUFFSIZE", "8388608"),
        ("NCCL_NEW_LEVEL", "4,5;6"),
        ("TORCHINDUCTOR_CACHE_DIR", "/scratch/cache-1/torch_inductor"),
        ("TORCH_LOGS", "+dynamo,recompiles,graph_breaks"),
        ("PYTORCH_ALLOC_CONF", "expandable_segments:True,max_split_size_mb:128"),
        ("TORCH_CUDA_ARCH_LIST", "8.0;9.0+PTX"),
        ("CUDA_VISIBLE_DEVICES", "0,1"),
        ("CUBLAS_WORKSPACE_CONFIG", ":4096:8"),
        ("KMP_AFFINITY", "granularity=fine,compact,1,0"),
        ("OMP_PLACES", "{0:4},{4:4}"),
        ("NCCL_SOCKET_IFNAME", "^lo,docker0"),
        ("NVIDIA_REQUIRE_CUDA", "cuda>=12.4 brand=tesla,driver>=470,driver<471"),
        ("XLA_FLAGS", "--xla_gpu_autotune_level=4"),
        ("LD_LIBRARY_PATH", "/usr/local/cuda/lib64:/opt/x"),
        ("MALLOC_CONF", "background_thread:true,dirty_decay_ms:-1"),
    ],
)
def test_settings_are_told_as_they_are(name: str, value: str) -> None:
    assert scrub.variables({name: value}) == {name: value}


def test_every_variable_that_rules_know_is_collected() -> None:
    names = {name for table in vars(variables).values() if isinstance(table, Rows) for name in table.names()}
    assert len(names) > 50
    assert set(scrub.variables(dict.fromkeys(names, "1"))) == names


def test_shareable_leaves_what_names_nobody() -> None:
    git = "cf30153c4c131c8164ee7798e5022d810682e2cb"
    facts = Facts(
        origin=Origin(tool="envdoctor 1"),
        interpreter=Interpreter(version="3.11.7", markers={"os_name": "posix"}),
        torch=Torch(version="2.9.0", git=git),
        gpus=Gpus(devices=(Gpu(index=0, name="NVIDIA H100", identity="0123456789abcdef"),), count=1),
    )
    assert scrub.shareable(facts) == facts


def test_identity_is_stable_and_tells_cards_apart() -> None:
    assert scrub.identity("GPU-a") == scrub.identity("GPU-a") != scrub.identity("GPU-b")
    assert re.fullmatch(r"[0-9a-f]{16}", scrub.identity("GPU-a"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x00b\x08c\x7fd\x9be", "abcde"),
        ("\u202egnp.exe", "gnp.exe"),
        ("one\ntwo\tthree", "one two three"),
        ("caf\udce9", "caf\ufffd"),
        ("ünïcödé 日本", "ünïcödé 日本"),
    ],
)
def test_terminal_controls_are_stripped(text: str, expected: str) -> None:
    assert scrub.printable(text) == expected


def test_lines_are_kept_when_asked() -> None:
    assert scrub.printable("a\r\nb\rc\n\td", keep_lines=True) == "a\nb\nc\n\td"


@given(st.text())
def test_printable_is_printable_and_idempotent(text: str) -> None:
    once = scrub.printable(text)
    assert scrub.printable(once) == once
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", once)
    once.encode()


@given(st.text(max_size=200))
def test_text_is_idempotent(text: str) -> None:
    once = scrub.text(text)
    assert scrub.text(once) == once


@given(st.integers(0, 3), st.sampled_from(sorted(PLANTED)), st.text(alphabet="abc ,;:\n\t\"'", max_size=10))
def test_secrets_do_not_pass_beside_other_text(repeat: int, name: str, around: str) -> None:
    secret, form = PLANTED[name]
    assert secret not in scrub.text(around + " " + form.format(secret) + " " + around * repeat)


def test_long_hostile_texts_are_scrubbed_in_no_time() -> None:
    """No pattern may go back over its own tracks: a hostile text would stop the doctor."""
    for piece in (
        "a",
        "token=",
        "https://",
        "eyJ",
        "\x1b[",
        "-",
        "/root",
        "-----BEGIN PRIVATE KEY",
        "\x1b]0;",
        "hf_",
        "a@",
    ):
        scrub.text(piece * (200_000 // len(piece)))


def test_what_was_examined_as_a_clone_is_told_of_the_environment() -> None:
    facts = Facts(interpreter=Interpreter(version="3.12", executable="/x/.envdoctor-env-1/bin/python"))
    moved = scrub.rename_path(facts, "/x/.envdoctor-env-1", "/x/env")
    assert moved.interpreter == Interpreter(version="3.12", executable="/x/env/bin/python")
