package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pdlt.dev/pdlt/mcp/internal/gate"
)

// dispatcher answers the requests of a profile. It stands on both sides of the SDK: the gate delivers to it, and it is the
// middleware that gives the answers.
type dispatcher struct {
	p       Profile
	gate    *gate.Gate
	modern  *session
	legacy  *session // nil if there is no legacy era
	tools   map[string]*tool
	listed  json.RawMessage // the tools as they are listed
	prompts map[string]*Prompt
	tasks   *taskTable
	level   atomic.Int32 // the least severe log notes that the legacy client wants
}

// method is a method that can be offered.
type method struct {
	era     era
	offered func(*Profile) bool // nil: always
	handle  func(*dispatcher, *gate.Request) (sdk.Result, error)
	pass    bool // the SDK answers it
	large   bool // its answers can be large: one is made when the last was written
}

type era int

const (
	both era = iota
	modernOnly
	legacyOnly
)

var methods map[string]method

func init() { // the table and its handlers refer to each other
	tools := func(p *Profile) bool { return len(p.Tools) > 0 }
	resources := func(p *Profile) bool { return p.Resources != nil }
	prompts := func(p *Profile) bool { return len(p.Prompts) > 0 }
	watched := func(p *Profile) bool { return slices.Contains(p.Changes, ResourceUpdated) }
	tasks := func(p *Profile) bool { return p.Tasks != nil }
	methods = map[string]method{
		"server/discover":          {era: modernOnly, handle: (*dispatcher).discover},
		"initialize":               {era: legacyOnly, handle: (*dispatcher).initialize, pass: true},
		"ping":                     {era: legacyOnly, pass: true},
		"tools/list":               {offered: tools, handle: (*dispatcher).listTools},
		"tools/call":               {offered: tools, handle: (*dispatcher).callTool},
		"resources/list":           {offered: resources, handle: (*dispatcher).listResources},
		"resources/templates/list": {offered: resources, handle: (*dispatcher).listTemplates},
		"resources/read":           {offered: resources, large: true, handle: (*dispatcher).readResource},
		"resources/subscribe":      {era: legacyOnly, offered: watched, handle: (*dispatcher).subscribe},
		"resources/unsubscribe":    {era: legacyOnly, offered: watched, handle: (*dispatcher).subscribe},
		"prompts/list":             {offered: prompts, handle: (*dispatcher).listPrompts},
		"prompts/get":              {offered: prompts, handle: (*dispatcher).getPrompt},
		"completion/complete":      {offered: func(p *Profile) bool { return p.Complete != nil }, handle: (*dispatcher).complete},
		"logging/setLevel":         {era: legacyOnly, offered: func(p *Profile) bool { return p.Logging }, handle: (*dispatcher).setLevel},
		"tasks/get":                {era: modernOnly, offered: tasks, large: true, handle: (*dispatcher).getTask},
		"tasks/update":             {era: modernOnly, offered: tasks, handle: (*dispatcher).updateTask},
		"tasks/cancel":             {era: modernOnly, offered: tasks, handle: (*dispatcher).cancelTask},
	}
}

func newDispatcher(p Profile) (*dispatcher, error) {
	d := &dispatcher{p: p, tools: map[string]*tool{}, prompts: map[string]*Prompt{}}
	for i := range p.Tools {
		t, err := newTool(&p.Tools[i])
		if err != nil {
			return nil, err
		}
		d.tools[p.Tools[i].Name] = t
	}
	var err error
	if d.listed, err = listing(p.Tools); err != nil {
		return nil, err
	}
	for i := range p.Prompts {
		d.prompts[p.Prompts[i].Name] = &p.Prompts[i]
	}
	if p.Tasks != nil {
		d.tasks = newTaskTable(*p.Tasks)
	}
	if d.modern, err = d.connect(p.Modern); err == nil && len(p.Legacy) > 0 {
		d.legacy, err = d.connect(p.Legacy)
	}
	return d, err
}

