package gate

import (
	"encoding/json"
	"slices"

	"pdlt.dev/pdlt/internal/jsonx"
)

// Change is a kind of change that a client can ask to be told of. Its value is the member of the filter that asks for it.
type Change string

// The changes.
const (
	ToolsChanged     Change = "toolsListChanged"
	PromptsChanged   Change = "promptsListChanged"
	ResourcesChanged Change = "resourcesListChanged"
	ResourceUpdated  Change = "resourceSubscriptions"
)

var changeNotes = map[Change]string{
	ToolsChanged:     "notifications/tools/list_changed",
	PromptsChanged:   "notifications/prompts/list_changed",
	ResourcesChanged: "notifications/resources/list_changed",
	ResourceUpdated:  "notifications/resources/updated",
}

// subscribe reads what a listen request asks for, and keeps what can be had.
func (r *Request) subscribe() *Error {
	filter, ok := object(r.Fields.Get("notifications"))
	if !ok {
		return Errorf(CodeInvalidParams, "$.params.notifications is not an object")
	}
	r.listen = map[Change]bool{}
	for _, c := range r.g.cfg.Changes {
		raw := filter.Get(string(c))
		switch v, err := jsonx.Parse(raw, jsonx.Bounds{}); {
		case raw == nil || err != nil:
		case c == ResourceUpdated:
			for _, e := range v.Elems {
				if e.Kind == jsonx.String {
					r.uris = append(r.uris, e.Str)
				}
			}
			r.listen[c] = len(r.uris) > 0
		default:
			r.listen[c] = v.Bool
		}
	}
	return nil
}

// acknowledge opens a listen stream: its first message names what was agreed. The stream stays open until the client cancels it or
// the pipe ends. An answer would say that it was closed, and clients then come again. r.note is held.
func (r *Request) acknowledge() {
	agreed := map[string]any{}
	for c, on := range r.listen {
		if on && c == ResourceUpdated {
			agreed[string(c)] = r.uris
		} else if on {
			agreed[string(c)] = true
		}
	}
	raw, _ := json.Marshal(map[string]any{"_meta": r.stamp(), "notifications": agreed})
	r.g.out.note("notifications/subscriptions/acknowledged", raw)
}

// stamp names the stream that a message belongs to.
func (r *Request) stamp() map[string]json.RawMessage {
	return map[string]json.RawMessage{MetaSubscription: r.id}
}

// Changed tells everyone who asked that something changed; uri is that of an updated resource, else "".
func (g *Gate) Changed(c Change, uri string) {
	if !slices.Contains(g.cfg.Changes, c) {
		return
	}
	var streams []*Request
	g.mu.Lock()
	for r := range g.all {
		if r.listen[c] && (c != ResourceUpdated || slices.Contains(r.uris, uri)) {
			streams = append(streams, r)
		}
	}
	legacy := g.version != "" && (c != ResourceUpdated || g.watched[uri])
	g.mu.Unlock()
	params := map[string]any{}
	if c == ResourceUpdated {
		params["uri"] = uri
	}
	if legacy {
		raw, _ := json.Marshal(params)
		g.out.note(changeNotes[c], raw)
	}
	for _, r := range streams {
		params["_meta"] = r.stamp()
		r.Note(changeNotes[c], params)
	}
}

// Watch notes that the client of the legacy era wants to be told of a resource, or does not any more.
func (g *Gate) Watch(uri string, on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if on && len(g.watched) < maxListens {
		g.watched[uri] = true
	} else {
		delete(g.watched, uri)
	}
}
