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


_PLAIN: Any = dataclasses.dataclass(init=False, repr=False, eq=False)
_NONE: Any = _PLAIN(type("_NONE", (), {"__doc__": "A dataclass without fields."}))
_LIKE_ANY = {name: vars(_NONE)[name] for name in ("__dataclass_params__", "__replace__") if name in vars(_NONE)}
_ODD = ("ClassVar", "InitVar", "KW_ONLY")  # annotations that are no fields


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class of annotated fields a dataclass whose values never change and are made by keyword only."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # else the standard one asks inspect for the signature
    value: Any = cls
    types = vars(cls).get("__annotations__") or getattr(cls, "__annotations__", {})  # the latter from Python 3.14 on
    if cls.__mro__[1:] == (object,) and all(
        isinstance(one, str) and not one.startswith(_ODD) for one in types.values()
    ):
        given = {name: vars(cls)[name] for name in types if name in vars(cls)}
        value.__dataclass_fields__ = _Fields(value, {"__annotations__": types, **given})
        setattr(value, "__match_args__", tuple(types))  # noqa: B010 - not known to type checkers
        for name, member in _LIKE_ANY.items():
            setattr(value, name, member)
        fields = {name: one for name, one in given.items() if isinstance(one, dataclasses.Field)}
        for name, one in fields.items():
            delattr(value, name)
            if one.default is not dataclasses.MISSING:
                setattr(value, name, one.default)
        value._names = frozenset(types)
        value._defaults = {name: one for name, one in given.items() if name not in fields} | {
            name: one.default for name, one in fields.items() if one.default is not dataclasses.MISSING
        }
        value._compared = tuple(name for name in types if name not in fields or fields[name].compare)
    else:
        fields = {field.name: field for field in dataclasses.fields(_PLAIN(cls))}
        value._names = frozenset(fields)
        value._defaults = {name: f.default for name, f in fields.items() if f.default is not dataclasses.MISSING}
        value._compared = tuple(name for name, field in fields.items() if field.compare)
    made = ((name, field.default_factory) for name, field in fields.items())
    value._factories = tuple((name, factory) for name, factory in made if factory is not dataclasses.MISSING)
    for name in _METHODS:
        if name not in vars(cls):
            setattr(value, name, getattr(_Value, name))
    return cls


class _Fields:
    """The fields of a class as `dataclasses` makes them, once somebody asks: of two classes in three nobody does."""

    def __init__(self, cls: Any, body: dict[str, Any]) -> None:
        self._cls, self._body = cls, body

    def __get__(self, _: object, owner: type) -> dict[str, dataclasses.Field[Any]]:
        cls, body = self._cls, {"__module__": self._cls.__module__, "__doc__": self._cls.__doc__, **self._body}
        cls.__dataclass_fields__ = _PLAIN(type(cls.__name__, (), body)).__dataclass_fields__
        found: dict[str, dataclasses.Field[Any]] = cls.__dataclass_fields__
        return found


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
