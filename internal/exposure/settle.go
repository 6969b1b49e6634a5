// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

const (
	// Retry is the interval for retrying a refused auxiliary object.
	Retry = 30 * time.Second
	// Soon is the delay before a retry after a temporary error.
	Soon = 5 * time.Second
	// maxRefusals bounds the tries of an object with content that the API server refuses. A few tries help if the object conflicts with an object that is being
	// deleted, e.g. over a port. After that, only changed content is sent.
	maxRefusals = 5
)

// Refusals are the objects with content that the API server refused. They may be lost at any time.
type Refusals map[Ref]refusal

type refusal struct {
	hash  string
	cause lifecycle.Cause
	times int
}

// Plan has the writes and deletes of a driver's auxiliary objects. They are independent of each other.
type Plan struct {
	Write  []Object
	Remove []Ref
	// Lookup is an unchanged Service without a recorded address, whose cluster IP must be read. Address is the IP that was read.
	Lookup  Ref
	Address string

	wanted  Wanted
	seen    Seen
	before  lifecycle.Exposure
	refused Refusals
	// differ are the objects that differ from the wanted ones, including those that are not sent again.
	differ []Object
}

// Decide plans the writes and deletes that lead to the wanted objects.
func Decide(w Wanted, seen Seen, recorded lifecycle.Exposure, refused Refusals) Plan {
	p := Plan{wanted: w, seen: seen, before: recorded, refused: refused}
	p.differ, p.Remove = diff(w, seen)
	for _, object := range p.differ {
		if _, is := p.hopeless(object); !is {
			p.Write = append(p.Write, object)
		}
	}
	service := Ref{Service, w.Status.Service}
	if w.wants(service) && !p.differs(service) && p.recordedIP() == "" {
		p.Lookup = service
	}
	return p
}

// hopeless returns the API server's refusal of the same content, if that is not sent again.
func (p Plan) hopeless(o Object) (lifecycle.Cause, bool) {
	last, known := p.refused[o.Ref]
	return last.cause, known && last.hash == p.hash(o) && last.times >= maxRefusals
}

func (p Plan) hash(o Object) string { return o.GetAnnotations()[p.wanted.labels.Applied] }

func (p Plan) differs(r Ref) bool {
	return slices.ContainsFunc(p.differ, func(o Object) bool { return o.Ref == r })
}

// recordedIP returns the recorded IP of the wanted Service.
func (p Plan) recordedIP() string {
	ip, _, err := net.SplitHostPort(p.before.ServiceAddress)
	if err != nil || p.before.Service != p.wanted.Status.Service {
		return ""
	}
	return ip
}

// Result is the result of one object of a plan.
type Result struct {
	lifecycle.Result
	// ClusterIP is the IP of a written Service; "" for none.
	ClusterIP string
}

// Settled is the state after a plan and its results.
type Settled struct {
	lifecycle.Exposure
	// Again is the delay until the next try; 0 for none.
	Again time.Duration
	// Refused are the refusals, as input of the next plan.
	Refused Refusals

	retry    time.Duration
	problems []lifecycle.Cause
}

// Settle returns the existing objects after a plan with their addresses, and the reasons why others could not be created. results covers all writes and deletes
// of the plan. Refused ones are retried after the given time.
func Settle(p Plan, results map[Ref]Result, retry time.Duration) Settled {
	s := Settled{Refused: Refusals{}, retry: retry}
	for _, problem := range p.wanted.Problems {
		s.problems = append(s.problems, problem.Cause)
		if problem.Reason == lifecycle.ReasonExposureForbidden {
			s.again(retry) // a changed policy may not enqueue the application
		}
	}
	there := p.written(&s, results)
	for _, ref := range p.Remove {
		if r := results[ref]; r.Class != lifecycle.ClassDone {
			s.failed(ref, r.Result)
			s.Objects = append(s.Objects, ref.String())
		}
	}
	for _, object := range p.wanted.Objects {
		if there(object.Ref) || p.seen[object.Ref] != nil {
			s.Objects = append(s.Objects, object.String())
		}
	}
	p.keep(&s)
	slices.Sort(s.Objects)
	s.Objects = slices.Compact(s.Objects)
	p.describe(&s, there, results)
	s.Trouble = lifecycle.JoinCauses(s.problems)
	return s
}

