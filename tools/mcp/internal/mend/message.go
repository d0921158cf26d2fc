// Package mend replaces the parts of messages and schemas of MCP servers that the library cannot
// read, and keeps the fields it drops as metadata.
package mend

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// MaxMessage bounds one message of a server, in bytes.
const MaxMessage = 16 << 20

// The metadata keys of fields that the library drops.
const (
	// FlightKey has the tag of the flight to whose stream a message belongs.
	FlightKey = "agentruntime/flight"
	// CreatedTaskKey has the task that a call has become.
	CreatedTaskKey = "agentruntime/createdTask"
	// OffersTasksKey is the experimental capability of servers whose tools can run as tasks.
	OffersTasksKey = "agentruntime/tasks"
	// TaskSupportKey has the field execution.taskSupport of a tool.
	TaskSupportKey = "agentruntime/taskSupport"
)

// mender reads a stream of messages line by line and replaces the parts of results that the library
// cannot read. One such part would make the library reject the whole result.
type mender struct {
	in *bufio.Reader
	// whole reports whether the stream is a single message, possibly of several lines.
	whole bool
	// tag identifies the flight whose stream carries the messages; empty if unknown.
	tag string
	// out has the mended bytes that Read has not returned yet.
	out []byte
	err error
}

// Stream returns a stream with its messages mended. A whole stream is a single message, possibly of
// several lines. Messages from the server that concern a call get the tag of its flight; empty for
// none.
func Stream(in io.ReadCloser, whole bool, tag string) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{&mender{in: bufio.NewReaderSize(in, 16<<10), whole: whole, tag: tag}, in}
}

// Read reads the mended stream.
func (m *mender) Read(p []byte) (int, error) {
	for len(m.out) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		m.readLine()
	}
	n := copy(p, m.out)
	m.out = m.out[n:]
	return n, nil
}

// readLine reads a line. A line longer than the maximum message is passed on unchanged.
func (m *mender) readLine() {
	if m.whole {
		message, err := io.ReadAll(io.LimitReader(m.in, MaxMessage+1))
		if err == nil && len(message) <= MaxMessage {
			err = io.EOF
		}
		m.out, m.err = mendLine(message, m.tag), err
		return
	}
	var line []byte
	for {
		piece, err := m.in.ReadSlice('\n')
		line = append(line, piece...)
		if err == bufio.ErrBufferFull && len(line) <= MaxMessage { //nolint:errorlint // returned as it is
			continue
		}
		if err != bufio.ErrBufferFull { //nolint:errorlint // returned as it is
			m.err = err
		}
		m.out = mendLine(line, m.tag)
		return
	}
}

// mendable are the texts of which a message has one if it may need mending.
var mendable = [][]byte{[]byte(`"content"`), []byte(`"task`), []byte(`"id":"`), []byte(`"id": "`)}

// tagged are the methods whose messages are marked with their flight.
var tagged = []string{"elicitation/create", "sampling/createMessage", "notifications/message"}

// mendLine mends the message in a line or in the data of an event.
func mendLine(line []byte, tag string) []byte {
	mayNeed := func(text []byte) bool { return bytes.Contains(line, text) }
	if !slices.ContainsFunc(mendable, mayNeed) && (tag == "" || !bytes.Contains(line, []byte(`"method"`))) {
		return line
	}
	start := bytes.IndexByte(line, '{')
	end := bytes.LastIndexByte(line, '}') + 1
	if start < 0 || end <= start {
		return line
	}
	mended, changed := mendMessage(line[start:end], tag)
	if !changed {
		return line
	}
	return slices.Concat(line[:start], mended, line[end:])
}

// mendMessage mends the result and the ID of a response. Requests stay unchanged, except for the
// tag of a flight.
func mendMessage(message []byte, tag string) (_ []byte, changed bool) {
	if !json.Valid(message) {
		return message, false
	}
	members, _ := rawjson.Members(message)
	var method string
	isRequest := json.Unmarshal(rawjson.Find(members, "method"), &method) == nil && method != ""
	for i := range members {
		m := &members[i]
		mended := false
		switch {
		case isRequest && m.Name == "params" && tag != "" && slices.Contains(tagged, method):
			m.Value, mended = addTag(m.Value, tag)
		case isRequest:
		case m.Name == "id":
			m.Value, mended = mendID(m.Value)
		case m.Name == "result":
			m.Value, mended = mendResult(m.Value)
		}
		changed = changed || mended
	}
	if !changed {
		return message, false
	}
	return rawjson.EncodeMembers(members), true
}

// addTag adds the tag of a flight to the metadata of parameters.
func addTag(params json.RawMessage, tag string) (json.RawMessage, bool) {
	members, ok := rawjson.Members(params)
	if !ok {
		return params, false
	}
	return rawjson.EncodeMembers(addEntry(members, "_meta", rawjson.Member{Name: FlightKey, Value: strconv.AppendQuote(nil, tag)})), true
}

