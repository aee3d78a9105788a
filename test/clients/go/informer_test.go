package clients

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// counter counts the requests that begin an informer (a watch-list, or a plain list), and the answers in protobuf.
type counter struct {
	next                        http.RoundTripper
	watchLists, lists, protobuf atomic.Int32
}

func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
	switch query := request.URL.Query(); {
	case query.Get("sendInitialEvents") == "true":
		c.watchLists.Add(1)
	case query.Get("watch") == "":
		c.lists.Add(1)
	}
	response, err := c.next.RoundTrip(request)
	if err == nil && strings.HasPrefix(response.Header.Get("Content-Type"), "application/vnd.kubernetes.protobuf") {
		c.protobuf.Add(1)
	}
	return response, err
}

// A shared informer begins with a watch-list, in protobuf, and follows every change.
func TestInformerWithWatchList(t *testing.T) {
	ctx := t.Context()
	ns := namespace(t)
	maps := clientset(t, protobuf(t)).CoreV1().ConfigMaps(ns)
	mine := map[string]string{"informer": "yes"}
	for i := range 30 {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("seen-%02d", i), Labels: mine}}
		_, err := maps.Create(ctx, object, metav1.CreateOptions{})
		must(t, err)
	}

	counted := &counter{}
	c := protobuf(t)
	c.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		counted.next = next
		return counted
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clientset(t, c), 0, informers.WithNamespace(ns))
	informer := factory.Core().V1().ConfigMaps()
	var added, updated, deleted atomic.Int32
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { added.Add(1) },
		UpdateFunc: func(_, _ any) { updated.Add(1) },
		DeleteFunc: func(any) { deleted.Add(1) },
	})
	must(t, err)
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		t.Fatal("the cache was never in sync")
	}
	all, err := informer.Lister().List(labels.SelectorFromSet(mine))
	must(t, err)
	equal(t, "objects in the cache", len(all), 30)
	equal(t, "requests with sendInitialEvents", counted.watchLists.Load(), 1)
	equal(t, "plain lists", counted.lists.Load(), 0)
	equal(t, "answers in protobuf", counted.protobuf.Load(), 1)

	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late", Labels: mine}}, metav1.CreateOptions{})
	must(t, err)
	eventually(t, "the cache has the late object", func() bool {
		_, err := informer.Lister().ConfigMaps(ns).Get("late")
		return err == nil
	})
	late, err := maps.Get(ctx, "late", metav1.GetOptions{})
	must(t, err)
	late.Data = map[string]string{"a": "b"}
	_, err = maps.Update(ctx, late, metav1.UpdateOptions{})
	must(t, err)
	must(t, maps.Delete(ctx, "late", metav1.DeleteOptions{}))
	eventually(t, "the cache has lost the late object", func() bool { return deleted.Load() == 1 })
	if updated.Load() == 0 {
		t.Fatal("no update was seen")
	}
}

// Two candidates for one Lease: one leads; when it lets go the other does.
func TestLeaderElection(t *testing.T) {
	ns := namespace(t)
	set := clientset(t, config(t))
	leading := make(chan string, 10)
	candidate := func(ctx context.Context, name string) {
		lock := &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: ns},
			Client:     set.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		}
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 6 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: time.Second,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leading <- name },
				OnStoppedLeading: func() {},
			},
		})
	}
	first, stop := context.WithCancel(t.Context())
	go candidate(first, "first")
	equal(t, "who leads", leader(t, leading), "first")
	go candidate(t.Context(), "second")
	select {
	case name := <-leading:
		t.Fatalf("%s leads beside the first", name)
	case <-time.After(3 * time.Second):
	}
	stop()
	equal(t, "who leads next", leader(t, leading), "second")
}

func leader(t *testing.T, leading <-chan string) string {
	t.Helper()
	select {
	case name := <-leading:
		return name
	case <-time.After(patience):
		t.Fatal("nobody leads")
		return ""
	}
}
