# Runs the commands in commands.json one after another over the copy of the subject in tree, each until it and its streams have ended. One line of JSON for
# each command goes to standard output. The last one is that of the first command that could not be completed.
import ctypes
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

# A command is a process of the same user. To it this process is to have no folder in /proc: through that it could open what this one prints to.
if ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) != 0:  # PR_SET_DUMPABLE
    raise SystemExit("this process cannot be closed to its commands")

with open("commands.json", encoding="utf-8") as f:
    commands = json.load(f)
os.unlink("commands.json")
os.makedirs("tree", exist_ok=True)


def drain(stream, digest):
    while chunk := stream.read1(65536):
        digest.update(chunk)


def run(argv, python, cwd, timeout, env):
    if python:
        argv = [sys.executable, *argv[1:]]
    begun = time.monotonic()
    process = subprocess.Popen(argv, cwd=os.path.join("tree", cwd), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    digests = [hashlib.sha256(), hashlib.sha256()]
    readers = [threading.Thread(target=drain, args=pair, daemon=True) for pair in zip((process.stdout, process.stderr), digests)]
    try:
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(None if timeout is None else max(0, begun + timeout - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(argv, timeout)
        process.wait(None if timeout is None else max(0, begun + timeout - time.monotonic()))
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)  # whatever it left behind, too
        except ProcessLookupError:
            pass
    return {"exit_code": process.returncode, "stdout_digest": "sha256:" + digests[0].hexdigest(), "stderr_digest": "sha256:" + digests[1].hexdigest()}


for command in commands:
    try:
        record = run(**command)
    except (OSError, ValueError, subprocess.TimeoutExpired) as e:
        record = {"error": type(e).__name__}
    print(json.dumps(record), flush=True)
    if "error" in record:
        break