// connect makes the session of an era.
func (d *dispatcher) connect(revisions []string) (*session, error) {
	// Capabilities are given empty: the SDK would else advertise what nobody asked for. Only the handshake's answer is made from it,
	// and that is replaced.
	server := sdk.NewServer(&sdk.Implementation{Name: d.p.Name, Title: d.p.Title, Version: d.p.Version},
		&sdk.ServerOptions{Capabilities: &sdk.ServerCapabilities{}, SupportedProtocolVersions: revisions})
	for name := range methods {
		if tasks := name == "tasks/get" || name == "tasks/update" || name == "tasks/cancel"; tasks {
			if err := sdk.AddReceivingCustomMethod(server, name, unreached); err != nil {
				return nil, err
			}
		}
	}
	var s *session
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, name string, req sdk.Request) (sdk.Result, error) {
			r := s.request(req.GetExtra())
			m := methods[name]
			if r == nil || m.pass { // a notification, or what the SDK does for us
				res, err := next(ctx, name, req)
				if err != nil || m.handle == nil {
					return res, err
				}
			}
			return d.guarded(r.Context(), func() (sdk.Result, error) {
				if m.large && !r.Turn() {
					return nil, gate.Errorf(CodeInternal, "the request was cancelled") // which nobody is told
				}
				return m.handle(d, r)
			})
		}
	})
	s, err := connect(server)
	return s, err
}

// unreached stands for a method that the dispatcher answers before the SDK would.
func unreached(context.Context, *sdk.ServerSession, *struct{ sdk.ParamsBase }) (*empty, error) {
	return nil, errors.New("a method was not dispatched") // cannot happen: the middleware answers
}

// Deliver hands a request to the session of its era, if its method is offered there.
func (d *dispatcher) Deliver(r *gate.Request) {
	m, known := methods[r.Method]
	if !known || m.offered != nil && !m.offered(&d.p) || r.Modern && m.era == legacyOnly || !r.Modern && m.era == modernOnly {
		r.Answer(nil, gate.Errorf(CodeUnknownMethod, "Method not found: %s", cut(r.Method)).With(map[string]any{"method": r.Method}))
		return
	}
	t := d.tools[r.Name]
	d.session(r).deliver(r, r.Method == "tools/call" && t != nil && t.Ordered)
}

// session gives the session of a request's era.
func (d *dispatcher) session(r *gate.Request) *session {
	if r.Modern {
		return d.modern
	}
	return d.legacy
}

// Busy answers a tool call for which there is no room.
func (d *dispatcher) Busy(r *gate.Request) {
	body, err := json.Marshal(d.toolResult(r, ToolResult{IsError: true, Content: []Content{
		Text("the server is busy: it holds as many open calls as it can. Nothing ran. Wait for an answer to an earlier call and try again")}}))
	if err != nil {
		panic(err) // cannot happen: the result is made of strings
	}
	r.Answer(body, nil)
}

// Initialized is the client's note that the handshake is complete.
func (d *dispatcher) Initialized() {
	if d.legacy != nil {
		d.legacy.notify("notifications/initialized")
	}
}

// close ends the sessions and the tasks. Nobody is left who could ask for them.
func (d *dispatcher) close() {
	d.modern.Close()
	if d.legacy != nil {
		d.legacy.Close()
	}
	if d.tasks != nil {
		d.tasks.close()
	}
}

// guarded runs a handler. A panic and an error that is no [Error] are faults: the client gets an id, the operator the rest.
func (d *dispatcher) guarded(ctx context.Context, handle func() (sdk.Result, error)) (res sdk.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = nil, d.fault(fmt.Errorf("a handler panicked: %v\n%s", v, debug.Stack()))
		}
	}()
	res, err = handle()
	if err != nil {
		return nil, d.wire(ctx, err)
	}
	return res, nil
}

// wire makes an error one that the SDK passes on as it is. What fails after its context has ended is no fault: it was told to.
func (d *dispatcher) wire(ctx context.Context, err error) error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return &jsonrpc.Error{Code: int64(e.Code), Message: e.Message, Data: e.Data}
	case ctx.Err() != nil:
		return &jsonrpc.Error{Code: CodeInternal, Message: err.Error()}
	}
	return d.fault(err)
}

func (d *dispatcher) fault(err error) error {
	id := rand.Text()[:12]
	if d.p.Fault != nil {
		d.p.Fault(id, err)
	}
	return &jsonrpc.Error{Code: CodeInternal, Message: "internal fault " + id + "; the server's log has more"}
}

// head begins every result of the modern era.
type head struct {
	ResultType string `json:"resultType,omitempty"`
}

// headFor begins a complete result.
func headFor(r *gate.Request) head {
	if r.Modern {
		return head{"complete"}
	}
	return head{}
}

