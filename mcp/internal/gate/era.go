package gate

import "slices"

// Keys of the _meta of a modern request.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClient       = "io.modelcontextprotocol/clientInfo"
	MetaLogLevel     = "io.modelcontextprotocol/logLevel"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// Levels are the log levels of the protocol, the least severe first.
var Levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// lists are the methods that may have pages.
var lists = []string{"resources/list", "resources/templates/list", "prompts/list", "tools/list"}

// era decides which era a request belongs to and checks its shape. What the request needs behind the gate is put into it.
func (g *Gate) era(r *Request) *Error {
	if raw := r.Params; raw != nil {
		var ok bool
		if r.Fields, ok = object(raw); !ok {
			return Errorf(CodeInvalidParams, "$.params is not an object")
		}
	}
	if raw := r.Fields.Get("_meta"); raw != nil {
		var ok bool
		if r.Meta, ok = object(raw); !ok {
			return missing("$.params._meta is not an object", MetaVersion, MetaCapabilities)
		}
	}
	if err := g.revision(r); err != nil {
		return err
	}
	r.token = r.Meta.Get("progressToken")
	if _, ok := idKey(r.token); !ok {
		r.token = nil // a token is a string or an integer; anything else asks for nothing
	}
	return g.shape(r)
}

// revision finds the era of a request and the revision in it.
func (g *Gate) revision(r *Request) *Error {
	g.mu.Lock()
	agreed, declared := g.version, g.caps
	g.mu.Unlock()
	raw := r.Meta.Get(MetaVersion)
	switch dual := len(g.cfg.Legacy) > 0; {
	case raw != nil:
		var v string
		if !text(raw, &v) {
			return missing("$.params._meta."+MetaVersion+" is not a string", MetaVersion)
		}
		if slices.Contains(g.cfg.Modern, v) {
			r.Version, r.Modern = v, true
			return modern(r)
		}
		if v != agreed || agreed == "" {
			return Errorf(CodeUnsupportedVersion, "Unsupported protocol version").
				With(map[string]any{"supported": g.cfg.Modern, "requested": v})
		}
		r.Version, r.Capabilities = agreed, declared
	case r.Method == "initialize" && dual:
		return g.handshake(r)
	case r.Method == "initialize":
		return Errorf(CodeUnknownMethod, "there is no handshake here: send requests of revision %s", g.cfg.Modern[0]).
			With(map[string]any{"method": r.Method, "supported": g.cfg.Modern})
	case dual && (agreed != "" || r.Method == "ping"):
		r.Version, r.Capabilities = agreed, declared
	case r.Fields.Get("_meta") == nil:
		return missing("$.params._meta is missing", MetaVersion, MetaCapabilities)
	default:
		return missing("$.params._meta."+MetaVersion+" is missing", MetaVersion)
	}
	return nil
}

// modern checks what a modern request says about its client.
func modern(r *Request) *Error {
	caps := r.Meta.Get(MetaCapabilities)
	if _, ok := object(caps); !ok {
		return missing("$.params._meta."+MetaCapabilities+" is not an object", MetaCapabilities)
	}
	r.Capabilities = caps
	if raw := r.Meta.Get(MetaClient); raw != nil {
		if _, ok := object(raw); !ok {
			return Errorf(CodeInvalidParams, "$.params._meta.%s is not an object", MetaClient)
		}
	}
	if raw := r.Meta.Get(MetaLogLevel); raw != nil {
		if !text(raw, &r.LogLevel) || !slices.Contains(Levels, r.LogLevel) {
			return Errorf(CodeInvalidParams, "$.params._meta.%s is not a log level", MetaLogLevel).
				With(map[string]any{"levels": Levels})
		}
	}
	return nil
}

// handshake starts the legacy era of this process. It is undone if the handshake fails behind the gate.
func (g *Gate) handshake(r *Request) *Error {
	var asked string
	if !text(r.Fields.Get("protocolVersion"), &asked) {
		return Errorf(CodeInvalidParams, "$.params.protocolVersion is not a string")
	}
	for _, name := range []string{"capabilities", "clientInfo"} {
		if raw := r.Fields.Get(name); raw == nil {
			continue // nothing here depends on it
		} else if _, ok := object(raw); !ok {
			return Errorf(CodeInvalidParams, "$.params.%s is not an object", name)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.version != "" {
		return Errorf(CodeInvalid, "the handshake has been made, as revision %s", g.version)
	}
	r.Version = g.cfg.Legacy[0]
	if slices.Contains(g.cfg.Legacy, asked) {
		r.Version = asked
	}
	r.Capabilities = r.Fields.Get("capabilities")
	g.version, g.caps = r.Version, r.Capabilities
	return nil
}

// shape checks the params of the methods that carry a name, arguments or a cursor.
func (g *Gate) shape(r *Request) *Error {
	switch {
	case slices.Contains(lists, r.Method):
		raw := r.Fields.Get("cursor")
		if raw == nil || string(raw) == "null" {
			return nil
		}
		if !slices.Contains(g.cfg.Paged, r.Method) {
			return Errorf(CodeInvalidParams, "%s has no pages: $.params.cursor must be absent", r.Method).
				With(map[string]any{"method": r.Method, "param": "cursor", "supportsPagination": false, "paginatedMethods": lists})
		}
		if !text(raw, &r.Cursor) || r.Cursor == "" { // the empty string is a cursor, and none that was ever given out
			return BadCursor(r.Method)
		}
	case r.Method == "tools/call" || r.Method == "prompts/get":
		if !text(r.Fields.Get("name"), &r.Name) || r.Name == "" {
			return Errorf(CodeInvalidParams, "$.params.name is not a name")
		}
		raw := r.Fields.Get("arguments")
		if raw == nil || string(raw) == "null" {
			raw = []byte("{}")
		}
		if _, ok := object(raw); !ok {
			return Errorf(CodeInvalidParams, "$.params.arguments is not an object")
		}
		r.Arguments = raw
	case r.Method == "resources/read":
		if !text(r.Fields.Get("uri"), &r.Name) || r.Name == "" {
			return Errorf(CodeInvalidParams, "$.params.uri is not a URI")
		}
	}
	return nil
}

// BadCursor is the answer to a cursor that the server did not give out.
func BadCursor(method string) *Error {
	return Errorf(CodeInvalidParams, "$.params.cursor is not one that %s gave", method).
		With(map[string]any{"method": method, "param": "cursor"})
}

// missing says which keys of _meta a request must have.
func missing(what string, keys ...string) *Error {
	return Errorf(CodeInvalidParams, "%s", what).With(map[string]any{"required": keys})
}

// Declares reports whether the client declared a capability, or one below it: Declares("extensions", name).
func (r *Request) Declares(path ...string) bool {
	raw := []byte(r.Capabilities)
	for _, name := range path {
		fields, ok := object(raw)
		if !ok {
			return false
		}
		raw = fields.Get(name)
	}
	return raw != nil && string(raw) != "null"
}
