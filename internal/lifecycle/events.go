package lifecycle

import "fmt"

// Event is something that happened to an application, told once, after it has been stored.
type Event struct {
	Warning bool
	// Reason is one of the words that watchers of Kubernetes events filter by.
	Reason string
	// Action is what the operator was doing, as events.k8s.io wants it.
	Action  string
	Message string
}

// Events is the difference between two stored records: at most one event, since a reconcile makes one transition.
// The name is the application's.
func Events(name string, from, to Record) []Event {
	if from.State == to.State && (to.State != Queued || from.Cause.Reason == to.Cause.Reason) {
		return nil
	}
	switch to.State {
	case Queued:
		return []Event{{Warning: to.Cause.Reason != ReasonSuspended, Reason: "SparkApplicationWaiting", Action: "Submit", Message: to.Cause.Message}}
	case Submitted:
		if from.State == Running { // a pod that fell back to pending is no second submission
			return nil
		}
		return []Event{{Reason: "SparkApplicationSubmitted", Action: "Submit", Message: fmt.Sprintf("SparkApplication %s was submitted: driver pod %s was created", name, to.DriverName)}}
	case Running:
		return []Event{{Reason: "SparkDriverRunning", Action: "Observe", Message: fmt.Sprintf("Driver %s is running", to.DriverName)}}
	case Succeeded:
		return []Event{{Reason: "SparkApplicationCompleted", Action: "Complete", Message: fmt.Sprintf("SparkApplication %s completed", name)}}
	case Failed:
		return []Event{{Warning: true, Reason: "SparkApplicationFailed", Action: "Complete", Message: fmt.Sprintf("SparkApplication %s failed: %s", name, to.Cause.Message)}}
	case SubmissionFailed:
		return []Event{{Warning: true, Reason: "SparkApplicationSubmissionFailed", Action: "Submit", Message: fmt.Sprintf("failed to submit SparkApplication %s: %s", name, to.Cause.Message)}}
	case New, Succeeding, Failing:
	}
	return nil
}