// written settles the writes. It returns a function that reports whether an object is as wanted.
func (p Plan) written(s *Settled, results map[Ref]Result) (there func(Ref) bool) {
	missing := map[Ref]bool{}
	for ref, last := range p.refused {
		if p.wanted.wants(ref) {
			s.Refused[ref] = last
		}
	}
	for _, object := range p.differ {
		if cause, is := p.hopeless(object); is {
			missing[object.Ref] = true
			s.problems = append(s.problems, cause)
			continue
		}
		r := results[object.Ref].Result
		if r.Class == lifecycle.ClassDone {
			continue
		}
		missing[object.Ref] = true
		cause := s.failed(object.Ref, r)
		if r.BySpec && s.refuse(object.Ref, refusal{p.hash(object), cause, 1}) {
			s.again(s.retry)
		}
	}
	return func(r Ref) bool { return p.wanted.wants(r) && !missing[r] }
}

// failed records the API server's error. A temporary error does not appear in a condition.
func (s *Settled) failed(ref Ref, r lifecycle.Result) lifecycle.Cause {
	cause := lifecycle.Cause{Reason: r.Class.Reason(lifecycle.ReasonExposureRefused), Message: ref.String() + ": " + r.Message}
	if r.Class == lifecycle.ClassTransient {
		s.again(Soon)
		s.Objects = append(s.Objects, ref.String()) // the object may exist
		return cause
	}
	if !r.BySpec {
		s.again(s.retry)
	}
	s.problems = append(s.problems, cause)
	return cause
}

// refuse counts a refusal, and reports whether another try follows.
func (s *Settled) refuse(ref Ref, now refusal) bool {
	if last := s.Refused[ref]; last.hash == now.hash {
		now.times += last.times
	}
	s.Refused[ref] = now
	return now.times < maxRefusals
}

func (s *Settled) again(after time.Duration) {
	if s.Again == 0 || after < s.Again {
		s.Again = after
	}
}

// keep records objects that stay unchanged because the present request for them has an error. It keeps their addresses.
func (p Plan) keep(s *Settled) {
	for _, problem := range p.wanted.Problems {
		if p.seen[problem.Object] == nil {
			continue
		}
		s.Objects = append(s.Objects, problem.Object.String())
		switch problem.Object {
		case Ref{Service, p.before.Service}:
			s.Service, s.ServiceAddress, s.ServicePort = p.before.Service, p.before.ServiceAddress, p.before.ServicePort
		case Ref{IngressKind, p.before.Ingress}:
			s.Ingress, s.IngressAddress = p.before.Ingress, p.before.IngressAddress
		case Ref{HTTPRoute, p.before.Route}:
			s.Route, s.RouteAddress = p.before.Route, p.before.RouteAddress
		}
	}
}

// describe records the addresses of existing objects.
func (p Plan) describe(s *Settled, there func(Ref) bool, results map[Ref]Result) {
	w := p.wanted.Status
	if service := (Ref{Service, w.Service}); there(service) {
		ip := results[service].ClusterIP
		switch {
		case p.Lookup == service:
			ip = p.Address
		case !p.differs(service):
			ip = p.recordedIP()
		}
		s.Service, s.ServicePort, s.ServiceAddress = w.Service, w.ServicePort, ""
		if ip != "" {
			s.ServiceAddress = net.JoinHostPort(ip, strconv.Itoa(int(w.ServicePort)))
		}
	}
	if there(Ref{IngressKind, w.Ingress}) {
		s.Ingress, s.IngressAddress = w.Ingress, w.IngressAddress
	}
	if there(Ref{HTTPRoute, w.Route}) {
		s.Route, s.RouteAddress = w.Route, w.RouteAddress
	}
}
