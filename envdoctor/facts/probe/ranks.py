"""One process of a distributed job, in the environment's own Python: tell the others, hear them, time an all-reduce.

Run as ``python ranks.py REQUEST ANSWER VERDICT``, on every rank at once. Facts travel through torch.distributed's own
store, data through its own backends (gloo, or NCCL where every rank has a GPU). Rank 0 writes into ANSWER what all have
said and how fast they were, waits for the doctor's word in VERDICT, and passes it on; the others write that word into
their ANSWER. Who does not come within the limit is named; nobody waits longer than that.
"""

import json
import os
import socket
import sys
import threading
import time
import zlib
from datetime import timedelta
from typing import Any, Dict

MB = 1 << 20
SIZES = (4, 16 * MB)  # bytes: latency, and bandwidth
ROUNDS = 5
PROBE_SECONDS = 0.5


def main(request_path: Any, answer_path: Any, verdict_path: Any) -> Any:
    with open(request_path, encoding="utf-8") as stream:
        request = json.load(stream)
    rank, world, limit = request["rank"], request["world"], request["seconds"]
    end = time.monotonic() + limit
    answer: Dict[str, Any] = {"rank": rank}
    try:
        import torch
        import torch.distributed as distributed

        torch.set_num_threads(1)
        wait = timedelta(seconds=max(end - time.monotonic(), 1))
        host = distributed.TCPStore(
            request["address"], request["port"], world, request["hosts_store"], timeout=wait, wait_for_workers=False
        )
        # A job that was started again finds the keys of its first life in a launcher's store.
        store = distributed.PrefixStore("envdoctor%s" % os.environ.get("TORCHELASTIC_RESTART_COUNT", ""), host)
    except Exception as error:
        answer["error"] = "%s: %s" % (type(error).__name__, error)
        write(answer_path, answer)
        return
    own = dict(request["document"], speed=matmul(torch, request["local_rank"]), cuda=torch.cuda.is_available())
    store.set("rank%d" % rank, zlib.compress(json.dumps(own).encode()))
    if rank:
        follow(distributed, torch, store, request, end, answer)
    else:
        lead(distributed, torch, store, request, end, answer, answer_path, verdict_path)
    write(answer_path, answer)


def lead(
    distributed: Any, torch: Any, store: Any, request: Any, end: Any, answer: Any, answer_path: Any, verdict_path: Any
) -> Any:
    world = request["world"]
    documents = collect(store, ["rank%d" % rank for rank in range(world)], end - request["seconds"] * 0.4)
    answer["documents"] = {name[4:]: json.loads(zlib.decompress(data)) for name, data in documents.items()}
    answer["missing"] = [rank for rank in range(world) if str(rank) not in answer["documents"]]
    cuda = all(document["cuda"] for document in answer["documents"].values())
    backend = "" if answer["missing"] else "nccl" if cuda and distributed.is_nccl_available() else "gloo"
    store.set("go", backend)
    if backend:
        told = reduce_within(distributed, torch, store, request, backend, end - request["seconds"] * 0.2)
        store.set("after0", json.dumps(told))
        names = ["after%d" % rank for rank in range(world)]
        heard = collect(store, names, end - request["seconds"] * 0.1)
        after = {name[5:]: json.loads(data) for name, data in heard.items()}
        answer["collective"] = {"backend": backend, "ranks": after}
        answer["missing"] = [rank for rank in range(world) if str(rank) not in after]
    write(answer_path + ".part", answer)
    while time.monotonic() < end and not os.path.exists(verdict_path):
        time.sleep(0.02)
    word = "3"
    if os.path.exists(verdict_path):
        with open(verdict_path, encoding="utf-8") as stream:
            word = stream.read() or word
    store.set("verdict", word)
    # The store lives in this process: it stays until everybody has read the word, or a moment at most.
    present = [rank for rank in range(1, world) if rank not in answer["missing"]]
    collect(store, ["read%d" % rank for rank in present], min(end, time.monotonic() + 5))
    answer["verdict"] = word


def follow(distributed: Any, torch: Any, store: Any, request: Any, end: Any, answer: Any) -> Any:
    try:
        go = fetch(store, "go", end)
        if go:
            told = reduce_within(distributed, torch, store, request, go, end - request["seconds"] * 0.2)
            store.set("after%d" % request["rank"], json.dumps(told))
        answer["verdict"] = fetch(store, "verdict", end)
        store.set("read%d" % request["rank"], "1")
    except Exception as error:
        answer["error"] = "%s: %s" % (type(error).__name__, error)


