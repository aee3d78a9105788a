package clients

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// config reads the kubeconfig of the cluster under test, without client-side rate limits.
func config(t *testing.T) *rest.Config {
	t.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	c.QPS = -1
	return c
}

// protobuf is the configuration of a typed client as the controllers use it.
func protobuf(t *testing.T) *rest.Config {
	c := config(t)
	c.ContentType = "application/vnd.kubernetes.protobuf"
	c.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return c
}

func clientset(t *testing.T, c *rest.Config) *kubernetes.Clientset {
	t.Helper()
	set, err := kubernetes.NewForConfig(c)
	must(t, err)
	return set
}

// namespace makes one that goes with the test.
func namespace(t *testing.T) string {
	t.Helper()
	namespaces := clientset(t, config(t)).CoreV1().Namespaces()
	name := fmt.Sprintf("go-%08x", rand.Uint32())
	_, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() {
		_ = namespaces.Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	return name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// next is the next event of a watch that is no bookmark.
func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case event, open := <-w.ResultChan():
			if !open {
				t.Fatal("the watch has ended")
			}
			if event.Type != watch.Bookmark {
				return event
			}
		case <-timeout:
			t.Fatal("no event came")
		}
	}
}
