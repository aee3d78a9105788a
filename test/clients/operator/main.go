// An operator as projects build theirs with controller-runtime: leader election by lease, a cached client, a reconciler
// with a finalizer, owner references, status conditions and events, and webhooks of its own.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"gunwale.test/operator/api"
)

const finalizer = "operator.gunwale.test/cleanup"

// leftBehind is the ConfigMap that the finalizer writes: what the operator did outside the cluster, so to say.
const leftBehind = "cleaned-up"

type reconciler struct {
	client.Client
	scheme   *runtime.Scheme
	recorder events.EventRecorder
}

// Reconcile brings one Website's Deployment and status in line with its spec.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var site api.Website
	if err := r.Get(ctx, request.NamespacedName, &site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !site.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.cleanUp(ctx, &site)
	}
	if controllerutil.AddFinalizer(&site, finalizer) {
		if err := r.Update(ctx, &site); err != nil {
			return ctrl.Result{}, err
		}
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: site.Name, Namespace: site.Namespace}}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		fill(deployment, &site)
		return controllerutil.SetControllerReference(&site, deployment, r.scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if result != controllerutil.OperationResultNone {
		log.FromContext(ctx).Info("deployment", "result", result)
		r.recorder.Eventf(&site, deployment, corev1.EventTypeNormal, "Deployed", "Deploy", "deployment %s", result)
	}
	before := client.MergeFrom(site.DeepCopyObject().(*api.Website))
	site.Status.ObservedGeneration = site.Generation
	site.Status.ReadyReplicas = deployment.Status.ReadyReplicas
	condition := metav1.Condition{Type: "Available", Status: metav1.ConditionFalse, Reason: "Waiting", ObservedGeneration: site.Generation}
	if site.Spec.Replicas != nil && deployment.Status.ReadyReplicas >= *site.Spec.Replicas {
		condition.Status, condition.Reason = metav1.ConditionTrue, "Ready"
	}
	meta.SetStatusCondition(&site.Status.Conditions, condition)
	return ctrl.Result{}, r.Status().Patch(ctx, &site, before)
}

func fill(deployment *appsv1.Deployment, site *api.Website) {
	labels := map[string]string{"website": site.Name}
	deployment.Spec.Replicas = site.Spec.Replicas
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	deployment.Spec.Template.Labels = labels
	if len(deployment.Spec.Template.Spec.Containers) == 0 {
		deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
	}
	deployment.Spec.Template.Spec.Containers[0].Image = site.Spec.Image
}

// cleanUp leaves its mark, and lets the Website go.
func (r *reconciler) cleanUp(ctx context.Context, site *api.Website) error {
	if !controllerutil.ContainsFinalizer(site, finalizer) {
		return nil
	}
	mark := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: leftBehind, Namespace: site.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, mark, func() error {
		mark.Data = map[string]string{"website": site.Name}
		return nil
	})
	if err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(site, finalizer)
	return r.Update(ctx, site)
}

func run() error {
	namespace := flag.String("namespace", "default", "namespace of the leader's lease")
	port := flag.Int("webhook-port", 0, "port of the webhooks; 0: none are served")
	certificates := flag.String("webhook-cert-dir", "", "folder of tls.crt and tls.key of the webhooks")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	lease, renew, retry := 6*time.Second, 4*time.Second, time.Second
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 server.Options{BindAddress: "0"},
		WebhookServer:           webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certificates}),
		LeaderElection:          true,
		LeaderElectionID:        "websites.operator.gunwale.test",
		LeaderElectionNamespace: *namespace,
		LeaseDuration:           &lease,
		RenewDeadline:           &renew,
		RetryPeriod:             &retry,
	})
	if err != nil {
		return err
	}
	r := &reconciler{Client: manager.GetClient(), scheme: scheme, recorder: manager.GetEventRecorder("websites")}
	err = ctrl.NewControllerManagedBy(manager).For(&api.Website{}).Owns(&appsv1.Deployment{}).Complete(r)
	if err != nil {
		return err
	}
	if *port != 0 {
		if err := serveHooks(manager); err != nil {
			return err
		}
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
