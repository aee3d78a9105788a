"""Kubernetes' Python client does its CRUD, watch and patch round trip against the cluster of KUBECONFIG."""

import secrets
import sys
import traceback

from kubernetes import client, config, dynamic, watch
from kubernetes.client.rest import ApiException

config.load_kube_config()
core = client.CoreV1Api()
apps = client.AppsV1Api()
NAMESPACE = f"python-{secrets.token_hex(4)}"
PATIENCE_S = 30


def equal(what, got, wanted):
    if got != wanted:
        raise AssertionError(f"{what}: got {got!r}, wanted {wanted!r}")


def refusal(request):
    """The status that a request was refused with."""
    try:
        request()
    except ApiException as error:
        return error.status
    raise AssertionError("the request was not refused")


def deployment(name):
    labels = {"app": name}
    container = client.V1Container(name="main", image="nginx:1")
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=[container])
    )
    spec = client.V1DeploymentSpec(
        replicas=1, selector=client.V1LabelSelector(match_labels=labels), template=template
    )
    return client.V1Deployment(metadata=client.V1ObjectMeta(name=name, labels=labels), spec=spec)


def crud():
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=NAMESPACE)))
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="settings", labels={"kind": "mine"}), data={"a": "1"})
    created = core.create_namespaced_config_map(NAMESPACE, body)
    created.data = {"a": "2"}
    replaced = core.replace_namespaced_config_map("settings", NAMESPACE, created)
    equal("data", replaced.data, {"a": "2"})
    equal("an old version", refusal(lambda: core.replace_namespaced_config_map("settings", NAMESPACE, created)), 409)
    read = core.read_namespaced_config_map("settings", NAMESPACE)
    equal("version", read.metadata.resource_version, replaced.metadata.resource_version)
    listed = core.list_namespaced_config_map(NAMESPACE, label_selector="kind=mine")
    equal("names", [item.metadata.name for item in listed.items], ["settings"])
    core.delete_namespaced_config_map("settings", NAMESPACE)
    equal("after the delete", refusal(lambda: core.read_namespaced_config_map("settings", NAMESPACE)), 404)


def pages():
    for i in range(7):
        core.create_namespaced_config_map(
            NAMESPACE, client.V1ConfigMap(metadata=client.V1ObjectMeta(name=f"page-{i}", labels={"page": "yes"}))
        )
    names, more = [], None
    while True:
        page = core.list_namespaced_config_map(NAMESPACE, label_selector="page", limit=3, _continue=more)
        names += [item.metadata.name for item in page.items]
        more = page.metadata._continue
        if not more:
            break
    equal("names", names, [f"page-{i}" for i in range(7)])


def patches():
    apps.create_namespaced_deployment(NAMESPACE, deployment("web"))
    side = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "envoy:1"}]}}}}
    patched = apps.patch_namespaced_deployment("web", NAMESPACE, side)
    equal("containers", [c.name for c in patched.spec.template.spec.containers], ["side", "main"])
    scale = [{"op": "replace", "path": "/spec/replicas", "value": 4}]
    patched = apps.patch_namespaced_deployment("web", NAMESPACE, scale)
    equal("replicas", patched.spec.replicas, 4)
    scaled = apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 6}})
    equal("scale", scaled.spec.replicas, 6)


def apply():
    maps = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")

    def one(data, manager):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": data}
        return maps.server_side_apply(body=body, name="applied", namespace=NAMESPACE, field_manager=manager)

    one({"mine": "yes"}, "first")
    both = one({"yours": "yes"}, "second")
    equal("data", both.data.to_dict(), {"mine": "yes", "yours": "yes"})
    equal("a conflict", refusal(lambda: one({"mine": "no"}, "second")), 409)


def watched():
    version = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="watched", labels={"watched": "yes"}), data={"a": "1"})
    core.create_namespaced_config_map(NAMESPACE, body)
    core.patch_namespaced_config_map("watched", NAMESPACE, {"data": {"a": "2"}})
    core.delete_namespaced_config_map("watched", NAMESPACE)
    seen = []
    stream = watch.Watch().stream(
        core.list_namespaced_config_map,
        NAMESPACE,
        label_selector="watched=yes",
        resource_version=version,
        timeout_seconds=PATIENCE_S,
    )
    for event in stream:
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 3:
            break
    equal("events", seen, [("ADDED", "watched"), ("MODIFIED", "watched"), ("DELETED", "watched")])


def main():
    passed = failed = 0
    checks = [
        ("create, read, replace, list and delete", crud),
        ("pages", pages),
        ("strategic merge and JSON patches, and the scale", patches),
        ("server-side apply with the dynamic client", apply),
        ("watch", watched),
    ]
    for title, check in checks:
        try:
            check()
            passed += 1
            print(f"ok   {title}")
        except Exception:
            failed += 1
            print(f"FAIL {title}\n{traceback.format_exc()}")
    core.delete_namespace(NAMESPACE)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
