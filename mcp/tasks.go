package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/mcp/internal/gate"
)

const tasksExtension = "io.modelcontextprotocol/tasks"

// TaskUse says what becomes of a tool's long work.
type TaskUse int

// The uses.
const (
	TaskNever  TaskUse = iota // the client waits for it
	TaskMaybe                 // it becomes a task if the client can take one
	TaskAlways                // as TaskMaybe, and a client that cannot take one is refused
)

// Tasks bound the tasks of a server.
type Tasks struct {
	// Max is how many are kept at once, finished ones included. Work beyond it is done while the client waits.
	Max int
	// TTL is how long a task is kept from its creation; work that lasts longer is cancelled.
	TTL time.Duration
	// Poll is how often a client should ask.
	Poll time.Duration
	// After is how long a call waits for its work before it becomes a task. Short work then costs no second request.
	After time.Duration
}

// Task is the rest of the work of a call, as the work sees it. A zero Task is work that a client waits for.
type Task struct {
	d    *dispatcher
	id   string
	stop context.CancelCauseFunc
	done chan struct{} // closed when the work is done

	mu       sync.Mutex
	state    taskState
	asked    []Question // those without an answer
	answers  map[string]json.RawMessage
	answered chan struct{} // closed when all are answered; nil if nothing is asked
	used     map[string]bool
	result   ToolResult
	err      error
}

type taskState struct {
	ID      string `json:"taskId"`
	Status  string `json:"status"`
	Created string `json:"createdAt"`
	Updated string `json:"lastUpdatedAt"`
	TTL     int64  `json:"ttlMs"`
	Poll    int64  `json:"pollIntervalMs,omitempty"`

	created time.Time
}