// addEntry adds an entry to an object member. It replaces a member of another type.
func addEntry(members []rawjson.Member, name string, entry rawjson.Member) []rawjson.Member {
	object, _ := rawjson.Members(rawjson.Find(members, name))
	members = slices.DeleteFunc(members, func(m rawjson.Member) bool { return m.Name == name })
	return append(members, rawjson.Member{Name: name, Value: rawjson.EncodeMembers(append(object, entry))})
}

// mendID returns an ID that the server has turned into a string as its original number.
func mendID(id json.RawMessage) (json.RawMessage, bool) {
	var text string
	if json.Unmarshal(id, &text) != nil {
		return id, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return id, false
	}
	return strconv.AppendInt(nil, n, 10), true
}

// mendResult mends the content of the result of a call, and marks tools that must run as tasks.
// A task instead of a result is passed on in the metadata of a result.
func mendResult(result json.RawMessage) (json.RawMessage, bool) {
	members, ok := rawjson.Members(result)
	if !ok {
		return result, false
	}
	if isTask(members) {
		return mendTask(members), true
	}
	changed := false
	for i := range members {
		m := &members[i]
		mended := false
		switch m.Name {
		case "content":
			m.Value, mended = mendContent(m.Value)
		case "tools":
			m.Value, mended = markTasks(m.Value)
		case "capabilities":
			m.Value, mended = noteTasks(m.Value)
		case "result":
			m.Value, mended = mendTaskResult(m.Value)
		}
		changed = changed || mended
	}
	if !changed {
		return result, false
	}
	return rawjson.EncodeMembers(members), true
}

// isTask reports whether a result describes a task.
func isTask(result []rawjson.Member) bool {
	if rawjson.Find(result, "content") != nil {
		return false
	}
	task := rawjson.Find(result, "task")
	return len(task) > 0 && task[0] == '{' || string(rawjson.Find(result, "resultType")) == `"task"`
}

// mendTask returns a task, which the library would take for an empty success, as a result with the
// task in its metadata.
func mendTask(result []rawjson.Member) json.RawMessage {
	task := rawjson.Find(result, "task")
	if len(task) == 0 || task[0] != '{' {
		task = rawjson.EncodeMembers(result)
	}
	return rawjson.EncodeMembers([]rawjson.Member{
		{Name: "content", Value: json.RawMessage("[]")},
		{Name: "_meta", Value: rawjson.EncodeMembers([]rawjson.Member{{Name: CreatedTaskKey, Value: task}})},
	})
}

// mendTaskResult mends the content of the result in a task. It ignores deeper results, which would
// take quadratic time.
func mendTaskResult(result json.RawMessage) (_ json.RawMessage, mended bool) {
	members, _ := rawjson.Members(result)
	for i := range members {
		if members[i].Name == "content" {
			members[i].Value, mended = mendContent(members[i].Value)
		}
	}
	if !mended {
		return result, false
	}
	return rawjson.EncodeMembers(members), true
}

// noteTasks records in the capabilities of a server that its tools can run as tasks.
func noteTasks(capabilities json.RawMessage) (json.RawMessage, bool) {
	var offered struct {
		Tasks struct {
			Requests struct {
				Tools struct {
					Call json.RawMessage `json:"call"`
				} `json:"tools"`
			} `json:"requests"`
		} `json:"tasks"`
	}
	members, ok := rawjson.Members(capabilities)
	if !ok || json.Unmarshal(capabilities, &offered) != nil || len(offered.Tasks.Requests.Tools.Call) == 0 {
		return capabilities, false
	}
	return rawjson.EncodeMembers(addEntry(members, "experimental", rawjson.Member{Name: OffersTasksKey, Value: json.RawMessage("{}")})), true
}

// markTasks notes in the metadata of tools that they run only as tasks.
func markTasks(list json.RawMessage) (json.RawMessage, bool) {
	var all []json.RawMessage
	if !bytes.Contains(list, []byte(`"taskSupport"`)) || json.Unmarshal(list, &all) != nil {
		return list, false
	}
	changed := false
	for i, raw := range all {
		var t struct {
			Execution struct {
				TaskSupport string `json:"taskSupport"`
			} `json:"execution"`
		}
		if json.Unmarshal(raw, &t) != nil || t.Execution.TaskSupport != "required" {
			continue
		}
		members, _ := rawjson.Members(raw)
		members = slices.DeleteFunc(members, func(m rawjson.Member) bool { return m.Name == "_meta" || m.Name == "execution" })
		all[i] = rawjson.EncodeMembers(append(members, rawjson.Member{Name: "_meta", Value: json.RawMessage(`{"` + TaskSupportKey + `":"required"}`)}))
		changed = true
	}
	if !changed {
		return list, false
	}
	mended, err := json.Marshal(all)
	return mended, err == nil
}
