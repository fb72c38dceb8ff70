"""What the formats of other tools demand, as schemas of our own: the parts that envdoctor writes, and what reads them.

SARIF: the required properties, types and enumerations of OASIS SARIF 2.1.0 for log, run, tool, rule, result, location
and invocation, and what GitHub's code scanning asks of them besides
(https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html,
https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning).
JUnit: the attributes and children that Jenkins' and GitLab's readers know
(https://github.com/jenkinsci/xunit-plugin, https://docs.gitlab.com/ci/testing/unit_test_reports/).
"""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string", "minLength": 1}
_MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": _TEXT, "markdown": _TEXT}}
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_LOCATION = {
    "type": "object",
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri"],
                    "properties": {"uri": {"type": "string", "pattern": r"^[^\s\\]+$"}},
                },
                "region": {
                    "type": "object",
                    "required": ["startLine"],
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                },
            },
        },
        "logicalLocations": {"type": "array", "items": {"type": "object"}},
    },
}
_RULE = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "string", "pattern": "^[a-z]+/[a-z0-9-]+$"},
        "name": _TEXT,
        "shortDescription": _MESSAGE,
        "fullDescription": _MESSAGE,
        "help": _MESSAGE,
        "helpUri": {"type": "string", "pattern": "^https?://"},
        "defaultConfiguration": {"type": "object", "properties": {"level": _LEVEL, "enabled": {"type": "boolean"}}},
        "properties": {"type": "object"},
    },
}
_RESULT = {
    "type": "object",
    "required": ["message", "ruleId"],
    "properties": {
        "ruleId": _TEXT,
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": _LEVEL,
        "kind": {"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
        "message": _MESSAGE,
        "locations": {"type": "array", "minItems": 1, "items": _LOCATION},
        "partialFingerprints": {"type": "object", "additionalProperties": _TEXT},
        "properties": {"type": "object"},
    },
}
_NOTIFICATION = {
    "type": "object",
    "required": ["message"],
    "properties": {"message": _MESSAGE, "level": _LEVEL, "descriptor": {"type": "object"}},
}
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "$schema": {"type": "string", "pattern": "sarif.*2\\.1\\.0.*json$"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": _TEXT,
                                    "version": _TEXT,
                                    "semanticVersion": {"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
                                    "informationUri": {"type": "string", "pattern": "^https?://"},
                                    "rules": {"type": "array", "uniqueItems": True, "items": _RULE},
                                },
                            }
                        },
                    },
                    "results": {"type": "array", "items": _RESULT},
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {
                                "executionSuccessful": {"type": "boolean"},
                                "exitCode": {"type": "integer"},
                                "toolExecutionNotifications": {"type": "array", "items": _NOTIFICATION},
                            },
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                },
            },
        },
    },
}

JUNIT: dict[str, tuple[frozenset[str], frozenset[str], frozenset[str]]] = {
    # element: required attributes, further attributes, children
    "testsuites": (frozenset(), frozenset("name tests failures errors skipped time".split()), frozenset({"testsuite"})),
    "testsuite": (
        frozenset("name tests failures errors".split()),
        frozenset("skipped time timestamp hostname id package file".split()),
        frozenset("testcase properties system-out system-err".split()),
    ),
    "testcase": (
        frozenset({"name"}),
        frozenset("classname time file line assertions status".split()),
        frozenset("failure error skipped system-out system-err properties".split()),
    ),
    "failure": (frozenset(), frozenset("message type".split()), frozenset()),
    "error": (frozenset(), frozenset("message type".split()), frozenset()),
    "skipped": (frozenset(), frozenset("message type".split()), frozenset()),
    "properties": (frozenset(), frozenset(), frozenset({"property"})),
    "property": (frozenset({"name"}), frozenset({"value"}), frozenset()),
    "system-out": (frozenset(), frozenset(), frozenset()),
    "system-err": (frozenset(), frozenset(), frozenset()),
}
