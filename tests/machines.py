"""How the state machines of these tests are played."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def play_machine(machine: type[RuleBasedStateMachine], *, examples: int, steps: int, shrink: bool = True) -> None:
    """The same random steps every time; without ``shrink``, which may take minutes, a failure stays as it was found."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            phases=list(Phase) if shrink else [Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
