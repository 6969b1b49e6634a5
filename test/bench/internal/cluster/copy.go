// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
)

// elsewhere is a node without a kubelet: its pods do not change.
const elsewhere = "elsewhere"

// writers is the number of objects that are stored concurrently. One transaction would be faster, but give all of them one
// version.
const writers = 16

// Store is the etcd of an API server. What is put there is there for it, without the four writes that each application and driver need else.
type Store struct {
	// URL is where it takes requests: http://host:port.
	URL string
}

// etcd is the client of all requests.
var etcd = http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: writers}}

// object is a key of etcd and its value.
type object struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// post calls etcd's JSON gateway.
func (s Store) post(ctx context.Context, call string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("ask etcd: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v3/kv/"+call, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask etcd: %w", err)
	}
	response, err := etcd.Do(request)
	if err != nil {
		return fmt.Errorf("ask etcd: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it has been read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask etcd: %s", response.Status)
	}
	text, err := io.ReadAll(response.Body) // to its end, so that the connection can be used again
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		return fmt.Errorf("read etcd's answer: %w", err)
	}
	return nil
}

// get returns the one object with a key.
func (s Store) get(ctx context.Context, key string) ([]byte, error) {
	var answer struct {
		KVs []object `json:"kvs"`
	}
	if err := s.post(ctx, "range", object{Key: []byte(key)}, &answer); err != nil {
		return nil, err
	}
	if len(answer.KVs) != 1 {
		return nil, fmt.Errorf("etcd has %d objects %s", len(answer.KVs), key)
	}
	return answer.KVs[0].Value, nil
}

// original is an application that has ended, as JSON, and its driver.
type original struct {
	name        string
	application []byte
	uid         types.UID
	driver      *corev1.Pod
}

// Copy makes copies of an application that has ended, each with its status, its driver, and some executors that have ended, too.
func (s Store) Copy(ctx context.Context, name string, copies []string, executors int) error {
	o, err := s.original(ctx, name)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, name := range copies {
		group.Go(func() error {
			all, err := o.as(name, executors)
			if err != nil {
				return err
			}
			for _, object := range all {
				if err := s.post(ctx, "put", object, &struct{}{}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func keyOfApplication(name string) string {
	return "/registry/sparkoperator.k8s.io/sparkapplications/" + ground.Namespace + "/" + name
}

func keyOfPod(name string) string { return "/registry/pods/" + ground.Namespace + "/" + name }

func driverName(application string) string { return application + "-driver" }

// pods is the form in which an API server stores pods.
var pods = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

func (s Store) original(ctx context.Context, name string) (original, error) {
	o := original{name: name}
	var err error
	if o.application, err = s.get(ctx, keyOfApplication(name)); err != nil {
		return o, err
	}
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(o.application, &meta); err != nil {
		return o, fmt.Errorf("read application %s: %w", name, err)
	}
	o.uid = meta.UID
	text, err := s.get(ctx, keyOfPod(driverName(name)))
	if err != nil {
		return o, err
	}
	o.driver = &corev1.Pod{}
	if _, _, err := pods.Decode(text, nil, o.driver); err != nil {
		return o, fmt.Errorf("read driver of %s: %w", name, err)
	}
	return o, nil
}

// as are a copy, its driver and its executors.
func (o original) as(name string, executors int) ([]object, error) {
	uid := uuid.NewString()
	app := bytes.ReplaceAll(bytes.ReplaceAll(o.application, []byte(o.name), []byte(name)), []byte(o.uid), []byte(uid))
	driver := o.pod(driverName(name), name)
	driver.OwnerReferences[0].Name, driver.OwnerReferences[0].UID = name, types.UID(uid)
	all := []*corev1.Pod{driver}
	for i := range executors {
		e := o.pod(fmt.Sprintf("%s-exec-%d", driver.Name, i+1), name)
		e.Labels[ground.LabelRole], e.Labels["spark-exec-id"] = "executor", fmt.Sprint(i+1)
		e.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(driver, corev1.SchemeGroupVersion.WithKind("Pod"))}
		all = append(all, e)
	}
	objects := []object{{[]byte(keyOfApplication(name)), app}}
	for _, pod := range all {
		var text bytes.Buffer
		if err := pods.Encode(pod, &text); err != nil {
			return nil, fmt.Errorf("write pod %s: %w", pod.Name, err)
		}
		objects = append(objects, object{[]byte(keyOfPod(pod.Name)), text.Bytes()})
	}
	return objects, nil
}

// pod is a copy of the driver under another name, of another application.
func (o original) pod(name, application string) *corev1.Pod {
	p := o.driver.DeepCopy()
	p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	p.Name, p.UID, p.Spec.NodeName = name, types.UID(uuid.NewString()), elsewhere
	for key, value := range p.Labels {
		p.Labels[key] = strings.ReplaceAll(value, o.name, application)
	}
	return p
}
