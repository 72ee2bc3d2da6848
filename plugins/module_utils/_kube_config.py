# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""From module options to the configuration of the Python client, with every mistake explained.

The kubeconfig format is the one of U(https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/).
"""

from __future__ import annotations

import os
import re
import shutil
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused, suggestion

try:
    import kubernetes
    import yaml
    from kubernetes.config.config_exception import ConfigException
except ImportError as exc:  # the modules that use this file report it with the interpreter's path
    kubernetes = None
    IMPORT_ERROR: ImportError | None = exc
else:
    IMPORT_ERROR = None

DEFAULT_FILE = "~/.kube/config"
SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"

Params = t.Mapping[str, t.Any]


def client_class() -> t.Any:
    """The class C(kubernetes.client.ApiClient).

    :raises Refused: the Python package C(kubernetes) is missing.
    """
    _require_package()
    return kubernetes.client.ApiClient


def configuration(params: Params) -> t.Any:
    """The C(kubernetes.client.Configuration) that the options ask for.

    Options win over the kubeconfig file; with O(host) alone no file is read.

    :raises Refused: what is given cannot be used; the finding says which file or option and what to do.
    """
    _require_package()
    _refuse_missing_files(params)
    config = kubernetes.client.Configuration()
    # Retries are this collection's own, bounded and aware of Retry-After; two layers would multiply.
    config.retries = False
    files = kubeconfig_files(params)
    if files:
        _load_files(config, files, params)
    elif not params.get("host"):
        _load_in_cluster(config)
    _override(config, params)
    return config


def kubeconfig_files(params: Params) -> list[str]:
    """The kubeconfig files to read: the option, else the variable E(KUBECONFIG), else C(~/.kube/config).

    :returns: absolute paths; empty where O(host) is given, or where nothing is there (the cluster's own service
        account may serve then).
    :raises Refused: a path was given and there is no such file.
    """
    if params.get("kubeconfig"):
        return _given_files(str(params["kubeconfig"]), "kubeconfig")
    if params.get("host"):
        return []
    if os.environ.get("KUBECONFIG"):
        return _given_files(os.environ["KUBECONFIG"], "environment variable KUBECONFIG")
    default = os.path.expanduser(DEFAULT_FILE)
    return [default] if os.path.isfile(default) else []


def _given_files(value: str, where: str) -> list[str]:
    paths = [os.path.abspath(os.path.expanduser(part)) for part in value.split(os.pathsep) if part.strip()]
    present = [path for path in paths if os.path.exists(path)]
    if not present:
        raise Refused(_no_file(paths or [value], where))
    for path in present:
        if os.path.isdir(path):
            raise Refused(
                Finding(
                    "kubeconfig-is-directory",
                    "`%s` is a folder" % path,
                    "A kubeconfig is one YAML file with clusters, users and contexts",
                    "Name the file inside, often `%s`" % os.path.join(path, "config"),
                    where,
                )
            )
    return present


def _no_file(paths: t.Sequence[str], where: str) -> Finding:
    relative = any(not os.path.isabs(path) for path in paths)
    return Finding(
        "kubeconfig-missing",
        "There is no kubeconfig file `%s`" % "`, `".join(paths),
        "Without it nothing is known about the cluster's address and credentials",
        "Correct the path%s, or copy the file there"
        % (" (a relative one counts from the folder `%s`)" % os.getcwd() if relative else ""),
        where,
    )


def _load_files(config: t.Any, files: t.Sequence[str], params: Params) -> None:
    where = os.pathsep.join(files)
    documents = [_read(path) for path in files]
    _refuse_bad_context(documents, params.get("context"), where)
    # The client's own default is a server on this machine, which nobody has asked for.
    config.host = ""
    try:
        # persist_config would write refreshed tokens into the user's file.
        kubernetes.config.load_kube_config(
            config_file=where,
            context=params.get("context"),
            client_configuration=config,
            persist_config=False,
        )
    except (ConfigException, KeyError, TypeError, ValueError, OSError) as exc:
        # The client quotes whole entries, secrets among them.
        raise Refused(_unusable(where, re.sub(r"\{.*\}", "{...}", str(exc), flags=re.DOTALL))) from None
    if not config.host and not params.get("host"):
        raise Refused(_unusable(where, "its cluster has no `server`"))
    _refuse_silent_plugin(config, documents, params, where)


def _refuse_silent_plugin(
    config: t.Any, documents: t.Sequence[t.Mapping[str, t.Any]], params: Params, where: str
) -> None:
    """The client only logs that a credential plugin has failed, and goes on without credentials."""
    name = params.get("context") or next(doc["current-context"] for doc in documents if doc.get("current-context"))
    context = _named(documents, "contexts")[name]["context"]
    user = _named(documents, "users")[context["user"]].get("user")
    plugin = user.get("exec") if isinstance(user, dict) else None
    if not plugin or config.api_key or config.cert_file or params.get("api_key") or params.get("client_cert"):
        return
    command = str(plugin.get("command")) if isinstance(plugin, dict) else "?"
    missing = os.sep not in command and shutil.which(command) is None
    raise Refused(
        Finding(
            "kubeconfig-plugin-%s" % ("missing" if missing else "failed"),
            "The program `%s`, which fetches the credentials of the user `%s`, %s"
            % (command, context["user"], "is not in the PATH" if missing else "has given none"),
            "Without them the API server takes the request for a stranger's",
            "Install it on the controller, or name it with its path"
            if missing
            else "See what `kubectl --kubeconfig %s get --raw /version` says about it, often that a login is needed"
            % where,
            where,
        )
    )


def _read(path: str) -> dict[str, t.Any]:
    try:
        with open(path, encoding="utf-8") as stream:
            document = yaml.safe_load(stream)
    except (OSError, UnicodeDecodeError) as exc:
        raise Refused(
            Finding(
                "kubeconfig-unreadable",
                "The kubeconfig cannot be read: %s" % (getattr(exc, "strerror", None) or "it is not UTF-8 text"),
                "Without it nothing is known about the cluster's address and credentials",
                "Make the file readable for the user that runs the play (`ls -l %s`)" % path,
                path,
            )
        ) from exc
    # A value that does not fit its tag, or a date in the thirteenth month, is no YAMLError of PyYAML's.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError) as exc:
        raise Refused(_not_yaml(path, exc)) from None
    if not isinstance(document, dict) or not isinstance(document.get("clusters"), list):
        raise Refused(_unusable(path, "it has no list `clusters`"))
    return document


def _not_yaml(path: str, exc: t.Any) -> Finding:
    mark = getattr(exc, "problem_mark", None)
    # The library's own text quotes the line, which may hold a token: only the place is told.
    place = "%s:%d" % (path, mark.line + 1) if mark else path
    return Finding(
        "kubeconfig-not-yaml",
        "The kubeconfig is not valid YAML (%s)" % (getattr(exc, "problem", None) or "it cannot be parsed"),
        "Neither kubectl nor this collection can read it",
        "Correct that line, or fetch the file anew from the cluster's administrator",
        place,
    )


def _unusable(where: str, problem: str) -> Finding:
    return Finding(
        "kubeconfig-invalid",
        "The kubeconfig cannot be used: %s" % problem.strip().replace("\n", " "),
        "It must hold a cluster, a user and a context that joins the two",
        "Compare it with `kubectl config view --kubeconfig %s`" % where,
        where,
    )


def _refuse_bad_context(documents: t.Sequence[t.Mapping[str, t.Any]], wanted: str | None, where: str) -> None:
    contexts = _named(documents, "contexts")
    name = wanted or next((doc["current-context"] for doc in documents if doc.get("current-context")), None)
    if not name:
        raise Refused(
            Finding(
                "kubeconfig-no-context",
                "The kubeconfig has no current-context",
                "It is not known which of its clusters is meant",
                "Give the option `context`. Contexts in the file: %s" % (", ".join(contexts) or "none"),
                where,
            )
        )
    if name not in contexts:
        raise Refused(
            Finding(
                "kubeconfig-context-unknown",
                "The kubeconfig has no context `%s`" % name,
                "It is not known which cluster is meant",
                suggestion(str(name), contexts) if contexts else "The file has no context at all: fetch it anew",
                where,
            )
        )
    _refuse_dangling(documents, name, contexts[name], where)


def _refuse_dangling(
    documents: t.Sequence[t.Mapping[str, t.Any]], name: str, entry: t.Mapping[str, t.Any], where: str
) -> None:
    context = entry.get("context") or {}
    findings = []
    for kind, key in (("clusters", "cluster"), ("users", "user")):
        names = _named(documents, kind)
        wanted = context.get(key) if isinstance(context, dict) else None
        if wanted in names:
            continue
        findings.append(
            Finding(
                "kubeconfig-%s-missing" % key,
                "Context `%s` names the %s `%s`, which the kubeconfig does not have" % (name, key, wanted),
                "Without it the %s unknown" % ("server's address is" if key == "cluster" else "credentials are"),
                "Add it under `%s`, or choose another context. There: %s" % (kind, ", ".join(names) or "none"),
                where,
            )
        )
    if findings:
        raise Refused(findings)


def _named(documents: t.Sequence[t.Mapping[str, t.Any]], kind: str) -> dict[str, t.Any]:
    found: dict[str, t.Any] = {}
    for document in documents:
        entries = document.get(kind)
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                found.setdefault(entry["name"], entry)
    return found


def _load_in_cluster(config: t.Any) -> None:
    if not os.path.isfile(SERVICE_ACCOUNT_TOKEN):
        raise Refused(
            Finding(
                "kubeconfig-missing",
                "No cluster is named: there is no `kubeconfig` option, no KUBECONFIG variable, no `%s`"
                % os.path.expanduser(DEFAULT_FILE),
                "Without one nothing is known about the cluster's address and credentials",
                "Give the path of a kubeconfig file (the roles' `npu_node_kubeconfig`, `training_job_kubeconfig`), or "
                "use the delivery `gitops`, which needs no cluster",
                "kubeconfig",
            )
        )
    kubernetes.config.load_incluster_config(client_configuration=config)


def _override(config: t.Any, params: Params) -> None:
    simple = {"host": "host", "ca_cert": "ssl_ca_cert", "client_cert": "cert_file", "client_key": "key_file"}
    for option, attribute in simple.items():
        if params.get(option):
            setattr(config, attribute, params[option])
    if params.get("api_key"):
        # A refresh hook of the kubeconfig would put the file's token back.
        config.refresh_api_key_hook = None
        config.api_key = {"authorization": "Bearer %s" % params["api_key"]}
        config.api_key_prefix = {}
    if params.get("validate_certs") is not None:
        config.verify_ssl = params["validate_certs"]
    config.host = (config.host or "").rstrip("/")


def _refuse_missing_files(params: Params) -> None:
    findings = [
        Finding(
            "kube-file-missing",
            "There is no file `%s`" % params[option],
            "The TLS connection to the API server needs it",
            "Correct the path (a relative one counts from the folder `%s`)" % os.getcwd(),
            option,
        )
        for option in ("ca_cert", "client_cert", "client_key")
        if params.get(option) and not os.path.isfile(os.path.expanduser(params[option]))
    ]
    host = params.get("host")
    if host and not str(host).startswith(("https://", "http://")):
        findings.append(
            Finding(
                "kube-host-invalid",
                "`%s` is no address of an API server" % host,
                "It must say how to connect",
                "Write it with its scheme and port, for example `https://%s:6443`" % str(host).partition(":")[0],
                "host",
            )
        )
    if findings:
        raise Refused(findings)


def _require_package() -> None:
    if IMPORT_ERROR is None:
        return
    import sys

    raise Refused(
        Finding(
            "python-package-missing",
            "The Python package `kubernetes` (with PyYAML) cannot be imported: %s" % IMPORT_ERROR,
            "It is what speaks to the cluster's API",
            "Install it for this interpreter (`%s -m pip install kubernetes`), or set ansible_python_interpreter to "
            '"{{ ansible_playbook_python }}" for plays on localhost' % sys.executable,
            sys.executable,
        )
    )
