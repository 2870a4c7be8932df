"""Search spaces: parameters, conditions, constraints and their map onto the unit cube."""

from ccgbo.space.change import Change, change_space
from ccgbo.space.constraints import LinearConstraint, Mixture
from ccgbo.space.io import (
    load_space,
    save_space,
    space_from_dict,
    space_from_json,
    space_from_toml,
    space_to_dict,
    space_to_json,
    space_to_toml,
)
from ccgbo.space.parameters import Bool, Categorical, Fixed, Float, Int, Parameter
from ccgbo.space.space import Space, as_space, together

__all__ = [
    "Bool",
    "Categorical",
    "Change",
    "Fixed",
    "Float",
    "Int",
    "LinearConstraint",
    "Mixture",
    "Parameter",
    "Space",
    "as_space",
    "change_space",
    "load_space",
    "save_space",
    "space_from_dict",
    "space_from_json",
    "space_from_toml",
    "space_to_dict",
    "space_to_json",
    "space_to_toml",
    "together",
]
