# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""A file is written whole or not at all, and stays whose it was.

The torch patcher has a writer of its own, because it runs by itself inside images.
"""

from __future__ import annotations

import os
import stat
import tempfile


def replace_text(path: str, text: str, new_mode: int | None = None) -> None:
    """Write a text beside a file and rename it into place; mode, owner and a symbolic link to it stay.

    :param new_mode: permissions of a file that is not there yet; what the umask leaves of 0666 where it is None.
    :raises OSError: where the system does not let us; the old file is untouched then.
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    temporary = None
    try:
        os.makedirs(folder, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        _keep_owner(target, temporary, new_mode)
        os.replace(temporary, target)
    finally:
        # Also when the run is interrupted.
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)


def _keep_owner(path: str, temporary: str, new_mode: int | None) -> None:
    if not os.path.exists(path):
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask if new_mode is None else new_mode)
        return
    status = os.stat(path)
    os.chmod(temporary, stat.S_IMODE(status.st_mode))
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        os.chown(temporary, status.st_uid, status.st_gid)
