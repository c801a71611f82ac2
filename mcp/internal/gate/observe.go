package gate

import "encoding/json"

// Observer is told of every request with an id, before anything runs and after. Its methods may be called from several goroutines.
type Observer interface {
	// Begin is called in the order of the stream. Its error stops the request: nothing runs, and the client is told that the call log
	// is not writable. Else end is called once with what became of the request, before the answer is written; its error withholds
	// the answer in the same way.
	Begin(Event) (end func(Ending) error, err error)
	// Cancelled is called for each notifications/cancelled with its params, nil if there are none, whether or not it met a request.
	Cancelled(params json.RawMessage)
}

// Event is a request as the client sent it.
type Event struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage // nil if there were none; of any shape
}

// Ending is what became of a request: a result, or an error, or, with neither, silence because it was cancelled.
type Ending struct {
	Result json.RawMessage
	Err    *Error
}

// errNotLogged is the answer to a request that could not be logged.
var errNotLogged = Errorf(CodeInternal, "call log not writable")
