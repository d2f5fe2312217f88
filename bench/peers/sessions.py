"""Session stores of two agent frameworks beside ours: the same appends and tail reads, one run, one disk.

Needs `pip install openai-agents strands-agents` and the program of this folder:

    cargo build --release -p tertulia-bench
    python3 bench/peers/sessions.py target/release/tertulia-bench FOLDER

FOLDER lies on the disk in question. Our appends and those of SQLiteSession are synced; those of
FileSessionManager are not, so a power cut takes them away.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time

from agents import SQLiteSession
from strands.session.file_session_manager import FileSessionManager
from strands.types.session import SessionAgent, SessionMessage

TEXT = "x" * 312
APPENDS = 2_000
STORED = 6_400
READS = 20
ROUNDS = 5


def times(count, work):
    """Seconds of each of so many calls."""
    taken = []
    for number in range(count):
        start = time.perf_counter()
        work(number)
        taken.append(time.perf_counter() - start)
    return taken


def sqlite_session(folder):
    loop = asyncio.new_event_loop()
    session = SQLiteSession("talk", f"{folder}/talk.db")

    def append(_):
        loop.run_until_complete(session.add_items([{"role": "user", "content": TEXT}]))

    appends = times(APPENDS, append)
    rest = [{"role": "user", "content": TEXT}] * (STORED - APPENDS)
    loop.run_until_complete(session.add_items(rest))
    reads = times(READS, lambda _: loop.run_until_complete(session.get_items(limit=50)))
    loop.close()
    return appends, reads


def file_session(folder):
    manager = FileSessionManager(session_id="talk", storage_dir=folder)
    agent = SessionAgent(agent_id="ann", state={}, conversation_manager_state={})
    manager.create_agent("talk", agent)

    def append(number):
        message = {"role": "user", "content": [{"text": TEXT}]}
        manager.create_message("talk", "ann", SessionMessage.from_message(message, number))

    appends = times(STORED, append)
    offset = STORED - 50
    reads = times(READS, lambda _: manager.list_messages("talk", "ann", limit=50, offset=offset))
    return appends, reads


def ours(program, folder):
    command = [program, "--store-times", folder]
    told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return told["appendMicroseconds"], told["tailMicroseconds"]


def theirs(peer, folder):
    with tempfile.TemporaryDirectory(dir=folder) as place:
        return tuple(statistics.median(one) * 1e6 for one in peer(place))


def main(program, folder):
    peers = {"SQLiteSession": sqlite_session, "FileSessionManager": file_session}
    rounds = {name: [] for name in ["tertulia", *peers]}
    # In turns: a shared machine is faster in one second than in the next.
    for _ in range(ROUNDS):
        rounds["tertulia"].append(ours(program, folder))
        for name, peer in peers.items():
            rounds[name].append(theirs(peer, folder))
    middle = {
        name: [statistics.median(one) for one in zip(*taken)] for name, taken in rounds.items()
    }
    append, read = middle["tertulia"]
    ahead = True
    for name, (appends, reads) in middle.items():
        line = f"{name:18}  append {appends:8.1f} us   last 50 of {STORED} {reads:9.1f} us"
        if name != "tertulia":
            line += f"   ours {appends / append:.1f} and {reads / read:.1f} times as fast"
            ahead = ahead and appends > append and reads > read
        print(line)
    sys.exit(0 if ahead else 1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
