package clients

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
)

func web(ns string) *appsac.DeploymentApplyConfiguration {
	labels := map[string]string{"app": "web"}
	return appsac.Deployment("web", ns).WithLabels(labels).WithSpec(appsac.DeploymentSpec().
		WithReplicas(2).
		WithSelector(metaac.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(coreac.PodTemplateSpec().WithLabels(labels).WithSpec(coreac.PodSpec().WithContainers(
			coreac.Container().WithName("main").WithImage("nginx:1").
				WithPorts(coreac.ContainerPort().WithContainerPort(80).WithProtocol(corev1.ProtocolTCP)),
		))))
}

// Two managers share an object; one takes a field by force, the other gives its own up.
func TestApplyConfigurations(t *testing.T) {
	ctx := t.Context()
	ns := namespace(t)
	deployments := clientset(t, protobuf(t)).AppsV1().Deployments(ns)
	first := metav1.ApplyOptions{FieldManager: "first"}
	applied, err := deployments.Apply(ctx, web(ns), first)
	must(t, err)
	again, err := deployments.Apply(ctx, web(ns), first)
	must(t, err)
	equal(t, "version after an apply that changes nothing", again.ResourceVersion, applied.ResourceVersion)

	scaled := appsac.Deployment("web", ns).WithSpec(appsac.DeploymentSpec().WithReplicas(5))
	_, err = deployments.Apply(ctx, scaled, metav1.ApplyOptions{FieldManager: "scaler"})
	if !apierrors.IsConflict(err) {
		t.Fatalf("an apply of another manager's field: %v", err)
	}
	taken, err := deployments.Apply(ctx, scaled, metav1.ApplyOptions{FieldManager: "scaler", Force: true})
	must(t, err)
	equal(t, "replicas after force", *taken.Spec.Replicas, 5)

	extracted, err := appsac.ExtractDeployment(taken, "scaler")
	must(t, err)
	equal(t, "replicas that the scaler owns", *extracted.Spec.Replicas, 5)
	if extracted.Spec.Template != nil {
		t.Fatal("the scaler owns the template")
	}

	// What the first manager leaves away and nobody else owns is removed.
	less := web(ns)
	less.Spec.Replicas = nil
	less.Spec.Template.Spec.Containers[0].Ports = nil
	left, err := deployments.Apply(ctx, less, first)
	must(t, err)
	equal(t, "ports that nobody owns", len(left.Spec.Template.Spec.Containers[0].Ports), 0)
	equal(t, "replicas that the scaler owns", *left.Spec.Replicas, 5)
}

func TestApplyStatus(t *testing.T) {
	ctx := t.Context()
	ns := namespace(t)
	deployments := clientset(t, protobuf(t)).AppsV1().Deployments(ns)
	_, err := deployments.Apply(ctx, web(ns), metav1.ApplyOptions{FieldManager: "first"})
	must(t, err)
	status := appsac.Deployment("web", ns).WithStatus(appsac.DeploymentStatus().WithReadyReplicas(1).WithReplicas(2))
	applied, err := deployments.ApplyStatus(ctx, status, metav1.ApplyOptions{FieldManager: "controller"})
	must(t, err)
	equal(t, "ready replicas", applied.Status.ReadyReplicas, 1)
	equal(t, "replicas wanted", *applied.Spec.Replicas, 2)
}
