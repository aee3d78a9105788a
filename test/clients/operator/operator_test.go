package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gunwale.test/operator/api"
)

const patience = 60 * time.Second

// rig is a cluster with the custom resource defined, a namespace, and the operator's binary.
type rig struct {
	*testing.T
	client.Client
	namespace string
	binary    string
}

func newRig(t *testing.T) *rig {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme, apiextensionsv1.AddToScheme} {
		must(t, add(scheme))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must(t, err)
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme})
	must(t, err)
	r := &rig{T: t, Client: c, namespace: fmt.Sprintf("operator-%08x", rand.Uint32()), binary: filepath.Join(t.TempDir(), "operator")}
	build := exec.Command("go", "build", "-o", r.binary, ".")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	must(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}))
	r.define()
	t.Cleanup(func() {
		_ = c.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}})
	})
	return r
}

// define creates the custom resource definition and waits until it is served.
func (r *rig) define() {
	schema := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {Type: "object", Required: []string{"image"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"image":    {Type: "string"},
			"replicas": {Type: "integer", Format: "int32", Default: &apiextensionsv1.JSON{Raw: []byte("1")}},
		}},
		"status": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"observedGeneration": {Type: "integer", Format: "int64"},
			"readyReplicas":      {Type: "integer", Format: "int32"},
			"conditions": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Required: []string{"type", "status", "lastTransitionTime", "reason", "message"},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"type": {Type: "string"}, "status": {Type: "string"}, "reason": {Type: "string"}, "message": {Type: "string"},
					"lastTransitionTime": {Type: "string", Format: "date-time"},
					"observedGeneration": {Type: "integer", Format: "int64"},
				},
			}}},
		}},
	}}
	name := "websites." + api.GroupVersion.Group
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: api.GroupVersion.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "websites", Singular: "website", Kind: "Website", ListKind: "WebsiteList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
	must(r.T, client.IgnoreAlreadyExists(r.Create(r.Context(), definition)))
	r.eventually("the definition is established", func() bool {
		must(r.T, r.Get(r.Context(), client.ObjectKey{Name: name}, definition))
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true
			}
		}
		return false
	})
}

// operator starts the operator's process; it is ended with the test.
func (r *rig) operator() *exec.Cmd {
	process := exec.Command(r.binary, "--namespace", r.namespace, "--kubeconfig", os.Getenv("KUBECONFIG"))
	process.Stderr = os.Stderr
	must(r.T, process.Start())
	r.Cleanup(func() {
		if process.ProcessState == nil {
			_ = process.Process.Kill()
			_ = process.Wait()
		}
	})
	return process
}

func (r *rig) eventually(what string, holds func() bool) {
	r.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if holds() {
			return
		}
	}
	r.Fatalf("never: %s", what)
}

func (r *rig) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: r.namespace, Name: name}
}

func (r *rig) site(name string) *api.Website {
	r.Helper()
	var site api.Website
	must(r.T, r.Get(r.Context(), r.key(name), &site))
	return &site
}

// holder is who holds the leader's lease.
func (r *rig) holder() string {
	var lease coordinationv1.Lease
	err := r.Get(r.Context(), r.key("websites.operator.gunwale.test"), &lease)
	if apierrors.IsNotFound(err) || lease.Spec.HolderIdentity == nil {
		return ""
	}
	must(r.T, err)
	return *lease.Spec.HolderIdentity
}

func (r *rig) create(name string) {
	replicas := int32(2)
	must(r.T, r.Create(r.Context(), &api.Website{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.namespace},
		Spec:       api.WebsiteSpec{Image: "nginx:1", Replicas: &replicas},
	}))
}

