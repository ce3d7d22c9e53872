"""Several services in one process: on few cores a question passes through fewer processes, and what they share is held once.

Each keeps its own user at the bus with its rights, its probes and its metrics. `python -m querybus_cli.local.colocated`
reads QUERYBUS_COLOCATED, a JSON object of service -> its settings. The validator, the executor and the gateway never come
here: signing key, addresses of databases and credentials stay in processes of their own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final

from querybus.bus.application import run_services
from querybus.core.subjects import StageName
from querybus.ops.log import configure_logging
from querybus.ops.start import run_main
from querybus_cli.local.local_stack import built
from querybus_cli.runtime import UsageError

VARIABLE: Final = "QUERYBUS_COLOCATED"
COLOCATED: Final = (StageName.GENERATOR, StageName.RECOVERY, StageName.PRESENTER)
CORES_MAX: Final = 2
"""With more cores one process would hold all three of them to one; that was not measured."""


def shared_services(counts: Mapping[StageName, int], together: bool | None) -> tuple[StageName, ...]:
    """Return the services that share a process, none where `together` is False.

    None: on few cores, where there is one of each. UsageError where there is more than one of one that shall share.
    """
    is_single = all(counts[name] == 1 for name in COLOCATED)
    if together and not is_single:
        raise UsageError(f"--together is for one {', '.join(COLOCATED)} each: leave --replicas of them out")
    if together is None:
        together = is_single and len(os.sched_getaffinity(0)) <= CORES_MAX
    return COLOCATED if together else ()


def colocated_environment(settings: Mapping[StageName, Mapping[str, Any]]) -> dict[str, str]:
    """Return the environment of the process that runs these services."""
    return {VARIABLE: json.dumps(settings)}


def main() -> None:
    """Run the services that QUERYBUS_COLOCATED names until SIGTERM or SIGINT."""
    # Taken out of the environment: what starts from here need not see the passwords.
    given: Mapping[StageName, Mapping[str, Any]] = json.loads(os.environ.pop(VARIABLE))
    services = [built(StageName(name), values) for name, values in given.items()]
    configure_logging(services[0].settings.log_level, as_json=services[0].settings.log_json)
    run_services(services)


if __name__ == "__main__":
    run_main("querybus_cli.local.colocated")
