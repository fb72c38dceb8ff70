"""What is behind a name that one package lacks and another asks for, where no table tells of it."""


def behind(name: str, caller: str | None, version: str | None, line: str, *, new: bool) -> str:
    """What is behind a name that is in no table, in most cases."""
    if new:
        return f"{name} is older than this part of it"
    if "No module named" in line:
        return (
            f"{name} is of another release than its caller was written for, is not whole (a part that has to be built "
            "or installed apart), or a folder or another package of that name is imported in its place"
        )
    if caller is None and version is None and f"module '{name}' has no" in line:
        return f"a file or folder of that name hides {name}, or it is of another release than the code was written for"
    times = f"{caller or 'its caller'} and {name} are of different times"
    return f"{times}, a file or folder of that name hides it, or its files are of two releases"
