"""Shows the prompt that the generator sends: answers one chat request on a given port and prints its messages.

`python -m benchmarks.prompt_capture PORT ANSWER` ends when its input does.
"""

from __future__ import annotations

import json
import sys

from tests.support.scripted_model import ScriptedModel, Seen, Step, say


def main() -> None:
    port, answer = int(sys.argv[1]), sys.argv[2]

    def script(seen: Seen) -> Step:
        print(json.dumps(seen.json["messages"]), flush=True)
        return say(answer)

    with ScriptedModel(script, port=port):
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
