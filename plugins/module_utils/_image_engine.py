# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The Docker engine: the only thing that this edge speaks to. The engine speaks to the registry."""

from __future__ import annotations

import contextlib
import json
import os
import traceback
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_engine_errors import explain
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import Reference
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_stage import MARKER

DOCKER_IMPORT_ERROR: str | None
try:
    import docker
    from docker.errors import APIError, DockerException, NotFound
    from requests.exceptions import RequestException

    DOCKER_IMPORT_ERROR = None
except ImportError:
    DOCKER_IMPORT_ERROR = traceback.format_exc()

# The engine sends progress while it pulls and pushes, and nothing while a long step of a build is silent.
_TIMEOUT = 3600
_TIMEOUT_CONNECT = 15
_USUAL = "unix:///var/run/docker.sock"


class Credentials:
    """User and password of one registry. They live in memory and in the engine's request header only."""

    def __init__(self, registry: str, username: str | None, password: str | None) -> None:
        self.registry = registry
        self._config = {"username": username, "password": password or ""} if username else None

    def for_registry(self, registry: str) -> dict[str, str] | None:
        """What to send to a registry; None leaves it to the Docker configuration of the user who runs the module."""
        return self._config if registry == self.registry else None


class Engine:
    """One Docker engine.

    :param host: its address; empty for C(DOCKER_HOST) or the usual socket.
    :raises Refused: where it cannot be reached.
    """

    def __init__(self, credentials: Credentials, host: str = "") -> None:
        self._credentials = credentials
        self.client = _connect(host)
        self.api: t.Any = self.client.api

    @property
    def is_local(self) -> bool:
        """Whether the engine runs on this host, so that files of this host are its files."""
        return str(self.api.base_url).startswith(("http+docker://", "unix://", "http+unix://"))

    def insecure_registries(self) -> list[str]:
        """Registries (host:port) and networks (CIDR) with which the engine speaks without trusted TLS."""
        config = self.client.info().get("RegistryConfig") or {}
        indexes = config.get("IndexConfigs") or {}
        return list(config.get("InsecureRegistryCIDRs") or []) + [
            name for name, index in indexes.items() if not index.get("Secure", True)
        ]

    # --- images in the engine

    def inspect(self, image: str) -> dict[str, t.Any] | None:
        """An image that the engine has, or None."""
        with _explained("look for `%s` in the engine" % image):
            try:
                found: dict[str, t.Any] = self.api.inspect_image(image)
                return found
            except NotFound:
                return None

    def find_by_label(self, name: str, value: str) -> str | None:
        """ID of an image with this label, or None."""
        with _explained("list the engine's images"):
            found = self.api.images(filters={"label": "%s=%s" % (name, value)})
        return str(found[0]["Id"]) if found else None

    def remove(self, image_id: str) -> None:
        """Remove an image, as far as no other one is built on it."""
        with contextlib.suppress(APIError):
            self.api.remove_image(image_id)

    def tag(self, image_id: str, target: Reference) -> None:
        with _explained("tag `%s`" % target):
            self.api.tag(image_id, target.repository, target.tag, force=True)

    # --- the registry, asked by the engine

    def remote_digest(self, image: Reference) -> str | None:
        """Digest of an image in its registry, or None where the registry has no such image.

        :raises Refused: where the registry cannot be asked.
        """
        with _explained("ask the registry for `%s`" % image, image.registry):
            try:
                answer = self.api.inspect_distribution(str(image), auth_config=self._auth(image))
            except NotFound:
                return None
            return str(answer["Descriptor"]["digest"])

    def pull(self, image: Reference, platform: str = "") -> None:
        """Bring an image into the engine.

        :raises Refused: where that fails.
        """
        tag = image.digest or image.tag or "latest"
        with _explained("pull `%s`" % image, image.registry):
            stream = self.api.pull(
                image.repository,
                tag,
                stream=True,
                decode=True,
                auth_config=self._auth(image),
                platform=platform or None,
            )
            _follow(stream)

    def push(self, image: Reference) -> str:
        """Send a tagged image to its registry.

        :returns: the digest that the registry answered; words in the stream are no proof.
        :raises Refused: where that fails.
        """
        with _explained("push `%s`" % image, image.registry):
            stream = self.api.push(image.repository, image.tag, stream=True, decode=True, auth_config=self._auth(image))
            digests = [event["aux"]["Digest"] for event in _follow(stream) if "Digest" in event.get("aux", {})]
        stored = self.remote_digest(image)
        if not digests or stored != digests[-1]:
            raise Refused(
                Finding(
                    "push-unconfirmed",
                    "the registry has %s under `%s` after the push of %s"
                    % (stored or "nothing", image, digests or "?"),
                    "What the registry serves is not what was built; somebody else may have pushed the same tag",
                    "Run again; give each pipeline a tag of its own",
                    "repository",
                )
            )
        return str(stored)

    def _auth(self, image: Reference) -> dict[str, str] | None:
        return self._credentials.for_registry(image.registry)

    # --- containers and builds

    def build(self, context: t.IO[bytes], build_args: t.Mapping[str, str], platform: str = "") -> tuple[str, list[str]]:
        """Build from a tar stream, without a network.

        :returns: ID of the image (empty where the build failed) and what the build printed.
        """
        lines: list[str] = []
        image_id = ""
        with _explained("build the image"):
            events = self.api.build(
                fileobj=context,
                custom_context=True,
                rm=True,
                forcerm=True,
                pull=False,
                network_mode="none",
                buildargs=dict(build_args) or None,
                platform=platform or None,
                decode=True,
            )
            for event in events:
                image_id = event.get("aux", {}).get("ID", image_id)
                lines.append(str(event.get("stream") or event.get("error") or ""))
                if "error" in event:
                    return "", lines
        return image_id, lines

    def run(
        self,
        image_id: str,
        name: str,
        python: str,
        command: list[str],
        platform: str = "",
        files: t.IO[bytes] | None = None,
    ) -> tuple[int, str, str]:
        """Run the image's Python as root in a container without network that is removed afterwards.

        :param name: the image's name, for messages.
        :param files: a tar stream for the container's root folder; without one nothing can be written there.
        :returns: exit code, standard output, standard error.
        :raises Refused: where it cannot be started.
        """
        host_config = self.api.create_host_config(
            network_mode="none", read_only=files is None, tmpfs={"/tmp": "exec,mode=1777"}
        )
        options: dict[str, t.Any] = {"platform": platform} if platform else {}
        with _explained("start `%s` in `%s`" % (python, name), "training_image_base"):
            container = self.api.create_container(
                image_id, command, entrypoint=[python], user="0:0", working_dir="/", host_config=host_config, **options
            )["Id"]
            try:
                if files is not None:
                    self.api.put_archive(container, "/", files)
                self.api.start(container)
                code = int(self.api.wait(container)["StatusCode"])
                out = self.api.logs(container, stdout=True, stderr=False)
                err = self.api.logs(container, stdout=False, stderr=True)
            finally:
                self.api.remove_container(container, force=True, v=True)
        return code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def stage_result(text: str) -> dict[str, t.Any] | None:
    """What the stage inside the image answered, or None where it did not come so far."""
    for line in reversed(text.splitlines()):
        if line.startswith(MARKER):
            answer: dict[str, t.Any] = json.loads(line[len(MARKER) :])
            return answer
    return None


