package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/backend"
)

// answerPart returns an agent's answer as a part: as data if the agent has an output format and the
// answer fits it, otherwise as text.
func (c *call) answerPart(ctx context.Context, agent, answer string) *a2a.Part {
	if part := c.dataPart(ctx, agent, answer); part != nil {
		return part
	}
	return a2a.NewTextPart(answer)
}

// hasOutputSchema reports whether an agent has an output format.
func (c *call) hasOutputSchema(ctx context.Context, agent string) bool {
	a, ok := c.server.settings.Service.SetFor(ctx, c.caller.Tenant).Agent(agent)
	return ok && a.OutputSchema != nil
}

// dataPart returns an answer as data; nil for text.
func (c *call) dataPart(ctx context.Context, agent, answer string) *a2a.Part {
	a, ok := c.server.settings.Service.SetFor(ctx, c.caller.Tenant).Agent(agent)
	if !ok || a.OutputSchema == nil {
		return nil
	}
	form, err := backend.NewOutputForm(a.OutputSchema)
	if err != nil {
		return nil
	}
	value, problem := form.Check(ctx, answer)
	if problem != "" {
		return nil
	}
	data, ok := exactValue([]byte(value))
	if !ok {
		return nil
	}
	part := a2a.NewDataPart(data)
	part.MediaType = "application/json"
	return part
}

// exactValue decodes a JSON value, unless a number in it would change: over gRPC, and in many
// clients, numbers are 64-bit floats. It also fails for null, which some readers treat as no
// content.
func exactValue(raw []byte) (value any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			break
		}
		n, isNumber := token.(json.Number)
		if !isNumber {
			continue
		}
		if whole, err := strconv.ParseInt(n.String(), 10, 64); err == nil && int64(float64(whole)) == whole && whole > -1<<53 && whole < 1<<53 {
			continue
		} else if err == nil {
			return nil, false
		}
		if f, err := n.Float64(); err != nil || !sameNumber(n.String(), f) {
			return nil, false
		}
	}
	if json.Unmarshal(raw, &value) != nil || value == nil {
		return nil, false
	}
	return value, true
}

// sameNumber reports whether a number survives a round trip through a float with as many digits.
func sameNumber(text string, f float64) bool {
	again, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', -1, 64), 64)
	digits := 0
	for _, r := range text {
		if r >= '0' && r <= '9' {
			digits++
		}
	}
	return err == nil && again == f && digits <= 17
}
