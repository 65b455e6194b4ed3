"""Run AIPerf point by point, once the graph really answers.

    python run_benchmark.py PLAN.json [--end-with-stdin]

Runs under AIPerf's own Python, in the benchmark Job or beside the embedded cluster. PLAN.json: the load, as the stack
wrote it. --end-with-stdin: end when standard input closes, as it does when the starter was killed. Writes every
point's files into `results/<point>/` and `results/status.json` after each of them. Ends with 0 if every point was
measured, with 1 and a reason otherwise; on SIGTERM it takes AIPerf with it.
"""

import contextlib
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
"""Any value of these, even 0, makes AIPerf take a tokenizer's folder for a repository's name, and die."""
RECORDS = "profile_export.jsonl"
"""AIPerf's file with a line for each request that was measured."""
SECONDS_BETWEEN_TRIES = 5
SECONDS_BETWEEN_WORDS = 10
QUESTION = "Write a one-sentence readiness check."


def say(text: str) -> None:
    """One line of progress, visible in `kubectl logs` at once."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def unready(url: str, model: str) -> str:
    """Why the graph cannot be measured yet; empty once a completion came back with text and the server's counts.

    A frontend lists a model before, and after, its workers can serve it: only an answer proves that they do.
    """
    body = {"model": model, "messages": [{"role": "user", "content": QUESTION}], "max_tokens": 64}
    request = urllib.request.Request(
        f"{url}/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            answer = json.load(response)
        message = answer["choices"][0]["message"]
        spoken = message.get("content") or message.get("reasoning_content")
        counted = (answer.get("usage") or {}).get("completion_tokens", 0)
    except urllib.error.HTTPError as error:
        return f"HTTP {error.code}: {error.read().decode(errors='replace').strip()[:200]}"
    except (OSError, ValueError, LookupError) as error:
        return f"{type(error).__name__}: {error}"
    if not spoken:
        return "the answer was empty"
    return "" if counted else "the answer came without token counts"


def wait_until_ready(url: str, model: str, seconds: float) -> None:
    """Return when the graph answers. Raises SystemExit with the last reason after `seconds`."""
    deadline, said = time.monotonic() + seconds, ""
    while reason := unready(url, model):
        if reason != said:
            say(f"waiting for {model} at {url}: {reason}")
            said = reason
        if time.monotonic() > deadline:
            sys.exit(f"{model} at {url} did not answer within {seconds:.0f} s: {reason}")
        time.sleep(SECONDS_BETWEEN_TRIES)
    say(f"{model} answers at {url}")


def measure(argv: list[str], folder: Path, seconds: float, requests: int) -> str:
    """Run AIPerf; returns what went wrong, empty if nothing did. Its output goes to `console.log` in the folder.

    requests: how many it measures; how many it has written down is told meanwhile.
    """
    folder.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if name not in OFFLINE}
    with (folder / "console.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *argv],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        began = time.monotonic()
        try:
            while (left := began + seconds - time.monotonic()) > 0:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=min(left, SECONDS_BETWEEN_WORDS))
                    break
                done = recorded(folder)
                say(f"{folder.name}: {done} of {requests} requests after {time.monotonic() - began:.0f} s")
            else:
                return "the time for all measurements was over"
            code = process.returncode
        finally:
            end_group(process.pid)
            process.wait()
    # Every prompt, up to a gigabyte; the seed makes them again.
    (folder / "inputs.json").unlink(missing_ok=True)
    return f"AIPerf ended with code {code}, see console.log" if code else ""


def recorded(folder: Path) -> int:
    """Requests that AIPerf has written down; it does so some at a time, and the last once all have ended."""
    records = folder / RECORDS
    return records.read_bytes().count(b"\n") if records.exists() else 0


def end_group(leader: int) -> None:
    """End AIPerf with all its processes; what it left running would disturb the next point."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def terminated(*_: object) -> None:
    """SIGTERM unwinds like an exception, so that AIPerf is ended too."""
    raise SystemExit(128 + signal.SIGTERM)


def end_with_stdin() -> None:
    """Wait for the end of standard input, then end this process as SIGTERM would."""
    # Not sys.stdin: its lock, held by a thread at the end, is fatal to the interpreter.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Wait, measure, say what happened."""
    signal.signal(signal.SIGTERM, terminated)
    if "--end-with-stdin" in sys.argv[2:]:
        threading.Thread(target=end_with_stdin, daemon=True).start()
    plan = json.loads(Path(sys.argv[1]).read_text())
    found = importlib.metadata.version("aiperf")
    if found != plan["aiperfVersion"]:
        sys.exit(f"this image has AIPerf {found}, the commands are for {plan['aiperfVersion']}")
    results = Path(plan["results"])
    for leftover in results.glob("c*-r*"):
        shutil.rmtree(leftover)
    wait_until_ready(plan["url"], plan["model"], plan["readySeconds"])
    deadline = time.monotonic() + plan["limitSeconds"]
    status: dict[str, dict[str, object]] = {}
    for position, point in enumerate(plan["points"], start=1):
        name = point["name"]
        say(f"point {position} of {len(plan['points'])}: {name}, {point['requests']} requests")
        began = time.monotonic()
        problem = measure(point["argv"], results / name, deadline - began, point["requests"])
        took = time.monotonic() - began
        status[name] = {"problem": problem, "seconds": round(took, 1)}
        (results / "status.json").write_text(json.dumps(status, indent=1))
        if problem:
            sys.exit(f"{name}: {problem}")
        say(f"{name} took {took:.0f} s")
    say("all points measured")


if __name__ == "__main__":
    main()
