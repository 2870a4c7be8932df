"""How the state machines of these tests are played."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def play_machine(machine: type[RuleBasedStateMachine], *, examples: int, steps: int, shrink: bool = True) -> None:
    """Random steps; without ``shrink``, which may take minutes, a failure stays as it was found.

    The same steps every time as long as the code is the same: Hypothesis draws some of its values from the constants
    that it finds in it. How often each kind of step occurs may therefore differ widely after a change elsewhere.
    """
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
