package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gunwale.test/operator/api"
)

// certify makes an authority of its own and a certificate of it for this machine in the form that the operator reads;
// gives the authority's certificate.
func certify(t *testing.T, folder string) []byte {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "operator"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	must(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "webhook"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	write := func(name, kind string, bytes []byte) {
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
		must(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	write("tls.crt", "CERTIFICATE", der)
	write("tls.key", "PRIVATE KEY", keyDER)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
}

func freePort(t *testing.T) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// warnings are those that a client was told.
type warnings struct {
	mutex sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.texts = append(w.texts, text)
}

// configure puts the operator's webhooks in force for the rig's namespace.
func (r *rig) configure(port int, authority []byte) {
	none, scope := admissionv1.SideEffectClassNone, admissionv1.NamespacedScope
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: r.namespace}}
	at := func(verb string) admissionv1.WebhookClientConfig {
		url := fmt.Sprintf("https://127.0.0.1:%d/%s-operator-gunwale-test-v1-website", port, verb)
		return admissionv1.WebhookClientConfig{URL: &url, CABundle: authority}
	}
	rules := func(operations ...admissionv1.OperationType) []admissionv1.RuleWithOperations {
		return []admissionv1.RuleWithOperations{{Operations: operations, Rule: admissionv1.Rule{
			APIGroups: []string{api.GroupVersion.Group}, APIVersions: []string{"v1"}, Resources: []string{"websites"}, Scope: &scope,
		}}}
	}
	meta := metav1.ObjectMeta{Name: r.namespace}
	mutating := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionv1.MutatingWebhook{{
		Name: "default.websites.gunwale.test", ClientConfig: at("mutate"), SideEffects: &none, NamespaceSelector: selector,
		AdmissionReviewVersions: []string{"v1"}, Rules: rules(admissionv1.Create, admissionv1.Update),
	}}}
	validating := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: "check.websites.gunwale.test", ClientConfig: at("validate"), SideEffects: &none, NamespaceSelector: selector,
		AdmissionReviewVersions: []string{"v1"}, Rules: rules(admissionv1.Create, admissionv1.Update, admissionv1.Delete),
	}}}
	for _, object := range []client.Object{mutating, validating} {
		must(r.T, r.Create(r.Context(), object))
		r.Cleanup(func() { _ = r.Delete(context.Background(), object) })
	}
}

// The operator's own webhooks complete, refuse and warn about Websites.
func TestWebhooks(t *testing.T) {
	r := newRig(t)
	certificates, port := t.TempDir(), freePort(t)
	authority := certify(t, certificates)
	process := exec.Command(r.binary, "--namespace", r.namespace, "--kubeconfig", os.Getenv("KUBECONFIG"),
		"--webhook-port", fmt.Sprint(port), "--webhook-cert-dir", certificates)
	process.Stderr = os.Stderr
	must(t, process.Start())
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	r.eventually("the webhooks listen", func() bool {
		connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			connection.Close()
		}
		return err == nil
	})
	r.configure(port, authority)
	told := &warnings{}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must(t, err)
	config = rest.CopyConfig(config)
	config.WarningHandler = told
	warned, err := client.New(config, client.Options{Scheme: r.Scheme()})
	must(t, err)

	site := func(name, image string, replicas int32) *api.Website {
		return &api.Website{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.namespace},
			Spec:       api.WebsiteSpec{Image: image, Replicas: &replicas},
		}
	}
	refusal := func(err error, wanted string) {
		t.Helper()
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), wanted) {
			t.Fatalf("%v does not say %s", err, wanted)
		}
	}
	r.eventually("the webhooks are in force", func() bool {
		return apierrors.IsForbidden(warned.Create(t.Context(), site("many", "nginx:1", 11), client.DryRunAll))
	})
	refusal(warned.Create(t.Context(), site("many", "nginx:1", 11)),
		`admission webhook "check.websites.gunwale.test" denied the request: 11 replicas are more than 10`)
	plain := site("plain", "nginx", 1)
	must(t, warned.Create(t.Context(), plain))
	if plain.Spec.Image != "nginx:latest" {
		t.Fatalf("the image is %s", plain.Spec.Image)
	}
	if len(told.texts) == 0 || told.texts[len(told.texts)-1] != "latest is no version" {
		t.Fatalf("warnings: %v", told.texts)
	}
	r.eventually("the operator works behind its own webhooks", func() bool {
		return len(r.site("plain").Finalizers) == 1
	})
	before := r.site("plain")
	changed := before.DeepCopyObject().(*api.Website)
	changed.Annotations = map[string]string{"protected": "yes"}
	must(t, r.Patch(t.Context(), changed, client.MergeFrom(before)))
	refusal(r.Delete(t.Context(), changed), "plain is protected")
	before = r.site("plain")
	changed = before.DeepCopyObject().(*api.Website)
	changed.Annotations = nil
	must(t, r.Patch(t.Context(), changed, client.MergeFrom(before)))
	must(t, r.Delete(t.Context(), changed))
	r.eventually("the website is gone", func() bool {
		return apierrors.IsNotFound(r.Get(t.Context(), r.key("plain"), changed))
	})
}