def _connect(host: str) -> t.Any:
    """A client for the engine that the environment names, proved to answer."""
    try:
        settings: dict[str, t.Any] = {"base_url": host} if host else {}
        make = docker.DockerClient if host else docker.from_env
        # The short timeout is for an address where nobody answers, the long one for a silent build.
        make(timeout=_TIMEOUT_CONNECT, **settings).ping()
        return make(timeout=_TIMEOUT, **settings)
    except (DockerException, RequestException, OSError, ValueError) as exc:
        raise Refused(_unreachable(host, str(exc))) from exc


def _unreachable(host: str, text: str) -> Finding:
    denied = "Permission denied" in text
    remedy = "Start it (`systemctl start docker`), or set docker_host or DOCKER_HOST to the one to use"
    if denied:
        remedy = "Run as a user who may use its socket (`become: true`, or membership in the group docker)"
    return Finding(
        "engine-permission" if denied else "engine-unreachable",
        "the Docker engine at %s cannot be used: %s" % (_tried(host), text.strip().splitlines()[-1]),
        "With the builder `docker` an engine builds and pushes the image, and looks into it",
        remedy
        + "; or do without an engine: `training_image_builder: registry`, or `engine: none` of training_image_info",
        "training_image_builder",
    )


def _tried(host: str) -> str:
    """The address that was asked, and who named it."""
    if host:
        return "%s (docker_host)" % host
    named = os.environ.get("DOCKER_HOST")
    return "%s (DOCKER_HOST)" % named if named else "%s (the usual one, as DOCKER_HOST is not set)" % _USUAL


def _follow(stream: t.Iterable[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    """Read a progress stream to its end; keeps only what is not progress."""
    kept = []
    for event in stream:
        if "error" in event:
            raise APIError(event["error"])
        if "aux" in event:
            kept.append(event)
    return kept


@contextlib.contextmanager
def _explained(doing: str, registry: str = "") -> t.Iterator[None]:
    """Turn what the engine or the connection to it raises into a finding."""
    try:
        yield
    except APIError as exc:
        raise Refused(explain(str(exc.explanation or exc), exc.status_code, doing, registry)) from exc
    except (DockerException, RequestException) as exc:
        raise Refused(explain(str(exc), None, doing, registry)) from exc
