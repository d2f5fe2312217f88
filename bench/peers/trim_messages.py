"""LangChain's trim_messages beside a build, on the same messages, budget and vocabulary, in one run.

Needs `pip install langchain-core tiktoken` and the program of this folder:

    cargo build --release -p tertulia-bench
    python3 bench/peers/trim_messages.py target/release/tertulia-bench
"""

import json
import subprocess
import sys
import time

import tiktoken
from langchain_core.messages import AIMessage, HumanMessage, trim_messages

MESSAGES = 10_000
BUDGET = 8_000
WORDS = (
    "the button moves below form when device is new and numbers are weeks old before decide"
).split()


def text(number):
    """The words of message `number`, 320 bytes, as bench/src/build.rs makes them."""
    state, out = number, f"{number}:"
    while len(out) < 320:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        out += " " + WORDS[(state >> 59) % len(WORDS)]
    return out[:320]


def main(program):
    encoding = tiktoken.get_encoding("o200k_base")
    messages = [
        (HumanMessage if back % 2 == 0 else AIMessage)(text(back))
        for back in reversed(range(MESSAGES))
    ]

    def count(batch):
        return sum(len(encoding.encode_ordinary(one.content)) + 3 for one in batch)

    def trim():
        start = time.process_time()
        trim_messages(messages, max_tokens=BUDGET, strategy="last", token_counter=count)
        return time.process_time() - start

    trim()
    theirs = min(trim() for _ in range(3))
    ours = json.loads(subprocess.run([program, "--build-times"], capture_output=True, check=True).stdout)
    print(f"trim_messages {theirs * 1e3:.1f} ms")
    print(f"cold build    {ours['cold'] * 1e3:.2f} ms, {theirs / ours['cold']:.1f} times as fast")
    print(f"warm build    {ours['warm'] * 1e6:.1f} us, {theirs / ours['warm']:.0f} times as fast")


if __name__ == "__main__":
    main(sys.argv[1])
