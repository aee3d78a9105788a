package clients

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
)

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx:1"}}},
			},
		},
	}
}

// The typed client speaks protobuf in both directions, watch frames included.
func TestTypedProtobuf(t *testing.T) {
	ctx := t.Context()
	deployments := clientset(t, protobuf(t)).AppsV1().Deployments(namespace(t))
	w, err := deployments.Watch(ctx, metav1.ListOptions{})
	must(t, err)
	defer w.Stop()

	created, err := deployments.Create(ctx, deployment("web", 2), metav1.CreateOptions{})
	must(t, err)
	equal(t, "defaulted pull policy", created.Spec.Template.Spec.Containers[0].ImagePullPolicy, corev1.PullIfNotPresent)
	equal(t, "generation", created.Generation, 1)
	equal(t, "first event", next(t, w).Type, watch.Added)

	created.Spec.Template.Spec.Containers[0].Image = "nginx:2"
	updated, err := deployments.Update(ctx, created, metav1.UpdateOptions{})
	must(t, err)
	equal(t, "generation after an update", updated.Generation, 2)
	event := next(t, w)
	equal(t, "second event", event.Type, watch.Modified)
	equal(t, "image in the event", event.Object.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image, "nginx:2")

	_, err = deployments.Update(ctx, created, metav1.UpdateOptions{})
	if !apierrors.IsConflict(err) {
		t.Fatalf("an update of an old version: %v", err)
	}

	updated.Status.Replicas = 2
	updated.Status.ObservedGeneration = 2
	status, err := deployments.UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	must(t, err)
	equal(t, "replicas in the status", status.Status.Replicas, 2)
	equal(t, "generation after a status update", status.Generation, 2)

	scale, err := deployments.GetScale(ctx, "web", metav1.GetOptions{})
	must(t, err)
	scale.Spec.Replicas = 5
	_, err = deployments.UpdateScale(ctx, "web", &autoscalingv1.Scale{ObjectMeta: scale.ObjectMeta, Spec: scale.Spec}, metav1.UpdateOptions{})
	must(t, err)
	got, err := deployments.Get(ctx, "web", metav1.GetOptions{})
	must(t, err)
	equal(t, "replicas after scaling", *got.Spec.Replicas, 5)

	must(t, deployments.Delete(ctx, "web", metav1.DeleteOptions{}))
	_, err = deployments.Get(ctx, "web", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Fatalf("a get after the delete: %v", err)
	}
}

func TestTypedPatches(t *testing.T) {
	ctx := t.Context()
	deployments := clientset(t, protobuf(t)).AppsV1().Deployments(namespace(t))
	_, err := deployments.Create(ctx, deployment("web", 1), metav1.CreateOptions{})
	must(t, err)

	strategic := `{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"envoy:1"}]}}}}`
	patched, err := deployments.Patch(ctx, "web", types.StrategicMergePatchType, []byte(strategic), metav1.PatchOptions{})
	must(t, err)
	equal(t, "containers after a strategic merge", len(patched.Spec.Template.Spec.Containers), 2)

	patched, err = deployments.Patch(ctx, "web", types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"front"}}}`), metav1.PatchOptions{})
	must(t, err)
	equal(t, "label after a merge patch", patched.Labels["tier"], "front")

	json := `[{"op":"test","path":"/spec/replicas","value":1},{"op":"replace","path":"/spec/replicas","value":3}]`
	patched, err = deployments.Patch(ctx, "web", types.JSONPatchType, []byte(json), metav1.PatchOptions{})
	must(t, err)
	equal(t, "replicas after a JSON patch", *patched.Spec.Replicas, 3)
	_, err = deployments.Patch(ctx, "web", types.JSONPatchType, []byte(json), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) {
		t.Fatalf("a JSON patch whose test fails: %v", err)
	}
}

func TestTypedPagesAndSelectors(t *testing.T) {
	ctx := t.Context()
	maps := clientset(t, protobuf(t)).CoreV1().ConfigMaps(namespace(t))
	for i := range 25 {
		labels := map[string]string{"parity": fmt.Sprint(i % 2)}
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("page-%02d", i), Labels: labels}}
		_, err := maps.Create(ctx, object, metav1.CreateOptions{})
		must(t, err)
	}
	options := metav1.ListOptions{Limit: 4, LabelSelector: "parity"}
	seen, version := 0, ""
	for {
		page, err := maps.List(ctx, options)
		must(t, err)
		if version == "" {
			version = page.ResourceVersion
		}
		equal(t, "revision of a further page", page.ResourceVersion, version)
		seen += len(page.Items)
		if page.Continue == "" {
			break
		}
		options.Continue = page.Continue
	}
	equal(t, "objects on all pages", seen, 25)
	odd, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "parity=1"})
	must(t, err)
	equal(t, "objects by label", len(odd.Items), 12)
	one, err := maps.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=page-07"})
	must(t, err)
	equal(t, "objects by name", len(one.Items), 1)
	must(t, maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "parity=1"}))
	rest, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "parity"})
	must(t, err)
	equal(t, "objects left", len(rest.Items), 13)
}

// Twenty writers that retry on conflict lose no increment.
func TestRetryOnConflict(t *testing.T) {
	ctx := t.Context()
	maps := clientset(t, protobuf(t)).CoreV1().ConfigMaps(namespace(t))
	_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counter"}}, metav1.CreateOptions{})
	must(t, err)
	failures := make(chan error)
	backoff := wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1.1, Jitter: 1, Steps: 200}
	for i := range 20 {
		go func() {
			failures <- retry.RetryOnConflict(backoff, func() error {
				counter, err := maps.Get(ctx, "counter", metav1.GetOptions{})
				if err != nil {
					return err
				}
				if counter.Data == nil {
					counter.Data = map[string]string{}
				}
				counter.Data[fmt.Sprintf("writer-%d", i)] = "done"
				_, err = maps.Update(ctx, counter, metav1.UpdateOptions{})
				return err
			})
		}()
	}
	for range 20 {
		must(t, <-failures)
	}
	counter, err := maps.Get(ctx, "counter", metav1.GetOptions{})
	must(t, err)
	equal(t, "writers that left their mark", len(counter.Data), 20)
}
