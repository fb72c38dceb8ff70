"""`dataclasses.dataclass` for frozen values, defined in a tenth of the time.

The standard decorator writes and compiles six functions a class. For the hundred classes that ``envdoctor check``
defines this took a fifth of its time, and checks have to be quick. Here all classes share one of each function;
`dataclasses.replace`, `fields` and `asdict` work on them as on any other, and type checkers see a frozen dataclass.
msgspec makes its classes faster still, but its import takes longer than all of ours together, on top of the one of
dataclasses that other libraries need anyway (``tests/benchmarks/bench_values.py``; raw numbers beside it).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Callable[[T], T]:
        """For type checkers only: Python has it from 3.11 on."""
        return lambda decorator: decorator


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class of annotated fields a dataclass whose values never change and are made by keyword only."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # else the standard one asks inspect for the signature
    plain: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    fields = tuple(plain.__dataclass_fields__.values())
    plain._names = frozenset(field.name for field in fields)
    plain._defaults = {f.name: f.default for f in fields if f.default is not dataclasses.MISSING}
    made = ((field.name, field.default_factory) for field in fields)
    plain._factories = tuple((name, factory) for name, factory in made if factory is not dataclasses.MISSING)
    plain._compared = tuple(field.name for field in fields if field.compare)
    for name in _METHODS:
        if name not in vars(cls):
            setattr(plain, name, getattr(_Value, name))
    value: type[T] = plain
    return value


class _Value:
    """The methods that all values share."""

    _names: frozenset[str]
    _defaults: Mapping[str, Any]
    _factories: tuple[tuple[str, Callable[[], Any]], ...]
    _compared: tuple[str, ...]

    def __init__(self, **given: Any) -> None:
        cls, here = type(self), self.__dict__
        here.update(cls._defaults)
        for name, factory in cls._factories:
            if name not in given:
                here[name] = factory()
        here.update(given)
        if here.keys() != cls._names:
            unknown = ", ".join(sorted(here.keys() - cls._names))
            missing = ", ".join(sorted(cls._names - here.keys()))
            raise TypeError(f"{cls.__name__}: " + (f"no field {unknown}" if unknown else f"{missing} not given"))

    def __eq__(self, other: object) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self.__dict__, other.__dict__
        return all(mine[name] == theirs[name] for name in self._compared)

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__[name] for name in self._compared))

    def __repr__(self) -> str:
        fields: Any = dataclasses.fields(self)  # type: ignore[arg-type]
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields if field.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}: {value!r}")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


_METHODS = ("__init__", "__eq__", "__hash__", "__repr__", "__setattr__", "__delattr__")