// caching are the hints of the modern era; nil in the legacy one.
type caching struct {
	TTL   int64  `json:"ttlMs"`
	Scope string `json:"cacheScope"`
}

func (d *dispatcher) catalogue(r *gate.Request) *caching {
	if !r.Modern {
		return nil
	}
	return &caching{d.p.CatalogueTTL.Milliseconds(), "public"}
}

// empty is a result without members of its own.
type empty struct {
	head
	sdk.ResultBase
}

type discovery struct {
	head
	Versions     []string     `json:"supportedVersions"`
	Capabilities capabilities `json:"capabilities"`
	Instructions string       `json:"instructions,omitempty"`
	*caching
	sdk.ResultBase
	more map[string]json.RawMessage
}

// MarshalJSON puts the profile's own members last.
func (v *discovery) MarshalJSON() ([]byte, error) {
	type plain discovery
	out, err := json.Marshal((*plain)(v))
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(v.more)) {
		key, _ := json.Marshal(name)
		out = append(append(append(append(out[:len(out)-1], ','), key...), ':'), v.more[name]...)
		out = append(out, '}')
	}
	return out, nil
}

func (d *dispatcher) discover(r *gate.Request) (sdk.Result, error) {
	return &discovery{head: headFor(r), Versions: d.p.Modern, Capabilities: d.capabilities(true), Instructions: d.p.Instructions,
		caching: d.catalogue(r), more: d.p.Discovery}, nil
}

type handshake struct {
	Version      string       `json:"protocolVersion"`
	Capabilities capabilities `json:"capabilities"`
	Server       server       `json:"serverInfo"`
	Instructions string       `json:"instructions,omitempty"`
	sdk.ResultBase
}

type server struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// initialize gives the answer to a handshake that the SDK has accepted.
func (d *dispatcher) initialize(r *gate.Request) (sdk.Result, error) {
	return &handshake{Version: r.Version, Capabilities: d.capabilities(false), Instructions: d.p.Instructions,
		Server: server{d.p.Name, d.p.Title, d.p.Version}}, nil
}

type capabilities struct {
	Tools       *feature            `json:"tools,omitempty"`
	Resources   *feature            `json:"resources,omitempty"`
	Prompts     *feature            `json:"prompts,omitempty"`
	Completions *struct{}           `json:"completions,omitempty"`
	Logging     *struct{}           `json:"logging,omitempty"`
	Extensions  map[string]struct{} `json:"extensions,omitempty"`
}

type feature struct {
	Subscribe   bool `json:"subscribe,omitempty"`
	ListChanged bool `json:"listChanged,omitempty"`
}

func (d *dispatcher) capabilities(modern bool) (c capabilities) {
	changes := func(what Change) bool { return slices.Contains(d.p.Changes, what) }
	if len(d.p.Tools) > 0 {
		c.Tools = &feature{ListChanged: changes(ToolsChanged)}
	}
	if d.p.Resources != nil {
		c.Resources = &feature{ListChanged: changes(ResourcesChanged), Subscribe: changes(ResourceUpdated)}
	}
	if len(d.p.Prompts) > 0 {
		c.Prompts = &feature{ListChanged: changes(PromptsChanged)}
	}
	if d.p.Complete != nil {
		c.Completions = &struct{}{}
	}
	if d.p.Logging {
		c.Logging = &struct{}{}
	}
	if d.p.Tasks != nil && modern {
		c.Extensions = map[string]struct{}{tasksExtension: {}}
	}
	return c
}

func (d *dispatcher) setLevel(r *gate.Request) (sdk.Result, error) {
	i := slices.Index(gate.Levels, textOf(r.Fields, "level"))
	if i < 0 {
		return nil, gate.Errorf(CodeInvalidParams, "$.params.level is not a log level").With(map[string]any{"levels": gate.Levels})
	}
	d.level.Store(int32(i))
	return &empty{head: headFor(r)}, nil
}

// Log writes a log note, if the client wants notes of that level. The level is one of the protocol's words.
func (c Call) Log(level string, data any) {
	i := slices.Index(gate.Levels, level)
	least := int(c.d.level.Load())
	if c.r.Modern {
		least = slices.Index(gate.Levels, c.r.LogLevel)
	}
	if !c.d.p.Logging || least < 0 || i < least {
		return
	}
	c.r.Note("notifications/message", map[string]any{"level": level, "data": data})
}
