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
	// Retry is how often an auxiliary object that the API server refuses is tried again.
	Retry = 30 * time.Second
	// Soon is when what it may well take in a moment is tried again.
	Soon = 5 * time.Second
	// maxRefusals is how often an object that the API server refuses for what it says is sent to it: what it says may be in the way of
	// something that goes, such as a port that is taken. After that it has to say something else.
	maxRefusals = 5
)

// Refusals are what the API server has refused for what it says. They may be lost at any time.
type Refusals map[Ref]refusal

type refusal struct {
	hash  string
	cause lifecycle.Cause
	times int
}

// Plan is what to write and to delete of a driver's auxiliary objects. None waits for another one.
type Plan struct {
	Write  []Object
	Remove []Ref
	// Lookup is the Service whose cluster IP has to be read, and Address that IP: the Service stays as it is, and its address is not recorded.
	Lookup  Ref
	Address string

	wanted  Wanted
	seen    Seen
	before  lifecycle.Exposure
	refused Refusals
	// differ are the objects to write and those that need not be sent again.
	differ []Object
}

// Decide plans how to get from what was seen and is recorded to what is wanted.
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

// hopeless returns what the API server said of the same object, if it need not be asked again.
func (p Plan) hopeless(o Object) (lifecycle.Cause, bool) {
	last, known := p.refused[o.Ref]
	return last.cause, known && last.hash == p.hash(o) && last.times >= maxRefusals
}

func (p Plan) hash(o Object) string { return o.GetAnnotations()[p.wanted.labels.Applied] }

func (p Plan) differs(r Ref) bool {
	return slices.ContainsFunc(p.differ, func(o Object) bool { return o.Ref == r })
}

// recordedIP is the address of the wanted Service, if it is recorded.
func (p Plan) recordedIP() string {
	ip, _, err := net.SplitHostPort(p.before.ServiceAddress)
	if err != nil || p.before.Service != p.wanted.Status.Service {
		return ""
	}
	return ip
}

// Result is what became of an object of a plan.
type Result struct {
	lifecycle.Result
	// ClusterIP is that of a Service which was written; "" for none.
	ClusterIP string
}

// Settled is what is true after a plan.
type Settled struct {
	lifecycle.Exposure
	// Again is when to try again what was not done; 0 for no need.
	Again time.Duration
	// Refused are the refusals to plan with the next time.
	Refused Refusals

	retry    time.Duration
	problems []lifecycle.Cause
}

// Settle says what is there after a plan, where, and what could not be made. results are of all that the plan writes and removes. What was refused
// is tried again after the given time.
func Settle(p Plan, results map[Ref]Result, retry time.Duration) Settled {
	s := Settled{Refused: Refusals{}, retry: retry}
	for _, problem := range p.wanted.Problems {
		s.problems = append(s.problems, problem.Cause)
		if problem.Reason == lifecycle.ReasonExposureForbidden {
			s.again(retry) // a policy may change without an event that brings the application here
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

// written settles the writes, and returns what is there as it is wanted.
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

// failed notes what the API server answered. What may pass in a moment is not worth a condition.
func (s *Settled) failed(ref Ref, r lifecycle.Result) lifecycle.Cause {
	cause := lifecycle.Cause{Reason: r.Class.Reason(lifecycle.ReasonExposureRefused), Message: ref.String() + ": " + r.Message}
	if r.Class == lifecycle.ClassTransient {
		s.again(Soon)
		s.Objects = append(s.Objects, ref.String()) // it may have been made
		return cause
	}
	if !r.BySpec {
		s.again(s.retry)
	}
	s.problems = append(s.problems, cause)
	return cause
}

// refuse counts a refusal, and reports whether another try is worth it.
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

// keep records what stays as it was made before, because something is wrong with what is asked for now, and keeps reporting
// its addresses.
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

// describe records the addresses of what is there.
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
