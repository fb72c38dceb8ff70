"""What lies behind errors at CUDA's start most often: a restart that is due, a container's own driver, its toolkit."""

from __future__ import annotations

import pytest

from tests.rules.told import root, whole


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env",
        "UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(): Error 999: unknown error",
        "cuInit failed: CUDA_ERROR_UNKNOWN",
    ],
)
def test_an_unknown_error_after_a_drivers_installation(line: str) -> None:
    found = root(line)
    assert "Usually the driver was installed or updated and the machine not started since" in found.message
    assert "CUDA_VISIBLE_DEVICES holds a stray value" in found.message
    assert found.remedy.text.startswith("Reboot first where the driver was installed")


@pytest.mark.parametrize(
    "line",
    [
        "Error 804: forward compatibility was attempted on non supported HW",
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was "
        "attempted on non supported HW",
        "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    ],
)
def test_compatibility_that_the_hosts_toolkit_brought(line: str) -> None:
    found = root(f"In docker on my GeForce:\n{line}")
    assert "nvidia-container-toolkit" in found.message
    assert "go back to the release before it" in found.remedy.text


@pytest.mark.parametrize(
    "text",
    [
        "Failed to initialize NVML: Driver/library version mismatch",
        "I ran apt install cuda in the pod. Failed to initialize NVML: Driver/library version mismatch",
        "docker exec -it box nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch",
    ],
)
def test_a_driver_that_was_installed_in_a_container_is_removed(text: str) -> None:
    told = whole(root(text))
    assert "is removed again" in told
    assert "from inside cures nothing" in told
