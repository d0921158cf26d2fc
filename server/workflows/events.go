package workflows

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/workflow"
)

// maxBatch is the maximum number of events in a request.
const maxBatch = 1000

// Media types of CloudEvents.
const (
	cloudEvent  = "application/cloudevents+json"
	cloudEvents = "application/cloudevents-batch+json"
)

// Published is the response to a request with one event, and publishedBatch to one with several.
type Published struct {
	Status string         `json:"status"`
	Event  workflow.Event `json:"event"`
	// Runs is the number of runs started.
	Runs int `json:"runs"`
}

// publishedBatch is the response to a request with several events.
type publishedBatch struct {
	Status string           `json:"status"`
	Events []workflow.Event `json:"events"`
	Runs   int              `json:"runs"`
}

// publish accepts events in the native form, or as CloudEvents 1.0 in any of their forms.
func (s *surface) publish(w http.ResponseWriter, r *http.Request, caller service.Caller) error {
	events, batch, err := readEvents(r)
	if err != nil {
		return err
	}
	taken, created, err := s.engine.Publish(r.Context(), caller, events)
	if err != nil {
		return explain(err)
	}
	if batch {
		return server.WriteJSON(w, http.StatusAccepted, publishedBatch{"published", append([]workflow.Event{}, taken...), created})
	}
	return server.WriteJSON(w, http.StatusAccepted, Published{"published", taken[0], created})
}

// readEvents reads the events of a request.
func readEvents(r *http.Request) (events []workflow.Event, batch bool, err error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		kind = "application/json"
	}
	switch {
	case kind == cloudEvents:
		events, err = readBatch(r)
		return events, true, err
	case kind == cloudEvent:
		var raw map[string]json.RawMessage
		if err := server.ReadJSON(r, &raw, false); err != nil {
			return nil, false, err
		}
		one, err := structuredEvent(raw)
		return []workflow.Event{one}, false, err
	case r.Header.Get("Ce-Specversion") != "":
		one, err := binaryEvent(r)
		return []workflow.Event{one}, false, err
	}
	one := new(workflow.Event)
	err = server.ReadJSON(r, one, true)
	return []workflow.Event{*one}, false, err
}

// readBatch reads a list of CloudEvents.
func readBatch(r *http.Request) ([]workflow.Event, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	var list []map[string]json.RawMessage
	if err := server.CheckJSON(data, server.MaxJSONDepth); err != nil {
		return nil, &service.InvalidError{Field: "body", Problem: err.Error()}
	}
	if err := json.Unmarshal(data, &list); err != nil || len(list) > maxBatch {
		return nil, &service.InvalidError{Field: "body", Problem: fmt.Sprintf("must be a list of at most %d events", maxBatch)}
	}
	events := make([]workflow.Event, len(list))
	for i, raw := range list {
		if events[i], err = structuredEvent(raw); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
	}
	return events, nil
}

// structuredEvent reads a CloudEvent that is a JSON object.
func structuredEvent(raw map[string]json.RawMessage) (ev workflow.Event, err error) {
	attributes := map[string]string{}
	for name, value := range raw {
		if name == "data" || name == "data_base64" {
			continue
		}
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value) // a number or boolean extension
		}
		attributes[name] = text
	}
	if ev, err = attributesOf(attributes); err != nil {
		return ev, err
	}
	ev.Data = raw["data"]
	if encoded := raw["data_base64"]; encoded != nil {
		var text string
		if json.Unmarshal(encoded, &text) != nil || ev.Data != nil {
			return ev, &service.InvalidError{Field: "data_base64", Problem: "must be a string, and excludes data"}
		}
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return ev, &service.InvalidError{Field: "data_base64", Problem: "must be base64"}
		}
		if ev.Data, err = dataOf(plain); err != nil {
			return ev, err
		}
	}
	return ev, nil
}

// binaryEvent reads a CloudEvent whose attributes are headers, and whose data is the body.
func binaryEvent(r *http.Request) (ev workflow.Event, err error) {
	attributes := map[string]string{}
	for name, values := range r.Header {
		if attribute, ok := strings.CutPrefix(strings.ToLower(name), "ce-"); ok {
			attributes[attribute] = values[0]
		}
	}
	if ev, err = attributesOf(attributes); err != nil {
		return ev, err
	}
	ev.DataContentType = r.Header.Get("Content-Type")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return ev, fmt.Errorf("read the body: %w", err)
	}
	if len(body) > 0 {
		ev.Data, err = dataOf(body)
	}
	return ev, err
}

// dataOf encodes data as JSON: other data becomes a string, or base64.
func dataOf(plain []byte) (json.RawMessage, error) {
	if json.Valid(plain) {
		return plain, server.CheckPayload(plain)
	}
	text := string(plain)
	if strings.ToValidUTF8(text, "") != text {
		text = base64.StdEncoding.EncodeToString(plain)
	}
	return json.Marshal(text)
}

// attributesOf returns an event with the attributes of a CloudEvent.
func attributesOf(attributes map[string]string) (ev workflow.Event, err error) {
	for name, text := range attributes {
		switch name {
		case "specversion":
			ev.SpecVersion = text
		case "id":
			ev.ID = text
		case "type":
			ev.Type = text
		case "source":
			ev.Source = text
		case "subject":
			ev.Subject = text
		case "datacontenttype":
			ev.DataContentType = text
		case "time":
			if ev.Time, err = time.Parse(time.RFC3339Nano, text); err != nil {
				return ev, &service.InvalidError{Field: "time", Problem: "must be an RFC 3339 time"}
			}
		default:
			if ev.Extensions == nil {
				ev.Extensions = make(map[string]json.RawMessage)
			}
			if ev.Extensions[name], err = json.Marshal(text); err != nil {
				return ev, err
			}
		}
	}
	for name, text := range map[string]string{"id": ev.ID, "source": ev.Source, "type": ev.Type, "specversion": ev.SpecVersion} {
		if text == "" {
			return ev, &service.InvalidError{Field: name, Problem: "a CloudEvent has one"}
		}
	}
	return ev, nil
}

// receive accepts a signed request. The response does not reveal whether the webhook exists.
func (s *surface) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = server.CheckPayload(body)
	}
	if err != nil {
		f := server.Classify(r.Context(), err)
		writeStatus(w, f.Status, f.Message)
		return
	}
	isNew, err := s.engine.Receive(r.Context(), &workflow.Received{Tenant: r.PathValue("tenant"), ID: r.PathValue("id"), Header: r.Header, Body: body})
	switch invalid, bad := errors.AsType[*service.InvalidError](err); {
	case err == nil && isNew:
		writeStatus(w, http.StatusAccepted, "accepted")
	case err == nil:
		writeStatus(w, http.StatusOK, "known")
	case errors.Is(err, workflow.ErrSignature):
		writeStatus(w, http.StatusNotFound, workflow.ErrSignature.Error())
	case bad:
		writeStatus(w, http.StatusBadRequest, invalid.Error())
	default:
		w.Header().Set("Retry-After", "1")
		writeStatus(w, http.StatusServiceUnavailable, "try again later")
	}
}

func writeStatus(w http.ResponseWriter, status int, text string) {
	_ = server.WriteJSON(w, status, map[string]string{"status": text}) // a text can be encoded
}
