"""What the kernel and its tools say of a driver that is not loaded, or that cannot start the GPU."""

from typing import NamedTuple

from envdoctor.rules.rule import Pattern, Remedy


class Reason(NamedTuple):
    """What the kernel or its tools say of a driver that is not loaded."""

    pattern: Pattern
    meaning: str
    remedy: str
    commands: tuple[str, ...]
    usually: str = ""
    alone: bool = True  # does it need no other word that the driver does not answer?

    @property
    def helps(self) -> Remedy:
        return Remedy(text=self.remedy, commands=self.commands)


REASONS = (
    Reason(
        Pattern(r"(?i)The NVIDIA probe routine was not called for|nouveau kernel driver is currently in use"),
        "another kernel driver holds the GPU",
        "Keep that driver from loading, make the initial file system anew, and reboot.",
        (
            "lspci -k -d 10de:",
            "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee "
            "/etc/modprobe.d/blacklist-nouveau.conf",
            "sudo update-initramfs -u",
        ),
        usually="it is nouveau, or vfio-pci where the card is handed to a virtual machine",
        alone=False,
    ),
    Reason(
        Pattern(r"(?i)\bModule nvidia(?:-current)? not found"),
        "there is no module of the driver for the kernel that runs",
        "Install the headers of this kernel and build the module for it (dkms does so after each update; a driver of "
        "NVIDIA's .run file is installed again), or boot the kernel that it was built for.",
        ("uname -r", "sudo apt-get install linux-headers-$(uname -r)", "sudo dkms autoinstall", "sudo modprobe nvidia"),
        usually="the kernel was updated after the driver, its headers are missing, or the driver is not installed",
        alone=False,
    ),
    Reason(
        Pattern(r"(?i)RmInitAdapter failed|rm_init_adapter failed"),
        "the driver is loaded and cannot start the GPU",
        "Switch the machine off and on, take a driver that names this GPU, and look at the firmware's settings (Above "
        "4G Decoding, the virtual machine's PCI memory).",
        ("sudo dmesg | grep -i -e nvrm -e xid | tail",),
        usually="the driver is too old or of the other flavour for it (Blackwell needs the open module), the card "
        "hangs, or it has no power or no room for its memory on the bus",
    ),
    Reason(
        Pattern(r"requires use of the NVIDIA open kernel modules|NVIDIA open kernel modules? (?:is|are) required"),
        "this GPU is served by the open kernel module only, and the closed one is installed",
        "Install the open flavour of the driver (packages named -open), and reboot.",
        ("sudo ubuntu-drivers list --gpgpu",),
    ),
    Reason(
        Pattern(
            r"is not supported by (?:the )?(?:open )?nvidia\.ko|not supported by open|(?:470|390)\.xx Legacy driver"
        ),
        "the driver that is installed does not serve this GPU",
        "Install the driver branch that NVIDIA names for this GPU (the closed module before Turing; 580 is the last "
        "for Maxwell to Volta, 470 for Kepler).",
        ("lspci -nn -d 10de:", "ubuntu-drivers devices"),
        usually="the GPU is too old for the open module or for this release of the driver; else it is newer than both",
    ),
    Reason(
        Pattern(r"This PCI I/O region assigned to your NVIDIA device is invalid|BAR\d is 0M @ 0x0"),
        "the firmware gave the GPU no room for its memory on the bus",
        "Switch Above 4G Decoding on in the firmware (in a virtual machine: enough PCI memory), or start the kernel "
        "with pci=realloc.",
        ("sudo dmesg | grep -i nvrm | tail",),
    ),
)
