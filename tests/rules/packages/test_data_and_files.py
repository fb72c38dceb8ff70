"""Messages of data sets, the Hub, files that are not whole, limits and logs: what each of them means, and what not."""

from __future__ import annotations

import pytest

from envdoctor.rules.finding import Finding
from tests.rules.packages.test_known_errors import judged


def root(text: str) -> Finding:
    found = judged(text).root_cause
    assert found is not None
    return found


SAID = [
    ("datasets.data_files.EmptyDatasetError: The directory at /d doesn't contain any data files", "no file", "List"),
    ("TypeError: must be called with a dataclass type or instance", "datasets 4", "datasets 4 or newer"),
    ("OSError: Not an Arrow file", "not what its name says", "force_redownload"),
    ("pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer.", "git-lfs pointer", "force_redownload"),
    ("pyarrow.lib.ArrowInvalid: Column 2 named ids expected length 9 but got length 12", "rows", "remove_columns"),
    ("pyarrow.lib.ArrowInvalid: offset overflow while concatenating arrays", "2 GiB", "writer_batch_size"),
    ("pyarrow.lib.ArrowInvalid: JSON parse error: Column(/a) changed from string to number in row 7", "JSON", "line"),
    ("ArrowNotImplementedError: Unsupported cast from list<item: int> to int using function cast_int", "kinds", "str("),
    ("ArrowTypeError: Expected bytes, got a 'int' object", "different kinds", "features"),
    ("KeyError: \"Column text not in the dataset. Current columns in the dataset: ['a']\"", "columns", "column_names"),
    ("IndexError: Invalid key: 7 is out of bounds for size 0", "removed", "remove_unused_columns"),
    ("jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant/...", "in turn", "Join"),
    ("jinja2.exceptions.UndefinedError: 'dict object' has no attribute 'role'", "role and content", "ShareGPT"),
    ("TypeError: TextEncodeInput must be Union[TextInputSequence, Tuple[x, y]]", "no text", "str"),
    (
        "RuntimeError: Internal: src/sentencepiece_processor.cc(1101) [model_proto->ParseFromArray(x, y)]",
        "sentencepiece model",
        "download",
    ),
    (
        "HfHubHTTPError: 416 Client Error: Requested Range Not Satisfiable for url: https://h.example",
        "go on",
        "incompl",
    ),
    ("ValueError: Invalid token passed!", "token", "HF_TOKEN"),
    (
        "Error: 403 Forbidden: Please enable access to public gated repositories in your fine-grained token settings",
        "fine-grained",
        "gated",
    ),
    ("RuntimeError: Data processing error: Internal Writer Error: Background writer channel closed", "Xet", "HF_HOME"),
    ("_pickle.UnpicklingError: pickle data was truncated", "not whole", "size"),
    ("RuntimeError: Invalid magic number; corrupt file?", "not whole", "fetch"),
    ("OSError: image file is truncated (12 bytes not processed)", "cannot be decoded", "LOAD_TRUNCATED_IMAGES"),
    ("PIL.UnidentifiedImageError: cannot identify image file 'x.jpg'", "no image", "verify"),
    ("cv2.error: color.cpp:182: error: (-215:Assertion failed) !_src.empty() in function 'cvtColor'", "empty", "path"),
    ("OSError: Unable to open file (truncated file: eof = 96, stored_eof = 2048)", "HDF5", "size"),
    ("BlockingIOError: Unable to open file (unable to lock file, errno = 11)", "lock", "HDF5_USE_FILE_LOCKING"),
    ("lmdb.MapFullError: mdb_put: MDB_MAP_FULL: Environment mapsize limit reached", "map_size", "larger"),
    ("lmdb.BadRslotError: mdb_txn_begin: MDB_BAD_RSLOT: Invalid reuse", "workers", "__getitem__"),
    ("lmdb.Error: /d/train.lmdb: No such file or directory", "/d/train.lmdb", "subdir"),
    ("OSError: AF_UNIX path too long", "TMPDIR", "short"),
    ("ValueError: cannot convert float NaN to integer", "NaN", "isnan"),
    ("numpy.linalg.LinAlgError: SVD did not converge", "NaN", "float64"),
    ("ValueError: API key must be 40 characters long, yours was 86", "longer kind", "newest wandb"),
    ("ggml_backend_cuda_buffer_type_alloc_buffer: cudaMalloc failed: out of memory", "llama.cpp", "-ngl"),
    ("Error: Got an OOM, unloading all loaded models.", "ComfyUI", "--lowvram"),
    ("RuntimeError: [x/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation", "waited", "other rank"),
    ("filelock._error.Timeout: The file lock '/n/x.lock' could not be acquired.", "lock", ".lock"),
    ("Error: batch response: This repository is over its data quota.", "allowance", "release"),
    ("fatal: active `post-checkout` hook found during `git clone`:", "git-lfs", "2.45.2"),
    ("gdown.exceptions.FileURLRetrievalError: Failed to retrieve file url: Too many users", "Google Drive", "browser"),
    ("urllib.error.HTTPError: HTTP Error 403: rate limit exceeded", "GitHub", "GITHUB_TOKEN"),
    ("urllib.error.HTTPError: HTTP Error 404: Not Found", "404", "by hand"),
    ('RuntimeError: invalid hash value (expected "06", got "12")', "not the whole file", "Remove"),
    ("RuntimeError: Dataset not found or corrupted. You can use download=True to download it", "root", "download=True"),
    ("FileNotFoundError: Couldn't find any class folder in /d/train.", "one folder per class", "class folders"),
    ("OSError: [E050] Can't find model 'en_core_web_sm'. It doesn't seem to be", "en_core_web_sm", "download"),
    ("soundfile.LibsndfileError: Error opening 'x.m4a': Format not recognised.", "sound file", "ffmpeg"),
    ("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "empty or none", "Look at the file"),
    ("json.decoder.JSONDecodeError: Extra data: line 2 column 1 (char 120)", "one JSON object per line", "jsonl"),
    (
        "pandas.errors.ParserError: Error tokenizing data. C error: Expected 3 fields in line 5, saw 4",
        "separator",
        "sep",
    ),
    ("RuntimeError: Trying to resize storage that is not resizable", "different shapes", "collate_fn"),
    ("ValueError: prefetch_factor option could only be specified in multiprocessing.", "no workers", "num_workers"),
    ("DataLossError: corrupted record at 0", "TFRecord", "size"),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/torchinductor_a/b/c.py'",
        "compiler's cache",
        "own",
    ),
    ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "SGLang", "--mem-fraction"),
    ("OverflowError: cannot serialize a bytes object larger than 4 GiB", "one piece", "itself"),
    ("RuntimeError: Parent directory runs/a does not exist.", "runs/a", "makedirs"),
    ("ValueError: Can't find a valid checkpoint at out/checkpoint-100", "no weights", "checkpoint-N"),
    ("TypeError: object of type 'IterableDataset' has no len()", "streamed", "max_steps"),
    ("ValueError: mmap length is greater than file size", "shorter", "size"),
    ("OSError: Failed to interpret file 'x.npy' as a pickle", "git-lfs pointer", "first bytes"),
    ("gzip.BadGzipFile: Not a gzipped file (b'<!')", "archive", "fetch it again"),
    ("av.error.InvalidDataError: Invalid data found when processing input", "cannot be decoded", "ffprobe"),
    ("xml.etree.ElementTree.ParseError: not well-formed (invalid token): line 1, column 2", "XML", "line"),
    ("yaml.scanner.ScannerError: found character that cannot start any token", "YAML", "blanks instead of tabs"),
    ("sqlite3.OperationalError: database is locked", "database is locked", "local disk"),
    ("OSError: cannot write mode RGBA as JPEG", "transparency", "convert"),
    ("ValueError: expected sequence of length 12 at dim 1 (got 9)", "different lengths", "padding=True"),
    ("FileNotFoundError: Couldn't find a module script at /x/accuracy/accuracy.py. It", "metric", "copied script"),
    ("OSError: [WinError 123] The filename, directory name, or volume label syntax is incorrect", "name", "repr"),
    ("KeyError: \"Unable to open object (Object 'anno' doesn't exist)\"", "anno", "h5ls"),
    ("PanicException: The global thread pool has not been initialized.: ThreadPoolBuildError { }", "threads", "ulimit"),
    ('PanicException: called x on an Err value: Error("expected value", line: 1, column: 1)', "JSON", "download"),
    ("OSError: [Errno 28] Auf dem Gerät ist kein Speicherplatz mehr verfügbar", "full", "TMPDIR"),
    ("KeyError: 'annos'", "annos", "Print the keys"),
    ("RuntimeError: Internal: could not parse ModelProto from ./tokenizer.model", "sentencepiece model", "AutoTok"),
    ("ConnectionError: HTTPSConnectionPool(host='h.example', port=443): Read timed out.", "not reached", "mirror"),
    ("libpng error: IDAT: CRC error", "cannot be decoded", "verify"),
]


