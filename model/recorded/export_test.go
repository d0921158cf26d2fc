package recorded

import (
	"bytes"
	"testing"
)

// Reencode reads a file and writes it again.
func Reencode(t *testing.T, file []byte) []byte {
	t.Helper()
	all, err := decodeRecordings(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for i := range all {
		line, err := encodeRecording(&all[i])
		if err != nil {
			t.Fatal(err)
		}
		out.Write(line)
	}
	return out.Bytes()
}
