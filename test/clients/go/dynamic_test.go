package clients

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
var gadgets = schema.GroupVersionResource{Group: "clients.gunwale.test", Version: "v1", Resource: "gadgets"}

type object = map[string]any

func gadgetDefinition() *unstructured.Unstructured {
	properties := object{
		"spec": object{
			"type": "object",
			"properties": object{
				"size":  object{"type": "integer", "minimum": int64(1), "default": int64(3)},
				"parts": object{"type": "array", "items": object{"type": "string"}, "x-kubernetes-list-type": "set"},
			},
		},
		"status": object{"type": "object", "properties": object{"ready": object{"type": "boolean"}}},
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   object{"name": "gadgets.clients.gunwale.test"},
		"spec": object{
			"group": "clients.gunwale.test",
			"scope": "Namespaced",
			"names": object{"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
			"versions": []any{object{
				"name": "v1", "served": true, "storage": true,
				"subresources": object{"status": object{}},
				"schema":       object{"openAPIV3Schema": object{"type": "object", "properties": properties}},
			}},
		},
	}}
}

func gadget(name string, spec object) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "clients.gunwale.test/v1", "kind": "Gadget", "metadata": object{"name": name}, "spec": spec,
	}}
}

func defineGadgets(t *testing.T, client dynamic.Interface) {
	t.Helper()
	_, err := client.Resource(definitions).Create(t.Context(), gadgetDefinition(), metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		ctx, name := context.Background(), "gadgets.clients.gunwale.test"
		_ = client.Resource(definitions).Delete(ctx, name, metav1.DeleteOptions{})
		eventually(t, "the definition is gone", func() bool {
			_, err := client.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	})
	eventually(t, "the definition is established", func() bool {
		got, err := client.Resource(definitions).Get(t.Context(), "gadgets.clients.gunwale.test", metav1.GetOptions{})
		must(t, err)
		conditions, _, _ := unstructured.NestedSlice(got.Object, "status", "conditions")
		for _, condition := range conditions {
			if c := condition.(object); c["type"] == "Established" && c["status"] == "True" {
				return true
			}
		}
		return false
	})
}

// The dynamic client with a custom resource: schema, defaults, status, patches, apply, watch.
func TestDynamicCustomResource(t *testing.T) {
	ctx := t.Context()
	client, err := dynamic.NewForConfig(config(t))
	must(t, err)
	defineGadgets(t, client)
	resource := client.Resource(gadgets).Namespace(namespace(t))

	w, err := resource.Watch(ctx, metav1.ListOptions{})
	must(t, err)
	defer w.Stop()
	created, err := resource.Create(ctx, gadget("one", object{"unknown": "pruned"}), metav1.CreateOptions{})
	must(t, err)
	size, _, _ := unstructured.NestedInt64(created.Object, "spec", "size")
	equal(t, "defaulted size", size, 3)
	_, found, _ := unstructured.NestedString(created.Object, "spec", "unknown")
	equal(t, "an unknown field is there", found, false)
	equal(t, "first event", next(t, w).Type, watch.Added)

	_, err = resource.Create(ctx, gadget("bad", object{"size": int64(0)}), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) {
		t.Fatalf("a create against the schema: %v", err)
	}

	patched, err := resource.Patch(ctx, "one", types.MergePatchType, []byte(`{"spec":{"size":4}}`), metav1.PatchOptions{})
	must(t, err)
	size, _, _ = unstructured.NestedInt64(patched.Object, "spec", "size")
	equal(t, "patched size", size, 4)
	equal(t, "second event", next(t, w).Type, watch.Modified)

	must(t, unstructured.SetNestedField(patched.Object, true, "status", "ready"))
	updated, err := resource.UpdateStatus(ctx, patched, metav1.UpdateOptions{})
	must(t, err)
	ready, _, _ := unstructured.NestedBool(updated.Object, "status", "ready")
	equal(t, "ready in the status", ready, true)
	equal(t, "third event", next(t, w).Type, watch.Modified)

	applied, err := resource.Apply(ctx, "one", gadget("one", object{"parts": []any{"a"}}), metav1.ApplyOptions{FieldManager: "a"})
	must(t, err)
	other, err := resource.Apply(ctx, "one", gadget("one", object{"parts": []any{"b"}}), metav1.ApplyOptions{FieldManager: "b"})
	must(t, err)
	parts, _, _ := unstructured.NestedStringSlice(other.Object, "spec", "parts")
	equal(t, "parts of two managers", len(parts), 2)
	if applied.GetResourceVersion() == other.GetResourceVersion() {
		t.Fatal("the second manager changed nothing")
	}

	must(t, resource.Delete(ctx, "one", metav1.DeleteOptions{}))
	for event := next(t, w); event.Type != watch.Deleted; event = next(t, w) {
		equal(t, "event before the last", event.Type, watch.Modified)
	}
}

// Discovery names every group, and the custom resource as soon as it is established.
func TestDiscovery(t *testing.T) {
	client, err := dynamic.NewForConfig(config(t))
	must(t, err)
	defineGadgets(t, client)
	disco, err := discovery.NewDiscoveryClientForConfig(config(t))
	must(t, err)
	version, err := disco.ServerVersion()
	must(t, err)
	equal(t, "minor version", version.Minor, "36")
	eventually(t, "the custom resource is discovered", func() bool {
		lists, err := disco.ServerPreferredResources()
		must(t, err)
		known := map[string]bool{}
		for _, list := range lists {
			for _, resource := range list.APIResources {
				known[list.GroupVersion+" "+resource.Name] = true
			}
		}
		equal(t, "deployments are known", known["apps/v1 deployments"], true)
		return known["clients.gunwale.test/v1 gadgets"]
	})
	paths, err := disco.OpenAPIV3().Paths()
	must(t, err)
	if _, there := paths["apis/apps/v1"]; !there {
		t.Fatal("OpenAPI v3 has no apis/apps/v1")
	}
}