@pytest.mark.parametrize(("text", "meaning", "remedy"), SAID)
def test_what_a_message_means(text: str, meaning: str, remedy: str) -> None:
    found = root(text)
    assert meaning in found.message.removesuffix(text)
    assert remedy in " ".join((found.remedy.text, *found.remedy.commands))


def test_data_that_another_program_asks_for() -> None:
    missing = root(
        "LookupError:\n  Resource punkt_tab not found.\n  >>> import nltk\n  >>> nltk.download('punkt_tab')\n"
    )
    assert missing.remedy.commands == ("python -m nltk.downloader punkt_tab",)


@pytest.mark.parametrize(
    "text",
    [
        "lmdb.BadRslotError: mdb_txn_begin: MDB_BAD_RSLOT: Invalid reuse",
        "numpy.linalg.LinAlgError: SVD did not converge",
        "BrokenPipeError: [Errno 32] Broken pipe",
        "TypeError: must be called with a dataclass type or instance",
        "WARNING:tensorboardX.x2num:NaN or Inf found in input tensor.",
        "KeyError: 'annos'",
    ],
)
def test_what_has_several_causes_is_a_warning_or_tells_them_as_likely(text: str) -> None:
    assert all(one.severity.word != "error" or " Usually " in one.message for one in judged(text).findings)


