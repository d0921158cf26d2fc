package process

import (
	"errors"
	"io"
	"os"
)

// pipeRoom is the number of bytes that any pipe holds before a write blocks. Linux gives a user
// with many pipes only one page for each.
const pipeRoom = 4 << 10

// Input returns a standard input that yields data and then ends. On Linux, and elsewhere for up to
// 4 KiB, it is complete when Input returns: a program started with it can read all of data even if
// this process is killed immediately afterwards. The caller closes it once the program has started.
func Input(data []byte) (io.ReadCloser, error) {
	if len(data) > pipeRoom {
		return largeInput(data)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	_, err = writer.Write(data)
	if err = errors.Join(err, writer.Close()); err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	return reader, nil
}