// The statuses of a task.
const (
	taskWorking   = "working"
	taskAsking    = "input_required"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

// errCancelled ends the work of a task that its client cancelled.
var errCancelled = errors.New("the task was cancelled")

// Ask puts questions to the client and waits until all are answered. Their keys must not have been used before in the same task.
// Work that is no task cannot ask.
func (t *Task) Ask(ctx context.Context, qs ...Question) (map[string]json.RawMessage, error) {
	if t.d == nil {
		return nil, MissingCapability(map[string]any{"extensions": map[string]any{tasksExtension: struct{}{}}})
	}
	if err := (&Ask{Questions: qs}).check(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	for _, q := range qs {
		if t.used[q.Key] {
			t.mu.Unlock()
			return nil, fmt.Errorf("the key %q was used before in this task", q.Key)
		}
		t.used[q.Key] = true
	}
	answered := make(chan struct{})
	t.asked, t.answers, t.answered = qs, map[string]json.RawMessage{}, answered
	t.become(taskAsking)
	t.mu.Unlock()
	select {
	case <-answered:
		t.mu.Lock()
		defer t.mu.Unlock()
		return maps.Clone(t.answers), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// become changes the status of a task that has not ended. t.mu is held.
func (t *Task) become(status string) bool {
	switch t.state.Status {
	case taskCompleted, taskFailed, taskCancelled:
		return false
	}
	t.state.Status, t.state.Updated = status, stamp(time.Now())
	return true
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// taskTable are the tasks of a server.
type taskTable struct {
	bounds Tasks
	mu     sync.Mutex
	closed bool
	all    map[string]*Task
}

func newTaskTable(b Tasks) *taskTable { return &taskTable{bounds: b, all: map[string]*Task{}} }

// start begins work that may become a task. It gives nil if there is no room.
func (tt *taskTable) start(d *dispatcher, r *gate.Request, work func(context.Context, *Task) (ToolResult, error)) *Task {
	now := time.Now()
	t := &Task{d: d, id: rand.Text(), done: make(chan struct{}), used: map[string]bool{}}
	t.state = taskState{ID: t.id, Status: taskWorking, Created: stamp(now), Updated: stamp(now), TTL: tt.bounds.TTL.Milliseconds(),
		Poll: tt.bounds.Poll.Milliseconds(), created: now}
	tt.mu.Lock()
	defer tt.mu.Unlock()
	maps.DeleteFunc(tt.all, func(_ string, t *Task) bool { return now.Sub(t.state.created) > tt.bounds.TTL })
	if tt.closed || len(tt.all) >= tt.bounds.Max {
		return nil
	}
	tt.all[t.id] = t
	ctx, stop := context.WithCancelCause(r.Lifetime()) // the request ends when it is answered, and the work goes on
	ctx, expire := context.WithTimeoutCause(ctx, tt.bounds.TTL, errors.New("the task has lived as long as it may"))
	t.stop = stop
	go func() {
		defer close(t.done)
		defer expire()
		res, err := t.run(ctx, work)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.result, t.err = res, err
		if err != nil {
			t.become(taskFailed)
		} else {
			t.become(taskCompleted)
		}
	}()
	return t
}

// run does the work. Its error, if any, is one that the SDK passes on as it is.
func (t *Task) run(ctx context.Context, work func(context.Context, *Task) (ToolResult, error)) (res ToolResult, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = t.d.fault(fmt.Errorf("a task panicked: %v\n%s", v, debug.Stack()))
		}
	}()
	if res, err = work(ctx, t); err == nil {
		err = res.check()
	}
	if err != nil {
		return ToolResult{}, t.d.wire(ctx, err)
	}
	return res, nil
}

func (tt *taskTable) remove(t *Task) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	delete(tt.all, t.id)
}

// find gives a task that has not outlived its time.
func (tt *taskTable) find(id string) *Task {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	t := tt.all[id]
	if t == nil || time.Since(t.state.created) > tt.bounds.TTL {
		return nil
	}
	return t
}

// close cancels all tasks and waits, as long as a request would be waited for, until their work is done.
func (tt *taskTable) close() {
	tt.mu.Lock()
	tt.closed = true
	all := maps.Clone(tt.all)
	tt.mu.Unlock()
	for _, t := range all {
		t.stop(errCancelled)
	}
	deadline := time.After(gate.Grace)
	for _, t := range all {
		select {
		case <-t.done:
		case <-deadline:
			return
		}
	}
}

// outlast gives the result if the work is done before it has to be a task, and else the task.
func (t *Task) outlast(r *gate.Request) (sdk.Result, error) {
	if after := t.d.tasks.bounds.After; after > 0 {
		wait := time.NewTimer(after)
		defer wait.Stop()
		select {
		case <-t.done:
			t.d.tasks.remove(t)
			return t.d.toolResult(r, t.result), t.err
		case <-r.Context().Done(): // not a task yet: the request takes its work with it
			t.d.tasks.remove(t)
			t.stop(context.Cause(r.Context()))
			<-t.done
			return t.d.toolResult(r, t.result), t.err
		case <-wait.C:
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return &createdTask{head: head{"task"}, taskState: t.state}, nil
}

type createdTask struct {
	head
	taskState
	sdk.ResultBase
}

type detailedTask struct {
	head
	taskState
	Result   *toolResult             `json:"result,omitempty"`
	Error    *jsonrpc.Error          `json:"error,omitempty"`
	Requests map[string]inputRequest `json:"inputRequests,omitempty"`
	sdk.ResultBase
}

// takesTasks reports whether a client can be given a task.
func (d *dispatcher) takesTasks(r *gate.Request) bool {
	return d.tasks != nil && r.Modern && r.Declares("extensions", tasksExtension)
}

// task finds the task that a request names.
func (d *dispatcher) task(r *gate.Request) (*Task, error) {
	if !d.takesTasks(r) {
		return nil, MissingCapability(map[string]any{"extensions": map[string]any{tasksExtension: struct{}{}}})
	}
	id := textOf(r.Fields, "taskId")
	t := d.tasks.find(id)
	if t == nil {
		return nil, gate.Errorf(CodeInvalidParams, "there is no such task").With(map[string]any{"taskId": cut(id)})
	}
	return t, nil
}

func (d *dispatcher) getTask(r *gate.Request) (sdk.Result, error) {
	t, err := d.task(r)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	res := &detailedTask{head: headFor(r), taskState: t.state}
	switch t.state.Status {
	case taskCompleted:
		res.Result = d.toolResult(r, t.result)
	case taskFailed:
		errors.As(t.err, &res.Error)
	case taskAsking:
		res.Requests = wireQuestions(t.asked)
	}
	return res, nil
}

func (d *dispatcher) updateTask(r *gate.Request) (sdk.Result, error) {
	t, err := d.task(r)
	if err != nil {
		return nil, err
	}
	kind, answers, err := jsonx.Scan(r.Fields.Get("inputResponses"), jsonx.Bounds{})
	if err != nil || kind != jsonx.Object {
		return nil, gate.Errorf(CodeInvalidParams, "$.params.inputResponses is not an object")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var left []Question
	for _, q := range t.asked {
		if raw := answers.Get(q.Key); raw != nil {
			t.answers[q.Key] = raw
		} else {
			left = append(left, q)
		}
	}
	if t.asked = left; len(left) == 0 && t.answered != nil {
		close(t.answered)
		t.answered = nil
		t.become(taskWorking)
	}
	return &empty{head: headFor(r)}, nil
}

func (d *dispatcher) cancelTask(r *gate.Request) (sdk.Result, error) {
	t, err := d.task(r)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	ends := t.become(taskCancelled)
	t.mu.Unlock()
	if ends {
		t.stop(errCancelled)
	}
	return &empty{head: headFor(r)}, nil
}
