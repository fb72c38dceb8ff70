"""Versions and specifiers, parsed once: comparing hundreds of packages must cost milliseconds."""

from __future__ import annotations

import functools

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version


@functools.cache
def parse(text: str) -> Version | None:
    """The version, or None when it is not one (PEP 440)."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


@functools.cache
def specifiers(text: str) -> SpecifierSet | None:
    """The set of specifiers, or None when it cannot be read."""
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        return None


@functools.cache
def within(version: str, specifier: str) -> bool | None:
    """Does the version satisfy the specifier? None when either cannot be read.

    Pre-releases count, and stand for their release as well: 2.10.0a0 of a vendor's image serves who asks for 2.10.
    """
    parsed, allowed = parse(version), specifiers(specifier)
    if parsed is None or allowed is None:
        return None
    if allowed.contains(parsed, prereleases=True):
        return True
    return parsed.is_prerelease and allowed.contains(_plain(parsed))


def below(version: str, limit: str) -> bool:
    """Is the public version older than ``limit``? False when either cannot be read: ignorance accuses nobody."""
    ours, theirs = parse(version), parse(limit)
    return ours is not None and theirs is not None and _plain(ours) < theirs


def at_least(version: str, limit: str) -> bool:
    """Is the public version ``limit`` or newer? False when either cannot be read."""
    ours, theirs = parse(version), parse(limit)
    return ours is not None and theirs is not None and _plain(ours) >= theirs


def same(one: str, other: str) -> bool:
    """Equal, local labels included: 2.13.0+cpu is not 2.13.0, and 2.13 is 2.13.0."""
    left, right = parse(one), parse(other)
    if left is None or right is None:
        return one == other
    return left == right


def release(version: str) -> tuple[int, int, int] | None:
    """Major, minor and micro number."""
    parsed = parse(version)
    return None if parsed is None else (parsed.major, parsed.minor, parsed.micro)


def prerelease(version: str) -> bool:
    """Is it a nightly, an alpha or a vendor's build of one (2.4.0a0+...nv24.05)? Tables of releases leave those out."""
    parsed = parse(version)
    return parsed is not None and parsed.is_prerelease


def label(version: str) -> str | None:
    """The local label: "cu130" of 2.13.0+cu130; None without one."""
    return version.partition("+")[2] or None


def public(version: str) -> str:
    """The version without its local label."""
    return version.partition("+")[0]


@functools.cache
def _plain(version: Version) -> Version:
    """Nightlies and local builds of a release stand for that release: 2.9.0.dev2025+cu126 -> 2.9.0."""
    return Version(version.base_version)
