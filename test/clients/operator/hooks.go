package main

import (
	"context"
	"fmt"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"gunwale.test/operator/api"
)

const maxReplicas = 10

// hooks are the operator's own webhooks: they complete and check Websites.
type hooks struct{}

// Default gives an image without a tag the tag latest.
func (hooks) Default(_ context.Context, site *api.Website) error {
	if !strings.Contains(site.Spec.Image, ":") {
		site.Spec.Image += ":latest"
	}
	return nil
}

func check(site *api.Website) (admission.Warnings, error) {
	if site.Spec.Replicas != nil && *site.Spec.Replicas > maxReplicas {
		return nil, fmt.Errorf("%d replicas are more than %d", *site.Spec.Replicas, maxReplicas)
	}
	if strings.HasSuffix(site.Spec.Image, ":latest") {
		return admission.Warnings{"latest is no version"}, nil
	}
	return nil, nil
}

func (hooks) ValidateCreate(_ context.Context, site *api.Website) (admission.Warnings, error) {
	return check(site)
}

func (hooks) ValidateUpdate(_ context.Context, _, site *api.Website) (admission.Warnings, error) {
	return check(site)
}

func (hooks) ValidateDelete(_ context.Context, site *api.Website) (admission.Warnings, error) {
	if site.Annotations["protected"] == "yes" {
		return nil, fmt.Errorf("%s is protected", site.Name)
	}
	return nil, nil
}

func serveHooks(manager ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(manager, &api.Website{}).WithDefaulter(hooks{}).WithValidator(hooks{}).Complete()
}