@pytest.mark.parametrize(
    ("text", "not_said"),
    [
        ("RepositoryNotFoundError: 404 Client Error. Repository Not Found for url: https://h.example/x", "compiler"),
        ("RuntimeError: Invalid magic number; corrupt file?", "GGUF"),
        ("ValueError: Input contains NaN.", "fp16"),
        ("pandas.errors.ParserError: Error tokenizing data. C error: out of memory", "separator"),
        ("fatal: Connection to github.com closed by remote host. Error: remote repository", "terminal"),
        ("BrokenPipeError: [Errno 32] Broken pipe", "is gone or does not answer"),
        ("RuntimeError: the mean of all losses: JSON parse error: x", "as a table"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/tmp/torchinductor_a/b/c.py'", "that the run reads"),
    ],
)
def test_what_resembles_it_and_means_something_else(text: str, not_said: str) -> None:
    assert all(not_said not in one.message for one in judged(text).findings if one.severity.word == "error")


@pytest.mark.parametrize(
    ("path", "variable"),
    [
        ("/root/.cache/huggingface/hub", "HF_HOME"),
        ("/root/.triton/cache", "TRITON_CACHE_DIR"),
        ("/root/.cache", "XDG_CACHE_HOME"),
    ],
)
def test_the_variable_of_the_cache_that_is_named(path: str, variable: str) -> None:
    found = judged(f"PermissionError: [Errno 13] Permission denied: '{path}'").findings
    assert variable in {one.subject for one in found}


def test_a_black_picture_has_a_line_that_says_so() -> None:
    said = "x.py:147: RuntimeWarning: invalid value encountered in cast\n"
    assert any("VAE" in one.message for one in judged(f"{said}  images.astype('uint8') of diffusers\n").findings)
    assert not any("VAE" in one.message for one in judged(f"{said}  table.astype('int64')\nError: no rows\n").findings)