def collect(store: Any, names: Any, until: Any) -> Any:
    """What has been set of these keys until then. All are looked at together: one cannot hold up the others."""
    found: Dict[str, bytes] = {}
    waiting = list(names)
    while waiting:
        for name in list(waiting):
            try:
                there = store.check([name])
            except Exception:
                return found
            if there:
                found[name] = store.get(name)
                waiting.remove(name)
        if waiting:
            if time.monotonic() > until:
                break
            time.sleep(0.02)
    return found


def fetch(store: Any, name: Any, until: Any) -> Any:
    store.wait([name], timedelta(seconds=max(until - time.monotonic(), 0.1)))
    return store.get(name).decode()


def reduce_within(distributed: Any, torch: Any, store: Any, request: Any, backend: Any, until: Any) -> Any:
    """`reduce` with an end of our own: gloo's limit does not hold while it connects to an address that swallows it."""
    interface, resolves = way_to(request["address"], request["port"])
    if interface and "GLOO_SOCKET_IFNAME" not in os.environ:
        os.environ["GLOO_SOCKET_IFNAME"] = interface  # else the one of the host's name, which may be the loopback
    told: Dict[str, Any] = {}
    work = threading.Thread(
        target=lambda: told.update(reduce(distributed, torch, store, request, backend, until)), daemon=True
    )
    work.start()
    work.join(max(until - time.monotonic(), 0.1))
    found = dict(told) or {"seconds": {}, "error": "no end within the limit"}
    return dict(found, interface=interface, resolves=resolves)


def way_to(address: Any, port: Any) -> Any:
    """The interface whose address this host has towards another, and whether its own name leads to that address."""
    try:
        import fcntl
        import struct

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((address, port))  # of UDP: asks the routing table, sends nothing
            own = probe.getsockname()[0]
            try:
                resolves = own in socket.gethostbyname_ex(socket.gethostname())[2] or own.startswith("127.")
            except OSError:
                resolves = own.startswith("127.")
            for _, name in socket.if_nameindex():
                try:
                    asked = struct.pack("256s", name.encode()[:15])
                    if socket.inet_ntoa(fcntl.ioctl(probe.fileno(), 0x8915, asked)[20:24]) == own:  # SIOCGIFADDR
                        return name, resolves
                except OSError:
                    continue
            return None, resolves
    except (OSError, ImportError):
        return None, None


def reduce(distributed: Any, torch: Any, store: Any, request: Any, backend: Any, until: Any) -> Any:
    """Seconds of an all-reduce by its size, the best of some; or the error that came instead."""
    told: Dict[str, Any] = {"clock": None, "seconds": {}}
    try:
        seconds = max(until - time.monotonic(), 1)
        if backend == "nccl":
            torch.cuda.set_device(request["local_rank"] % torch.cuda.device_count())
        distributed.init_process_group(
            backend,
            store=distributed.PrefixStore("group", store),
            rank=request["rank"],
            world_size=request["world"],
            timeout=timedelta(seconds=seconds),
        )
        device = "cuda" if backend == "nccl" else "cpu"
        for size in SIZES:
            data = torch.ones(max(size // 4, 1), device=device)
            best = None
            for _ in range(ROUNDS):
                distributed.barrier()
                started = time.perf_counter()
                distributed.all_reduce(data)
                if device == "cuda":
                    torch.cuda.synchronize()
                spent = time.perf_counter() - started
                best = spent if best is None else min(best, spent)
                data.fill_(1.0)
            told["seconds"][str(size)] = best
        distributed.barrier()
        told["clock"] = time.time()
        distributed.destroy_process_group()
    except Exception as error:
        told["error"] = "%s: %s" % (type(error).__name__, str(error)[:300])
    return told


def matmul(torch: Any, local_rank: Any) -> Any:
    """GFLOP/s of one thread, or of the GPU: how this rank compares with the others, all busy at the same time."""
    try:
        cuda = torch.cuda.is_available()
        device = "cuda:%d" % (local_rank % torch.cuda.device_count()) if cuda else "cpu"
        size = 4096 if cuda else 256
        left = torch.ones(size, size, device=device)
        best, end = 0.0, time.perf_counter() + PROBE_SECONDS
        while time.perf_counter() < end:
            started = time.perf_counter()
            left @ left
            if cuda:
                torch.cuda.synchronize()
            best = max(best, 2e-9 * size**3 / (time.perf_counter() - started))
        return best
    except Exception:
        return None


def write(path: Any, value: Any) -> Any:
    with open(path + ".tmp", "w", encoding="utf-8") as stream:
        json.dump(value, stream)
    os.replace(path + ".tmp", path)


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # a thread that never came back from a backend would keep us
