# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Who logs in to a registry: the user of the options, or the one in the Docker configuration.

The Docker configuration and its credential helpers are read by the Python package C(docker), which the collection
needs anyway; only its silence about broken files is not kept.
"""

from __future__ import annotations

import json
import os
import typing as t
import warnings

from ansible_collections.mindcluster.recovery.plugins.module_utils import _registry_errors as errors

HUB = "docker.io"
#: Names of the Docker Hub; the last one answers.
HUB_HOSTS = (HUB, "index.docker.io", "registry-1.docker.io")


class Login:
    """What proves who asks. Its words are in no C(repr).

    :ivar origin: where it was found, for messages.
    """

    __slots__ = ("username", "password", "identity_token", "origin")

    def __init__(self, username: str, password: str, identity_token: str, origin: str) -> None:
        self.username = username
        self.password = password
        self.identity_token = identity_token
        self.origin = origin

    def __repr__(self) -> str:
        return "Login(%r, %r)" % (self.username, self.origin)

    def __str__(self) -> str:
        who = "with the identity token" if self.identity_token else "as `%s`" % self.username
        return "%s of %s" % (who, self.origin)


def find_login(host: str, username: str | None, password: str | None, docker_config: str | None) -> Login | None:
    """The login for a registry; None where there is none.

    :param username: wins over everything else.
    :param docker_config: file, or the folder that holds C(config.json); without it C(DOCKER_CONFIG) or C(~/.docker).
    :raises RegistryError: where the configuration or its credential helper is broken.
    """
    if username:
        return Login(username, password or "", "", "the options")
    path = _config_path(docker_config)
    document = _read(path, host, required=bool(docker_config))
    if not document:
        return None
    entry = _resolve(document, HUB if host in HUB_HOSTS else host, path)
    values = {str(name).lower(): value for name, value in (entry or {}).items()}
    if values.get("identitytoken"):
        return Login("", "", str(values["identitytoken"]), path)
    if not values.get("username"):
        return None
    return Login(str(values["username"]), str(values.get("password") or ""), "", path)


def _config_path(docker_config: str | None) -> str:
    folder = docker_config or os.environ.get("DOCKER_CONFIG") or os.path.join("~", ".docker")
    path = os.path.expanduser(folder)
    if docker_config and not os.path.isdir(path):
        return path
    return os.path.join(path, "config.json")


def _read(path: str, host: str, required: bool) -> dict[str, t.Any] | None:
    try:
        with open(path, encoding="utf-8") as stream:
            document = json.load(stream)
    except FileNotFoundError:
        if not required:
            return None
        raise _broken(path, host, "there is no such file") from None
    except OSError as exc:
        raise _broken(path, host, "it cannot be read: %s" % exc.strerror) from None
    except (ValueError, RecursionError):
        # The text of the exception may quote the file.
        raise _broken(path, host, "it is no JSON") from None
    if not isinstance(document, dict):
        raise _broken(path, host, "it is no mapping")
    return document


def _resolve(document: dict[str, t.Any], host: str, path: str) -> t.Mapping[str, t.Any] | None:
    """The entry for a host. The package is imported here, since most runs need neither it nor the time it takes."""
    try:
        from docker import auth
        from docker.errors import DockerException
    except ImportError:
        raise _broken(path, host, "the Python package docker, which reads it, is missing") from None
    helper = "docker-credential-%s" % (
        (document.get("credHelpers") or {}).get(host) if isinstance(document.get("credHelpers"), dict) else None
        or document.get("credsStore")
    )  # fmt: skip
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            config = auth.load_config(config_dict=document)
            entry: t.Mapping[str, t.Any] | None = config.resolve_authconfig(host)
            return entry
    except DockerException as exc:
        # A helper's words may hold what it was asked for.
        reason = "is not installed or not in PATH" if "not installed" in str(exc) else "failed"
        raise _broken(path, host, "its credential helper %s %s" % (helper, reason)) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _broken(path, host, "an entry of it, or the answer of its credential helper, has no legal form") from None


def _broken(path: str, host: str, why: str) -> errors.RegistryError:
    return errors.error(
        "auth",
        "the Docker configuration %s cannot be used: %s" % (path, why),
        host,
        code="docker-config-unusable",
        why="The login for the registry is looked for there",
        remedy="Repair it (`docker login`), or give training_image_registry_username and its password",
    )