// deployed waits until the Deployment of a Website has an image and is owned by it.
func (r *rig) deployed(name, image string) *appsv1.Deployment {
	var deployment appsv1.Deployment
	r.eventually("deployment "+name+" with "+image, func() bool {
		err := r.Get(r.Context(), r.key(name), &deployment)
		return err == nil && deployment.Spec.Template.Spec.Containers[0].Image == image
	})
	owner := metav1.GetControllerOf(&deployment)
	if owner == nil || owner.Kind != "Website" || owner.UID != r.site(name).UID {
		r.Fatalf("deployment %s is owned by %v", name, owner)
	}
	return &deployment
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A Website is deployed, follows its Deployment's status, is updated, and is cleaned up after when it is deleted.
func TestReconciliation(t *testing.T) {
	r := newRig(t)
	r.operator()
	r.create("site")
	deployment := r.deployed("site", "nginx:1")
	r.eventually("the status tells the generation and waits", func() bool {
		site := r.site("site")
		return site.Status.ObservedGeneration == site.Generation && meta.IsStatusConditionFalse(site.Status.Conditions, "Available")
	})
	if finalizers := r.site("site").Finalizers; len(finalizers) != 1 || finalizers[0] != finalizer {
		t.Fatalf("finalizers: %v", finalizers)
	}

	// The part of the Deployment's controller.
	deployment.Status.Replicas, deployment.Status.ReadyReplicas = 2, 2
	must(t, r.Status().Update(t.Context(), deployment))
	r.eventually("the condition turns", func() bool {
		return meta.IsStatusConditionTrue(r.site("site").Status.Conditions, "Available")
	})

	site := r.site("site")
	before := site.DeepCopyObject().(*api.Website)
	site.Spec.Image = "nginx:2"
	must(t, r.Patch(t.Context(), site, client.MergeFrom(before)))
	r.deployed("site", "nginx:2")
	r.eventually("events tell of it", func() bool {
		var events eventsv1.EventList
		must(t, r.List(t.Context(), &events, client.InNamespace(r.namespace)))
		for _, event := range events.Items {
			if event.Reason == "Deployed" && event.Regarding.UID == site.UID {
				return true
			}
		}
		return false
	})

	// A Deployment that somebody deletes comes back.
	uid := r.deployed("site", "nginx:2").UID
	must(t, r.Delete(t.Context(), deployment))
	r.eventually("the deployment is back", func() bool {
		var again appsv1.Deployment
		return r.Get(t.Context(), r.key("site"), &again) == nil && again.UID != uid
	})

	must(t, r.Delete(t.Context(), site))
	r.eventually("the website is gone", func() bool {
		return apierrors.IsNotFound(r.Get(t.Context(), r.key("site"), site))
	})
	var mark corev1.ConfigMap
	must(t, r.Get(t.Context(), r.key(leftBehind), &mark))
	if mark.Data["website"] != "site" {
		t.Fatalf("the finalizer left %v", mark.Data)
	}
	r.eventually("the garbage collector takes the deployment", func() bool {
		return apierrors.IsNotFound(r.Get(t.Context(), r.key("site"), deployment))
	})
}

// Of two operators one leads; when its process dies, the other takes over and works on.
func TestLeaderElection(t *testing.T) {
	r := newRig(t)
	first := r.operator()
	r.eventually("the first leads", func() bool { return r.holder() != "" })
	leader := r.holder()
	r.operator()
	r.create("one")
	r.deployed("one", "nginx:1")
	if holder := r.holder(); holder != leader {
		t.Fatalf("%s leads instead of %s, which lives", holder, leader)
	}
	must(t, first.Process.Signal(syscall.SIGKILL))
	_ = first.Wait()
	r.create("two")
	r.deployed("two", "nginx:1")
	if holder := r.holder(); holder == leader {
		t.Fatal("the dead operator still leads")
	}
	// The finalizers need an operator: without one the namespace could not go.
	for _, name := range []string{"one", "two"} {
		must(t, r.Delete(t.Context(), r.site(name)))
	}
	r.eventually("no website is left", func() bool {
		var sites api.WebsiteList
		must(t, r.List(t.Context(), &sites, client.InNamespace(r.namespace)))
		return len(sites.Items) == 0
	})
}
